// test/io/npy.cpp — .npy files, against bytes that NumPy wrote.
// SPDX-License-Identifier: BSL-1.0
// covers: npy.hpp file.hpp
#include <ebb/tensor/equal.hpp>
#include <ebb/io/npy.hpp>

#include "files.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ebb;
using test::directory, test::bytes_of;

namespace {

/// The header that numpy.save writes: a dictionary, padded so that the elements begin at a multiple of 64.
std::string header(const std::string& dictionary, char version = 1) {
  std::string text = dictionary;
  const std::size_t start = version == 1 ? 10 : 12;
  while ((start + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  bytes += static_cast<char>(text.size() % 256);
  bytes += static_cast<char>(text.size() / 256);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + text;
}
template <class T>
std::string raw(std::vector<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// numpy.save(file, numpy.array([[1, 2.5, -3]], dtype='<f4')), byte for byte.
const std::string by_numpy = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }" +
                             std::string(58, ' ') + "\n" + std::string("\x00\x00\x80\x3f\x00\x00\x20\x40\x00\x00\x40\xc0", 12);

}  // namespace

TEST_CASE("NumPy's file is read, and written again byte for byte") {
  directory dir;
  const auto x = load_npy<float, dyn, 3>(dir.holding("a.npy", by_numpy));
  CHECK(ebb::all_equal(x, tensor<float, 1, 3>{{1, 2.5f, -3}}));
  save_npy(dir.file("b.npy"), x);
  CHECK(bytes_of(dir.path + "/b.npy") == by_numpy);
  CHECK(bytes_of(dir.path + "/b.npy.part") == "no file");
}

TEST_CASE("arrays of each element type and rank are saved and loaded") {
  directory dir;
  const std::string path = dir.file("x.npy");
  const auto there_and_back = [&](const auto& x) {
    save_npy(path, x);
    CHECK(bytes_of(path).size() % 64 == x.size() * sizeof(*x.data()) % 64);
    return x;
  };
  CHECK(load_npy<double>((there_and_back(tensor<double>(3.25)), path)) == 3.25);
  CHECK(ebb::all_equal(load_npy<bool, 3>((there_and_back(tensor<bool, 3>{true, false, true}), path)), tensor<bool, 3>{true, false, true}));
  using cube = tensor<std::int32_t, 3, 2, 2>;
  CHECK(ebb::all_equal(load_npy<std::int32_t, dyn, 2, 2>((there_and_back(cube::iota()), path)), cube::iota()));
  CHECK(ebb::all_equal(load_npy<std::int64_t, dyn>((there_and_back(arange<std::int64_t>(-5, 5)), path)), arange<std::int64_t>(-5, 5)));
  CHECK(ebb::all_equal(load_npy<float16, 4>((there_and_back(tensor<float16, 4>::iota()), path)), tensor<float16, 4>::iota()));
  CHECK(load_npy<float, dyn, 3>((there_and_back(tensor<float, 0, 3>()), path)).shape() == std::array<std::size_t, 2>{0, 3});
  save_npy(path, std::vector<float>{1, 2});
  CHECK(load_npy<float, 2>(path)(1) == 2);
  save_npy(path, 7.5f);  // replaces the file
  CHECK(load_npy<float>(path) == 7.5f);
  static_assert(!npy_element<bfloat16>);
}

TEST_CASE("headers of other versions, key orders and spacing are read") {
  directory dir;
  const std::string elements = raw<double>({1, 2});
  const auto second = [&](const std::string& head) { return load_npy<double, 2>(dir.holding("x.npy", head + elements))(1); };
  for (char version : {'\1', '\2', '\3'}) CHECK(second(header("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", version)) == 2);
  CHECK(second(header("{\"shape\":(2,),\"descr\":\"<f8\",\"fortran_order\":False}")) == 2);
  CHECK(second(header("{'descr': '<f8', 'fortran_order': True, 'shape': (2,), }")) == 2);
  const std::string bools = header("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }") + std::string("\0\1\x7f", 3);
  CHECK(ebb::all_equal(load_npy<bool, 3>(dir.holding("b.npy", bools)), tensor<bool, 3>{false, true, true}));
}

TEST_CASE("elements in Fortran order, as NumPy writes a transposed array, are put into C order") {
  directory dir;
  const auto file = [&](const std::string& descr, const std::string& shape, const std::string& elements) {
    return dir.holding("f.npy", header("{'descr': '" + descr + "', 'fortran_order': True, 'shape': (" + shape + "), }") + elements);
  };
  const std::string six = raw<double>({0, 1, 2, 3, 4, 5});
  CHECK(ebb::all_equal(load_npy<double, dyn, 3>(file("<f8", "2, 3", six)), tensor<double, 2, 3>{0, 2, 4, 1, 3, 5}));
  CHECK(ebb::all_equal(load_npy<double, 1, dyn, 6>(file("<f8", "1, 1, 6", six)), tensor<double, 1, 1, 6>{0, 1, 2, 3, 4, 5}));
  CHECK(load_npy<double, 0, dyn>(file("<f8", "0, 3", "")).extent(1) == 3);
  const std::string bools("\0\1\0\2", 4);
  CHECK(ebb::all_equal(load_npy<bool, 2, 2>(file("|b1", "2, 2", bools)), tensor<bool, 2, 2>{false, false, true, true}));
  // Element (i, j, k) of a cube is at i + 2 j + 6 k.
  std::vector<std::int32_t> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto cube = load_npy<std::int32_t, 2, 3, dyn>(file("<i4", "2, 3, 4", raw(numbers)));
  bool right = true;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) right = right && cube(i, j, k) == i + 2 * j + 6 * k;
  CHECK(right);
}

TEST_CASE("the error for an unreadable file names the file, the expected and the found contents") {
  directory dir;
  const auto problem = [&](const std::string& bytes) {
    const std::string path = dir.holding("bad.npy", bytes);
    const std::string text = test::raised([&] { load_npy<float, dyn, 3>(path); });
    const std::string start = "ebb::load_npy: " + path + ": ";
    CHECK(text.substr(0, start.size()) == start);
    return text.size() > start.size() ? text.substr(start.size()) : text;
  };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", elements = raw<float>({1, 2, 3});
  REQUIRE(load_npy<float, dyn, 3>(dir.holding("good.npy", header(good) + elements))(0, 2) == 3);

  CHECK(problem(header("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }") + elements) ==
        "expected '<f4' of shape [dyn, 3], found '<f8' of shape [1, 3]");
  CHECK(problem(header("{'descr': '>f4', 'fortran_order': False, 'shape': (1, 3), }") + elements) ==
        "expected '<f4' of shape [dyn, 3], found '>f4' of shape [1, 3]");
  CHECK(problem(header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), }") + elements) ==
        "expected '<f4' of shape [dyn, 3], found '<f4' of shape [3, 1]");
  CHECK(problem(header("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }") + elements) ==
        "expected '<f4' of shape [dyn, 3], found '<f4' of shape [3]");
  CHECK(problem(header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }") + elements) ==
        "expected 24 bytes of elements, found 12");
  CHECK(problem(header(good) + elements.substr(0, 11)) == "expected 12 bytes of elements, found 11");
  CHECK(problem(header(good)) == "expected 12 bytes of elements, found 0");
  // An error before anything of that size is allocated.
  CHECK(problem(header("{'descr': '<f4', 'fortran_order': False, 'shape': (100000000000000, 3), }") + elements) ==
        "expected 1200000000000000 bytes of elements, found 12");

