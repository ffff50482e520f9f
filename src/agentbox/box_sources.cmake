# The box half of agent-box: files, commands and the spawner. Tools are found by name in tools/.
set(AGENTBOX_BOX_SOURCES
  ansi.cc beneath.cc box.cc box_path.cc capture.cc commands.cc diff.cc directory.cc edit.cc edit_hint.cc
  environment.cc file_bytes.cc file_kind.cc file_reader.cc file_search.cc file_text.cc file_types.cc file_writer.cc
  follower.cc glob.cc ignore_rules.cc job_client.cc job_folder.cc job_helper.cc job_host.cc job_input.cc job_log.cc
  job_plan.cc job_process.cc job_record.cc job_streams.cc keeper.cc keeper_process.cc leaf_file.cc leftovers.cc
  machine.cc memory_watch.cc mime.cc mover.cc new_file.cc old_file.cc os_error.cc process_output.cc process_stat.cc
  process_tree.cc process_words.cc processes.cc program_plan.cc remover.cc session_commands.cc spawner.cc
  spawner_options.cc spill.cc terminal.cc text_search.cc timestamps.cc tree_guard.cc visible.cc workspace.cc)
