"""What an agent does in a day, through an official SDK over real SSH, behind the wall: a clone is looked at and edited, built and
tested, a server runs meanwhile, the link breaks in the middle, and at the end every byte is what it should be."""
import asyncio
import hashlib
import os
import re
import signal
from pathlib import Path

from inside import make_tree
from kit.processes import descendants
from kit.waiting import PATIENCE
from mcp import Client, StdioServerParameters

INSIDE = Path(__file__).parent / "inside"
SECONDS = 60.0 * PATIENCE  # of one call; reached only where something hangs
TODO = list(range(0, make_tree.FILES, make_tree.EACH_TODO))
HASH_TREE = "find project -type f | LC_ALL=C sort | xargs sha256sum | sha256sum"
CALC = "int add(int a, int b) {\n  return a - b;\n}\n"
CALC_TEST = (
    '#include <stdio.h>\nint add(int, int);\nint main(void) {\n  int got = add(2, 3);\n'
    '  if (got != 5) {\n    printf("add(2, 3) is %d\\n", got);\n    return 1;\n  }\n  puts("all pass");\n  return 0;\n}\n'
)
MAKEFILE = "check: calc_test\n\t@./calc_test\ncalc_test: calc.c calc_test.c\n\t@cc -o $@ calc.c calc_test.c\n"


def sha256(text):
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def hash_of_tree(tree):
    """What HASH_TREE prints for these files."""
    lines = [f"{sha256(text)}  {path}\n" for path, text in sorted(tree.items())]
    return sha256("".join(lines))


class Agent:
    """One connection of the SDK, and the `ssh` that carries it."""

    def __init__(self, command):
        self.command = command

    async def __aenter__(self):
        before = {process.pid for process in descendants(os.getpid())}
        server = StdioServerParameters(command=self.command[0], args=self.command[1:])
        self.client = await Client(server, read_timeout_seconds=SECONDS).__aenter__()
        (self.ssh,) = [each for each in descendants(os.getpid()) if each.pid not in before and each.program == "ssh"]
        return self

    async def __aexit__(self, *why):
        await self.client.__aexit__(*why)

    async def call(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (tool, result.content[0].text)
        return result.structured_content

    async def shell(self, command, status=0, **arguments):
        result = await self.call("shell_exec", command=command, **arguments)
        assert (result["status"], result["exit_code"]) == ("exited", status), result
        return result["stdout"]

    def cut(self):
        os.kill(self.ssh.pid, signal.SIGKILL)


async def look_around(agent):
    first = await agent.call("list_directory", path="project", depth=2)
    folders = [entry["name"] for entry in first["entries"] if entry["type"] == "directory"]
    assert len(folders) == 15 + make_tree.FOLDERS and first["total"] == len(folders) and not first["truncated"]
    found = await agent.call("glob_files", pattern="project/**/module???[05].txt", sort="name", limit=5000)
    wanted = sorted(make_tree.path_of(number) for number in range(0, make_tree.FILES, 5))
    assert found["total"] == len(wanted) and sorted(found["matches"]) == wanted
    todo = await agent.call("search_files", pattern=r"^TODO\(agent\): settle (\d+)$", path="project")
    assert sorted(match["path"] for match in todo["matches"]) == sorted(map(make_tree.path_of, TODO))
    assert {match["line"] for match in todo["matches"]} == {2} and not todo["truncated"]
    assert todo["files_searched"] == make_tree.FILES
    read = await agent.call("read_files", paths=[make_tree.path_of(number) for number in TODO])
    assert read["errors"] == 0
    assert [each["content"] for each in read["files"]] == [make_tree.text_of(number) for number in TODO]
    return {make_tree.path_of(number): each["sha256"] for number, each in zip(TODO, read["files"])}


def settled(number):
    return make_tree.text_of(number).replace(f"TODO(agent): settle {number}", f"settled {number} // $& \\1")


async def edit(agent, hashes, tree):
    """Twenty files by each of the three tools that edit."""
    for number in TODO[:7]:
        path = make_tree.path_of(number)
        done = await agent.call(
            "edit_file", path=path, old_string=f"TODO(agent): settle {number}\n",
            new_string=f"settled {number} // $& \\1\n", if_sha256=hashes[path],
        )
        assert done["replacements"] == 1 and done["sha256"] == sha256(settled(number))
    done = await agent.call("apply_edits", operations=[
        {"op": "edit", "path": make_tree.path_of(number), "if_sha256": hashes[make_tree.path_of(number)],
         "edits": [{"old_string": f"TODO(agent): settle {number}", "new_string": f"settled {number} // $& \\1"}]}
        for number in TODO[7:14]
    ])
    assert done["applied"] and done["files_changed"] == 7
    patch = "".join(
        f"*** Update File: {make_tree.path_of(number)}\n@@\n module {number}\n-TODO(agent): settle {number}\n"
        f"+settled {number} // $& \\1\n" for number in TODO[14:]
    )
    done = await agent.call("apply_patch", patch=f"*** Begin Patch\n{patch}*** End Patch\n")
    assert done["applied"] and len(done["files"]) == 6
    tree.update({make_tree.path_of(number): settled(number) for number in TODO})
    assert (await agent.shell(HASH_TREE)).split()[0] == hash_of_tree(tree)


async def build(agent):
    for name, text in (("calc.c", CALC), ("calc_test.c", CALC_TEST), ("Makefile", MAKEFILE)):
        await agent.call("write_file", path=f"calc/{name}", content=text)
    assert "add(2, 3) is -1" in await agent.shell("make -s check", status=2, cwd="calc")


class Log:
    """What was read of the server's output, by both ways, each from where it left off."""

    def __init__(self):
        self.output, self.cursor = "", 0
        self.file, self.offset = "", 0

    async def read(self, agent, **arguments):
        piece = await agent.call("process_output", process_id="server", cursor=self.cursor, **arguments)
        assert piece["cursor"] == self.cursor and "dropped_bytes" not in piece
        self.output += piece["output"]
        self.cursor = piece["next_cursor"]
        return piece

    async def read_file(self, agent, **arguments):
        piece = await agent.call("tail_log", path="server.log", start_offset=self.offset, **arguments)
        assert piece["start_offset"] == self.offset
        self.file += piece["content"]
        self.offset = piece["end_offset"]
        return piece


async def serve(agent, log):
    """A server, its log watched until it has said a good deal, and one request to it."""
    script = (INSIDE / "server.py").read_text(encoding="utf-8")
    await agent.call("write_file", path="server.py", content=script)
    started = await agent.call(
        "process_start", name="server", command="exec python3 server.py", wait_for=r"listening on \d+", wait_seconds=50
    )
    assert started["matched"] and started["lifetime"] == "box"
    port = int(re.search(r"listening on (\d+)", started["output"])[1])
    while "tick 100:" not in log.output:
        await log.read(agent, wait_seconds=10, max_bytes=1000)
    await log.read_file(agent, follow_seconds=30, until="tick 150:")
    ask = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/{{}}').read().decode())"
    assert await agent.shell(f'python3 -c "{ask.format("first")}"') == "you asked for /first\n"
    return ask


async def lose_the_link(agent, log):
    """The connection dies with calls in flight; none of them is answered, and each says so."""
    waiting = [
        asyncio.create_task(agent.call("process_output", process_id="server", pattern="never said", wait_seconds=50)),
        asyncio.create_task(agent.shell("touch begun; sleep 4323")),
        asyncio.create_task(log.read_file(agent, follow_seconds=50, until="never said")),
    ]
    await agent.shell("until [ -e begun ]; do sleep 0.01; done")
    agent.cut()
    for ended in await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), SECONDS):
        assert isinstance(ended, Exception), ended


