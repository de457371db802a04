#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every installed man page is without warnings, and the pages people look for are there.
# usage: man.sh MANDOC MANDIR
set -euo pipefail
mandoc=$1 mandir=$2
for page in man3/mltp_create.3 man3/mltp_lock.3 man3/mltp.hpp.3 man7/mltp.7 man1/mltp.1 man1/mltp-bench.1 man1/mltp-dump.1 \
  man1/mltp-explore.1 man1/specc.1 man1/tmpirun.1 man1/tmpicc.1 man1/tmpicxx.1 man1/tmpifort.1 man3/mltp_sim_run.3 \
  man7/mltp-mpiexec.7 man7/mltp-probes.7 man7/mltp-signals.7 man7/mltp-threads.7 man7/mltp-limits.7 man7/mltp-systemc.7 man7/mltp-qt.7 man8/dkctl.8 man8/mltpd.8; do
  [ -s "$mandir/$page" ] || { echo "man.sh: $page is missing" >&2; exit 1; }
done
find "$mandir" -name '*.[1-9]' -print0 | xargs -0 "$mandoc" -T lint -W warning
# groff renders tables only of pages whose first line asks for its preprocessor
grep -rl '^\.TS' "$mandir" | while read -r page; do
  head -n 1 "$page" | grep -q "^'.. t\$" || { echo "man.sh: $page has a table and no line '\\\" t" >&2; exit 1; }
done
