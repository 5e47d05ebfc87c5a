// test/profile/rows.hpp — finds rows of a profile.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "../catch.hpp"

#include <ebb/profile.hpp>

#include <string>
#include <vector>

namespace test {

inline std::vector<ebb::profile_row> rows_of(const ebb::profile& p, ebb::probed is, const std::string& name = "") {
  std::vector<ebb::profile_row> r;
  for (const ebb::profile_row& x : p.rows())
    if (x.is == is && x.name.find(name) != std::string::npos) r.push_back(x);
  return r;
}
inline ebb::profile_row the_row(const ebb::profile& p, ebb::probed is, const std::string& name = "") {
  const auto r = rows_of(p, is, name);
  INFO(name);
  REQUIRE(r.size() == 1);
  return r[0];
}

}  // namespace test
