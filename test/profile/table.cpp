// test/profile/table.cpp — a profile as a table, as a trace and as a picture, and the limits of the machine.
// SPDX-License-Identifier: BSL-1.0
// covers: machine.hpp table.hpp trace.hpp picture.hpp
#if !defined(EBB_PROFILE)
#define EBB_PROFILE
#endif
#include "../catch.hpp"
#include "../io/files.hpp"
#include "../svg/xml.hpp"
#include "rows.hpp"

#include <ebb/functional.hpp>

#include <cstdlib>

namespace {

using ebb::probed;

constexpr auto pictured = ebb::compile([](auto x, auto w) { return ebb::sum(ebb::tanh(ebb::matmul(x, w))); });

ebb::profile_row made_row(probed is, const char* name, const char* of, std::uint64_t calls, std::int64_t ns, ebb::probed_work work = {}) {
  ebb::profile_row r;
  r.is = is, r.name = name, r.of = of, r.calls = calls, r.nanoseconds = r.self = ns, r.work = work;
  return r;
}
ebb::machine_limits made_limits() { return {{{{1e3, 8e9}, {1e4, 4e9}, {1e5, 2e9}, {1e6, 1e9}, {1e7, 1e9}, {1e8, 1e9}, {1e9, 1e9}}}, 1e10}; }

}  // namespace

TEST_CASE("times and rates have three digits and a unit") {
  CHECK(ebb::detail::time_text(0) == "0.00 ns");
  CHECK(ebb::detail::time_text(9.994) == "9.99 ns");
  CHECK(ebb::detail::time_text(9.996) == "10.0 ns");
  CHECK(ebb::detail::time_text(999.4) == "999 ns");
  CHECK(ebb::detail::time_text(999.6) == "1.00 us");
  CHECK(ebb::detail::time_text(1234567) == "1.23 ms");
  CHECK(ebb::detail::time_text(99.96e9) == "100 s");
  CHECK(ebb::detail::time_text(5e12) == "5000 s");
  CHECK(ebb::detail::bandwidth_text(2.5e9) == "2.50 GB/s");
  CHECK(ebb::detail::speed_text(0) == "");
}

TEST_CASE("the least time is that of the bytes in their working set, or of the operations") {
  const auto m = made_limits();
  CHECK(m.bytes_per_second(1000) == 8e9);
  CHECK(m.bytes_per_second(1001) == 4e9);
  CHECK(m.bytes_per_second(1e9) == 1e9);
  // 10 calls of 800 bytes in 2 us, 0.1 us at least.
  const auto moving = made_row(probed::step, "", "", 10, 2000, {4000, 4000, 100});
  CHECK(ebb::least_time_of(moving, m).seconds() == Approx(1e-6));
  CHECK(ebb::detail::limit_text(moving, m) == "50 % memory");
  const auto computing = made_row(probed::step, "", "", 1, 100000, {40, 0, 1e5});
  CHECK(ebb::least_time_of(computing, m).seconds() == Approx(1e-5));
  CHECK(ebb::detail::limit_text(computing, m) == "10 % compute");
  CHECK(ebb::detail::limit_text(made_row(probed::hook, "", "", 1, 100), m) == "");
}

TEST_CASE("the table has the longest rows first, and the steps of a program below it") {
  std::vector<ebb::profile_row> rows{made_row(probed::step, "step 1: matmul", "tanh", 2, 3000, {8000, 4000, 1e4}),
                                     made_row(probed::step, "step 0: a loop", "tanh", 2, 1000),
                                     made_row(probed::program, "tanh", "ebb::grad", 2, 5000),
                                     made_row(probed::node, "mul", "", 1, 7),
                                     made_row(probed::hook, "tensor_pre_hook", "mul", 1, 9000)};
  rows[0].step = 1, rows[1].step = 0;
  rows[0].program = rows[1].program = rows[2].program = &rows;
  rows[2].self = 1000;
  rows[3].allocations = 12;
  rows[3].fastest = 5;
  CHECK(ebb::detail::profile_table(rows, made_limits()) ==
        "                        calls    total     self   a call  fastest      bytes  operations      of limit  arrays\n"
        "tensor_pre_hook at mul      1  9.00 us  9.00 us  9.00 us  0.00 ns\n"
        "ebb::grad (tanh)            2  5.00 us  1.00 us  2.50 us  0.00 ns\n"
        "  step 0: a loop            2  1.00 us  1.00 us   500 ns  0.00 ns\n"
        "  step 1: matmul            2  3.00 us  3.00 us  1.50 us  0.00 ns  4.00 GB/s  3.33 Gop/s  100 % memory\n"
        "backward of mul             1  7.00 ns  7.00 ns  7.00 ns  5.00 ns                                           12\n");
}

