// edge: the tools of this program, one function each; tool_table.cc lists them.
#pragma once

#include "agentbox/tool.h"

namespace agentbox::mcp {

[[nodiscard]] Tool shell_exec_tool();
[[nodiscard]] Tool process_start_tool();
[[nodiscard]] Tool process_list_tool();
[[nodiscard]] Tool process_output_tool();
[[nodiscard]] Tool process_input_tool();
[[nodiscard]] Tool process_kill_tool();
[[nodiscard]] Tool process_resize_tool();
[[nodiscard]] Tool read_file_tool();
[[nodiscard]] Tool write_file_tool();
[[nodiscard]] Tool edit_file_tool();
[[nodiscard]] Tool apply_edits_tool();
[[nodiscard]] Tool apply_patch_tool();
[[nodiscard]] Tool list_directory_tool();
[[nodiscard]] Tool move_file_tool();
[[nodiscard]] Tool copy_file_tool();
[[nodiscard]] Tool delete_file_tool();
[[nodiscard]] Tool tail_log_tool();
[[nodiscard]] Tool watch_files_tool();
[[nodiscard]] Tool file_info_tool();
[[nodiscard]] Tool create_directory_tool();
[[nodiscard]] Tool read_files_tool();
[[nodiscard]] Tool read_media_tool();
[[nodiscard]] Tool glob_files_tool();
[[nodiscard]] Tool search_files_tool();
[[nodiscard]] Tool upload_chunk_tool();
[[nodiscard]] Tool download_chunk_tool();
[[nodiscard]] Tool set_permissions_tool();
[[nodiscard]] Tool list_ports_tool();
[[nodiscard]] Tool system_info_tool();
[[nodiscard]] Tool sandbox_reset_tool();
[[nodiscard]] Tool list_blobs_tool();
[[nodiscard]] Tool write_random_blob_tool();
[[nodiscard]] Tool read_blob_tool();

}  // namespace agentbox::mcp
