#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of README and handbook on a Debian that is thrown away afterwards; run by root.
# usage: bare.sh build            builds; from the build tree, from a prefix, and as README installs; makes packages
#        bare.sh packages FOLDER  installs FOLDER/*.deb; from these
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export DEBIAN_FRONTEND=noninteractive

# What the documents' commands call, beside MLTP.
need() {
  apt-get update -q
  apt-get install -q -y --no-install-recommends \
    gcc g++ gfortran make cmake ninja-build pkgconf python3 libsystemc-dev mandoc man-db "$@"
}

# commands WAY PREFIX: runs those of all documents.
commands() {
  echo "bare.sh: $1"
  python3 -B tests/install/documents.py "$2" README.md docs/handbook/*.md
}

case ${1:-} in
  build)
    need
    ./dev build
    commands "from the build tree" build
    cmake --install build --prefix /opt/mltp >/dev/null
    commands "from a prefix" /opt/mltp
    cmake --install build >/dev/null
    ldconfig
    commands "as README installs" -
    tests/install/man.sh mandoc /usr/local/share/man
    ./dev deb
    ;;
  packages)
    folder=$(realpath "$2")
    need "$folder"/*.deb
    commands "from the packages" -
    pages=$(mktemp -d) # those of other packages are not ours to judge
    for package in "$folder"/*.deb; do dpkg-deb --extract "$package" "$pages"; done
    find "$pages" -name '*.gz' -path '*/man/*' | while read -r page; do zcat "$page" >"${page%.gz}"; done
    tests/install/man.sh mandoc "$pages/usr/share/man"
    man mltp tmpirun specc mltp-systemc >/dev/null
    ;;
  *)
    sed -n '3,5s/^# //p' "$0" >&2
    exit 2
    ;;
esac
