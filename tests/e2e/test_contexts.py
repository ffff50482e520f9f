"""Code contexts belong to the box: an interpreter keeps its state over calls and sessions, and survives its code."""
import base64
import os
import shutil

import pytest
from kit.processes import alive
from kit.programs import SANITIZED
from kit.waiting import wait_until

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==")
PICTURE = f"class Picture:\n    def __init__(self, data): self.data = data\n    def _repr_png_(self): return self.data\npng = {PNG!r}\n"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="there is no node on this machine")


@pytest.fixture(autouse=True)
def clean(shared_door):
    """Ends the contexts of a test."""
    yield
    with shared_door.target.session() as session:
        for context in contexts(session):
            session.call("code_context_delete", {"context_id": context["context_id"]}, 60)


@pytest.fixture
def session(shared_door):
    with shared_door.target.session() as opened:
        yield opened


def contexts(session):
    return session.call("code_context_list", {}, 60)["contexts"]


def create(session, **arguments):
    return session.call("code_context_create", arguments, 60)["context_id"]


def request(session, code, **arguments):
    return session.request("tools/call", {"name": "code_execute", "arguments": {"code": code, **arguments}}, 120)


def run(session, code, **arguments):
    """What an execution without an error gives."""
    result = request(session, code, **arguments)
    assert not result["isError"], result
    return result["structuredContent"]


def error(session, code, **arguments):
    """Code and whole text of one that fails."""
    result = request(session, code, **arguments)
    assert result["isError"], result
    about = result["_meta"]["agentbox/error"]
    text = result["content"][0]["text"]
    assert text.startswith(f"code_execute: {about['code']}: "), text
    return about["code"], text


def start(session, code, **arguments):
    """Starts a call and returns its request's number, once the execution runs."""
    number = session.start("tools/call", {"name": "code_execute", "arguments": {"code": code, **arguments}})
    return number


def host_of(door):
    """The one context's host; the keeper of its interpreter is a fork of it, with the same words."""
    found = {process.pid: process for process in door.box_processes() if "context-host" in process.command}
    (host,) = [process for process in found.values() if process.parent not in found]
    return host.pid


def busy(session, context=None):
    return [each for each in contexts(session) if each["busy"] and context in (None, each["context_id"])]


def test_state_is_kept_between_calls_and_sessions(shared_door):
    with shared_door.target.session() as first:
        reply = run(first, "import math\nx = 20\ndef double(n):\n    return 2 * n\nprint('made')")
        assert (reply["status"], reply["stdout"], reply["execution_count"]) == ("ok", "made\n", 1)
        assert reply["default_context"] == "python" and "result" not in reply
        assert first.finish() == 0
    wait_until("no session is left", lambda: not shared_door.sessions())
    with shared_door.target.session() as second:
        reply = run(second, "double(x) + math.floor(2.5)")
        assert (reply["result"], reply["execution_count"], reply["stdout"]) == ("42", 2, "")
        (found,) = contexts(second)
        assert found["default"] and found["language"] == "python" and not found["busy"]
        assert found["execution_count"] == 2 and alive(found["pid"])


def test_contexts_know_nothing_of_each_other(session):
    one, two = create(session, name="one"), create(session, name="two", env={"WHO": "two"})
    assert run(session, "x = 1; x", context_id="one")["context_id"] == one
    assert run(session, "x = 2\nimport os; os.environ.get('WHO')", context_id=two)["result"] == "'two'"
    assert run(session, "x, __import__('os').environ.get('WHO')", context_id=one)["result"] == "(1, None)"
    assert error(session, "y", context_id="one")[0] == "EXCEPTION"
    assert {each["name"] for each in contexts(session)} == {"one", "two"}


def test_an_exception_comes_with_its_output_and_a_traceback_of_the_code_alone(session):
    code, text = error(session, "print('before')\ndef f(n):\n    return 1 / n\nf(0)")
    assert code == "EXCEPTION" and "ZeroDivisionError: division by zero" in text
    assert "--- stdout ---\nbefore\n" in text
    assert "line 3, in f\n    return 1 / n\n" in text and "line 4, in <module>\n    f(0)\n" in text
    assert text.count("  File ") == 2, "no frame of the driver's"
    assert "SyntaxError" in error(session, "1 +")[1]
    assert run(session, "f(2)")["result"] == "0.5", "what came before the exception is kept"


def test_output_of_programs_comes_too_and_in_order(session):
    reply = run(session, "import os, sys\nprint(1); os.system('echo 2; echo e >&2'); print(3); print('f', file=sys.stderr)\nNone")
    assert (reply["stdout"], reply["stderr"]) == ("1\n2\n3\n", "e\nf\n")


