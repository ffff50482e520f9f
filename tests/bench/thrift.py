"""What an agent's day costs in a model's context: the tool list, and the answers to the same ten jobs, of several MCP servers.

    thrift.py [--show] --server agentbox=build/release/bin/agent-box [--server containarium=PATH] [--server filesystem=COMMAND]
              [--server desktop-commander=COMMAND]

The name says which of the vocabularies below a server speaks; the command may hold {workspace}. Nothing of it is part of a test:
the peers are installed by whoever runs it. Printed is a Markdown table. Bytes are UTF-8; a token is counted as four bytes, rounded
up, for all alike: an estimate, good for comparing.

Counted of the list is what clients hand to a model: name, description and input schema. Of an answer it is the text blocks, which
most clients show; of ours the structured form too, which some show instead. Arguments are counted apart: a model writes them.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60
LINES = [f"line {number}: the quick brown fox jumps over the lazy dog" for number in range(1, 201)]
BUILD = "for i in $(seq 1 397); do echo \"[$i/400] cc -O2 -c src/part_$i.c -o obj/part_$i.o\"; done; " \
        "echo 'src/part_398.c:17:5: error: unknown type name widget' >&2; echo 'make: *** [all] Error 1' >&2; echo failed; exit 2"
SERVE = "echo listening on 8080; sleep 600"
NOTE = "A note of two lines.\nThe second one.\n"
OLD, NEW = LINES[99], "line 100: changed"


def fill(workspace):
    (workspace / "folder").mkdir()
    for number in range(30):
        (workspace / "folder" / f"file_{number:02}.txt").write_text("x" * number, encoding="utf-8")
    (workspace / "long.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    for number in range(40):
        path = workspace / "src" / f"package_{number // 8}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        uses = "    return open_widget(self)\n" if number % 8 == 0 else "    return None\n"
        path.write_text(f"def function_{number}(self):\n{uses}" * 5, encoding="utf-8")


# The calls of each job, as a model that knows the server's tools would make them. None: the server cannot do it.
def agentbox(_):
    return {
        "list a folder of 30": [("list_directory", {"path": "folder"})],
        "read a file of 200 lines": [("read_file", {"path": "long.txt"})],
        "write a file": [("write_file", {"path": "note.txt", "content": NOTE})],
        "edit a line": [("edit_file", {"path": "long.txt", "old_string": OLD, "new_string": NEW})],
        "search a symbol in a tree": [("search_files", {"pattern": "open_widget", "path": "src"})],
        "run a command that passes": [("shell_exec", {"command": "true && echo ok"})],
        "run a build that fails, 400 lines": [("shell_exec", {"command": BUILD})],
        "start a server, see its first output": [("process_start", {"command": SERVE, "name": "web", "wait_for": "listening", "wait_seconds": 10})],
        "stat a file": [("file_info", {"path": "long.txt"})],
        "find files by name": [("glob_files", {"pattern": "**/module_1*.py"})],
    }


def containarium(workspace):
    whole = "\n".join(NEW if line == OLD else line for line in LINES) + "\n"
    return {
        "list a folder of 30": [("list_directory", {"path": "folder"})],
        "read a file of 200 lines": [("read_file", {"path": "long.txt"})],
        "write a file": [("write_file", {"path": "note.txt", "content": NOTE})],
        "edit a line": [("write_file", {"path": "long.txt", "content": whole})],  # it has no edit
        "search a symbol in a tree": [("shell_exec", {"command": "grep -rn open_widget src"})],
        "run a command that passes": [("shell_exec", {"command": "true && echo ok"})],
        "run a build that fails, 400 lines": [("shell_exec", {"command": BUILD})],
        "start a server, see its first output": [
            ("process_start", {"command": SERVE, "name": "web"}),
            ("shell_exec", {"command": "sleep 1; cat /tmp/agent-box/web.log"})],
        "stat a file": [("shell_exec", {"command": "stat long.txt"})],
        "find files by name": [("shell_exec", {"command": "find . -name 'module_1*.py'"})],
    }


def filesystem(workspace):
    at = str(workspace)
    return {
        "list a folder of 30": [("list_directory", {"path": f"{at}/folder"})],
        "read a file of 200 lines": [("read_text_file", {"path": f"{at}/long.txt"})],
        "write a file": [("write_file", {"path": f"{at}/note.txt", "content": NOTE})],
        "edit a line": [("edit_file", {"path": f"{at}/long.txt", "edits": [{"oldText": OLD, "newText": NEW}]})],
        "search a symbol in a tree": None,
        "run a command that passes": None,
        "run a build that fails, 400 lines": None,
        "start a server, see its first output": None,
        "stat a file": [("get_file_info", {"path": f"{at}/long.txt"})],
        "find files by name": [("search_files", {"path": at, "pattern": "**/module_1*.py"})],
    }


# Its searches go on by themselves; one look when they have had time to end.
MORE = ("get_more_search_results", {"sessionId": "$session"})


def desktop_commander(workspace):
    at = str(workspace)
    return {
        "list a folder of 30": [("list_directory", {"path": f"{at}/folder"})],
        "read a file of 200 lines": [("read_file", {"path": f"{at}/long.txt"})],
        "write a file": [("write_file", {"path": f"{at}/note.txt", "content": NOTE})],
        "edit a line": [("edit_block", {"file_path": f"{at}/long.txt", "old_string": OLD, "new_string": NEW})],
        "search a symbol in a tree": [
            ("start_search", {"path": f"{at}/src", "pattern": "open_widget", "searchType": "content", "contextLines": 0}), MORE],
        "run a command that passes": [("start_process", {"command": f"cd {at} && true && echo ok", "timeout_ms": 5000})],
        "run a build that fails, 400 lines": [("start_process", {"command": BUILD.replace("exit 2", "(exit 2)"), "timeout_ms": 10000})],
        "start a server, see its first output": [("start_process", {"command": SERVE, "timeout_ms": 2000})],
        "stat a file": [("get_file_info", {"path": f"{at}/long.txt"})],
        "find files by name": [("start_search", {"path": at, "pattern": "module_1*.py", "searchType": "files"}), MORE],
    }


VOCABULARIES = {"agentbox": agentbox, "containarium": containarium, "filesystem": filesystem,
                "desktop-commander": desktop_commander}
JOBS = list(agentbox(None))


class Server:
    def __init__(self, command, folder):
        workspace = folder / "ws"
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder / "home"), "AGENTBOX_ROOT": str(workspace),
            "AGENTBOX_OUT": str(folder / "out"), "AGENTBOX_TMP": str(folder / "tmp"), "AGENTBOX_HOME": str(folder / "home"),
        }
        words = [word.replace("{workspace}", str(workspace)) for word in shlex.split(command)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        cwd=workspace, env=environment)
        self.number = 0
        self.about = self.request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "thrift", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    raise SystemExit(f"{method} {params}: {message['error']}")
                return message["result"]
            if "id" in message and "method" in message:  # it asks for the client's roots and the like
                self.send({"id": message["id"], "error": {"code": -32601, "message": "not offered"}})
        raise SystemExit("the server ended")

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def size(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode())


def tokens(size_in_bytes):
    return -(-size_in_bytes // 4)


def measure(name, command, show):
    folder = Path(tempfile.mkdtemp(prefix="thrift-"))
    try:
        for part in ("ws", "home", "tmp", "out"):
            (folder / part).mkdir()
        fill(folder / "ws")
        server = Server(command, folder)
        tools = server.request("tools/list", {})["tools"]
        shown = [{key: tool.get(key) for key in ("name", "description", "inputSchema")} for tool in tools]
        column = {
            "version": server.about["serverInfo"].get("version", "?"),
            "tools": len(tools),
            "list": size(shown),
            "instructions": size(server.about.get("instructions", "")),
        }
        for job, calls in VOCABULARIES[name](folder / "ws").items():
            if calls is None:
                continue
            text = structured = arguments = 0
            for tool, given in calls:
                if "$session" in given.values():
                    time.sleep(3)
                    given = {"sessionId": re.search(r"session: (\S+)", result["content"][0]["text"])[1]}
                result = server.request("tools/call", {"name": tool, "arguments": given})
                if result.get("isError"):
                    raise SystemExit(f"{name}: {tool} {given}: {result['content']}")
                if show:
                    print(f"--- {name}: {job}: {tool}\n" + "\n".join(block.get("text", "") for block in result["content"])[:2000])
                text += sum(size(block.get("text", "")) for block in result["content"])
                structured += size(result["structuredContent"]) if "structuredContent" in result else 0
                arguments += size(given)
            column[job] = (text, structured, arguments, len(calls))
        server.end()
        return column
    finally:
        end = time.monotonic() + PATIENCE_S
        while folder.exists():
            shutil.rmtree(folder, ignore_errors=time.monotonic() < end)
            time.sleep(0.01)


def cell(column, job):
    if job not in column:
        return "–"
    text, structured, _, calls = column[job]
    words = f"{text:,}" + (f" / {structured:,}" if structured else "")
    return words + (f" ({calls} calls)" if calls > 1 else "")


def row(label, cells):
    return "| " + " | ".join([label, *cells]) + " |"


def table(columns):
    each = list(columns.values())
    lines = [row("bytes (text / structured where there is any)", columns), row("---", ["---"] * len(columns))]
    lines.append(row("version", [column["version"] for column in each]))
    lines.append(row("tools", [str(column["tools"]) for column in each]))
    lines.append(row("tool list: names, descriptions, input schemas",
                     [f"{column['list']:,} (≈ {tokens(column['list']):,} tokens)" for column in each]))
    lines.append(row("tool list, bytes a tool", [f"{column['list'] // column['tools']:,}" for column in each]))
    lines.append(row("instructions", [f"{column['instructions']:,}" for column in each]))
    lines += [row(job, [cell(column, job) for column in each]) for job in JOBS]
    for label, jobs in (("all ten", JOBS), ("the six on files that all can do", [job for job in JOBS if all(job in column for column in each)])):
        sums = [[column[job] for job in jobs if job in column] for column in each]
        lines.append(row(label, [
            f"{sum(one[0] for one in done):,} (≈ {tokens(sum(one[0] for one in done)):,} tokens)" if len(done) == len(jobs) else "–"
            for done in sums]))
    lines.append(row("arguments of the ten", [
        f"{sum(column[job][2] for job in JOBS):,}" if all(job in column for job in JOBS) else "–" for column in each]))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--show", action="store_true", help="print the answers too")
    words = parser.parse_args()
    columns = {}
    for given in words.server:
        name, _, command = given.partition("=")
        vocabulary = name.split(":")[0]
        if vocabulary not in VOCABULARIES or not command:
            parser.error(f"{given}: NAME is one of {', '.join(VOCABULARIES)}, with :LABEL after it where there are several")
        columns[name] = measure(vocabulary, command, words.show)
    print(table(columns))


if __name__ == "__main__":
    main()
