# test/packages/vcpkg/ebb/portfile.cmake — ebb for vcpkg, from the checkout that this port is in:
#   vcpkg install ebb --overlay-ports=<ebb>/test/packages/vcpkg
# SPDX-License-Identifier: BSL-1.0
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # headers alone

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DEBB_BUILD_TESTS=OFF -DEBB_BUILD_EXAMPLES=OFF -DEBB_BUILD_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/ebb)
vcpkg_fixup_pkgconfig()

file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/ebb")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