  const std::string unreadable = "expected a .npy file, found a file that cannot be read or is shorter than its header";
  CHECK(problem("") == unreadable);
  CHECK(problem("\x93NUMPY") == unreadable);
  CHECK(problem("PK\3\4 and so on, a .npz") == "expected a .npy file, found other first bytes");
  CHECK(problem(header(good, 4) + elements) == "expected version 1.0, 2.0 or 3.0 of the format, found another");
  CHECK(problem(header(good).substr(0, 40)) == "the header is truncated");
  const char* const bad_headers[] = {
      "",
      "{}",
      "{'descr': '<f4'}",
      "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,), }",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x",
      "{'descr': '<f4, 'fortran_order': False, 'shape': (3,), }",
      "{'descr': '<f4' 'fortran_order': False, 'shape': (3,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
  };
  for (const char* bad : bad_headers)
    CHECK(problem(header(bad) + elements) ==
          "the header is not {'descr': ..., 'fortran_order': ..., 'shape': ...} of one plain element type");
  CHECK(test::raised([&] { load_npy<float, 3>(dir.path + "/none.npy"); }) ==
        "ebb::load_npy: " + dir.path + "/none.npy: No such file or directory");
  CHECK(test::raised([&] { load_npy<float, 3>(dir.path); }) == "ebb::load_npy: " + dir.path + ": " + unreadable);
}

TEST_CASE("a pipe or the target of a link is written, not replaced") {
  directory dir;
  const tensor<float, 3> x{1, 2, 3};
  const std::string plain = dir.file("plain.npy"), link = dir.file("link.npy"), pipe = dir.file("pipe");
  save_npy(plain, x);
  const std::string saved = bytes_of(plain);
  save_npy(plain, tensor<float, 1>{7});
  REQUIRE(symlink(plain.c_str(), link.c_str()) == 0);
  save_npy(link, x);
  CHECK(bytes_of(plain) == saved);
  char to[100];
  CHECK(readlink(link.c_str(), to, sizeof to) == static_cast<ssize_t>(plain.size()));

  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int both = open(pipe.c_str(), O_RDWR | O_NONBLOCK);  // opened for both, so that no open waits for the other end
  REQUIRE(both >= 0);
  save_npy(pipe, x);
  std::string got(saved.size() + 1, '\0');
  CHECK(read(both, got.data(), got.size()) == static_cast<ssize_t>(saved.size()));
  CHECK(got.substr(0, saved.size()) == saved);
  close(both);
}

TEST_CASE("a failed save leaves no new file and the old one unchanged") {
  directory dir;
  CHECK(test::raised([&] { save_npy(dir.path + "/none/x.npy", 1.f); }) ==
        "ebb::save_npy: " + dir.path + "/none/x.npy: No such file or directory");
  CHECK(test::raised([&] { save_npy(dir.path, 1.f); }).find(dir.path) != std::string::npos);  // a directory cannot be replaced
  CHECK(bytes_of(dir.path + ".part") == "no file");

  const std::string path = dir.file("x.npy");
  save_npy(path, 1.f);
  const std::string before = bytes_of(path);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{1000, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);  // has the effect of a full disk
  const std::string text = test::raised([&] { save_npy(path, tensor<float, 1000>()); });
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(text == "ebb::save_npy: " + path + ": File too large");
  CHECK(bytes_of(path + ".part") == "no file");
  CHECK(bytes_of(path) == before);
}
