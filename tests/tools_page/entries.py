"""What the page of tools says that no descriptor does: an example call, limits and error codes of each tool.

A tool without an entry fails the check of the page, and so does a code in its source that its entry does not list."""
from dataclasses import dataclass, field

# What each code means, once.
CODES = {
    "AMBIGUOUS": "the text or place occurs more than once; the lines are named",
    "BAD_CURSOR": "not a cursor of this folder, order and depth, or of a watch that lives",
    "BAD_PATTERN": "the expression cannot be read; its position is named",
    "CONTEXT_BUSY": "other code runs in this context",
    "CONTEXT_DIED": "the interpreter ended; its state is gone",
    "CONFLICT": "something changed while the call ran; nothing of this call is on disk",
    "EACCES": "permission bits forbid it",
    "EBUSY": "in use, a mount point, or a running program",
    "EEXIST": "something is there already",
    "EISDIR": "a folder where a file is needed",
    "ENOENT": "not there; names close to it are named",
    "ENOSPC": "the disk is full; nothing was changed",
    "ENOTDIR": "a part of the path is no folder",
    "EPERM": "only the owner, or root, may",
    "EROFS": "read-only, the box's output folder among it",
    "ESCAPE": "the path leaves the workspace: `..`, an absolute path, a link",
    "EXCEPTION": "the code failed; output and traceback are in the text",
    "EXDEV": "another file system, where all or nothing cannot be promised",
    "HASH_MISMATCH": "what arrived has another sha256",
    "HUNK_FAILED": "the patch does not fit; file, hunk, what is wanted and what is there are named",
    "INTERRUPTED": "the code was interrupted; its output so far is in the text",
    "INVALID_ARGUMENT": "missing, unknown or out of bounds; what is expected is named",
    "INVALID_ENCODING": "no base64",
    "LANGUAGE_UNAVAILABLE": "the box has no such interpreter; those it has are named",
    "NOT_A_TTY": "the process has no terminal",
    "NOT_EMPTY": "the folder is not empty",
    "NOT_FOUND_TEXT": "the text is not there; the closest lines are quoted",
    "NOT_TEXT": "bytes that are no UTF-8 text",
    "NO_CHANGE": "old and new text are the same",
    "OFFSET_MISMATCH": "not the next piece; `received_bytes` says where to go on",
    "PATCH_PARSE": "no patch in a form that is known; the line is named",
    "PRECONDITION_FAILED": "if_sha256, if_absent or if_etag did not hold; the state now is named",
    "PROCESS_EXITED": "the process has ended",
    "QUOTA": "a quota of the disk or of open uploads is used up",
    "RANGE": "begins behind the end of the file",
    "ROLLBACK_FAILED": "a change could not be taken back; what is on disk is named",
    "ROOT_REFUSED": "the workspace itself",
    "SPAWN_FAILED": "the command could not be started",
    "STDIN_CLOSED": "the input was closed before",
    "TIMEOUT": "the code ran too long and was stopped",
    "TOO_LARGE": "a limit is passed; the limit is named",
    "TOO_MANY_CONTEXTS": "as many live as may",
    "TOO_MANY_PROCESSES": "as many run as may",
    "UNKNOWN_CONTEXT": "no context of that id or name",
    "UNKNOWN_PROCESS": "no process of that id or name; those that live are named",
    "UNKNOWN_TYPE": "no such type of file; those known are named",
    "UNKNOWN_UPLOAD": "no such upload, or its 24 hours are over",
    "WATCH_LIMIT": "as many watches live, or folders are watched, as may",
    "WOULD_BLOCK": "the process does not read; what was taken is named",
}

PATH = ["ESCAPE", "ENOENT", "ENOTDIR", "EACCES"]
WRITE = [*PATH, "EISDIR", "EROFS", "ENOSPC"]
PROCESS_START = ["ESCAPE", "ENOENT", "SPAWN_FAILED", "TOO_MANY_PROCESSES"]


@dataclass(frozen=True)
class Entry:
    arguments: dict
    limits: str
    errors: list = field(default_factory=list)  # besides INVALID_ARGUMENT, which every tool has
    before: list = field(default_factory=list)  # calls of other tools that make its example possible
    shown: dict = field(default_factory=dict)  # what the page shows for values that differ from run to run, by name
    varies: str = ""  # why the whole answer does: it is made and not shown


SERVER = ("process_start", {"command": "echo ready; read line; echo got $line; sleep 600", "name": "server",
                            "wait_for": "ready", "wait_seconds": 10})

