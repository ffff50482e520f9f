"""What `rbac COMMAND` prints is what the command needs, and no less: each command with exactly these rights, and with
each of them missing. The cluster is kit/cluster.py, which answers as lazily as a real one, so that what is waited for
has to be watched."""
import itertools
import json
import os

import pytest
from kit import programs
from kit.box import ok
from kit.cluster import Cluster
from kit.node import Node
from kit.target import make_key

_names = itertools.count(1)


@pytest.fixture
def cluster(tmp_path):
    tmp_path.chmod(0o700)
    started = Cluster(tmp_path).start()
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def node(cluster, tmp_path_factory):
    node = Node(cluster, tmp_path_factory.mktemp("node"))
    try:
        yield node
    finally:
        node.stop()


def provision(cluster, *words):
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(cluster.folder / "state"), "KUBECONFIG": str(cluster.kubeconfig())}
    environment.pop("HTTPS_PROXY", None)
    return programs.provision(*words, "--output", "json", seconds=120, env=environment)


def rights(*commands):
    """{(verb, resource)} of the Role that is printed for these commands."""
    role = json.loads(ok(programs.provision("rbac", *commands, "--output", "json")).stdout)
    return {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


def made(cluster, *options):
    name = f"box-{next(_names)}"
    ok(provision(cluster, "create", name, "--kubernetes", *options))
    return name


def half_made(cluster):
    """Its Secret has no owner yet, and goes with nobody."""
    name = made(cluster)
    cluster.edit("secrets", f"{name}-hostkey", lambda value: value["metadata"].pop("ownerReferences"))
    return name


def suspended(cluster):
    name = made(cluster)
    ok(provision(cluster, "suspend", name, "--kubernetes"))
    return name


def fingerprint(cluster, name):
    return json.loads(ok(provision(cluster, "status", name, "--kubernetes")).stdout)["keys"][0]["fingerprint"]


def logged(cluster):
    cluster.log_of = lambda pod, container: b"{}\n"
    return made(cluster)


def left_over(cluster):
    name = made(cluster)
    labels = cluster.get("networkpolicies", f"agentbox-{name}")["metadata"]["labels"]
    cluster.edit("networkpolicies", f"agentbox-{name}", lambda value: value["metadata"].update(
        creationTimestamp="2020-01-01T00:00:00Z"))
    cluster.edit("secrets", f"{name}-hostkey", lambda value: value["metadata"].pop("ownerReferences"))
    with cluster.changed:
        cluster._delete("sandboxes", "boxes", name)
    assert labels and cluster.get("secrets", f"{name}-hostkey")
    return name


def plain(verb, *options):
    return lambda cluster, name: (verb, name, "--kubernetes", *options)


COMMANDS = {  # what is there before, and what is run
    "create": (lambda cluster: f"box-{next(_names)}", plain("create")),
    "status": (made, plain("status")),
    "handoff": (made, plain("handoff", "--format", "claude")),
    "list": (made, lambda cluster, name: ("list", "--kubernetes")),
    "suspend": (made, plain("suspend")),
    "resume": (suspended, plain("resume")),
    "rotate": (made, plain("rotate")),
    "revoke": (made, lambda cluster, name: ("revoke", name, "--kubernetes", "--key", fingerprint(cluster, name))),
    "evict": (made, lambda cluster, name: ("revoke", name, "--kubernetes", "--evict", "--key", fingerprint(cluster, name))),
    "ca": (made, lambda cluster, name: ("ca", "trust", "--box", name, "--kubernetes", "--ca", cluster.folder / "ca.pub")),
    "delete": (half_made, plain("delete")),
    "logs": (logged, plain("logs")),
    "gc": (left_over, lambda cluster, name: ("gc",)),
}


def of_pools(command, wanted):
    """Those that are needed for a box of a warm pool, which these are not."""
    kinds = {"sandboxwarmpools", "sandboxtemplates"} | (set() if command in ("create", "list") else {"sandboxclaims"})
    more = {("list", "sandboxes"), ("watch", "sandboxes")} if command in ("rotate", "revoke", "ca") else set()
    more |= {("get", "sandboxes")} if command == "list" else set()
    return {right for right in wanted if right[1] in kinds} | more


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_needs_exactly_the_rights_that_are_printed(cluster, command):
    before, words = COMMANDS[command]
    make_key(cluster.folder / "ca")
    wanted = rights(command)

    def run(allowed):
        cluster.allowed, cluster.lazy = None, False
        name = before(cluster)
        line = words(cluster, name)
        cluster.allowed, cluster.lazy = allowed, True
        return provision(cluster, *line)

    ok(run(wanted))
    for right in sorted(wanted - of_pools(command, wanted)):
        result = run(wanted - {right})
        assert result.returncode == 7, (right, result)
        verb, resource = right
        message = json.loads(result.stdout)["error"]["message"]
        assert f'cannot {verb} resource "{resource}"' in message, (right, message)


@pytest.mark.parametrize("command, words", [
    ("call", ("call", "NAME", "system_info")),
    ("pull", ("pull", "NAME", "file", "/dev/null")),
    ("push", ("push", "NAME", __file__, "file2")),
    ("doctor", ("doctor", "NAME")),
    ("verify", ("verify", "NAME")),
    ("verify", ("verify", "absent")),
], ids=lambda value: value if isinstance(value, str) else value[1])
def test_what_speaks_to_a_box_needs_no_more_rights_than_are_printed(cluster, node, command, words):
    name = made(cluster)
    node.doors[name].folder.joinpath("box/workspace/file").write_text("x")
    line = [name if word == "NAME" else word for word in words]
    if command == "pull":
        line[-1] = cluster.folder / "pulled"
    cluster.allowed = rights(command, "port-forward")
    ok(provision(cluster, *line, "--port-forward"))
    lacking = {("get", "sandboxes"), ("get", "pods/portforward"), ("create", "pods/portforward")}
    lacking |= rights("doctor") if command == "doctor" else set()
    for right in sorted(lacking):
        cluster.allowed = rights(command, "port-forward") - {right}
        assert provision(cluster, *line, "--port-forward").returncode in (6, 7), right


def test_a_volume_that_outlives_its_box_needs_a_right_of_its_own(cluster):
    cluster.allowed = rights("create")
    assert provision(cluster, "create", "demo", "--kubernetes", "--retain-data").returncode == 7
    cluster.allowed = rights("create", "retain-data")
    ok(provision(cluster, "create", "demo", "--kubernetes", "--retain-data"))
