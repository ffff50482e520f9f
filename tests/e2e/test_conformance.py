"""The MCP conformance suite. It speaks HTTP, so a bridge stands between it and the command that a client would run."""
import os
import shlex
import signal
import subprocess
from pathlib import Path

from kit.door import free_port
from kit.target import run
from kit.waiting import wait_until

CLIENTS = Path(os.environ["AGENTBOX_TEST_CLIENTS"])
PROGRAMS = CLIENTS / "node-mcp/node_modules/.bin"
EXPECTED = Path(__file__).parent / "clients" / "conformance.yaml"
PASSED = (
    "server-initialize",
    "logging-set-level",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
)


def bridge(command, port, environment, log):
    with open(log, "wb") as out:
        return subprocess.Popen(
            [
                *(PROGRAMS / "node", PROGRAMS / "supergateway", "--stdio", shlex.join(command)),
                *("--outputTransport", "streamableHttp", "--stateful", "--port", str(port)),
            ],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def test_the_scenarios_that_apply_pass(box, tmp_path):
    environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    port = free_port()
    log = tmp_path / "bridge.log"
    gateway = bridge(box.status()["ssh"]["command"], port, environment, log)
    try:
        wait_until("the bridge listens", lambda: b"Listening on port" in log.read_bytes(), 30)
        said = run(
            [
                *(PROGRAMS / "node", PROGRAMS / "conformance", "server", "--url", f"http://localhost:{port}/mcp"),
                *("--suite", "active", "--expected-failures", EXPECTED, "-o", tmp_path / "results"),
            ],
            seconds=120,
            env=environment,
            cwd=tmp_path,
        )
    finally:
        os.killpg(gateway.pid, signal.SIGTERM)
        gateway.wait(20)
    text = said.stdout.decode(errors="replace")
    assert said.returncode == 0, text[-3000:]
    for scenario in PASSED:
        assert f"{scenario}: " in text and f"✗ {scenario}" not in text, text[-3000:]
