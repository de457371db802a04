#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a program with what pkg-config says of a module, and runs it.
# usage: module.sh LIBDIR MODULE COMPILER SOURCE PROGRAM
set -euo pipefail
libdir=$1 module=$2 compiler=$3 source=$4 program=$5
export PKG_CONFIG_PATH=$libdir/pkgconfig

read -ra flags <<<"$(pkg-config --cflags --libs "$module")"
case $source in
  *.cpp) flags+=(-std=c++17) ;; # as SystemC's library
esac
"$compiler" -o "$program" "$source" "${flags[@]}"
LD_LIBRARY_PATH=$libdir "$program"
