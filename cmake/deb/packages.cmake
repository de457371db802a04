# SPDX-License-Identifier: Apache-2.0
# Debian packages, one for each component. Preset `deb` installs to /usr: there Debian's own library
# folder is taken, and programs need no search path.
set(CPACK_GENERATOR DEB)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "The MLTP maintainers <maintainers@mltp.invalid>") # a distributor gives an address
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What programs that link libmltp.so.0 depend on; and the trigger for the linker's cache.
set(generated ${PROJECT_BINARY_DIR}/packages)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${generated}/shlibs "libmltp 0 libmltp0 (>= ${PROJECT_VERSION})\nlibmpi_abi 1 libmltp0 (>= ${PROJECT_VERSION})\nlibmltp-qt 0 libmltp0 (>= ${PROJECT_VERSION})\nlibmltp-sim 0 libmltp0 (>= ${PROJECT_VERSION})\n")
file(WRITE ${generated}/triggers "activate-noawait ldconfig\n")
file(WRITE ${generated}/changelog "mltp (${PROJECT_VERSION}) unstable; urgency=medium

  * As the project's CHANGELOG.md says.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${generated}/shlibs ${generated}/triggers)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libmltp0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "These are the shared libraries.
Many cheap threads that the program schedules, on a few kernel threads that
the kernel schedules. Locks, conditions, barriers and semaphores serve both,
and ordinary pthreads. On them stand MPI with ranks as threads, a simulation
kernel, and the interface of QuickThreads.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmltp-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libmltp0 (= ${PROJECT_VERSION}), libc6-dev | libc-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "These are the development files.
Headers of the threads, of MPI and of the simulation kernel, static libraries,
manual pages, and what pkg-config and CMake need to find them.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mltp-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONTROL_EXTRA ${generated}/triggers) # libmltp-systemc
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "libmltp0 (= ${PROJECT_VERSION}), python3, python3-lark") # specc
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "gcc | c-compiler, libmltp-dev (= ${PROJECT_VERSION})") # specc, tmpicc
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib) # libmltp itself
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "These are the programs.
tmpicc, tmpicxx and tmpirun build and run MPI programs with ranks as threads.
specc compiles SpecC models; a library to preload makes SystemC models faster.
mltp shows threads, explores interleavings, and runs pthread programs with as
many threads at a time as there are CPUs; mltpd divides the CPUs between
programs. mltp-bench measures all of it beside other packages.")

# What every package has; other ways to install do without it.
if(CMAKE_INSTALL_PREFIX STREQUAL CPACK_PACKAGING_INSTALL_PREFIX)
  set(documents ${CMAKE_CURRENT_LIST_DIR}/copyright ${generated}/changelog)
  install(FILES ${documents} DESTINATION share/doc/libmltp0 COMPONENT runtime)
  install(FILES ${documents} DESTINATION share/doc/libmltp-dev COMPONENT development)
  install(FILES ${documents} DESTINATION share/doc/mltp-tools COMPONENT tools)
  # What lintian warns of and stays, each with the reason.
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/overrides/libmltp0 DESTINATION share/lintian/overrides COMPONENT runtime)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/overrides/mltp-tools DESTINATION share/lintian/overrides COMPONENT tools)
endif()

set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/finish.cmake)
include(CPack)
