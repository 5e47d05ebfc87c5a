// test/explain/explain.cpp — the texts of explanations: loops, products, what is kept and why, copies and their reasons.
// SPDX-License-Identifier: BSL-1.0
// covers: explain.hpp explanation.hpp plan_words.hpp
#include "../catch.hpp"

#include <ebb/explain.hpp>
#include <ebb/functional.hpp>

#include <sstream>

namespace {

using explained_rows = ebb::tensor<float, ebb::dyn, 64>;
using explained_vector = ebb::tensor<float, ebb::dyn>;
using explained_matrix = ebb::tensor<float, ebb::dyn, ebb::dyn>;
using explained_points = ebb::tensor<float, ebb::dyn, 3>;

constexpr auto explained_softmax = [](auto x) { return ebb::softmax<1>(x); };

}  // namespace

TEST_CASE("a chain of elementwise ops and a sum is one loop") {
  const std::string wanted =
      "1 step, 1216*n operations\n"
      "reads 512*n bytes, writes 4 bytes; arguments have 512*n bytes, results 4 bytes\n"
      "step 0: a loop over [n, 64]\n"
      "  fuses mul, tanh, add, sum over 0 1\n"
      "  19 operations an element, exp and the like count as 16\n"
      "  lanes run along 64*n elements\n"
      "  reads 512*n bytes: argument 0, argument 1\n"
      "  writes 4 bytes\n";
  constexpr auto f = [](auto x, auto y) { return ebb::sum(ebb::tanh(x * y) + x); };
  CHECK(ebb::explain<explained_rows, explained_rows>(f).text() == wanted);
  std::ostringstream printed;
  printed << ebb::explain<explained_rows, explained_rows>(ebb::compile(f));
  CHECK(printed.str() == wanted);
}

TEST_CASE("a product keeps what the loop after it reads") {
  CHECK(ebb::explain<explained_rows, ebb::tensor<float, 64, 10>>([](auto x, auto w) { return ebb::relu(ebb::matmul(x, w)); }).text() ==
        "2 steps, 1290*n operations\n"
        "reads 296*n + 2560 bytes, writes 80*n bytes; arguments have 256*n + 2560 bytes, results 40*n bytes\n"
        "step 0: a product, [n, 64] by [64, 10]\n"
        "  1280*n operations\n"
        "  reads 256*n + 2560 bytes: argument 0, argument 1\n"
        "  writes 40*n bytes\n"
        "  keeps f32[n, 10] for step 1\n"
        "step 1: a loop over [n, 10]\n"
        "  fuses relu\n"
        "  1 operation an element\n"
        "  lanes run along 10*n elements\n"
        "  reads 40*n bytes: f32[n, 10] of step 0\n"
        "  writes 40*n bytes\n");
}

TEST_CASE("softmax keeps what waits for its reductions, and runs on blocks of rows") {
  const std::string text = ebb::explain<explained_matrix>(explained_softmax).text();
  CHECK(text ==
        "3 steps, 20*n*m operations\n"
        "reads 12*n*m + 8*n bytes, writes 8*n*m + 8*n bytes; arguments have 4*n*m bytes, results 4*n*m bytes\n"
        "keeps 8 bytes a row between steps, for some rows at a time\n"
        "the next 3 steps run on some of the n rows at a time: what they keep stays in the cache\n"
        "step 0: a loop over [n, m]\n"
        "  fuses peak over 1\n"
        "  1 operation an element\n"
        "  lanes run along m elements\n"
        "  reads 4*n*m bytes: argument 0\n"
        "  writes 4*n bytes\n"
        "  keeps f32[n] for step 1: a reduction is complete after its loop\n"
        "step 1: a loop over [n, m]\n"
        "  fuses sub, exp, sum over 1\n"
        "  18 operations an element, exp and the like count as 16\n"
        "  lanes run along m elements\n"
        "  reads 4*n*m + 4*n bytes: argument 0, f32[n] of step 0\n"
        "  writes 4*n*m + 4*n bytes\n"
        "  keeps f32[n, m] for step 2: it waits for a reduction of this step\n"
        "  keeps f32[n] for step 2: a reduction is complete after its loop\n"
        "step 2: a loop over [n, m]\n"
        "  fuses div\n"
        "  1 operation an element\n"
        "  lanes run along m elements\n"
        "  reads 4*n*m + 4*n bytes: f32[n, m] of step 1, f32[n] of step 1\n"
        "  writes 4*n*m bytes\n");
}

