"""What an operator does with a box that runs: its keys, its tools, and what it costs beside kubectl."""
import json
import re
import statistics
import sys
from pathlib import Path

import node
import pytest
from cluster import FULL_IMAGE, Clock, kubectl
from kit.box import ok
from kit.mcp import Session, gets_in
from kit.target import make_key, run
from kit.waiting import wait_until

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools_page"))
from entries import ENTRIES  # noqa: E402


@pytest.fixture(scope="module")
def box(namespace):
    box = namespace.box("tools", image=FULL_IMAGE)
    box.create()
    yield box
    box.delete()


def refresh(session):
    """The workspace that the examples of the page of tools begin with."""
    session.shell("find /workspace -mindepth 1 -delete; mkdir src; printf 'one\\ntwo\\nthree\\n' >notes.txt; "
                  "printf \"def main():\\n    print('hello')\\n\" >src/main.py")


def end_jobs(session):
    for job in session.call("process_list", {"all": False})["processes"]:
        session.call("process_kill", {"name": job["process_id"], "force": True})
    for context in session.call("code_context_list")["contexts"]:
        if context.get("name"):
            session.call("code_context_delete", {"context_id": context["context_id"]})


def test_every_tool_that_is_offered_answers(box):
    """Each with the example of the page of tools, on a real volume, under the pod's limits."""
    failed = {}
    with box.session() as session:
        offered = [tool["name"] for tool in session.request("tools/list")["tools"]]
        assert len(offered) > 20 and set(offered) <= set(ENTRIES)
        for name in offered:
            refresh(session)
            entry = ENTRIES[name]
            for tool, arguments in [*entry.before, (name, entry.arguments)]:
                result = session.request("tools/call", {"name": tool, "arguments": arguments}, 40)
                if result.get("isError"):
                    failed[name] = (tool, result["content"][0]["text"][:300])
            end_jobs(session)
        refresh(session)
    assert not failed, json.dumps(failed, indent=1)


def test_the_box_knows_its_limits(box):
    with box.session() as session:
        told = session.call("system_info")
    assert "1073741824" in json.dumps(told) or "1 GiB" in json.dumps(told), told


def test_rotate_ends_the_old_key_and_lets_the_new_one_in(own_namespace, measured):
    box = own_namespace.box("turned")
    box.create()
    old = box.state["ssh"]["command"]
    kept = own_namespace.folder / "old-key"
    kept.write_bytes(Path(box.state["ssh"]["identity_file"]).read_bytes())
    kept.chmod(0o600)
    old = [f"IdentityFile={kept}" if word.startswith("IdentityFile=") else word for word in old]
    with Session(old) as session:
        with Clock() as clock:
            done = box.done("rotate")
        assert session.wait(20) != 0
        measured(f"rotate, command to its end: {clock.seconds:.1f} s")
    assert done["changed"] is True and done["proven"] is True
    box.status()
    with box.session() as session:
        session.ping()
    assert not gets_in(old)
    box.delete()


def test_revoke_ends_an_open_session_and_refuses_the_key(own_namespace, measured):
    folder = own_namespace.folder
    keys = [make_key(folder / name) for name in ("stays", "goes")]
    box = own_namespace.box("shared")
    box.create("--key", f"{keys[0]}.pub", "--key", f"{keys[1]}.pub")
    # Two keys and none of them the operator's: the command has no -i, so each says its own.
    command = {key.name: ["ssh", "-i", str(key), *box.state["ssh"]["command"][1:]] for key in keys}
    with Session(command["stays"]) as stays, Session(command["goes"]) as goes:
        with Clock() as clock:
            print_of_key = ok(run(["ssh-keygen", "-lf", f"{keys[1]}.pub"])).stdout.split()[1].decode()
            box.done("revoke", "--key", print_of_key)
            measured(f"revoke, command to its end: {clock.so_far():.1f} s")
            goes.wait(20)
            measured(f"revoke, command to the end of an open session: {clock.so_far():.1f} s")
        stays.ping()
    assert not gets_in(command["goes"]) and gets_in(command["stays"])
    # A second time changes nothing, and the key may not come back.
    assert box.done("revoke", "--key", print_of_key)["changed"] is False
    assert "revoked" in own_namespace.refused(4, "rotate", "shared", "--key", f"{keys[1]}.pub")
    box.delete()


def test_the_log_tells_who_came_and_never_what_was_said(box):
    with box.session() as session:
        session.shell("echo a-secret-word")
    lines = [json.loads(line) for line in box.door_log().splitlines()]
    audit = [line for line in lines if line["stream"] == "audit"]
    assert {"listen", "connect", "auth", "session_start", "tool_call"} <= {line["event"] for line in audit}
    assert "a-secret-word" not in box.door_log().decode()


def middle(times):
    return f"{statistics.median(times) * 1000:.1f} ms"


def test_what_a_call_costs(box, measured):
    """Beside the same program spoken to by `kubectl exec`, which has no door before it."""
    def times(session):
        found = []
        for _ in range(50):
            with Clock() as clock:
                session.call("list_directory", {"path": "."})
            found.append(clock.seconds)
        return found

    with box.session() as session:
        by_ssh = times(session)
    exec_words = [node.BIN / "kubectl", f"--kubeconfig={node.KUBECONFIG}", "-n", box.namespace.name, "exec", "-i", box.name,
                  "-c", "box", "--", "/agentbox/bin/agent-box"]
    with Session([str(word) for word in exec_words]) as session:
        by_exec = times(session)
    measured(f"a call by SSH: {middle(by_ssh)}; the same by kubectl exec: {middle(by_exec)}")
    with Clock() as clock:
        with box.session() as session:
            session.ping()
            measured(f"ssh to first reply: {clock.so_far() * 1000:.0f} ms")


def test_a_key_reaches_the_door_by_the_annotation_alone(box):
    """No Secret is read and nothing is executed in the pod for it."""
    pod = box.pod()
    projected = next(each for each in pod["spec"]["volumes"] if each["name"] == "keys")
    assert set(projected) == {"name", "downwardAPI"}
    paths = {each["path"]: each["fieldRef"]["fieldPath"] for each in projected["downwardAPI"]["items"]}
    assert re.search("authorized-keys", paths["authorized_keys"])


def test_two_operators_see_one_box(box):
    """Another machine, with rights and without a private key."""
    seen = box.namespace.done("status", box.name, state="elsewhere")
    assert seen["ssh"]["identity_file"] is None and seen["keys"] == box.status()["keys"]
    assert seen["ssh"]["host_key_fingerprint"] == box.state["ssh"]["host_key_fingerprint"]
    listed = box.namespace.done("list", state="elsewhere")
    assert [each["name"] for each in listed["boxes"]] == [box.name]


def test_the_pod_is_removed_and_made_again_by_the_cluster(box):
    """Somebody deletes the pod; keys, pin and data are the same afterwards."""
    with box.session() as session:
        session.shell("echo here >/home/agent/kept")
        before = box.pod()["metadata"]["uid"]
        ok(kubectl("-n", box.namespace.name, "delete", "pod", box.name, "--wait=false"))
        session.wait(60)
    wait_until("another pod", lambda: (box.pod() or {"metadata": {"uid": before}})["metadata"]["uid"] != before, 60)
    wait_until("the box runs", lambda: box.status()["state"] == "running", 60)
    with box.session() as session:
        assert session.shell("cat /home/agent/kept")["stdout"] == "here\n"
