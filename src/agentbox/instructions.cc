// pure: see instructions.h.
#include "agentbox/instructions.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "agentbox/replies.h"

namespace agentbox::mcp {
namespace {

constexpr std::string_view kBegin =
    "This server is a box of your own to work in: a Linux machine with a workspace folder.\n";

// Said where the session has TOOL; the other tools that a line names are of the same tier.
struct Line {
  std::string_view tool;
  std::string_view text;
};
constexpr std::array kLines{
    Line{"shell_exec",
         "- shell_exec runs any command, starting in the workspace. A non-zero exit code is a "
         "result, not an error; a timeout kills the whole process tree; what is left in the "
         "background ends with this session.\n"},
    Line{"process_start",
         "- process_start starts what shall go on after this session: servers, long builds. "
         "process_output, process_input, process_list and process_kill find it from any later "
         "session.\n"},
    Line{"code_execute",
         "- code_execute runs Python, Node or Bash, keeps variables between calls and shows "
         "figures.\n"},
    Line{"read_file",
         "- File tools work inside the workspace only; paths are relative to it or absolute inside "
         "it. Prefer them to cat, sed, grep, find and ls. read_file reads, search_files searches "
         "contents, glob_files names.\n"},
    Line{"edit_file",
         "- edit_file changes parts of a file, write_file makes a file or replaces all of it. "
         "Writes are atomic; if_sha256 writes only where nobody else changed the file.\n"},
    Line{"apply_edits", "- Several files all-or-nothing: apply_edits (edit, write, move, ...).\n"},
    Line{"apply_patch", "  apply_patch does so with a patch or diff.\n"},
    Line{"tail_log", "- tail_log follows a file that grows, and returns where to go on.\n"},
    Line{"watch_files", "- watch_files tells which files changed since a cursor.\n"},
    Line{"upload_chunk",
         "- upload_chunk and download_chunk move large or binary files in pieces.\n"},
    Line{"read_media", "- read_media shows images and plays audio.\n"},
    Line{"list_ports", "- list_ports tells what listens in the box.\n"},
    Line{"list_blobs",
         "- list_blobs, write_random_blob and read_blob only prove that the workspace outlives the "
         "machine.\n"},
    Line{"system_info", "- system_info tells limits, installed programs, your role and profile.\n"},
    Line{"sandbox_reset", "- sandbox_reset ends every process, and deletes files if asked.\n"},
};

constexpr std::string_view kEnd =
    "Calls run concurrently. Errors read `tool: CODE: cause. Next step.`; CODE is stable. Files in "
    "the workspace are kept when the box is suspended; everything else is not.";

constexpr std::size_t total_bytes() {
  std::size_t bytes = kBegin.size() + kEnd.size();
  for (const Line& line : kLines) {
    bytes += line.text.size();
  }
  return bytes;
}
static_assert(total_bytes() < kMaxInstructionsBytes);

}  // namespace

std::string instructions(std::span<const Tool> tools, Role role) {
  std::string text(kBegin);
  for (const Line& line : kLines) {
    const auto has = [&](const Tool& tool) {
      return tool.name == line.tool && may_call(role, tool);
    };
    if (std::any_of(tools.begin(), tools.end(), has)) {
      text += line.text;
    }
  }
  text += kEnd;
  return text;
}

}  // namespace agentbox::mcp
