# The box half of agent-box: files, commands and the spawner. Tools are found by name in tools/.
set(AGENTBOX_BOX_SOURCES
  beneath.cc box_path.cc file_bytes.cc file_writer.cc keeper.cc keeper_process.cc leftovers.cc os_error.cc
  process_tree.cc visible.cc workspace.cc)
