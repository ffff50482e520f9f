"""A stand-in for sshpiper: an SSH server that does what the Pipes of a kit.cluster say, as its Kubernetes plugin was
read to do it. The first Pipe whose `from` has the user name and the key counts; the box's host key must be in its
known_hosts_data; the key for the box is read from the Secret at each login."""
import asyncio
import base64
import re
import threading

import asyncssh

from kit.target import make_key, public_line


class Piper:
    def __init__(self, folder, cluster, namespace, resolve):
        """RESOLVE gives (address, port) for a Pipe's host."""
        self.cluster = cluster
        self.namespace = namespace
        self.resolve = resolve
        self.host_key = make_key(folder / "gateway_host_key")
        self.seen = []  # what went through it: it sees everything
        self.problems = []
        self.secrets_read = 0
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run)
        self.started = threading.Event()

    def start(self):
        self.thread.start()
        assert self.started.wait(20)
        return self

    def stop(self):
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(20)

    def public_key(self):
        return " ".join(public_line(self.host_key).split()[:2])

    def _run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncssh.create_server(
            lambda: _Login(self), "127.0.0.1", 0, server_host_keys=[str(self.host_key)],
            process_factory=self._pipe, encoding=None, line_editor=False))
        self.port = server.sockets[0].getsockname()[1]
        self.started.set()
        self.loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    # What a Pipe means

    def pipes_for(self, user):
        for pipe in [self.cluster.get("pipes", name, self.namespace) for name in self.cluster.names("pipes")]:
            for source in pipe["spec"]["from"] if pipe else []:
                name = source["username"]
                if name == user or (source.get("username_regex_match") and re.search(name, user)):
                    yield pipe, source

    def allows(self, user, key):
        for pipe, source in self.pipes_for(user):
            data = source.get("authorized_keys_data", "")
            lines = base64.b64decode(data, validate=True).decode().splitlines()
            if any(asyncssh.import_public_key(line).public_data == key.public_data for line in lines if line):
                return pipe
        return None

    def key_for_box(self, pipe):
        name = pipe["spec"]["to"]["private_key_secret"]["name"]
        secret = self.cluster.get("secrets", name, self.namespace)
        self.secrets_read += 1
        assert secret["type"] == "kubernetes.io/ssh-auth"
        text = base64.b64decode(secret["data"]["ssh-privatekey"])
        assert text.endswith(b"\n")
        return asyncssh.import_private_key(text)

    def host_key_of_box(self, pipe):
        to = pipe["spec"]["to"]
        line = base64.b64decode(to["known_hosts_data"], validate=True).decode()
        host, port = to["host"].rsplit(":", 1)
        known, key = line.split(" ", 1)
        assert known == f"[{host}]:{port}", (known, to["host"])
        return asyncssh.import_public_key(key)

    async def open(self, pipe):
        address, port = self.resolve(pipe["spec"]["to"]["host"])
        return await asyncssh.connect(
            address, port, username=pipe["spec"]["to"]["username"], client_keys=[self.key_for_box(pipe)],
            known_hosts=([self.host_key_of_box(pipe)], [], []), config=None, agent_path=None)

    async def _pipe(self, process):
        """One session of a client, carried on to the box."""
        try:
            pipe = process.get_extra_info("connection").get_owner().pipe
            async with await self.open(pipe) as box:
                inner = await box.create_process(process.command, subsystem=process.subsystem, encoding=None)
                said = asyncio.ensure_future(self._carry(process.stdin, inner.stdin))
                await asyncio.gather(
                    self._carry(inner.stdout, process.stdout), self._carry(inner.stderr, process.stderr))
                await inner.wait_closed()
                said.cancel()
                process.exit(inner.exit_status if inner.exit_status is not None else 255)
        except (OSError, asyncssh.Error, AssertionError) as error:
            self.problems.append(repr(error))
            process.exit(255)

    async def _carry(self, source, sink):
        try:
            while data := await source.read(65536):
                self.seen.append(data)
                sink.write(data)
                await sink.drain()
            sink.write_eof()
        except (OSError, asyncssh.Error):
            pass


class _Login(asyncssh.SSHServer):
    def __init__(self, piper):
        self.piper = piper
        self.pipe = None

    def begin_auth(self, username):
        return True

    def public_key_auth_supported(self):
        return True

    def validate_public_key(self, username, key):
        self.pipe = self.piper.allows(username, key)
        return self.pipe is not None
