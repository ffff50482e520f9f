"""watch_files: what changed since a cursor, over reconnects; a watch belongs to the box, as jobs do."""
import os
import random
import time
from contextlib import ExitStack

import pytest
from kit import programs
from kit.bare import bare_session
from kit.mcp import Session
from kit.waiting import wait_until

FAR = 40  # seconds a call may wait for what is sure to come


def watch(session, seconds=70.0, **arguments):
    return session.call("watch_files", arguments, seconds)


def begin(session, **arguments):
    """The longest window: what is told depends on when it is asked for alone. Who waits for changes gives a short one."""
    return watch(session, **{"wait_seconds": 0, "debounce_ms": 5000, **arguments})


def error_of(session, **arguments):
    result = session.request("tools/call", {"name": "watch_files", "arguments": arguments}, 70)
    assert result["isError"], result
    return result["content"][0]["text"]


def words(result):
    return [
        f'{event["op"]} {event["old_path"]} -> {event["path"]}' if event["op"] == "move" else f'{event["op"]} {event["path"]}'
        for event in result["events"]
    ]


class Reader:
    """Follows one watch; checks that numbers have no gap and cursors lead on."""

    def __init__(self, session, **arguments):
        first = begin(session, **arguments)
        assert first["events"] == [] and not first["overflow"] and not first["timed_out"]
        self.cursor, self.last = first["next_cursor"], None

    def read(self, session, wait_seconds=0, **arguments):
        result = watch(session, cursor=self.cursor, wait_seconds=wait_seconds, **arguments)
        for event in result["events"]:
            assert self.last is None or event["seq"] == self.last + 1, (self.last, result)
            self.last = event["seq"]
        self.cursor = result["next_cursor"]
        return result

    def all(self, session, is_enough):
        """Every event until IS_ENOUGH of them."""
        events = []
        end = time.monotonic() + FAR
        while not is_enough(events):
            assert time.monotonic() < end, events[-20:]
            events += words(self.read(session, wait_seconds=5, max_events=5000))
        return events


def hosts(door):
    return [process for process in door.box_processes() if "watch-host" in process.command]


@pytest.fixture
def place(shared_door, request):
    """A folder of the test's own in the workspace, as path and as name."""
    name = request.node.name.replace("[", "-").strip("]")[:60]
    with shared_door.target.session() as session:
        session.call("create_directory", {"path": name})
    yield shared_door.folder / "box" / "workspace" / name, name
    for host in hosts(shared_door):  # with the watches of this test
        shared_door.kill(host.pid)
    wait_until("its host of watches is gone", lambda: not hosts(shared_door))


def test_each_kind_of_change_is_told_once_and_in_order(shared_door, place):
    _, name = place
    with shared_door.target.session() as session:
        session.shell(f"mkdir -p {name}/in outside-{name}; echo x > {name}/in/old; echo x > outside-{name}/f")
        reader = Reader(session, path=f"{name}/in")
        steps = [
            ("echo x > in/new", ["create in/new"]),
            ("echo more >> in/new", ["modify in/new"]),
            ("chmod 600 in/new", ["attrib in/new"]),
            ("mv in/new in/newer", ["move in/new -> in/newer"]),
            (f"mv ../outside-{name}/f in/f", ["create in/f"]),
            (f"mv in/f ../outside-{name}/f", ["delete in/f"]),
            ("rm in/newer", ["delete in/newer"]),
            ("mkdir -p in/a/b; echo x > in/a/b/c", ["create in/a", "create in/a/b", "create in/a/b/c"]),
            ("echo x > in/a/b/d", ["create in/a/b/d"]),
            ("mv in/a in/z", ["move in/a -> in/z"]),
            ("echo more > in/z/b/d", ["modify in/z/b/d"]),
            ("rm -r in/z", ["delete in/z"]),
        ]
        for command, wanted in steps:
            session.shell(f"cd {name} && {command}")
            got = words(reader.read(session))
            assert got == [f"{word}".replace("in/", f"{name}/in/") for word in wanted], command
        assert reader.read(session)["events"] == []