async def read_to_the_end(agent, log):
    stopped = await agent.call("process_kill", name="server", grace_seconds=30)
    assert (stopped["exited"], stopped["signal"], stopped["exit_code"]) == (True, "SIGTERM", 0)
    while not (await log.read(agent, max_bytes=100_000))["eof"]:
        pass
    while (await log.read_file(agent, follow_seconds=0, max_bytes=7777))["truncated"]:
        pass
    said = await agent.shell("cat server.sha256")
    assert (sha256(log.output), sha256(log.file)) == (said, said)
    ticks = [int(number) for number in re.findall(r"^tick (\d+): grüße$", log.output, re.M)]
    assert ticks == list(range(1, len(ticks) + 1)) and f"stopped after {len(ticks)}\n" in log.output


async def day(box):
    tree = {make_tree.path_of(number): make_tree.text_of(number) for number in range(make_tree.FILES)}
    command = box.status()["ssh"]["command"]
    log = Log()
    async with Agent(command) as agent:
        script = (INSIDE / "make_tree.py").read_text(encoding="utf-8")
        await agent.shell("python3 -", stdin=script)
        assert (await agent.shell(HASH_TREE)).split()[0] == hash_of_tree(tree)
        await edit(agent, await look_around(agent), tree)
        await build(agent)
        ask = await serve(agent, log)
        await lose_the_link(agent, log)
    async with Agent(command) as agent:
        (server,) = (await agent.call("process_list", name="server"))["processes"]
        assert server["status"] == "running"
        await log.read(agent, wait_seconds=10)
        assert await agent.shell(f'python3 -c "{ask.format("second")}"') == "you asked for /second\n"
        await log.read_file(agent, follow_seconds=30, until="request /second")
        source = await agent.call("read_file", path="calc/calc.c")
        await agent.call(
            "edit_file", path="calc/calc.c", old_string="a - b", new_string="a + b", if_sha256=source["sha256"]
        )
        assert await agent.shell("make -s check", cwd="calc") == "all pass\n"
        await read_to_the_end(agent, log)
        assert (await agent.shell(HASH_TREE)).split()[0] == hash_of_tree(tree)
        running = (await agent.call("process_list", all=False, system=True))
        assert not running["processes"]
        assert not [each for each in running["system_processes"] if "4323" in each["command"]]


def test_a_day_of_an_agent_with_a_cut_link_in_the_middle(box):
    asyncio.run(asyncio.wait_for(day(box), 240 * PATIENCE))
