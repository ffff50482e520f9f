"""The wall, from inside: code of the agent's does its worst, and the door stays what it was. And all that is no attack works."""
import base64
import json
import os
import signal
import statistics
import time
import zipfile
from pathlib import Path

import pytest
from kit import programs
from kit.box import LocalBox
from kit.processes import descendants
from kit.waiting import wait_until

INSIDE = Path(__file__).parent / "inside"
GONE = {"ESRCH", "ENOENT", "EPERM", "EACCES", "EROFS", "ENXIO"}
# Busy neighbours may make a login slower, never hold it up.
SLOWER = 10


class Door:
    """The processes of a local box's door; the same where they have the same numbers and birthdays."""

    def __init__(self, box):
        self.box = box

    def processes(self):
        found = [p for p in descendants(os.getppid()) if p.program == "agentbox-sshd" and p.parent]
        monitors = [p.pid for p in found if any(str(self.box.folder()) in word for word in p.command)]
        listeners = [p.pid for p in found if p.parent in monitors and "--listener" in p.command and self.is_listener(p.pid)]
        return [*monitors, *listeners]

    @staticmethod
    def is_listener(pid):
        try:
            return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip() != "agentbox-net"
        except OSError:  # it ended meanwhile
            return False

    def seen(self):
        """Both processes with their birthdays; nothing while one of them is not there."""
        try:
            found = [
                (pid, Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19])
                for pid in self.processes()
            ]
        except OSError:
            return []
        return found if len(found) == 2 else []

    def identity(self):
        return wait_until("the door has both its processes", self.seen, 30)

    def limits(self):
        return [
            (Path(f"/proc/{pid}/limits").read_text(encoding="utf-8"), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid))
            for pid in self.processes()
        ]


@pytest.fixture(scope="module", params=["as the tests run", "as a plain user"])
def walled(request):
    """A box, and beside it the same by a user without any right: both have to hold."""
    if request.param == "as a plain user" and not programs.AS_ROOT:
        pytest.skip("it is that already")
    box = LocalBox("walled" if request.param == "as the tests run" else "walled-plain")
    if request.param == "as a plain user":
        box.run_as("nobody")
    try:
        box.create()
        with box.session() as session:
            for path in INSIDE.glob("*.py"):
                session.call("write_file", {"path": path.name, "content": path.read_text(encoding="utf-8")})
        yield box
    finally:
        box.delete()


@pytest.fixture
def door(walled):
    """The door, which must be the same after the test, and let an operator in."""
    door = Door(walled)
    before, limits = door.identity(), door.limits()
    yield door
    assert door.identity() == before
    assert door.limits() == limits
    assert walled.session_works()


def in_box(box, command, seconds=60.0, **arguments):
    with box.session() as session:
        result = session.shell(command, seconds, **arguments)
        assert result["exit_code"] == 0, result
        return result["stdout"]


def login_seconds(box):
    """What an operator waits for a first answer: the median of five."""
    times = []
    for _ in range(5):
        started = time.monotonic()
        with box.session() as session:
            session.ping()
        times.append(time.monotonic() - started)
    return statistics.median(times)


# What must not work


def test_nothing_of_the_door_is_within_reach(walled, door):
    folder, world = walled.folder(), programs.WORLD
    files = [
        *(str(path) for path in (folder / "local" / "door").rglob("*")), f"{folder}/box.json", f"{folder}/id_ed25519",
        f"{world}/run", f"{world}/home", "/root/.ssh/id_rsa", "/var/run/docker.sock", "/run/dbus/system_bus_socket",
        "/agentbox/hostkey", "/agentbox/keys", "/agentbox/state", "/etc/shadow",
    ]
    assert len(files) > 12, files
    wanted = {"pids": door.processes(), "port": walled.status()["ssh"]["port"], "files": files, "dials": 300}
    said = json.loads(in_box(walled, f"python3 attacks.py '{json.dumps(wanted)}'"))
    assert said.pop("link answers") == 0
    for name, outcome in said.items():
        if name.startswith("take "):
            assert outcome == "EADDRINUSE", (name, outcome)
        else:
            assert outcome in GONE, (name, outcome)
    # Three hundred calls on the link are a few lines in the audit, and a number.
    audit = folder / "local" / "door" / "audit.log"

    def audited():
        lines = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
        single = sum("dialled the link" in line.get("reason", "") for line in lines)
        return single, single + sum(line.get("limit", 0) for line in lines)

    wait_until("all are counted", lambda: audited()[1] >= 300)
    assert audited()[0] < 200


