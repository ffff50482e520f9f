"""What is published of each tool holds: its results conform to its output schema, and what its input
schema allows and forbids the server takes and refuses."""
import json
import os
import random
import re

import pytest
from jsonschema import Draft202012Validator
from kit.bare import bare_session

# Arguments under which a tool succeeds, so that every form of its result is seen. In this order.
CALLS = [
    ("shell_exec", {"command": "echo out; echo err >&2; exit 3"}),
    ("shell_exec", {"command": "printf '\\377'; sleep 30", "timeout_seconds": 0.2}),
    ("shell_exec", {"command": "yes | head -c 200000; sleep 60 &", "max_output_bytes": 100}),
    ("shell_exec", {"command": "echo", "args": ["a"], "merge_stderr": True, "env": {"A": "b"}, "stdin": "x"}),
    ("shell_exec", {"command": "tty; sleep 60", "tty": True, "yield_seconds": 0.2}),
    ("process_start", {"command": "cat", "name": "cat", "tty": {"cols": 90}, "wait_for": "x", "wait_seconds": 0.1}),
    ("process_start", {"command": "printf '\\377'; exit 3", "name": "short", "wait_seconds": 10}),
    ("process_input", {"process_id": "cat", "data": "hi", "keys": ["enter"], "wait_for_pattern": "hi"}),
    ("process_resize", {"process_id": "cat", "cols": 80, "rows": 24}),
    ("process_output", {"process_id": "cat", "pattern": "hi", "wait_seconds": 1}),
    ("process_output", {"process_id": "short", "tail_lines": 1, "max_bytes": 10}),
    ("process_list", {"system": True}),
    ("process_kill", {"name": "cat", "signal": "SIGCONT"}),
    ("process_kill", {"name": "cat", "force": True}),
    ("process_list", {"all": True}),
    ("write_file", {"path": "d/a.txt", "content": "one\ntwo\n"}),
    ("write_file", {"path": "d/a.txt", "content": "AP8=", "encoding": "base64"}),
    ("write_file", {"path": "d/a.txt", "content": "x", "append": True}),
    ("write_file", {"path": "b.py", "content": "print()\n", "mode": "0755", "if_absent": True}),
    ("read_file", {"path": "d/a.txt"}),
    ("read_file", {"path": "d/a.txt", "encoding": "utf-8"}),
    ("read_file", {"path": "b.py", "head": 1, "line_numbers": True}),
    ("read_file", {"path": "b.py", "tail": 1, "max_line_chars": 2}),
    ("read_file", {"path": "b.py", "start_line": 1, "sha256": False}),
    ("read_file", {"path": "b.py", "offset": 2, "limit": 3}),
    ("read_files", {"paths": ["b.py", "nope", "d/a.txt"]}),
    ("shell_exec", {"command": "ln -s b.py link; mkfifo fifo; touch \"$(printf 'no\\377utf')\""}),
    ("shell_exec", {"command": "printf 'RIFF....WAVE\\0' > a.wav; printf '<svg/>' > a.svg; printf '\\0' > a.bin"}),
    ("read_media", {"path": "a.wav"}),
    ("read_media", {"path": "a.svg"}),
    ("read_media", {"path": "a.bin", "max_bytes": 1}),
    ("list_directory", {}),
    ("list_directory", {"depth": 3, "include_hidden": True, "sort": "size", "limit": 2}),
    ("glob_files", {"pattern": "**"}),
    ("glob_files", {"pattern": "**", "type": "any", "limit": 1, "sort": "name"}),
    ("file_info", {"path": "b.py", "sha256": True}),
    ("file_info", {"path": "link"}),
    ("file_info", {"path": "fifo"}),
    ("file_info", {"path": "nope"}),
    ("file_info", {"path": "."}),
    ("tail_log", {"path": "b.py", "start_offset": 0, "follow_seconds": 0}),
    ("tail_log", {"path": "b.py", "start_offset": 99, "follow_seconds": 0.1, "until": "print", "strip_ansi": True}),
    ("tail_log", {"path": "d/a.txt", "start_offset": 0, "follow_seconds": 0, "max_bytes": 1}),
    ("watch_files", {"wait_seconds": 0}),
    ("watch_files", {"path": "b.py", "wait_seconds": 0.1, "debounce_ms": 0, "recursive": False}),
    ("watch_files", {"path": "d", "include": ["*.txt"], "exclude": ["x"], "wait_seconds": 0, "max_events": 1}),
    ("edit_file", {"path": "b.py", "old_string": "print", "new_string": "exit", "dry_run": True}),
    ("edit_file", {"path": "b.py", "edits": [{"old_string": "print", "new_string": "exit"}]}),
    ("edit_file", {"path": "new.txt", "old_string": "", "new_string": "line\n" * 20000}),
    ("apply_edits", {"operations": [{"op": "write", "path": "ops/a", "content": "a\n"}], "dry_run": True}),
    ("apply_edits", {"operations": [
        {"op": "write", "path": "ops/a", "content": "line\n" * 30000},
        {"op": "edit", "path": "ops/a", "edits": [{"old_string": "line", "new_string": "x", "replace_all": True}]},
        {"op": "mkdir", "path": "ops/d"},
        {"op": "move", "path": "ops/a", "destination": "ops/d/b"},
        {"op": "chmod", "path": "ops/d/b", "mode": "0600"}]}),
    ("apply_patch", {"patch": "--- a/ops/d/b\n+++ b/ops/d/b\n@@ -1 +1 @@\n-x\n+y\n", "dry_run": True}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: ops/p\n+a\n*** End Patch\n"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: ops/p\n*** Move to: ops/q\n-a\n+b\n*** End Patch\n"}),
    ("apply_edits", {"operations": [{"op": "delete", "path": "ops", "recursive": True}]}),
    ("search_files", {"pattern": "exit", "before": 1, "after": 1}),
    ("search_files", {"pattern": "line", "max_results": 2}),
    ("search_files", {"pattern": "line", "output_mode": "count", "path": "new.txt"}),
    ("search_files", {"pattern": "line", "output_mode": "files_with_matches", "max_filesize": 1}),
    ("create_directory", {"path": "x/y"}),
    ("create_directory", {"path": "x/y"}),
    ("move_file", {"source": "b.py", "destination": "x/c.py"}),
    ("move_file", {"source": "x/c.py", "destination": "d/a.txt"}),
    ("copy_file", {"source": "d/a.txt", "destination": "copied/a.txt"}),
    ("copy_file", {"source": "copied", "destination": "copied2", "recursive": True}),
    ("copy_file", {"source": "link", "destination": "copied/a.txt", "overwrite": True}),
    ("set_permissions", {"path": "copied2", "mode": "0700"}),
    ("set_permissions", {"path": "copied2", "mode": "0600", "recursive": True}),
    ("delete_file", {"path": "link"}),
    ("delete_file", {"path": "x", "recursive": True}),
    ("delete_file", {"path": "x", "missing_ok": True}),
    ("upload_chunk", {"path": "up/load", "data": "AAE="}),
    ("upload_chunk", {"path": "up/done", "data": "AAE=", "total_size": 2, "mode": "0600"}),
    ("download_chunk", {"path": "up/done", "file_sha256": True}),
    ("download_chunk", {"path": "up/done", "offset": 1, "length": 1}),
    ("code_context_create", {"language": "bash", "name": "shell", "cwd": "d", "env": {"A": "b"}}),
    ("code_execute", {"code": "echo $A; echo err >&2; exit 3", "context_id": "shell"}),
    ("code_execute", {"code": "yes | head -c 90000", "context_id": "shell", "max_output_bytes": 100}),
    ("code_execute", {"code": "sleep 60", "context_id": "shell", "yield_seconds": 0.2, "images": "path"}),
    ("code_context_list", {}),
    ("code_context_delete", {"context_id": "shell", "interrupt": True}),
    ("code_context_delete", {"context_id": "shell"}),
    ("code_context_list", {}),
    ("list_blobs", {}),
    ("write_random_blob", {"name": "blob", "size_bytes": 10}),
    ("read_blob", {"name": "blob"}),
    ("list_blobs", {}),
    ("list_ports", {}),
    ("list_ports", {"protocol": "all"}),
    ("system_info", {}),
    ("system_info", {"metrics": False}),
]
# The words of the reader of arguments, as against those of a tool that was reached.
REFUSED = re.compile(
    r'\w+: INVALID_ARGUMENT: ("\w+"(, item \d+)?: )*("\w+" (must|is missing|is given twice|has \d+)|unknown argument )')

