"""What we print as manifests is taken by a real API server, to the last field."""
import json
from pathlib import Path

import pytest
from cluster import kubectl
from kit.box import ok

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def manifests():
    """All but those for a gateway whose kind of object this cluster does not have."""
    texts = {path: path.read_text() for path in GOLDEN.rglob("*.yaml")}
    return sorted(path for path, text in texts.items() if "apiVersion:" in text and "kind: Pipe" not in text)


def accepted(namespace, text):
    done = kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text)
    ok(done)
    assert b"unknown field" not in done.stderr and b"would violate PodSecurity" not in done.stderr, done.stderr
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("path", manifests(), ids=lambda path: path.stem)
def test_golden_manifests_are_taken(namespace, path):
    text = path.read_text()
    found = {line.split("namespace:")[1].strip() for line in text.splitlines() if line.startswith("  namespace:")}
    for name in found:
        text = text.replace(f"namespace: {name}\n", f"namespace: {namespace.name}\n")
    assert len(accepted(namespace, text.encode())) == text.count("\nkind:")


@pytest.mark.parametrize("egress", ["none", "dns", "internet", "list"])
def test_rendered_manifests_are_taken(namespace, egress):
    more = {"egress_to": ["192.0.2.0/24", "0.0.0.0/0"]} if egress == "list" else {}
    spec = namespace.spec(egress=egress, runtime_class="", cpu="500m", memory="300Mi", **more)
    rendered = namespace.done("render", "printed", "-f", spec)
    lines = accepted(namespace, json.dumps({"apiVersion": "v1", "kind": "List", "items": rendered["items"]}).encode())
    assert len(lines) == 3


def test_a_rendered_pod_passes_the_strictest_standard(namespace):
    """A Sandbox's pod is not checked when the Sandbox is: the pod alone is, here."""
    rendered = namespace.done("render", "printed", "-f", namespace.spec())
    template = next(each for each in rendered["items"] if each["kind"] == "Sandbox")["spec"]["podTemplate"]
    template["spec"]["volumes"].append({"name": "data", "emptyDir": {}})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "printed", "namespace": namespace.name},
           "spec": template["spec"]}
    accepted(namespace, json.dumps(pod).encode())


def test_preflight_tries_the_cluster_itself(namespace):
    report = namespace.done("preflight")
    assert report["ok"] and any("v1.34" in check["detail"] for check in report["checks"]), report
