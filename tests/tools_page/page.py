"""Writes docs/tools.md from what agent-box publishes, the entries beside this file and answers of real calls, or checks it.

    page.py AGENT_BOX docs/tools.md [--write]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from entries import CODES, ENTRIES

PATIENCE_S = 60
ROLES = ["reader", "agent", "admin", "operator"]
PROFILES = ["core", "standard", "full"]
BEGIN, END = "<!-- generated from here: scripts/tools-page -->", "<!-- generated up to here -->"
RENEW = "Next step: scripts/tools-page writes it anew; look at the difference and commit it."
# What every tool can fail with, besides what an entry lists.
ANY = {"INVALID_ARGUMENT", "CANCELLED", "INTERNAL", "FORBIDDEN", "RATE_LIMITED", "SHUTTING_DOWN"}
TIME = 1_780_000_000  # of every file that is there before a call


class Failure(Exception):
    pass


class Box:
    """One session of an agent-box in a folder of its own."""

    def __init__(self, program, folder, **variables):
        self.folder = folder
        for name in ("ws", "home", "tmp", "out"):
            (folder / name).mkdir()
        environment = {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")}
        environment |= {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        environment |= {f"AGENTBOX_{name}": str(folder / part) for name, part in
                        [("WORKSPACE", "ws"), ("HOME", "home"), ("TMP", "tmp"), ("OUT", "out")]}
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        env=environment | variables, cwd="/")
        self.request("initialize", {"protocolVersion": "2025-11-25"})

    def request(self, method, params=None):
        line = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()
        while answer := self.process.stdout.readline():
            message = json.loads(answer)
            if message.get("id") == 1:
                if "error" in message:
                    raise Failure(f"{method} {params}: {message['error']}")
                return message["result"]
        self.log.seek(0)
        raise Failure(f"agent-box ended: {self.log.read().decode(errors='replace')[-500:]}")

    def call(self, name, arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})

    def tools(self):
        return self.request("tools/list")["tools"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


@contextmanager
def opened(program, **variables):
    folder = Path(tempfile.mkdtemp(prefix="agentbox-page-"))
    try:
        with Box(program, folder, **variables) as box:
            yield box
    finally:
        end = time.monotonic() + PATIENCE_S
        while folder.exists():  # keepers of jobs write their last records when the session has ended
            shutil.rmtree(folder, ignore_errors=time.monotonic() < end)
            time.sleep(0.01)


def fill(workspace):
    """The workspace of every example."""
    files = {"notes.txt": "one\ntwo\nthree\n", "src/main.py": "def main():\n    print('hello')\n"}
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
    for path in (workspace / "src" / "main.py", workspace / "src", workspace / "notes.txt"):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (TIME, TIME))


ID = "9ece681d03fe2e79af419e180c490296"
# What differs from run to run or from machine to machine, by the name it has in text and in structured output.
SHOWN = {
    "pid": 4242, "ppid": 1, "uid": 1000, "gid": 1000, "inode": 131073, "duration_ms": 4, "cpu_ms": 3,
    "cpu_seconds": 0.01, "rss_bytes": 3_145_728, "max_rss_bytes": 3_145_728, "uptime_seconds": 0, "owner": "agent",
    "group": "agent", "process_id": ID, "upload_id": ID,
    "context_id": ID, "etag": "5f3a9c1e", "killed_count": 2,
    "hostname": "demo-box", "kernel": "6.1.0", "os": "Linux", "arch": "x86_64", "cpus": 2, "user": "agent",
    "isolation": "...", "session": "9f86d081884c7d65", "limits": "...", "security": "...", "tools": "...", "metadata": "...",
    "lifetime": "...", "version": "...",
}


def steady(value, shown, name=None):
    """VALUE with what differs from run to run replaced by what SHOWN says of its name."""
    if name in shown and value is not None:
        return shown[name]
    if isinstance(value, dict):
        if value.get("type") == "directory" and "size" in value:
            value = value | {"size": 4096}
        return {key: steady(each, shown, key) for key, each in value.items()}
    if isinstance(value, list):
        return [steady(each, shown) for each in value]
    return value


def steady_text(text, shown, folder):
    for path, name in (("ws", "/workspace"), ("home", "/home/agent"), ("tmp", "/tmp"), ("out", "/run/agentbox-out")):
        text = text.replace(str(folder / path), name)
    text = re.sub(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-11-30T12:00:00Z", text)
    text = re.sub(r"\b[0-9a-f]{32}\b", ID, text)
    text = re.sub(r"\(pid \d+,", f"(pid {SHOWN['pid']},", text)
    text = re.sub(r"^d\t\d+\t", "d\t4096\t", text, flags=re.M)
    for name, value in shown.items():
        text = re.sub(rf"^{name}: .*$", f"{name}: {value}", text, flags=re.M)
        text = re.sub(rf'"{name}": "[^"]*"', f'"{name}": "{value}"', text)  # a text that is JSON itself
    return text


def words_of(block):
    if block["type"] == "text":
        return block["text"]
    about = block.get("resource", block)
    return f"[{block['type']}: {about.get('mimeType', '')} {about.get('uri', '')}".rstrip() + "]"


def example(program, tool):
    """The answer to the example call of TOOL, in words that are the same in every run."""
    entry = ENTRIES[tool]
    with opened(program, AGENTBOX_PROFILE="full", AGENTBOX_ROLE="admin") as box:
        fill(box.folder / "ws")
        for name, arguments in entry.before:
            done = box.call(name, arguments)
            if done["isError"]:
                raise Failure(f"{tool}: the call of {name} before its example fails: {done['content']}")
        result = box.call(tool, entry.arguments)
        if result["isError"]:
            raise Failure(f"{tool}: its example fails: {result['content'][0]['text']}")
        shown = SHOWN | entry.shown
        if entry.varies:
            return [f"(It depends on {entry.varies}.)"], None
        texts = [steady_text(words_of(block), shown, box.folder) for block in result["content"]]
        structured = result.get("structuredContent")
        if structured is not None:
            structured = json.loads(steady_text(json.dumps(steady(structured, shown)), {}, box.folder))
        return texts, structured


def bounds(about):
    words = []
    if "enum" in about:
        words.append(", ".join(f"`{each}`" for each in about["enum"]))
    low, high = about.get("minimum"), about.get("maximum")
    if low is not None or high is not None:
        words.append(f"{'' if low is None else low:,} to {high:,}" if high is not None else f"from {low:,} on")
    for least, most, unit in (("minLength", "maxLength", "bytes"), ("minItems", "maxItems", "items")):
        if most in about:
            words.append(f"{about.get(least, 0):,} to {about[most]:,} {unit}")
        elif about.get(least, 0):
            words.append(f"at least {about[least]:,} {unit}")
    if "pattern" in about:
        words.append("`" + about["pattern"].replace("|", "\\|") + "`")
    return "; ".join(words)


def kind(about):
    if about["type"] == "array":
        return f"array of {about['items']['type']}s"
    return about["type"]


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def argument_rows(schema, prefix=""):
    rows = []
    for name, about in schema["properties"].items():
        needed = " (required)" if name in schema.get("required", []) else ""
        default = f"`{json.dumps(about['default'])}`" if "default" in about else ""
        rows.append(f"| `{prefix}{name}`{needed} | {kind(about)} | {default} | {bounds(about)} "
                    f"| {cell(about.get('description', ''))} |")
        inner = about.get("items", about)
        if "properties" in inner:
            rows += argument_rows(inner, f"{prefix}{name}{'[]' if about['type'] == 'array' else ''}.")
    return rows


def fields(schema):
    required = schema.get("required", [])
    words = []
    for name, about in schema["properties"].items():
        label = f"**{name}**" if name in required else name
        meaning = re.sub(r"(?<!\.)\.$", "", about.get("description", ""))
        words.append(f"{label} ({meaning})" if meaning else label)
    return ", ".join(words)


def hints(tool):
    has = tool["annotations"]
    words = ["changes nothing" if has["readOnlyHint"] else "may destroy" if has["destructiveHint"] else "adds, never destroys"]
    words.append("the same again changes nothing more" if has["idempotentHint"] else "the same again may do it again")
    words.append("reaches beyond the box" if has["openWorldHint"] else "stays in the box")
    return ", ".join(words)


def first_sentence(text):
    return re.match(r".*?(?<![.]{2})[.!?](?=\s|$)", text, re.S)[0]


def section(tool, profile, roles, answer):
    name = tool["name"]
    entry = ENTRIES[name]
    texts, structured = answer
    lines = [f"### `{name}`", "", tool["description"], ""]
    lines.append(f"- title: {tool['title']}")
    lines.append(f"- profile: {profile} and wider" if profile != "full" else "- profile: full")
    lines.append(f"- who may call: {', '.join(roles)}")
    lines.append(f"- hints: {hints(tool)}")
    if entry.limits:
        lines.append(f"- limits: {entry.limits}")
    lines.append("- errors: " + ", ".join(f"`{code}`" for code in sorted({"INVALID_ARGUMENT", *entry.errors})))
    if "outputSchema" in tool:
        lines.append(f"- result (bold: always there): {fields(tool['outputSchema'])}")
    else:
        lines.append("- result: content blocks; no structured output is declared")
    rows = argument_rows(tool["inputSchema"])
    if rows:
        lines += ["", "| Argument | Type | Default | Bounds | |", "|---|---|---|---|---|", *rows]
    lines += ["", "```json", json.dumps({"name": name, "arguments": entry.arguments}, ensure_ascii=False), "```", ""]
    if texts:
        lines += ["```text", "\n".join(texts).rstrip("\n"), "```", ""]
    if structured is not None:
        lines += ["```json", json.dumps(structured, ensure_ascii=False), "```", ""]
    return lines


def check_entries(names, source):
    """That every tool has its entry, and every code of its source its place there."""
    if missing := [name for name in names if name not in ENTRIES]:
        raise Failure(f"no entry for {', '.join(missing)}: add an example, limits and errors to tests/tools_page/entries.py")
    for name in names:
        entry = ENTRIES[name]
        if unknown := [code for code in entry.errors if code not in CODES]:
            raise Failure(f"{name}: CODES in tests/tools_page/entries.py does not explain {', '.join(unknown)}")
        file = source / "src" / "agentbox" / "tools" / f"{name}.cc"
        if not file.exists():
            continue
        text = file.read_text(encoding="utf-8")
        made = re.findall(r'(?:tool_failure\(|\.code = )"([A-Z_]+)"', text)
        if unsaid := sorted(set(made) - set(entry.errors) - ANY):
            raise Failure(f"{name} can fail with {', '.join(unsaid)}, which its entry in tests/tools_page/entries.py leaves out")


def generate(program, source):
    offered, callers = {}, {}
    for profile in reversed(PROFILES):
        with opened(program, AGENTBOX_PROFILE=profile, AGENTBOX_ROLE="admin") as box:
            offered |= {tool["name"]: profile for tool in box.tools()}
            if profile == "full":
                tools = box.tools()
    for role in ROLES:
        with opened(program, AGENTBOX_PROFILE="full", AGENTBOX_ROLE=role) as box:
            for tool in box.tools():
                callers.setdefault(tool["name"], []).append(role)
    check_entries([tool["name"] for tool in tools], source)

    lines = ["## The tools", "", "| Tool | | Profile | Who may call |", "|---|---|---|---|"]
    for tool in tools:
        name = tool["name"]
        lines.append(f"| [`{name}`](#{name}) | {cell(first_sentence(tool['description']))} | {offered[name]} "
                     f"| {', '.join(callers[name])} |")
    lines += ["", "## Each tool", ""]
    for tool in tools:
        name = tool["name"]
        lines += section(tool, offered[name], callers[name], example(program, name))
    used = {"INVALID_ARGUMENT"}.union(*(ENTRIES[tool["name"]].errors for tool in tools))
    lines += ["## What the codes mean", "", "| Code | |", "|---|---|"]
    lines += [f"| `{code}` | {meaning} |" for code, meaning in sorted(CODES.items()) if code in used]
    return "\n".join(lines)


def main():
    os.umask(0o022)  # which the modes of new files show
    program, page = str(Path(sys.argv[1]).absolute()), Path(sys.argv[2])
    old = page.read_text(encoding="utf-8")
    try:
        head, rest = old.split(BEGIN)
        _, tail = rest.split(END)
        new = f"{head}{BEGIN}\n\n{generate(program, Path(__file__).parents[2])}\n\n{END}{tail}"
    except ValueError:
        sys.exit(f"{page}: the lines {BEGIN} and {END} are not there once each")
    except Failure as failure:
        sys.exit(f"{page}: {failure}")
    if "--write" in sys.argv[3:]:
        page.write_text(new, encoding="utf-8")
    elif new != old:
        import difflib
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(page), "as it is now", n=1))
        sys.exit(f"{page} is not what the tools are now. {RENEW}")


if __name__ == "__main__":
    main()