# What a tool needs besides the argument that is tried; nothing here does any harm.
HARMLESS = {
    "command": "true",
    "path": "nope/nope",
    "paths": ["nope"],
    "source": "nope",
    "destination": "nope/there",
    "pattern": "nope",
    "content": "",
    "operations": [{"op": "delete", "path": "nope"}],
    "patch": "nope",
    "name": "blob",
    "size_bytes": 0,
    "process_id": "nope",
    "cols": 80,
    "rows": 24,
    "code": "1",
    "context_id": "nope",
}
# The same for arguments that are not required: without this its calls would wait for what never comes.
BESIDES = {"watch_files": {"path": "nope/nope"}}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    with bare_session(tmp_path_factory.mktemp("schemas")) as opened:
        yield opened


@pytest.fixture(scope="module")
def tools(session):
    return {tool["name"]: tool for tool in session.request("tools/list")["tools"]}


def test_every_schema_is_one_and_has_the_shape_that_clients_take(tools):
    for name, tool in tools.items():
        for schema in (tool["inputSchema"], tool.get("outputSchema", {"type": "object"})):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object", name
            assert not {"oneOf", "anyOf", "allOf", "if", "not", "$ref"} & set(schema), name
        assert tool["inputSchema"]["additionalProperties"] is False, name
        for argument, about in tool["inputSchema"]["properties"].items():
            assert isinstance(about["type"], str), (name, argument)
            if "default" in about:
                assert Draft202012Validator(about).is_valid(about["default"]), (name, argument)


