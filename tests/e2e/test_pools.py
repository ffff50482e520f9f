"""agentbox-provision with warm pools: templates, pools, and boxes that are claims. The cluster is kit/cluster.py, the
controller kit/pools.py."""
import json
import os
import re
import threading

import pytest
from kit import programs
from kit.box import ok
from kit.cluster import NAMESPACE, Cluster
from kit.node import Node
from kit.pools import Pools, condition
from kit.target import make_key, public_line, run
from kit.waiting import wait_until

PREFIX = "agentbox.internal/"
KEYS = f"{PREFIX}authorized-keys"
GENERATION = f"{PREFIX}keys-generation"
TIME = "2026-11-30T06:31:00.000Z"


@pytest.fixture
def cluster(tmp_path):
    tmp_path.chmod(0o700)
    started = Cluster(tmp_path).start()
    started.pools = Pools(started)
    started.host_keys = {}
    started.log_of = lambda pod, container: log_of(started, pod, container)
    try:
        yield started
    finally:
        started.stop()


def host_key(cluster, pod):
    """The host key that this pod's door has made."""
    if pod not in cluster.host_keys:
        cluster.host_keys[pod] = " ".join(public_line(make_key(cluster.folder / f"host-{pod}")).split()[:2])
    return cluster.host_keys[pod]


def keys_loaded(key, **changes):
    line = {"stream": "audit", "time": TIME, "seq": 2, "event": "keys_loaded", "generation": 0, "keys": 0, "revoked": 0,
            "refused_lines": 0, "host_key": key, "authorities": 0, "chain": "0" * 64}
    return json.dumps({**line, **changes}, separators=(",", ":")) + "\n"


def log_of(cluster, pod, container):
    """What a warm pod's door has printed: its log and its audit, mixed."""
    if container != "door":
        return b""
    listen = json.dumps({"stream": "audit", "time": TIME, "seq": 1, "event": "listen"}, separators=(",", ":"))
    log = json.dumps({"stream": "log", "time": TIME, "level": "info", "message": "a host key was made"})
    return f"{log}\nlibrary: something\n{listen}\n{keys_loaded(host_key(cluster, pod))}".encode()


def provision(cluster, *words, state="state", seconds=60.0):
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(cluster.folder / state), "KUBECONFIG": str(cluster.kubeconfig())}
    environment.pop("HTTPS_PROXY", None)
    return programs.provision(*words, "--kubernetes", "--output", "json", seconds=seconds, env=environment)


def done(cluster, *words, **arguments):
    return json.loads(ok(provision(cluster, *words, **arguments)).stdout)


def refused(status, cluster, *words, **arguments):
    result = provision(cluster, *words, **arguments)
    assert result.returncode == status, result
    error = json.loads(result.stdout)["error"]
    assert error["message"] and error["next"], error
    return error["message"]


def changes(cluster):
    """Requests that could change something for good."""
    return [one for one in cluster.made() if one[0] != "GET" and "dryRun=All" not in one[1] and "accessreviews" not in one[1]]


def annotations(cluster, plural, name):
    path = {"sandboxclaims": ("additionalPodMetadata",), "sandboxes": ("podTemplate", "metadata"), "pods": ()}[plural]
    value = cluster.get(plural, name)["metadata" if plural == "pods" else "spec"]
    for part in path:
        value = value.get(part, {})
    return value.get("annotations", {})


@pytest.fixture
def pool(cluster):
    """A template, and a pool with two pods that wait."""
    done(cluster, "template", "apply", "small")
    done(cluster, "pool", "apply", "warm", "--template", "small", "--replicas", "2")
    return cluster


def take(cluster, name="alder-7", *words, **arguments):
    return done(cluster, "create", name, "--from-pool", "warm", *words, **arguments)


# Templates and pools


