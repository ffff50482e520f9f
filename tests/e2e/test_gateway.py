"""Boxes in a cluster that are reached through a gateway: a jump host (Debian's sshd, kit/jump.py) or sshpiper
(a stand-in, kit/piper.py). The cluster is kit/cluster.py, the box a real door."""
import base64
import json
import os
import shlex
import socket
import subprocess
import tomllib
from ipaddress import ip_address
from pathlib import Path

import pytest
from kit import programs
from kit.box import ok
from kit.cluster import NAMESPACE, Cluster
from kit.door import Door
from kit.jump import USER, JumpHost
from kit.mcp import Session
from kit.piper import Piper
from kit.target import make_key, public_line, run
from kit.waiting import wait_until
import test_provision_kube
from test_provision_kube import annotation, create, done, provision, refused

NAME = f"demo.{NAMESPACE}.svc.cluster.local"
GATEWAY_NAMESPACE = "gateway"
MARK = "a-word-that-only-the-box-may-hear"


def changes(cluster):
    """Requests that could change something: one that only asks for a Secret's metadata says nothing."""
    return [one for one in test_provision_kube.changes(cluster) if one[3] != b"{}"]


def told(cluster, *words):
    """What is said to people."""
    environment = {**os.environ, "AGENTBOX_STATE_DIR": str(cluster.folder / "state"), "KUBECONFIG": str(cluster.kubeconfig())}
    return ok(programs.provision(*words, env=environment)).stdout.decode()


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o711)
    return tmp_path


@pytest.fixture
def cluster(folder):
    started = Cluster(folder).start()
    try:
        yield started
    finally:
        started.stop()


def own_address():
    """A loopback address for this test alone: in a cluster every door has the same port."""
    return str(ip_address("127.64.0.0") + os.getpid() % 2**20 + 1)


class Pod:
    """A real door in the place of the pod of a cluster's box, at the port that every pod has."""

    def __init__(self, cluster, folder, name="demo"):
        self.cluster, self.name = cluster, name
        folder.mkdir()
        folder.chmod(0o711)
        self.door = Door(folder, address=own_address(), port=2222)
        cluster.kubelet = self.take
        cluster.pod_gone = lambda name: self.stop()
        cluster.port_of = lambda pod: (self.door.address, 2222)

    def take(self, pod):
        """What the kubelet makes of a pod: its keys, and once it has them, its containers."""
        values = pod["metadata"]["annotations"]
        if "agentbox.internal/authorized-keys" not in values:
            return
        self.door.write_keys(
            *values["agentbox.internal/authorized-keys"].splitlines(),
            generation=values["agentbox.internal/keys-generation"] + "\n",
            revoked=values["agentbox.internal/revoked"])
        if not self.runs():
            secret = self.cluster.get("secrets", f"{self.name}-hostkey")
            (self.door.folder / "door" / "host_key").write_bytes(base64.b64decode(secret["data"]["ssh_host_ed25519_key"]))
            self.door.start_monitor()
            self.door.start_spawner()

    def runs(self):
        return self.door.monitor is not None and self.door.monitor.poll() is None

    def stop(self):
        self.door.stop()


@pytest.fixture
def pod(cluster, folder):
    made = Pod(cluster, folder / "pod")
    try:
        yield made
    finally:
        made.stop()


# A jump host

needs_root = pytest.mark.skipif(not programs.AS_ROOT, reason="only root can give sshd a user and a resolver of its own")


@pytest.fixture
def jump_host(pod, folder):
    (folder / "jump").mkdir()
    (folder / "jump").chmod(0o711)
    host = JumpHost(folder / "jump", {NAME: pod.door.address})
    try:
        yield host
    finally:
        host.stop()


def jump_words(host):
    return ["--gateway", f"jump:{USER}@{host.address}:{host.port}", "--gateway-host-key", host.public_key()]


@pytest.fixture
def jumped(cluster, pod, jump_host):
    """The report of a box behind a jump host that has what was printed for it."""
    box = create(cluster, "demo", *jump_words(jump_host))
    jump_host.start(box["gateway"]["authorized_keys"], box["gateway"]["sshd_config"])
    return box


def sessions(command, **arguments):
    with Session(command, **arguments) as session:
        session.ping()
        assert session.shell(f"echo {MARK}")["stdout"] == f"{MARK}\n"
        assert session.finish() == 0


@needs_root
def test_the_printed_command_goes_through_the_jump_host_which_hears_nothing(jumped, jump_host):
    sessions(jumped["ssh"]["command"])
    with Session(jumped["ssh"]["command"]) as session:
        for number in range(20):
            assert MARK in session.shell(f"echo {MARK} {number}")["stdout"]
        log = jump_host.text()
        assert "debug3:" in log and NAME in log  # it is asked to tell all, and knows where it led to
        holds, looked = jump_host.memory_holds(MARK.encode())
        assert not holds and looked > 2**20
        # Where it knows a word it is found: else the above would show nothing.
        assert jump_host.memory_holds(NAME.encode())[0]
        assert session.finish() == 0
    assert MARK not in jump_host.text()


@needs_root
def test_the_operators_own_commands_go_through_the_jump_host_too(cluster, jumped, folder):
    called = done(cluster, "call", "demo", "shell_exec", json.dumps({"command": f"echo {MARK}"}), "--kubernetes")
    assert MARK in json.dumps(called)
    seen = done(cluster, "resume", "demo", "--kubernetes")
    assert [words.split(":")[0] for words in seen["checked"]] == ["hop 1", "hop 2", "both hops"], seen
    assert not seen["not_checked"]


def hop(jumped, *words):
    """The ssh of the ProxyCommand alone, with other WORDS in the place of its -W."""
    value = next(word for word in jumped["ssh"]["command"] if word.startswith("ProxyCommand="))
    command = shlex.split(value.removeprefix("ProxyCommand=").replace("%%", "%"))
    at = command.index("-W")
    return [*command[:at], *words, *command[at + 2:]]


