// test/io/npz.cpp — .npz files that NumPy wrote, packed and not; damaged and hostile ones.
// SPDX-License-Identifier: BSL-1.0
#include "files.hpp"

#include <ebb/tensor/equal.hpp>
#include <ebb/io/npz.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

using ebb::dyn, ebb::tensor;

namespace {

const std::string plain = EBB_TEST_DATA "/weights/plain.npz", packed = EBB_TEST_DATA "/weights/packed.npz";

std::span<const std::byte> as_bytes(const std::vector<char>& v) { return {reinterpret_cast<const std::byte*>(v.data()), v.size()}; }
/// Why a file in memory is refused when it is opened, or nothing.
std::string problem_of(const std::string& file) {
  const std::vector<char> exact(file.begin(), file.end());
  const std::string text = test::raised([&] { ebb::npz{as_bytes(exact)}; }), start = "ebb::npz: memory: ";
  CHECK((text.empty() || text.substr(0, start.size()) == start));
  return text.empty() ? text : text.substr(start.size());
}
/// The file with a number of two or four bytes at a place.
std::string with(std::string file, std::size_t at, std::uint64_t number, std::size_t bytes) {
  std::memcpy(file.data() + at, &number, bytes);
  return file;
}

}  // namespace

TEST_CASE("the arrays of numpy.savez and numpy.savez_compressed are read") {
  const ebb::npz file(plain);
  CHECK(file.names() == std::vector<std::string>{"big", "empty", "fc.bias", "fc.weight", "flags", "labels", "layers.0", "layers.1",
                                                      "number"});
  CHECK(ebb::all_equal(file.load<float, dyn, 3>("fc.weight"), tensor<float, 2, 3>{1, 2.5f, -3, 4, 5, 1.f / 3}));
  CHECK(file.load<std::int64_t, 2>("big")(0) == INT64_MIN);
  CHECK(file.load<double, 2>("layers.1")(0) == 3.141592653589793);
  CHECK(file.load<ebb::float16, 3>("layers.0")(2) == ebb::float16(65504.f));
  CHECK(file.load<std::int32_t, 1, 2, 2>("labels")(0, 1, 1) == 2147483647);
  CHECK(file.load<bool, dyn>("flags")(2));
  CHECK(file.load<float>("number") == 7.5f);
  CHECK(file.load<float, dyn, 3>("empty").extent(0) == 0);
  CHECK(file.contains("fc.bias"));
  CHECK(!file.contains("fc.bias.npy"));

  const ebb::npz other(packed);
  CHECK(other.names() == std::vector<std::string>{"arr_0", "arr_1", "arr_2"});
  CHECK(ebb::all_equal(other.load<float, 10, dyn>("arr_0"), tensor<float, 10, 100>::iota()));
  CHECK(ebb::all_equal(other.load<double, dyn>("arr_1"), tensor<double, dyn>(20000)));
  CHECK(other.load<std::int64_t>("arr_2") == 7);
}

TEST_CASE("an array that does not fit, or is damaged, is refused by its name") {
  const ebb::npz file(plain);
  const std::string start = "ebb::npz::load: " + plain + ": ";
  CHECK(test::raised([&] { file.load<float, 2>("none"); }) == start + "\"none\": there is no such array");
  CHECK(test::raised([&] { file.load<float, 3, 3>("fc.weight"); }) ==
        start + "\"fc.weight\": expected '<f4' of shape [3, 3], found '<f4' of shape [2, 3]");
  CHECK(test::raised([&] { file.load<double, 2, 3>("fc.weight"); }) ==
        start + "\"fc.weight\": expected '<f8' of shape [2, 3], found '<f4' of shape [2, 3]");
  CHECK(test::raised([&] { ebb::npz("/none.npz"); }) == "ebb::npz: /none.npz: No such file or directory");

  // One bit of one element.
  const auto damaged = [](const std::string& path, const std::string& name, const std::string& place) {
    std::string bytes = test::bytes_of(path);
    const std::size_t at = bytes.find(place, bytes.find(name + ".npy"));
    REQUIRE(at != std::string::npos);
    bytes[at] ^= 4;
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const ebb::npz changed(as_bytes(exact));
    return test::raised([&] { static_cast<void>(changed.load<float, dyn, dyn>(name)); });
  };
  const std::string two_and_a_half("\x00\x00\x20\x40", 4);
  CHECK(damaged(plain, "fc.weight", two_and_a_half) ==
        "ebb::npz::load: memory: \"fc.weight\": its bytes are damaged: the checksum differs");
  const std::string all = test::bytes_of(packed);
  const std::size_t middle = all.find("arr_1.npy") - 300;  // in the packed bytes of arr_0
  CHECK(damaged(packed, "arr_0", all.substr(middle, 20)) != "");
}