def test_a_waiting_call_is_answered_by_the_first_change(shared_door, place):
    folder, name = place
    with shared_door.target.session() as session, shared_door.target.session() as other:
        reader = Reader(session, path=name, debounce_ms=50)
        number = session.start(
            "tools/call", {"name": "watch_files", "arguments": {"cursor": reader.cursor, "wait_seconds": FAR}}
        )
        session.ping()
        other.call("write_file", {"path": f"{name}/x", "content": "y"})
        result = session.reply(number, 60)["result"]
        assert words(result["structuredContent"]) == [f"create {name}/x"]
        text = result["content"][0]["text"]
        assert text.startswith(f"path: {folder}\nnext_cursor: ") and text.endswith(f"--- events ---\n+ {name}/x\n"), text
        late = watch(session, cursor=result["structuredContent"]["next_cursor"], wait_seconds=0.2)
        assert late["timed_out"] and late["events"] == []


def test_a_first_call_may_wait_too(shared_door, place):
    _, name = place
    with shared_door.target.session() as session, shared_door.target.session() as other:
        number = session.start("tools/call", {"name": "watch_files", "arguments": {"path": name, "wait_seconds": FAR}})
        step = 0

        def answered():
            nonlocal step
            step += 1
            other.call("write_file", {"path": f"{name}/{step}", "content": "y"})
            return any(line.get("id") == number for line in session.lines)

        wait_until("the watch answers", answered, FAR)
        assert session.reply(number)["result"]["structuredContent"]["events"]


def test_a_cursor_works_after_a_reconnect_and_nothing_is_left_out(shared_door, place):
    _, name = place
    with shared_door.target.session() as session:
        reader = Reader(session, path=name)
        assert session.finish() == 0
    wait_until("no session is left", lambda: not shared_door.sessions())
    got = []
    for turn in range(4):
        with shared_door.target.session() as session:
            session.shell(f"cd {name}; for i in $(seq 1 20); do echo x > {turn}-$i; done")
            session.process.kill()
        with shared_door.target.session() as session:
            got += words(reader.read(session))
    assert sorted(got) == sorted(f"create {name}/{turn}-{number}" for turn in range(4) for number in range(1, 21))


def test_two_readers_of_one_watch_have_each_their_own_place(shared_door, place):
    _, name = place
    with shared_door.target.session() as one, shared_door.target.session() as two:
        first = Reader(one, path=name)
        one.shell(f"echo x > {name}/a")
        second = Reader(two, path=name)
        assert second.cursor.split(".")[0] == first.cursor.split(".")[0]
        one.shell(f"echo x > {name}/b")
        assert words(second.read(two)) == [f"create {name}/b"]
        again = dict(cursor=first.cursor, wait_seconds=0)
        assert words(first.read(one)) == [f"create {name}/a", f"create {name}/b"]
        assert words(watch(two, **again)) == [f"create {name}/a", f"create {name}/b"]


def test_writes_of_our_own_tools_show_the_final_name_alone(shared_door, place):
    _, name = place
    with shared_door.target.session() as session:
        reader = Reader(session, path=name, debounce_ms=0)
        session.call("write_file", {"path": f"{name}/f", "content": "one\n"})
        made = words(reader.read(session))
        assert made[0] == f"create {name}/f" and set(made[1:]) <= {f"modify {name}/f", f"attrib {name}/f"}, made
        session.call("edit_file", {"path": f"{name}/f", "old_string": "one", "new_string": "two"})
        session.call("upload_chunk", {"path": f"{name}/f", "data": "AAE=", "total_size": 2})
        changed = set(words(reader.read(session)))
        assert changed and changed <= {f"modify {name}/f", f"attrib {name}/f"}, changed
        # As an editor saves, across windows.
        session.shell(f"cd {name}; echo three > f.swp; sleep 0.2; mv f.swp f")
        seen = words(reader.read(session))
        assert seen[-1] in (f"move {name}/f.swp -> {name}/f", f"modify {name}/f"), seen


def names_below(folder):
    """Every path below it, from the workspace's root."""
    return sorted(f"{folder.name}/{path.relative_to(folder)}" for path in folder.rglob("*"))


