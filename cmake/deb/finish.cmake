# SPDX-License-Identifier: Apache-2.0
# Runs before CPack packs: Debian compresses manual pages and changelogs. A page that is another's
# second name becomes one of the compressed page.
set(share ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share)
file(GLOB texts ${share}/man/man*/* ${share}/doc/*/changelog)
set(plain)
foreach(text ${texts})
  if(IS_SYMLINK ${text})
    file(READ_SYMLINK ${text} page)
    file(REMOVE ${text})
    file(CREATE_LINK ${page}.gz ${text}.gz SYMBOLIC)
  else()
    list(APPEND plain ${text})
  endif()
endforeach()
execute_process(COMMAND gzip --best --no-name ${plain} COMMAND_ERROR_IS_FATAL ANY)
