"""A stand-in for a cluster's API, with the parts of it that agentbox-provision uses: TLS, credentials, objects,
server-side apply, watches, and what the Sandbox controller and kubelet make of a Sandbox. What it answers has
the shapes that Kubernetes 1.34 and agent-sandbox v0.5 were seen to answer with. No stand-in is needed to believe
in a cluster: tests/cluster is for that.
"""
import copy
import datetime
import http.server
import ipaddress
import json
import re
import select
import socket
import ssl
import threading
import urllib.parse
import uuid

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

TOKEN = "operator-s3cret"
NAMESPACE = "boxes"
GROUPS = {
    "sandboxes": "apis/agents.x-k8s.io/v1beta1",
    "sandboxclaims": "apis/extensions.agents.x-k8s.io/v1beta1",
    "sandboxwarmpools": "apis/extensions.agents.x-k8s.io/v1beta1",
    "sandboxtemplates": "apis/extensions.agents.x-k8s.io/v1beta1",
    "networkpolicies": "apis/networking.k8s.io/v1",
    "secrets": "api/v1",
    "pods": "api/v1",
    "persistentvolumeclaims": "api/v1",
    "pipes": "apis/sshpiper.com/v1beta1",
}
KINDS = {"sandboxes": "Sandbox", "sandboxclaims": "SandboxClaim", "sandboxwarmpools": "SandboxWarmPool",
         "sandboxtemplates": "SandboxTemplate", "networkpolicies": "NetworkPolicy", "secrets": "Secret", "pods": "Pod",
         "pipes": "Pipe", "persistentvolumeclaims": "PersistentVolumeClaim"}
FIELDS = {
    "sandboxes": {"podTemplate", "volumeClaimTemplates", "service", "shutdownTime", "shutdownPolicy", "operatingMode"},
    "sandboxclaims": {"warmPoolRef", "additionalPodMetadata", "env", "lifecycle", "volumeClaimTemplates"},
    "sandboxwarmpools": {"replicas", "sandboxTemplateRef", "updateStrategy"},
    "sandboxtemplates": {"podTemplate", "volumeClaimTemplates", "service", "networkPolicy", "networkPolicyManagement",
                         "envVarsInjectionPolicy", "volumeClaimTemplatesPolicy"},
}
REQUIRED = {
    "sandboxes": ("spec", "podTemplate", "spec"),
    "sandboxtemplates": ("spec", "podTemplate", "spec"),
    "sandboxclaims": ("spec", "warmPoolRef", "name"),
    "sandboxwarmpools": ("spec", "sandboxTemplateRef", "name"),
}
TEMPLATE_HASH = "agents.x-k8s.io/sandbox-template-ref-hash"
GROUP_NAMES = ("agents.x-k8s.io", "extensions.agents.x-k8s.io")


class Authority:
    """A CA and what it signs, as PEM."""

    def __init__(self, name):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.certificate = self._sign(self.name, self.key.public_key(), ca=True)

    def _sign(self, subject, public_key, names=(), ca=False):
        now = datetime.datetime.now(datetime.timezone.utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, common_name, *names):
        """(certificate, key) for these host names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        certificate = self._sign(subject, key.public_key(), [_general_name(name) for name in names])
        return (
            certificate.public_bytes(serialization.Encoding.PEM).decode(),
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ).decode(),
        )


def _general_name(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def leaves(value, path=()):
    """{path: value} of everything that is no mapping; lists count as one."""
    if isinstance(value, dict) and value:
        return {key: leaf for name, inner in value.items() for key, leaf in leaves(inner, (*path, name)).items()}
    return {path: value}


def get_at(value, path):
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def set_at(value, path, leaf):
    for name in path[:-1]:
        value = value.setdefault(name, {})
    value[path[-1]] = copy.deepcopy(leaf)


def drop_at(value, path):
    inner = get_at(value, path[:-1])
    if isinstance(inner, dict):
        inner.pop(path[-1], None)


def merge(value, patch):
    for name, inner in patch.items():
        if inner is None:
            value.pop(name, None)
        elif isinstance(inner, dict):
            merge(value.setdefault(name, {}), inner)
        else:
            value[name] = inner


def take_frame(data):
    """(message, rest) of a client's first WebSocket frame, message None at its end; None: not whole yet."""
    if len(data) < 2:
        return None
    assert data[1] & 0x80, "a client masks"
    length, head = data[1] & 0x7F, 2
    if length == 126:
        length, head = int.from_bytes(data[2:4], "big"), 4
    if len(data) < head + 4 + length:
        return None
    if data[0] & 0xF == 8:
        return None, b""
    mask, body = data[head:head + 4], data[head + 4:head + 4 + length]
    return bytes(byte ^ mask[at % 4] for at, byte in enumerate(body)), data[head + 4 + length:]