def test_a_checkout_of_two_thousand_files_arrives_whole(shared_door, place):
    folder, name = place
    script = (
        f"cd {name}; for d in $(seq 1 40); do mkdir -p src/$d/deep/er; for f in $(seq 1 50); do echo $d $f > src/$d/deep/er/$f; done; done"
    )
    with shared_door.target.session() as session:
        reader = Reader(session, path=name, debounce_ms=100)
        session.shell(script, 60)
        files = [f"{name}/src/{part}/deep/er/{number}" for part in range(1, 41) for number in range(1, 51)]
        events = reader.all(session, lambda got: len({word for word in got if word.startswith("create ")}) >= 2000 + 121)
        created = [word.removeprefix("create ") for word in events if word.startswith("create ")]
        assert sorted(set(created)) == sorted(created)
        assert set(files) <= set(created)
        # Another branch: everything is replaced at once.
        replace = (
            "import glob, os\n"
            "for name in glob.glob('src/*/deep/er/*'):\n"
            "    open(name + '.tmp', 'w').write('new')\n"
            "    os.rename(name + '.tmp', name)\n"
        )
        session.shell(f'cd {name}; python3 -c "{replace}"; rm -r src/1; mkdir other', 60)
        state = set(created)
        events = reader.all(session, lambda got: f"create {name}/other" in got)
        for word in events:
            op, _, path = word.partition(" ")
            if op == "move":
                old, _, path = path.partition(" -> ")
                state.discard(old)
                state.add(path)
            elif op == "create":
                state.add(path)
            elif op == "delete":
                state = {each for each in state if each != path and not each.startswith(path + "/")}
        assert sorted(state) == names_below(folder)


def test_what_is_told_adds_up_to_what_is_there(shared_door, place):
    """A random workload; a reader who only believes events ends with the tree as it is."""
    folder, name = place
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # pytest shows it where the test fails
    chance = random.Random(seed)
    with shared_door.target.session() as session:
        reader = Reader(session, path=name, debounce_ms=20)
        state = set()
        for _ in range(12):
            steps = []
            for _ in range(60):
                a, b = (f"{chance.choice('abc')}/{chance.choice('de')}/{chance.choice('fg')}" for _ in range(2))
                cut = chance.choice([1, 3, 5])
                steps.append(
                    chance.choice(
                        [
                            f"mkdir -p {a[:cut]}",
                            f"echo x > {a}",
                            f"echo x >> {a}",
                            f"rm -rf {a[:cut]}",
                            f"mv -T {a[:cut]} {b[:cut]}",
                            f"mkdir -p {a[:3]}; echo x > {a}",
                            f"ln -sfn {b} {a}",
                        ]
                    )
                )
            session.shell(f"cd {name}; " + "; ".join(f"{{ {step}; }} 2>/dev/null" for step in steps), 60)
            for word in words(reader.read(session, max_events=5000)):
                op, _, path = word.partition(" ")
                if op == "move":
                    old, _, path = path.partition(" -> ")
                    moved = {each for each in state if each == old or each.startswith(old + "/")}
                    gone = {each for each in state if each == path or each.startswith(path + "/")}
                    state = state - moved - gone | {path + each[len(old):] for each in moved}
                elif op == "create":
                    state.add(path)
                elif op == "delete":
                    state = {each for each in state if each != path and not each.startswith(path + "/")}
            there = names_below(folder)
            assert sorted(state) == there, sorted(state ^ set(there))


def test_deep_new_trees_are_watched_to_the_bottom(shared_door, place):
    _, name = place
    deep = "/".join(str(level) for level in range(100))
    with shared_door.target.session() as session:
        reader = Reader(session, path=name)
        session.shell(f"cd {name}; mkdir -p {deep}; echo x > {deep}/bottom")
        made = words(reader.read(session))
        assert len(made) == 101 and made[-1] == f"create {name}/{deep}/bottom"
        session.shell(f"cd {name}; echo y > {deep}/later")
        assert words(reader.read(session)) == [f"create {name}/{deep}/later"]


