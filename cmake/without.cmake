# For tests alone: a build that leaves one defence of src/base/defence.h out. It says so in --version and --check, and
# cannot be installed. Only the sources that ask for that defence, or tell of it, are compiled differently.
set(AGENTBOX_WITHOUT "" CACHE STRING "the one defence that is left out, for tests alone; or empty")
if(NOT AGENTBOX_WITHOUT)
  return()
endif()

install(CODE "message(FATAL_ERROR \"a build without ${AGENTBOX_WITHOUT} is for tests alone\")")
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cc)
foreach(source ${sources})
  file(STRINGS ${source} found LIMIT_COUNT 1 REGEX "defended\\(\"${AGENTBOX_WITHOUT}\"\\)|kLeftOut")
  if(found)
    set_property(SOURCE ${source}
      TARGET_DIRECTORY agentbox_base agentbox_sshd_lib agentbox_mcp agentbox_kube agentbox_provision_lib
      APPEND PROPERTY COMPILE_DEFINITIONS AGENTBOX_WITHOUT="${AGENTBOX_WITHOUT}")
  endif()
endforeach()