def test_the_port_cannot_be_taken_while_the_listener_is_down(walled):
    """The listener is killed ten times under the eyes of code that wants its port."""
    door = Door(walled)
    port = walled.status()["ssh"]["port"]
    with walled.session() as session:
        call = session.start("tools/call", {"name": "shell_exec", "arguments": {"command": f"rm -f stop; python3 thief.py {port} stop"}})
        for _ in range(10):
            old = door.identity()
            os.kill(old[1][0], signal.SIGKILL)
            wait_until("another listens", lambda old=old: door.seen() not in ([], old), 30)
        session.shell("touch stop")
        assert session.reply(call, 30)["result"]["structuredContent"]["stdout"] == "0 True\n"
    assert walled.session_works()


def test_a_crowd_from_inside_does_not_keep_an_operator_out(walled, door):
    port = walled.status()["ssh"]["port"]
    idle = login_seconds(walled)
    with walled.session() as session:
        session.start("tools/call", {"name": "shell_exec", "arguments": {"command": f"rm -f crowd; python3 crowd.py {port} 300 crowd"}})
        wait_until("the crowd is there", lambda: "30" in session.shell("cat crowd 2>/dev/null || true")["stdout"], 60)
        assert login_seconds(walled) < SLOWER * idle


HOGS = {
    "forty busy loops": "touch hog; for i in $(seq 40); do while :; do :; done & done; wait",
    "a gigabyte of memory": "python3 -c 'b = [bytearray(b\"x\" * (256 << 20)) for _ in range(4)]; open(\"hog\", \"w\"); import time; time.sleep(600)'",
    "five hundred processes": "for i in $(seq 500); do sleep 600 & done; touch hog; wait",
    "a thousand open files": "python3 -c 'f = [open(\"/dev/null\") for _ in range(1000)]; open(\"hog\", \"w\"); import time; time.sleep(600)'",
    "a busy disk": "touch hog; while :; do dd if=/dev/zero of=big bs=1M count=64 conv=fsync 2>/dev/null; done",
}


@pytest.mark.parametrize("hog", HOGS)
def test_a_hog_makes_an_operators_login_no_more_than_slower(walled, door, hog):
    idle = login_seconds(walled)
    with walled.session() as session:
        session.shell("rm -f hog")
        running = session.start("tools/call", {"name": "shell_exec", "arguments": {"command": HOGS[hog]}})
        wait_until("it is at work", lambda: "yes" in session.shell("test -e hog && echo yes || true")["stdout"], 60)
        assert login_seconds(walled) < SLOWER * idle
        session.notify("notifications/cancelled", {"requestId": running})
        session.shell("rm -f big", 60)
        session.ping()


def test_ending_everything_inside_ends_the_inside_alone(walled, door):
    with walled.session() as session:
        session.start("tools/call", {"name": "shell_exec", "arguments": {"command": "kill -9 -1; kill -9 1"}})
        session.wait(30)
    wait_until("the box works again", walled.session_works, 30)


# What must work


def test_git_works(walled):
    script = (
        "rm -rf repo && git init -q repo && cd repo && git config user.email a@b && git config user.name n && echo 1 > f && git add f "
        "&& git commit -qm one && git checkout -qb side && echo 2 > f && git commit -qam two && git log --oneline | wc -l && git clone -q . ../repo2 && rm -rf ../repo2"
    )
    assert in_box(walled, script) == "2\n"


