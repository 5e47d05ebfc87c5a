// ebb/train/state_file.hpp — the states of an update rule, as bytes.
// SPDX-License-Identifier: BSL-1.0
//
// [note: the file of an optimizer]
// Little endian. At the beginning, "ebb-opt" and a 0; u32 version, 1; u32 number of parameters. Then for each parameter, in order:
//   u8[4] name of the dtype that states have, filled up with 0     u32 rank     u32 number of arrays; 0 before the first step     u32 0
//   u64 number of updates so far     u64 extents[rank]     the arrays' elements, row-major
// It has neither parameters nor hyperparameters. The present parameters decide how much is read, never the file.
#pragma once

#include "../hooks/update.hpp"

#include <bit>
#include <cstring>

namespace ebb::inline EBB_ABI::detail {

static_assert(std::endian::native == std::endian::little, "elements are written as they are in memory");

struct state_file_head {
  char magic[8] = "ebb-opt";
  std::uint32_t version = 1, parameters = 0;
};
struct state_head {
  char type[4] = {};
  std::uint32_t rank = 0, arrays = 0, unused = 0;
  std::uint64_t step = 0;
};

/// How many bytes an array has that is kept of the parameter.
EBB_COLD std::size_t state_bytes(const leaf& l) { return l.extents.volume() * (size_of(l.type) == 2 ? sizeof(float) : size_of(l.type)); }

EBB_COLD state_head head_of(const leaf& l, const update_state& s) {
  state_head h;
  const std::string_view name = name_of(size_of(l.type) == 2 ? dtype::f32 : l.type);
  std::memcpy(h.type, name.data(), name.size());
  h.rank = static_cast<std::uint32_t>(l.extents.rank);
  h.arrays = static_cast<std::uint32_t>(s.arrays.size());
  h.step = s.step;
  return h;
}

/// write(bytes, count): returns whether it succeeded.
inline bool write_state(auto&& write, const leaf& l, const update_state& s) {
  const state_head h = head_of(l, s);
  bool good = write(&h, sizeof h);
  for (int i = 0; i < l.extents.rank; ++i) {
    const std::uint64_t extent = l.extents.e[i];
    good = good && write(&extent, sizeof extent);
  }
  for (const storage& a : s.arrays) good = good && write(a.data(), a.bytes());
  return good;
}

[[noreturn]] EBB_COLD void raise_state_file(const std::string& problem) {
  raise("ebb::optimizer::load: " + problem);
}

/// read(bytes, count): returns whether it succeeded.   may_have(count): whether the rule may keep that many arrays.
/// Throws: error if the bytes are not the state of a parameter like this one.
inline update_state read_state(auto&& read, auto&& may_have, const leaf& l, std::size_t number) {
  const auto refuse = [&](const std::string& problem) { raise_state_file("parameter " + std::to_string(number) + ": " + problem); };
  const auto need = [&](void* to, std::size_t bytes) {
    if (bytes && !read(to, bytes)) refuse("the file ends here");
  };
  state_head found;
  need(&found, sizeof found);
  const state_head own = head_of(l, {});
  if (std::memcmp(found.type, own.type, sizeof own.type) != 0)
    refuse("the states here are " + std::string(own.type, strnlen(own.type, 4)) + ", those in the file are of another dtype");
  extent_list extents;
  extents.rank = l.extents.rank;
  if (found.rank != own.rank) refuse("its rank is " + std::to_string(own.rank) + ", that in the file " + std::to_string(found.rank));
  for (int i = 0; i < extents.rank; ++i) {
    std::uint64_t extent = 0;
    need(&extent, sizeof extent);
    extents.e[i] = static_cast<std::size_t>(extent);
  }
  if (!same_extents(extents, l.extents)) refuse("it is " + text_of(l.type, l.extents) + ", that in the file " + text_of(l.type, extents));
  if (!may_have(found.arrays)) refuse("the file has " + std::to_string(found.arrays) + " arrays for it, which another rule has kept");

  update_state s{found.step, {}};
  for (std::uint32_t i = 0; i < found.arrays; ++i) {
    s.arrays.emplace_back(state_bytes(l));
    need(s.arrays.back().data(), s.arrays.back().bytes());
  }
  return s;
}

}  // namespace ebb::inline EBB_ABI::detail
