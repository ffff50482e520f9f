#!/usr/bin/env python3
"""A stand-in for the agent-sandbox controller (agents.x-k8s.io/v1beta1), for the test cluster: what it makes of
Sandboxes, SandboxTemplates, SandboxWarmPools and SandboxClaims is what the real one, v0.5, was seen to make of them,
its hazards included. What each function must hold is said at it. AGENT_SANDBOX_CONTROLLER runs the real one instead.
"""
import copy
import datetime
import re
import secrets
import threading
import time

from api import Api, Refused, Resource, Watched, Work

SANDBOXES = Resource("agents.x-k8s.io/v1beta1", "sandboxes", "Sandbox")
TEMPLATES = Resource("extensions.agents.x-k8s.io/v1beta1", "sandboxtemplates", "SandboxTemplate")
POOLS = Resource("extensions.agents.x-k8s.io/v1beta1", "sandboxwarmpools", "SandboxWarmPool")
CLAIMS = Resource("extensions.agents.x-k8s.io/v1beta1", "sandboxclaims", "SandboxClaim")
PODS = Resource("v1", "pods", "Pod")
SERVICES = Resource("v1", "services", "Service")
VOLUME_CLAIMS = Resource("v1", "persistentvolumeclaims", "PersistentVolumeClaim")
POLICIES = Resource("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy")

OURS = "agents.x-k8s.io/"
NAME_HASH = OURS + "sandbox-name-hash"
TEMPLATE_REF = OURS + "sandbox-template-ref-hash"
TEMPLATE_HASH = OURS + "sandbox-template-hash"
POOL = OURS + "warm-pool-sandbox"
CLAIM = OURS + "claim-uid"
POD_NAME = OURS + "pod-name"
PROPAGATED = {part: OURS + "propagated-" + part for part in ("labels", "annotations")}
EVICTABLE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
RESERVED = (OURS, "extensions.agents.x-k8s.io/")
DOMAIN = "cluster.local"
# A pool's member that is scheduled and not ready for this long is replaced.
MEMBER_PATIENCE = 300


class Bad(Exception):
    """A condition's reason and message."""

    def __init__(self, reason, message):
        super().__init__(message)
        self.reason = reason


