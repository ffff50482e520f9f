# Checks of the text itself.
add_test(NAME "check: arrows between rooms"
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/check_layers.py ${PROJECT_SOURCE_DIR})
add_test(NAME "check: the check of arrows finds what it looks for"
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/check_layers_test.py)

add_test(NAME "check: the tests that documents name exist"
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/check_named_tests.py ${PROJECT_SOURCE_DIR})
add_test(NAME "check: the check of named tests finds what it looks for"
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/check_named_tests_test.py)

add_test(NAME "check: the page of tools is current"
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/tools_page/page.py $<TARGET_FILE:agent-box> ${PROJECT_SOURCE_DIR}/docs/tools.md)
agentbox_test_time("check: the page of tools is current" 120)
add_test(NAME "check: the check of the page of tools finds what it looks for"
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/tools_page/page_test.py)

add_test(NAME "check: hardening"
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/release/hardening.py ${CMAKE_BINARY_DIR})
set_tests_properties("check: hardening" PROPERTIES SKIP_RETURN_CODE 77)

# Another version formats differently, so the check is this version's or none.
find_program(AGENTBOX_CLANG_FORMAT clang-format-14)
if(AGENTBOX_CLANG_FORMAT)
  add_test(NAME "check: format" COMMAND ${PROJECT_SOURCE_DIR}/scripts/format --check)
else()
  message(STATUS "No clang-format-14: the format is not checked")
endif()

find_program(AGENTBOX_SHELLCHECK shellcheck)
if(AGENTBOX_SHELLCHECK)
  file(GLOB scripts ${PROJECT_SOURCE_DIR}/scripts/* ${PROJECT_SOURCE_DIR}/.ci/run ${PROJECT_SOURCE_DIR}/tests/cluster/build)
  add_test(NAME "check: shell scripts" COMMAND ${AGENTBOX_SHELLCHECK} -x ${scripts}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
else()
  message(STATUS "No shellcheck: the scripts are not checked")
endif()
