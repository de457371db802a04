# SPDX-License-Identifier: Apache-2.0
# What is installed beside the programs: headers, libraries, pkg-config and CMake files. Each belongs
# to a component: runtime, development or tools.
include(CMakePackageConfigHelpers)

install(TARGETS mltp EXPORT mltp-targets
        LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS mltp_static EXPORT mltp-targets COMPONENT development)
install(DIRECTORY include/mltp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc ${prefix_from_pc})
configure_file(cmake/mltp.pc.in mltp.pc @ONLY)
file(WRITE ${PROJECT_BINARY_DIR}/lib/pkgconfig/mltp.pc "# For the build tree: nothing has to be installed.
Name: mltp
Description: ${PROJECT_DESCRIPTION}
Version: ${PROJECT_VERSION}
Cflags: -I${PROJECT_SOURCE_DIR}/include
Libs: -L${PROJECT_BINARY_DIR}/lib -Wl,-rpath,${PROJECT_BINARY_DIR}/lib -lmltp
Libs.private: -pthread
")
install(FILES ${PROJECT_BINARY_DIR}/mltp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mltp)
install(EXPORT mltp-targets NAMESPACE mltp:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/mltp-config.cmake.in mltp-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(mltp-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mltp-config.cmake ${PROJECT_BINARY_DIR}/mltp-config-version.cmake
        DESTINATION ${package_dir} COMPONENT development)

# The gdb commands: for `source`, and where gdb looks for what belongs to the shared library.
set(gdb_name libmltp.so.${PROJECT_VERSION}-gdb.py)
set(gdb_dir ${CMAKE_INSTALL_DATADIR}/gdb/auto-load\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR})
install(FILES tools/gdb/mltp-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/mltp COMPONENT development)
install(FILES tools/gdb/mltp-gdb.py DESTINATION ${gdb_dir} COMPONENT development RENAME ${gdb_name})
configure_file(tools/gdb/mltp-gdb.py lib/${gdb_name} COPYONLY)

include(cmake/deb/packages.cmake)
