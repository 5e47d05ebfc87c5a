// test/io/safetensors.fail.cpp — types that have no place in a file of arrays.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/ebb.hpp>
#include <ebb/io/safetensors.hpp>

#include <string>
#include <tuple>

namespace {

struct plain {
  ebb::tensor<float, 3> w;
};

}  // namespace

int main() {
  ebb::tensor<float, 3> w;
  ebb::save_safetensors("w.safetensors", ebb::with_name("w", w));
  ebb::load_safetensors("w.safetensors", ebb::with_name("w", w));
#if EBB_CASE == 1
  // EXPECT: E0300 what is loaded is an array that can be written, a variable, an optimizer, or a structure of these
  std::string name;
  ebb::safetensors("w.safetensors").load(std::tie(w, name));  // LINE
#elif EBB_CASE == 2
  // EXPECT: E0300 what is loaded is an array that can be written
  ebb::safetensors("w.safetensors").load(ebb::with_name("w", ebb::view<const float, 3>(w.data())));  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0300 what is loaded is an array that can be written
  const ebb::tensor<float, 3> fixed;
  ebb::safetensors("w.safetensors").load(std::tuple(ebb::with_name("v", w), ebb::with_name("w", fixed)));  // LINE
#elif EBB_CASE == 4
  // EXPECT: E0301 what is saved is an array that lies in rows, a variable, an optimizer, or a structure of these
  ebb::save_safetensors("w.safetensors", std::tuple(ebb::with_name("w", w), "three words"));  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0300 or a structure of these: a struct names its members by BOOST_HANA_DEFINE_STRUCT
  plain p;
  ebb::safetensors("w.safetensors").load(p);  // LINE
#endif
}