def test_a_reader_who_stayed_away_too_long_is_told_to_list_again(shared_door, place):
    _, name = place
    with shared_door.target.session() as session:
        reader = Reader(session, path=name)
        for turn in range(3):
            session.shell(f"cd {name}; mkdir {turn}; cd {turn}; seq 1 4000 | xargs touch", 60)
            watch(session, cursor=reader.cursor.split(".")[0] + ".0", wait_seconds=0)
        lost = watch(session, cursor=reader.cursor.split(".")[0] + ".0", wait_seconds=0)
        assert lost["overflow"] and [event["op"] for event in lost["events"]] == ["overflow"]
        assert lost["events"][0]["path"] == name
        session.shell(f"echo x > {name}/after")
        assert words(watch(session, cursor=lost["next_cursor"], wait_seconds=0)) == [f"create {name}/after"]


def test_globs_and_hidden_folders(shared_door, place):
    _, name = place
    with shared_door.target.session() as session:
        session.shell(f"cd {name}; git init -q . 2>/dev/null || mkdir .git; mkdir node_modules")
        plain = Reader(session, path=name)
        python = Reader(session, path=name, include=["**/*.py"], exclude=["old/**"])
        everything = Reader(session, path=name, exclude=[])
        session.shell(f"cd {name}; echo x > .git/x; echo x > node_modules/y; mkdir old; echo x > old/a.py; echo x > b.py; echo x > c.txt")
        assert sorted(words(plain.read(session))) == [f"create {name}/{each}" for each in ("b.py", "c.txt", "old", "old/a.py")]
        assert words(python.read(session)) == [f"create {name}/b.py"]
        assert f"create {name}/.git/x" in words(everything.read(session))


def test_cursors_of_other_watches_and_garbage_are_refused(shared_door, place):
    _, name = place
    with shared_door.target.session() as session:
        reader = Reader(session, path=name)
        watch_id, seq = reader.cursor.split(".")
        for cursor in ("x", watch_id, f"{watch_id}.{int(seq) + 1}", f"{watch_id}.-1", "0" * 32 + ".0", "../etc", reader.cursor + " "):
            assert error_of(session, cursor=cursor).startswith("watch_files: BAD_CURSOR: "), cursor
        assert "BAD_CURSOR" in error_of(session, cursor=reader.cursor, path=".")
        assert "BAD_CURSOR" in error_of(session, cursor=reader.cursor, recursive=False)
        assert "BAD_CURSOR" in error_of(session, cursor=reader.cursor, include=["x"])
        assert watch(session, cursor=reader.cursor, path=name, recursive=True, debounce_ms=5000, wait_seconds=0)["events"] == []
        assert "INVALID_ARGUMENT" in error_of(session, close=True)
        assert "BAD_PATTERN" in error_of(session, include=["["])
        for path, code in (("nope", "ENOENT"), ("/etc", "ESCAPE"), ("..", "ESCAPE")):
            assert error_of(session, path=path).startswith(f"watch_files: {code}: ")
        session.shell(f"ln -s /etc {name}/out")
        assert "ESCAPE" in error_of(session, path=f"{name}/out")
        assert words(reader.read(session)) == [f"create {name}/out"]


def test_a_closed_watch_is_gone_and_says_what_it_still_had(shared_door, place):
    _, name = place
    with shared_door.target.session() as session, shared_door.target.session() as other:
        reader = Reader(session, path=name)
        number = other.start("tools/call", {"name": "watch_files", "arguments": {"cursor": reader.cursor, "wait_seconds": FAR}})
        other.ping()
        session.shell(f"echo x > {name}/last; true")
        closed = watch(session, cursor=reader.cursor, close=True)
        assert words(closed) == [f"create {name}/last"]
        assert "BAD_CURSOR" in error_of(session, cursor=reader.cursor)
        answer = other.reply(number, 60)["result"]
        assert answer["isError"] or words(answer["structuredContent"]) == [f"create {name}/last"], answer


def test_a_seventeenth_watch_is_refused_until_one_is_closed(door):
    with door.target.session() as session:
        session.shell("for i in $(seq 1 17); do mkdir d$i; done")
        readers = [Reader(session, path=f"d{number}") for number in range(1, 17)]
        refused = error_of(session, path="d17")
        assert refused.startswith("watch_files: WATCH_LIMIT: ") and "/d16" in refused, refused
        watch(session, cursor=readers[0].cursor, close=True)
        Reader(session, path="d17")
        assert len(hosts(door)) == 1


