# The few kinds of target there are, each with our flags and includes rooted at src/.

# What ccache keeps does not fit another build folder once a precompiled header is part of it.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

function(agentbox_library name)
  add_library(${name} STATIC ${ARGN})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE agentbox_flags)
  target_compile_definitions(${name} PRIVATE AGENTBOX_VERSION="${PROJECT_VERSION}")
  # The first library makes the precompiled header, the others use it.
  if(name STREQUAL "agentbox_base")
    target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled.h)
  else()
    target_precompile_headers(${name} REUSE_FROM agentbox_base)
  endif()
endfunction()

function(agentbox_program name)
  add_executable(${name} ${ARGN})
  # It is a sum over the debug information too, which alone knows the folder of the build: without both a program is the
  # same wherever it was built.
  target_link_options(${name} PRIVATE -Wl,--build-id=none)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE agentbox_flags)
  target_compile_definitions(${name} PRIVATE AGENTBOX_VERSION="${PROJECT_VERSION}")
endfunction()

# For the command lines: the option library is all templates and runs once, and optimising it would be
# half a minute of every build.
function(agentbox_unoptimised source)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O0;-U_FORTIFY_SOURCE" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
