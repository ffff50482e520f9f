"""Many boxes at once, on one node."""
import os
import threading

import pytest
from cluster import Clock
from kit.waiting import wait_until
from webhook import Webhook

COUNT = int(os.environ.get("AGENTBOX_TEST_CROWD", "50"))


@pytest.fixture
def modest(own_namespace, tmp_path):
    """As some clusters do, it changes what pods ask for of the processors: so they fit a node that has two."""
    webhook = Webhook(own_namespace, tmp_path)
    webhook.patch = [{"op": "replace", "path": f"/spec/{containers}/resources/requests/cpu", "value": "5m"}
                     for containers in ("initContainers/0", "containers/0", "containers/1")]
    yield webhook
    webhook.stop()


def test_boxes_at_once(own_namespace, modest, measured):
    count = COUNT
    boxes = [own_namespace.box(f"one-of-{number}", size="16Mi") for number in range(count)]
    own_namespace.spec(size="16Mi")  # written before they all read it
    times, failures = [], []

    def live(box):
        try:
            with Clock() as clock:
                box.create(seconds=400)
                with box.session(handshake=True) as session:
                    session.shell(f"echo {box.name} >/workspace/mine", seconds=60)
                    times.append(clock.so_far())
        except Exception as error:  # of whatever kind: it is told below, with whose it was
            failures.append(f"{box.name}: {error!r}"[:500])

    threads = [threading.Thread(target=live, args=[box]) for box in boxes]
    with Clock() as clock:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures, failures
    measured(f"{count} boxes at once: {clock.seconds:.0f} s in all, first reply after "
             f"{min(times):.1f} to {max(times):.1f} s")
    fingerprints = {box.state["ssh"]["host_key_fingerprint"] for box in boxes}
    assert len(fingerprints) == count
    for box in boxes:
        with box.session() as session:
            assert session.shell("cat /workspace/mine", seconds=60)["stdout"] == f"{box.name}\n"
    threads = [threading.Thread(target=box.delete) for box in boxes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until("nothing is left", lambda: not any(own_namespace.names(plural) for plural in (
        "sandboxes", "pods", "networkpolicies", "secrets", "services", "persistentvolumeclaims")), 120)
