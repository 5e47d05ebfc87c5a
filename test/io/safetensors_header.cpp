// test/io/safetensors_header.cpp — hostile safetensors files: each is refused with a sentence, and nothing outside of it is read.
// SPDX-License-Identifier: BSL-1.0
#include "files.hpp"

#include <ebb/io/safetensors.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace {

/// A file of this header and so many bytes of elements.
std::string file_of(const std::string& header, std::size_t elements, std::uint64_t length) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(elements, '\x3f');
}
std::string file_of(const std::string& header, std::size_t elements) { return file_of(header, elements, header.size()); }

/// Why a file is refused, or nothing. In memory of exactly its size, so that sanitizers see what is read after it.
std::string problem_of(const std::string& file) {
  const auto* const first = reinterpret_cast<const std::byte*>(file.data());
  const std::vector<std::byte> exact(first, first + file.size());
  const std::string text = test::raised([&] { ebb::safetensors{std::span<const std::byte>(exact)}; });
  const std::string start = "ebb::safetensors: memory: ";
  CHECK((text.empty() || text.substr(0, start.size()) == start));
  return text.empty() ? text : text.substr(start.size());
}
/// The problem of a header in front of 8 bytes, without the beginning that all have.
std::string in_header(const std::string& header) {
  const std::string text = problem_of(file_of(header, 8)), start = "the header is not one of a .safetensors file: ";
  return text.substr(0, start.size()) == start ? text.substr(start.size()) : text;
}
const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

}  // namespace

