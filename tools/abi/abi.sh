#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the binary interface of a shared library with the recorded one, or records it.
# usage: abi.sh check|record LIBRARY RECORD
# Exit status: 0: equal; 1: they differ; 77: nothing to compare with here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
headers=$here/../../include/mltp
verb=$1 library=$2 record=$3
if ! command -v abidw >/dev/null; then
  echo "abi: no abidw here (Debian package abigail-tools): nothing was compared"
  exit 77
fi
case $verb in
  record)
    abidw --headers-dir "$headers" --drop-private-types --suppressions "$here/suppressions.ini" \
      --exported-interfaces-only --drop-undefined-syms --no-elf-needed --no-corpus-path \
      --no-comp-dir-path --no-show-locs --no-parameter-names --no-write-default-sizes \
      --type-id-style hash --out-file "$record" "$library"
    ;;
  check)
    status=0
    abidiff --suppressions "$here/suppressions.ini" --exported-interfaces-only "$record" \
      "$library" || status=$?
    [ "$status" = 0 ] && exit 0
    echo "abi: ${library##*/}: the binary interface is not the recorded one (a released" \
      "interface may only grow: add a version to the map; then run ./dev abi, and add the new" \
      "names to CHANGELOG)" >&2
    exit 1
    ;;
  *)
    sed -n '4,5s/^# //p' "$0" >&2
    exit 2
    ;;
esac
