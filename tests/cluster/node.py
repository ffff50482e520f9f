#!/usr/bin/env python3
"""A real Kubernetes of one node, for tests: etcd, API server, controllers, scheduler, containerd, kubelet, kube-proxy
and kube-router, in namespaces of their own.

    node.py up              starts it, from nothing, and waits until it takes pods
    node.py down            ends it, with all it ran, and removes what it kept
    node.py run COMMAND...  runs a command inside its namespaces, where the API, the pods and their names are reached:
                            `node.py run kubectl get pods -A`
    node.py import TAR...   gives images to the node
    node.py show            says what runs

It has a network, a mount and a process namespace whose first process is the `supervise` below. That one's end ends
all the others, containers too, and takes every mount and interface along, so nothing can be left behind but files of
the state folder and groups of processes (cgroups), which `down` removes.

AGENTBOX_CLUSTER_DIR is where all of it lies, default ~/.cache/agentbox-cluster; scripts/test-cluster fills it.
AGENT_SANDBOX_CONTROLLER: the program of a real agent-sandbox controller, to be run instead of controller.py.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
HOME = Path(os.environ.get("AGENTBOX_CLUSTER_DIR") or _CACHE / "agentbox-cluster").absolute()
BIN = HOME / "bin"
IMAGES = HOME / "images"
RUN = HOME / "run"
PKI = RUN / "pki"
LOGS = RUN / "log"
PIDS = RUN / "pid"
HELD = RUN / "held"  # a file of a component's name in it: the component is not started again
VOLUMES = RUN / "volumes"
KUBECONFIG = RUN / "kubeconfig"
SOCKET = RUN / "containerd.sock"
# Of ours alone, so that it can be removed with all that is in it.
CGROUP = "agentbox-cluster"

NODE = "node1"
NODE_ADDRESS = "10.200.0.1"
PODS = "10.244.0.0/24"
SERVICES = "10.96.0.0/16"
API_ADDRESS = "10.96.0.1"  # of the service `kubernetes`
API_PORT = 6443
DOMAIN = "cluster.local"
PAUSE = "localhost/pause:1"


def say(words):
    print(f"==> {words}", file=sys.stderr, flush=True)


def give_up(words):
    sys.exit(f"node.py: {words}")


def run(*command, **arguments):
    return subprocess.run([str(word) for word in command], check=True, **arguments)


def quietly(*command):
    return subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL, check=False).returncode == 0


# Who is who


def make_key(name):
    run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", PKI / f"{name}.key",
        stderr=subprocess.DEVNULL)


def make_authority():
    make_key("ca")
    run("openssl", "req", "-x509", "-new", "-key", PKI / "ca.key", "-subj", "/CN=agentbox test cluster", "-days", "30",
        "-out", PKI / "ca.crt")


def make_certificate(name, subject, names=()):
    """NAME.key and NAME.crt: of a client, or of a server with these names."""
    make_key(name)
    run("openssl", "req", "-new", "-key", PKI / f"{name}.key", "-subj", subject, "-out", PKI / f"{name}.csr")
    lines = ["keyUsage=critical,digitalSignature",
             f"extendedKeyUsage={'serverAuth' if names else 'clientAuth'}"]
    if names:
        lines.append("subjectAltName=" + ",".join(names))
    (PKI / f"{name}.ext").write_text("\n".join(lines) + "\n")
    run("openssl", "x509", "-req", "-in", PKI / f"{name}.csr", "-CA", PKI / "ca.crt", "-CAkey", PKI / "ca.key",
        "-CAcreateserial", "-days", "30", "-extfile", PKI / f"{name}.ext", "-out", PKI / f"{name}.crt",
        stderr=subprocess.DEVNULL)


def write_kubeconfig(path, user):
    """A kubeconfig whose user is this one, as kubeconfigs write it. JSON is YAML."""
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": f"https://127.0.0.1:{API_PORT}",
                                                  "certificate-authority": str(PKI / "ca.crt")}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
    }))
    path.chmod(0o600)


def certificate_user(name):
    return {"client-certificate": str(PKI / f"{name}.crt"), "client-key": str(PKI / f"{name}.key")}


def make_identities():
    PKI.mkdir()
    make_authority()
    service_names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", f"kubernetes.default.svc.{DOMAIN}"]
    make_certificate("apiserver", "/CN=kube-apiserver", [
        "IP:127.0.0.1", f"IP:{NODE_ADDRESS}", f"IP:{API_ADDRESS}", "DNS:localhost",
        *(f"DNS:{name}" for name in service_names)])
    make_certificate("kubelet-server", f"/CN={NODE}", [f"IP:{NODE_ADDRESS}", f"DNS:{NODE}"])
    for name, subject in {
        "admin": "/O=system:masters/CN=admin",
        "apiserver-client": "/O=system:masters/CN=apiserver",
        "manager": "/CN=system:kube-controller-manager",
        "scheduler": "/CN=system:kube-scheduler",
        "kubelet": f"/O=system:nodes/CN=system:node:{NODE}",
        "proxy": "/CN=system:kube-proxy",
    }.items():
        make_certificate(name, subject)
        write_kubeconfig(PKI / f"{name}.kubeconfig", certificate_user(name))
    run("openssl", "genrsa", "-out", PKI / "accounts.key", "2048", stderr=subprocess.DEVNULL)
    run("openssl", "rsa", "-in", PKI / "accounts.key", "-pubout", "-out", PKI / "accounts.pub",
        stderr=subprocess.DEVNULL)
    write_kubeconfig(KUBECONFIG, certificate_user("admin"))


# What the components are told


def write_settings():
    (RUN / "cni").mkdir()
    (RUN / "cni/10-test.conflist").write_text(json.dumps({
        "cniVersion": "1.0.0", "name": "test", "plugins": [{
            "type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipMasq": False,
            "ipam": {"type": "host-local", "dataDir": str(RUN / "addresses"), "ranges": [[{"subnet": PODS}]],
                     "routes": [{"dst": "0.0.0.0/0"}]}}]}))
    (RUN / "containerd.toml").write_text(f"""version = 2