TEST_CASE("a safetensors header is read whatever the order of keys, spaces and escapes") {
  for (const char* header : {
           R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}      )",
           "\n{ \"a\" :\t{ \"shape\" : [ 2 ] , \"data_offsets\" : [ 0 , 8 ] ,\r \"dtype\" : \"F32\" } }\n",
           R"({"\u0061":{"dty\u0070e":"\u00463\u0032","shape":[2],"data_offsets":[0,8]},"__metadata__":{}})",
           R"({"__metadata__":{"a":"b","c":""},"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
           R"("a":{"dtype":"F32","shape":[1,2,1],"data_offsets":[0,8]}})",
           R"({"b":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})",
           R"({"z":{"dtype":"F4","shape":[3,2],"data_offsets":[5,8]},"y":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[2,5]},)"
           R"("x":{"dtype":"U16","shape":[1],"data_offsets":[0,2]}})",
       })
    CHECK(in_header(header) == "");
  CHECK(problem_of(file_of("{}", 0)) == "");

  ebb::safetensors_header h;
  CHECK(h.parse(R"({"\"\\\/\b\f\n\r\t\u20AC\ud83D\uDe00":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", 1) == "");
  CHECK(h.arrays[0].name == "\"\\/\b\f\n\r\t\xe2\x82\xac\xf0\x9f\x98\x80");
  CHECK(h.find(h.arrays[0].name) == &h.arrays[0]);
  CHECK(h.find("\"") == nullptr);
}

TEST_CASE("a safetensors file that is no such file, or is truncated, is refused") {
  CHECK(problem_of("") == "expected a .safetensors file, found one of 0 bytes");
  CHECK(problem_of("1234567") == "expected a .safetensors file, found one of 7 bytes");
  CHECK(problem_of("\x93NUMPY\x01 and so on") ==
        "expected a .safetensors file, found other first bytes: they announce a header of 2306222685620096659 bytes");
  CHECK(problem_of(file_of(good, 8, 1'000'000'000'000'000'000)) ==
        "expected a .safetensors file, found other first bytes: they announce a header of 1000000000000000000 bytes");
  CHECK(problem_of(file_of(good, 8, UINT64_MAX)) ==
        "expected a .safetensors file, found other first bytes: they announce a header of 18446744073709551615 bytes");
  CHECK(problem_of(file_of(good, 8, 100'000'000)) == "the header is truncated: it has 100000000 bytes, 62 are there");
  CHECK(problem_of(file_of("", 0)) == "the header is not one of a .safetensors file: byte 0: '{' was expected");
  CHECK(problem_of(file_of(good, 7)) == "the arrays have 8 bytes, there are 7 after the header");
  CHECK(problem_of(file_of(good, 9)) == "the arrays have 8 bytes, there are 9 after the header");
  CHECK(problem_of(file_of(good, 0)) == "the arrays have 8 bytes, there are 0 after the header");
  for (std::size_t n = 0; n < good.size(); ++n) CHECK(problem_of(file_of(good.substr(0, n), 8)) != "");
  const std::string whole = file_of(good, 8);
  for (std::size_t n = 0; n < whole.size(); ++n) CHECK(problem_of(whole.substr(0, n)) != "");
  CHECK(problem_of(whole) == "");
}

TEST_CASE("numbers, offsets and extents of a safetensors file are not believed") {
  const auto shaped = [](const std::string& shape, const std::string& offsets, const std::string& type = "F32") {
    return in_header(R"({"a":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}");
  };
  REQUIRE(shaped("[2]", "[0,8]") == "");
  CHECK(shaped("[3]", "[0,8]") == "\"a\" has 12 bytes by its shape, other offsets are given");
  CHECK(shaped("[2]", "[8,0]") == "\"a\" has 8 bytes by its shape, other offsets are given");
  CHECK(shaped("[2]", "[18446744073709551608,0]") == "\"a\" has 8 bytes by its shape, other offsets are given");
  CHECK(shaped("[2]", "[8,16]") == "\"a\" begins after a hole");
  CHECK(shaped("[2]", "[18446744073709551607,18446744073709551615]") == "\"a\" begins after a hole");
  CHECK(shaped("[1000000000000000000]", "[0,4000000000000000000]") ==
        "\"a\" is too large");
  CHECK(shaped("[250000000000000000]", "[0,1000000000000000000]") ==
        "the arrays have 1000000000000000000 bytes, there are 8 after the header");
  // 2^32 * 2^32 * 2 elements are none modulo 2^64, and so are 2^62 + 2 times four bytes.
  CHECK(shaped("[4294967296,4294967296,2]", "[0,0]") == "\"a\" is too large");
  CHECK(shaped("[4611686018427387906]", "[0,8]") == "\"a\" is too large");
  CHECK(shaped("[0,9223372036854775807,9223372036854775807]", "[0,0]") == "\"a\" is too large");
  CHECK(shaped("[9223372036854775807,9223372036854775807,0]", "[0,0]") == "\"a\" is too large");
  CHECK(shaped("[9223372036854775808]", "[0,8]").find("an extent is too large") != std::string::npos);
  CHECK(shaped("[18446744073709551616]", "[0,8]").find("a number is too large") != std::string::npos);
  CHECK(shaped("[2]", "[0,99999999999999999999999999]").find("a number is too large") != std::string::npos);
  CHECK(shaped("[3]", "[0,1]", "F4") == "\"a\" does not end with a whole byte");
  for (const char* bad : {"[-2]", "[+2]", "[2.0]", "[2e0]", "[02]", "[0x2]", "[2,]", "[,2]", "[2 2]", "[\"2\"]",
                          "[null]", "[[2]]", "2", "[2", "{}"})
    CHECK(shaped(bad, "[0,8]") != "");
  for (const char* bad : {"[0]", "[]", "[0,8,8]", "[0,8.0]", "[-0,8]", "{\"0\":8}", "8", "[0 8]", "null"}) CHECK(shaped("[2]", bad) != "");

  const auto two = [](const std::string& first, const std::string& second) {
    return in_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first + R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" +
                     second + "}}");
  };
  REQUIRE(two("[4,8]", "[0,4]") == "");
  CHECK(two("[0,4]", "[0,4]") == "\"b\" overlaps another array");
  CHECK(two("[0,4]", "[3,7]") == "\"b\" overlaps another array");
  CHECK(two("[0,4]", "[5,9]") == "\"b\" begins after a hole");
}

