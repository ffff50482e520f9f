"""The test cluster as a test sees it: namespaces, boxes in them, an administrator's view, and parts of the node."""
import json
import os
import re
import signal
import time
from pathlib import Path

import node
from api import Api, Resource
from kit import programs
from kit.box import ok
from kit.mcp import Session
from kit.target import run
from kit.waiting import wait_until

VERSION = re.search(r"^project\(agentbox VERSION (\S+) ", (Path(__file__).resolve().parents[2] / "CMakeLists.txt").read_text(),
                    re.MULTILINE)[1]
DOOR_IMAGE = f"localhost/agentbox-door:{VERSION}"
FULL_IMAGE = f"localhost/agentbox-box-full:{VERSION}"
OPERATOR_IMAGE = f"localhost/agentbox-operator:{VERSION}"

KINDS = {
    "sandboxes": Resource("agents.x-k8s.io/v1beta1", "sandboxes", "Sandbox"),
    "networkpolicies": Resource("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy"),
    "secrets": Resource("v1", "secrets", "Secret"),
    "pods": Resource("v1", "pods", "Pod"),
    "services": Resource("v1", "services", "Service"),
    "persistentvolumeclaims": Resource("v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    "events": Resource("v1", "events", "Event"),
}
NAMESPACES = Resource("v1", "namespaces", "Namespace", namespaced=False)
OURS = "agentbox.internal/test"


def kubectl(*words, stdin=b"", seconds=60.0, kubeconfig=None):
    """kubectl to its end, as the cluster's administrator unless another kubeconfig is given."""
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig or node.KUBECONFIG)}
    return run([node.BIN / "kubectl", *words], stdin=stdin, seconds=seconds, env=environment)


class Namespace:
    def __init__(self, name, folder, level="restricted"):
        self.name = name
        self.folder = folder
        self.level = level
        self.api = Api(node.KUBECONFIG)

    def __enter__(self):
        self.folder.chmod(0o711)
        labels = {f"pod-security.kubernetes.io/{what}": self.level for what in ("enforce", "warn")}
        self.api.create(NAMESPACES, {"metadata": {"name": self.name, "labels": {**labels, OURS: "yes"}}})
        wait_until("the namespace's account", lambda: self.api.get(
            Resource("v1", "serviceaccounts", "ServiceAccount"), self.name, "default"), 30)
        return self

    def __exit__(self, *_):
        self.api.delete(NAMESPACES, None, self.name)  # it takes seconds, for which nobody waits

    @staticmethod
    def all_gone():
        """Waits until none of ours is left."""
        api = Api(node.KUBECONFIG)
        wait_until("the end of all namespaces", lambda: not [
            each for each in api.request("GET", NAMESPACES.path())["items"]
            if OURS in each["metadata"].get("labels", {})], 120)

    # As an administrator

    def get(self, plural, name):
        return self.api.get(KINDS[plural], self.name, name)

    def all(self, plural):
        return self.api.request("GET", KINDS[plural].path(self.name))["items"]

    def names(self, plural):
        return sorted(each["metadata"]["name"] for each in self.all(plural))

    def merge(self, plural, name, patch):
        return self.api.merge(KINDS[plural], self.name, name, patch)

    def delete(self, plural, name):
        return self.api.delete(KINDS[plural], self.name, name)

    def apply(self, *objects):
        """Objects of kubectl's, in this namespace."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        return ok(kubectl("-n", self.name, "apply", "-f", "-", stdin=json.dumps(listed).encode()))

    def spec(self, **changed):
        """A file for `create -f`."""
        path = self.folder / f"spec-{abs(hash(json.dumps(changed, sort_keys=True)))}.yaml"
        if not path.exists():  # somebody may be reading it
            path.write_text(json.dumps({"kubernetes": {"door_image": DOOR_IMAGE, **changed}}))
        return path

    # As an operator

    def provision(self, *words, kubeconfig=None, state="state", seconds=180.0):
        environment = {**os.environ, "AGENTBOX_STATE_DIR": str(self.folder / state),
                       "KUBECONFIG": str(kubeconfig or node.KUBECONFIG)}
        return programs.provision(*words, "--output", "json", seconds=seconds, env=environment)

    def done(self, verb, *words, **arguments):
        return json.loads(ok(self.provision(verb, *words, "--namespace", self.name, **arguments)).stdout)

    def refused(self, status, verb, *words, **arguments):
        """The error's message and what it says to do next."""
        result = self.provision(verb, *words, "--namespace", self.name, **arguments)
        assert result.returncode == status, result
        error = json.loads(result.stdout)["error"]
        assert error["message"] and error["next"], error
        return f"{error['message']}\n{error['next']}"

    def box(self, name, **spec):
        return KubeBox(self, name, spec)


class KubeBox:
    """A box as an operator makes it."""

    def __init__(self, namespace, name, spec):
        self.namespace = namespace
        self.name = name
        self.spec = spec
        self.state = None

    def create(self, *words, **arguments):
        self.state = self.namespace.done("create", self.name, "-f", self.namespace.spec(**self.spec), *words, **arguments)
        return self.state

    def done(self, verb, *words, **arguments):
        return self.namespace.done(verb, self.name, *words, **arguments)

    def status(self):
        self.state = self.done("status")
        return self.state

    def delete(self):
        return self.done("delete")

    def session(self, **arguments):
        """An MCP session by the command that the operator was given."""
        return Session(self.state["ssh"]["command"], **arguments)

    def pod(self):
        return self.namespace.get("pods", self.name)

    def address(self):
        return self.pod()["status"]["podIP"]

    def door_log(self):
        return kubectl("-n", self.namespace.name, "logs", self.name, "-c", "door").stdout


class NodeParts:
    """The processes that a node and its cluster are made of. The supervisor starts again what ends, unless it is held."""

    def __init__(self):
        self._touched = set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in self._touched:
            self.release(name)
            wait_until(f"{name} is back", lambda: self.number(name), 30)
        wait_until("the API server answers", lambda: kubectl("get", "--raw", "/readyz").returncode == 0, 60)
        wait_until("the node is ready", lambda: kubectl(
            "wait", "--for=condition=Ready", f"node/{node.NODE}", "--timeout=1s").returncode == 0, 90)

    @staticmethod
    def number(name):
        try:
            return int((node.PIDS / name).read_text())
        except (OSError, ValueError):
            return None

    def kill(self, name, stay_down=False):
        """Ends it at once; it is started again in half a second, or once it is released."""
        self._touched.add(name)
        if stay_down:
            (node.HELD / name).touch()
        number = self.number(name)
        os.kill(number, signal.SIGKILL)
        wait_until(f"the end of {name}", lambda: self.number(name) != number)

    @staticmethod
    def release(name):
        (node.HELD / name).unlink(missing_ok=True)


class Clock:
    """How long something took, for those who want to know."""

    def __enter__(self):
        self.begin = time.monotonic()
        return self

    def __exit__(self, *_):
        self.seconds = time.monotonic() - self.begin

    def so_far(self):
        return time.monotonic() - self.begin
