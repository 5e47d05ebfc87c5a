// test/io/inflate.cpp — unpacking, against streams that zlib packed with each strategy, and hostile ones.
// SPDX-License-Identifier: BSL-1.0
#include "files.hpp"

#include <ebb/io/inflate.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<std::byte>;

/// The bytes that test/data/weights/make.py packs.
bytes drawn(std::uint32_t count, std::uint32_t kind) {
  std::uint64_t state = 1;
  bytes out;
  for (std::uint32_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t high = state >> 33;
    unsigned next = 0;
    if (kind == 1) next = static_cast<unsigned>(high % 256);
    else if (kind == 2) {
      while (high && !(high >> next & 1)) ++next;
      if (high) ++next;
    } else if (kind == 3 && !(i < 3000 || i % 32768 < 500)) next = static_cast<unsigned>(out[i - 2999 - 29000 * (i / 32768 % 2)]);
    else if (kind == 3) next = static_cast<unsigned>(97 + high % 4);
    else if (kind == 4) next = static_cast<unsigned>(97 + high % 3);
    out.push_back(static_cast<std::byte>(next));
  }
  return out;
}
struct stream {
  std::uint32_t count, kind;
  bytes packed;
};
std::vector<stream> streams() {
  const std::string file = test::bytes_of(EBB_TEST_DATA "/weights/deflated.bin");
  std::vector<stream> all;
  for (std::size_t at = 0; at < file.size();) {
    std::uint32_t head[3];
    std::memcpy(head, file.data() + at, sizeof head);
    stream s{head[0], head[1], bytes(head[2])};
    if (head[2]) std::memcpy(s.packed.data(), file.data() + at + sizeof head, head[2]);
    at += sizeof head + head[2];
    all.push_back(std::move(s));
  }
  return all;
}
std::string unpack(const bytes& packed, bytes& to) { return ebb::detail::inflater(packed, to).run(); }
/// The problem of a stream of these bytes, for which `announced` bytes are announced.
std::string problem_of(std::initializer_list<int> packed, std::size_t announced = 100) {
  bytes in, out(announced);
  for (const int b : packed) in.push_back(static_cast<std::byte>(b));
  return unpack(in, out);
}

}  // namespace

TEST_CASE("what zlib has packed is unpacked") {
  const auto all = streams();
  REQUIRE(all.size() > 30);
  for (const stream& s : all) {
    INFO(s.count << " bytes of kind " << s.kind << ", packed in " << s.packed.size());
    const bytes wanted = drawn(s.count, s.kind);
    bytes out(s.count, std::byte{0xee});
    CHECK(unpack(s.packed, out) == "");
    CHECK(out == wanted);
    // One byte more or fewer than there are, and every truncation of a short one.
    bytes more(s.count + 1), fewer(s.count ? s.count - 1 : 0);
    CHECK(unpack(s.packed, more) == "there are " + std::to_string(s.count) + " bytes, " + std::to_string(s.count + 1) + " were announced");
    if (s.count) CHECK(unpack(s.packed, fewer) == "there are more bytes than were announced");
    bytes longer = s.packed;
    longer.push_back(std::byte{0});
    CHECK(unpack(longer, out) == "something follows the packed bytes");
    for (std::size_t n = 0; n < s.packed.size(); n += 1 + s.packed.size() / 100) {
      const bytes cut(s.packed.begin(), s.packed.begin() + static_cast<std::ptrdiff_t>(n));
      CHECK(unpack(cut, out) != "");
    }
  }
}

TEST_CASE("a stream that is none is refused") {
  CHECK(problem_of({}) == "the packed bytes are truncated");
  CHECK(problem_of({7}) == "a block has a kind that does not exist");
  CHECK(problem_of({1, 1, 0, 0, 0, 9}) == "a block has two different lengths");
  CHECK(problem_of({1, 1, 0, 0xfe, 0xff}) == "the packed bytes are truncated");
  CHECK(problem_of({1, 1, 0, 0xfe, 0xff, 9}, 1) == "");
  CHECK(problem_of({1, 1, 0, 0xfe, 0xff, 9}, 0) == "there are more bytes than were announced");
  CHECK(problem_of({1, 0, 0, 0xff, 0xff}, 0) == "");
  CHECK(problem_of({3, 0}, 0) == "");                                                // a fixed block with nothing in it
  CHECK(problem_of({0x03, 0x02, 0x00}) == "a distance reaches before the beginning");  // length 3, distance 1, before any byte
  CHECK(problem_of({0xfc, 0xff}) != "");
  CHECK(problem_of({0xed, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) == "a block has too many symbols");
  CHECK(problem_of({0x05, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) == "the lengths of a block are no code");
}

TEST_CASE("mutated streams stay within the memory that they were given") {
  std::uint64_t state = 7;
  const auto draw = [&](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  const auto all = streams();
  int refused = 0, fits = 0;
  for (int i = 0; i < 10'000; ++i) {
    const stream& s = all[draw(all.size())];
    bytes packed = s.packed;  // of exactly its size, so that sanitizers see what is read after it
    for (std::size_t n = 1 + draw(3); n > 0 && !packed.empty(); --n) {
      // The beginning has the codes: most changes go there.
      const std::size_t at = draw(draw(2) ? packed.size() : std::min<std::size_t>(packed.size(), 60));
      if (draw(4) == 0) packed.resize(at);
      else packed[at] ^= static_cast<std::byte>(1u << draw(8));
    }
    packed.shrink_to_fit();
    bytes out(std::min<std::size_t>(s.count, 5000));
    unpack(packed, out).empty() ? ++fits : ++refused;
  }
  CHECK(refused > 5000);
  CHECK(fits > 10);  // a changed literal is no error: the checksum finds it
}

TEST_CASE("the checksum is CRC-32") {
  const char* const text = "123456789";
  CHECK(ebb::detail::crc32_of({reinterpret_cast<const std::byte*>(text), 9}) == 0xcbf43926);
  CHECK(ebb::detail::crc32_of({}) == 0);
  // Every length up to three times eight bytes, against the definition, bit by bit.
  const bytes all = drawn(24, 1);
  for (std::size_t n = 0; n <= all.size(); ++n) {
    std::uint32_t wanted = ~0u;
    for (std::size_t i = 0; i < n; ++i) {
      wanted ^= static_cast<std::uint32_t>(all[i]);
      for (int k = 0; k < 8; ++k) wanted = (wanted >> 1) ^ (wanted & 1 ? 0xedb88320u : 0);
    }
    CHECK(ebb::detail::crc32_of({all.data(), n}) == ~wanted);
  }
}