@needs_root
def test_the_line_opens_the_box_and_nothing_else(jumped, jump_host, folder):
    def refused_at_once(*words, tail=(), say=b""):
        result = run([*hop(jumped, *words), *tail], b"", 20)
        assert result.returncode != 0 and result.stdout == b"" and say in result.stderr, result

    sessions(jumped["ssh"]["command"])
    for words, tail in ((["-T"], []), (["-tt"], []), (["-T"], ["echo", "in"]), (["-s"], ["sftp"])):
        refused_at_once(*words, tail=tail)
    for target in ("127.0.0.1:22", f"127.0.0.1:{jump_host.port}", f"{NAME}:2223", "localhost:2222", f"other.{NAME}:2222"):
        refused_at_once("-W", target, say=b"administratively prohibited")
    for forward in ("0:127.0.0.1:9", f"{folder}/there.sock:127.0.0.1:9"):
        command = without(hop(jumped, "-N", "-o", "ExitOnForwardFailure=yes", "-R", forward), "ClearAllForwardings")
        result = run(command, b"", 20)
        assert result.returncode == 255 and b"remote port forwarding failed" in result.stderr, result


def without(words, name):
    """WORDS less the option NAME."""
    kept, skip = [], False
    for at, word in enumerate(words):
        if skip:
            skip = False
        elif word == "-o" and words[at + 1].startswith(f"{name}="):
            skip = True
        else:
            kept.append(word)
    return kept