TEST_CASE("the machine's limits are measured once, and are numbers") {
  const ebb::machine_limits& m = ebb::profile::machine();
  CHECK(&m == &ebb::profile::machine());
  CHECK(m.operations_per_second > 1e6);
  for (const auto& l : m.levels) CHECK(l.bytes_per_second > 1e6);
}

TEST_CASE("a trace is JSON, its events are nested, and its text is escaped") {
  CHECK(ebb::detail::text_in_trace("a\"b\\c\td\x01\xff\xc3\xa4") == "\"a\\\"b\\\\c?d??\xc3\xa4\"");
  CHECK(ebb::detail::microseconds(1234007) == "1234.007");
  const ebb::profile empty;
  CHECK(empty.chrome_trace() == "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":0},\"traceEvents\":[\n]}\n");
  std::vector<ebb::profile_row> rows{made_row(probed::program, "f", "g", 1, 5000, {1, 2, 4})};
  CHECK(ebb::detail::chrome_trace(rows, {{0, 3, 1000, 3500}}, 7) ==
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":7},\"traceEvents\":[\n{\"name\":\"g (f)\",\"cat\":\"program\",\"ph\":\"X\","
        "\"pid\":1,\"tid\":3,\"ts\":0.000,\"dur\":2.500,\"args\":{\"bytes\":3,\"operations\":4}}\n]}\n");
}

TEST_CASE("a profile of calls becomes a trace that Python reads, a table and a picture") {
  const ebb::tensor<float, ebb::dyn, 8> x(64);
  const ebb::tensor<float, 8> w;
  const ebb::profile p;
  for (int i = 0; i < 4; ++i) static_cast<void>(pictured(x, w));
  static_cast<void>(ebb::compile([](auto a) { return a + 1; })(x));

  const std::string table = p.table();
  for (const char* part : {"calls", "ebb::compile (matmul+tanh+sum)", "step 0: matmul"}) CHECK(table.find(part) != std::string::npos);

  const std::string picture = ebb::to_svg(p, "matmul");
  CHECK(test::error_in_xml(picture) == "");
  for (const char* part : {"ebb::compile (matmul+tanh+sum)", "4 calls, "}) CHECK(picture.find(part) != std::string::npos);
  REQUIRE_THROWS_WITH(ebb::to_svg(p, "conv"), "ebb::to_svg: the profile has no program that is called 'conv'");

  if (std::system("python3 -c 'import json' 2>/dev/null") != 0) return;
  test::directory there;
  const std::string trace = there.holding("trace.json", p.chrome_trace());
  const std::string reader =
      there.holding("reader.py", "import json, sys\n"
                                 "events = json.load(open(sys.argv[1]))['traceEvents']\n"
                                 "assert len(events) == int(sys.argv[2]), len(events)\n"
                                 "assert all(e['ph'] == 'X' and e['dur'] >= 0 and e['ts'] >= 0 for e in events)\n"
                                 "steps = [e for e in events if e['cat'] == 'step']\n"
                                 "programs = [e for e in events if e['cat'] == 'program']\n"
                                 "inside = lambda s, p: p['ts'] <= s['ts'] and s['ts'] + s['dur'] <= p['ts'] + p['dur'] + 2e-3\n"
                                 "assert len(steps) > 4 and all(sum(inside(s, p) for p in programs) == 1 for s in steps)\n");
  CHECK(std::system(("python3 " + reader + " " + trace + " " + std::to_string(p.spans().size())).c_str()) == 0);
}