def test_a_template_says_all_that_its_boxes_shall_be_and_nothing_of_a_box(cluster):
    told = done(cluster, "template", "apply", "small", "--image", "tools:1")
    assert told["image"] == "tools:1" and told["egress"] == "none" and told["pools"] == []
    spec = cluster.get("sandboxtemplates", "small")["spec"]
    assert spec["service"] is True and "secret" not in json.dumps(spec["podTemplate"]["spec"]["volumes"])
    named = spec["podTemplate"]["metadata"]["annotations"]
    assert not {KEYS, GENERATION, f"{PREFIX}revoked", f"{PREFIX}user-ca"} & set(named)
    door = spec["podTemplate"]["spec"]["containers"][0]
    assert door["name"] == "door" and "--generate-host-key" in door["args"]
    assert spec["podTemplate"]["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("management", ["Managed", "Unmanaged", None])
def test_h3_104_the_templates_own_policy_lets_ssh_in_and_there_is_no_second_one(cluster, management):
    def somebody_elses(value):
        value["spec"]["networkPolicyManagement"] = management
        if management is None:
            del value["spec"]["networkPolicyManagement"], value["spec"]["networkPolicy"]

    done(cluster, "template", "apply", "small")
    cluster.edit("sandboxtemplates", "small", somebody_elses)
    cluster.owners["sandboxtemplates", NAMESPACE, "small"] = {}
    done(cluster, "template", "apply", "small")
    spec = cluster.get("sandboxtemplates", "small")["spec"]
    assert spec["networkPolicyManagement"] == "Managed"
    assert spec["networkPolicy"] == {"ingress": [{"ports": [{"protocol": "TCP", "port": 2222}]}], "egress": []}
    done(cluster, "pool", "apply", "warm", "--template", "small", "--replicas", "1")
    take(cluster)
    assert cluster.names("networkpolicies") == ["small-network-policy"]
    assert cluster.get("networkpolicies", "small-network-policy")["spec"]["ingress"] == spec["networkPolicy"]["ingress"]


def test_a_template_can_be_changed_and_deleted_once_no_pool_needs_it(pool):
    assert done(pool, "template", "apply", "small", "--size", "2Gi")["pools"] == ["warm"]
    claims = pool.get("sandboxtemplates", "small")["spec"]["volumeClaimTemplates"]
    assert claims[0]["spec"]["resources"]["requests"]["storage"] == "2Gi"
    before = len(changes(pool))
    assert "pools are made from: warm" in refused(4, pool, "template", "delete", "small")
    assert len(changes(pool)) == before
    assert done(pool, "pool", "delete", "warm") == {"name": "warm", "changed": True}
    assert done(pool, "template", "delete", "small")["changed"] is True
    assert done(pool, "template", "delete", "small")["changed"] is False
    assert done(pool, "template", "list") == {"templates": []} and pool.names("sandboxes") == []


def test_a_template_has_no_keys_of_anybody(cluster):
    key = make_key(cluster.folder / "key")
    (cluster.folder / "spec.yaml").write_text(f"keys: [{key}.pub]\n")
    (cluster.folder / "retain.yaml").write_text("kubernetes: {retain_data: true}\n")
    assert "share no volume" in refused(2, cluster, "template", "apply", "small", "-f", cluster.folder / "retain.yaml")
    assert "neither keys" in refused(2, cluster, "template", "apply", "small", "-f", cluster.folder / "spec.yaml")
    assert cluster.made() == []


def test_a_template_that_the_clusters_policy_refuses_leaves_nothing(cluster):
    denied = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "policy: needs runtimeClassName"}
    cluster.fail("PATCH", "sandboxes/small.*dryRun=All", lambda handler: handler.reply(422, denied))
    assert "needs runtimeClassName" in refused(4, cluster, "template", "apply", "small")
    assert not changes(cluster)


def test_somebody_elses_template_and_pool_are_left_alone(cluster):
    cluster.put("sandboxtemplates", {"metadata": {"name": "small"}, "spec": {"podTemplate": {"spec": {"containers": []}}}})
    cluster.put("sandboxwarmpools", {"metadata": {"name": "warm"}, "spec": {"replicas": 0, "sandboxTemplateRef": {"name": "small"}}})
    for words in (("template", "apply", "small"), ("template", "delete", "small"), ("template", "status", "small"),
                  ("pool", "delete", "warm"), ("pool", "status", "warm")):
        assert "did not make it" in refused(4, cluster, *words)
    assert "need not be a door" in refused(4, cluster, "create", "alder-7", "--from-pool", "warm")
    assert not changes(cluster)