root = "{RUN}/containerd"
state = "/run/containerd"
[grpc]
 address = "{SOCKET}"
[plugins."io.containerd.internal.v1.opt"]
 path = "{RUN}/containerd-opt"
[plugins."io.containerd.grpc.v1.cri"]
 sandbox_image = "{PAUSE}"
 # Without CAP_SYS_RESOURCE runc cannot give a container a lower score than it has itself.
 restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
 bin_dir = "/usr/lib/cni"
 conf_dir = "{RUN}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
 runtime_type = "io.containerd.runc.v2"
""")
    (RUN / "kubelet.json").write_text(json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": NODE_ADDRESS, "healthzBindAddress": "127.0.0.1",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                           "x509": {"clientCAFile": str(PKI / "ca.crt")}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(PKI / "kubelet-server.crt"), "tlsPrivateKeyFile": str(PKI / "kubelet-server.key"),
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{CGROUP}",
        "failSwapOn": False, "failCgroupV1": False,
        "clusterDomain": DOMAIN, "clusterDNS": [NODE_ADDRESS],
        "podLogsDir": str(RUN / "logs-of-pods"), "maxPods": 110,
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 99, "imageGCLowThresholdPercent": 98,
        "serializeImagePulls": False, "eventRecordQPS": 0, "syncFrequency": "10s",
    }))
    (RUN / "resolv.conf").write_text(f"nameserver {NODE_ADDRESS}\nsearch svc.{DOMAIN}\n")


def components():
    """name: command, in the order of starting."""
    def client(name):
        return PKI / f"{name}.kubeconfig"

    api = f"https://127.0.0.1:{API_PORT}"
    controller = os.environ.get("AGENT_SANDBOX_CONTROLLER")
    return {
        "etcd": [
            "/usr/bin/etcd", "--name=test", f"--data-dir={RUN}/etcd", "--unsafe-no-fsync",
            "--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
            "--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
            "--initial-cluster=test=http://127.0.0.1:2380"],
        "kube-apiserver": [
            BIN / "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0",
            f"--advertise-address={NODE_ADDRESS}", f"--secure-port={API_PORT}", f"--service-cluster-ip-range={SERVICES}",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
            "--enable-aggregator-routing=true", f"--client-ca-file={PKI}/ca.crt",
            f"--tls-cert-file={PKI}/apiserver.crt", f"--tls-private-key-file={PKI}/apiserver.key",
            f"--service-account-issuer=https://kubernetes.default.svc.{DOMAIN}",
            f"--service-account-key-file={PKI}/accounts.pub", f"--service-account-signing-key-file={PKI}/accounts.key",
            f"--kubelet-client-certificate={PKI}/apiserver-client.crt",
            f"--kubelet-client-key={PKI}/apiserver-client.key", f"--kubelet-certificate-authority={PKI}/ca.crt",
            "--kubelet-preferred-address-types=InternalIP"],
        "kube-controller-manager": [
            BIN / "kube-controller-manager", f"--kubeconfig={client('manager')}", f"--master={api}",
            f"--authentication-kubeconfig={client('manager')}", f"--authorization-kubeconfig={client('manager')}",
            f"--service-account-private-key-file={PKI}/accounts.key", f"--root-ca-file={PKI}/ca.crt",
            "--use-service-account-credentials=true", "--bind-address=127.0.0.1", "--leader-elect=false"],
        "kube-scheduler": [
            BIN / "kube-scheduler", f"--kubeconfig={client('scheduler')}",
            f"--authentication-kubeconfig={client('scheduler')}", f"--authorization-kubeconfig={client('scheduler')}",
            "--bind-address=127.0.0.1", "--leader-elect=false"],
        "containerd": ["/usr/bin/containerd", "--config", RUN / "containerd.toml"],
        "kubelet": [
            BIN / "kubelet", f"--config={RUN}/kubelet.json", f"--kubeconfig={client('kubelet')}",
            f"--hostname-override={NODE}", f"--node-ip={NODE_ADDRESS}", f"--root-dir={RUN}/kubelet"],
        "kube-proxy": [
            BIN / "kube-proxy", f"--kubeconfig={client('proxy')}", f"--hostname-override={NODE}",
            "--proxy-mode=nftables", f"--cluster-cidr={PODS}", "--conntrack-max-per-core=0",
            "--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249"],
        "kube-router": [
            BIN / "kube-router", f"--kubeconfig={KUBECONFIG}", "--run-firewall=true", "--run-router=false",
            "--run-service-proxy=false", "--run-loadbalancer=false", f"--hostname-override={NODE}",
            f"--service-cluster-ip-range={SERVICES}", "--metrics-port=0", "--health-port=0"],
        "agent-sandbox": [controller, "--extensions", "--enable-webhook=false"] if controller else [
            sys.executable, "-B", HERE / "controller.py"],
        "volumes": [sys.executable, "-B", HERE / "volumes.py"],
        "names": [sys.executable, "-B", HERE / "names.py"],
    }


# The first process of the namespaces


# What these programs keep at places of the machine that no setting moves.
PRIVATE = ["/run/containerd", "/run/netns", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods",
           "/usr/libexec/kubernetes"]


def enter_world():
    """Mounts and interfaces that end with the namespaces."""
    run("mount", "--make-rshared", "/")  # kubelet's mounts must reach containerd's; they reach nobody else
    run("mount", "-t", "proc", "proc", "/proc")
    for place in PRIVATE:
        run("mount", "-t", "tmpfs", "tmpfs", place)
        run("mount", "--make-rshared", place)
    run("mount", "--bind", RUN / "resolv.conf", os.path.realpath("/etc/resolv.conf"))
    for words in ("link set lo up", "link add node0 type veth peer name node0-peer", "link set node0-peer up",
                  "link set node0 up",
                  f"addr add {NODE_ADDRESS}/32 dev node0", f"route add {SERVICES} dev node0 src {NODE_ADDRESS}"):
        run("ip", *words.split())
    for name, value in {"net/ipv4/ip_forward": "1", "net/bridge/bridge-nf-call-iptables": "1"}.items():
        path = Path("/proc/sys") / name
        if path.exists():
            path.write_text(value)


class Supervisor:
    """Starts what is to run, again whenever it ends."""

    PAUSE = 0.5

    def __init__(self):
        self.commands = components()
        self.running = {}
        self.due = {name: 0.0 for name in self.commands}
        self.stopping = False

    def start(self, name):
        with open(LOGS / f"{name}.log", "ab") as log:
            environment = {**os.environ, "KUBECONFIG": str(KUBECONFIG), "PYTHONUNBUFFERED": "1"}
            try:
                process = subprocess.Popen([str(word) for word in self.commands[name]], stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log, env=environment, start_new_session=True)
            except OSError as error:
                log.write(f"not started: {error}\n".encode())
                self.due[name] = time.monotonic() + self.PAUSE
                return
        self.running[process.pid] = name
        (PIDS / name).write_text(str(process.pid))

    def reap(self):
        """Whatever has ended; a component is due again in a moment. We are everybody's parent at last."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            name = self.running.pop(pid, None)
            if name is not None:
                (PIDS / name).unlink(missing_ok=True)
                self.due[name] = time.monotonic() + self.PAUSE

    def serve(self):
        def stop(*_):
            self.stopping = True

        signal.signal(signal.SIGTERM, stop)
        while not self.stopping:
            self.reap()
            now = time.monotonic()
            for name in self.commands:
                if name not in self.running.values() and now >= self.due[name] and not (HELD / name).exists():
                    self.start(name)
            time.sleep(0.1)


