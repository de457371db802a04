# SPDX-License-Identifier: Apache-2.0
# Runs before CPack packs: Debian compresses manual pages and changelogs.
file(GLOB_RECURSE texts ${CPACK_TEMPORARY_DIRECTORY}/*.1
     ${CPACK_TEMPORARY_DIRECTORY}/*.3 ${CPACK_TEMPORARY_DIRECTORY}/*.7
     ${CPACK_TEMPORARY_DIRECTORY}/changelog)
execute_process(COMMAND gzip --best --no-name ${texts} COMMAND_ERROR_IS_FATAL ANY)