TEST_CASE("an array that a loop reads in other places than it is written is kept, and so is what else that loop reads") {
  constexpr auto f = [](auto x) {
    const auto y = ebb::tanh(x);
    return y + ebb::pad<0, 1, 0>(ebb::slice<0, 0, -1>(ebb::exp(y)));
  };
  const std::string text = ebb::explain<ebb::tensor<double, ebb::dyn>>(f).text();
  CHECK(text.find(" for step 1: that loop reads it in other places than its own\n") != std::string::npos);
  CHECK(text.find(" for step 1: that loop reads another array of this step in other places than its own\n") != std::string::npos);
  CHECK(text.find("waits for a reduction") == std::string::npos);
}

TEST_CASE("with arguments extents are numbers") {
  const ebb::explanation e = ebb::explain(explained_softmax, explained_matrix::ones(100, 1000));
  CHECK(e.text().starts_with("3 steps, 2.00 million operations\n"
                             "reads 1.20 MB, writes 801 kB; arguments have 400 kB, results 400 kB\n"
                             "most bytes: step 1, 40 %\n"
                             "most operations: step 1, 90 %\n"
                             "keeps 8 bytes a row between steps, for some rows at a time\n"
                             "the next 3 steps run on 16 of the 100 rows at a time: what they keep stays in the cache\n"));
  CHECK(e.work().read == ebb::formula(12 * 100 * 1000 + 8 * 100));
  REQUIRE(e.steps().size() == 3);
  CHECK(e.steps()[2].what == "a loop over [100, 1000]");
  const std::string lanes = "lanes run along 7 elements";
  const std::string empty = ", so " + std::to_string(ebb::lane_count - 7) + " of " + std::to_string(ebb::lane_count) + " are empty";
  CHECK(ebb::explain(explained_softmax, explained_matrix::ones(5, 7)).text().find(lanes + (ebb::lane_count > 7 ? empty : "") + "\n") !=
        std::string::npos);
}

TEST_CASE("lanes run across the ends of short rows that follow each other in memory, and nothing else is advised there") {
  const auto runs_across = [](const ebb::explanation& e, std::size_t step) {
    const std::string& text = e.steps()[step].text;
    CHECK(text.find("empty") == std::string::npos);
    CHECK(text.find("advice") == std::string::npos);
    return text.find("lanes run along 3*n elements, across the ends of short rows\n") != std::string::npos;
  };
  using point = ebb::tensor<float, 3>;
  CHECK(runs_across(ebb::explain<explained_points, point>([](auto x, auto c) { return x - c; }), 0));
  CHECK(runs_across(ebb::explain<explained_points, point>([](auto x, auto c) { return ebb::sum(ebb::square(x - c)); }), 0));
  const ebb::explanation by_columns = ebb::explain<explained_points>([](auto x) { return ebb::sum<0>(x); });
  CHECK(by_columns.steps()[0].text.find("lanes run along 3 elements") != std::string::npos);
  using wide = ebb::tensor<float, ebb::dyn, ebb::lane_count - 1>;  // permuting numbers of rows does not pay here
  const ebb::explanation scaled = ebb::explain<wide>([](auto x) { return x * ebb::unsqueeze<1>(ebb::sum<1>(x)); });
  CHECK(scaled.text().find(", so 1 of " + std::to_string(ebb::lane_count) + " are empty") != std::string::npos);
}

TEST_CASE("points of four numbers are turned, those of three are read where they lie, and one loop runs along all") {
  constexpr auto f = [](auto p, auto q) { return ebb::map([](auto a, auto b) { return ebb::sum(ebb::square(a - b)) * a[0]; }, p, q); };
  using wide_points = ebb::tensor<float, ebb::dyn, 4>;
  CHECK(ebb::explain<wide_points, wide_points>(f).text() ==
        "3 steps, 12*n operations\n"
        "reads 64*n bytes, writes 36*n bytes; arguments have 32*n bytes, results 4*n bytes\n"
        "keeps 32 bytes a row between steps, for some rows at a time\n"
        "the next 3 steps run on some of the n rows at a time: what they keep stays in the cache\n"
        "step 0: turns [n, 4] into 4 arrays, so that lanes run along rows\n"
        "  reads 16*n bytes: argument 0\n"
        "  writes 16*n bytes\n"
        "step 1: turns [n, 4] into 4 arrays, so that lanes run along rows\n"
        "  reads 16*n bytes: argument 1\n"
        "  writes 16*n bytes\n"
        "step 2: a loop over [n]\n"
        "  fuses 4 sub, 4 square, 3 add, mul\n"
        "  12 operations an element\n"
        "  lanes run along n elements\n"
        "  reads 32*n bytes: 4 parts of f32[4, n] of step 0, 4 parts of f32[4, n] of step 1\n"
        "  writes 4*n bytes\n");
  CHECK(ebb::explain<explained_points, explained_points>(f).text() ==
        "1 step, 9*n operations\n"
        "reads 24*n bytes, writes 4*n bytes; arguments have 24*n bytes, results 4*n bytes\n"
        "step 0: a loop over [n]\n"
        "  fuses 3 sub, 3 square, 2 add, mul\n"
        "  9 operations an element\n"
        "  lanes run along n elements\n"
        "  reads 24*n bytes: 3 parts of argument 0, 3 parts of argument 1\n"
        "  writes 4*n bytes\n");
}