def test_stdin_is_empty_and_exit_leaves_the_context(session):
    assert "EOFError" in error(session, "input()")[1]
    reply = run(session, "z = 5\nimport sys; sys.exit(3)")
    assert (reply["status"], reply["exit_code"]) == ("ok", 3)
    assert run(session, "z")["result"] == "5"


def test_images_come_as_blocks_or_as_files(session):
    result = request(session, PICTURE + "Picture(png)")
    text, image = result["content"]
    assert image["type"] == "image" and image["mimeType"] == "image/png" and base64.b64decode(image["data"]) == PNG
    assert "structuredContent" not in result and "--- result ---" in text["text"]
    reply = run(session, "Picture(png)", images="path")
    (path,) = reply["images"]
    shown = session.call("file_info", {"path": path, "sha256": True})
    assert shown["size"] == len(PNG)
    left_out = request(session, "Picture(bytes(6 << 20))")
    assert "images_left_out: 1" in left_out["content"][0]["text"] and len(left_out["content"]) == 1


def test_figures_that_are_open_at_the_end_are_shown_and_closed(session):
    """A module with the surface of matplotlib.pyplot, which is too large to come along with the tests."""
    pyplot = (
        "import sys, types\nplot = types.ModuleType('matplotlib.pyplot')\nfigures = [1, 2]\nclass Figure:\n"
        "    def savefig(self, data, format): data.write(png)\n"
        "plot.get_fignums = lambda: list(figures)\nplot.figure = lambda number: Figure()\n"
        "plot.close = lambda which: figures.clear()\nsys.modules['matplotlib.pyplot'] = plot\n"
        "import os; os.environ['MPLBACKEND']"
    )
    result = request(session, PICTURE + pyplot)
    assert [block["type"] for block in result["content"]] == ["text", "image", "image"]
    assert "--- result ---\n'Agg'" in result["content"][0]["text"]
    assert run(session, "figures")["result"] == "[]"


def test_a_timeout_interrupts_and_keeps_the_state(session):
    run(session, "kept = 7")
    code, text = error(session, "print('in', flush=True)\nwhile True: pass", timeout_seconds=0.5)
    assert code == "TIMEOUT" and "state of the context is kept" in text
    assert "KeyboardInterrupt" in text and "--- stdout ---\nin\n" in text
    reply = run(session, "kept")
    assert reply["result"] == "7" and "restarted" not in reply


def test_code_that_ignores_the_interrupt_is_killed_with_its_tree(session, shared_door):
    run(session, "kept = 7")
    code, text = error(
        session,
        "import signal, subprocess\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '8101'], start_new_session=True)\nwhile True: pass",
        timeout_seconds=0.5,
    )
    assert code == "TIMEOUT" and "state of the context is lost" in text
    wait_until("what it started is gone", lambda: not [p for p in shared_door.box_processes() if "8101" in p.command])
    reply = run(session, "'kept' in globals()")
    assert reply["result"] == "False" and reply["restarted"]
    assert "restarted" not in run(session, "1")


def test_a_killed_interpreter_is_said_and_replaced(session, shared_door):
    code, text = error(session, "import os, signal\nprint('so far', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)")
    assert code == "CONTEXT_DIED" and "SIGKILL" in text and "so far" in text
    reply = run(session, "1 + 1")
    assert (reply["result"], reply["restarted"]) == ("2", True)
    # Between two executions.
    shared_door.kill(contexts(session)[0]["pid"])
    wait_until("its host knows", lambda: "pid" not in contexts(session)[0])
    assert run(session, "3")["restarted"]


def test_a_killed_host_is_said_and_the_next_call_starts_afresh(session, shared_door):
    run(session, "x = 1")
    host = host_of(shared_door)
    number = start(session, "import time; time.sleep(60)")
    wait_until("it runs", lambda: busy(session))
    shared_door.kill(host)
    result = session.reply(number, 60)["result"]
    assert result["_meta"]["agentbox/error"]["code"] == "CONTEXT_DIED"
    wait_until("its record is closed", lambda: not contexts(session))
    assert error(session, "x")[0] == "EXCEPTION"


def test_a_host_whose_socket_is_gone_is_ended_and_replaced(session, shared_door):
    context = run(session, "x = 1")["context_id"]
    host = host_of(shared_door)
    os.unlink(shared_door.folder / "box/out/jobs" / context / "socket")
    wait_until("the list has noticed", lambda: not contexts(session), 40)
    wait_until("it has ended", lambda: host not in [each.pid for each in shared_door.box_processes()])
    assert error(session, "x")[0] == "EXCEPTION"


