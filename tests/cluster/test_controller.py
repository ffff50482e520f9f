"""What the cluster's agent-sandbox controller does, the real one or the stand-in: the behaviour that boxes rest on."""
import pytest
from api import Resource
from cluster import DOOR_IMAGE
from kit.waiting import wait_until

EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1"
TEMPLATES = Resource(EXTENSIONS, "sandboxtemplates", "SandboxTemplate")
POOLS = Resource(EXTENSIONS, "sandboxwarmpools", "SandboxWarmPool")
CLAIMS = Resource(EXTENSIONS, "sandboxclaims", "SandboxClaim")
SANDBOXES = Resource("agents.x-k8s.io/v1beta1", "sandboxes", "Sandbox")
PODS = Resource("v1", "pods", "Pod")
POLICIES = Resource("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy")
SERVICES = Resource("v1", "services", "Service")
KEY = "agentbox.internal/authorized-keys"
SOON = 60


def pod_spec():
    return {
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": DOOR_IMAGE, "command": ["/bin/sleep", "100000"],
                        "ports": [{"containerPort": 2222}],
                        "resources": {"requests": {"cpu": "10m", "memory": "8Mi"}},
                        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}


class World:
    def __init__(self, namespace):
        self.namespace = namespace
        self.api = namespace.api

    def make(self, resource, name, spec, **metadata):
        return self.api.create(resource, {"metadata": {"name": name, "namespace": self.namespace.name, **metadata}, "spec": spec})

    def get(self, resource, name):
        return self.api.get(resource, self.namespace.name, name)

    def change(self, resource, name, patch):
        return self.api.merge(resource, self.namespace.name, name, patch)

    def remove(self, resource, name):
        self.api.delete(resource, self.namespace.name, name)
        wait_until(f"the end of {name}", lambda: self.get(resource, name) is None, SOON)

    def condition(self, resource, name, kind="Ready"):
        conditions = (self.get(resource, name) or {}).get("status", {}).get("conditions", [])
        return next(((each["status"], each["reason"]) for each in conditions if each["type"] == kind), None)

    def wait_ready(self, resource, name):
        wait_until(f"{name} is ready", lambda: (self.condition(resource, name) or [""])[0] == "True", SOON)

    def annotation(self, pod, key=KEY):
        return self.get(PODS, pod)["metadata"].get("annotations", {}).get(key)

    def wait_annotation(self, pod, value):
        wait_until(f"{value!r} on pod {pod}", lambda: self.annotation(pod) == value, SOON)


@pytest.fixture
def world(own_namespace):
    return World(own_namespace)


def test_a_sandbox_lives_sleeps_and_wakes(world):
    template = {"metadata": {"labels": {"mine": "yes", "agents.x-k8s.io/not-mine": "x"}, "annotations": {KEY: "one"}},
                "spec": pod_spec()}
    volume = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                                                     "resources": {"requests": {"storage": "8Mi"}}}}
    world.make(SANDBOXES, "s", {"podTemplate": template, "service": True, "volumeClaimTemplates": [volume]})
    world.wait_ready(SANDBOXES, "s")
    pod = world.get(PODS, "s")
    assert pod["metadata"]["labels"]["mine"] == "yes" and "agents.x-k8s.io/not-mine" not in pod["metadata"]["labels"]
    assert world.namespace.names("persistentvolumeclaims") == ["data-s"]
    service = world.get(SERVICES, "s")
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["ports"][0]["port"] == 2222
    sandbox = world.get(SANDBOXES, "s")
    assert sandbox["status"]["serviceFQDN"] == f"s.{world.namespace.name}.svc.cluster.local"
    assert sandbox["status"]["podIPs"] == [pod["status"]["podIP"]]
    # Metadata is live on the pod that runs; what others put there stays.
    world.change(PODS, "s", {"metadata": {"annotations": {"of-somebody": "else"}}})
    world.change(SANDBOXES, "s", {"spec": {"podTemplate": {"metadata": {"annotations": {KEY: "two"}}}}})
    world.wait_annotation("s", "two")
    world.change(SANDBOXES, "s", {"spec": {"podTemplate": {"metadata": {"annotations": {KEY: None}}}}})
    world.wait_annotation("s", None)
    assert world.annotation("s", "of-somebody") == "else" and world.get(PODS, "s")["metadata"]["uid"] == pod["metadata"]["uid"]
    world.change(SANDBOXES, "s", {"spec": {"operatingMode": "Suspended"}})
    wait_until("it sleeps", lambda: world.condition(SANDBOXES, "s", "Suspended") == ("True", "PodTerminated"), SOON)
    assert world.get(PODS, "s") is None and world.condition(SANDBOXES, "s") == ("False", "SandboxSuspended")
    assert world.namespace.names("persistentvolumeclaims") == ["data-s"] and world.get(SERVICES, "s")
    world.change(SANDBOXES, "s", {"spec": {"operatingMode": "Running"}})
    world.wait_ready(SANDBOXES, "s")
    world.remove(SANDBOXES, "s")
    wait_until("nothing of it is left", lambda: not any(world.namespace.names(plural) for plural in (
        "pods", "services", "persistentvolumeclaims")), SOON)


