#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages hold what they should; unpacked somewhere, they serve programs outside.
# usage: deb.sh FOLDER (with the packages; what it makes goes to FOLDER/check)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
rm -rf check
mkdir check
root=$PWD/check/root

die() {
  echo "deb.sh: $*" >&2
  exit 1
}

# holds PACKAGE PATTERN...: each pattern matches a file of the package.
holds() {
  local package=$1 list
  shift
  [ "$(compgen -G "${package}_*.deb" | wc -l)" = 1 ] || die "not one package $package in $PWD"
  list=$(dpkg-deb -c "$package"_*.deb)
  for pattern; do
    grep -qE " \./usr/$pattern( |\$)" <<<"$list" || die "$package has no file /usr/$pattern"
  done
  dpkg-deb -x "$package"_*.deb "$root"
}

# depends PACKAGE TEXT: its dependencies name that.
depends() {
  dpkg-deb -f "$1"_*.deb Depends | grep -qF "$2" || die "$1 does not depend on $2"
}

lib='lib/[^/]+-linux-gnu'
holds libmltp0 "$lib/libmltp\.so\.0" "$lib/libmltp\.so\.[0-9]+\.[0-9]+\.[0-9]+"
holds libmltp-dev "$lib/libmltp\.so" "$lib/libmltp\.a" "$lib/pkgconfig/mltp\.pc" \
  "$lib/cmake/mltp/mltp-config\.cmake" "include/mltp/mltp\.h" "share/man/man3/mltp_create\.3\.gz"
holds mltp-tools bin/mltp bin/mltp-bench "share/man/man1/tmpicc\.1\.gz" "share/man/man1/tmpicxx\.1\.gz"
version=$(dpkg-deb -f libmltp0_*.deb Version)
depends libmltp0 "libc6 (>="
depends libmltp-dev "libmltp0 (= $version)"
depends mltp-tools "libmltp0 (= $version)"
depends mltp-tools libjansson4

# Programs outside: pkg-config finds the scratch root by its own variables.
libdir=$(dirname "$root"/usr/lib/*/libmltp.so.0)
python3 -B "$here/symbols.py" "$root/usr/include/mltp" "$libdir/libmltp.so"
export PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
read -ra flags <<<"$(pkg-config --cflags --libs mltp)"
"${CC:-cc}" -o check/outside "$here/outside.c" "${flags[@]}"
check/outside
"${CXX:-c++}" -o check/outside-cxx "$here/cxx/outside.cpp" "${flags[@]}"
check/outside-cxx
"$root/usr/bin/mltp" options >/dev/null
! readelf -d "$root"/usr/bin/* "$libdir"/libmltp.so 2>/dev/null | grep -E 'R(UN)?PATH' ||
  die "something has a search path for libraries of its own"
echo "deb.sh: the packages of version $version are in order"
