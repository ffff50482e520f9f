# Warnings are errors and hardening is on for every target of ours; third-party headers are SYSTEM.
add_library(agentbox_flags INTERFACE)

target_compile_options(agentbox_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2 -Wimplicit-fallthrough)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(agentbox_flags INTERFACE -Wlogical-op -Wduplicated-cond
    # GCC 12 raises these falsely inside std::string when it optimises; the sanitizers look for the real ones.
    -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict)
endif()

# Line numbers are all that a backtrace needs; full debug information doubles the time of a build.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

target_compile_options(agentbox_flags INTERFACE -fstack-protector-strong -ftrivial-auto-var-init=zero)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 16)
  # Clang before 16 asks for this before it zeroes variables.
  target_compile_options(agentbox_flags INTERFACE -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(agentbox_flags INTERFACE -fstack-clash-protection -fcf-protection)
endif()
target_compile_definitions(agentbox_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(agentbox_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)

if(AGENTBOX_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(AGENTBOX_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread -fno-omit-frame-pointer)
elseif(AGENTBOX_SANITIZE STREQUAL "fuzzer")
  set(sanitizers -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(NOT AGENTBOX_SANITIZE STREQUAL "")
  message(FATAL_ERROR "AGENTBOX_SANITIZE must be address, thread, fuzzer or empty")
endif()
if(sanitizers)
  target_compile_options(agentbox_flags INTERFACE ${sanitizers} -g1)
  target_link_options(agentbox_flags INTERFACE ${sanitizers})
  target_compile_definitions(agentbox_flags INTERFACE AGENTBOX_SANITIZED)
else()
  target_compile_definitions(agentbox_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
endif()
