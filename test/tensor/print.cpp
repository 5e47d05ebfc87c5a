// test/tensor/print.cpp — arrays as text.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/tensor/print.hpp>

#include "../catch.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <vector>

using namespace ebb;

TEST_CASE("numbers are printed with four digits, whole ones in full") {
  CHECK(element_text(1.f) == "1");
  CHECK(element_text(1.f / 3) == "0.3333");
  CHECK(element_text(-2.5) == "-2.5");
  CHECK(element_text(1e-5) == "1e-05");
  CHECK(element_text(12345.678) == "1.235e+04");
  CHECK(element_text(12345.0) == "12345");
  CHECK(element_text(-999999.0) == "-999999");
  CHECK(element_text(1e20f) == "1e+20");
  CHECK(element_text(-0.0) == "-0");
  CHECK(element_text(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(element_text(-std::numeric_limits<float>::infinity()) == "-inf");
  CHECK(element_text(std::numeric_limits<float>::quiet_NaN()) == "nan");
  CHECK(element_text(-std::numeric_limits<float>::quiet_NaN()) == "nan");
  CHECK(element_text(bfloat16(0.1f)) == "0.1001");
  CHECK(element_text(float16(65504.f)) == "65504");
  CHECK(element_text(true) == "true");
  CHECK(element_text(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
}

TEST_CASE("columns are lined up at the decimal point") {
  CHECK(to_string(tensor<float, 2, 3>{{1, 2.5f, 3}, {-4, 100, 0.125f}}) ==
        "f32[2, 3]\n"
        "[[  1        2.5      3    ]\n"
        " [ -4      100        0.125]]");
  CHECK(to_string(tensor<int, 2, 2, 2>{{{1, 2}, {3, 4}}, {{5, 60}, {7, 8}}}) ==
        "i32[2, 2, 2]\n"
        "[[[ 1   2]\n"
        "  [ 3   4]]\n"
        "\n"
        " [[ 5  60]\n"
        "  [ 7   8]]]");
  CHECK(to_string(tensor<bool, dyn>{true, false}) == "bool[2] [ true  false]");
}

TEST_CASE("rank 0, one element and none are printed") {
  CHECK(to_string(tensor<double>(2.5)) == "f64 2.5");
  CHECK(to_string(7) == "i32 7");
  CHECK(to_string(tensor<float, 1, 1>{{3}}) == "f32[1, 1] [[3]]");
  CHECK(to_string(tensor<float, 0>()) == "f32[0] []");
  CHECK(to_string(tensor<std::int64_t, dyn, 3>(0)) == "i64[0, 3] []");
  CHECK(to_string(tensor<bfloat16, dyn, 0>(2)) == "bf16[2, 0] []");
}

TEST_CASE("large arrays are elided, and long rows are broken") {
  CHECK(to_string(tensor<int, dyn>::iota(2000)) == "i32[2000] [   0     1     2  ...  1997  1998  1999]");
  CHECK(to_string(tensor<int, dyn, 4>::iota(500)) ==
        "i32[500, 4]\n"
        "[[   0     1     2     3]\n"
        " [   4     5     6     7]\n"
        " [   8     9    10    11]\n"
        " ...\n"
        " [1988  1989  1990  1991]\n"
        " [1992  1993  1994  1995]\n"
        " [1996  1997  1998  1999]]");
  const std::string whole = to_string(tensor<float, dyn>::iota(1000));
  CHECK(whole.find("...") == std::string::npos);
  CHECK(whole.find("500") != std::string::npos);
  std::istringstream lines(whole);
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.size() <= 101);
    CHECK(line.back() != ' ');
  }
}

TEST_CASE("streams, views and borrowed arrays are printed") {
  const tensor<float, 2, 2> x{1, 2, 3, 4};
  std::ostringstream out;
  out << x << '|' << x.row(1);
  CHECK(out.str() == "f32[2, 2]\n[[1  2]\n [3  4]]|f32[2] [3  4]");
  CHECK(to_string(std::vector<float>{1, 2}) == "f32[2] [1  2]");
  out.str("");
  out << bfloat16(0.1f) << '|' << float16(-2.5f);
  CHECK(out.str() == "0.1001|-2.5");
}
