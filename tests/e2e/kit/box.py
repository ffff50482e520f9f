"""A local box, made by agentbox-provision the way a newcomer's is."""
import json

from kit import programs
from kit.mcp import Session


def ok(result):
    assert result.returncode == 0, (result.args, result.returncode, result.stdout, result.stderr)
    return result


class LocalBox:
    def __init__(self, name):
        self.name = name

    def provision(self, verb, *words, seconds=60.0):
        """The JSON that a successful agentbox-provision VERB NAME prints."""
        result = ok(programs.provision(verb, self.name, *words, "--output", "json", seconds=seconds))
        return json.loads(result.stdout)

    def create(self, *words):
        return self.provision("create", *words)

    def status(self):
        return self.provision("status")

    def delete(self):
        ok(programs.provision("delete", self.name))

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
        return programs.WORLD / "state" / "boxes" / self.name
