# SPDX-License-Identifier: Apache-2.0
# Cross-building for 64-bit Arm on Debian, and running the result by qemu's user mode. Libraries come
# from Debian's arm64 packages (dpkg --add-architecture arm64), which lie beside the host's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
# tests/CMakeLists.txt keeps what runs there small: with the usual stacks' space a run takes gigabytes.
# (qemu's option -R is no remedy: it makes each mmap walk through all reserved pages.)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