TEST_CASE("copies have their reasons: a gather, a concat, a transpose") {
  CHECK(ebb::explain<explained_rows, ebb::tensor<int, ebb::dyn>>([](auto x, auto i) { return ebb::sum<1>(ebb::take(x, i)); }).text().find(
            "step 0: gather copies rows of [n, 64]: rows by index\n"
            "  reads 260*m bytes: argument 0, argument 1\n"
            "  writes 256*m bytes\n"
            "  keeps f32[m, 64] for step 1\n") != std::string::npos);
  CHECK(ebb::explain<explained_vector, explained_vector>([](auto x, auto y) { return ebb::concat<0>(x * y, y); }).text() ==
        "2 steps, n operations\n"
        "reads 12*n bytes, writes 8*n bytes; arguments have 8*n bytes, results 8*n bytes\n"
        "step 0: a loop over [n]\n"
        "  fuses mul\n"
        "  1 operation an element\n"
        "  lanes run along n elements\n"
        "  reads 8*n bytes: argument 0, argument 1\n"
        "  writes 4*n bytes\n"
        "step 1: concat along axis 0 copies: an operand is an argument or lies in another array\n"
        "  reads 4*n bytes: argument 1\n"
        "  writes 4*n bytes\n");
  CHECK(ebb::explain<explained_vector, explained_vector>([](auto x, auto y) { return ebb::concat<0>(x * y, x + y); }).text().find(
            "step 1: concat, no work: its operands are written where they lie in it\n") != std::string::npos);
  CHECK(ebb::explain<explained_matrix>([](auto x) { return ebb::sum<1>(ebb::exp(ebb::transpose(x))); }).text().find(
            "step 0: permute [n, m] to [m, n] copies: elements in another order\n"
            "  reads 4*n*m bytes: argument 0\n"
            "  writes 4*n*m bytes\n"
            "  keeps f32[m, n] for step 1\n") != std::string::npos);
}

TEST_CASE("a product of an array with itself reads it once, one of two parts of an array reads both") {
  CHECK(ebb::explain<explained_rows>([](auto x) { return ebb::matmul(x, ebb::transpose(x)); }).text() ==
        "1 step, 128*n*n operations\n"
        "reads 256*n bytes, writes 4*n*n bytes; arguments have 256*n bytes, results 4*n*n bytes\n"
        "step 0: a product, [n, 64] by [n, 64]^T\n"
        "  128*n*n operations\n"
        "  reads 256*n bytes: argument 0\n"
        "  writes 4*n*n bytes\n");
  const auto of_parts = ebb::explain<ebb::tensor<float, ebb::dyn, ebb::dyn>>([](auto x) {
    return ebb::matmul(ebb::slice<0, 0, 2>(x), ebb::transpose(ebb::slice<0, 2, 4>(x)));
  });
  CHECK(of_parts.text().find("  reads 16*m bytes: 2 parts of argument 0\n") != std::string::npos);
}

TEST_CASE("an array read in another order or repeated is no part of it") {
  using matrix = ebb::tensor<float, ebb::dyn, ebb::dyn>;
  const auto reads = [](const auto& of, const char* words) { return of.text().find(words) != std::string::npos; };
  CHECK(reads(ebb::explain<matrix>([](auto x) { return ebb::exp(ebb::flip<1>(x)); }), "reads 4*n*m bytes: argument 0 in another order\n"));
  CHECK(reads(ebb::explain<matrix>([](auto x) { return ebb::exp(ebb::slice<1, 0, ebb::to_end, 2>(x)); }), ": a part of argument 0\n"));
  constexpr auto loss = [](auto x, auto y) { return ebb::sum(ebb::square(ebb::sum<0>(ebb::matmul(x, y)))); };
  CHECK(reads(ebb::explain<ebb::tensor<float, ebb::dyn, 32, 24>, ebb::tensor<float, ebb::dyn, 24, 32>>(ebb::grad(loss)),
              "f32[32, 32] of step 2 repeated"));
}

