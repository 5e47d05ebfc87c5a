# test/packages/vcpkg/system/xsimd/portfile.cmake — installs nothing: CMake finds the package of the system.
# SPDX-License-Identifier: BSL-1.0
set(VCPKG_POLICY_EMPTY_PACKAGE enabled)
