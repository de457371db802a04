# SPDX-License-Identifier: Apache-2.0
# What is installed beside the programs: headers, libraries, pkg-config and CMake files; the .deb.
include(CMakePackageConfigHelpers)

install(DIRECTORY include/mltp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(TARGETS mltp mltp_static EXPORT mltp-targets)

file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/mltp.pc.in mltp.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mltp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mltp)
install(EXPORT mltp-targets NAMESPACE mltp:: DESTINATION ${package_dir})
configure_package_config_file(cmake/mltp-config.cmake.in mltp-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(mltp-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mltp-config.cmake ${PROJECT_BINARY_DIR}/mltp-config-version.cmake
        DESTINATION ${package_dir})

# The gdb commands: for `source`, and where gdb looks for what belongs to the shared library.
set(gdb_name libmltp.so.${PROJECT_VERSION}-gdb.py)
set(gdb_dir ${CMAKE_INSTALL_DATADIR}/gdb/auto-load\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR})
install(FILES tools/gdb/mltp-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/mltp)
install(FILES tools/gdb/mltp-gdb.py DESTINATION ${gdb_dir} RENAME ${gdb_name})
configure_file(tools/gdb/mltp-gdb.py lib/${gdb_name} COPYONLY)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The MLTP maintainers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