def test_a_pool_shows_how_many_wait_and_whose_boxes_came_from_it(pool):
    told = done(pool, "pool", "status", "warm")
    assert told == {"name": "warm", "template": "small", "replicas": 2, "ready": 2, "boxes": []}
    take(pool)
    assert done(pool, "pool", "list")["pools"] == [{**told, "boxes": ["alder-7"]}]
    refused(3, pool, "pool", "status", "other")
    refused(3, pool, "pool", "apply", "other", "--template", "none")


def test_without_replicas_a_pool_keeps_what_it_has_and_an_autoscaler_its_own(cluster):
    def owners(name):
        return cluster.owners["sandboxwarmpools", NAMESPACE, name].get(("spec", "replicas"), set())

    done(cluster, "template", "apply", "small")
    assert done(cluster, "pool", "apply", "scaled", "--template", "small")["replicas"] == 1
    assert not owners("scaled")
    cluster.patch("sandboxwarmpools", NAMESPACE, "scaled", {"spec": {"replicas": 3}}, "autoscaler")
    assert done(cluster, "pool", "apply", "scaled", "--template", "small")["replicas"] == 3
    assert owners("scaled") == {"autoscaler"}
    assert 'conflict with "autoscaler"' in refused(4, cluster, "pool", "apply", "scaled", "--template", "small", "--replicas", "1")
    done(cluster, "pool", "apply", "warm", "--template", "small", "--replicas", "2")
    assert done(cluster, "pool", "apply", "warm", "--template", "small")["replicas"] == 2
    assert owners("warm") == {"agentbox-provision"}


def test_a_pool_that_boxes_with_keys_are_from_is_not_deleted(pool):
    fingerprint = take(pool)["keys"][0]["fingerprint"]
    before = len(changes(pool))
    assert "boxes with keys are from pool warm: alder-7" in refused(4, pool, "pool", "delete", "warm")
    assert len(changes(pool)) == before
    done(pool, "revoke", "alder-7", "--key", fingerprint)
    assert done(pool, "pool", "delete", "warm")["changed"] is True


def test_pools_are_part_of_preflight_and_boxes_need_none(cluster):
    check = done(cluster, "preflight")["checks"][-1]
    assert check["ok"] and "warm pools" in check["name"], check
    assert not changes(cluster)
    cluster.extended = False
    report = done(cluster, "preflight")
    assert report["ok"] and report["checks"][-1]["ok"] is False and report["checks"][-1]["needed"] is False
    assert done(cluster, "list") == {"boxes": []}
    assert done(cluster, "create", "demo")["state"] == "running"


# Claims


def test_a_box_from_a_pool_is_made_in_the_right_order(pool):
    before = len(changes(pool))
    box = take(pool)
    assert (box["name"], box["pool"], box["sandbox"]) == ("alder-7", "warm", "warm-b7k1d")
    assert box["ssh"]["host"] == f"warm-b7k1d.{NAMESPACE}.svc.cluster.local" and box["ssh"]["user"] == "agent"
    assert box["state"] == "running" and box["generation"] == 1 and box["egress"] == "none"
    made = [(re.search(r"/(sandbox\w+|pods|secrets|networkpolicies)/", one[1])[1], re.search(r"fieldManager=([\w-]+)", one[1])[1])
            for one in changes(pool)[before:]]
    assert made == [("sandboxclaims", "agentbox-provision")] * 2 + [("sandboxclaims", "agentbox-keys")], made
    log = pool.made("GET", "pods/warm-b7k1d/log")
    keys = pool.made("PATCH", "sandboxclaims/alder-7.fieldManager=agentbox-keys")
    assert pool.requests.index(log[0]) < pool.requests.index(keys[0])
    assert "container=door" in log[0][1] and "previous" not in log[0][1]
    claim = pool.get("sandboxclaims", "alder-7")
    assert set(claim["spec"]) == {"warmPoolRef", "additionalPodMetadata"}  # anything else forces a cold start
    assert annotations(pool, "pods", "warm-b7k1d")[GENERATION] == "1"
    assert pool.names("secrets") == [] and done(pool, "pool", "status", "warm")["ready"] == 2