def supervise():
    enter_world()
    Supervisor().serve()


# From outside


def first_process():
    """The supervisor's number here, or None. It is ours only while it is the program that we started."""
    try:
        number = int((RUN / "supervisor").read_text())
        words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return number if b"supervise" in words and str(HERE / "node.py").encode() in words else None


def inside(*command):
    """The words that run COMMAND inside, in this folder."""
    number = first_process()
    if number is None:
        give_up("it does not run. Next step: node.py up")
    return ["nsenter", "--target", str(number), "--net", "--mount", "--pid", f"--wdns={os.getcwd()}", "--",
            *(str(word) for word in command)]


def wait_for(what, seconds, probe):
    deadline = time.monotonic() + seconds
    while not probe():
        if first_process() is None:
            give_up(f"the supervisor has ended; {LOGS}/supervisor.log says why")
        if time.monotonic() > deadline:
            give_up(f"not within {seconds} s: {what}; the logs are in {LOGS}")
        time.sleep(0.1)
    say(what)


def kubectl(*words):
    return inside("env", f"KUBECONFIG={KUBECONFIG}", BIN / "kubectl", *words)


def cgroup_roots():
    top = Path("/sys/fs/cgroup")
    if (top / "cgroup.controllers").exists():
        return [top]
    return [each for each in sorted(top.iterdir()) if (each / "cgroup.procs").exists() and not each.is_symlink()]