def test_every_result_conforms_to_the_schema_that_is_published(session, tools):
    for name, arguments in CALLS:
        result = session.request("tools/call", {"name": name, "arguments": arguments})
        assert result["isError"] is False, (name, arguments, result)
        if "outputSchema" not in tools[name]:
            continue
        problems = list(Draft202012Validator(tools[name]["outputSchema"]).iter_errors(result["structuredContent"]))
        assert not problems, (name, arguments, problems)
        unknown = set(result["structuredContent"]) - set(tools[name]["outputSchema"]["properties"])
        assert not unknown, (name, arguments, unknown)


def test_every_tool_is_called_here(tools):
    called = {name for name, _ in CALLS}
    missing = {name for name in tools if name not in called}
    assert not missing, f"add calls of {missing} to CALLS"


def allowed(about):
    """Values at the bounds of what the schema of one argument allows."""
    if "enum" in about:
        return about["enum"]
    if about.get("pattern") == "^[0-9a-f]{64}$":
        return ["0" * 64]
    if about.get("pattern", "").startswith("^[A-Za-z0-9]"):
        return ["a", "x" * 64]
    if "properties" in about:
        return [{}]
    if "pattern" in about:
        return ["644", "0644", "7777", "07777"]
    kind = about["type"]
    if kind == "string":
        return ["x" * max(about.get("minLength", 0), 1), "x" * about.get("maxLength", 100)]
    if kind in ("integer", "number"):
        return [about.get("minimum", 0), about.get("maximum", 2**53)]
    if kind == "array":
        item = "x"
        if about["items"]["type"] == "object":
            fields = about["items"]["properties"]
            item = {name: fields[name].get("enum", ["x"])[0] for name in about["items"]["required"]}
        return [[item] * max(about.get("minItems", 0), 1), [item] * about.get("maxItems", 10)]
    return [True, False] if kind == "boolean" else [{"A": "b"}]


def forbidden(about):
    """Values that it forbids and that mean nothing by any reading."""
    kind = about["type"]
    values = [[{}]] if kind == "array" else [["x", {}]]
    if "enum" in about or "pattern" in about:
        values += ["no such/thing", ""]
    if kind == "string" and "maxLength" in about:
        values.append("x" * (about["maxLength"] + 1))
    if kind == "string" and about.get("minLength", 0) > 0:
        values.append("")
    if kind in ("integer", "number"):
        values += ["x", {}]
        values += [about["minimum"] - 1] if "minimum" in about else []
        values += [about["maximum"] + 1] if "maximum" in about else []
    if kind == "integer":
        values.append(1.5)
    if kind == "array":
        values += [["x"] * (about["maxItems"] + 1)] if "maxItems" in about else []
        values += [[]] if about.get("minItems", 0) > 0 else []
    if kind == "boolean":
        values += ["maybe", 2]
    return values


def tried(session, tool, arguments):
    """Whether the reader of arguments let these through, and what was said."""
    result = session.request("tools/call", {"name": tool["name"], "arguments": arguments}, 60)
    text = result["content"][0]["text"] if result["content"] else ""
    return not (result["isError"] and REFUSED.match(text)), text