def test_the_host_key_of_the_doors_first_line_is_pinned(pool):
    box = take(pool)
    assert open(box["ssh"]["known_hosts_file"]).read() == f"agentbox-alder-7 {host_key(pool, 'warm-b7k1d')}\n"
    elsewhere = done(pool, "status", "alder-7", state="elsewhere")
    assert elsewhere["ssh"]["host_key_fingerprint"] == box["ssh"]["host_key_fingerprint"]
    assert len(pool.made("GET", "/log")) == 1
    assert f"HostKeyAlias=agentbox-alder-7" in " ".join(box["ssh"]["command"])


def lines(*changes_of_lines):
    return lambda pod, container: "".join(changes_of_lines).encode()


OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHR0dHR0dHR0dHR0dHR0dHR0dHR0dHR0dHR0dHR0dHR0"


@pytest.mark.parametrize("text, words", [
    (keys_loaded(OTHER, keys=1, generation=1), "it was given keys"),
    (keys_loaded(OTHER, host_key="ssh-rsa AAAA"), "no ed25519 key"),
    (keys_loaded(OTHER, host_key=OTHER + " demo\nHost *"), "no ed25519 key"),
    (keys_loaded(OTHER) + keys_loaded(OTHER[:-4] + "dHR1"), "two host keys"),
    ('{"stream":"audit",nonsense}\n' + keys_loaded(OTHER), "a line of its audit is none"),
])
def test_a_log_that_is_not_as_the_door_writes_it_gets_no_key(pool, text, words):
    pool.log_of = lines(text)
    assert words in refused(4, pool, "create", "alder-7", "--from-pool", "warm")
    assert KEYS not in annotations(pool, "sandboxclaims", "alder-7")
    assert not list(pool.folder.glob("state/clusters/*/boxes/boxes/alder-7/known_hosts"))


def test_a_door_that_was_started_again_is_not_trusted_with_keys(pool):
    for name in ("warm-x9f2k", "warm-b7k1d"):
        pool.edit("pods", name, lambda value: value["status"]["containerStatuses"][0].update(restartCount=1))
    assert "started again" in refused(4, pool, "create", "alder-7", "--from-pool", "warm")
    assert KEYS not in annotations(pool, "sandboxclaims", "alder-7")
    assert pool.made("GET", "/log") == []


def test_the_pod_of_another_sandbox_is_not_asked(pool):
    pool.edit("sandboxes", "warm-b7k1d", lambda value: value["metadata"].setdefault("annotations", {}).update(
        {"agents.x-k8s.io/pod-name": "warm-x9f2k"}))
    assert "not the pod of its Sandbox" in refused(4, pool, "create", "alder-7", "--from-pool", "warm")


def test_a_door_that_has_not_told_yet_is_asked_again(pool):
    told = pool.log_of
    answers = [b"", b'{"stream":"audit","time":"20']
    pool.log_of = lambda pod, container: answers.pop() if answers else told(pod, container)
    assert take(pool)["state"] == "running" and not answers


def test_h3_090_a_claim_that_never_says_ready_is_followed_to_its_sandbox(pool):
    pool.pools.claim_condition = condition("False", "SandboxNotReady", "stale")
    assert take(pool)["state"] == "running"
    assert done(pool, "status", "alder-7")["state"] == "running"


def test_h3_090_a_wait_in_vain_names_the_object_and_its_reason(pool):
    pool.pools.binding = False
    message = refused(5, pool, "create", "alder-7", "--from-pool", "warm", "--wait", "1")
    assert "SandboxClaim alder-7" in message and "SandboxCreatePending: waiting for a Sandbox" in message
    pool.pools.binding = True
    pool.controller = False
    pool.edit("sandboxes", "warm-b7k1d", lambda value: value.update(status={"conditions": [
        condition("False", "DependenciesNotReady", "pod unschedulable")]}))
    pool.pools.touch("alder-7")
    message = refused(5, pool, "create", "alder-7", "--from-pool", "warm", "--wait", "1")
    assert "Sandbox warm-b7k1d" in message and "pod unschedulable" in message