TEST_CASE("the JSON of a safetensors header is read strictly") {
  REQUIRE(in_header(good) == "");
  const std::string array = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  CHECK(in_header(R"({"a":)" + array + R"(,"a":)" + array + "}") == "\"a\" overlaps another array");
  const std::string none = R"({"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  CHECK(in_header(R"({"n":)" + none + R"(,"a":)" + array + R"(,"n":)" + none + "}") == "\"n\" is there twice");
  CHECK(in_header(R"({"n":)" + none + R"(,"a":)" + array + R"(,"\u006e":)" + none + "}") == "\"n\" is there twice");
  CHECK(in_header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})") == "byte 28: a key is there twice");
  CHECK(in_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"shape":[2]}})") == "byte 61: a key is there twice");
  CHECK(in_header(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":[2]}})") ==
        "byte 57: dtype, shape or data_offsets was expected");
  CHECK(in_header(R"({"a":{"dtype":"F32","shape":[2]}})") == "byte 32: dtype, shape or data_offsets is missing");
  CHECK(in_header(R"({"a":{}})") == "byte 7: dtype, shape or data_offsets is missing");
  CHECK(in_header(R"({"a":{"dtype":"float32","shape":[2],"data_offsets":[0,8]}})") ==
        "byte 23: no dtype of the format is called \"float32\"");
  CHECK(in_header(R"({"a":{"dtype":"f32","shape":[2],"data_offsets":[0,8]}})") == "byte 19: no dtype of the format is called \"f32\"");
  CHECK(in_header(R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})") == "byte 14: a string was expected");
  CHECK(in_header(R"({"__metadata__":{"a":"b","a":"c"},"a":)" + array + "}") == "byte 32: a key of __metadata__ is there twice");
  CHECK(in_header(R"({"__metadata__":{},"__metadata__":{},"a":)" + array + "}") == "byte 34: __metadata__ is there twice");
  CHECK(in_header(R"({"__metadata__":{"a":{"b":"c"}},"a":)" + array + "}") == "byte 21: a string was expected");
  CHECK(in_header(R"({"__metadata__":null,"a":)" + array + "}") == "byte 16: '{' was expected");
  CHECK(in_header(good + "x") == "byte 54: something follows the header");
  CHECK(in_header(good + good) == "byte 54: something follows the header");
  CHECK(in_header(good.substr(0, 53) + ",}") == "byte 54: a string was expected");
  CHECK(in_header("[" + good + "]") == "byte 0: '{' was expected");
  CHECK(in_header("\xef\xbb\xbf" + good) == "byte 0: '{' was expected");
  CHECK(in_header(good + std::string(1, '\0')) == "byte 54: something follows the header");
  // Deep nesting meets no recursion.
  CHECK(in_header(std::string(10'000'000, '[')) == "byte 0: '{' was expected");
  std::string deep = "{";
  for (int i = 0; i < 1'000'000; ++i) deep += "\"a\":{";
  CHECK(in_header(deep).find("dtype, shape or data_offsets was expected") != std::string::npos);
  CHECK(in_header(R"({"a":{"shape":)" + std::string(1'000'000, '[')) == "byte 15: a number without a sign was expected");

  const auto named = [&](const std::string& name) { return in_header("{\"" + name + "\":" + array + "}"); };
  for (const std::string bad :
       {"\xff", "\x80", "\xc3", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98"})
    CHECK(named(bad) == "byte 2: this is not UTF-8");
  for (const std::string fine : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x90\x80\x80",
                                 "\xf4\x8f\xbf\xbf", "\x7f", ""})
    CHECK(named(fine) == "");
  for (const char* bad : {"\\", "\\x41", "\\u", "\\u12", "\\u12g4", "\\U0041", "\\'", "\\ud83d",
                         "\\ud83dx", "\\ud83d\\n", "\\ud83d\\u0041", "\\ude00", "\\ud83d\\ud83d"})
    CHECK(named(bad) != "");
  CHECK(named("a\nb") == "byte 3: a control character stands in a string");
  CHECK(named(std::string(1, '\0')) == "byte 2: a control character stands in a string");
  // A name that looks like a line of its own does not in a message.
  CHECK(in_header(R"({"a\n/etc/passwd: fine":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})") ==
        "\"a\\n/etc/passwd: fine\" has 12 bytes by its shape, other offsets are given");
}

TEST_CASE("elements that cannot be looked at in place are refused there, and copied") {
  const auto text_of = [](auto&& f) { return test::raised(f); };
  const std::string odd = file_of(good, 8);  // 62 bytes in front of the elements
  std::vector<std::byte> bytes(odd.size());
  std::memcpy(bytes.data(), odd.data(), odd.size());
  const float wanted[] = {1.5f, -2};
  std::memcpy(bytes.data() + odd.size() - 8, wanted, 8);
  const ebb::safetensors file{std::span<const std::byte>(bytes)};
  CHECK(text_of([&] { static_cast<void>(file.view<float, 2>("a")); }) ==
        "ebb::safetensors::view: memory: \"a\" is not aligned in the file: load makes a copy that is");
  CHECK(file.load<float, 2>("a")(0) == 1.5f);
  CHECK(file.load<float, ebb::dyn>("a")(1) == -2);

  const std::string flags = file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  const std::vector<char> exact(flags.begin(), flags.end());
  const ebb::safetensors bools{std::as_bytes(std::span(exact))};
  CHECK(text_of([&] { static_cast<void>(bools.view<bool, 2>("a")); }) ==
        "ebb::safetensors::view: memory: \"a\" has bools that are neither 0 nor 1: load makes a copy");
  CHECK(bools.load<bool, 2>("a")(1));
}

