# test/packages/vcpkg/system/boost-mp11/portfile.cmake — installs nothing: CMake finds the package of the system.
# SPDX-License-Identifier: BSL-1.0
set(VCPKG_POLICY_EMPTY_PACKAGE enabled)
