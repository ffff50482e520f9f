"""Clients that people use, connected with what agentbox-provision prints and nothing else."""
import json
import os
import subprocess
from pathlib import Path

import pytest
from kit import programs
from kit.box import ok
from kit.target import run

CLIENTS = Path(os.environ["AGENTBOX_TEST_CLIENTS"])
HERE = Path(__file__).parent / "clients"
WANTED = {"shell_exec", "read_file", "write_file", "list_directory", "list_blobs", "system_info"}


def assert_worked(result, protocol):
    assert result.returncode == 0, result.stderr.decode()
    said = json.loads(result.stdout)
    assert WANTED <= set(said["tools"])
    assert said["stdout"] == "from the sdk\n"
    if protocol:
        assert said["protocol"] == protocol


@pytest.mark.parametrize("mode, protocol", [("auto", None), ("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_mcp_sdk_lists_and_calls(box, mode, protocol):
    command = box.status()["ssh"]["command"]
    python = CLIENTS / "python" / "bin" / "python"
    assert_worked(run([python, HERE / "sdk_current.py", mode, *command], seconds=70), protocol)


def test_the_mcp_sdk_of_the_first_version_lists_and_calls(box):
    command = box.status()["ssh"]["command"]
    python = CLIENTS / "python-older" / "bin" / "python"
    assert_worked(run([python, HERE / "sdk_older.py", *command], seconds=70), "2025-11-25")


@pytest.mark.parametrize(
    "mode, protocol", [("first", None), ("default", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
def test_the_typescript_sdk_lists_and_calls(box, mode, protocol):
    command = box.status()["ssh"]["command"]
    node = CLIENTS / "node-mcp/node_modules/.bin/node"
    assert_worked(run([node, HERE / "sdk_typescript.mjs", CLIENTS / "node-mcp", mode, *command], seconds=70), protocol)


def assert_found(result, protocol, missing=None):
    """MISSING: the error of a resource that is none; not given: the one of the protocol."""
    assert result.returncode == 0, result.stderr.decode()
    said = json.loads(result.stdout)
    assert protocol in (None, said["protocol"])
    assert said["uri"].endswith("/seen%20by%20the%20sdk.txt")
    assert (said["told"], said["read"]) == (said["uri"], "two")
    assert said["templates"] == ["file:///{+path}", "agentbox://process/{id}", "agentbox://process/{id}/output"]
    assert said["prompts"] == ["debug_failing_command", "explore_workspace", "review_changes", "fix_ci"]
    assert 'command: "make"' in said["prompt"]
    assert said["completed"] == [said["uri"].removeprefix("file:///")]
    assert said["missing"] == (missing or (-32602 if said["protocol"] == "2026-07-28" else -32002))


@pytest.mark.parametrize("mode, protocol", [("auto", None), ("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_mcp_sdk_reads_and_is_told_of_resources(box, mode, protocol):
    command = box.status()["ssh"]["command"]
    python = CLIENTS / "python" / "bin" / "python"
    assert_found(run([python, HERE / "resources_current.py", mode, *command], seconds=70), protocol)


@pytest.mark.parametrize(
    "mode, protocol", [("first", None), ("default", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
def test_the_typescript_sdk_reads_and_is_told_of_resources(box, mode, protocol):
    command = box.status()["ssh"]["command"]
    node = CLIENTS / "node-mcp/node_modules/.bin/node"
    found = run([node, HERE / "resources_typescript.mjs", CLIENTS / "node-mcp", mode, *command], seconds=70)
    # The second version tells its user of either code as of the newer one.
    assert_found(found, protocol, missing=-32002 if mode == "first" else -32602)


@pytest.fixture
def inspect(box, tmp_path):
    """Runs the Inspector's command line with what handoff prints, in a home of its own; its answer."""
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": box.status()["mcpServers"]}), encoding="utf-8")
    programs_folder = CLIENTS / "node-mcp/node_modules/.bin"
    program = [programs_folder / "node", programs_folder / "mcp-inspector"]
    environment = {**os.environ, "HOME": str(tmp_path), "MCP_INSPECTOR_SECRET_STORE": "memory"}

    def answer(*words):
        command = [*program, "--cli", "--config", config, "--server", box.name, "--format", "json", "-q", *words]
        result = run(command, seconds=90, env=environment)
        assert result.returncode == 0, result
        return json.loads(result.stdout)["result"]

    return answer


@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_the_inspector_finds_no_fault_with_the_tools(inspect, era):
    # --strict makes a schema that some client cannot read an error.
    said = inspect("--protocol-era", era, "--method", "tools/list", "--strict")
    assert WANTED <= {tool["name"] for tool in said["tools"]}, said


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspectors_load_is_answered_without_an_error(inspect, era):
    said = inspect(
        *("--protocol-era", era, "--method", "tools/call", "--tool-name", "shell_exec", "--tool-arg", "command=:"),
        *("--load", "--load-requests", "200", "--load-concurrency", "32"),
    )
    assert (said["requests"], said["ok"], said["toolErrors"], said["errors"]) == (200, 200, 0, 0), said


@pytest.fixture
def claude(tmp_path):
    """The environment with `claude` on its PATH: an account or a network is not needed for this."""
    (binary,) = sorted((CLIENTS / "node/node_modules/@anthropic-ai").glob("claude-code-linux-*/claude"))[:1]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(binary)
    return {
        **os.environ,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def test_claude_code_connects_with_the_printed_line(box, claude, tmp_path):
    line = ok(programs.provision("handoff", box.name, "--format", "claude")).stdout.decode()
    added = subprocess.run(["bash", "-c", line], env=claude, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert added.returncode == 0, added
    listed = subprocess.run(["claude", "mcp", "list"], env=claude, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    said = listed.stdout.decode()
    assert any(each.startswith(f"{box.name}:") and "Connected" in each for each in said.splitlines()), listed


@pytest.mark.parametrize("record", sorted(HERE.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_real_clients_were_seen_to_send_is_answered(box, record):
    """Each recorded line with an id gets one answer; a discovery may be an error that names what is spoken."""
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    asked = [message["id"] for message in lines if "id" in message and message["method"] != "subscriptions/listen"]
    result = run(box.status()["ssh"]["command"], record.read_bytes())
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    answered = [message["id"] for message in answers if message.get("id") in asked]
    assert sorted(map(str, answered)) == sorted(map(str, asked)), result
    for message in answers:
        if message.get("id") in asked and message["id"] not in ("server-discover-probe-1", 1):
            assert "result" in message, message
    assert result.returncode == 0
