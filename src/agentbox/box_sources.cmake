# The box half of agent-box: files, commands and the spawner. Tools are found by name in tools/.
set(AGENTBOX_BOX_SOURCES
  beneath.cc box.cc box_path.cc capture.cc commands.cc directory.cc environment.cc file_bytes.cc file_reader.cc file_text.cc
  file_writer.cc keeper.cc keeper_process.cc leftovers.cc machine.cc os_error.cc process_tree.cc spawner.cc spill.cc
  survivors.cc timestamps.cc visible.cc workspace.cc)
