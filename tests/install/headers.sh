#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every installed header of C compiles alone and without a warning, as every C and C++ its users may
# speak, with each compiler that is here.
# usage: headers.sh INCLUDE_DIR
set -euo pipefail
include=$1
strict=(-fsyntax-only -Werror -Wall -Wextra -Wpedantic -Wconversion -I "$include")
strict_c=(-Wstrict-prototypes -Wc++-compat -x c)
strict_cxx=(-Wold-style-cast -Wzero-as-null-pointer-constant -x c++)
status=0

# compile COMPILER STANDARD FLAG...: each header, as a program that includes it twice.
compile() {
  local compiler=$1 standard=$2 header
  shift 2
  for header in "$include"/mltp/*.h; do
    printf '#include <mltp/%s>\n#include <mltp/%s>\n' "${header##*/}" "${header##*/}" |
      "$compiler" "-std=$standard" "${strict[@]}" "$@" - ||
      { echo "headers.sh: $compiler -std=$standard refuses ${header##*/}" >&2; status=1; }
  done
}

tried=0
for compiler in gcc clang; do
  command -v "$compiler" >/dev/null || continue
  for standard in c99 c11 c17 c2x; do compile "$compiler" "$standard" "${strict_c[@]}"; done
  tried=$((tried + 1))
done
for compiler in g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  for standard in c++11 c++14 c++17 c++20; do
    compile "$compiler" "$standard" "${strict_cxx[@]}"
  done
  tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || { echo "headers.sh: no compiler here" >&2; exit 77; }
exit "$status"
