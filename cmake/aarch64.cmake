# SPDX-License-Identifier: Apache-2.0
# Cross-building for 64-bit Arm on Debian, and running the result by qemu's user mode. Libraries come
# from Debian's arm64 packages (dpkg --add-architecture arm64), which lie beside the host's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
# qemu keeps 24 bytes for each page of address space that is reserved, so an arena of the usual size
# (1 TiB) would cost 6 GiB in every test; within 12 GiB the library takes a smaller one. (qemu's own
# option -R makes each mmap walk through all reserved pages.)
set(CMAKE_CROSSCOMPILING_EMULATOR prlimit --as=12884901888 qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
