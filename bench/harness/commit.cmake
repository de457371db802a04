# SPDX-License-Identifier: Apache-2.0
# Run at every build: writes the commit that is built into a header, which changes
# (and causes compiling) only when the commit does.
execute_process(
  COMMAND git -C ${SOURCE} describe --always --dirty
  OUTPUT_VARIABLE BENCH_COMMIT
  OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed)
  set(BENCH_COMMIT "unknown")
endif()
configure_file(${SOURCE}/commit.h.in ${HEADER} @ONLY)