def make_cgroups():
    for root in cgroup_roots():
        group = root / CGROUP
        group.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            if root.name == "cpuset" and not (group / name).read_text().strip():
                (group / name).write_text((root / name).read_text())
        if (root / "cgroup.controllers").exists():
            wanted = " ".join(f"+{name}" for name in (root / "cgroup.controllers").read_text().split())
            for place in (root, group):
                (place / "cgroup.subtree_control").write_text(wanted)


def remove_cgroups():
    for root in cgroup_roots():
        group = root / CGROUP
        if group.is_dir():
            for folder, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError as error:
                    say(f"{folder} stays: {error}")


SYSCTLS = ["vm.overcommit_memory", "kernel.panic", "kernel.panic_on_oops", "kernel.keys.root_maxbytes",
           "kernel.keys.root_maxkeys", "vm.panic_on_oom"]


def keep_sysctls():
    """Kubelet sets these for the whole machine."""
    paths = [Path("/proc/sys") / name.replace(".", "/") for name in SYSCTLS]
    (RUN / "sysctls.json").write_text(json.dumps({str(path): path.read_text() for path in paths if path.exists()}))


def restore_sysctls():
    try:
        kept = json.loads((RUN / "sysctls.json").read_text())
    except OSError:
        return
    for path, value in kept.items():
        if Path(path).read_text() != value:
            Path(path).write_text(value)