def test_h3_091_a_claim_without_a_status_stops_at_the_deadline_and_names_its_sandbox(cluster):
    done(cluster, "template", "apply", "small")
    done(cluster, "pool", "apply", "warm", "--template", "small", "--replicas", "0")
    cluster.pools.recording = False
    message = refused(5, cluster, "create", "alder-7", "--from-pool", "warm", "--wait", "1")
    assert "there is a Sandbox alder-7 that a claim owns" in message
    assert cluster.names("sandboxclaims") == ["alder-7"] and cluster.names("sandboxes") == ["alder-7"]
    assert done(cluster, "delete", "alder-7")["changed"] is True
    assert cluster.names("sandboxclaims") == [] and cluster.names("sandboxes") == []


@pytest.mark.parametrize("reason", ["InvalidMetadata", "EnvVarsInjectionRejected", "VolumeClaimTemplatesError", "ClaimExpired"])
def test_a_claim_that_cannot_succeed_is_not_waited_for(pool, reason):
    pool.pools.binding = False
    pool.pools.claim_condition = condition("False", reason, "because\x1b[2J")
    assert f"{reason}: because\\x1b[2J" in refused(1, pool, "create", "alder-7", "--from-pool", "warm")


@pytest.mark.parametrize("reason", ["AdoptionConflict", "SandboxCreatePending"])
def test_a_claim_that_the_controller_tries_again_is_waited_for(pool, reason):
    pool.pools.binding = False
    pool.pools.claim_condition = condition("False", reason, "again")
    results = []
    thread = threading.Thread(target=lambda: results.append(provision(pool, "create", "alder-7", "--from-pool", "warm")))
    thread.start()
    try:
        wait_until("a watch", lambda: pool.made("GET", "sandboxclaims.*watch=1"), 30)
        pool.pools.binding, pool.pools.claim_condition = True, None
        pool.pools.touch("alder-7")
    finally:
        thread.join()
    assert json.loads(ok(results[0]).stdout)["sandbox"] == "warm-b7k1d"


@pytest.mark.parametrize("served, extended, words", [
    (["v1beta1", "v1alpha1"], True, None),
    (["v1beta1"], True, None),
    (["v1alpha1"], True, "only as v1alpha1"),
    (["v1beta1"], False, "without its extensions"),
])
def test_h3_094_the_version_and_the_extension_are_looked_for_first(pool, served, extended, words):
    pool.served, pool.extended = served, extended
    before = len(changes(pool))
    if words is None:
        take(pool)
        assert pool.get("sandboxclaims", "alder-7")["spec"]["warmPoolRef"] == {"name": "warm"}
    else:
        assert words in refused(4, pool, "create", "alder-7", "--from-pool", "warm")
        assert len(changes(pool)) == before


def test_h3_097_the_sandbox_has_the_pools_name_and_a_cold_one_the_claims(pool):
    assert take(pool, "alder-7")["sandbox"] == "warm-b7k1d"
    done(pool, "pool", "apply", "warm", "--template", "small", "--replicas", "0")
    for name in pool.names("sandboxes"):
        if name != "warm-b7k1d":
            pool.remove("sandboxes", NAMESPACE, name, {})
    assert take(pool, "birch")["sandbox"] == "birch"
    assert {box["name"]: box["sandbox"] for box in done(pool, "list")["boxes"]} == {"alder-7": "warm-b7k1d", "birch": "birch"}


@pytest.mark.parametrize("words", [
    ("--image", "tools:2"), ("--size", "5Gi"), ("--egress", "none"), ("--label", "a=b"), ("--annotation", "a=b"), ("--retain-data",),
    ("--runtime-class", "gvisor")])