def test_a_sandbox_whose_time_is_over(world):
    spec = {"podTemplate": {"spec": pod_spec()}, "shutdownTime": "2026-01-01T00:00:00Z"}
    world.make(SANDBOXES, "kept", {**spec, "shutdownPolicy": "Retain"})
    wait_until("it has expired", lambda: world.condition(SANDBOXES, "kept") == ("False", "SandboxExpired"), SOON)
    assert world.get(PODS, "kept") is None
    world.change(SANDBOXES, "kept", {"spec": {"shutdownTime": None}})
    world.wait_ready(SANDBOXES, "kept")
    world.make(SANDBOXES, "gone", {**spec, "shutdownPolicy": "Delete"})
    wait_until("it is deleted", lambda: world.get(SANDBOXES, "gone") is None, SOON)


def test_a_pod_that_cannot_be_made_is_an_error_with_its_words(world):
    spec = pod_spec()
    spec["containers"][0]["volumeMounts"] = [{"name": "nowhere", "mountPath": "/x"}]
    world.make(SANDBOXES, "bad", {"podTemplate": {"spec": spec}})
    wait_until("the error", lambda: world.condition(SANDBOXES, "bad") == ("False", "ReconcilerError"), SOON)
    message = next(each["message"] for each in world.get(SANDBOXES, "bad")["status"]["conditions"] if each["type"] == "Ready")
    assert "nowhere" in message


def pool_of(world, replicas=1):
    world.make(TEMPLATES, "t", {"podTemplate": {"metadata": {"annotations": {"of-template": "1"}}, "spec": pod_spec()},
                                "service": True})
    world.make(POOLS, "p", {"replicas": replicas, "sandboxTemplateRef": {"name": "t"}})
    wait_until("the pool is ready", lambda: (world.get(POOLS, "p").get("status") or {}).get("readyReplicas") == replicas, SOON)


def claim(world, name="c", key="one"):
    metadata = {"annotations": {KEY: key}} if key is not None else None
    world.make(CLAIMS, name, {"warmPoolRef": {"name": "p"}, **({"additionalPodMetadata": metadata} if metadata else {})})
    world.wait_ready(CLAIMS, name)
    return world.get(CLAIMS, name)["status"]["sandbox"]["name"]


def test_a_claim_takes_a_warm_member_with_its_name_and_its_pod(world):
    pool_of(world)
    member = world.namespace.names("pods")[0]
    uid = world.get(PODS, member)["metadata"]["uid"]
    assert member.startswith("p-")
    assert claim(world) == member
    world.wait_annotation(member, "one")
    assert world.get(PODS, member)["metadata"]["uid"] == uid
    assert world.annotation(member, "of-template") == "1"
    # The pool is filled up again, and the claim's key can be another one.
    wait_until("another member", lambda: len(world.namespace.names("sandboxes")) == 2, SOON)
    world.change(CLAIMS, "c", {"spec": {"additionalPodMetadata": {"annotations": {KEY: "two"}}}})
    world.wait_annotation(member, "two")
    world.remove(CLAIMS, "c")
    wait_until("the end of its Sandbox", lambda: world.get(SANDBOXES, member) is None, SOON)


def test_a_claims_key_outlives_its_removal_where_the_pool_is_gone(world):
    """The hazard that revoking must know: nothing less than an empty value, looked up on the pod, takes a key away."""
    pool_of(world)
    member = claim(world)
    world.wait_annotation(member, "one")
    world.remove(POOLS, "p")
    world.change(CLAIMS, "c", {"spec": {"additionalPodMetadata": {"annotations": {KEY: "two"}}}})
    wait_until("the claim's word", lambda: world.condition(CLAIMS, "c") == ("False", "WarmPoolNotFound"), SOON)
    assert world.annotation(member) == "one"
    world.change(CLAIMS, "c", {"spec": {"additionalPodMetadata": None}})
    wait_until("the claim is ready again", lambda: (world.condition(CLAIMS, "c") or [""])[0] == "True", SOON)
    assert world.annotation(member) == "one"
    world.change(SANDBOXES, member, {"spec": {"podTemplate": {"metadata": {"annotations": {KEY: ""}}}}})
    world.wait_annotation(member, "")


def test_a_template_has_one_policy_for_its_boxes_or_none(world):
    pool_of(world)
    policy = wait_until("the policy", lambda: world.get(POLICIES, "t-network-policy"), SOON)
    labels = world.get(PODS, world.namespace.names("pods")[0])["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    rule = {"ingress": [{"ports": [{"protocol": "TCP", "port": 2222}]}], "egress": []}
    world.change(TEMPLATES, "t", {"spec": {"networkPolicy": rule}})
    wait_until("our rules", lambda: world.get(POLICIES, "t-network-policy")["spec"].get("ingress") == rule["ingress"], SOON)
    assert set(world.get(POLICIES, "t-network-policy")["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    world.change(TEMPLATES, "t", {"spec": {"networkPolicyManagement": "Unmanaged"}})
    wait_until("no policy", lambda: world.get(POLICIES, "t-network-policy") is None, SOON)


@pytest.mark.parametrize("part, key", [("labels", "mine"), ("annotations", "agents.x-k8s.io/x"), ("annotations", "x.k8s.io/x")])
def test_a_claim_may_not_say_everything(world, part, key):
    pool_of(world)
    world.make(CLAIMS, "c", {"warmPoolRef": {"name": "p"}, "additionalPodMetadata": {part: {key: "v"}}})
    wait_until("the refusal", lambda: world.condition(CLAIMS, "c") == ("False", "InvalidMetadata"), SOON)
