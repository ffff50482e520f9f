"""A jump host: Debian's own sshd, with the lines and the configuration that agentbox-provision prints for it. It runs
where /etc/hosts knows the names of a cluster and /etc/passwd the user of the jump host; root alone can make that."""
import os
import pwd
import subprocess
from pathlib import Path

from kit import programs
from kit.door import free_port
from kit.processes import descendants
from kit.target import make_key, public_line
from kit.waiting import wait_until

USER = "hopper"
CLIENTS = Path(os.environ["AGENTBOX_TEST_CLIENTS"])


def find_sshd():
    """The machine's own, or the one that scripts/test-clients has unpacked, with its libraries' folders."""
    own = Path("/usr/sbin/sshd")
    if own.exists():
        return own, ""
    unpacked = CLIENTS / "sshd"
    libraries = {str(path.parent) for path in unpacked.rglob("*.so.*")}
    return unpacked / "usr/sbin/sshd", ":".join(sorted(libraries))


class JumpHost:
    def __init__(self, folder, names, address="127.0.0.1"):
        """NAMES: {name: address} for its resolver."""
        self.folder = folder
        self.address = address
        self.port = free_port()
        self.process = None
        self.log = folder / "sshd.log"
        self.host_key = make_key(folder / "host_key")
        self.home = folder / "home"
        self.home.mkdir(mode=0o755)
        self.authorized_keys = folder / "authorized_keys"
        self.program, self.libraries = find_sshd()
        hosts = "".join(f"{where} {name}\n" for name, where in names.items())
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}")
        nobody = pwd.getpwnam("nobody")
        self.uid = nobody.pw_uid
        others = [line for line in Path("/etc/passwd").read_text().splitlines() if not line.startswith(("sshd:", f"{USER}:"))]
        (folder / "passwd").write_text("\n".join([
            *others, f"sshd:x:{nobody.pw_uid}:{nobody.pw_gid}::/run/sshd:/usr/sbin/nologin",
            f"{USER}:x:{nobody.pw_uid}:{nobody.pw_gid}::{self.home}:/bin/sh", ""]))  # fmt: skip

    def public_key(self):
        return " ".join(public_line(self.host_key).split()[:2])

    def start(self, lines, config):
        """sshd with these lines for its user, and this piece of configuration behind Debian's own."""
        self.log.unlink(missing_ok=True)
        self.authorized_keys.write_text("".join(f"{line}\n" for line in lines))
        path = self.folder / "sshd_config"
        path.write_text(
            f"ListenAddress {self.address}:{self.port}\nHostKey {self.host_key}\nPidFile none\nLogLevel DEBUG3\n"
            f"AuthorizedKeysFile {self.authorized_keys}\nStrictModes no\nUsePAM no\nX11Forwarding yes\n"
            f"KbdInteractiveAuthentication no\n{self._session_program()}{config}")
        script = (f"mkdir -p /run/sshd && mount -t tmpfs -o mode=0755 tmpfs /run && mkdir -m 0755 /run/sshd && "
                  f"mount --bind {self.folder}/hosts /etc/hosts && mount --bind {self.folder}/passwd /etc/passwd && "
                  f'exec "$@"')
        self.process = programs.start(
            ["unshare", "--mount", "sh", "-c", script, "sh", self.program, "-D", "-e", "-f", path], self.log,
            env={**os.environ, "LD_LIBRARY_PATH": self.libraries})
        wait_until("the jump host listens", lambda: "Server listening" in self.text() and self.process.poll() is None)
        return self

    def _session_program(self):
        """Newer ones start a program of their own for each session, which lies where sshd was unpacked."""
        session = self.program.parent.parent / "lib/openssh/sshd-session"
        return f"SshdSessionPath {session}\n" if session.exists() and session != Path("/usr/lib/openssh/sshd-session") else ""

    def text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def memory_holds(self, needle):
        """Whether any process of it has NEEDLE anywhere in its memory, and how much of that was looked at."""
        looked = 0
        for pid in [self.process.pid, *(process.pid for process in descendants(self.process.pid))]:
            try:
                maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
                with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                    for line in maps:
                        found, size = self._look(memory, line, needle)
                        looked += size
                        if found:
                            return True, looked
            except FileNotFoundError:
                continue
        return False, looked

    @staticmethod
    def _look(memory, line, needle):
        span, modes = line.split()[:2]
        if "w" not in modes:
            return False, 0
        start, end = (int(number, 16) for number in span.split("-"))
        try:
            memory.seek(start)
            data = memory.read(end - start)
        except (OSError, ValueError, OverflowError):
            return False, 0
        return needle in data, len(data)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                programs.kill_quietly(self.process)
