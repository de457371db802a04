#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a program with what pkg-config says, against the shared and the static library; runs both.
# usage: pkg-config.sh LIBDIR CC SOURCE PROGRAM
set -euo pipefail
libdir=$1 cc=$2 source=$3 program=$4
export PKG_CONFIG_PATH=$libdir/pkgconfig

read -ra flags <<<"$(pkg-config --cflags --libs mltp)"
"$cc" -o "$program" "$source" "${flags[@]}"
LD_LIBRARY_PATH=$libdir "$program"

read -ra flags <<<"$(pkg-config --static --cflags --libs mltp)"
"$cc" -static -o "$program-static" "$source" "${flags[@]}"
"$program-static"
