// test/trace/lift.fail.cpp — errors for shapes that do not fit, at the user's line.
// SPDX-License-Identifier: BSL-1.0
// covers: lift.hpp op/emit.hpp
#include <ebb/ebb.hpp>

namespace {

template <class T, std::size_t... E>
using array = ebb::tensor<T, E...>;

// Sums of neighbours: an op with a shape rule, and a function with a sentence for it.
struct pair_sums : ebb::op_base {
  static constexpr std::string_view name = "pair_sums";
  static constexpr ebb::kind what = ebb::kind::scan;
  static constexpr int arity = 1;
  static constexpr ebb::shape infer(ebb::symbols& s, const ebb::shape* in, int, const std::int64_t*) {
    const int last = in[0].rank - 1;
    return last < 0 ? ebb::refused(902) : in[0].e[last] % 2 ? ebb::refused(901) : s.find(in[0]);
  }
  template <class T>
  static constexpr T identity() {
    return T(0);
  }
  static constexpr auto value(auto accumulated, auto x) { return accumulated + x; }
};
struct pairs {
  template <class T>
  static constexpr auto apply(ebb::operand<T> x) {
    return ebb::emit_on<pair_sums>({}, x);
  }
  template <int Code>
  struct refusals {
    static_assert(Code != 901, "[mine 901] pairs: the last axis has an odd extent");
    static_assert(Code != 902, "[mine 902] pairs: a number has no last axis");
  };
};
struct silent_pairs {
  template <class T>
  static constexpr auto apply(ebb::operand<T> x) {
    return ebb::emit_on<pair_sums>({}, x);
  }
};

constexpr auto fits = [](auto x, auto w) { return ebb::sum(ebb::matmul(x, w)); };

#if EBB_CASE == 1
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0101 matmul: the inner extents differ
  auto y = ebb::matmul(x, w);  // LINE
  return ebb::sum(y);
};
#elif EBB_CASE == 2
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0102 the extents differ
  auto y = x + w;  // LINE
  return ebb::sum(y);
};
#elif EBB_CASE == 3
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0103 there is no such axis
  auto y = ebb::sum<2>(x);  // LINE
  return ebb::sum(y) * ebb::sum(w);
};
#elif EBB_CASE == 4
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0105 matmul: an operand has no axis to multiply along
  auto y = ebb::matmul(x, ebb::sum(w));  // LINE
  return ebb::sum(y);
};
#elif EBB_CASE == 5
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0112 reshape: the number of elements differs
  auto y = ebb::reshape<5, 5>(w);  // LINE
  return ebb::sum(y) + ebb::sum(x);
};
#elif EBB_CASE == 6
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0102 the extents differ
  auto y = ebb::where(x > 0, x, w);  // LINE
  return ebb::sum(y);
};
#elif EBB_CASE == 7
constexpr auto f = [](auto x, auto w) {
  auto s = ebb::sum(x) + ebb::sum(w);
  // EXPECT: E0107 a term has no value while it is traced
  if (s > 0) return s;  // LINE
  return -s;
};
#elif EBB_CASE == 8
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0114 concat: the extents differ beside the axis that is joined
  auto y = ebb::concat<0>(x, w);  // LINE
  return ebb::sum(y);
};
#elif EBB_CASE == 9
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0120 truth values have no sign
  auto y = (x > 0) - (x < 1);  // LINE
  return ebb::sum(ebb::cast<float>(y)) + ebb::sum(w);
};
#elif EBB_CASE == 10
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0211 the operands of a loss differ in rank
  auto y = ebb::mse(x, ebb::sum<1>(x));  // LINE
  return y + ebb::sum(w);
};
#elif EBB_CASE == 11
constexpr auto f = [](auto x, auto w) {
  // EXPECT: E0119 the op's own shape rule refuses these operands
  auto y = ebb::call<silent_pairs>{}(x);  // LINE
  return ebb::sum(y) + ebb::sum(w);
};
#elif EBB_CASE == 12
constexpr auto f = [](auto x, auto w) {
  // LINES: 14
  // EXPECT: [mine 901] pairs: the last axis has an odd extent
  auto y = ebb::call<pairs>{}(x);  // LINE
  return ebb::sum(y) + ebb::sum(w);
};
#else
constexpr auto f = fits;
#endif

}  // namespace

int main() {
#if EBB_CASE == 0
  const array<float, 2, 4> x;
#else
  const array<float, 2, 3> x;
#endif
  const array<float, 4, 5> w;
  [[maybe_unused]] const auto r = ebb::value_and_grad<0, 1>(f)(x, w);
}
