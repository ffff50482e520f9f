# shellcheck shell=bash
# Makes an interactive bash that reads its commands from descriptor 0 fit for a context: of all
# shells only such a one drops what it does at a SIGINT and goes on with its next command. Lines of
# JSON go back over descriptor 0; what the code reads there is empty, and what it prints goes to
# descriptors 1 and 2.
set +H +m
set +o history
unset HISTFILE
unset PS1 PS2 PROMPT_COMMAND
PS1='' PS2=''
# The end of an execution: its number, its exit code.
__agentbox_done() { builtin printf '{"id":%d,"done":true,"exit_code":%d}\n' "$1" "$2" >&0; }
builtin printf '{"hello":"%s"}\n' "${BASH_VERSION%%[!0-9.]*}" >&0
