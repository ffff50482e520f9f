# The few kinds of target there are, each with our flags and includes rooted at src/.

function(agentbox_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE agentbox_flags)
  target_compile_definitions(${name} PRIVATE AGENTBOX_VERSION="${PROJECT_VERSION}")
endfunction()

function(agentbox_program name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE agentbox_flags)
  target_compile_definitions(${name} PRIVATE AGENTBOX_VERSION="${PROJECT_VERSION}")
endfunction()
