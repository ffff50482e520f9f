"""What the agent's side has and reaches, asked from inside: nothing that is worth having."""
import subprocess

import node
import pytest
from cluster import FULL_IMAGE
from guests import KNOCK, Guest, command_in
from kit.mcp import Session

METADATA = "169.254.169.254"


@pytest.fixture(scope="module")
def box(namespace):
    box = namespace.box("inmate", image=FULL_IMAGE)
    box.create()
    yield box
    box.delete()


@pytest.fixture(scope="module")
def session(box):
    with box.session() as session:
        yield session


@pytest.fixture(scope="module")
def guest(namespace):
    """A neighbour without a policy, for what can be reached at all."""
    guest = Guest(namespace, "neighbour")
    guest.serve(8080)
    return guest


@pytest.fixture(scope="module")
def metadata():
    """What a cloud has at that address: this one answers as well."""
    subprocess.run(["ip", "addr", "add", f"{METADATA}/32", "dev", "node0"], check=True)
    server = subprocess.Popen(["python3", "-m", "http.server", "80", "--bind", METADATA], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd="/proc/self/fdinfo")
    yield METADATA
    server.kill()
    server.wait()
    subprocess.run(["ip", "addr", "del", f"{METADATA}/32", "dev", "node0"], check=True)


def reaches(session, host, port):
    return session.shell(f"python3 -c '{KNOCK}' {host} {port}", seconds=30)["exit_code"] == 0


def test_no_token(session):
    done = session.shell("ls /var/run/secrets /run/secrets; env; cat /proc/self/environ")
    assert "kubernetes.io" not in done["stdout"] and "KUBERNETES" not in done["stdout"]
    assert "No such file" in done["stderr"]


@pytest.mark.parametrize("where", ["the API's service", "the API server", "kubelet", "the metadata address", "a neighbour"])
def test_an_address_that_others_reach_is_out_of_reach(session, guest, metadata, where):
    host, port = {
        "the API's service": (node.API_ADDRESS, 443),
        "the API server": (node.NODE_ADDRESS, node.API_PORT),
        "kubelet": (node.NODE_ADDRESS, 10250),
        "the metadata address": (metadata, 80),
        "a neighbour": (guest.address(), 8080),
    }[where]
    assert guest.reaches(host, port), "a pod without a policy reaches it"
    assert not reaches(session, host, port)


def test_another_box_is_out_of_reach_of_code_and_within_reach_of_its_key(namespace, box, session, guest):
    other = namespace.box("other")
    other.create()
    try:
        assert guest.reaches(other.address(), 2222)
        assert not reaches(session, other.address(), 2222)
    finally:
        other.delete()


def test_no_name_is_resolved(session, guest, box):
    name = f"{box.name}.{box.namespace.name}.svc.cluster.local"
    look_up = f"import socket; socket.getaddrinfo('{name}', 22)"
    assert guest.run("python3", "-c", look_up).returncode == 0
    assert session.shell(f'python3 -c "{look_up}"', seconds=60)["exit_code"] != 0


def test_nothing_of_the_doors_is_in_sight(session):
    seen = session.shell("ls -la /agentbox /agentbox/link /agentbox/bin; mount; cat /proc/*/cmdline | tr '\\0' ' '")["stdout"]
    for word in ("agentbox-sshd", "authorized_keys", "ssh_host", "/agentbox/keys", "/agentbox/hostkey", "/agentbox/state"):
        assert word not in seen, word
    link = session.shell("touch /agentbox/link/mine; rm -f /agentbox/link/door.sock; mv /agentbox/link/door.sock /tmp/")
    assert link["exit_code"] != 0 and "Read-only file system" in link["stderr"]


def test_the_link_takes_no_second_caller(session):
    dial = ("import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(3); "
            "s.connect('/agentbox/link/door.sock'); s.send(b'x' * 64); print(repr(s.recv(64)))")
    done = session.shell(f'python3 -c "{dial}"')
    assert done["exit_code"] != 0 or done["stdout"].strip() == "b''", done
    session.ping()


def test_no_capability_no_new_one_and_a_filter(session):
    status = dict(line.split(":\t", 1) for line in session.shell("cat /proc/self/status")["stdout"].splitlines()
                  if ":\t" in line)
    assert {status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
    assert session.shell("unshare -U true; mount -t tmpfs none /tmp")["exit_code"] != 0


def test_only_its_folders_can_be_written(session):
    done = session.shell("find / -xdev -writable ! -type l 2>/dev/null | grep -v '^/proc' | head; "
                         "for d in /usr/bin /etc /var /opt /agentbox/bin /; do touch $d/mine 2>/dev/null && echo wrote $d; done")
    assert "wrote" not in done["stdout"], done["stdout"]
    for folder in ("/workspace", "/home/agent", "/tmp", "/run/agentbox-out"):
        assert session.shell(f"test -w {folder}")["exit_code"] == 0


def test_the_program_that_serves_it_cannot_be_read(session):
    assert session.shell("cat /agentbox/bin/agent-box >/dev/null")["exit_code"] != 0


def test_a_pod_with_the_key_gets_in_and_one_without_does_not(box, guest):
    """The printed command, from a pod in the cluster, by the box's name."""
    command = command_in(guest, box.state["ssh"]["command"])
    with Session(command) as session:
        assert session.shell("hostname")["stdout"].strip() == box.name
    guest.put("/tmp/id_ed25519", b"no key\n")
    guest.put("/tmp/id", b"no key\n")
    refused = Session(command, handshake=False)
    try:
        assert refused.wait() == 255 and b"Permission denied (publickey)" in refused.stderr
    finally:
        refused.kill()