def test_a_stopped_host_keeps_no_session_waiting(session, shared_door):
    context = run(session, "x = 1")["context_id"]
    session.shell(f"kill -STOP {host_of(shared_door)}")
    code, _ = error(session, "x", yield_seconds=0.2)
    assert code == "INTERNAL"
    (found,) = contexts(session)
    assert found["answers"] is False and found["language"] == "python"
    assert session.call("code_context_delete", {"context_id": context}, 60)["deleted"]
    assert error(session, "x")[0] == "EXCEPTION"


def test_cancelling_interrupts_and_keeps_the_context(session):
    run(session, "kept = 1")
    number = start(session, "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    kept = 2\n    raise")
    wait_until("it runs", lambda: busy(session))
    session.notify("notifications/cancelled", {"requestId": number})
    wait_until("it was interrupted", lambda: not busy(session))
    assert run(session, "kept")["result"] == "2"


def test_a_cut_link_interrupts(shared_door, session):
    with shared_door.target.session() as other:
        run(other, "kept = 1")
        start(other, "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    kept = 2\n    raise")
        wait_until("it runs", lambda: busy(session))
        other.process.kill()
    wait_until("it was interrupted", lambda: not busy(session))
    assert run(session, "kept")["result"] == "2"


def test_what_yields_runs_on_and_its_result_waits(shared_door):
    with shared_door.target.session() as first:
        reply = run(first, "import time\nprint('one', flush=True)\ntime.sleep(3)\nprint('two')\n'end'", yield_seconds=0.3)
        assert reply["status"] == "running"
        context = reply["context_id"]
        code, text = error(first, "1", context_id=context)
        assert code == "CONTEXT_BUSY" and context in text
        assert first.call("process_output", {"process_id": context})["output"] == "one\n"
        assert first.finish() == 0
    wait_until("no session is left", lambda: not shared_door.sessions())
    with shared_door.target.session() as second:
        reply = run(second, "", context_id=context)
        assert (reply["status"], reply["stdout"], reply["result"]) == ("ok", "one\ntwo\n", "'end'")
        assert run(second, "", context_id=context)["result"] == "'end'", "it can be fetched again"
        run(second, "import time; time.sleep(0.5); 1", yield_seconds=0.1)
        wait_until("it is over", lambda: not busy(second))
        assert "result of execution 2" in request(second, "2")["content"][0]["text"]


def test_empty_code_where_nothing_ran_is_refused(session):
    create(session, name="new")
    assert error(session, "", context_id="new")[0] == "INVALID_ARGUMENT"


def test_interrupting_on_request_keeps_the_context(session):
    context = create(session)
    number = start(session, "while True: pass", context_id=context)
    wait_until("it runs", lambda: busy(session, context))
    reply = session.call("code_context_delete", {"context_id": context, "interrupt": True})
    assert (reply["deleted"], reply["interrupted"]) == (False, True)
    assert session.reply(number, 60)["result"]["_meta"]["agentbox/error"]["code"] == "INTERRUPTED"
    assert run(session, "1", context_id=context)["result"] == "1"
    assert not session.call("code_context_delete", {"context_id": context, "interrupt": True})["interrupted"]


def test_deleting_ends_the_whole_tree(session, shared_door):
    context = create(session, name="gone")
    pid = int(run(session, "import os, subprocess\nsubprocess.Popen(['setsid', 'sleep', '8102'])\nos.getpid()", context_id="gone")["result"])
    assert pid == contexts(session)[0]["pid"]
    assert session.call("code_context_delete", {"context_id": "gone"}, 60)["deleted"]
    assert not [p for p in shared_door.box_processes() if "8102" in p.command or p.pid == pid]
    code, text = error(session, "1", context_id=context)
    assert code == "UNKNOWN_CONTEXT"


def test_long_output_keeps_head_and_tail_and_the_whole_can_be_read(session):
    run(session, "print('earlier')")
    reply = run(session, "for i in range(20000): print('line', i)", max_output_bytes=1000)
    assert reply["truncated"] and reply["stdout"].startswith("line 0\n") and reply["stdout"].endswith("line 19999\n")
    assert len(reply["stdout"]) < 1300
    cursor = int(reply["stdout"].split("cursor=")[1].split()[0])
    piece = session.call("process_output", {"process_id": reply["context_id"], "cursor": cursor, "max_bytes": 200000})
    whole = "".join(f"line {i}\n" for i in range(20000))
    assert piece["output"] == whole[: len(piece["output"])] and len(piece["output"]) > 190_000


def test_a_huge_result_fills_nobody(session, shared_door):
    reply = run(session, "'a' * 200_000_000")
    assert reply["result_bytes"] == 200_000_002 and len(reply["result"]) < 40_000
    if not SANITIZED:  # its allocator keeps what was freed
        with open(f"/proc/{host_of(shared_door)}/status", encoding="utf-8") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        assert peak < 100_000, "kB"