def test_a_compiler_and_its_program_work(walled):
    script = "printf '#include <stdio.h>\\nint main(void) { puts(\"made here\"); return 0; }\\n' > a.c && cc -O1 -o a.out a.c && ./a.out"
    assert in_box(walled, script) == "made here\n"


def wheel(folder):
    """A package of one module, as pip takes it."""
    path = folder / "otterly-1.0-py3-none-any.whl"
    files = {
        "otterly.py": "def main():\n    print('otters')\n",
        "otterly-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: otterly\nVersion: 1.0\n",
        "otterly-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "otterly-1.0.dist-info/entry_points.txt": "[console_scripts]\notterly = otterly:main\n",
    }
    files["otterly-1.0.dist-info/RECORD"] = "".join(f"{name},,\n" for name in [*files, "otterly-1.0.dist-info/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_a_package_is_installed_into_the_home_and_runs(walled, tmp_path):
    if walled.name == "walled" and programs.AS_ROOT:
        pytest.skip("takes long, and the plain user shows it")
    path = wheel(tmp_path)
    with walled.session() as session:
        content = base64.b64encode(path.read_bytes()).decode()
        session.call("write_file", {"path": path.name, "content": content, "encoding": "base64"})
        script = (
            "python3 -m venv ~/venv && ~/venv/bin/pip install -q --no-index --disable-pip-version-check "
            f"./{path.name} && ~/venv/bin/otterly && rm -rf ~/venv"
        )
        result = session.shell(script, 120)
        assert result["stdout"] == "otters\n", result


def test_a_server_of_one_session_is_used_and_ended_by_another(walled):
    with walled.session() as first, walled.session() as second:
        run = "rm -f port; echo $$ > server; exec python3 -c \"import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); print(s.server_port, file=open('port', 'w'), flush=True); s.serve_forever()\""
        serving = first.start("tools/call", {"name": "shell_exec", "arguments": {"command": run}})
        fetch = "test -s port && python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:' + open('port').read().strip() + '/port').status)\" || true"
        wait_until("it serves", lambda: second.shell(fetch)["stdout"] == "200\n", 30)
        assert second.shell("kill $(cat server)")["exit_code"] == 0
        assert first.reply(serving)["result"]["structuredContent"]["exit_code"] != 0


def test_terminals_can_be_made(walled):
    assert in_box(walled, "script -qec tty /dev/null").strip().startswith("/dev/pts/")
    assert "/dev/pts/" in in_box(walled, "python3 -c \"import pty; pty.spawn(['tty'])\"")


@pytest.mark.parametrize("folder", ["/workspace", "/tmp", "/home/agent"])
def test_sockets_and_other_special_files_can_be_made(walled, folder):
    script = (
        f"import os, socket; os.chdir('{folder}')\n"
        "s = socket.socket(socket.AF_UNIX); s.bind('s'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('s')\n"
        "c.sendall(b'hi'); print(s.accept()[0].recv(2).decode()); os.mkfifo('f'); os.symlink('f', 'l'); open('g', 'w'); os.link('g', 'h')\n"
        "[os.unlink(n) for n in 'sflgh']\n"
    )
    assert in_box(walled, f"python3 - <<'END'\n{script}END") == "hi\n"


def test_threads_shared_memory_and_locks_work(walled):
    script = (
        "import fcntl, multiprocessing as m, threading as t\n"
        "def f(q): q.put(1)\n"
        "if __name__ == '__main__':\n"
        "  q = m.Queue(); p = m.Process(target=f, args=(q,)); p.start(); print(q.get()); p.join()\n"
        "  a = m.Array('i', 3); x = t.Thread(target=lambda: a.__setitem__(0, 7)); x.start(); x.join(); print(a[0])\n"
        "  fcntl.flock(open('lock', 'w'), fcntl.LOCK_EX); print('locked')\n"
    )
    assert in_box(walled, f"cat > m.py <<'END'\n{script}END\npython3 m.py") == "1\n7\nlocked\n"