def up():
    if first_process() is not None:
        give_up("it runs already. Next step: node.py down")
    if not (BIN / "kubectl").exists():
        give_up(f"no {BIN}/kubectl. Next step: scripts/test-cluster, which builds it")
    down()
    for folder in (RUN, LOGS, PIDS, HELD, VOLUMES):
        folder.mkdir(parents=True)
    keep_sysctls()
    make_identities()
    write_settings()
    make_cgroups()
    made = [place for place in PRIVATE if not os.path.isdir(place)]
    for place in made:
        os.makedirs(place)
    (RUN / "made.json").write_text(json.dumps(made))
    with open(LOGS / "supervisor.log", "wb") as log:
        # unshare stays outside and waits; its child is the first process inside, and the one that we remember.
        outer = subprocess.Popen(
            ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--propagation", "private",
             sys.executable, "-B", str(HERE / "node.py"), "supervise"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/")
    deadline = time.monotonic() + 10
    while first_process() is None:
        children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
        numbers = children.read_text().split() if children.exists() else []
        if numbers:
            (RUN / "supervisor").write_text(numbers[0])
        if time.monotonic() > deadline or outer.poll() is not None:
            give_up(f"the namespaces could not be made: {(LOGS / 'supervisor.log').read_text()}")
        time.sleep(0.02)
    wait_for("the API server answers", 90, lambda: quietly(*kubectl("get", "--raw", "/readyz")))
    run(*kubectl("apply", "--server-side", "-f", os.environ.get("AGENT_SANDBOX_CRDS") or HERE / "crds"),
        stdout=subprocess.DEVNULL)
    run(*kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"), stdout=subprocess.DEVNULL)
    run(*kubectl("apply", "-f", HERE / "storage.yaml"), stdout=subprocess.DEVNULL)
    wait_for("containerd answers", 60, lambda: quietly("ctr", "-a", SOCKET, "version"))
    import_images(IMAGES / "pause.tar")
    wait_for("the node is ready", 90, lambda: quietly(
        *kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=1s")))
    wait_for("accounts are made", 60, lambda: quietly(*kubectl("get", "serviceaccount", "default")))


def import_images(*archives):
    for archive in archives:
        run(*inside("ctr", "-a", SOCKET, "-n", "k8s.io", "images", "import", Path(archive).absolute()),
            stdout=subprocess.DEVNULL)


def down():
    number = first_process()
    if number is not None:
        os.kill(number, signal.SIGKILL)  # the kernel ends everybody else in its namespace
        deadline = time.monotonic() + 30
        while os.path.exists(f"/proc/{number}"):
            if time.monotonic() > deadline:
                give_up(f"process {number} does not end")
            time.sleep(0.05)
    restore_sysctls()
    try:
        made = json.loads((RUN / "made.json").read_text())
    except OSError:
        made = []
    for place in reversed(made):
        if os.path.isdir(place):
            os.rmdir(place)
    if RUN.exists():
        remove_cgroups()
        shutil.rmtree(RUN)


def show():
    if first_process() is None:
        print("it does not run")
        return
    for name in components():
        pid = PIDS / name
        print(f"{name}: {'process ' + pid.read_text() if pid.exists() else 'not running'}")


def main(words):
    commands = {"up": up, "down": down, "show": show, "supervise": supervise, "import": import_images}
    if words[:1] in ([], ["-h"], ["--help"]):
        print(__doc__.strip())
    elif words[0] == "run" and len(words) > 1:
        os.environ.update(
            AGENTBOX_CLUSTER_DIR=str(HOME),  # whatever the command's own HOME is
            KUBECONFIG=str(KUBECONFIG), PATH=f"{BIN}:{os.environ['PATH']}")
        os.execvp("nsenter", inside(*words[1:]))
    elif words[0] in commands:
        if os.geteuid() != 0:
            give_up("only root can make namespaces that run containers")
        commands[words[0]](*words[1:])
    else:
        give_up(f"no command {words[0]}; --help lists them")


if __name__ == "__main__":
    main(sys.argv[1:])
