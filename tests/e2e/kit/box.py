"""A local box, made by agentbox-provision the way a newcomer's is."""
import json
import os

from kit import programs
from kit.mcp import Session
from kit.target import run


def ok(result):
    assert result.returncode == 0, (result.args, result.returncode, result.stdout, result.stderr)
    return result


def fails(status, *words, **arguments):
    """The error of agentbox-provision WORDS, whose exit code must be status."""
    result = programs.provision(*words, "--output", "json", **arguments)
    assert result.returncode == status, result
    error = json.loads(result.stdout)["error"]
    assert error["message"] and error["next"], error
    return error


class LocalBox:
    def __init__(self, name):
        self.name = name
        self._runner = programs.provision
        self._state = programs.WORLD / "state"

    def run_as(self, user):
        """Everything of it, its operator included, is this user's; to be said before create()."""
        account = programs.account(user)
        folder = programs.WORLD / f"of-{user}"
        self._state = folder / "state"
        for path in (folder, self._state, folder / "home", folder / "tmp"):
            path.mkdir(exist_ok=True)
        programs.give_to(user, folder)
        for program in (programs.SSHD, programs.BOX, programs.PROVISION):
            programs.reachable_copy(program, programs.WORLD / "bin")
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
            "AGENTBOX_STATE_DIR": str(self._state), "AGENTBOX_PROGRAMS": str(programs.WORLD / "bin"),
        }
        program = programs.WORLD / "bin" / programs.PROVISION.name
        self._runner = lambda *words, seconds=60.0: run(
            [program, *words], seconds=seconds, env=environment, cwd="/", **account
        )

    def run(self, *words, **arguments):
        """agentbox-provision to its end, as the box's operator."""
        return self._runner(*words, **arguments)

    def provision(self, verb, *words, seconds=60.0):
        """The JSON that a successful agentbox-provision VERB NAME prints."""
        result = ok(self._runner(verb, self.name, *words, "--output", "json", seconds=seconds))
        return json.loads(result.stdout)

    def audit_log(self, *words):
        return json.loads(ok(self._runner("audit-log", "show", "--box", self.name, *words, "--output", "json")).stdout)

    def create(self, *words):
        return self.provision("create", *words)

    def status(self):
        return self.provision("status")

    def lasting(self):
        """Its status without what changes all the time."""
        return {name: value for name, value in self.status().items() if name != "audit_head"}

    def delete(self):
        ok(self._runner("delete", self.name))

    def session(self, **arguments):
        return Session(self.status()["ssh"]["command"], **arguments)

    def session_works(self):
        try:
            with self.session() as session:
                session.ping(5)
            return True
        except (AssertionError, OSError):  # OSError: ssh ended before it was written to
            return False

    def folder(self):
        return self._state / "boxes" / self.name