def stays_up(command, sign):
    """Whether ssh keeps running until SIGN() is there, or ends by itself."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            return wait_until("the forward is there, or ssh's end", lambda: sign() or process.poll() is not None) and sign()
        finally:
            process.kill()
            process.communicate()


@needs_root
def test_without_the_printed_configuration_the_line_leaves_a_way_to_unix_sockets(jumped, jump_host, folder):
    """permitopen keeps a key from the sockets that are there; nothing in a line keeps it from making one."""
    there = jump_host.home / "there.sock"
    jump_host.home.chmod(0o777)
    make = without(hop(jumped, "-N", "-o", "ExitOnForwardFailure=yes", "-R", f"{there}:127.0.0.1:9"), "ClearAllForwardings")
    assert not stays_up(make, there.exists)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(jump_host.home / "open.sock"))
        os.chmod(jump_host.home / "open.sock", 0o777)
        server.listen()
        for config in (jumped["gateway"]["sshd_config"], ""):
            jump_host.stop()
            jump_host.start(jumped["gateway"]["authorized_keys"], config)
            here = folder / f"here{len(config)}.sock"
            reach = without(hop(jumped, "-N", "-L", f"{here}:{jump_host.home}/open.sock"), "ClearAllForwardings")
            with subprocess.Popen(reach, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process, \
                    socket.socket(socket.AF_UNIX) as client:
                try:
                    client.settimeout(20)
                    wait_until("the forward listens", lambda: client.connect_ex(str(here)) == 0)
                    assert client.recv(16) == b""
                finally:
                    process.kill()
                    assert b"open failed" in process.communicate()[1]
    assert stays_up(make, there.exists)  # where the configuration is missing


@needs_root
def test_a_jump_host_with_another_key_ends_the_command(cluster, pod, jump_host, folder):
    strange = make_key(folder / "strange")
    box = create(cluster, "demo", "--gateway", f"jump:{USER}@{jump_host.address}:{jump_host.port}",
                 "--gateway-host-key", f"{strange}.pub")
    jump_host.start(box["gateway"]["authorized_keys"], box["gateway"]["sshd_config"])
    result = run(box["ssh"]["command"])
    assert result.returncode == 255 and b"verification failed" in result.stderr, result
    seen = done(cluster, "status", "demo", "--kubernetes")
    assert seen["state"] == "failed" and seen["reason"].startswith("hop 1"), seen


@needs_root
def test_a_jump_host_cannot_pass_another_box_off_as_this_one(jumped, pod, folder):
    pod.door.stop()
    make_key(folder / "other")
    (pod.door.folder / "door" / "host_key").write_bytes((folder / "other").read_bytes())
    pod.door.start_monitor()
    result = run(jumped["ssh"]["command"])
    assert result.returncode == 255 and b"verification failed" in result.stderr, result


@needs_root
def test_each_hop_of_a_jump_is_named_in_what_was_checked(cluster, pod, jump_host):
    box = create(cluster, "demo", "--port-forward", *jump_words(jump_host))
    assert box["state"] == "running" and "hop 1" in box["not_checked"][0], box
    jump_host.start([], box["gateway"]["sshd_config"])
    seen = done(cluster, "status", "demo", "--port-forward")
    assert [words[:5] for words in seen["checked"]] == ["hop 2"], seen
    assert "hop 1" in seen["not_checked"][0] and "authorized_keys" in seen["not_checked"][0], seen
    jump_host.stop()
    jump_host.start(box["gateway"]["authorized_keys"], box["gateway"]["sshd_config"])
    seen = done(cluster, "status", "demo", "--port-forward")
    assert [words[:5] for words in seen["checked"]] == ["hop 1", "hop 2"] and not seen["not_checked"], seen


def commands_of(cluster, name="demo"):
    """The command of each format, as its client takes it apart."""
    def said(form):
        return done(cluster, "handoff", name, "--kubernetes", "--format", form)["text"]

    line = said("claude")
    words = subprocess.run(["sh", "-c", f"claude() {{ printf '%s\\0' \"$@\"; }}; {line}"], capture_output=True,
                           check=True, text=True).stdout.split("\0")[:-1]
    assert words[:4] == ["mcp", "add", name, "--"]
    codex = tomllib.loads(said("codex"))["mcp_servers"][name]
    vscode = json.loads(said("vscode"))["servers"][name]
    formats = {"claude": words[4:], "codex": [codex["command"], *codex["args"]],
               "vscode": [vscode["command"], *vscode["args"]],
               "opencode": json.loads(said("opencode"))["mcp"][name]["command"]}
    for form in ("cursor", "gemini"):
        server = json.loads(said(form))["mcpServers"][name]
        formats[form] = [server["command"], *server["args"]]
    return formats, said("ssh-config")


def bundle_of(cluster, folder, *words):
    bundle = folder / "box.sh"
    done(cluster, "handoff", "demo", "--kubernetes", "--bundle", str(bundle), *words)
    return bundle


@needs_root
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_every_format_and_the_bundle_lead_through_the_jump_host(cluster, jumped, folder, shell):
    environment = {**os.environ, "SHELL": shell, "TMPDIR": str(folder)}
    formats, config = commands_of(cluster)
    for form, command in formats.items():
        assert command == jumped["ssh"]["command"], form
    (folder / "config").write_text(config)
    sessions(["ssh", "-F", str(folder / "config"), "agentbox-demo"], env=environment)
    sessions([bundle_of(cluster, folder, "--with-identity")], env=environment)


@needs_root
@pytest.mark.parametrize("state", ["with space $HOME `id` 100% %h", "it's \"quoted\" !x #1", "back\\slash ~ é {a} [b] *;&|<>"])
def test_a_state_folder_of_any_name_survives_the_proxy_command(cluster, pod, jump_host, state):
    box = create(cluster, "demo", *jump_words(jump_host), state=state)
    jump_host.start(box["gateway"]["authorized_keys"], box["gateway"]["sshd_config"])
    sessions(box["ssh"]["command"])


def test_the_jump_line_and_configuration_are_exactly_these(cluster, folder):
    key = make_key(folder / "gw")
    agent = make_key(folder / "agent")
    box = create(cluster, "demo", "--gateway", "jump:bastion.example", "--gateway-host-key", f"{key}.pub",
                 "--key", f"{agent}.pub")
    assert box["gateway"]["user"] == "agent" and box["gateway"]["port"] == 22
    assert box["gateway"]["authorized_keys"] == [
        f'restrict,port-forwarding,permitopen="{NAME}:2222",permitlisten="localhost:1",command="/bin/false" '
        f"{public_line(agent)}"]
    assert box["ssh"]["host"] == NAME and box["ssh"]["identity_file"] is None
    text = told(cluster, "status", "demo", "--kubernetes")
    assert box["gateway"]["authorized_keys"][0] in text and "AllowStreamLocalForwarding no" in text
    seen = done(cluster, "status", "demo", "--kubernetes", state="elsewhere")
    assert {**seen["gateway"], "known_hosts_file": 0} == {**box["gateway"], "known_hosts_file": 0}
    assert Path(seen["gateway"]["known_hosts_file"]).read_text() == Path(box["gateway"]["known_hosts_file"]).read_text()


def test_the_gateways_host_key_is_never_taken_from_whoever_answers(cluster, folder):
    for words in (["--gateway", "jump:h"], ["--gateway", "sshpiper:gw", "--gateway-address", "h"]):
        assert "host key is missing" in refused(2, cluster, "create", "demo", "--kubernetes", *words)
    key = make_key(folder / "gw")
    for words in (["--gateway-host-key", str(key)], ["--gateway-host-key", "nothing"], ["--gateway-host-key", "ssh-ed25519 AAAA"]):
        assert provision(cluster, "create", "demo", "--kubernetes", "--gateway", "jump:h", *words).returncode != 0
    (folder / "known_hosts").write_text(f"other {public_line(key)}\n|1|abc|def {public_line(key)}\n")
    message = refused(2, cluster, "create", "demo", "--kubernetes", "--gateway", "jump:h", "--gateway-host-key", str(folder / "known_hosts"))
    assert "no host key of h:22" in message
    for gateway in ("jump:", "jump:-oProxyCommand=x", "jump:a b", "jump:h:0", "jump:$(id)@h", "direct:h", "sshpiper:", "jump:h:22:1"):
        refused(2, cluster, "create", "demo", "--kubernetes", "--gateway", gateway, "--gateway-host-key", f"{key}.pub")
    assert not changes(cluster)


def test_another_gateway_is_another_box_and_a_changed_one_is_noticed(cluster, folder):
    key = " ".join(public_line(make_key(folder / "gw")).split()[:2])
    words = ["--gateway", "jump:h", "--gateway-host-key", key]
    first = create(cluster, "demo", *words)
    assert create(cluster, "demo", *words) == first
    assert "its gateway is jump:agent@h:22" in refused(4, cluster, "create", "demo", "--kubernetes")
    assert "gateway" in refused(4, cluster, "create", "demo", "--kubernetes", "--gateway", "jump:other", *words[2:])
    cluster.edit("sandboxes", "demo", lambda value: value["metadata"]["annotations"].update(
        {"agentbox.internal/gateway": "jump:agent@evil.example:22"}))
    seen = done(cluster, "status", "demo", "--kubernetes")
    assert seen["state"] == "failed" and "its gateway is not the one that is pinned" in seen["reason"] and seen["ssh"] is None
    cluster.edit("sandboxes", "demo", lambda value: value["metadata"]["annotations"].update(
        {"agentbox.internal/gateway": "jump:agent@-oProxyCommand=touch"}))
    refused(4, cluster, "status", "demo", "--kubernetes")


def test_the_spec_file_names_a_gateway_too(cluster, folder):
    key = make_key(folder / "gw")
    spec = folder / "spec.yaml"
    spec.write_text("gateway: 'jump:me@[2001:db8::1]:2200'\ngateway_host_key: gw.pub\n")
    box = create(cluster, "demo", "-f", str(spec))
    assert (box["gateway"]["user"], box["gateway"]["host"], box["gateway"]["port"]) == ("me", "2001:db8::1", 2200)
    spec.write_text(f"gateway: 'jump:me@[2001:db8::1]:2200'\ngateway_host_key: {public_line(key)}\n")
    assert create(cluster, "demo", "-f", str(spec)) == box
    assert "in a cluster" in refused(2, cluster, "create", "here", "-f", str(spec))


def test_a_gateway_is_for_a_box_in_a_cluster():
    assert programs.provision("create", "demo", "--gateway", "jump:h", "--gateway-host-key", "x").returncode == 2


# sshpiper


@pytest.fixture
def piper(pod, cluster, folder):
    started = Piper(folder, cluster, GATEWAY_NAMESPACE, lambda host: (pod.door.address, 2222)).start()
    try:
        yield started
    finally:
        started.stop()


def piper_words(piper, namespace=GATEWAY_NAMESPACE):
    return ["--gateway", f"sshpiper:{namespace}", "--gateway-address", f"127.0.0.1:{piper.port}", "--gateway-host-key",
            piper.public_key()]


@pytest.fixture
def piped(cluster, pod, piper):
    """The report of a box behind the gateway, which runs."""
    box = create(cluster, "demo", *piper_words(piper))
    return box


def the_pipe(cluster, namespace=GATEWAY_NAMESPACE):
    return cluster.get("pipes", "agentbox-demo", namespace)


def upstream_key(cluster, folder, namespace=GATEWAY_NAMESPACE):
    """The private half as the gateway reads it, in a file."""
    secret = cluster.get("secrets", "demo-upstream", namespace)
    path = folder / f"upstream-{secret['metadata']['resourceVersion']}"
    path.write_bytes(base64.b64decode(secret["data"]["ssh-privatekey"]))
    path.chmod(0o600)
    return path


def half_of(private):
    return " ".join(ok(run(["ssh-keygen", "-y", "-f", private])).stdout.decode().split()[:2])


def test_the_operators_own_commands_take_the_agents_way(cluster, piped, piper, pod, folder):
    before = len(piper.seen)
    called = done(cluster, "call", "demo", "shell_exec", json.dumps({"command": f"echo {MARK}"}), "--kubernetes")
    assert MARK in json.dumps(called) and len(piper.seen) > before
    (folder / "file").write_text(MARK)
    done(cluster, "push", "demo", str(folder / "file"), "file", "--kubernetes")
    done(cluster, "pull", "demo", "file", str(folder / "back"), "--kubernetes")
    assert (folder / "back").read_text() == MARK
    seen = done(cluster, "resume", "demo", "--kubernetes")
    assert seen["checked"][-1].startswith("both hops: "), seen
    assert "logged in, system_info answered" in seen["checked"][-1], seen


def test_the_whole_loop_of_verify_goes_through_the_gateway(cluster, pod, piper):
    report = json.loads(ok(provision(cluster, "verify", "demo", "--kubernetes", *piper_words(piper), seconds=180.0)).stdout)
    assert report["ok"] and piper.seen and not cluster.names("pipes"), report
    assert cluster.names("secrets") == []


def test_two_hops_through_the_gateway(cluster, piped, piper, pod):
    command = piped["ssh"]["command"]
    assert command[-5:] == [str(piper.port), "-l", "demo", "--", "127.0.0.1"]
    sessions(command)
    assert MARK.encode() in b"".join(piper.seen)  # what the warning says: it hears everything
    assert any("reads each call" in warning for warning in piped["warnings"])
    assert any("API" in warning for warning in piped["warnings"])  # H3-115
    assert piper.secrets_read >= 1 and not piper.problems


def test_h3_113_the_gateways_key_is_in_the_secret_that_it_reads_and_is_all_that_the_box_takes(cluster, piped, folder):
    secret = cluster.get("secrets", "demo-upstream", GATEWAY_NAMESPACE)
    assert secret["type"] == "kubernetes.io/ssh-auth" and list(secret["data"]) == ["ssh-privatekey"]
    private = base64.b64decode(secret["data"]["ssh-privatekey"])
    assert private.startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----\n") and private.endswith(b"-----\n")
    to = the_pipe(cluster)["spec"]["to"]
    assert to["private_key_secret"] == {"name": secret["metadata"]["name"]}
    public = half_of(upstream_key(cluster, folder))
    assert annotation(cluster, "demo") == f"{public} gateway\n"
    agent = half_of(piped["ssh"]["identity_file"])
    lines = base64.b64decode(the_pipe(cluster)["spec"]["from"][0]["authorized_keys_data"], validate=True).decode()
    assert lines.startswith(agent) and public.split()[1] not in lines
    sent = b"".join(one[3] for one in cluster.made())
    for line in Path(piped["ssh"]["identity_file"]).read_text().split("\n")[1:-2]:
        assert line.encode() not in sent


def test_the_box_is_pinned_in_its_pipe_as_the_gateway_looks_it_up(cluster, piped):
    to = the_pipe(cluster)["spec"]["to"]
    host, port = to["host"].rsplit(":", 1)
    pinned = cluster.get("sandboxes", "demo")["metadata"]["annotations"]["agentbox.internal/host-key"]
    assert base64.b64decode(to["known_hosts_data"], validate=True).decode() == f"[{host}]:{port} {pinned}\n"
    assert set(to) == {"host", "username", "private_key_secret", "known_hosts_data"}
    assert set(the_pipe(cluster)["spec"]["from"][0]) == {"username", "authorized_keys_data"}


def test_only_the_gateways_pods_may_connect(cluster, piped):
    (rule,) = cluster.get("networkpolicies", "agentbox-demo")["spec"]["ingress"]
    assert rule["from"] == [{  # one peer: both selectors must fit
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": GATEWAY_NAMESPACE}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "sshpiper"}}}]


def test_an_owner_only_where_the_cluster_heeds_it(cluster, pod, folder, piper):
    create(cluster, "demo", *piper_words(piper))
    assert "ownerReferences" not in the_pipe(cluster)["metadata"]
    assert "ownerReferences" not in cluster.get("secrets", "demo-upstream", GATEWAY_NAMESPACE)["metadata"]
    done(cluster, "delete", "demo", "--kubernetes")
    assert cluster.names("pipes") == [] and cluster.names("secrets") == []
    piper.namespace = NAMESPACE
    create(cluster, "demo", *piper_words(piper, NAMESPACE))
    uid = cluster.get("sandboxes", "demo")["metadata"]["uid"]
    for object_ in (the_pipe(cluster, NAMESPACE), cluster.get("secrets", "demo-upstream", NAMESPACE)):
        assert object_["metadata"]["ownerReferences"][0]["uid"] == uid
    done(cluster, "delete", "demo", "--kubernetes")
    assert cluster.names("pipes") == [] and cluster.names("secrets") == []


def somebodys_pipe(user, name="theirs", **more):
    return {"metadata": {"name": name}, "spec": {
        "from": [{"username": user, "authorized_keys_data": "YQo=", **more}],
        "to": {"host": "h:22", "private_key_secret": {"name": "s"}, "known_hosts_data": "YQo="}}}


@pytest.mark.parametrize("user, regex, words", [
    ("demo", False, "has the user name demo already"), ("d.m", True, "by the pattern d.m"), (".*", True, "by the pattern"),
    ("de(", True, "pattern that is none"), ("^dem$", True, None), ("demo2", False, None)])
def test_a_user_name_that_another_pipe_takes_is_refused(cluster, piper, user, regex, words):
    """sshpiper goes by the name alone, and its patterns are not anchored."""
    cluster.put("pipes", somebodys_pipe(user, **({"username_regex_match": True} if regex else {})), GATEWAY_NAMESPACE)
    if words is None:
        create(cluster, "demo", *piper_words(piper))
        return
    assert words in refused(4, cluster, "create", "demo", "--kubernetes", *piper_words(piper))
    assert not changes(cluster)


def test_a_box_of_another_namespace_has_the_name_already(cluster, piper):
    create(cluster, "demo", *piper_words(piper))
    before = len(changes(cluster))
    assert "has the user name demo already" in refused(
        4, cluster, "create", "demo", "--namespace", "others", *piper_words(piper))
    assert len(changes(cluster)) == before


def test_h3_116_a_field_that_the_cluster_drops_is_noticed_before_anything_is_made(cluster, piper):
    cluster.pruned = [("spec", "to", "known_hosts_data")]
    message = refused(4, cluster, "create", "demo", "--kubernetes", *piper_words(piper))
    assert "spec.to.known_hosts_data: is missing" in message
    assert not changes(cluster)


def test_h3_116_a_field_that_is_dropped_only_in_earnest_leaves_no_pipe(cluster, piper):
    def drop(handler):
        cluster.pruned = [("spec", "to", "known_hosts_data")]
        code, value = cluster.apply("pipes", GATEWAY_NAMESPACE, "agentbox-demo",
                                    json.loads(cluster.made("PATCH", "pipes")[-1][3]), {"fieldManager": "agentbox-provision"})
        handler.reply(code, value)

    cluster.fail("PATCH", "pipes/agentbox-demo.*Strict$", drop)
    assert "known_hosts_data" in refused(4, cluster, "create", "demo", "--kubernetes", *piper_words(piper))
    assert cluster.names("pipes") == []


def test_a_cluster_without_pipes_is_refused_first(cluster, piper):
    for served in ([], ["v1"]):
        cluster.pipes_served = served
        refused(4, cluster, "create", "demo", "--kubernetes", *piper_words(piper))
    assert not changes(cluster)


def test_h3_117_a_secret_that_is_not_ours_is_refused_and_a_pipe_never_lacks_its_key(cluster, piper):
    for data in ({}, {"privatekey": "eA=="}, {"ssh-privatekey": base64.b64encode(b"ssh-ed25519 AAAA a public key").decode()}):
        cluster.put("secrets", {"metadata": {"name": "demo-upstream"}, "type": "Opaque", "data": data}, GATEWAY_NAMESPACE)
        assert "no key of ours" in refused(4, cluster, "create", "demo", "--kubernetes", *piper_words(piper))
    assert not changes(cluster) and cluster.names("pipes") == []
    with cluster.changed:
        cluster._delete("secrets", GATEWAY_NAMESPACE, "demo-upstream")
    create(cluster, "demo", *piper_words(piper))
    for one in cluster.made("PATCH", "pipes"):
        assert json.loads(one[3])["spec"]["to"]["private_key_secret"]["name"] == "demo-upstream"


def test_h3_117_the_pair_is_seen_to_match(cluster, piped):
    def change(value):
        value["metadata"]["annotations"]["agentbox.internal/upstream-key"] = half_of(piped["ssh"]["identity_file"])

    cluster.edit("pipes", "agentbox-demo", change, GATEWAY_NAMESPACE)
    seen = done(cluster, "status", "demo", "--kubernetes")
    assert seen["state"] == "failed" and "not the one that the box lets in" in seen["reason"], seen


@pytest.mark.parametrize("change, words", [
    (lambda spec: spec["to"].pop("known_hosts_data"), "pins no host key"),
    (lambda spec: spec["to"].pop("private_key_secret"), "falls back to a password"),
    (lambda spec: spec["to"].update(ignore_hostkey=True), "ignore_hostkey"),
    (lambda spec: spec["to"].update(host="evil.example:22"), "spec.to.host"),
    (lambda spec: spec["from"][0].update(username_regex_match=True), "is a pattern"),
    (lambda spec: spec["from"].append({"username": "demo"}), "any password"),
])
def test_a_pipe_that_somebody_changed_is_named(cluster, piped, change, words):
    cluster.edit("pipes", "agentbox-demo", lambda value: change(value["spec"]), GATEWAY_NAMESPACE)
    seen = done(cluster, "status", "demo", "--kubernetes")
    assert seen["state"] == "failed" and seen["reason"].startswith("hop 1: its Pipe") and words in seen["reason"], seen


@pytest.mark.parametrize("step", range(6))
def test_a_create_behind_a_gateway_cut_short_at_any_step_is_taken_up(cluster, pod, piper, step):
    strict = "fieldValidation=Strict$"
    steps = [("POST", "secrets.*gateway|gateway/secrets"), ("POST", f"{NAMESPACE}/secrets"),
             ("PATCH", f"sandboxes/demo.fieldManager=agentbox-provision&{strict}"), ("PATCH", "secrets/demo-hostkey"),
             ("PATCH", "fieldManager=agentbox-keys"), ("PATCH", f"pipes/agentbox-demo.*{strict}")]
    cluster.fail(*steps[step], lambda handler: handler.reply(403, {"kind": "Status", "message": "no"}))
    refused(7, cluster, "create", "demo", "--kubernetes", *piper_words(piper))
    secret = cluster.get("secrets", "demo-upstream", GATEWAY_NAMESPACE)
    box = create(cluster, "demo", *piper_words(piper))
    sessions(box["ssh"]["command"])
    assert secret is None or cluster.get("secrets", "demo-upstream", GATEWAY_NAMESPACE)["data"] == secret["data"]
    assert not any("force" in one[1] for one in cluster.made())


def test_each_hop_is_proven_by_itself(cluster, piped):
    seen = done(cluster, "status", "demo", "--port-forward")
    assert seen["checked"] == [f"hop 1: 1 key(s) accepted by the gateway 127.0.0.1:{piped['ssh']['port']} on its pinned host key",
                               "hop 2: 1 key(s) of the gateway accepted on the pinned host key"], seen
    assert seen["not_checked"] == []
    seen = done(cluster, "status", "demo", "--kubernetes")
    assert [words[:5] for words in seen["checked"]] == ["hop 1"] and seen["not_checked"][0].startswith("hop 2"), seen


def test_h3_100_the_hop_that_fails_is_named(cluster, piped, piper, pod, folder):
    def reason():
        seen = done(cluster, "status", "demo", "--port-forward")
        return seen["state"], seen.get("reason", "")

    assert reason() == ("running", "")
    right = cluster.get("pipes", "agentbox-demo", GATEWAY_NAMESPACE)
    strange = make_key(folder / "strange")
    cluster.edit("pipes", "agentbox-demo", lambda value: value["spec"]["from"][0].update(username="demoo"), GATEWAY_NAMESPACE)
    assert reason()[0] == "failed" and "hop 1" in reason()[1]
    cluster.put("pipes", right, GATEWAY_NAMESPACE)
    pod.door.write_keys(public_line(strange))  # what the box lets in is not what the gateway has
    wait_until("the door has other keys", lambda: reason()[0] == "failed")
    assert reason()[1].startswith("hop 2: it refuses its key")
    pod.take(cluster.get("pods", "demo"))
    wait_until("the door has its keys", lambda: reason()[0] == "running")
    pod.door.stop()
    (pod.door.folder / "door" / "host_key").write_bytes(strange.read_bytes())
    pod.door.start_monitor()
    assert reason()[1].startswith("hop 2") and "host key" in reason()[1]
    piper.stop()
    seen = done(cluster, "status", "demo", "--kubernetes")
    assert any(words.startswith("hop 1") and "cannot be reached" in words for words in seen["not_checked"]), seen


def failed_checks(cluster, *words):
    """{check: detail} of what doctor finds wrong."""
    result = provision(cluster, "doctor", "demo", "--kubernetes", *words, seconds=120.0)
    assert result.returncode in (0, 6), result
    return {check["name"]: check["detail"] for check in json.loads(result.stdout)["checks"] if not check["ok"]}


def test_h3_100_doctor_names_the_hop_too(cluster, piped, pod, folder):
    hop_1, hop_2 = "the gateway takes the box's keys", "the door answers with the pinned host key"
    wrong = failed_checks(cluster, "--port-forward")
    assert hop_1 not in wrong and hop_2 not in wrong, wrong
    right = the_pipe(cluster)
    cluster.edit("pipes", "agentbox-demo", lambda value: value["spec"]["from"][0].update(username="other"), GATEWAY_NAMESPACE)
    assert "spec.from[0].username" in failed_checks(cluster)[hop_1]
    cluster.put("pipes", right, GATEWAY_NAMESPACE)
    pod.door.write_keys(public_line(make_key(folder / "strange")))
    wait_until("the door has other keys", lambda: "refuses its key" in failed_checks(cluster, "--port-forward").get(hop_2, ""))
    assert hop_1 not in failed_checks(cluster, "--port-forward")


def test_an_eviction_tells_the_gateway_the_new_host_key(cluster, piped, pod, folder):
    second = make_key(folder / "second")
    (folder / "first").write_bytes(Path(piped["ssh"]["identity_file"]).read_bytes())
    done(cluster, "rotate", "demo", "--port-forward", "--key", public_file(piped, folder), "--key", f"{second}.pub")
    before = the_pipe(cluster)["spec"]["to"]["known_hosts_data"]
    evicted = done(cluster, "revoke", "demo", "--port-forward", "--key", f"{second}.pub", "--evict")
    assert evicted["evicted"] and evicted["proven"], evicted
    assert the_pipe(cluster)["spec"]["to"]["known_hosts_data"] != before
    assert evicted["gateway"]["box"]["host_key_fingerprint"] != piped["gateway"]["box"]["host_key_fingerprint"]
    (folder / "first").chmod(0o600)
    sessions([f"IdentityFile={folder}/first" if word.startswith("IdentityFile=") else word for word in piped["ssh"]["command"]])


def test_rotate_changes_the_pipe_and_ends_what_came_through_the_gateway(cluster, piped, pod, folder):
    old = half_of(piped["ssh"]["identity_file"])
    old_upstream = upstream_key(cluster, folder)
    (folder / "old").write_bytes(Path(piped["ssh"]["identity_file"]).read_bytes())
    (folder / "old").chmod(0o600)
    with Session(piped["ssh"]["command"]) as session:
        session.ping()
        rotated = done(cluster, "rotate", "demo", "--port-forward")
        session.wait()
    assert rotated["proven"] and rotated["changed"], rotated
    assert [words[:5] for words in rotated["proofs"]] == ["hop 1", "hop 2"] and "1 refused" in rotated["proofs"][1], rotated
    lines = base64.b64decode(the_pipe(cluster)["spec"]["from"][0]["authorized_keys_data"]).decode()
    assert old not in lines and half_of(rotated["ssh"]["identity_file"]) in lines
    fresh = upstream_key(cluster, folder)
    assert half_of(fresh) != half_of(old_upstream)
    assert annotation(cluster, "demo") == f"{half_of(fresh)} gateway\n"
    sessions(rotated["ssh"]["command"])
    command = [f"IdentityFile={folder}/old" if word.startswith("IdentityFile=") else word for word in piped["ssh"]["command"]]
    assert b"Permission denied (publickey)" in run(command).stderr
    assert rotated["generation"] > piped["generation"]
    assert create(cluster, "demo", *piper_words_of(rotated, cluster))["keys"] == rotated["keys"]


def piper_words_of(box, cluster):
    """The words with which a box was made, out of its Sandbox."""
    values = cluster.get("sandboxes", box["name"])["metadata"]["annotations"]
    return ["--gateway", values["agentbox.internal/gateway"], "--gateway-address", values["agentbox.internal/gateway-address"],
            "--gateway-host-key", values["agentbox.internal/gateway-host-key"]]


@pytest.mark.parametrize("step", range(5))
def test_a_rotation_behind_a_gateway_cut_short_at_any_step_is_finished_by_the_next(cluster, piped, pod, folder, step):
    old_upstream = half_of(upstream_key(cluster, folder))
    second = make_key(folder / "second")
    done(cluster, "rotate", "demo", "--kubernetes", "--key", f"{piped['ssh']['identity_file']}.pub"
         if Path(f"{piped['ssh']['identity_file']}.pub").exists() else public_file(piped, folder), "--key", f"{second}.pub")
    changes_of_drop = [("PATCH", "fieldManager=agentbox-keys"), ("PATCH", "pipes/agentbox-demo"), ("PATCH", "secrets/demo-upstream"),
                       ("PATCH", "pipes/agentbox-demo"), ("PATCH", "fieldManager=agentbox-keys")]
    method, pattern = changes_of_drop[step]
    if step >= 3:  # the second of its kind
        cluster.fail(method, pattern, lambda handler: handler.answer(json.loads(cluster.requests[-1][3])))
    cluster.fail(method, pattern, lambda handler: handler.reply(403, {"kind": "Status", "message": "no"}))
    refused(7, cluster, "rotate", "demo", "--kubernetes", "--key", f"{second}.pub")
    after = done(cluster, "rotate", "demo", "--port-forward", "--key", f"{second}.pub")
    assert after["proven"], after
    fresh = half_of(upstream_key(cluster, folder))
    assert fresh != old_upstream and annotation(cluster, "demo") == f"{fresh} gateway\n"
    lines = base64.b64decode(the_pipe(cluster)["spec"]["from"][0]["authorized_keys_data"]).decode()
    assert lines == f"{public_line(second)}\n"
    assert done(cluster, "status", "demo", "--port-forward")["state"] == "running"


def public_file(box, folder):
    path = folder / "first.pub"
    path.write_text(half_of(box["ssh"]["identity_file"]) + "\n")
    return str(path)


def test_revoke_of_the_last_key_leaves_no_pipe_that_takes_any_password(cluster, piped, pod):
    with Session(piped["ssh"]["command"]) as session:
        session.ping()
        revoked = done(cluster, "revoke", "demo", "--port-forward", "--key", piped["keys"][0]["fingerprint"])
        session.wait()
    assert revoked["keys"] == [] and cluster.names("pipes") == []
    assert b"Permission denied" in run(piped["ssh"]["command"]).stderr
    rotated = done(cluster, "rotate", "demo", "--port-forward")
    sessions(rotated["ssh"]["command"])
    assert annotation(cluster, "demo", "revoked").strip() == piped["keys"][0]["fingerprint"]


def test_certificates_do_not_pass_sshpiper_and_that_is_said(cluster, piper, folder):
    ca = make_key(folder / "ca")
    assert "no certificates" in refused(2, cluster, "create", "demo", "--kubernetes", "--user-ca", f"{ca}.pub", *piper_words(piper))
    create(cluster, "demo", *piper_words(piper))
    before = len(changes(cluster))
    assert "no certificates" in refused(4, cluster, "ca", "trust", "--box", "demo", "--kubernetes", "--ca", f"{ca}.pub")
    assert len(changes(cluster)) == before


def test_a_role_does_not_pass_sshpiper_and_that_is_said(cluster, piper, folder):
    """The box sees one key for all: a reader would be an agent."""
    reader = folder / "reader.pub"
    reader.write_text(f'agentbox-role="reader" {public_line(make_key(folder / "key"))}\n')
    assert "has the role reader" in refused(4, cluster, "create", "demo", "--kubernetes", "--key", str(reader), *piper_words(piper))
    assert not changes(cluster)
    create(cluster, "demo", *piper_words(piper))
    before = len(changes(cluster))
    assert "has the role reader" in refused(4, cluster, "rotate", "demo", "--kubernetes", "--key", str(reader))
    assert len(changes(cluster)) == before


@needs_root
def test_a_role_passes_a_jump_host(cluster, pod, jump_host, folder):
    key = make_key(folder / "key")
    reader = folder / "reader.pub"
    reader.write_text(f'agentbox-role="reader" {public_line(key)}\n')
    box = create(cluster, "demo", "--key", str(reader), *jump_words(jump_host))
    jump_host.start(box["gateway"]["authorized_keys"], box["gateway"]["sshd_config"])
    assert "role" not in box["gateway"]["authorized_keys"][0]
    identity = ["-o", f"IdentityFile={key}"]
    command = box["ssh"]["command"]
    command = [word.replace("ssh -F none", f"ssh -F none -o IdentityFile={key}") if word.startswith("ProxyCommand=") else word
               for word in command]
    with Session([*command[:3], *identity, *command[3:]]) as session:
        assert "shell_exec" not in [tool["name"] for tool in session.request("tools/list")["tools"]]


def test_h3_095_nothing_printed_changes_over_suspend_and_resume(cluster, piped, pod):
    done(cluster, "suspend", "demo", "--kubernetes")
    after = done(cluster, "resume", "demo", "--kubernetes")
    assert (after["ssh"], after["gateway"], after["keys"]) == (piped["ssh"], piped["gateway"], piped["keys"])
    assert "127.64." not in json.dumps(after)
    sessions(after["ssh"]["command"])


@pytest.mark.parametrize("gateway", ["none", "jump", "sshpiper"])
def test_h3_103_nothing_printed_rests_on_a_port_forward(cluster, folder, piper, gateway):
    (folder / "spec.yaml").write_text("kubernetes: {runtime_class: gvisor}\n")
    words = {"none": [], "jump": ["--gateway", "jump:h", "--gateway-host-key", piper.public_key()], "sshpiper": piper_words(piper)}
    create(cluster, "demo", "-f", str(folder / "spec.yaml"), *words[gateway])
    formats, config = commands_of(cluster)
    for text in (*map(str, formats.values()), config):
        assert "port-forward" not in text and "kubectl" not in text


def test_the_list_and_another_machine_know_the_gateway(cluster, piped):
    (listed,) = done(cluster, "list", "--kubernetes")["boxes"]
    seen = done(cluster, "status", "demo", "--kubernetes", state="elsewhere")
    for one in (listed, seen):
        assert one["gateway"]["kind"] == "sshpiper" and one["keys"] == piped["keys"]
        assert (one["ssh"]["host"], one["ssh"]["user"]) == ("127.0.0.1", "demo")


def test_without_the_right_to_see_pipes_nothing_is_guessed(cluster, piped):
    cluster.forbidden.add(("get", "pipes"))
    assert "cannot get" in refused(7, cluster, "status", "demo", "--kubernetes")


def test_the_roles_of_a_gateway_and_of_who_makes_pipes(folder):
    def role(*words):
        return json.loads(ok(programs.provision("rbac", *words, "--output", "json")).stdout)

    gateway = role("gateway", "--box", "demo", "--box", "other", "--namespace", "gw")
    assert gateway["metadata"]["namespace"] == "gw"
    assert gateway["rules"] == [
        {"apiGroups": ["sshpiper.com"], "resources": ["pipes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["demo-upstream", "other-upstream"], "verbs": ["get"]}]
    ours = {rule["resources"][0]: rule["verbs"] for rule in role("sshpiper")["rules"]}
    assert ours == {"pipes": ["create", "delete", "get", "list", "patch"], "secrets": ["create", "delete", "patch"]}
    for words in (["gateway"], ["gateway", "create", "--box", "demo"], ["create", "--box", "demo"], ["gateway", "--box", "-x"]):
        assert programs.provision("rbac", *words).returncode == 2


def rights(*commands):
    """{(verb, resource)} of the Role that is printed for these commands."""
    role = json.loads(ok(programs.provision("rbac", *commands, "--output", "json")).stdout)
    return {(verb, resource) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}


def test_the_printed_roles_are_enough_for_a_box_behind_a_gateway(cluster, pod, piper):
    cluster.allowed = rights("create", "status", "rotate", "revoke", "delete", "sshpiper")
    box = create(cluster, "demo", *piper_words(piper))
    done(cluster, "status", "demo", "--kubernetes")
    rotated = done(cluster, "rotate", "demo", "--kubernetes")
    done(cluster, "revoke", "demo", "--kubernetes", "--key", rotated["keys"][0]["fingerprint"])
    cluster.allowed = rights("audit")
    assert codes_of(audited(cluster), "demo") is not None
    cluster.allowed = rights("delete", "sshpiper")
    assert done(cluster, "delete", "demo", "--kubernetes")["changed"] and box["keys"]
    assert cluster.names("pipes") == cluster.names("secrets") == []


def test_render_shows_what_a_gateway_adds_without_a_private_half(folder):
    key = make_key(folder / "gw")
    objects = json.loads(ok(programs.provision(
        "render", "demo", "--namespace", "boxes", "--gateway", "sshpiper:gw", "--gateway-address", "h", "--gateway-host-key",
        f"{key}.pub", "--output", "json")).stdout)["items"]
    assert [item["kind"] for item in objects] == ["NetworkPolicy", "Secret", "Sandbox", "Secret", "Pipe"]
    assert "data" not in objects[3] and objects[4]["metadata"]["namespace"] == "gw"


# The audit of a namespace


def audited(cluster, *words):
    return json.loads(ok(provision(cluster, "audit", "--kubernetes", *words, seconds=60.0)).stdout)


def codes_of(report, box):
    (found,) = [one for one in report["boxes"] if one["name"] == box]
    return [finding["rule"] for finding in found["findings"]]


def test_an_audit_of_a_namespace_reads_no_secret_and_names_what_is_weak(cluster, piped, folder):
    sound = audited(cluster, "--namespace", NAMESPACE)
    assert [box["name"] for box in sound["boxes"]] == ["demo", f"namespace {NAMESPACE}"]
    assert codes_of(sound, "demo") == ["AB074"] * len(codes_of(sound, "demo")), sound  # images by tag, the default
    gateway = audited(cluster, "--namespace", GATEWAY_NAMESPACE)
    assert codes_of(gateway, f"namespace {GATEWAY_NAMESPACE}") == []
    cluster.edit("pods", "demo", lambda pod: pod["spec"].update(automountServiceAccountToken=True))
    cluster.edit("networkpolicies", "agentbox-demo", lambda policy: policy["spec"]["ingress"][0].update(
        {"from": [{"namespaceSelector": {}}, {"podSelector": {}}]}))
    cluster.put("pipes", {"metadata": {"name": "bridge", "annotations": {"sshpiper.com/kubectl_exec_cmd": "true"}}, "spec": {
        "from": [{"username": ".*", "username_regex_match": True, "authorized_keys_data": "YQo="}], "to": {"host": "h"}}}, GATEWAY_NAMESPACE)
    weak = audited(cluster, "--namespace", NAMESPACE)
    assert {"AB070", "AB072", "AB075"} <= set(codes_of(weak, "demo")), weak
    bridge = audited(cluster, "--namespace", GATEWAY_NAMESPACE)
    details = [finding["detail"] for box in bridge["boxes"] for finding in box["findings"]]
    assert len(details) == 4 and any("kubectl exec" in words for words in details), details
    assert not [one for one in cluster.made("GET", "secrets")]
    result = provision(cluster, "audit", "demo", "--kubernetes", "--fail-on", "error")
    assert result.returncode == 6
    for form in ("text", "sarif", "html"):
        file = folder / f"report.{form}"
        provision(cluster, "audit", "--kubernetes", "--format", form, "--out", str(file))
        text = file.read_text()
        assert "AB070" in text and (form != "sarif" or json.loads(text)["version"] == "2.1.0")
    refused(2, cluster, "audit", "--kubernetes", "--live")
    refused(3, cluster, "audit", "nobody", "--kubernetes")
    cluster.forbidden.add(("list", "pods"))
    assert "AB076" in codes_of(audited(cluster), f"namespace {NAMESPACE}")
