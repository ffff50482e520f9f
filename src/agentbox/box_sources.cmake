# What of the box takes bytes apart, and needs no tool, no session and no spawner: small to build, for fuzzing.
set(AGENTBOX_BOX_TEXT_SOURCES
  ansi.cc box_path.cc capture.cc diff.cc edit.cc edit_hint.cc event_ring.cc file_text.cc glob.cc ignore_rules.cc image_size.cc job_plan.cc
  job_record.cc journal.cc mime.cc patch.cc patch_apply.cc process_stat.cc process_tree.cc socket_table.cc
  task_record.cc upload_record.cc visible.cc watch_filter.cc watch_words.cc)
# The box half of agent-box: files, commands and the spawner. Tools are found by name in tools/.
set(AGENTBOX_BOX_SOURCES
  beneath.cc box.cc change_set.cc commands.cc copier.cc directory.cc edit_arguments.cc environment.cc file_bytes.cc file_copy.cc file_kind.cc file_reader.cc file_search.cc
  file_types.cc file_writer.cc folder_names.cc follower.cc hosted.cc inotify_queue.cc job_client.cc job_folder.cc job_helper.cc job_host.cc job_input.cc
  job_log.cc job_process.cc job_streams.cc keeper.cc keeper_process.cc leaf_file.cc leftovers.cc machine.cc
  memory_watch.cc mover.cc new_file.cc old_file.cc open_ports.cc os_error.cc permissions.cc private_folder.cc process_output.cc process_words.cc processes.cc
  program_plan.cc remover.cc session_commands.cc spawner.cc spawner_options.cc spill.cc task_host.cc task_methods.cc tasks.cc terminal.cc text_search.cc
  transaction.cc transaction_undo.cc tree_copier.cc tree_diff.cc tree_guard.cc tree_watch.cc
  tree_watch_settle.cc uploads.cc watch_host.cc watched_tree.cc workspace.cc)
# Code contexts.
list(APPEND AGENTBOX_BOX_TEXT_SOURCES context_driver.cc context_state.cc context_wire.cc context_words.cc)
list(APPEND AGENTBOX_BOX_SOURCES context_host.cc context_recorder.cc contexts.cc interpreter.cc)
# Resources, prompts and completion.
list(APPEND AGENTBOX_BOX_TEXT_SOURCES git_names.cc)
list(APPEND AGENTBOX_BOX_SOURCES
  box_status.cc box_watcher.cc completion.cc completion_values.cc process_entry.cc prompts.cc resource_list.cc
  resource_reader.cc resources.cc)
