# test/packages/deb.cmake — what a Debian package contains besides what `cmake --install` installs: licence and changelog, where Debian wants them.
# SPDX-License-Identifier: BSL-1.0
set(root ${CMAKE_CURRENT_LIST_DIR}/../..)
set(doc $ENV{DESTDIR}/usr/share/doc/libebb-dev)
file(READ ${root}/LICENSE licence)
file(WRITE ${doc}/copyright "Copyright: 2026 the ebb developers\n\n${licence}")
configure_file(${root}/CHANGELOG.md ${doc}/NEWS COPYONLY)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog
  "${CPACK_DEBIAN_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=low\n\n  * NEWS.gz says what has changed.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
execute_process(COMMAND gzip -9n ${doc}/changelog ${doc}/NEWS COMMAND_ERROR_IS_FATAL ANY)
file(CHMOD ${doc}/changelog.gz ${doc}/NEWS.gz ${doc}/copyright PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