def test_h3_097_what_would_force_a_cold_start_is_refused(pool, words):
    before = len(changes(pool))
    message = refused(2, pool, "create", "alder-7", "--from-pool", "warm", *words)
    assert words[0][2:].replace("-", "_") in message and "a pod made for this box" in message
    (pool.folder / "spec.yaml").write_text("kubernetes: {memory: 2Gi, egress: none}\n")
    assert "memory, egress" in refused(2, pool, "create", "alder-7", "--from-pool", "warm", "-f", pool.folder / "spec.yaml")
    assert len(changes(pool)) == before


def test_a_pool_that_is_not_there_leaves_nothing(cluster):
    assert "there is no pool warm" in refused(4, cluster, "create", "alder-7", "--from-pool", "warm")
    done(cluster, "template", "apply", "small")
    done(cluster, "pool", "apply", "warm", "--template", "small", "--replicas", "0")
    cluster.remove("sandboxtemplates", NAMESPACE, "small", {})
    assert "there is no template small" in refused(4, cluster, "create", "alder-7", "--from-pool", "warm")
    assert cluster.names("sandboxclaims") == []


def test_create_again_changes_nothing_and_another_box_is_refused(pool):
    first = take(pool)
    before = len(changes(pool))
    assert take(pool) == first
    key = make_key(pool.folder / "key")
    assert "its keys are" in refused(4, pool, "create", "alder-7", "--from-pool", "warm", "--key", f"{key}.pub")
    assert "from the pool warm, asked for is other" in refused(4, pool, "create", "alder-7", "--from-pool", "other")
    assert "a claim on the pool warm" in refused(4, pool, "create", "alder-7")
    assert len(changes(pool)) == before
    done(pool, "create", "demo")
    assert "from no pool" in refused(4, pool, "create", "demo", "--from-pool", "warm")


@pytest.mark.parametrize("step", range(4))
def test_a_claim_cut_short_at_any_step_is_taken_up_by_the_next(pool, step):
    base = "sandboxclaims/alder-7.fieldManager=agentbox-provision&fieldValidation=Strict$"
    no = lambda handler: handler.reply(403, {"kind": "Status", "message": "no"})  # noqa: E731
    steps = [("PATCH", base), ("GET", "/log"), ("PATCH", base), ("PATCH", "sandboxclaims/alder-7.fieldManager=agentbox-keys")]
    if step == 2:  # the second of the two
        pool.log_of = lambda pod, container: pool.fail("PATCH", base, no) or log_of(pool, pod, container)
    else:
        pool.fail(*steps[step], no)
    refused(7, pool, "create", "alder-7", "--from-pool", "warm")
    pool.log_of = lambda pod, container: log_of(pool, pod, container)
    box = take(pool)
    assert box["state"] == "running" and len(box["keys"]) == 1 and pool.names("sandboxclaims") == ["alder-7"]
    assert host_key(pool, "warm-b7k1d") in open(box["ssh"]["known_hosts_file"]).read()


def test_somebody_elses_claim_is_left_alone(pool):
    pool.put("sandboxclaims", {"metadata": {"name": "alder-7"}, "spec": {"warmPoolRef": {"name": "warm"}}})
    before = len(changes(pool))
    for words in (("create", "alder-7", "--from-pool", "warm"), ("status", "alder-7"), ("suspend", "alder-7"), ("delete", "alder-7")):
        assert "did not make it" in refused(4, pool, *words)
    assert len(changes(pool)) == before


def test_a_sandbox_that_is_not_the_claims_is_not_followed(pool):
    take(pool)
    pool.edit("sandboxclaims", "alder-7", lambda value: value["status"]["sandbox"].update(name="warm-x9f2k"))
    assert "is not its own" in refused(4, pool, "status", "alder-7")
    pool.edit("sandboxclaims", "alder-7", lambda value: value["status"]["sandbox"].update(name="x.evil.example"))
    assert "strange name" in refused(4, pool, "status", "alder-7")


def test_a_pod_with_something_put_into_it_is_suspended(pool):
    for name in pool.names("pods"):
        pool.edit("pods", name, lambda value: value["spec"]["containers"].append({"name": "sidecar", "image": "x"}))
    assert "containers sidecar" in refused(4, pool, "create", "alder-7", "--from-pool", "warm")
    assert pool.get("sandboxes", "warm-b7k1d")["spec"]["operatingMode"] == "Suspended"