TEST_CASE("the directory of an archive is not believed") {
  const std::string file = test::bytes_of(plain);
  REQUIRE(problem_of(file) == "");
  CHECK(problem_of(file + "x") == "expected a .npz file, found no directory of a ZIP file at its end");
  CHECK(problem_of("") == "expected a .npz file, found one of 0 bytes");
  CHECK(problem_of(std::string(1000, 'P')) == "expected a .npz file, found no directory of a ZIP file at its end");
  for (std::size_t n = 0; n < file.size(); ++n) CHECK(problem_of(file.substr(0, n)) != "");
  std::string commented = with(file, file.size() - 2, 5, 2) + "hello";
  CHECK(problem_of(commented) == "");

  const std::size_t end = file.size() - 22;
  std::uint32_t begin = 0;
  std::memcpy(&begin, file.data() + end + 16, 4);
  CHECK(problem_of(with(file, end + 4, 1, 2)) == "the archive has several disks");
  CHECK(problem_of(with(file, end + 10, 0xffff, 2)) == "the archive has several disks");
  CHECK(problem_of(with(with(file, end + 8, 0xffff, 2), end + 10, 0xffff, 2)) == "the directory is of more than 4 GB or 65,534 members");
  CHECK(problem_of(with(file, end + 16, 0xffffffff, 4)) == "the directory is of more than 4 GB or 65,534 members");
  CHECK(problem_of(with(file, end + 16, begin + 1, 4)) == "the directory is not in front of its end");
  CHECK(problem_of(with(file, end + 16, 0xfffffff0, 4)) == "the directory is not in front of its end");
  CHECK(problem_of(with(with(file, end + 8, 20, 2), end + 10, 20, 2)) == "the directory is damaged");
  CHECK(problem_of(with(with(file, end + 8, 1, 2), end + 10, 1, 2)) == "the directory has more bytes than members");
  CHECK(problem_of(with(file, begin + 28, 0xffff, 2)) == "the directory is damaged");
  const auto of_first = [&](const std::string& changed) {
    const std::string text = problem_of(changed);
    const std::size_t at = text.find("\" ");
    return at == std::string::npos ? text : text.substr(at + 2);
  };
  CHECK(of_first(with(file, begin + 8, 1, 2)) == "is encrypted");
  CHECK(of_first(with(file, begin + 42, 0xfffffff0, 4)) == "is outside of the file");
  CHECK(of_first(with(file, begin + 42, 1, 4)) == "is not where the directory says");
  CHECK(of_first(with(file, begin + 20, 0xfffffff0, 4)) == "is outside of the file");
  CHECK(of_first(with(file, begin + 20, 0xffffffff, 4)) == "has no sizes");
  CHECK(of_first(with(file, begin + 20, 400, 4)) == "overlaps another member");
  CHECK(of_first(with(file, begin + 46, 'X', 1)) == "has another name in the directory");

  const std::vector<char> exact = [&] {
    const std::string bomb = test::bytes_of(packed);
    std::uint32_t at = 0;
    std::memcpy(&at, bomb.data() + bomb.size() - 6, 4);
    const std::string announced = with(bomb, at + 24, 0xfffffff0, 4);
    return std::vector<char>(announced.begin(), announced.end());
  }();
  const ebb::npz bomb(as_bytes(exact));
  CHECK(test::raised([&] { bomb.load<float, 10, 100>("arr_0"); }) ==
        "ebb::npz::load: memory: \"arr_0\": its packed bytes cannot hold what is announced");
}

TEST_CASE("mutated archives are refused, or hold what they held") {
  std::uint64_t state = 3;
  const auto draw = [&](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  const std::string files[] = {test::bytes_of(plain), test::bytes_of(packed)};
  int refused = 0, opened = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes = files[i % 2];
    for (std::size_t n = 1 + draw(2); n > 0; --n) {
      const std::size_t at = draw(3) ? bytes.size() - 1 - draw(std::min<std::size_t>(bytes.size(), 700)) : draw(bytes.size());
      if (draw(5) == 0) bytes.erase(at, 1 + draw(4));
      else if (draw(5) == 0) bytes.replace(at, 4, "\xff\xff\xff\xff");
      else bytes[at] = static_cast<char>(draw(256));
    }
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    const std::vector<std::byte> exact(first, first + bytes.size());
    std::vector<ebb::detail::zip_member> members;
    if (!ebb::detail::zip_directory().read(exact, members).empty()) {
      ++refused;
      continue;
    }
    ++opened;
#if EBB_EXCEPTIONS
    try {
      const ebb::npz file{std::span<const std::byte>(exact)};
      for (const std::string& name : file.names()) {
        try {
          static_cast<void>(file.load<float, dyn>(name));
        } catch (const ebb::error&) {
        }
      }
    } catch (const ebb::error&) {
    }
#endif
  }
  CHECK(refused > 2000);
  CHECK(opened > 500);
}
