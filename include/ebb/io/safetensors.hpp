// ebb/io/safetensors.hpp — safetensors files: arrays, structs of them, variables and optimizers, loaded and saved.
// SPDX-License-Identifier: BSL-1.0
//
// Not in ebb.hpp: programs that read no weights need not compile it.
//   ebb::save_safetensors("model.safetensors", net);                        // any structure of arrays or variables
//   ebb::load_safetensors("model.safetensors", net);                        // into one
//   const ebb::safetensors file("model.safetensors");                       // or array by array
//   const auto w = file.view<float, ebb::dyn, 64>("fc1.weight");            // in the file's memory, without a copy
// See [note: names in files] and [note: what a safetensors file is].
#pragma once

#include "safetensors_file.hpp"

#include "../base/error.hpp"
#include "../tensor/borrow.hpp"

#include <algorithm>
#include <deque>

namespace ebb::inline EBB_ABI {

/// Fills the structure with the arrays of the file, by name: see safetensors::load.
template <class X>
void load_safetensors(const std::string& path, X&& x, load_options options = {}) {
  safetensors(path).load(x, options);
}
/// A structure filled so: load_safetensors<network<ebb::tensor>>("model.safetensors").
template <class X>
  requires std::is_default_constructible_v<X>
X load_safetensors(const std::string& path, load_options options = {}) {
  X x{};
  safetensors(path).load(x, options);
  return x;
}

namespace detail {

/// An array that is to be written.
struct written_array {
  std::string name;
  dtype type;
  std::vector<std::size_t> shape;
  const void* data;
};
EBB_COLD std::size_t bytes_of(const written_array& a) {
  std::size_t n = size_of(a.type);
  for (const std::size_t extent : a.shape) n *= extent;
  return n;
}

/// Writes the file in the order of the reference implementation: by type, then by name.
EBB_COLD void write_safetensors(const std::string& path, std::vector<written_array> arrays, const texts_by_name& metadata) {
  const auto refuse = [&](const std::string& problem) { raise("ebb::save_safetensors: " + path + ": " + problem); };
  std::sort(arrays.begin(), arrays.end(), [](const written_array& a, const written_array& b) {
    const stored_type &s = stored_type_of(a.type), &t = stored_type_of(b.type);
    return &s != &t ? &s > &t : a.name < b.name;
  });
  std::vector<std::string_view> names;
  std::string head = "{";
  if (!metadata.empty()) {
    head += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (!is_utf8(key) || !is_utf8(value)) refuse("metadata is UTF-8, that of " + json_text(key) + " is not");
      head += json_text(key) + ":" + json_text(value) + ",";
    }
    head.back() = '}';
    head += ',';
  }
  std::size_t at = 0;
  for (const written_array& a : arrays) {
    if (a.name.empty()) refuse("an array that is no member of a structure has no name: give ebb::with_name(\"name\", array)");
    if (!is_utf8(a.name)) refuse("a name is UTF-8, " + json_text(a.name) + " is not");
    if (a.name == "__metadata__") refuse("no array can be called __metadata__");
    if (!a.data && bytes_of(a)) refuse(json_text(a.name) + " is undefined");
    names.push_back(a.name);
    std::string shape;
    for (const std::size_t extent : a.shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    head += json_text(a.name) + ":{\"dtype\":\"" + std::string(stored_type_of(a.type).name) + "\",\"shape\":[" + shape +
            "],\"data_offsets\":[" + std::to_string(at) + ",";
    head += std::to_string(at += bytes_of(a)) + "]},";
  }
  if (head.size() > 1) head.pop_back();
  head += '}';
  head.append((8 - head.size() % 8) % 8, ' ');
  if (head.size() > safetensors_header::max_bytes) refuse("the names are too long for the format: its header has at most 100 MB");
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    refuse("two arrays are called " + json_text(*twice));

  const std::uint64_t length = head.size();
  const std::string problem = write_file(path, [&](open_file& file) {
    bool good = file.write(&length, sizeof length) && file.write(head.data(), head.size());
    for (const written_array& a : arrays) good = good && file.write(a.data, bytes_of(a));
    return good && file.sync();
  });
  if (!problem.empty()) refuse(problem);
}

/// Notes what is to be written.
struct saving {
  std::vector<written_array> arrays;
  std::deque<std::int64_t> steps;

  template <class Leaf>
  void operator()(const std::string& name, const Leaf& leaf) {
    if constexpr (keeps_states<Leaf>) {
      for (std::size_t i = 0; i < leaf.size(); ++i) {
        const std::string prefix = state_prefix(name, i);
        const auto& p = leaf.parameter(i);
        const auto& s = leaf.state(i);
        steps.push_back(static_cast<std::int64_t>(s.step));
        arrays.push_back({prefix + "step", dtype::i64, {}, &steps.back()});
        for (std::size_t k = 0; k < s.arrays.size(); ++k)
          arrays.push_back({prefix + leaf.state_name(k), state_dtype(p.type), {p.extents.e, p.extents.e + p.extents.rank},
                            s.arrays[k].data()});
      }
    } else {
      const auto shape = layout_in(leaf).shape();
      arrays.push_back({name, dtype_of<borrowed_element<Leaf>>, {shape.begin(), shape.end()}, borrow<Leaf>::data(leaf)});
    }
  }
};

}  // namespace detail

/// Writes every array of the structure under its name, see [note: names in files], and `metadata`, which Python's package gives back.
/// The file appears under its name only when it is complete and on the disk: see write_file. The bytes are those of Python's save_file.
/// Throws: error naming the file and the system's message; for a name that is there twice, and for undefined variables.
template <class X>
void save_safetensors(const std::string& path, const X& x, const texts_by_name& metadata = {}) {
  constexpr bool fits = detail::all_named_leaves<X, detail::is_savable>::value;
  static_assert(fits, "[ebb E0301] what is saved is an array that lies in rows, a variable, an optimizer, or a structure of these: "
                      "a struct names its members by BOOST_HANA_DEFINE_STRUCT");
  if constexpr (fits) {
    detail::saving all;
    detail::each_named_leaf(all, "", x);
    detail::write_safetensors(path, std::move(all.arrays), metadata);
  }
}

}  // namespace ebb::inline EBB_ABI
