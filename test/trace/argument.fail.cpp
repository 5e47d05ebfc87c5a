// test/trace/argument.fail.cpp — arrays of arrays, and other libraries' matrices, that are refused.
// SPDX-License-Identifier: BSL-1.0
// ERRORS: 1
#include <ebb/functional.hpp>

#include <array>
#include <vector>

namespace user {
/// The part of an Eigen expression that identifies it.
struct sum_expression {
  using Scalar = double;
  using PlainObject = ebb::tensor<double, 2, 2>;
  static constexpr int RowsAtCompileTime = 2;
  PlainObject eval() const { return {}; }
};
/// A column-major matrix that may not be written.
struct columns {
  double elements[4] = {};
};
template <template <class, std::size_t...> class Array>
struct net {
  using layers = std::vector<Array<double, 3>>;
  BOOST_HANA_DEFINE_STRUCT(net, (layers, hidden));
};
struct opaque {};
template <template <class, std::size_t...> class Array>
struct labelled {
  using list = Array<double, 3>;
  BOOST_HANA_DEFINE_STRUCT(labelled, (list, w), (opaque, label));
};
}  // namespace user
template <>
struct ebb::borrow<user::columns> {
  using element = double;
  using extents_type = ebb::extents<2, 2>;
  static const double* origin(const user::columns& a) { return a.elements; }
  static std::ptrdiff_t stride(const user::columns&, int axis) { return axis == 0 ? 1 : 2; }
  static std::size_t extent(const user::columns&, int) { return 2; }
};

int main() {
  using vector = ebb::tensor<double, 3>;
  const std::array<vector, 2> pair{};
  constexpr auto f = [](auto l) { return ebb::sum(l[0] * l[1]); };
  [[maybe_unused]] const auto good = ebb::grad(f)(pair);
  [[maybe_unused]] user::columns c;
  [[maybe_unused]] const auto doubled = ebb::compile([](auto a) { return a * 2; })(c);
#if EBB_CASE == 1
  struct opaque {};
  // EXPECT: E0111 an argument is not an array, a number, a tuple, or a struct over arrays
  auto r = ebb::grad(f)(std::array<opaque, 2>{});  // LINE
#elif EBB_CASE == 2
  std::array<vector, 3> three;
  // EXPECT: E0141 ebb::into: the number of destinations is not that of the results
  ebb::grad(f)(ebb::into(three), pair);  // LINE
#elif EBB_CASE == 3
  // EXPECT: E0142 ebb::into: a destination is not an array that can be written
  ebb::grad(f)(ebb::into(pair), pair);  // LINE
#elif EBB_CASE == 4
  std::array<ebb::tensor<float, 3>, 2> floats;
  // EXPECT: E0148 ebb::into: the elements of a destination are not of the result's type
  ebb::grad(f)(ebb::into(floats), pair);  // LINE
#elif EBB_CASE == 5
  // EXPECT: E0129 a traced function returns arrays, numbers, or tuples and structs of them
  auto r = ebb::compile([](auto) { return std::array{1.0, 2.0}; })(pair);  // LINE
#elif EBB_CASE == 6
  const std::array<ebb::tensor<int, 3>, 2> integers{};
  // EXPECT: E0108 an integer has no gradient
  auto r = ebb::grad(f)(integers);  // LINE
#elif EBB_CASE == 7
  const std::array<vector, 2> other{};
  const std::array<vector, 3> direction{};
  // EXPECT: E0143 give the arguments, then as many directions of the same types
  auto r = ebb::jvp(f)(other, direction);  // LINE
#elif EBB_CASE == 8
  // EXPECT: E0253 an Eigen expression holds no elements: evaluate it first
  auto r = ebb::compile([](auto a) { return a * 2; })(user::sum_expression{});  // LINE
#elif EBB_CASE == 9
  // EXPECT: E0142 ebb::into: a destination is not an array that can be written
  ebb::compile([](auto a) { return a * 2; })(ebb::into(c), c);  // LINE
#elif EBB_CASE == 10
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::grad([](auto a) { return a * 2; })(c);  // LINE
#elif EBB_CASE == 11
  vector too_few;
  // EXPECT: E0132 ebb::into: the extents of a destination are not those of the result
  ebb::compile([](auto a) { return a * 2; })(ebb::into(too_few), c);  // LINE
#elif EBB_CASE == 12
  // EXPECT: E0111 an argument is not an array, a number, a tuple, or a struct over arrays
  auto r = ebb::vjp([](auto a) { return a * 2; })(c).second(std::array<user::sum_expression, 1>{});  // LINE
#elif EBB_CASE == 13
  const std::vector<vector> layers(2);
  // EXPECT: E0254 a std::vector has its length at run time: declare those that are compiled
  auto r = ebb::grad(f)(layers);  // LINE
#elif EBB_CASE == 14
  const user::net<ebb::tensor> n{};
  // EXPECT: E0256 a struct with a std::vector in it has its length at run time: declare those that are compiled
  auto r = ebb::grad([](auto p) { return ebb::sum(p.hidden[0]); })(n);  // LINE
#elif EBB_CASE == 15
  const std::vector<vector> layers(2);
  // EXPECT: E0255 the type of the result depends on the length of a vector
  auto r = ebb::jacobian(f)(ebb::lengths<2, 3>(layers));  // LINE
#elif EBB_CASE == 16
  const std::vector<vector> layers(2);
  // EXPECT: E0257 ebb::lengths<2, 3>(v) names the lengths that a vector may have
  auto r = ebb::lengths<>(layers);  // LINE
#elif EBB_CASE == 17
  const std::vector<vector> layers(2);
  // EXPECT: E0142 ebb::into: a destination is not an array that can be written
  ebb::grad(f)(ebb::into(ebb::lengths<2>(layers)), pair);  // LINE
#elif EBB_CASE == 18
  const std::vector<vector> layers(2);
  // EXPECT: E0109 only a scalar has a gradient
  auto r = ebb::grad([](auto l) { return l[0]; })(ebb::lengths<2, 3>(layers));  // LINE
#elif EBB_CASE == 19
  // EXPECT: E0111 an argument is not an array, a number, a tuple, or a struct over arrays
  auto r = ebb::grad([](auto p) { return ebb::sum(p.w); })(user::labelled<ebb::tensor>{});  // LINE
#elif EBB_CASE == 20
  const user::labelled<ebb::tensor> p{};
  // EXPECT: E0269 ebb::lengths of a struct that has no std::vector in it
  auto r = ebb::lengths<2, 3>(p);  // LINE
#elif EBB_CASE == 21
  const user::net<ebb::tensor> n{};
  // EXPECT: E0257 ebb::lengths<2, 3>(v) names the lengths that a vector may have
  auto r = ebb::lengths<>(n);  // LINE
#elif EBB_CASE == 22
  const user::net<ebb::tensor> n{};
  // EXPECT: E0142 ebb::into: a destination is not an array that can be written
  ebb::grad([](auto p) { return ebb::sum(p.hidden[0]); })(ebb::into(ebb::lengths<2>(n)), ebb::lengths<2>(n));  // LINE
#endif
}