def test_suspend_and_resume_keep_keys_pin_and_name(pool):
    before = take(pool)
    assert done(pool, "suspend", "alder-7")["state"] == "suspended"
    assert "warm-b7k1d" not in pool.names("pods")
    assert done(pool, "suspend", "alder-7")["state"] == "suspended"
    after = done(pool, "resume", "alder-7")
    assert after["state"] == "running" and (after["ssh"], after["keys"]) == (before["ssh"], before["keys"])
    assert annotations(pool, "pods", "warm-b7k1d")[GENERATION] == "1"


def test_rotate_and_revoke_go_through_the_claim(pool):
    first = take(pool)
    assert "--evict" in refused(2, pool, "revoke", "alder-7", "--key", first["keys"][0]["fingerprint"], "--evict")
    rotated = done(pool, "rotate", "alder-7")
    assert rotated["gone"] == [first["keys"][0]["fingerprint"]] and rotated["generation"] == 3
    assert annotations(pool, "pods", "warm-b7k1d") == {**annotations(pool, "sandboxclaims", "alder-7"), f"{PREFIX}egress": "none"}
    revoked = done(pool, "revoke", "alder-7", "--key", rotated["keys"][0]["fingerprint"])
    assert revoked["keys"] == [] and annotations(pool, "pods", "warm-b7k1d")[KEYS] == ""
    assert annotations(pool, "pods", "warm-b7k1d")[GENERATION] == "4"
    assert not pool.made("PATCH", "sandboxes/warm-b7k1d")
    assert done(pool, "status", "alder-7")["keys"] == []


@pytest.mark.parametrize("plural, name", [("sandboxwarmpools", "warm"), ("sandboxtemplates", "small")])
@pytest.mark.parametrize("suspended", [False, True])
def test_a_key_is_revoked_though_the_pool_or_its_template_is_gone(pool, plural, name, suspended):
    box = take(pool)
    if suspended:
        done(pool, "suspend", "alder-7")
    pool.remove(plural, NAMESPACE, name, {})
    revoked = done(pool, "revoke", "alder-7", "--key", box["keys"][0]["fingerprint"])
    assert any(f"{name} is missing" in proof and "warm-b7k1d itself" in proof for proof in revoked["proofs"]), revoked
    assert annotations(pool, "sandboxes", "warm-b7k1d")[KEYS] == ""
    if suspended:
        done(pool, "resume", "alder-7")
    assert annotations(pool, "pods", "warm-b7k1d")[KEYS] == "" and annotations(pool, "pods", "warm-b7k1d")[GENERATION] == "2"
    assert KEYS in annotations(pool, "sandboxclaims", "alder-7")


def test_a_pool_that_goes_while_keys_are_changed_is_noticed(pool):
    box = take(pool)

    def late(handler):
        pool.remove("sandboxwarmpools", NAMESPACE, "warm", {})
        handler.reply(504, b"", [("Retry-After", "0")])

    pool.fail("PATCH", "fieldManager=agentbox-keys", late)
    revoked = done(pool, "revoke", "alder-7", "--key", box["keys"][0]["fingerprint"])
    assert "pool warm is missing" in revoked["proofs"][0]
    assert annotations(pool, "pods", "warm-b7k1d")[KEYS] == ""


def test_delete_takes_the_claim_its_sandbox_and_its_pod(pool):
    take(pool)
    take(pool, "birch")
    before = len(changes(pool))
    assert done(pool, "delete", "alder-7") == {"name": "alder-7", "changed": True}
    deleted = [one for one in changes(pool)[before:] if one[0] == "DELETE"]
    assert ["sandboxclaims/alder-7" in one[1] for one in deleted] == [True]
    assert json.loads(deleted[0][3])["preconditions"]["uid"]
    assert pool.names("sandboxclaims") == ["birch"] and "warm-b7k1d" not in pool.names("sandboxes") + pool.names("pods")
    assert done(pool, "delete", "alder-7") == {"name": "alder-7", "changed": False}
    assert not list(pool.folder.glob("state/clusters/*/boxes/boxes/alder-7"))


