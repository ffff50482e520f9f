"""A client of the door on paramiko: does what clients do and says as JSON what came of it.

paramiko_client.py HOST PORT USER KEY WRONG-KEY KNOWN-HOSTS
"""
import json
import socket
import sys
import time

import paramiko

REKEY_BYTES = 1 << 20
PIECE_BYTES = 256_000
PIECES = 20
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "paramiko", "version": "1"}}


def connect(words, key):
    transport = paramiko.Transport(socket.create_connection((words[0], int(words[1])), 30))
    transport.packetizer.REKEY_BYTES = REKEY_BYTES
    transport.start_client(timeout=30)
    known = paramiko.HostKeys(words[5])
    assert known.check(f"[{words[0]}]:{words[1]}", transport.get_remote_server_key()), "the host key is another"
    transport.auth_publickey(words[2], paramiko.Ed25519Key.from_private_key_file(key))
    return transport


class Session:
    def __init__(self, transport, how):
        self.channel = transport.open_session(timeout=30)
        self.channel.settimeout(60)
        if how == "exec":
            self.channel.exec_command("touch /tmp/agentbox-paramiko-client")
        elif how == "shell":
            self.channel.invoke_shell()
        else:
            self.channel.invoke_subsystem("mcp")
        self.out = self.channel.makefile("rb", 1 << 16)
        self.next = 0

    def say(self, message):
        self.channel.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def start(self, method, params):
        self.next += 1
        self.say({"id": self.next, "method": method, "params": params})

    def call(self, tool, **arguments):
        self.start("tools/call", {"name": tool, "arguments": arguments})

    def reply(self):
        return json.loads(self.out.readline())["result"]

    def structured(self):
        return self.reply()["structuredContent"]

    def greet(self):
        self.start("initialize", HELLO)
        name = self.reply()["serverInfo"]["name"]
        self.say({"method": "notifications/initialized"})
        return name

    def finish(self):
        self.channel.shutdown_write()
        rest = self.out.read().decode()
        status = self.channel.recv_exit_status()
        self.channel.close()
        return rest.splitlines(), status


def piece(number):
    return f"{number:07}\n" * (PIECE_BYTES // 8)


def transfer(transport):
    session = Session(transport, "exec")
    session.greet()
    different = 0
    for number in range(PIECES):
        session.call("write_file", path="paramiko.txt", content=piece(number))
        session.structured()
        session.call("read_file", path="paramiko.txt", limit=PIECE_BYTES)
        different += session.structured()["content"] != piece(number)
    return {"pieces": PIECES, "different": different, "status": session.finish()[1]}


def slow_reader(transport):
    session = Session(transport, "exec")
    session.greet()
    session.call("write_file", path="paramiko.txt", content=piece(1))
    session.structured()
    for _ in range(12):
        session.call("read_file", path="paramiko.txt", limit=PIECE_BYTES)
    time.sleep(1)  # a reader that pauses is what is tested
    whole = sum(session.structured()["content"] == piece(1) for _ in range(12))
    session.finish()
    return whole


def channels(transport):
    sessions = [Session(transport, "exec") for _ in range(12)]
    answered = sum(session.greet() == "agent-box" for session in sessions)
    for session in sessions:
        session.finish()
    return answered


def half_close(transport):
    session = Session(transport, "exec")
    session.greet()
    session.call("shell_exec", command="sleep 1; echo late")
    lines, status = session.finish()
    return {"late": "late" in lines[-1], "status": status}


def not_mcp(transport):
    session = Session(transport, "exec")
    session.channel.sendall(b"hello\n" * 10)
    return session.finish()[1]


def main(words):
    transport = connect(words, words[3])
    said = {"version": transport.remote_version}
    for how in ("exec", "shell", "subsystem"):
        session = Session(transport, how)
        said[how] = session.greet()
        session.finish()
    said["channels"] = channels(transport)
    said["transfer"] = transfer(transport)
    said["half_close"] = half_close(transport)
    said["not_mcp"] = not_mcp(transport)
    said["slow_reader"] = slow_reader(transport)
    said["keepalive"] = transport.global_request("keepalive@openssh.com", wait=True) is not None
    transport.close()
    try:
        connect(words, words[4])
        said["wrong_key"] = False
    except paramiko.AuthenticationException:
        said["wrong_key"] = True
    print(json.dumps(said))


main(sys.argv[1:])
