# SPDX-License-Identifier: Apache-2.0
# Runs before CPack packs: Debian compresses manual pages and changelogs.
set(share ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share)
file(GLOB texts ${share}/man/man*/* ${share}/doc/*/changelog)
execute_process(COMMAND gzip --best --no-name ${texts} COMMAND_ERROR_IS_FATAL ANY)
