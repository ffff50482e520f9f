"""A door and a spawner as plain processes: the wall between them is not what these tests are about."""
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
from pathlib import Path

from kit import programs
from kit.processes import alive, descendants, descriptors
from kit.target import Target, make_key, public_line
from kit.waiting import wait_until

_generations = itertools.count(1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Door:
    """agentbox-sshd with its configuration, keys and audit log below one folder."""

    def __init__(self, folder, extra_config="", address="127.0.0.1", port=None):
        self.folder = folder
        self.address = address
        self.port = port or free_port()
        self.monitor = None
        self.spawner = None
        self.arguments = []  # more of the monitor's
        self.wrapper = []  # what starts the monitor, where it is not popen alone
        self.start_arguments = {}  # of the monitor's popen
        for name in ("door", "door/keys", "door/state", "link", "box", "client"):
            (folder / name).mkdir(mode=0o755)
        for name in ("workspace", "home", "tmp", "out"):
            (folder / "box" / name).mkdir(mode=0o755)
        make_key(folder / "door" / "host_key")
        self.key = make_key(folder / "client" / "key")
        self.audit_log = folder / "door" / "audit.log"
        self.log = folder / "door" / "log"
        self.box_log = folder / "box" / "log"
        self.write_keys(public_line(self.key))
        self.config = folder / "door" / "config.yaml"
        self.config.write_text(
            f"""listen: {{address: "{address}", port: {self.port}}}
host_key: {folder}/door/host_key
keys_dir: {folder}/door/keys
link: {{socket: {folder}/link/door.sock, box_uid: {programs.uid_of("agentbox")}}}
audit: {{sink: {self.audit_log}}}
state_dir: {folder}/door/state
{"" if "profile:" in extra_config else "profile: full"}
{extra_config or "limits: {own_unauthenticated: 0}  # every client of these tests is on this machine"}
""",
            encoding="utf-8",
        )
        host = public_line(folder / "door" / "host_key")
        known = folder / "client" / "known_hosts"
        known.write_text(f"[{address}]:{self.port} {host}\n", encoding="utf-8")
        self.target = Target(address, self.port, "agent", self.key, known)
        programs.give_to("agentbox-door", folder / "door", folder / "link")
        programs.give_to("agentbox", folder / "box")

    # Starting and stopping

    def start(self):
        self.start_monitor()
        self.start_spawner()
        self.await_session()
        return self

    def start_monitor(self):
        program = programs.reachable_copy(programs.SSHD, programs.WORLD / "bin")
        self.monitor = programs.start(
            [*self.wrapper, program, "--config", self.config, *self.arguments],
            self.log,
            **{**programs.account("agentbox-door"), **self.start_arguments},
        )
        wait_until("the door listens", self.listens)

    def in_mounts_of_its_own(self, script):
        """As root: the monitor starts where this shell script has mounted what it likes, seen by nobody else."""
        entry = programs.account("agentbox-door")
        then = f'exec setpriv --reuid={entry["user"]} --regid={entry["group"]} --clear-groups "$@"'
        self.wrapper = ["unshare", "--mount", "sh", "-c", f"{script} && {then}", "sh"]
        self.start_arguments = {"user": None, "group": None, "extra_groups": None}

    def start_spawner(self):
        program = programs.reachable_copy(programs.BOX, programs.WORLD / "bin")
        box = self.folder / "box"
        command = [program, "spawner", "--link", self.folder / "link" / "door.sock"]
        for name in ("workspace", "home", "tmp", "out"):
            command += [f"--{name}", box / name]
        self.spawner = programs.start(command, self.box_log, cwd=box, **programs.account("agentbox"))

    def stop(self):
        """In order where possible; nothing of it is left in any case."""
        for process in (self.monitor, self.spawner):
            if process and process.poll() is None:
                process.terminate()
        for process in (self.monitor, self.spawner):
            if process:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    programs.kill_quietly(process)

    def listens(self):
        assert self.monitor.poll() is None, f"the door ended: {self.log.read_text()}"
        try:
            with socket.create_connection((self.address, self.port), 2) as connection:
                connection.settimeout(2)
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def listens_at_all(self):
        with socket.socket() as probe:
            return probe.connect_ex((self.address, self.port)) == 0

    def session_works(self):
        try:
            with self.target.session() as session:
                session.ping(5)
            return True
        except (AssertionError, OSError) as error:
            self.last_refusal = str(error)
            return False

    def await_session(self, seconds=15.0):
        """The door counts as up when a session answers: it listens before the box side has dialled."""
        try:
            wait_until("a session works", self.session_works, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self.last_refusal}\n{self.logs()}") from None

    def logs(self):
        """The end of what either side logged, for a failure's message."""
        parts = []
        for path in (self.log, self.box_log):
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            parts += [f"{path}:", *text.splitlines()[-15:]]
        return "\n".join(parts)

    # What it is made of

    def listener(self):
        """The listener's process id: the monitor's child that is not at the end of a connection."""
        return wait_until("the listener is there", self._listener)

    def _listener(self):
        for process in descendants(self.monitor.pid):
            if process.parent == self.monitor.pid and process.program == "agentbox-sshd":
                with contextlib.suppress(FileNotFoundError):  # it may have ended meanwhile
                    if self._listening_inode() in descriptors(process.pid).values():
                        return process.pid
        return None

    def _listening_inode(self):
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in Path(table).read_text(encoding="utf-8").splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rsplit(":", 1)[1], 16) == self.port:
                    return f"socket:[{words[9]}]"
        return None

    def connections(self):
        """The process ids of the network children."""
        listener = self._listener()
        below = [process.pid for process in descendants(self.monitor.pid)]
        return [pid for pid in below if pid != listener]

    def sessions(self):
        """The process ids of the agent-box of each channel."""
        return [
            process.pid
            for process in descendants(self.spawner.pid)
            if process.parent == self.spawner.pid and process.command == ("agent-box",)
        ]

    def keepers(self):
        """The process ids of those who look after jobs: the spawner forks them, so they keep its words."""
        return [
            process.pid
            for process in descendants(self.spawner.pid)
            if process.parent == self.spawner.pid and "spawner" in process.command
        ]

    def box_processes(self):
        return descendants(self.spawner.pid)

    def footprint(self):
        """What must be the same before and after any number of sessions."""
        return {
            "door processes": len(descendants(self.monitor.pid)),
            "box processes": len(descendants(self.spawner.pid)),
            "monitor descriptors": len(descriptors(self.monitor.pid)),
            "spawner descriptors": len(descriptors(self.spawner.pid)),
            "listener descriptors": len(descriptors(self.listener())),
            "files in tmp": len(os.listdir(self.folder / "box" / "tmp")),
        }

    def quiet_footprint(self):
        """The same once nothing runs: not even what the start of a box leaves to be done aside."""
        wait_until("all is quiet", lambda: not self.connections() and not self.box_processes(), 30)
        return self.footprint()

    def await_footprint(self, wanted, seconds=20.0):
        def same():
            seen.clear()
            seen.update(self.footprint())
            return seen == wanted

        seen = {}
        try:
            wait_until("the door is back to what it was", same, seconds)
        except AssertionError as error:
            changed = {name: (wanted[name], seen[name]) for name in wanted if wanted[name] != seen.get(name)}
            names = [str(process) for process in descendants(self.monitor.pid) + self.box_processes()]
            raise AssertionError(f"{error}; was, is: {changed}; processes: {names}") from None

    def ended(self):
        """True once neither side has a live process."""
        self.monitor.poll()
        self.spawner.poll()
        return not alive(self.monitor.pid) and not alive(self.spawner.pid)

    # Keys and audit

    def write_keys(self, *lines, **others):
        """Swaps the keys in the way a projected volume does: a new folder, then the ..data link. OTHERS are
        the texts of other files, such as generation and revoked."""
        keys = self.folder / "door" / "keys"
        fresh = keys / f"..generation_{next(_generations)}"
        fresh.mkdir(mode=0o755)
        (fresh / "authorized_keys").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for name, text in others.items():
            (fresh / name).write_text(text, encoding="utf-8")
        link = keys / "..data_new"
        link.symlink_to(fresh.name)
        link.rename(keys / "..data")
        name = keys / "authorized_keys"
        if not name.is_symlink():
            name.symlink_to("..data/authorized_keys")

    def audit(self, event=None):
        """The audit lines so far, each parsed; those of one event where it is named."""
        text = self.audit_log.read_text(encoding="utf-8") if self.audit_log.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if event is None or line["event"] == event]

    def await_audit(self, event, matches=lambda line: True, seconds=10.0):
        return wait_until(
            f"an audit line {event}", lambda: [line for line in self.audit(event) if matches(line)], seconds
        )

    def kill(self, pid, number=signal.SIGKILL):
        os.kill(pid, number)
