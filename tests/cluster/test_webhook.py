"""A webhook of the cluster's that puts something into each pod: a box that is no longer what was asked for is refused."""
import pytest
from cluster import DOOR_IMAGE
from kit.waiting import wait_until
from webhook import Webhook

SIDECAR = {"name": "helper", "image": DOOR_IMAGE, "command": ["/bin/sleep", "1000"], "securityContext": {
    "runAsNonRoot": True, "runAsUser": 1000, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}
VARIABLE = {"name": "PROXY_PASSWORD", "value": "s3cret"}


@pytest.fixture
def webhook(own_namespace, tmp_path):
    made = Webhook(own_namespace, tmp_path)
    yield made
    made.stop()


@pytest.mark.parametrize("patch, words", [
    ({"path": "/spec/containers/-", "value": SIDECAR}, "containers helper"),
    ({"path": "/spec/containers/1/env", "value": [VARIABLE]}, "env PROXY_PASSWORD"),
    ({"path": "/spec/volumes/-", "value": {"name": "extra", "emptyDir": {}}}, "volumes extra"),
], ids=["sidecar", "variable", "volume"])
def test_what_is_put_into_a_pod_fails_create(own_namespace, webhook, patch, words):
    webhook.patch = [{"op": "add", **patch}]
    message = own_namespace.refused(4, "create", "changed", "-f", own_namespace.spec())
    assert words in message and "webhook" in message, message
    assert "s3cret" not in message
    # What was changed does not go on running, and gives nobody a session.
    wait_until("the pod is gone", lambda: own_namespace.get("pods", "changed") is None, 60)
    assert own_namespace.done("delete", "changed")["changed"] is True