def base_of(tool, argument):
    required = tool["inputSchema"].get("required", [])
    besides = BESIDES.get(tool["name"], {})
    needed = {name: HARMLESS[name] for name in required} | besides
    return {name: value for name, value in needed.items() if name != argument}


def test_what_the_schema_allows_is_taken(session, tools):
    for tool in tools.values():
        for argument, about in tool["inputSchema"]["properties"].items():
            for value in allowed(about):
                arguments = base_of(tool, argument) | {argument: value}
                Draft202012Validator(tool["inputSchema"]).validate(arguments)
                taken, text = tried(session, tool, arguments)
                assert taken, (tool["name"], argument, str(value)[:60], text[:300])


def test_what_the_schema_forbids_is_refused(session, tools):
    for tool in tools.values():
        wrong = [base_of(tool, None) | {"no_such_argument": 1}]
        wrong += [base_of(tool, name) for name in tool["inputSchema"].get("required", [])]
        for argument, about in tool["inputSchema"]["properties"].items():
            wrong += [base_of(tool, argument) | {argument: value} for value in forbidden(about)]
        for arguments in wrong:
            assert not Draft202012Validator(tool["inputSchema"]).is_valid(arguments), (tool["name"], arguments)
            taken, text = tried(session, tool, arguments)
            assert not taken, (tool["name"], json.dumps(arguments)[:200], text[:300])


# Generated arguments: what a validator says of them and what the reader does are the same, but for the
# other names and spellings that arguments.h promises, which are undone here before the validator is asked.

ALIASES = {
    "file_path": "path", "filepath": "path", "directory": "path", "cmd": "command", "workdir": "cwd", "exec_dir": "cwd",
    "working_directory": "cwd", "old_text": "old_string", "oldText": "old_string", "new_text": "new_string",
    "newText": "new_string", "timeout_ms": "timeout_seconds",
}
FLAGS = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False}
NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
# Texts of these could do something: only harmless ones are tried.
TEXTS = {
    "command": ["true", "true; true"], "code": ["1"], "cwd": [".", "nope"], "confirm": ["RESET"], "path": ["nope/nope"],
    "base_dir": ["nope"], "destination": ["nope/there"], "source": ["nope"], "process_id": ["nope"], "context_id": ["nope"],
}
ROUNDS = int(os.environ.get("AGENTBOX_TEST_SCHEMA_ROUNDS", "25"))
SEED = int(os.environ.get("AGENTBOX_TEST_SCHEMA_SEED", str(random.SystemRandom().randrange(2**32))))


def plain(about, value):
    """VALUE as the reader takes it: the other spellings undone, and nothing else."""
    kind = about["type"]
    if kind in ("integer", "number") and isinstance(value, str) and NUMBER.fullmatch(value):
        return float(value) if kind == "number" or not re.fullmatch(r"-?\d+", value) else int(value)
    if kind == "boolean" and not isinstance(value, bool):
        return FLAGS.get(value if isinstance(value, str) else json.dumps(value), value)
    if kind in ("array", "object") and isinstance(value, str) and value[:1] == ("[" if kind == "array" else "{"):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    scalars = about["items"] if kind == "array" else about.get("additionalProperties")
    if kind == "object" and "properties" in about:
        flag = FLAGS.get(value if isinstance(value, str) else json.dumps(value), None)
        return {} if flag is not None else plain_arguments(about, value) if isinstance(value, dict) else value
    if kind == "array" and isinstance(value, list):
        if scalars["type"] == "object":
            return [plain_arguments(scalars, item) if isinstance(item, dict) else item for item in value]
        return [plain_text(item) for item in value]
    if kind == "object" and isinstance(value, dict):
        return {name: plain_text(item) for name, item in value.items()}
    return value


def plain_text(value):
    return json.dumps(value) if isinstance(value, (bool, int, float)) else value


def plain_arguments(schema, arguments):
    """The same of all of them; None where one is given twice, which no schema can forbid."""
    properties = schema["properties"]
    out = {}
    for name, value in arguments.items():
        if name not in properties and ALIASES.get(name) in properties:
            scale = 0.001 if name == "timeout_ms" else 1
            name = ALIASES[name]
            value = plain(properties[name], value)
            if scale != 1 and isinstance(value, (int, float)) and not isinstance(value, bool):
                value *= scale
        if name in properties:
            if value is None and name not in schema.get("required", []):
                continue
            value = plain(properties[name], value)
        if name in out:
            return None
        out[name] = value
    return out