def test_twenty_thousand_folders_end_the_watch_and_hang_nothing(door):
    with door.target.session() as session, door.target.session() as other:
        session.shell("mkdir small many")
        small = Reader(session, path="small")
        reader = Reader(session, path="many", debounce_ms=50)
        number = session.start("tools/call", {"name": "watch_files", "arguments": {"cursor": reader.cursor, "wait_seconds": 1}})
        other.shell("cd many; for i in $(seq 1 100); do mkdir $i; (cd $i; seq 1 200 | xargs mkdir); done", 120)
        session.reply(number, 120)
        end = time.monotonic() + 120
        said = None
        while said is None:
            assert time.monotonic() < end
            result = session.request("tools/call", {"name": "watch_files", "arguments": {"cursor": reader.cursor, "wait_seconds": 1, "max_events": 5000}}, 120)
            if result["isError"]:
                said = result["content"][0]["text"]
            else:
                reader.cursor = result["structuredContent"]["next_cursor"]
        assert said.startswith("watch_files: WATCH_LIMIT: more than 10000 folders"), said
        assert error_of(session, path="many").startswith("watch_files: WATCH_LIMIT: more than 10000 folders")
        session.shell("echo x > small/f")
        assert words(small.read(session)) == ["create small/f"]


def test_a_cancelled_wait_and_a_lost_session_end_at_once(shared_door, place):
    _, name = place
    with shared_door.target.session() as session:
        reader = Reader(session, path=name)
        number = session.start("tools/call", {"name": "watch_files", "arguments": {"cursor": reader.cursor, "wait_seconds": 50}})
        session.ping()
        session.notify("notifications/cancelled", {"requestId": number})
        assert session.finish() == 0  # which waits for calls that run, but not so long
        assert all(line.get("id") != number for line in session.lines)


def test_a_killed_host_is_replaced_and_its_cursors_say_so(door):
    with door.target.session() as session:
        session.shell("mkdir d")
        reader = Reader(session, path="d")
        number = session.start("tools/call", {"name": "watch_files", "arguments": {"cursor": reader.cursor, "wait_seconds": 50}})
        session.ping()
        (host,) = hosts(door)
        door.kill(host.pid)
        answer = session.reply(number, 60)["result"]
        assert "BAD_CURSOR" in answer["content"][0]["text"], answer
        assert "BAD_CURSOR" in error_of(session, cursor=reader.cursor)
        again = Reader(session, path="d")
        session.shell("echo x > d/f")
        assert words(again.read(session)) == ["create d/f"]
        listed = session.call("process_list", {})["processes"]
        assert not [each for each in listed if "watch" in each["name"]], listed


def test_many_sessions_that_begin_at_once_share_one_host(door):
    with ExitStack() as stack:
        sessions = [stack.enter_context(door.target.session()) for _ in range(6)]
        numbers = [each.start("tools/call", {"name": "watch_files", "arguments": {"wait_seconds": 0}}) for each in sessions]
        results = [each.reply(number, 60)["result"] for each, number in zip(sessions, numbers)]
        assert not any(result["isError"] for result in results), results
        assert len({result["structuredContent"]["next_cursor"].split(".")[0] for result in results}) == 1
        assert len(hosts(door)) == 1


def test_an_agent_box_by_itself_watches_as_long_as_its_session_lives(tmp_path):
    with bare_session(tmp_path) as session:
        reader = Reader(session)
        session.shell("echo x > f")
        assert words(reader.read(session)) == ["create f"]
        assert session.finish() == 0


def test_an_agent_box_without_an_output_folder_says_that_it_cannot(tmp_path):
    environment = {"PATH": os.environ["PATH"], "AGENTBOX_WORKSPACE": str(tmp_path)}
    with Session([str(programs.BOX)], env=environment, cwd="/") as session:
        assert error_of(session, wait_seconds=0).startswith("watch_files: SPAWN_FAILED: ")