class Refusal(Exception):
    def __init__(self, code, reason, message, headers=(), **more):
        super().__init__(message)
        self.code = code
        self.headers = headers
        self.status = {
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code, **more,
        }


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.authority = Authority("agentbox test CA")
        self.changed = threading.Condition(threading.RLock())
        self.objects = {}
        self.owners = {}
        self.version = 100
        self.events = []
        self.oldest = 0
        self.requests = []
        self.faults = []
        self.forbidden = set()
        self.allowed = None  # a set of (verb, resource): nothing else may be done
        self.tokens = {TOKEN}
        self.served = ["v1beta1", "v1alpha1"]
        self.pipes_served = ["v1beta1"]
        self.pruned = []  # paths that an older definition of Pipes does not know, and drops
        self.extended = True  # it has pools
        self.extensions = lambda plural, namespace, name: None  # sees each object that is stored
        self.controller = True
        self.lazy = False  # controller and kubelet act only when somebody watches
        self.node_address = "192.0.2.10"
        self.pod_address = "192.0.2.20"
        self.webhook = lambda pod: None
        self.kubelet = lambda pod: None  # sees each pod whose annotations changed
        self.pod_gone = lambda name: None
        self.log_of = lambda pod, container: None  # bytes; None where no such container runs
        self.budgets = []  # of the next port-forwards: bytes from the client after which one is cut, or None
        self.port_of = lambda pod: None  # where a port-forward to that pod ends on this machine: PORT, or (ADDRESS, PORT)
        self.server = None
        self.stopping = False

    # Running

    def start(self, *names):
        certificate, key = self.authority.issue("apiserver", *(names or ("127.0.0.1", "localhost")))
        pair = self.folder / "server.pem"
        pair.write_text(certificate + key)
        ca = self.folder / "ca.pem"
        ca.write_text(self.authority.pem())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair)
        context.load_verify_locations(ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self, context))
        self.server.daemon_threads = False
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()
        return self

    def stop(self):
        with self.changed:
            self.stopping = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def port(self):
        return self.server.server_address[1]

    def kubeconfig(self, name="kubeconfig", user=None, **cluster):
        """Writes a kubeconfig (JSON is YAML) and gives its path."""
        config = {
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "c", "cluster": {
                "server": f"https://127.0.0.1:{self.port}", "certificate-authority": "ca.pem", **cluster}}],
            "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
            "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
        }
        path = self.folder / name
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        return path

    # Looking

    def get(self, plural, name, namespace=NAMESPACE):
        with self.changed:
            return copy.deepcopy(self.objects.get((plural, namespace, name)))

    def names(self, plural):
        with self.changed:
            return sorted(name for kind, _, name in self.objects if kind == plural)

    def made(self, method="", pattern=""):
        """The requests so far, as (method, path, headers, body)."""
        with self.changed:
            return [one for one in self.requests if one[0].startswith(method) and re.search(pattern, one[1])]

    # Changing

    def fail(self, method, pattern, answer, times=1):
        """ANSWER(handler) replies to the next TIMES requests like this instead of the cluster."""
        self.faults.append([method, pattern, answer, times])

    def fault_for(self, method, path):
        with self.changed:
            for fault in self.faults:
                if fault[3] > 0 and fault[0] == method and re.search(fault[1], path):
                    fault[3] -= 1
                    return fault[2]
        return None

    def put(self, plural, value, namespace=NAMESPACE):
        """Stores an object as somebody else's."""
        with self.changed:
            self._store(plural, namespace, value["metadata"]["name"], value)

    def edit(self, plural, name, change, namespace=NAMESPACE):
        with self.changed:
            value = self.objects[plural, namespace, name]
            change(value)
            self._store(plural, namespace, name, value)

    def forget_history(self):
        """What a compaction does: watches from before it have to list again."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.events.clear()

    def _store(self, plural, namespace, name, value):
        key = (plural, namespace, name)
        self.version += 1
        meta = value.setdefault("metadata", {})
        meta.update(name=name, namespace=namespace, resourceVersion=str(self.version))
        meta.setdefault("uid", str(uuid.uuid4()))
        value.setdefault("apiVersion", GROUPS[plural].split("/", 1)[1])
        value.setdefault("kind", KINDS[plural])
        kind = "MODIFIED" if key in self.objects else "ADDED"
        self.objects[key] = value
        self.events.append((self.version, kind, plural, namespace, name, copy.deepcopy(value)))
        self.changed.notify_all()
        if plural == "sandboxes" and self.controller and not self.lazy:
            self._reconcile(namespace, name)
        self.extensions(plural, namespace, name)

    def _delete(self, plural, namespace, name):
        value = self.objects.pop((plural, namespace, name), None)
        if value is None:
            return
        self.owners.pop((plural, namespace, name), None)
        self.version += 1
        value["metadata"]["resourceVersion"] = str(self.version)
        self.events.append((self.version, "DELETED", plural, namespace, name, copy.deepcopy(value)))
        self.changed.notify_all()
        if plural == "pods":
            self.pod_gone(name)
        uid = value["metadata"]["uid"]
        for kind, where, owned in list(self.objects):
            one = self.objects.get((kind, where, owned))  # what it owned itself may have gone with it
            owners = one["metadata"].get("ownerReferences", []) if one else []
            if any(owner["uid"] == uid for owner in owners):
                if self.lazy and kind == "pods":
                    self.objects[kind, where, owned]["metadata"]["deletionTimestamp"] = "2026-11-30T06:31:00Z"
                else:
                    self._delete(kind, where, owned)

    def _act(self, watched):
        """What a lazy cluster has left undone, once a kind of object is watched."""
        for plural, namespace, name in list(self.objects):
            value = self.objects.get((plural, namespace, name))
            if plural == watched and value is not None and value["metadata"].get("deletionTimestamp"):
                self._delete(plural, namespace, name)
            elif plural == "sandboxes" and value is not None:
                self._reconcile(namespace, name, keys=watched == "pods")

    def _reconcile(self, namespace, name, keys=True):
        """What controller, scheduler and kubelet make of a Sandbox. KEYS: also of its pod's annotations."""
        sandbox = self.objects[("sandboxes", namespace, name)]
        template = sandbox["spec"]["podTemplate"]
        suspended = sandbox["spec"].get("operatingMode", "Running") == "Suspended"
        if suspended:
            self._delete("pods", namespace, name)
            conditions = [
                {"type": "Ready", "status": "False", "reason": "SandboxSuspended", "message": "suspended"},
                {"type": "Suspended", "status": "True", "reason": "PodTerminated", "message": ""},
            ]
        else:
            pod = copy.deepcopy(self.objects.get(("pods", namespace, name)))
            if pod is None:
                pod = {"metadata": {"ownerReferences": [{"kind": "Sandbox", "uid": sandbox["metadata"]["uid"]}]},
                       "spec": copy.deepcopy(template["spec"]),
                       "status": {"phase": "Running", "hostIP": self.node_address, "podIP": self.pod_address}}
                pod["status"]["containerStatuses"] = [
                    {"name": container["name"], "restartCount": 0} for container in pod["spec"]["containers"]]
                for claim in sandbox["spec"].get("volumeClaimTemplates", []):
                    pod["spec"].setdefault("volumes", []).append(
                        {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": f"data-{name}"}})
                self.webhook(pod)
            before = copy.deepcopy(pod["metadata"].get("annotations"))
            if keys:
                pod["metadata"]["annotations"] = dict(template.get("metadata", {}).get("annotations", {}))
            pod["metadata"].setdefault("annotations", {})
            of_pool = {k: v for k, v in sandbox["metadata"].get("labels", {}).items() if k == TEMPLATE_HASH}
            pod["metadata"]["labels"] = {**template.get("metadata", {}).get("labels", {}), **of_pool}
            if before != pod["metadata"]["annotations"] or ("pods", namespace, name) not in self.objects:
                self._store("pods", namespace, name, pod)
                self.kubelet(pod)
            conditions = [
                {"type": "Ready", "status": "True", "reason": "DependenciesReady", "message": ""},
                {"type": "Suspended", "status": "False", "reason": "NotSuspended", "message": ""},
            ]
        status = {"conditions": conditions, "serviceFQDN": f"{name}.{namespace}.svc.cluster.local"}
        if sandbox.get("status") != status:
            sandbox["status"] = status
            self._store("sandboxes", namespace, name, sandbox)

    # Answering

    def may(self, verb, resource):
        return (verb, resource) not in self.forbidden and (self.allowed is None or (verb, resource) in self.allowed)

    def check_right(self, verb, resource):
        if not self.may(verb, resource):
            raise Refusal(403, "Forbidden", f'{resource} is forbidden: User "u" cannot {verb} resource "{resource}"')

    def apply(self, plural, namespace, name, body, query):
        manager = query["fieldManager"]
        key = (plural, namespace, name)
        with self.changed:
            value = copy.deepcopy(self.objects.get(key))
            applied = leaves({k: v for k, v in body.items() if k not in ("apiVersion", "kind")})
            applied = {path: leaf for path, leaf in applied.items()
                       if path not in ((("metadata", "name")), ("metadata", "namespace"))}
            if value is None:
                self.check_right("create", plural)
            self._check_strict(plural, body, query)
            owners = copy.deepcopy(self.owners.get(key, {}))
            conflicts = [
                (path, other)
                for path, leaf in applied.items()
                for other in owners.get(path, set()) - {manager}
                if get_at(value or {}, path) != leaf
            ]
            if conflicts and query.get("force") != "true":
                causes = [{"reason": "FieldManagerConflict", "message": f'conflict with "{other}"',
                           "field": "." + ".".join(path)} for path, other in conflicts]
                lines = "\n".join(cause["field"] for cause in causes)
                raise Refusal(409, "Conflict", f'Apply failed with {len(causes)} conflict: conflict with '
                              f'"{conflicts[0][1]}": {lines}', details={"causes": causes})
            created = value is None
            value = value or {"metadata": {}}
            for path, holders in list(owners.items()):
                if path not in applied and holders == {manager}:
                    drop_at(value, path)
                if path not in applied:
                    holders.discard(manager)
            for path, leaf in applied.items():
                set_at(value, path, leaf)
                owners.setdefault(path, set()).add(manager)
            for path in self.pruned if plural == "pipes" else ():
                drop_at(value, path)
            if plural in REQUIRED and not get_at(value, REQUIRED[plural]):
                raise Refusal(422, "Invalid", f'{KINDS[plural]} "{name}" is invalid: '
                              f"{'.'.join(REQUIRED[plural])}: Required value")
            if get_at(value, ("spec", "additionalPodMetadata", "annotations")) == {}:
                raise Refusal(422, "Invalid", f'{KINDS[plural]} "{name}" is invalid: spec.additionalPodMetadata in body '
                              'must be of type object: "null"')
            if plural == "sandboxwarmpools":
                value["spec"].setdefault("replicas", 1)
            if query.get("dryRun") != "All":
                self.owners[key] = owners
                if created or value != self.objects.get(key):
                    self._store(plural, namespace, name, value)
            seen = copy.deepcopy(self.objects.get(key, value))
            if created and key not in self.objects:  # what a dry run shows of it
                seen["metadata"].update(name=name, namespace=namespace)
                seen.update(apiVersion=body["apiVersion"], kind=body["kind"])
            return (201 if created else 200), seen

    def _check_strict(self, plural, body, query):
        unknown = set(body.get("spec", {})) - FIELDS[plural] if plural in FIELDS else set()
        if unknown and query.get("fieldValidation") == "Strict":
            raise Refusal(400, "BadRequest", f'unknown field "spec.{sorted(unknown)[0]}"')

    def create(self, plural, namespace, body, dry_run=False):
        name = body["metadata"]["name"]
        with self.changed:
            if (plural, namespace, name) in self.objects:
                raise Refusal(409, "AlreadyExists", f'{plural} "{name}" already exists')
            if dry_run:
                return body
            self._store(plural, namespace, name, body)
            return copy.deepcopy(self.objects[plural, namespace, name])

    def patch(self, plural, namespace, name, body, manager=None):
        """A merge patch. Whoever makes one owns what it says, alone."""
        with self.changed:
            value = self.find(plural, namespace, name)
            merge(value, body)
            owners = self.owners.setdefault((plural, namespace, name), {})
            owners.update({path: {manager} for path in leaves(body)})
            self._store(plural, namespace, name, value)
            return copy.deepcopy(value)

    def managed_fields(self, plural, namespace, name):
        """Who applied what, as metadata.managedFields has it."""
        entries = {}
        for path, holders in self.owners.get((plural, namespace, name), {}).items():
            for manager in holders:
                set_at(entries.setdefault(manager, {}), [f"f:{part}" for part in path], {})
        return [{"manager": manager, "operation": "Apply", "fieldsV1": fields} for manager, fields in entries.items()]

    def find(self, plural, namespace, name):
        value = self.objects.get((plural, namespace, name))
        if value is None:
            raise Refusal(404, "NotFound", f'{plural} "{name}" not found')
        return value

    def remove(self, plural, namespace, name, options):
        with self.changed:
            value = self.find(plural, namespace, name)
            wanted = options.get("preconditions", {}).get("uid")
            if wanted not in (None, value["metadata"]["uid"]):
                raise Refusal(409, "Conflict", "Precondition failed: UID in precondition")
            if self.lazy and plural == "sandboxes":
                value["metadata"]["deletionTimestamp"] = "2026-11-30T06:31:00Z"
                return self._store(plural, namespace, name, value)
            self._delete(plural, namespace, name)

    def selected(self, plural, namespace, query):
        wanted = dict(part.split("=", 1) for part in query.get("labelSelector", "").split(",") if part)
        field = query.get("fieldSelector", "")
        return [
            copy.deepcopy(value) for (kind, where, name), value in sorted(self.objects.items())
            if kind == plural and where == namespace and (not field or field == f"metadata.name={name}")
            and all(value["metadata"].get("labels", {}).get(k) == v for k, v in wanted.items())
        ]


def _handler_for(cluster, context):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def setup(self):
            self.request.settimeout(30)
            try:
                self.request = context.wrap_socket(self.request, server_side=True)
            except (ssl.SSLError, OSError):
                self.broken = True
            super().setup()

        def handle(self):
            if not getattr(self, "broken", False):
                try:
                    super().handle()
                except (OSError, ssl.SSLError):
                    pass

        def log_message(self, *words):
            pass

        def reply(self, code, value, headers=(), kind="application/json"):
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, text in headers:
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(body)

        def serve(self):
            length = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(length)
            with cluster.changed:
                cluster.requests.append((self.command, self.path, dict(self.headers), body))
            fault = cluster.fault_for(self.command, self.path)
            if fault is not None:
                fault(self)
                return
            try:
                self.answer(json.loads(body) if body else {})
            except Refusal as refusal:
                self.reply(refusal.code, refusal.status, refusal.headers)

        do_GET = do_POST = do_PATCH = do_DELETE = serve

        def check_identity(self):
            token = self.headers.get("Authorization", "")
            certificate = self.connection.getpeercert()
            if token.removeprefix("Bearer ") not in cluster.tokens and not certificate:
                raise Refusal(401, "Unauthorized", "Unauthorized")

        def answer(self, body):
            self.check_identity()
            url = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(url.query))
            if url.path == "/version":
                return self.reply(200, {"major": "1", "minor": "34", "gitVersion": "v1.34.4"})
            if url.path == "/apis/sshpiper.com":
                return self.answer_discovery("sshpiper.com", cluster.pipes_served)
            if url.path.removeprefix("/apis/") in GROUP_NAMES:
                group = url.path.removeprefix("/apis/")
                absent = group.startswith("extensions") and not cluster.extended
                return self.answer_discovery(group, [] if absent else cluster.served)
            if url.path.endswith("/selfsubjectaccessreviews"):
                asked = body["spec"]["resourceAttributes"]
                allowed = cluster.may(asked["verb"], "/".join(filter(None, (asked["resource"], asked.get("subresource")))))
                return self.reply(201, {"kind": "SelfSubjectAccessReview", "status": {"allowed": allowed}})
            found = re.fullmatch("/api/v1/namespaces/([^/]+)/pods/([^/]+)/portforward", url.path)
            if found:
                return self.forward(found[2], int(query["ports"]))
            found = re.fullmatch("/api/v1/namespaces/([^/]+)/pods/([^/]+)/log", url.path)
            if found:
                return self.answer_log(found[1], found[2], query)
            for plural, group in GROUPS.items():
                found = re.fullmatch(f"/{group}/namespaces/([^/]+)/{plural}(?:/([^/]+))?", url.path)
                if found and (cluster.extended or "extensions" not in group):
                    return self.answer_objects(plural, found[1], found[2], query, body)
            return self.reply(404, b"404 page not found\n")

        def answer_discovery(self, group, served):
            if not served:
                return self.reply(404, b"404 page not found\n")
            versions = [{"groupVersion": f"{group}/{v}", "version": v} for v in served]
            return self.reply(200, {"kind": "APIGroup", "name": group, "versions": versions,
                                    "preferredVersion": versions[0]})

        def answer_objects(self, plural, namespace, name, query, body):
            watching = query.get("watch") == "1"
            verb = {"GET": "watch" if watching else "get" if name else "list", "POST": "create",
                    "PATCH": "patch", "DELETE": "delete"}[self.command]
            cluster.check_right(verb, plural)
            if watching:
                return self.watch(plural, namespace, query)
            if self.command == "GET" and name:
                with cluster.changed:
                    value = copy.deepcopy(cluster.find(plural, namespace, name))
                    value["metadata"]["managedFields"] = cluster.managed_fields(plural, namespace, name)
                    return self.reply(200, value)
            if self.command == "GET":
                with cluster.changed:
                    return self.reply(200, {"kind": KINDS[plural] + "List", "metadata":
                                            {"resourceVersion": str(cluster.version)},
                                            "items": cluster.selected(plural, namespace, query)})
            if self.command == "POST":
                return self.reply(201, cluster.create(plural, namespace, body, query.get("dryRun") == "All"))
            if self.command == "DELETE":
                cluster.remove(plural, namespace, name, body)
                return self.reply(200, {"kind": "Status", "status": "Success"})
            if self.headers["Content-Type"] == "application/apply-patch+yaml":
                code, value = cluster.apply(plural, namespace, name, body, query)
                return self.reply(code, value)
            value = cluster.patch(plural, namespace, name, body, query["fieldManager"])
            if "PartialObjectMetadata" in self.headers["Accept"]:
                value = {"kind": "PartialObjectMetadata", "metadata": value["metadata"]}
            return self.reply(200, value)

        def answer_log(self, namespace, pod, query):
            cluster.check_right("get", "pods/log")
            with cluster.changed:
                value = cluster.find("pods", namespace, pod)
            names = [container["name"] for container in value["spec"]["containers"]]
            if query["container"] not in names:
                raise Refusal(400, "BadRequest", f'container {query["container"]} is not valid for pod {pod}')
            text = cluster.log_of(pod, query["container"])
            if text is None:
                raise Refusal(400, "BadRequest", f'container "{query["container"]}" in pod "{pod}" is waiting to start')
            lines = text.splitlines(keepends=True)
            if "tailLines" in query:
                lines = lines[max(0, len(lines) - int(query["tailLines"])):]
            self.reply(200, b"".join(lines)[:int(query.get("limitBytes", 1 << 40))], kind="text/plain")

        def watch(self, plural, namespace, query):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            at = int(query["resourceVersion"])
            with cluster.changed:
                if cluster.lazy:
                    cluster._act(plural)
                if at < cluster.oldest:
                    self.send_event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired",
                                              "message": "too old resource version"})
                    return self.end_stream()
                while not cluster.stopping:
                    for version, kind, what, where, name, value in list(cluster.events):
                        if version > at and what == plural and where == namespace and \
                                query.get("fieldSelector", f"metadata.name={name}") == f"metadata.name={name}":
                            self.send_event(kind, value)
                            at = version
                    if not cluster.changed.wait(timeout=min(30, int(query.get("timeoutSeconds", 30)))):
                        break
            self.end_stream()

        def forward(self, pod, number):
            """A port-forward as kubelet speaks it over a WebSocket."""
            cluster.check_right("get", "pods/portforward")  # what a WebSocket begins with
            cluster.check_right("create", "pods/portforward")  # as newer clusters ask besides
            self.send_response(101)
            for name, text in (("Upgrade", "websocket"), ("Connection", "Upgrade"),
                               ("Sec-WebSocket-Protocol", "v4.channel.k8s.io")):
                self.send_header(name, text)
            self.end_headers()
            self.close_connection = True
            for channel in (0, 1):
                self.send_frame(bytes([channel]) + number.to_bytes(2, "little"))
            port = cluster.port_of(pod)
            if port is None:
                return self.send_frame(b"\x01connection refused")
            budget = cluster.budgets.pop(0) if cluster.budgets else None
            with socket.create_connection(port if isinstance(port, tuple) else ("127.0.0.1", port), 5) as door:
                self.carry(door, budget)

        def carry(self, door, budget):
            """Bytes both ways until either side ends, or the client has sent BUDGET bytes. One thread: a TLS connection
            is not for two."""
            pending = b""
            taken = 0
            while True:
                if not self.connection.pending():
                    ready = select.select([self.connection, door], [], [], 30)[0]
                    if door in ready:
                        data = door.recv(16384)
                        if not data:
                            return
                        self.send_frame(b"\x00" + data)
                    if self.connection not in ready:
                        continue
                data = self.connection.recv(16384)
                if not data:
                    return
                pending += data
                taken += len(data)
                if budget is not None and taken > budget:
                    return
                while (frame := take_frame(pending)) is not None:
                    message, pending = frame
                    if message is None:
                        return
                    door.sendall(message[1:])

        def send_frame(self, data):
            length = bytes([len(data)]) if len(data) < 126 else b"\x7e" + len(data).to_bytes(2, "big")
            self.wfile.write(b"\x82" + length + data)
            self.wfile.flush()

        def send_event(self, kind, value):
            self.send_piece(json.dumps({"type": kind, "object": value}).encode() + b"\n")

        def send_piece(self, piece):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

        def end_stream(self):
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

    return Handler