def name_hash(text):
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return f"{value:08x}"


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def stamp(moment=None):
    return (moment or now()).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def owner(value, resource):
    return {"apiVersion": resource.group_version, "kind": resource.kind, "name": value["metadata"]["name"],
            "uid": value["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}


def owner_of(value):
    return next((each for each in value["metadata"].get("ownerReferences", []) if each.get("controller")), {})


def place(value):
    return value["metadata"].get("namespace"), value["metadata"]["name"]


def going(value):
    return "deletionTimestamp" in value["metadata"]


def condition(value, kind):
    found = [each for each in value.get("status", {}).get("conditions", []) if each["type"] == kind]
    return found[0] if found else {}


def is_ready(value):
    return condition(value, "Ready").get("status") == "True"


def entry(kind, status, reason, message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message}


def with_times(fresh, value):
    """These conditions for VALUE; one that says what it said before keeps its time."""
    for each in fresh:
        old = condition(value, each["type"])
        same = old.get("status") == each["status"]
        each["lastTransitionTime"] = old["lastTransitionTime"] if same else stamp()
        each["observedGeneration"] = value["metadata"]["generation"]
    return fresh


def free_of_reserved(entries):
    return {key: text for key, text in (entries or {}).items() if not key.startswith(RESERVED)}


class Controller:
    def __init__(self):
        self.api = Api()
        self.work = Work(self.settle)
        self.watched = []
        self.sandboxes = self.watch(SANDBOXES, self.heard_sandbox)
        self.pods = self.watch(PODS, self.heard_owned)
        self.services = self.watch(SERVICES, self.heard_owned)
        self.volume_claims = self.watch(VOLUME_CLAIMS, self.heard_owned)
        self.policies = self.watch(POLICIES, self.heard_owned)
        self.templates = self.watch(TEMPLATES, self.heard_template)
        self.pools = self.watch(POOLS, self.heard_pool)
        self.claims = self.watch(CLAIMS, lambda value: self.work.add(("claim", *place(value))))
        self.adopting = threading.Lock()

    def watch(self, resource, heard):
        self.watched.append(Watched(self.api, resource, heard))
        return self.watched[-1]

    # Who is to be looked at, once something is heard

    def heard_sandbox(self, sandbox):
        self.work.add(("sandbox", *place(sandbox)))
        self.heard_owned(sandbox)

    def heard_owned(self, value):
        kinds = {"Sandbox": "sandbox", "SandboxTemplate": "template", "SandboxWarmPool": "pool", "SandboxClaim": "claim"}
        by = owner_of(value)
        if by.get("kind") in kinds:
            self.work.add((kinds[by["kind"]], value["metadata"]["namespace"], by["name"]))
        elif value.get("kind") == "Pod":
            # A pod that is in the way of a Sandbox of its name.
            self.work.add(("sandbox", *place(value)))

    def heard_template(self, template):
        self.work.add(("template", *place(template)))
        for pool in self.pools.all():
            if pool["spec"]["sandboxTemplateRef"]["name"] == template["metadata"]["name"]:
                self.work.add(("pool", *place(pool)))

    def heard_pool(self, pool):
        self.work.add(("pool", *place(pool)))

    def settle(self, key):
        what, namespace, name = key
        if not all(each.listed.is_set() for each in self.watched):
            self.work.add_later(key, 0.1)
            return
        known = {"sandbox": self.sandboxes, "template": self.templates, "pool": self.pools, "claim": self.claims}[what]
        value = known.get(namespace, name)
        if value is not None and not going(value):
            getattr(self, f"settle_{what}")(copy.deepcopy(value))

    # Sandboxes

    def settle_sandbox(self, sandbox):
        key = ("sandbox", *place(sandbox))
        spec = sandbox["spec"]
        status = {}
        try:
            expired = self.expired(sandbox, key)
            if expired == "Delete":
                self.api.delete(SANDBOXES, *place(sandbox), sandbox["metadata"]["uid"])
                return
            pod_name = self.pod_name(sandbox)
            if not expired:
                self.settle_volume_claims(sandbox)
            service = self.settle_service(sandbox, wanted=not expired and spec.get("service"))
            if expired or spec.get("operatingMode") == "Suspended":
                conditions = self.without_pod(sandbox, pod_name, expired)
            else:
                pod = self.settle_pod(sandbox, pod_name)
                conditions, status = self.with_pod(sandbox, pod, service)
            if service:
                status["service"] = service["metadata"]["name"]
                status["serviceFQDN"] = f"{status['service']}.{sandbox['metadata']['namespace']}.svc.{DOMAIN}"
        except Bad as bad:
            conditions = [entry("Ready", "False", bad.reason, str(bad))]
            self.work.add_later(key, 1)
        except Refused as refused:
            if refused.code == 409:
                raise
            conditions = [entry("Ready", "False", "ReconcilerError", f"Error seen: {refused}")]
            self.work.add_later(key, 1)
        status["selector"] = f"{NAME_HASH}={name_hash(sandbox['metadata']['name'])}"
        self.write_status(SANDBOXES, self.sandboxes, sandbox, status, conditions)

    def expired(self, sandbox, key):
        """Its policy, once its time is over; else nothing, and it is looked at again when it will be."""
        end = sandbox["spec"].get("shutdownTime")
        if not end:
            return None
        left = (moment_of(end) - now()).total_seconds()
        if left > 0:
            self.work.add_later(key, left + 0.1)
            return None
        return sandbox["spec"].get("shutdownPolicy", "Retain")

    def pod_name(self, sandbox):
        name = sandbox["metadata"].get("annotations", {}).get(POD_NAME)
        if name:
            return name
        name = sandbox["metadata"]["name"]
        self.sandboxes.keep(self.api.merge(SANDBOXES, *place(sandbox), {"metadata": {"annotations": {POD_NAME: name}}}))
        return name

    def owned(self, sandbox, value):
        """Whether VALUE is this Sandbox's; one that is nobody's becomes it where a label allows that."""
        by = owner_of(value)
        if by.get("uid") == sandbox["metadata"]["uid"]:
            return True
        labels = value["metadata"].get("labels", {})
        mine = labels.get(NAME_HASH) == name_hash(sandbox["metadata"]["name"])
        return not by and (mine or labels.get(OURS + "adoptable") == "true")

    def make_owned(self, sandbox, known, resource, value):
        there = known.get(*place(value)) or self.api.get(resource, *place(value))
        if there is None:
            made = self.api.create(resource, value)
            known.keep(made)
            return made
        if not self.owned(sandbox, there):
            raise Bad("ReconcilerError", f"Error seen: {resource.kind} {there['metadata']['name']} exists and is not "
                      "controlled by this Sandbox")
        if not owner_of(there):
            there = self.api.merge(resource, *place(there), {"metadata": {"ownerReferences": [owner(sandbox, SANDBOXES)]}})
            known.keep(there)
        return there

    def metadata_for(self, sandbox, name):
        return {"name": name, "namespace": sandbox["metadata"]["namespace"],
                "labels": {NAME_HASH: name_hash(sandbox["metadata"]["name"])},
                "ownerReferences": [owner(sandbox, SANDBOXES)]}

    def settle_volume_claims(self, sandbox):
        """Each claim template has its claim, whose end is the Sandbox's and nothing earlier."""
        for template in sandbox["spec"].get("volumeClaimTemplates") or []:
            wanted = template.get("metadata", {})
            metadata = self.metadata_for(sandbox, f"{wanted['name']}-{sandbox['metadata']['name']}")
            metadata["labels"].update(free_of_reserved(wanted.get("labels")))
            metadata["annotations"] = free_of_reserved(wanted.get("annotations"))
            self.make_owned(sandbox, self.volume_claims, VOLUME_CLAIMS, {"metadata": metadata, "spec": template["spec"]})

    def settle_service(self, sandbox, wanted):
        """True: it has one, without an address of its own. False: it has none. Nothing said: one that is there stays."""
        there = self.services.get(*place(sandbox))
        if wanted:
            ports = [
                {"name": port.get("name") or f"p-{port['containerPort']}-{port.get('protocol', 'TCP').lower()}",
                 "port": port["containerPort"], "targetPort": port["containerPort"],
                 "protocol": port.get("protocol", "TCP")}
                for container in sandbox["spec"]["podTemplate"]["spec"]["containers"]
                for port in container.get("ports") or []
            ]
            spec = {"clusterIP": "None", "ports": ports,
                    "selector": {NAME_HASH: name_hash(sandbox["metadata"]["name"])}}
            return self.make_owned(sandbox, self.services, SERVICES,
                                   {"metadata": self.metadata_for(sandbox, sandbox["metadata"]["name"]), "spec": spec})
        if there and owner_of(there).get("uid") == sandbox["metadata"]["uid"]:
            if wanted is None:
                return there
            self.api.delete(SERVICES, *place(there), there["metadata"]["uid"])
        return None

    def extension_labels(self, sandbox):
        """What only a pool or a claim puts on a pod, and only while the Sandbox is theirs."""
        if owner_of(sandbox).get("kind") not in ("SandboxClaim", "SandboxWarmPool"):
            return {}
        labels = sandbox["metadata"].get("labels", {})
        return {key: labels[key] for key in (TEMPLATE_REF, POOL) if key in labels}

    def wanted_metadata(self, sandbox):
        """What a pod carries of its template. Keys of the controller's own domains are dropped from it."""
        template = sandbox["spec"]["podTemplate"].get("metadata") or {}
        return {part: free_of_reserved(template.get(part)) for part in PROPAGATED}

    def settle_pod(self, sandbox, name):
        namespace = sandbox["metadata"]["namespace"]
        pod = self.pods.get(namespace, name) or self.api.get(PODS, namespace, name)
        if pod is None:
            return self.make_pod(sandbox, name)
        if not self.owned(sandbox, pod):
            raise Bad("ReconcilerError", f"Error seen: pod {name} exists and is not controlled by this Sandbox")
        return pod if going(pod) else self.update_pod(sandbox, pod)

    def make_pod(self, sandbox, name):
        metadata = self.metadata_for(sandbox, name)
        wanted = self.wanted_metadata(sandbox)
        metadata["labels"].update({**wanted["labels"], **self.extension_labels(sandbox)})
        metadata["annotations"] = dict(wanted["annotations"])
        for part, key in PROPAGATED.items():
            metadata["annotations"][key] = ",".join(sorted(wanted[part]))
        spec = copy.deepcopy(sandbox["spec"]["podTemplate"]["spec"])
        for template in sandbox["spec"].get("volumeClaimTemplates") or []:
            volume = template["metadata"]["name"]
            others = [each for each in spec.get("volumes") or [] if each["name"] != volume]
            claim = f"{volume}-{sandbox['metadata']['name']}"
            spec["volumes"] = [*others, {"name": volume, "persistentVolumeClaim": {"claimName": claim}}]
        pod = self.api.create(PODS, {"metadata": metadata, "spec": spec})
        self.pods.keep(pod)
        return pod

    def update_pod(self, sandbox, pod):
        """The template's metadata on a pod that runs: new values at once, what it no longer has taken away, what
        others put there kept. The pod's spec stays what it was."""
        wanted = self.wanted_metadata(sandbox)
        patch = {"labels": dict(self.extension_labels(sandbox)), "annotations": {}}
        for part, key in PROPAGATED.items():
            before = [each for each in pod["metadata"].get("annotations", {}).get(key, "").split(",") if each]
            patch[part].update({gone: None for gone in before if gone not in wanted[part]})
            patch[part].update(wanted[part])
            patch["annotations"][key] = ",".join(sorted(wanted[part]))
        if POOL in pod["metadata"].get("labels", {}) and POOL not in patch["labels"]:
            patch["labels"][POOL] = None
        if not owner_of(pod):
            patch["ownerReferences"] = [owner(sandbox, SANDBOXES)]
        is_now = pod["metadata"]
        same = all((is_now.get(part) or {}).get(key) == text for part in PROPAGATED for key, text in patch[part].items())
        if same and "ownerReferences" not in patch:
            return pod
        pod = self.api.merge(PODS, *place(pod), {"metadata": patch})
        self.pods.keep(pod)
        return pod

    def without_pod(self, sandbox, name, expired):
        """Suspended, or its time is over: the pod goes, its volumes stay."""
        namespace = sandbox["metadata"]["namespace"]
        pod = self.pods.get(namespace, name)
        reason = ("SandboxExpired", "Sandbox has expired") if expired else ("SandboxSuspended", "Sandbox is suspended")
        if pod is None:
            ended = entry("Suspended", "True", "PodTerminated", "Pod does not exist; Sandbox is suspended")
        elif not self.owned(sandbox, pod):
            ended = entry("Suspended", "False", "PodNotOwned", f"Pod {name} is not controlled by this Sandbox")
        else:
            if not going(pod):
                self.api.delete(PODS, namespace, name, pod["metadata"]["uid"])
            ended = entry("Suspended", "False", "PodTerminating", "Pod is being terminated")
        return [entry("Ready", "False", *reason), ended]

    def with_pod(self, sandbox, pod, service):
        status = {}
        phase = pod.get("status", {}).get("phase", "Pending")
        addresses = pod.get("status", {}).get("podIPs") or []
        conditions = [entry("Suspended", "False", "NotSuspended", "Sandbox is not suspended")]
        scheduled = condition(pod, "PodScheduled")
        if scheduled:
            conditions.append(entry("PodScheduled", scheduled["status"],
                                    scheduled.get("reason") or "PodScheduled", scheduled.get("message", "")))
        if phase in ("Succeeded", "Failed"):
            conditions.append(entry("Finished", "True", f"Pod{phase}", f"Pod has {phase.lower()}"))
            conditions.append(entry("Ready", "False", f"Pod{phase}", f"Pod has {phase.lower()}"))
            return conditions, status
        about_service = "Service Exists" if service else "Service is not required"
        ready = phase == "Running" and is_ready(pod) and addresses and not going(pod)
        if ready:
            conditions.append(entry("Ready", "True", "DependenciesReady", f"Pod is Ready; {about_service}"))
        else:
            what = "Pod is Running but not Ready" if phase == "Running" else f"Pod exists with phase: {phase}"
            conditions.append(entry("Ready", "False", "DependenciesNotReady", f"{what}; {about_service}"))
        if addresses:
            status["podIPs"] = [each["ip"] for each in addresses]
        if ready or is_ready(sandbox):
            status["nodeName"] = pod["spec"].get("nodeName", "")
        return conditions, status

    def write_status(self, resource, known, value, status, conditions):
        status["conditions"] = sorted(with_times(conditions, value), key=lambda each: each["type"])
        before = copy.deepcopy(value.get("status") or {})
        before["conditions"] = sorted(before.get("conditions", []), key=lambda each: each["type"])
        if before == status:
            return
        patch = {**{gone: None for gone in before if gone not in status}, **status}
        known.keep(self.api.merge(resource, *place(value), {"status": patch}, "status"))

    # Templates

    def settle_template(self, template):
        """Managed: one policy for all its boxes, the template's own or a strict one. Unmanaged: none of ours."""
        namespace, name = place(template)
        policy_name = f"{name}-network-policy"
        there = self.policies.get(namespace, policy_name)
        spec = template["spec"]
        if spec.get("networkPolicyManagement", "Managed") == "Unmanaged":
            if there and owner_of(there).get("uid") == template["metadata"]["uid"]:
                self.api.delete(POLICIES, namespace, policy_name, there["metadata"]["uid"])
            return
        rules = spec.get("networkPolicy")
        if rules is None:
            outside = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"]
            rules = {
                "ingress": [{"from": [{
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "agent-sandbox-system"}},
                    "podSelector": {"matchLabels": {"app": "sandbox-router"}}}]}],
                "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": outside}},
                                   {"ipBlock": {"cidr": "::/0", "except": ["fc00::/7", "fe80::/10"]}}]}],
            }
        wanted = {"podSelector": {"matchLabels": {TEMPLATE_REF: name_hash(name)}}, "policyTypes": ["Ingress", "Egress"],
                  **{part: rules[part] for part in ("ingress", "egress") if rules.get(part)}}
        if there is None:
            self.policies.keep(self.api.create(POLICIES, {
                "metadata": {"name": policy_name, "namespace": namespace, "ownerReferences": [owner(template, TEMPLATES)]},
                "spec": wanted}))
        elif there["spec"] != wanted:
            gone = {part: None for part in ("ingress", "egress") if part not in wanted}
            self.policies.keep(self.api.merge(POLICIES, namespace, policy_name, {"spec": {**wanted, **gone}}))

    def blueprint(self, template):
        """The spec of a Sandbox of this template, with what templates make safe where they say nothing."""
        spec = {key: copy.deepcopy(template["spec"][key])
                for key in ("podTemplate", "volumeClaimTemplates", "service") if key in template["spec"]}
        pod = spec["podTemplate"]["spec"]
        pod.setdefault("automountServiceAccountToken", False)
        managed = template["spec"].get("networkPolicyManagement", "Managed") == "Managed"
        if managed and "networkPolicy" not in template["spec"] and "dnsPolicy" not in pod:
            pod["dnsPolicy"] = "None"
            pod["dnsConfig"] = {"nameservers": ["8.8.8.8", "1.1.1.1"]}
        return spec

    def template_labels(self, template):
        return {TEMPLATE_REF: name_hash(template["metadata"]["name"]),
                TEMPLATE_HASH: name_hash(str(template["spec"]["podTemplate"]["spec"]))}

    # Pools

    def members(self, pool):
        return [each for each in self.sandboxes.all()
                if owner_of(each).get("uid") == pool["metadata"]["uid"] and not going(each)]

    def settle_pool(self, pool):
        """As many members as asked for, of the template; none where it is missing."""
        namespace, name = place(pool)
        template = self.templates.get(namespace, pool["spec"]["sandboxTemplateRef"]["name"])
        with self.adopting:
            members = self.members(pool)
            if template is not None:
                labels = self.template_labels(template)
                members = self.without_outdated(pool, members, labels)
                members = self.without_stuck(pool, members)
                self.fill(pool, template, labels, members)
        members = self.members(pool)
        status = {"replicas": len(members), "readyReplicas": len([each for each in members if is_ready(each)]),
                  "selector": f"{POOL}={name_hash(name)}", "observedGeneration": pool["metadata"]["generation"]}
        if pool.get("status") != status:
            self.pools.keep(self.api.merge(POOLS, namespace, name, {"status": status}, "status"))

    def without_outdated(self, pool, members, labels):
        if pool["spec"].get("updateStrategy", {}).get("type", "OnReplenish") != "Recreate":
            return members
        kept = [each for each in members if each["metadata"]["labels"].get(TEMPLATE_HASH) == labels[TEMPLATE_HASH]]
        self.drop([each for each in members if each not in kept])
        return kept

    def without_stuck(self, pool, members):
        stuck = []
        for each in members:
            ready = condition(each, "Ready")
            age = (now() - moment_of(ready["lastTransitionTime"])).total_seconds() if ready else 0
            scheduled = condition(each, "PodScheduled").get("status") == "True"
            if ready.get("status") == "False" and scheduled and age > MEMBER_PATIENCE:
                stuck.append(each)
            elif ready.get("status") == "False":
                self.work.add_later(("pool", *place(pool)), MEMBER_PATIENCE - age + 1)
        self.drop(stuck)
        return [each for each in members if each not in stuck]

    def drop(self, sandboxes):
        for each in sandboxes:
            self.api.delete(SANDBOXES, *place(each), each["metadata"]["uid"])

    def fill(self, pool, template, labels, members):
        namespace, name = place(pool)
        wanted = pool["spec"].get("replicas", 1)
        self.drop(sorted(members, key=is_ready)[:max(0, len(members) - wanted)])
        for _ in range(wanted - len(members)):
            spec = self.blueprint(template)
            metadata = spec["podTemplate"].setdefault("metadata", {})
            metadata.setdefault("annotations", {})[EVICTABLE] = "true"
            self.sandboxes.keep(self.api.create(SANDBOXES, {
                "metadata": {
                    "name": f"{name}-{''.join(secrets.choice('bcdfghjklmnpqrstvwxz2456789') for _ in range(5))}",
                    "namespace": namespace, "ownerReferences": [owner(pool, POOLS)],
                    "labels": {**labels, POOL: name_hash(name), OURS + "created-by": "controller",
                               OURS + "launch-type": "warm"}},
                "spec": spec}))

    # Claims

    def settle_claim(self, claim):
        key = ("claim", *place(claim))
        status = copy.deepcopy({"sandbox": claim.get("status", {}).get("sandbox", {})})
        try:
            expired = self.claim_expired(claim, key)
            if expired:
                return self.end_claim(claim, expired)
            check_additional(claim)
            sandbox = self.sandbox_of(claim)
            if sandbox is None:
                template = self.template_of(claim)
                sandbox = self.adopt(claim, template) or self.start_cold(claim, template)
            else:
                sandbox = self.carry_metadata(claim, sandbox)
            status["sandbox"] = {"name": sandbox["metadata"]["name"]}
            if sandbox.get("status", {}).get("podIPs"):
                status["sandbox"]["podIPs"] = sandbox["status"]["podIPs"]
            conditions = [dict(each) for each in sandbox.get("status", {}).get("conditions", [])
                          if each["type"] in ("Ready", "Finished")]
            conditions = conditions or [entry("Ready", "False", "SandboxNotReady", "Sandbox is not ready")]
        except Bad as bad:
            conditions = [entry("Ready", "False", bad.reason, str(bad))]
            self.work.add_later(key, 5)
        self.write_status(CLAIMS, self.claims, claim, status, conditions)

    def sandbox_of(self, claim):
        """An adopted Sandbox keeps the name that its pool gave it, a cold one has the claim's."""
        return next((each for each in self.sandboxes.all()
                     if owner_of(each).get("uid") == claim["metadata"]["uid"] and not going(each)), None)

    def template_of(self, claim):
        namespace = claim["metadata"]["namespace"]
        pool_name = claim["spec"]["warmPoolRef"]["name"]
        pool = self.pools.get(namespace, pool_name)
        if pool is None or going(pool):
            raise Bad("WarmPoolNotFound", f'SandboxWarmPool "{pool_name}" not found')
        name = pool["spec"]["sandboxTemplateRef"]["name"]
        template = self.templates.get(namespace, name)
        if template is None or going(template):
            raise Bad("TemplateNotFound", f'SandboxTemplate "{name}" not found')
        return template

    def merged_metadata(self, claim, template):
        """The template's metadata and the claim's. They may not say two things of one key."""
        ours = template["spec"]["podTemplate"].get("metadata") or {}
        more = claim["spec"].get("additionalPodMetadata") or {}
        merged = {}
        for part in PROPAGATED:
            base, extra = ours.get(part) or {}, more.get(part) or {}
            for key in base.keys() & extra.keys():
                if base[key] != extra[key]:
                    raise Bad("ReconcilerError", f'Error seen: metadata override conflict for {part} "{key}"')
            merged[part] = {**base, **extra}
        return merged

    def carry_metadata(self, claim, sandbox):
        """The claim's metadata on a Sandbox that it has. A claim that asks for nothing is not compared with its
        template; so one whose last key is taken away while its pool is missing is called ready, and the key stays."""
        if not claim["spec"].get("additionalPodMetadata") and not self.has_template(claim):
            return sandbox
        wanted = self.merged_metadata(claim, self.template_of(claim))
        is_now = sandbox["spec"]["podTemplate"].get("metadata") or {}
        if all((is_now.get(part) or {}) == wanted[part] for part in PROPAGATED):
            return sandbox
        return self.put_metadata(sandbox, wanted)

    def has_template(self, claim):
        try:
            self.template_of(claim)
            return True
        except Bad:
            return False

    def put_metadata(self, sandbox, wanted, **more):
        is_now = sandbox["spec"]["podTemplate"].get("metadata") or {}
        patch = {part: {**{gone: None for gone in is_now.get(part) or {} if gone not in wanted[part]}, **wanted[part]}
                 for part in PROPAGATED}
        done = self.api.merge(SANDBOXES, *place(sandbox), {**more, "spec": {"podTemplate": {"metadata": patch}}})
        self.sandboxes.keep(done)
        return done

    def adopt(self, claim, template):
        """A member of the pool becomes the claim's, by one patch; a ready one first. None where there is none, or
        where the claim asks for what a pod that runs cannot be given."""
        if claim["spec"].get("env") or claim["spec"].get("volumeClaimTemplates"):
            return None
        wanted = self.merged_metadata(claim, template)
        namespace = claim["metadata"]["namespace"]
        with self.adopting:
            pool = self.pools.get(namespace, claim["spec"]["warmPoolRef"]["name"])
            members = sorted(self.members(pool), key=lambda each: not is_ready(each)) if pool else []
            if not members:
                return None
            labels = {POOL: None, CLAIM: claim["metadata"]["uid"]}
            return self.put_metadata(members[0], wanted, metadata={
                "resourceVersion": members[0]["metadata"]["resourceVersion"], "labels": labels,
                "ownerReferences": [owner(claim, CLAIMS)]})

    def start_cold(self, claim, template):
        namespace, name = place(claim)
        spec = self.blueprint(template)
        spec["podTemplate"]["metadata"] = self.merged_metadata(claim, template)
        self.put_environment(claim, template, spec)
        there = self.sandboxes.get(namespace, name)
        if there is not None:
            raise Bad("ReconcilerError", f"Error seen: Sandbox {name} exists and is not this claim's")
        made = self.api.create(SANDBOXES, {
            "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner(claim, CLAIMS)],
                         "labels": {**self.template_labels(template), CLAIM: claim["metadata"]["uid"],
                                    OURS + "created-by": "controller", OURS + "launch-type": "cold"}},
            "spec": spec})
        self.sandboxes.keep(made)
        return made

    def put_environment(self, claim, template, spec):
        wanted = claim["spec"].get("env") or []
        allowed = template["spec"].get("envVarsInjectionPolicy", "Disallowed")
        if wanted and allowed == "Disallowed":
            raise Bad("EnvVarsInjectionRejected", "the template does not allow environment variables")
        for variable in wanted:
            for container in spec["podTemplate"]["spec"]["containers"]:
                if variable.get("containerName", container["name"]) != container["name"]:
                    continue
                known = container.setdefault("env", [])
                if any(each["name"] == variable["name"] for each in known) and allowed != "Overrides":
                    raise Bad("EnvVarsInjectionRejected", f"{variable['name']} is the template's")
                known[:] = [each for each in known if each["name"] != variable["name"]]
                known.append({"name": variable["name"], "value": variable.get("value", "")})
        if claim["spec"].get("volumeClaimTemplates"):
            if template["spec"].get("volumeClaimTemplatesPolicy", "Disallowed") == "Disallowed":
                raise Bad("VolumeClaimTemplatesError", "the template does not allow volume claims")
            spec["volumeClaimTemplates"] = claim["spec"]["volumeClaimTemplates"]

    def claim_expired(self, claim, key):
        life = claim["spec"].get("lifecycle") or {}
        ends = [moment_of(life["shutdownTime"])] if life.get("shutdownTime") else []
        finished = condition(claim, "Finished")
        if "ttlSecondsAfterFinished" in life and finished.get("status") == "True":
            ends.append(moment_of(finished["lastTransitionTime"]) +
                        datetime.timedelta(seconds=life["ttlSecondsAfterFinished"]))
        if not ends:
            return None
        left = (min(ends) - now()).total_seconds()
        if left > 0:
            self.work.add_later(key, left + 0.1)
            return None
        return life.get("shutdownPolicy", "Retain")

    def end_claim(self, claim, policy):
        """Retain keeps the claim alone: its Sandbox goes, and with it the data."""
        sandbox = self.sandbox_of(claim)
        if sandbox is not None:
            self.api.delete(SANDBOXES, *place(sandbox), sandbox["metadata"]["uid"])
        if policy != "Retain":
            self.api.delete(CLAIMS, *place(claim), claim["metadata"]["uid"])
            return
        self.write_status(CLAIMS, self.claims, claim, {"sandbox": {}},
                          [entry("Ready", "False", "ClaimExpired", "Claim has expired")])


QUALIFIED = re.compile(r"(?:([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)/)?([A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)")
RESTRICTED = ("kubernetes.io", "k8s.io", "agents.x-k8s.io")
LABEL_DOMAINS = ("sandbox.users.io",)


def within(domain, known):
    return any(domain == each or domain.endswith("." + each) for each in known)


def check_additional(claim):
    """Annotations of any domain but the cluster's own; labels of the few domains that an operator lists."""
    more = claim["spec"].get("additionalPodMetadata") or {}
    for part in PROPAGATED:
        for key in more.get(part) or {}:
            found = QUALIFIED.fullmatch(key)
            domain = found[1] if found else None
            if not found or (domain and within(domain, RESTRICTED)) or \
                    (part == "labels" and not (domain and within(domain, LABEL_DOMAINS))):
                raise Bad("InvalidMetadata", f'additionalPodMetadata: {part} key "{key}" is not allowed')


def main():
    Controller()
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