TEST_CASE("mutated safetensors files are refused, or are what they say") {
  std::string file = test::bytes_of(EBB_TEST_DATA "/weights/by_python.safetensors");
  REQUIRE(file.size() > 800);
  std::uint64_t state = 1;
  const auto draw = [&](std::size_t below) {  // a linear congruential generator, its upper half
    state = state * 6364136223846793005u + 1442695040888963407u;
    return below ? static_cast<std::size_t>(state >> 33) % below : 0;
  };
  const char* const pieces[] = {"0", "18446744073709551615", "9223372036854775808", "1000000000000000000", "4294967296", "-1", "1e3", "00",
                                "{", "}", "[", "]", "[[[[[[[[", "\"", ",", ":", "\\ud800", "\\u0000", "\xff", "\xc0\x80", "null",
                                "\"shape\":[2],", "\"__metadata__\":{},", "F64", "BOOL", "F4"};
  int refused = 0, accepted = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string bytes = file;
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    std::string head = bytes.substr(8, length), rest = bytes.substr(8 + length);
    bool keeps_length = false;
    for (std::size_t n = 1 + draw(2); n > 0; --n) {
      const std::size_t at = draw(head.size());
      switch (draw(8)) {
        case 0: head[at] = static_cast<char>(draw(256)); break;
        case 1: head[at] = static_cast<char>('0' + draw(10)); break;
        case 2: head.insert(at, pieces[draw(std::size(pieces))]); break;
        case 3: {  // the digits from there on become another number
          const std::size_t digit = head.find_first_of("0123456789", at);
          if (digit == std::string::npos) break;
          head.replace(digit, head.find_first_not_of("0123456789", digit) - digit, pieces[draw(5)]);
          break;
        }
        case 4: head.erase(at, 1 + draw(20)); break;
        case 5: head.insert(at, head.substr(draw(head.size()), draw(100))); break;
        case 6: rest.resize(draw(2 * rest.size())); break;
        default: head.erase(head.size() - std::min<std::size_t>(head.size(), draw(12))); keeps_length = true; break;
      }
      if (head.empty()) head = "{";
    }
    if (!keeps_length) length = head.size();
    if (draw(20) == 0) length = draw(2 * head.size());
    const std::vector<std::byte> exact = [&] {
      std::vector<std::byte> v(8 + head.size() + rest.size());
      std::memcpy(v.data(), &length, 8);
      std::memcpy(v.data() + 8, head.data(), head.size());
      if (!rest.empty()) std::memcpy(v.data() + 8 + head.size(), rest.data(), rest.size());
      return v;
    }();
    // The header alone, which works without exceptions too.
    const std::size_t there = std::min<std::size_t>(length, exact.size() - 8);
    const std::vector<char> text(reinterpret_cast<const char*>(exact.data()) + 8, reinterpret_cast<const char*>(exact.data()) + 8 + there);
    ebb::safetensors_header header;
    const std::string problem = header.parse({text.data(), text.size()}, exact.size() - 8 - there);
    if (!problem.empty()) {
      ++refused;
      continue;
    }
    ++accepted;
    std::uint64_t at = 0;
    std::set<std::string> names;
    for (const auto& a : header.arrays) {
      std::uint64_t bits = static_cast<std::uint64_t>(a.type->bits);
      for (const std::size_t extent : a.shape) bits *= extent;
      REQUIRE(a.first == at);
      REQUIRE(a.last - a.first == bits / 8);
      at = a.last;
      REQUIRE(names.insert(a.name).second);
      REQUIRE(ebb::detail::is_utf8(a.name));
      REQUIRE(header.find(a.name) == &a);
    }
    REQUIRE(at == exact.size() - 8 - there);
    if (length != there) continue;
    // Every byte that the file has is read, and no other.
    const ebb::safetensors whole{std::span<const std::byte>(exact)};
    for (const auto& a : whole.arrays())
      if (a.type->own >= 0 && a.shape.size() == 1)
        ebb::with_dtype(static_cast<ebb::dtype>(a.type->own), [&]<class T>(T) {
          REQUIRE(whole.load<T, ebb::dyn>(a.name).size() == a.shape[0]);
        });
  }
  CHECK(accepted > 500);
  CHECK(refused > 10'000);
}
