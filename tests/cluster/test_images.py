"""The images themselves: who they run as, what is in them, and that each does its work with its root read-only."""
import json
from pathlib import Path

import pytest
from api import Resource
from cluster import FULL_IMAGE, KINDS, OPERATOR_IMAGE, VERSION, kubectl
from kit.box import ok
from kit.waiting import wait_until

MADE = Path(__file__).resolve().parents[2] / "build/images"
ACCOUNTS = Resource("v1", "serviceaccounts", "ServiceAccount")


def run_once(namespace, name, image, command, account="default", token=False):
    """What the only container of a pod says to its end, as the image's own user, nothing of it writable."""
    namespace.api.create(KINDS["pods"], {
        "metadata": {"name": name, "namespace": namespace.name},
        "spec": {
            "restartPolicy": "Never", "serviceAccountName": account, "automountServiceAccountToken": token,
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "state", "emptyDir": {}}],
            "containers": [{
                "name": "main", "image": image, "command": command,
                "env": [{"name": "AGENTBOX_STATE_DIR", "value": "/state"}],
                "volumeMounts": [{"name": "state", "mountPath": "/state"}],
                "securityContext": {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                    "capabilities": {"drop": ["ALL"]}}}]}})
    phase = wait_until(f"the end of {name}", lambda: {"Succeeded": "Succeeded", "Failed": "Failed"}.get(
        namespace.get("pods", name).get("status", {}).get("phase")), 60)
    said = ok(kubectl("-n", namespace.name, "logs", name)).stdout.decode()
    namespace.delete("pods", name)
    assert phase == "Succeeded", said
    return said


@pytest.mark.parametrize("image", ["door", "box", "box-full", "operator"])
def test_an_image_has_a_user_and_no_more_than_it_needs(namespace, image, measured):
    name = f"localhost/agentbox-{image}:{VERSION}"
    said = run_once(namespace, f"who-{image}", name, ["/bin/sh", "-c", "id -u; touch /usr/mine 2>&1; find / -xdev -type f -perm /6000 2>/dev/null; true"])
    user, refusal, *with_rights_of_others = said.splitlines()
    assert user in ("1000", "1001") and "Read-only file system" in refusal, said
    assert with_rights_of_others == []
    measured((MADE / f"{image}.txt").read_text().splitlines()[0])


@pytest.mark.parametrize("image", ["door", "box", "box-full", "operator"])
def test_the_parts_of_an_image_are_listed(image):
    listed = json.loads((MADE / f"{image}.spdx.json").read_text())
    assert listed["spdxVersion"] == "SPDX-2.3"
    names = {each["name"] for each in listed["packages"]}
    wanted = {"door": {"agentbox-sshd", "agent-box", "libssh-4"}, "box": {"agent-box"}, "box-full": {"agent-box", "git", "ripgrep"},
              "operator": {"agentbox-provision", "libcurl4", "openssh-client"}}[image]
    assert wanted | {"libc6"} <= names, names
    told = {line.split(" ")[0] for line in (MADE / f"{image}.txt").read_text().splitlines()[1:]}
    assert told <= names
    ids = {each["SPDXID"] for each in listed["packages"]}
    assert all(each["relatedSpdxElement"] in ids for each in listed["relationships"])


def test_the_door_says_what_it_is_linked_with(namespace):
    said = run_once(namespace, "version", f"localhost/agentbox-door:{VERSION}", ["/usr/bin/agentbox-sshd", "--version"])
    assert said.startswith(f"agentbox-sshd {VERSION}") and "libssh" in said


def test_what_agents_reach_for_is_there(namespace):
    said = run_once(namespace, "tools", FULL_IMAGE, [
        "/bin/sh", "-c", "git --version && python3 --version && node --version && rg --version && jq --version && "
        "curl --version && whoami"])
    assert "git version" in said and "Python 3" in said and "ripgrep" in said and said.strip().endswith("agent")


def test_an_operator_in_the_cluster_needs_nothing_but_its_account(namespace):
    """The operator's image, with the token that the cluster gives a pod."""
    role = namespace.done("rbac", "list")
    role["metadata"] = {"name": "lists", "namespace": namespace.name}
    namespace.api.create(ACCOUNTS, {"metadata": {"name": "lists", "namespace": namespace.name}})
    namespace.apply(role, {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "lists"},
        "subjects": [{"kind": "ServiceAccount", "name": "lists", "namespace": namespace.name}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lists"}})
    said = run_once(namespace, "operator", OPERATOR_IMAGE, [
        "/usr/bin/agentbox-provision", "list", "--kubernetes", "--output", "json"], "lists", token=True)
    assert json.loads(said) == {"boxes": []}
