# SPDX-License-Identifier: Apache-2.0
# How everything here is compiled.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_compile_options(-fno-omit-frame-pointer -Wall -Wextra -Wvla -Wundef)
add_compile_options("$<$<COMPILE_LANGUAGE:C>:-Wshadow;-Wstrict-prototypes;-Wmissing-prototypes>")
add_compile_definitions(MLTP_CHECKED=$<BOOL:${MLTP_CHECKED}>)
add_compile_definitions(MLTP_ALTERNATIVES=$<BOOL:${MLTP_ALTERNATIVES}>)

if(MLTP_SANITIZE)
  add_compile_options(-fsanitize=${MLTP_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${MLTP_SANITIZE})
  if(MLTP_SANITIZE STREQUAL thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    # It does not know fences; ours order a store before a load, which it does not look for.
    add_compile_options(-Wno-tsan)
  elseif(MLTP_SANITIZE STREQUAL thread)
    add_compile_definitions(__SANITIZE_THREAD__=1) # gcc's way to tell; clang has __has_feature
  endif()
  if(CMAKE_C_COMPILER_ID MATCHES Clang)
    # A shared library, as gcc's is: as a part of the program it would make its own system calls through
    # the wrappers of tests/support/inject.h, which are to make ours fail.
    add_link_options(-shared-libsan)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-resource-dir OUTPUT_VARIABLE clang_resources
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(CMAKE_BUILD_RPATH ${clang_resources}/lib/linux)
  endif()
endif()
if(MLTP_COVERAGE)
  # Atomic counters: threads on several VPs execute the same lines.
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