@pytest.fixture
def warm(cluster, tmp_path_factory):
    """A pool whose one pod is a real door and a real spawner."""
    node = Node(cluster, tmp_path_factory.mktemp("node"))
    try:
        done(cluster, "template", "apply", "small")
        done(cluster, "pool", "apply", "warm", "--template", "small", "--replicas", "1")
        yield cluster
    finally:
        node.stop()


def test_a_real_door_that_waited_lets_in_who_gets_its_box_and_nobody_else(warm):
    assert warm.names("pods") == ["warm-x9f2k"]
    box = take(warm, "alder-7", "--port-forward")
    assert box["sandbox"] == "warm-x9f2k" and box["ssh"]["user"] == "agent" and not box["not_checked"], box
    assert "logged in, system_info answered" in box["checked"][0]
    assert done(warm, "call", "alder-7", "shell_exec", '{"command": "echo here"}', "--port-forward")["structuredContent"]["exit_code"] == 0
    examined = {check["name"]: check for check in json.loads(provision(warm, "doctor", "alder-7", "--port-forward").stdout)["checks"]}
    assert all(examined[name]["ok"] for name in ("the controller acts on the Sandbox", "the network policy selects the pod and lets the door's port in")), examined
    done(warm, "suspend", "alder-7", "--port-forward")
    after = done(warm, "resume", "alder-7", "--port-forward")
    assert after["checked"] == box["checked"] and after["ssh"] == box["ssh"]
    rotated = done(warm, "rotate", "alder-7", "--port-forward")
    assert rotated["proven"] and rotated["gone"] == [box["keys"][0]["fingerprint"]], rotated
    warm.remove("sandboxwarmpools", NAMESPACE, "warm", {})
    revoked = done(warm, "revoke", "alder-7", "--key", rotated["keys"][0]["fingerprint"], "--port-forward")
    assert revoked["proven"] and revoked["keys"] == [], revoked
    done(warm, "delete", "alder-7")


def test_handoff(pool):
    take(pool)
    line = done(pool, "handoff", "alder-7", "--format", "claude")["text"]
    assert line.startswith("claude mcp add alder-7 -- ssh -F none -T ") and f"warm-b7k1d.{NAMESPACE}.svc.cluster.local" in line


def test_a_role_for_pools_alone_is_enough_for_their_boxes(pool):
    role = json.loads(ok(programs.provision("rbac", "create-from-pool", "status", "list-from-pool", "suspend", "resume",
                                            "rotate-from-pool", "revoke-from-pool", "--output", "json")).stdout)
    pool.allowed = {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert ("create", "sandboxes") not in pool.allowed and ("create", "secrets") not in pool.allowed
    fingerprint = take(pool)["keys"][0]["fingerprint"]
    for words in (("status", "alder-7"), ("list",), ("suspend", "alder-7"), ("resume", "alder-7"), ("rotate", "alder-7"),
                  ("revoke", "alder-7", "--key", fingerprint)):
        done(pool, *words)
    role = json.loads(ok(programs.provision("rbac", "delete-from-pool", "template", "pool", "--output", "json")).stdout)
    pool.allowed = {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    done(pool, "delete", "alder-7")
    done(pool, "pool", "apply", "warm", "--template", "small")
    done(pool, "pool", "delete", "warm")
    done(pool, "template", "apply", "small")
    done(pool, "template", "delete", "small")


def test_render_needs_no_cluster(tmp_path):
    def rendered(*words):
        return json.loads(ok(programs.provision(*words, "--output", "json")).stdout)["items"]

    assert [item["kind"] for item in rendered("template", "render", "small")] == ["SandboxTemplate"]
    assert rendered("pool", "render", "warm", "--template", "small")[0]["spec"] == {"sandboxTemplateRef": {"name": "small"}}
    claim = rendered("render", "alder-7", "--from-pool", "warm")[0]
    assert claim["kind"] == "SandboxClaim" and claim["spec"]["additionalPodMetadata"]["annotations"][GENERATION] == "1"
    assert run([programs.PROVISION, "pool", "render", "warm"]).returncode == 2
