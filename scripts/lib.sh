# shellcheck shell=bash
# What the commands in this folder share. Sourced by them; not a command itself.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly top
export DEBIAN_FRONTEND=noninteractive
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '==> %s\n' "$*" >&2; }
fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}
# The comment at the head of a command is its --help.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }
help_if_asked() {
  case "${1-}" in
    -h | --help)
      usage
      exit 0
      ;;
  esac
}
usage_error() {
  printf '%s: %s\n\n' "${0##*/}" "$*" >&2
  usage >&2
  exit 2
}

have() { command -v "$1" >/dev/null 2>&1; }

# as_root COMMAND...: runs it as root, with sudo where we are not; 126 where neither works.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    return 126
  fi
}

# Every preset of CMakePresets.json, one a line.
presets() { sed -n 's/^ *{"name": "\([a-z]*\)", "configurePreset".*"output".*/\1/p' "$top/CMakePresets.json"; }
check_preset() {
  presets | grep -qx -- "$1" || usage_error "no preset '$1'; there are: $(presets | paste -sd' ')"
}

# The newest of NAME and NAME-14: Debian 12 names clang's tools with their version.
clang_tool() { command -v "$1-14" || command -v "$1"; }

# AGENTBOX_PROVISION=OFF: without agentbox-provision.
configure() {
  local preset=$1 extra=(-DAGENTBOX_PROVISION="${AGENTBOX_PROVISION:-ON}")
  if have ccache; then extra+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  if [ "$preset" = fuzz ]; then extra+=(-DCMAKE_CXX_COMPILER="$(clang_tool clang++)"); fi
  (cd "$top" && cmake --preset "$preset" "${extra[@]}" >&2)
}
compile() {
  local preset=$1
  shift
  cmake --build "$top/build/$preset" --parallel "$(nproc)" "$@" >&2
}

# As root a local box runs as two system users of its own, not as root.
make_users() {
  [ "$(id -u)" -eq 0 ] || return 0
  local user
  for user in agentbox-door agentbox; do
    id "$user" >/dev/null 2>&1 && continue
    say "adding the system user $user"
    useradd --system --user-group --no-create-home --home-dir /nonexistent \
      --shell /usr/sbin/nologin "$user"
  done
}
