# SPDX-License-Identifier: Apache-2.0
# How tmpirun and its libraries lie in their files. A job of few ranks is mostly a start, and what the kernel maps of
# these files is the largest part of its memory.
include(CheckLinkerFlag)
set(start_order ${PROJECT_SOURCE_DIR}/src/start.order)
set(start_tool ${PROJECT_SOURCE_DIR}/tools/start_order.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${start_order} ${start_tool})
set(start_packed)
if(NOT MLTP_SANITIZE AND NOT MLTP_COVERAGE)
  # Addresses in tables take a bit each in place of 24 bytes.
  check_linker_flag(C LINKER:--fatal-warnings,-z,pack-relative-relocs START_PACKS)
  if(START_PACKS)
    set(start_packed LINKER:-z,pack-relative-relocs)
  endif()
endif()

# One mapping, in which the pages that a start needs are neighbours, if the linker is GNU's.
function(mltp_start_quickly target)
  if(MLTP_SANITIZE OR MLTP_COVERAGE)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_EXE_LINKER_FLAGS}")
  if(type STREQUAL SHARED_LIBRARY)
    separate_arguments(flags UNIX_COMMAND "-shared ${CMAKE_SHARED_LINKER_FLAGS}")
  endif()
  set(script ${PROJECT_BINARY_DIR}/start-${target}.ld)
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${start_tool} script ${script}
                          ${CMAKE_C_COMPILER} ${flags} -Wl,-z,noseparate-code
                  RESULT_VARIABLE no_script)
  if(NOT no_script)
    target_link_options(${target} PRIVATE LINKER:-z,noseparate-code,-T,${script})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
  target_link_options(${target} PRIVATE ${start_packed})
endfunction()
