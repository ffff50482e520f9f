"""A mutating webhook of the cluster's, run by a test."""
import base64
import http.server
import json
import ssl
import subprocess
import threading

import node
from cluster import DOOR_IMAGE, kubectl
from kit.box import ok
from kit.waiting import wait_until


def certificate(folder):
    """(certificate, key) for the node's address."""
    made = folder / "hook.pem", folder / "hook.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=hook", "-addext", f"subjectAltName=IP:{node.NODE_ADDRESS}", "-days", "1",
                    "-out", made[0], "-keyout", made[1]], check=True, capture_output=True)
    return made


class Webhook:
    """Answers each review with PATCH, for the pods of one namespace."""

    def __init__(self, namespace, folder):
        self.namespace = namespace
        self.patch = []
        self.asked = 0
        pem, key = certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem, key)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked += 1
                answer = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch",
                          "patch": base64.b64encode(json.dumps(outer.patch).encode()).decode()}
                body = json.dumps({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": answer}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer((node.NODE_ADDRESS, 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.name = f"hook-{namespace.name}"
        url = f"https://{node.NODE_ADDRESS}:{self.server.server_address[1]}/"
        namespace.apply({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": self.name},
            "webhooks": [{
                "name": "hook.agentbox.internal", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": url, "caBundle": base64.b64encode(pem.read_bytes()).decode()},
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]})
        wait_until("the webhook is asked", self.probe, 30)

    def probe(self):
        kubectl("-n", self.namespace.name, "run", "probe", f"--image={DOOR_IMAGE}", "--dry-run=server", "--restart=Never")
        return self.asked > 0

    def stop(self):
        ok(kubectl("delete", "mutatingwebhookconfiguration", self.name))
        self.server.shutdown()
        self.server.server_close()