ENTRIES = {
    "shell_exec": Entry(
        {"command": "wc -l *.txt; ls nope"},
        "64 live commands of a session. Inline output is cut in the middle; the whole is kept, 64 MiB of it.",
        [*PROCESS_START, "INVALID_ENCODING"],
    ),
    "process_start": Entry(
        {"command": "echo listening on 8080; sleep 600", "name": "server", "wait_for": "listening", "wait_seconds": 10},
        "64 run at once in a box; of the output the newest 32 to 64 MiB are kept, of finished ones the last 200.",
        [*PROCESS_START, "EEXIST"],
    ),
    "process_list": Entry({}, "200 finished ones are kept.", before=[SERVER]),
    "process_output": Entry(
        {"process_id": "server", "cursor": 0},
        "256 KiB a call; waits at most 50 s.",
        ["UNKNOWN_PROCESS", "BAD_PATTERN"],
        [SERVER],
    ),
    "process_input": Entry(
        {"process_id": "server", "data": "hello\n", "wait_for_pattern": "got"},
        "1 MiB a call; a process may leave it untaken for 5 s.",
        ["UNKNOWN_PROCESS", "PROCESS_EXITED", "STDIN_CLOSED", "WOULD_BLOCK", "NOT_A_TTY", "INVALID_ENCODING",
         "BAD_PATTERN"],
        [SERVER],
    ),
    "process_kill": Entry(
        {"name": "server"},
        "One that has ended is no error: `exited` is true.",
        ["UNKNOWN_PROCESS"],
        [SERVER],
    ),
    "process_resize": Entry(
        {"process_id": "shell", "cols": 120, "rows": 40},
        "1000 columns and rows.",
        ["UNKNOWN_PROCESS", "PROCESS_EXITED", "NOT_A_TTY"],
        [("process_start", {"command": "sleep 600", "name": "shell", "tty": True})],
    ),
    "read_file": Entry(
        {"path": "notes.txt", "head": 2},
        "128 KiB a call unless `limit` asks for up to 512 KiB; no hash of files over 256 MiB.",
        [*PATH, "EISDIR"],
    ),
    "read_files": Entry(
        {"paths": ["notes.txt", "nope.txt"]},
        "50 files, 1 MiB in all, 32 KiB of each unless asked.",
        PATH,
    ),
    "write_file": Entry(
        {"path": "new/hello.txt", "content": "hello\n"},
        "4 MiB a call; more by append, or with upload_chunk.",
        [*WRITE, "EEXIST", "PRECONDITION_FAILED", "INVALID_ENCODING", "TOO_LARGE", "CONFLICT", "EBUSY"],
    ),
    "edit_file": Entry(
        {"path": "notes.txt", "old_string": "two", "new_string": "2"},
        "Files up to 32 MiB; 200 edits a call; of the diff 64 KiB are shown.",
        [*WRITE, "NOT_FOUND_TEXT", "AMBIGUOUS", "NO_CHANGE", "PRECONDITION_FAILED", "NOT_TEXT", "TOO_LARGE", "CONFLICT"],
    ),
    "apply_edits": Entry(
        {"operations": [
            {"op": "edit", "path": "notes.txt", "edits": [{"old_string": "two", "new_string": "2"}]},
            {"op": "move", "path": "src/main.py", "destination": "src/app.py"}]},
        "500 operations, 16 MiB in all; of each diff up to 64 KiB together.",
        [*WRITE, "EEXIST", "NOT_FOUND_TEXT", "AMBIGUOUS", "NO_CHANGE", "PRECONDITION_FAILED", "NOT_TEXT", "TOO_LARGE",
         "CONFLICT", "ROLLBACK_FAILED", "NOT_EMPTY", "EXDEV", "INVALID_ENCODING"],
    ),
    "apply_patch": Entry(
        {"patch": "*** Begin Patch\n*** Update File: notes.txt\n@@\n-two\n+2\n*** End Patch\n"},
        "4 MiB of patch; files up to 32 MiB.",
        [*WRITE, "PATCH_PARSE", "HUNK_FAILED", "AMBIGUOUS", "EEXIST", "PRECONDITION_FAILED", "TOO_LARGE", "CONFLICT",
         "ROLLBACK_FAILED", "EXDEV"],
    ),
    "list_directory": Entry(
        {},
        "10,000 entries an answer, 200,000 looked at.",
        [*PATH, "BAD_CURSOR"],
    ),
    "glob_files": Entry(
        {"pattern": "**/*.py"},
        "5,000 results, 1,000,000 entries looked at, 30 s.",
        [*PATH, "BAD_PATTERN"],
    ),
    "search_files": Entry(
        {"pattern": r"def \w+", "after": 1},
        "10,000 results, 30 s; files over 16 MiB are left out unless asked for.",
        [*PATH, "BAD_PATTERN", "UNKNOWN_TYPE"],
    ),
    "file_info": Entry({"path": "notes.txt"}, "Hashes files up to 4 GiB.", ["ESCAPE", "ENOTDIR", "EACCES"]),
    "create_directory": Entry({"path": "a/b"}, "", [*PATH, "EEXIST", "EROFS", "ENOSPC"]),
    "move_file": Entry(
        {"source": "notes.txt", "destination": "old/notes.txt"},
        "",
        [*WRITE, "EEXIST", "NOT_EMPTY", "PRECONDITION_FAILED", "EXDEV", "EBUSY"],
    ),
    "delete_file": Entry(
        {"path": "src", "recursive": True},
        "",
        [*PATH, "NOT_EMPTY", "PRECONDITION_FAILED", "ROOT_REFUSED", "EBUSY", "EROFS"],
    ),
    "tail_log": Entry(
        {"path": "notes.txt", "start_offset": 4, "follow_seconds": 0},
        "256 KiB a call; follows for at most 60 s.",
        [*PATH, "EISDIR", "BAD_PATTERN"],
    ),
    "download_chunk": Entry(
        {"path": "notes.txt", "length": 8, "file_sha256": True},
        "2 MiB a call.",
        [*PATH, "EISDIR", "PRECONDITION_FAILED", "RANGE", "CONFLICT"],
    ),
    "upload_chunk": Entry(
        {"path": "data.bin", "data": "AAEC", "total_size": 3},
        "4 MiB a call, 64 GiB a file; 8 open uploads; one that rests for 24 hours goes.",
        [*WRITE, "UNKNOWN_UPLOAD", "OFFSET_MISMATCH", "HASH_MISMATCH", "PRECONDITION_FAILED", "EEXIST", "QUOTA",
         "TOO_LARGE", "INVALID_ENCODING", "EBUSY"],
    ),
    "list_blobs": Entry({}, "10,000 names.", ["EACCES"]),
    "write_random_blob": Entry(
        {"name": "blob", "size_bytes": 16},
        "16 MiB. The folder must exist.",
        ["ESCAPE", "ENOENT", "EISDIR", "ENOSPC", "TOO_LARGE"],
        shown={"sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    ),
    "read_blob": Entry({"name": "notes.txt"}, "4 GiB.", ["ESCAPE", "ENOENT", "EISDIR", "TOO_LARGE"]),
    "system_info": Entry({"metrics": False}, ""),
    "copy_file": Entry(
        {"source": "notes.txt", "destination": "copy.txt"},
        "1,000,000 files.",
        [*WRITE, "EEXIST", "CONFLICT", "QUOTA"],
    ),
    "read_media": Entry(
        {"path": "pixel.png"},
        "5 MiB.",
        [*PATH, "EISDIR", "TOO_LARGE"],
        [("write_file", {"path": "pixel.png", "encoding": "base64", "content":
          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="})],
    ),
    "set_permissions": Entry({"path": "notes.txt", "mode": "0600"}, "", [*PATH, "EPERM", "EROFS"]),
    "list_ports": Entry({}, "", varies="what listens on the machine where this page is made"),
    "code_execute": Entry(
        {"language": "bash", "code": "x=6; echo $((x * 7))"},
        "256 KiB of output; 4 images of 5 MiB together inline, others as files. A cancel, or a link that is cut while the call waits, interrupts the code; the context stays.",
        ["UNKNOWN_CONTEXT", "CONTEXT_BUSY", "CONTEXT_DIED", "EXCEPTION", "INTERRUPTED", "LANGUAGE_UNAVAILABLE",
         "SPAWN_FAILED", "TIMEOUT", "TOO_MANY_CONTEXTS"],
    ),
    "code_context_create": Entry(
        {"language": "bash", "name": "work"},
        "8 contexts.",
        ["LANGUAGE_UNAVAILABLE", "TOO_MANY_CONTEXTS", "SPAWN_FAILED", "EEXIST", "ESCAPE", "ENOENT"],
    ),
    "code_context_list": Entry({}, "", varies="the interpreters that the box has"),
    "code_context_delete": Entry({"context_id": "work"}, "", ["UNKNOWN_CONTEXT"],
                                 [("code_context_create", {"language": "bash", "name": "work"})]),
    "watch_files": Entry(
        {"path": "src", "wait_seconds": 0},
        "16 watches a box, 10,000 folders, 200,000 files and 128 levels each; more than 10,000 changes since a cursor are an overflow; one that nobody asks for 10"
        " minutes ends.",
        [*PATH, "BAD_CURSOR", "BAD_PATTERN", "WATCH_LIMIT", "EEXIST", "SPAWN_FAILED", "TOO_MANY_PROCESSES"],
        shown={"next_cursor": "..."},
    ),
    "sandbox_reset": Entry({"confirm": "RESET"}, "", ["EBUSY", "EACCES"]),
}
