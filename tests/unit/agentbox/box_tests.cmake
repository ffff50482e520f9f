# The tests of agent-box's box half: files, commands, tools, the spawner.
agentbox_unit_test(agentbox_box_test
  file_writer_test.cc keeper_test.cc workspace_test.cc
  agentbox_mcp agentbox_base)
