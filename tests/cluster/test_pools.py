"""Warm pools in a real cluster: pods that wait, boxes that are one of them, and keys that are taken away."""
import pytest
from cluster import KINDS, Clock, kubectl
from api import Resource
from kit.mcp import gets_in
from rights import Operator
from kit.target import make_key
from kit.waiting import wait_until

EXTENSION = "extensions.agents.x-k8s.io/v1beta1"
KINDS.update({
    "sandboxclaims": Resource(EXTENSION, "sandboxclaims", "SandboxClaim"),
    "sandboxwarmpools": Resource(EXTENSION, "sandboxwarmpools", "SandboxWarmPool"),
    "sandboxtemplates": Resource(EXTENSION, "sandboxtemplates", "SandboxTemplate"),
})


@pytest.fixture(scope="module")
def pool(namespace):
    """A pool of two pods that are ready."""
    namespace.done("template", "apply", "small", "-f", namespace.spec())
    namespace.done("pool", "apply", "warm", "--template", "small", "--replicas", "2")
    wait_until("two pods wait", lambda: namespace.done("pool", "status", "warm")["ready"] == 2, 120)
    return namespace


class Claimed:
    """A box from the pool."""

    def __init__(self, pool, name, *words):
        self.pool = pool
        self.name = name
        with Clock() as clock:
            self.state = pool.done("create", name, "--from-pool", "warm", *words)
            self.seconds = clock.so_far()

    def done(self, verb, *words):
        return self.pool.done(verb, self.name, *words)

    def pod(self):
        return self.pool.get("pods", self.state["sandbox"])

    def may_enter(self):
        return gets_in(self.state["ssh"]["command"])


@pytest.fixture
def claimed(pool):
    boxes = []

    def take(name, *words):
        boxes.append(Claimed(pool, name, *words))
        return boxes[-1]

    yield take
    for box in boxes:
        box.done("delete")


def test_a_pod_that_waits_lets_nobody_in_and_is_a_box_a_second_later(pool, claimed, measured):
    waiting = set(pool.names("pods"))
    box = claimed("alder-7")
    measured(f"create from a pool: {box.seconds:.1f} s")
    assert box.state["sandbox"] in waiting and box.state["sandbox"].startswith("warm-")
    assert box.state["state"] == "running" and box.state["ssh"]["user"] == "agent"
    assert "accepted on the pinned host key" in box.state["checked"][0] and not box.state["not_checked"]
    assert box.may_enter()
    pod = box.pod()
    assert pod["metadata"]["annotations"]["agentbox.internal/keys-generation"] == "1"
    assert not any("secret" in volume for volume in pod["spec"]["volumes"])
    wait_until("another waits in its place", lambda: pool.done("pool", "status", "warm")["ready"] == 2, 120)


def test_the_host_key_is_the_pods_own_and_outlives_it(pool, claimed):
    one, two = claimed("birch"), claimed("cedar")
    assert one.state["ssh"]["host_key_fingerprint"] != two.state["ssh"]["host_key_fingerprint"]
    before = one.pod()["metadata"]["uid"]
    assert one.done("suspend")["state"] == "suspended" and one.pod() is None
    after = one.done("resume")
    assert after["state"] == "running" and after["ssh"] == one.state["ssh"] and one.pod()["metadata"]["uid"] != before
    assert one.may_enter()


def test_keys_go_through_the_claim(pool, claimed):
    box = claimed("dogwood")
    old = box.state["keys"][0]["fingerprint"]
    rotated = box.done("rotate")
    assert rotated["proven"] and rotated["gone"] == [old], rotated
    key = make_key(pool.folder / "second")
    again = box.done("rotate", "--key", f"{key}.pub")
    assert again["proven"] and again["keys"][0]["fingerprint"] != rotated["keys"][0]["fingerprint"]
    revoked = box.done("revoke", "--key", f"{key}.pub")
    assert revoked["proven"] and revoked["keys"] == [], revoked
    assert box.pod()["metadata"]["annotations"]["agentbox.internal/authorized-keys"] == ""


def test_the_templates_policy_is_the_one_that_holds(pool):
    policies = pool.all("networkpolicies")
    assert [each["metadata"]["name"] for each in policies] == ["small-network-policy"]
    assert policies[0]["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": 2222}]}]
    assert not policies[0]["spec"].get("egress")


def test_doctor_knows_a_box_from_a_pool(pool, claimed):
    box = claimed("elm")
    report = box.done("doctor")
    wrong = [check for check in report["checks"] if not check["ok"]]
    assert report["ok"], wrong


def test_the_roles_for_pools_are_enough_and_make_no_pod(pool):
    role = pool.done("rbac", "create-from-pool", "status", "list-from-pool", "suspend", "resume", "rotate-from-pool",
                     "revoke-from-pool", "delete-from-pool")
    operator = Operator(pool, "takes-boxes", role)

    def done(*words):
        return pool.done(*words, kubeconfig=operator.kubeconfig, state="takes-boxes")

    box = done("create", "fir", "--from-pool", "warm")
    assert done("status", "fir")["keys"] == box["keys"] and [each["name"] for each in done("list")["boxes"]] == ["fir"]
    done("suspend", "fir")
    done("resume", "fir")
    key = done("rotate", "fir")["keys"][0]["fingerprint"]
    assert done("revoke", "fir", "--key", key)["keys"] == []
    assert done("delete", "fir")["changed"] is True
    assert "cannot" in pool.refused(7, "create", "fir", "-f", pool.spec(), kubeconfig=operator.kubeconfig, state="takes-boxes")


def test_a_pool_that_boxes_are_from_is_kept_and_without_it_keys_still_go(own_namespace):
    own_namespace.done("template", "apply", "small", "-f", own_namespace.spec())
    own_namespace.done("pool", "apply", "warm", "--template", "small", "--replicas", "1")
    box = Claimed(own_namespace, "alder-7")
    assert "boxes with keys are from pool warm: alder-7" in own_namespace.refused(4, "pool", "delete", "warm")
    assert "pools are made from: warm" in own_namespace.refused(4, "template", "delete", "small")
    own_namespace.delete("sandboxwarmpools", "warm")
    wait_until("the pool's end", lambda: not own_namespace.names("sandboxwarmpools"))
    revoked = box.done("revoke", "--key", box.state["keys"][0]["fingerprint"])
    assert any("pool warm is missing" in proof for proof in revoked["proofs"]) and revoked["proven"], revoked
    assert box.pod()["metadata"]["annotations"]["agentbox.internal/authorized-keys"] == ""
    assert box.done("delete")["changed"] is True
    assert own_namespace.names("sandboxes") == [] and own_namespace.names("sandboxclaims") == []


def test_the_log_of_a_pod_that_waits_says_its_host_key_and_nothing_secret(pool):
    for name in pool.names("pods"):
        log = kubectl("-n", pool.name, "logs", name, "-c", "door").stdout.decode()
        assert '"event":"keys_loaded"' in log and "PRIVATE" not in log