def test_lines_that_the_code_forges_mislead_nobody_but_itself(session):
    forged = (
        "import os\nfor fd in range(3, 20):\n    try:\n        os.write(fd, b'x' * (9 << 20) + b'\\n{}\\n[[[[[[[[\\n"
        '{"id":99,"done":true}\\n{"id":1,"image":{"mime":"image/png","data":"!"}}\\n\')\n'
        "    except OSError:\n        pass\n'end'"
    )
    assert run(session, forged)["result"] == "'end'"
    assert run(session, "1 + 1")["result"] == "2"


def test_no_more_than_eight_and_the_error_names_the_idle_ones(session):
    made = [create(session, language="bash") for _ in range(8)]
    result = session.request("tools/call", {"name": "code_context_create", "arguments": {}}, 60)
    text = result["content"][0]["text"]
    assert result["isError"] and "TOO_MANY_CONTEXTS" in text
    assert all(context in text for context in made)


def test_a_name_is_taken_once_and_a_language_may_be_missing(session, shared_door):
    create(session, name="x" * 64, language="bash")
    result = session.request("tools/call", {"name": "code_context_create", "arguments": {"name": "x" * 64}}, 60)
    assert result["_meta"]["agentbox/error"]["code"] == "EEXIST"
    result = session.request(
        "tools/call", {"name": "code_context_create", "arguments": {"language": "node", "env": {"PATH": "/nowhere"}}}, 60
    )
    assert result["_meta"]["agentbox/error"]["code"] == "LANGUAGE_UNAVAILABLE"
    result = session.request("tools/call", {"name": "code_context_create", "arguments": {"cwd": "../.."}}, 60)
    assert result["_meta"]["agentbox/error"]["code"] == "ESCAPE"


def test_an_unused_context_ends(session):
    context = create(session, language="bash", idle_timeout_seconds=60)
    run(session, "sleep 8103 & x=1", context_id=context)
    wait_until("it has ended", lambda: not contexts(session), 90)
    code, text = error(session, "echo $x", context_id=context)
    assert code == "UNKNOWN_CONTEXT" and "code_context_create" in text


def test_bash_keeps_its_folder_variables_and_functions(session):
    bash = {"language": "bash"}
    assert run(session, "mkdir -p deep; cd deep; v='a b'; f() { echo \"f:$v\"; }; declare -A m; m[k]=1", **bash)["exit_code"] == 0
    reply = run(session, "f; basename \"$PWD\"; echo ${m[k]}; cat; echo err >&2; false", **bash)
    assert (reply["stdout"], reply["stderr"], reply["exit_code"]) == ("f:a b\ndeep\n1\n", "err\n", 1)
    assert "result" not in reply
    code, text = error(session, "echo x; while :; do :; done; echo never", timeout_seconds=0.5, **bash)
    assert code == "TIMEOUT" and "kept" in text and "never" not in text
    assert run(session, "f", **bash)["stdout"] == "f:a b\n"
    reply = run(session, "exit 4", **bash)
    assert (reply["status"], reply["exit_code"], reply["state_lost"]) == ("exited", 4, True)
    reply = run(session, "echo \"${v-unset}\"", **bash)
    assert reply["stdout"] == "unset\n" and reply["restarted"]


@needs_node
def test_node_keeps_its_names_awaits_and_is_interrupted(session):
    node = {"language": "node"}
    assert run(session, "const n = 20; let o = {a: [1, {b: 2}]}; class C {}", **node)["status"] == "ok"
    assert run(session, "const n = 21; n * 2", **node)["result"] == "42", "a name may be declared again"
    assert run(session, "await new Promise((done) => setTimeout(() => done(o), 20))", **node)["result"] == "{ a: [ 1, { b: 2 } ] }"
    assert run(session, "console.log('out'); console.error('err'); require('fs').existsSync('/')", **node)["stdout"] == "out\n"
    code, text = error(session, "function f() { null.x }\nf()", **node)
    assert code == "EXCEPTION" and "TypeError: Cannot read" in text and "execution-5:2:1" in text and "node:" not in text
    code, text = error(session, "while (true) {}", timeout_seconds=0.5, **node)
    assert code == "TIMEOUT" and "kept" in text
    assert "kept" in error(session, "await new Promise(() => {})", timeout_seconds=0.5, **node)[1]
    assert run(session, "n", **node)["result"] == "21"
    reply = run(session, "process.exit(3)", **node)
    assert (reply["status"], reply["exit_code"]) == ("exited", 3)


def test_an_interpreter_sees_what_commands_see_and_no_more(session):
    reply = run(session, "import os\nsorted(os.environ), os.getcwd(), os.listdir('/proc/self/fd')")
    assert "AGENTBOX" not in reply["result"] and "MPLBACKEND" in reply["result"]
    shell = session.shell("pwd")["stdout"].strip()
    assert repr(shell) in reply["result"]
