"""What agent-sandbox's extension makes of templates, pools and claims, in kit/cluster.py: pods that wait, and claims that
take one. It does so with the oddities that it was seen to have."""
import copy

from kit.cluster import TEMPLATE_HASH, get_at, leaves

MANAGER = "agent-sandbox-controller"
SUFFIXES = ["x9f2k", "b7k1d", "q3m8z", "t5w4c", "h2n6v", "r8p0j", "d1s7g", "k4y9b"]
RESTRICTED = ("kubernetes.io", "k8s.io", "agents.x-k8s.io")


def condition(status, reason, message=""):
    return {"type": "Ready", "status": status, "reason": reason, "message": message}


class Pools:
    """Its switches make the controller as slow, as confused or as unlucky as a test wants it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.suffixes = list(SUFFIXES)
        self.binding = True  # a claim gets a Sandbox
        self.recording = True  # and its status says which
        self.claim_condition = None  # instead of what is so
        self.busy = False
        cluster.extensions = self.sees

    # What a pod says of its host key, where no real door runs in it

    def sees(self, plural, namespace, name):
        if self.busy or plural not in ("sandboxwarmpools", "sandboxclaims", "sandboxtemplates"):
            return
        self.busy = True
        try:
            self.reconcile(plural, namespace, name)
        finally:
            self.busy = False

    def touch(self, name, namespace="boxes"):
        """What the controller does about this claim by and by."""
        with self.cluster.changed:
            self.claim(namespace, name)

    def policy(self, namespace, name):
        """One policy for all boxes of a template: what it says, or else what lets in a router and nobody else."""
        template = self.cluster.objects["sandboxtemplates", namespace, name]
        called = ("networkpolicies", namespace, f"{name}-network-policy")
        if template["spec"].get("networkPolicyManagement") == "Unmanaged":
            return self.cluster._delete(*called)
        rules = template["spec"].get("networkPolicy") or {"ingress": [{"from": [{"podSelector": {"app": "sandbox-router"}}]}]}
        spec = {"podSelector": {"matchLabels": {TEMPLATE_HASH: f"hash-of-{name}"}}, "policyTypes": ["Ingress", "Egress"],
                "ingress": rules.get("ingress", []), "egress": rules.get("egress", [])}
        if get_at(self.cluster.objects.get(called, {}), ("spec",)) != spec:
            self.cluster._store(*called, {"metadata": {}, "spec": spec})
        return None

    def reconcile(self, plural, namespace, name):
        if plural == "sandboxtemplates":
            self.policy(namespace, name)
        if plural == "sandboxwarmpools":
            self.fill(namespace, name)
        elif plural == "sandboxclaims":
            self.claim(namespace, name)

    def objects(self, plural, namespace):
        return {name: value for (kind, where, name), value in self.cluster.objects.items()
                if kind == plural and where == namespace}

    def waiting(self, namespace, pool):
        """Names of the Sandboxes of the pool POOL that nobody has taken."""
        return sorted(name for name, value in self.objects("sandboxes", namespace).items()
                      if any(owner["uid"] == pool["metadata"]["uid"] for owner in value["metadata"].get("ownerReferences", [])))

    def make(self, namespace, name, template, owner):
        blueprint = {key: copy.deepcopy(value) for key, value in template["spec"].items()
                     if key in ("podTemplate", "volumeClaimTemplates", "service")}
        labels = {TEMPLATE_HASH: f"hash-of-{template['metadata']['name']}"}
        value = {"metadata": {"ownerReferences": [owner], "labels": labels}, "spec": {**blueprint, "operatingMode": "Running"}}
        self.cluster.owners["sandboxes", namespace, name] = {path: {MANAGER} for path in leaves({"spec": value["spec"]})}
        self.cluster._store("sandboxes", namespace, name, value)

    def fill(self, namespace, name):
        pool = self.cluster.objects["sandboxwarmpools", namespace, name]
        template = self.cluster.objects.get(("sandboxtemplates", namespace, pool["spec"]["sandboxTemplateRef"]["name"]))
        owner = {"kind": "SandboxWarmPool", "uid": pool["metadata"]["uid"]}
        while template and len(self.waiting(namespace, pool)) < pool["spec"]["replicas"]:
            self.make(namespace, f"{name}-{self.suffixes.pop(0)}", template, owner)
        count = len(self.waiting(namespace, pool))
        status = {"replicas": count, "readyReplicas": count}
        if pool.get("status") != status:
            pool["status"] = status
            self.cluster._store("sandboxwarmpools", namespace, name, pool)

    def say(self, namespace, name, ready):
        claim = self.cluster.objects["sandboxclaims", namespace, name]
        status = {**claim.get("status", {}), "conditions": [self.claim_condition or ready]}
        if claim.get("status") != status:
            claim["status"] = status
            self.cluster._store("sandboxclaims", namespace, name, claim)

    def claim(self, namespace, name):
        claim = self.cluster.objects["sandboxclaims", namespace, name]
        wanted = get_at(claim, ("spec", "additionalPodMetadata", "annotations")) or {}
        for key in wanted:
            domain = key.split("/")[0]
            if any(domain == bad or domain.endswith("." + bad) for bad in RESTRICTED):
                return self.say(namespace, name, condition("False", "InvalidMetadata", f"{key} is restricted"))
        pool = self.cluster.objects.get(("sandboxwarmpools", namespace, claim["spec"]["warmPoolRef"]["name"]))
        template = pool and self.cluster.objects.get(
            ("sandboxtemplates", namespace, pool["spec"]["sandboxTemplateRef"]["name"]))
        if not template:
            # Nothing is passed on, and a claim without keys says that all is well.
            reason = "TemplateNotFound" if pool else "WarmPoolNotFound"
            return self.say(namespace, name, condition("False", reason) if wanted else condition("True", "DependenciesReady"))
        bound = get_at(claim, ("status", "sandbox", "name"))
        if not bound:
            bound = self.bind(namespace, name, claim, pool, template)
            if not bound:
                return self.say(namespace, name, condition("False", "SandboxCreatePending", "waiting for a Sandbox"))
        sandbox = self.cluster.objects.get(("sandboxes", namespace, bound))
        if not sandbox:
            return self.say(namespace, name, condition("False", "SandboxMissing"))
        of_template = get_at(template, ("spec", "podTemplate", "metadata", "annotations")) or {}
        clash = [key for key in wanted if key in of_template and of_template[key] != wanted[key]]
        if clash:
            return self.say(namespace, name, condition("False", "ReconcilerError", f"metadata override conflict: {clash[0]}"))
        metadata = sandbox["spec"]["podTemplate"]["metadata"]
        if metadata.get("annotations") != {**of_template, **wanted}:
            metadata["annotations"] = {**of_template, **wanted}
            self.cluster._store("sandboxes", namespace, bound, sandbox)
        self.say(namespace, name, get_at(self.cluster.objects["sandboxes", namespace, bound], ("status", "conditions"))[0])

    def bind(self, namespace, name, claim, pool, template):
        if not self.binding:
            return None
        owner = {"kind": "SandboxClaim", "uid": claim["metadata"]["uid"], "controller": True}
        waiting = self.waiting(namespace, pool)
        bound = waiting[0] if waiting else name
        if waiting:
            sandbox = self.cluster.objects["sandboxes", namespace, bound]
            sandbox["metadata"]["ownerReferences"] = [owner]
            self.cluster._store("sandboxes", namespace, bound, sandbox)
        elif ("sandboxes", namespace, name) not in self.cluster.objects:
            self.make(namespace, name, template, owner)
        if not self.recording:
            return None
        claim.setdefault("status", {})["sandbox"] = {"name": bound, "podIPs": ["10.9.0.7"]}
        self.cluster._store("sandboxclaims", namespace, name, claim)
        self.fill(namespace, pool["metadata"]["name"])
        return bound