TEST_CASE("the gradient of a linear model reads its matrix once") {
  constexpr auto loss = [](auto x, auto y, auto w) { return ebb::sum(ebb::square(ebb::matmul(x, w) - y)); };
  CHECK(ebb::explain<explained_rows, explained_vector, ebb::tensor<float, 64>>(ebb::grad<2>(loss)).text() ==
        "3 steps, 258*n operations\n"
        "reads 524*n + 256 bytes, writes 8*n + 256 bytes; arguments have 260*n + 256 bytes, results 256 bytes\n"
        "keeps 8*n bytes between steps\n"
        "the next 3 steps run on some rows at a time: the matrix is read from memory once\n"
        "step 0: a product, [n, 64] by [64, 1]\n"
        "  128*n operations\n"
        "  reads 256*n + 256 bytes: argument 0, argument 2\n"
        "  writes 4*n bytes\n"
        "  keeps f32[n, 1] for step 1\n"
        "step 1: a loop over [n]\n"
        "  fuses sub, mul\n"
        "  2 operations an element\n"
        "  lanes run along n elements, some rows at a time\n"
        "  reads 8*n bytes: f32[n, 1] of step 0, argument 1\n"
        "  writes 4*n bytes\n"
        "  keeps f32[n] for step 2: matmul reads arrays\n"
        "step 2: a product, [n, 64]^T by [n, 1]\n"
        "  128*n operations\n"
        "  reads 260*n bytes: argument 0, f32[n] of step 1\n"
        "  writes 256 bytes\n");
}

TEST_CASE("arguments that do not fit are refused") {
  constexpr auto f = [](auto x, auto y) { return x + y; };
  CHECK_THROWS_WITH(ebb::explain(f, explained_vector::ones(3), explained_vector::ones(4)),
                    "ebb::explain: the extents of the arguments do not fit: argument 1 is [4], not [3]");
}

TEST_CASE("boxes that begin at operands are named with both shapes") {
  using explained_number = std::int32_t;
  const std::string read = ebb::explain<explained_matrix, explained_number>([](auto x, auto i) {
                             return ebb::dynamic_slice<4, 8>(x, i, 0);
                           }).text();
  INFO(read);
  CHECK(read.find("copies [4, 8] out of [n, m]: a box that begins at an operand\n") != std::string::npos);
  const std::string put = ebb::explain<explained_matrix, ebb::tensor<float, 4, 8>, explained_number>([](auto x, auto part, auto i) {
                            return ebb::dynamic_update_slice(x, part, i, 0);
                          }).text();
  INFO(put);
  CHECK(put.find("copies [n, m], and writes [4, 8] into it: a box that begins at an operand\n") != std::string::npos);
  const std::string added = ebb::explain<explained_matrix, explained_number>([](auto x, auto i) {
                              return ebb::grad([](auto y, auto j) { return ebb::sum(ebb::sin(ebb::dynamic_slice<4, 8>(y, j, 0))); })(x, i);
                            }).text();
  INFO(added);
  CHECK(added.find("adds [4, 8] into zeros, ") != std::string::npos);
}

namespace {

constexpr auto explained_exponent = [](auto mean, auto scale, auto x) {
  return ebb::sum<1>(ebb::square(ebb::matmul(x - mean, ebb::transpose(scale))));
};
constexpr auto explained_mixture = [](auto mean, auto scale, auto x) {
  return ebb::sum(ebb::logsumexp<0>(-0.5f * ebb::map(explained_exponent, mean, scale, ebb::whole(x))));
};

}  // namespace

TEST_CASE("a step that a later run of blocks repeats names the first one") {
  using scales = ebb::tensor<float, ebb::dyn, ebb::dyn, ebb::dyn>;
  const std::string text = ebb::explain<explained_matrix, scales, explained_matrix>([](auto mean, auto scale, auto x) {
                             return ebb::grad<0, 1>(explained_mixture)(mean, scale, x);
                           }).text();
  INFO(text);
  CHECK(text.find("\n  repeats step 0: reading its array from memory would take longer\n  fuses sub\n") != std::string::npos);
  const std::string run = "steps run on some of the n rows at a time: what they keep stays in the cache\n";
  CHECK(text.find(run) != text.rfind(run));
}