def beyond_the_reader(about, value):
    """Whether the reader must refuse what no bound of the schema forbids: it counts a text's bytes where the schema counts
    characters, and its whole numbers have 64 bits."""
    if isinstance(value, (int, float)):
        return about.get("type") == "integer" and not -(2**63) <= value < 2**63
    if isinstance(value, str):
        return "maxLength" in about and len(value) <= about["maxLength"] < len(value.encode())
    if isinstance(value, dict):
        inner = about.get("properties", {})
        return any(beyond_the_reader(inner.get(name, {}), item) for name, item in value.items())
    return isinstance(value, list) and any(beyond_the_reader(about.get("items", {}), item) for item in value)


def some_text(dice, name, about):
    if name in TEXTS:
        return dice.choice(TEXTS[name])
    if "enum" in about:
        return dice.choice([*about["enum"], "no such thing"])
    if "pattern" in about:
        return dice.choice(["644", "0755", "a" * 64, "0" * 63, "name-1", "9" * 5, "", "-x", "0" * 65])
    most = about.get("maxLength", 40)
    length = dice.choice([0, 1, 2, 7, most - 1, most, most + 1] if most < 3000 else [0, 1, 2, 7])
    return "".join(dice.choice("ab9 ./é") for _ in range(length))


def some_number(dice, about):
    low, high = about.get("minimum", -5), about.get("maximum", 100_000)
    near = [low, low + 1, low - 1, high, high - 1, high + 1, (low + high) / 2, low + 0.5, dice.uniform(low, high), -(2**63), 2**63, 1e300]
    return dice.choice(near)


def some_value(dice, name, about, depth=0):
    """A value that the schema allows, one that it almost allows, or another spelling of either."""
    if dice.random() < 0.08:
        return dice.choice([None, True, 0, 1, 2, "", "x", "true", "7", "7.0", "[]", "{}", "[1", [], {}, [None], {"a": None}, 1.5])
    kind = about["type"]
    if kind == "string":
        value = some_text(dice, name, about)
    elif kind in ("integer", "number"):
        value = some_number(dice, about)
    elif kind == "boolean":
        value = dice.choice([True, False])
    elif kind == "array":
        item = about["items"]
        count = dice.choice([about.get("minItems", 0), 1, 2] + ([about["maxItems"] + 1] if about.get("maxItems", 1000) < 100 else []))
        value = [some_arguments(dice, item) if item["type"] == "object" else some_value(dice, name, item) for _ in range(count)]
    elif "properties" in about:
        value = some_arguments(dice, about)
    else:
        value = {dice.choice(["A", "B_1", "é"]): some_value(dice, name, {"type": "string"}) for _ in range(dice.randrange(3))}
    if dice.random() < 0.15 and kind != "string":
        value = json.dumps(value)
    return value


def some_arguments(dice, schema):
    required = schema.get("required", [])
    out = {}
    for name, about in schema["properties"].items():
        if dice.random() < (0.97 if name in required or name in TEXTS else 0.3):
            spelling = dice.choice([other for other, one in ALIASES.items() if one == name] or [name]) if dice.random() < 0.1 else name
            out[spelling] = some_value(dice, name, about)
    if dice.random() < 0.05:
        out[dice.choice(["pth", "Command", "x", *ALIASES])] = "true"
    return out


def test_a_validator_and_the_reader_agree_on_generated_arguments(session, tools):
    dice = random.Random(SEED)
    verdicts = {True: 0, False: 0}
    for tool in tools.values():
        validator = Draft202012Validator(tool["inputSchema"])
        for _ in range(ROUNDS):
            arguments = some_arguments(dice, tool["inputSchema"])
            for name, value in BESIDES.get(tool["name"], {}).items():
                if not any(ALIASES.get(given, given) == name for given in arguments):
                    arguments[name] = value
            meant = plain_arguments(tool["inputSchema"], arguments)
            if meant is not None and beyond_the_reader(tool["inputSchema"], meant):
                meant = None
            valid = meant is not None and validator.is_valid(meant)
            taken, text = tried(session, tool, arguments)
            verdicts[valid] += 1
            if taken != valid:
                pytest.fail(f"AGENTBOX_TEST_SCHEMA_SEED={SEED}: {tool['name']}: the validator says {valid}, the reader {taken}\n"
                            f"{json.dumps(arguments)[:2000]}\n{text[:500]}", pytrace=False)
    assert min(verdicts.values()) > sum(verdicts.values()) / 10, verdicts  # else the dice miss what they are for
