"""The Role that `rbac COMMAND` prints is enough for the command, and nothing in it is more than that."""
import pytest
from rights import Operator, single_rights, without


# What a command needs only where the cluster is slower than it: the first look at a list may show all that is waited
# for, and a Secret go with the Sandbox that owns it before it is removed by name.
SELDOM = {("", "pods", "watch"), ("", "secrets", "delete")}
# And what it needs only where no Sandbox has the name: there may be a claim.
SELDOM.add(("extensions.agents.x-k8s.io", "sandboxclaims", "get"))
# A Sandbox that nobody holds is gone by the first look.
SELDOM_FOR = {"delete": SELDOM | {("agents.x-k8s.io", "sandboxes", "watch")}}


def arguments_of(command, namespace, box):
    """How the command is run for its box, and whether it makes or removes it."""
    return {
        "create": ["create", box, "-f", namespace.spec()],
        "status": ["status", box],
        "list": ["list"],
        "handoff": ["handoff", box, "--format", "json"],
        "suspend": ["suspend", box],
        "resume": ["resume", box],
        "rotate": ["rotate", box],
        "delete": ["delete", box],
    }[command]


def role_for(namespace, *commands):
    return namespace.done("rbac", *commands)



def bring_to(namespace, admin, command, box):
    """The state that the command begins from, made with all rights."""
    if command == "create":
        if namespace.get("sandboxes", box):
            admin("delete", box)
        return
    if not namespace.get("sandboxes", box):
        admin("create", box, "-f", namespace.spec())
    running = namespace.get("sandboxes", box)["spec"]["operatingMode"] == "Running"
    if command == "resume" and running:
        admin("suspend", box)
    if command != "resume" and not running:
        admin("resume", box)


@pytest.fixture(scope="module")
def admin(namespace):
    return lambda *words: namespace.done(*words, state="operator")


@pytest.mark.parametrize("command", ["create", "status", "list", "handoff", "suspend", "resume", "rotate", "delete"])
def test_the_printed_role_is_just_enough(namespace, admin, command):
    role = role_for(namespace, command)
    operator = Operator(namespace, f"may-{command}", role)
    box = "needs"

    def run():
        bring_to(namespace, admin, command, box)
        return namespace.provision(*arguments_of(command, namespace, box), "--namespace", namespace.name,
                                   kubeconfig=operator.kubeconfig, state="operator")

    needless = []
    for right in single_rights(role):
        operator.give(without(role, right))
        result = run()
        if result.returncode == 0:
            needless.append(right)
        else:
            assert result.returncode == 7, (right, result)
            assert b"cannot" in result.stdout, result.stdout
    operator.give(role)
    result = run()
    assert result.returncode == 0, result
    assert set(needless) <= SELDOM_FOR.get(command, SELDOM), f"{command} ends well without {needless}"


def test_nothing_but_the_cluster_is_asked_what_one_may(namespace):
    """A Role for all commands still reads no Secret, runs nothing in a pod and makes nothing outside its namespace."""
    role = role_for(namespace, "create", "status", "list", "suspend", "resume", "rotate", "revoke", "delete")
    rights = set(single_rights(role))
    assert not {right for right in rights if right[1].startswith("pods/") or right[2] == "*" or right[0] == "*"}
    assert {verb for group, resource, verb in rights if resource == "secrets"} <= {"create", "patch", "delete"}
