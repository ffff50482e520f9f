# The box half of agent-box: files, commands and the spawner. Tools are found by name in tools/.
set(AGENTBOX_BOX_SOURCES
  ansi.cc beneath.cc box.cc box_path.cc capture.cc commands.cc diff.cc directory.cc edit.cc edit_hint.cc environment.cc file_bytes.cc file_kind.cc
  file_reader.cc file_search.cc file_text.cc file_types.cc file_writer.cc follower.cc glob.cc ignore_rules.cc keeper.cc keeper_process.cc leaf_file.cc leftovers.cc
  machine.cc mime.cc mover.cc new_file.cc old_file.cc os_error.cc process_tree.cc remover.cc spawner.cc spill.cc survivors.cc
  text_search.cc timestamps.cc visible.cc workspace.cc)
