#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# notes.sh PROCESSOR LIBRARY: a library built with landings has them, and claims just that.
set -euo pipefail
processor=$1 library=$2
notes=$(readelf -n "$library")

case $processor in
  aarch64) expected='AArch64 feature: BTI, PAC' ;;
  *) expected='x86 feature: IBT' ;; # and not SHSTK: a thread has no shadow stack of its own
esac
# Instructions of newer processors that the library needs may follow on lines of their own.
if ! grep -qx "[[:space:]]*\(Properties:\)\? *${expected}[[:space:]]*" <<<"$notes"; then
  printf 'not so: %s claims "%s":\n%s\n' "$library" "$expected" "$notes" >&2
  exit 1
fi

[ "$processor" = x86_64 ] || exit 0
# Each jump of a switch goes to where such a jump stands: behind it is the landing.
switches=$(objdump -d --no-show-raw-insn "$library" | grep -A1 'jmp *\*0x18(%rsi)')
jumps=$(grep -c 'jmp' <<<"$switches")
landings=$(grep -c 'endbr64' <<<"$switches" || true)
if [ "$jumps" -lt 2 ] || [ "$jumps" != "$landings" ]; then
  printf 'not so: %s has a landing behind each switch:\n%s\n' "$library" "$switches" >&2
  exit 1
fi
