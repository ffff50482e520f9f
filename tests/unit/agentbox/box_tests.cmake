# The tests of agent-box's box half: files, commands, tools, the spawner.
agentbox_unit_test(agentbox_box_test
  ansi_test.cc
  capture_test.cc
  edit_test.cc
  file_writer_test.cc
  glob_test.cc
  job_files_test.cc
  journal_test.cc
  keeper_test.cc
  os_error_test.cc
  patch_test.cc
  race_test.cc
  task_record_test.cc
  text_search_test.cc
  transaction_test.cc
  upload_record_test.cc
  workspace_test.cc
  LIBS agentbox_mcp agentbox_base)
agentbox_unit_test(agentbox_tools_test
  prompts_test.cc
  resources_test.cc
  tools_apply_edits_test.cc
  tools_apply_patch_test.cc
  tools_copy_test.cc
  tools_edit_test.cc
  tools_files_test.cc
  tools_find_test.cc
  tools_jobs_test.cc
  tools_media_test.cc
  tools_move_test.cc
  tools_permissions_test.cc
  tools_ports_test.cc
  tools_search_test.cc
  tools_shell_test.cc
  tools_tail_test.cc
  tools_transfer_test.cc
  LIBS agentbox_mcp agentbox_base)
agentbox_unit_test(agentbox_watch_test event_ring_test.cc tree_diff_test.cc tree_watch_test.cc watch_host_test.cc
  LIBS agentbox_mcp agentbox_base)
# Drives the program itself.
agentbox_unit_test(agentbox_spawner_test spawner_test.cc LIBS agentbox_mcp agentbox_base)
target_compile_definitions(agentbox_spawner_test PRIVATE AGENTBOX_PROGRAM="$<TARGET_FILE:agent-box>")
add_dependencies(agentbox_spawner_test agent-box)
# What of code contexts is pure; the rest is tests/e2e/test_contexts.py.
agentbox_unit_test(agentbox_context_test context_test.cc LIBS agentbox_box_text agentbox_mcp_protocol agentbox_base)
