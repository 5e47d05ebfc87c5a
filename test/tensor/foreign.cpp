// test/tensor/foreign.cpp — Eigen's matrices, std::mdspan and a similar type as arguments and destinations, in any memory order.
// SPDX-License-Identifier: BSL-1.0
// covers: foreign.hpp strided.hpp exec/in_rows.hpp
//
// Eigen's part needs libeigen3-dev and warns if it is missing; the part of std::mdspan needs a C++23 library.
#include <ebb/ebb.hpp>

#include "../catch.hpp"
#include "../equal.hpp"

#if __has_include(<eigen3/Eigen/Core>)
#include <eigen3/Eigen/Core>
#define TEST_EIGEN 1
#elif __has_include(<Eigen/Core>)
#include <Eigen/Core>
#define TEST_EIGEN 1
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif

#include <array>
#include <vector>

namespace {

using std::get;

/// The required part of std::mdspan's interface: two axes, strides in any order.
template <class T, std::size_t Rows, std::size_t Columns>
struct grid {
  struct extents_type {};
  struct layout_type {};
  struct mapping_type {
    static constexpr extents_type extents() { return {}; }
  };
  using element_type = T;
  using reference = T&;

  T* first;
  std::size_t extents[2];
  std::ptrdiff_t strides[2];

  static constexpr std::size_t rank() { return 2; }
  static constexpr std::size_t static_extent(std::size_t axis) { return axis == 0 ? Rows : Columns; }
  static constexpr bool is_always_strided() { return true; }
  constexpr mapping_type mapping() const { return {}; }
  constexpr T* data_handle() const { return first; }
  constexpr std::size_t extent(std::size_t axis) const { return extents[axis]; }
  constexpr std::ptrdiff_t stride(std::size_t axis) const { return strides[axis]; }
};

constexpr auto loss = [](auto x, auto w) { return ebb::sum(ebb::tanh(ebb::matmul(x, w))); };

}  // namespace

TEST_CASE("a span of two axes is read and written at its strides") {
  std::vector<double> memory(24);
  for (std::size_t i = 0; i < 24; ++i) memory[i] = static_cast<double>(i) / 8 - 1;
  const auto x = ebb::tensor<double, 2, 3>{{1, -1, 0.5}, {0.25, 2, -0.5}};
  ebb::tensor<double, 3, 4> rows;
  const auto check = [&](auto w) {
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 4; ++k)
        rows.mutable_data()[i * 4 + k] =
            w.first[static_cast<std::ptrdiff_t>(i) * w.strides[0] + static_cast<std::ptrdiff_t>(k) * w.strides[1]];
    const auto [value, dw] = ebb::value_and_grad<1>(loss)(x, w);
    CHECK(test::equal(std::tuple(value, dw), ebb::value_and_grad<1>(loss)(x, rows)));
    CHECK(ebb::all_equal(ebb::matmul(x, w), ebb::matmul(x, rows)));
    CHECK(ebb::all_equal(ebb::tensor<double>(1) * w, rows));
    double v = 0;
    std::vector<double> before = memory;
    ebb::value_and_grad<1>(loss)(ebb::into(v, w), x, w);  // over the argument itself
    CHECK(v == value);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < 24; ++i) changed += memory[i] != before[i];
    CHECK(changed == 12);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t k = 0; k < 4; ++k)
        CHECK(w.first[static_cast<std::ptrdiff_t>(i) * w.strides[0] + static_cast<std::ptrdiff_t>(k) * w.strides[1]] == dw(i, k));
    memory = before;
  };
  double* const p = memory.data();
  check(grid<double, 3, 4>{p, {3, 4}, {4, 1}});
  check(grid<double, 3, ebb::dyn>{p + 5, {3, 4}, {4, 1}});
  check(grid<double, ebb::dyn, ebb::dyn>{p, {3, 4}, {1, 3}});
  check(grid<double, 3, 4>{p + 1, {3, 4}, {7, 2}});
  check(grid<double, 3, 4>{p + 23, {3, 4}, {-1, -3}});  // backwards

  const grid<const double, ebb::dyn, 4> none{nullptr, {0, 4}, {1, 1}}, wrong{p, {2, 4}, {1, 2}};
  CHECK(ebb::sum(none) == 0);
  const auto text = test::raised([&] { ebb::value_and_grad<1>(loss)(x, wrong); });
  CHECK(text == "ebb::value_and_grad: matmul: the extents of the arguments do not fit: argument 0 is [2, 3], argument 1 is [2, 4]");
}

#if TEST_EIGEN

namespace {

template <int Rows, int Columns, int Order>
using matrix = Eigen::Matrix<double, Rows, Columns, Order>;
template <class T, std::size_t... E>
struct eigen_of;
template <ebb::element T>
struct eigen_of<T> {
  using type = ebb::tensor<T>;
};
template <class T, std::size_t N>
struct eigen_of<T, N> {
  using type = Eigen::Matrix<T, static_cast<int>(N), 1>;
};
template <class T, std::size_t N, std::size_t M>
struct eigen_of<T, N, M> {
  using type = Eigen::Matrix<T, static_cast<int>(N), static_cast<int>(M)>;
};
template <class T, std::size_t... E>
using eigen_kind = typename eigen_of<T, E...>::type;
template <template <class, std::size_t...> class Array>
struct layer {
  using weights = Array<double, 3, 4>;
  using bias = Array<double, 4>;
  BOOST_HANA_DEFINE_STRUCT(layer, (weights, w), (bias, b));
};

double at(std::size_t i, std::size_t k) { return static_cast<double>(7 * i + 3 * k) / 10 - 1; }
ebb::tensor<double, 3, 4> wanted() {
  ebb::tensor<double, 3, 4> w;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4; ++k) w.mutable_data()[i * 4 + k] = at(i, k);
  return w;
}
void fill(auto&& m) {
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 4; ++k) m(i, k) = at(static_cast<std::size_t>(i), static_cast<std::size_t>(k));
}
bool same(const auto& m, const auto& t) {
  bool r = true;
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 4; ++k) r = r && m(i, k) == t(static_cast<std::size_t>(i), static_cast<std::size_t>(k));
  return r;
}
const ebb::tensor<double, 2, 3> x{{1, -1, 0.5}, {0.25, 2, -0.5}};
constexpr auto affine = [](auto rows, auto p) { return ebb::sum(ebb::tanh(ebb::matmul(rows, p.w) + p.b)); };
constexpr auto pair_loss = [](auto rows, auto p) { return loss(rows, get<0>(p)) * get<1>(p); };

}  // namespace

TEMPLATE_TEST_CASE("Eigen matrices of every kind are arguments and destinations", "", (matrix<3, 4, Eigen::ColMajor>),
                   (matrix<3, 4, Eigen::RowMajor>), (matrix<-1, -1, Eigen::ColMajor>), (matrix<-1, -1, Eigen::RowMajor>),
                   (matrix<3, -1, Eigen::ColMajor>), (Eigen::Array<double, -1, 4>)) {
  TestType w(3, 4), d(3, 4);
  fill(w);
  const auto [value, dw] = ebb::value_and_grad<1>(loss)(x, w);
  CHECK(test::equal(std::tuple(value, dw), ebb::value_and_grad<1>(loss)(x, wanted())));
  double v = 0;
  ebb::value_and_grad<1>(loss)(ebb::into(v, d), x, w);
  CHECK(v == value);
  CHECK(same(d, dw));
  CHECK(ebb::all_equal(ebb::matmul(x, w), ebb::matmul(x, wanted())));
  CHECK(ebb::all_equal(ebb::tensor<double>(1) * ebb::compile([](auto a) { return a; })(w), wanted()));

  // Blocks of matrices.
  TestType large(3, 4);
  large.setConstant(9);
  Eigen::Matrix<double, -1, -1> around = Eigen::Matrix<double, -1, -1>::Constant(8, 9, 5.0);
  auto block = around.block(2, 3, 3, 4);
  fill(block);
  CHECK(test::equal(std::tuple(value, dw), ebb::value_and_grad<1>(loss)(x, block)));
  ebb::grad<1>(loss)(ebb::into(around.block(2, 3, 3, 4)), x, block);  // over the argument itself
  CHECK(same(block, dw));
  CHECK(around.sum() == Approx(5.0 * 60 + block.sum()));
  const auto turned = w.matrix().transpose().eval();
  CHECK(ebb::all_equal(ebb::matmul(x, turned.transpose()), ebb::matmul(x, wanted())));
  Eigen::Map<const Eigen::Matrix<double, 3, 4, Eigen::RowMajor>> map(dw.data());
  CHECK(ebb::sum(map) == ebb::sum(dw));
  Eigen::Ref<Eigen::Matrix<double, -1, -1>> ref(around);
  CHECK(ebb::sum(ref) == Approx(around.sum()));

  // jvp, vjp, jacobian, map and regions.
  constexpr auto product = [](auto rows, auto weights) { return ebb::matmul(rows, weights); };
  CHECK(ebb::all_equal(get<1>(ebb::jvp<1>(product)(x, w, w)), ebb::matmul(x, wanted())));
  auto [y, pull] = ebb::vjp<1>(product)(x, w);
  Eigen::Matrix<double, 2, int(TestType::ColsAtCompileTime)> seed(2, 4);
  seed.setConstant(1);
  seed(0, 1) = 3;
  CHECK(ebb::all_equal(pull(seed), ebb::matmul(ebb::transpose(x), ebb::tensor<double, 2, 4>{{1, 3, 1, 1}, {1, 1, 1, 1}})));
  CHECK(ebb::all_equal(ebb::jacobian<1>(loss)(x, w), dw));
  const auto rows = ebb::map([](auto row) { return ebb::sum(row); }, w);
  CHECK(ebb::all_equal(rows, ebb::sum<1>(wanted())));
  using low = ebb::autocast<ebb::bf16>;
  constexpr auto region = ebb::compile<ebb::ambient<ebb::off, low>>(product);
  CHECK(ebb::all_equal(region(x, w), ebb::matmul(x, wanted())));
  CHECK(ebb::all_equal(get<0>(ebb::vjp<1>(region)(x, w)), y));
  const ebb::variable rows_of(x);
  ebb::backward(ebb::sum(ebb::compile(product)(rows_of, w)));
  CHECK(ebb::all_equal(rows_of.grad().value(), ebb::grad<0>([](auto r, auto u) { return ebb::sum(ebb::matmul(r, u)); })(x, wanted())));
}

TEST_CASE("Eigen's vectors, rows, integers and empty matrices are arguments and destinations") {
  Eigen::VectorXf v(3);
  v << 1, 2, 3;
  CHECK(ebb::all_equal(ebb::grad([](auto a) { return ebb::sum(a * a * a); })(v), ebb::tensor<float, 3>{3, 12, 27}));
  Eigen::VectorXf d(3);
  ebb::grad([](auto a) { return ebb::sum(a * a * a); })(ebb::into(d), v);
  CHECK(d[2] == 27);
  const auto sum = v + ebb::tensor<float, 3>{1, 1, 1};
  CHECK(ebb::all_equal(sum, ebb::tensor<float, 3>{2, 3, 4}));
  Eigen::RowVector4d row(1, 2, 3, 4);
  CHECK(ebb::all_equal(ebb::compile([](auto a) { return 2 * a; })(row), ebb::tensor<double, 4>{2, 4, 6, 8}));
  matrix<3, 4, Eigen::ColMajor> w;
  fill(w);
  CHECK(ebb::sum(w.row(1)) == Approx(at(1, 0) + at(1, 1) + at(1, 2) + at(1, 3)));
  CHECK(ebb::sum(w.col(2)) == Approx(at(0, 2) + at(1, 2) + at(2, 2)));
  ebb::compile([](auto a) { return a * 2; })(ebb::into(w.row(0)), row);
  CHECK(w(0, 3) == 8);
  CHECK(w(1, 3) == at(1, 3));
  Eigen::VectorXi labels(2);
  labels << 1, 0;
  CHECK(ebb::all_equal(ebb::compile([](auto a, auto t) { return ebb::take(a, t); })(row, labels), ebb::tensor<double, 2>{2, 1}));
  Eigen::MatrixXd none(0, 4);
  CHECK(ebb::sum(none) == 0);
  CHECK(ebb::compile([](auto a) { return a * 2; })(none).extent(1) == 4);
}

TEST_CASE("Eigen's matrices work in tuples, std::array and structs") {
  matrix<3, 4, Eigen::ColMajor> w;
  fill(w);
  const auto d = ebb::grad<1>(pair_loss)(x, std::tuple(w, 2.0));
  CHECK(test::equal(d, ebb::grad<1>(pair_loss)(x, std::tuple(wanted(), 2.0))));
  std::tuple<matrix<3, 4, Eigen::ColMajor>, double> to;
  ebb::grad<1>(pair_loss)(ebb::into(to), x, std::tuple(w, 2.0));
  CHECK(same(get<0>(to), get<0>(d)));
  CHECK(get<1>(to) == get<1>(d));

  const std::array<matrix<-1, -1, Eigen::ColMajor>, 2> two{w, 2 * w};
  const auto both = ebb::grad<1>([](auto r, auto l) { return ebb::sum(ebb::matmul(r, l[0] * l[1])); })(x, two);
  CHECK(ebb::all_equal(both[0], 2. * both[1]));

  layer<eigen_kind> p{w, Eigen::Vector4d(1, 2, 3, 4)};
  const layer<ebb::tensor> q{wanted(), {1, 2, 3, 4}};
  const auto dp = ebb::grad<1>(affine)(x, p), dq = ebb::grad<1>(affine)(x, q);
  CHECK(ebb::all_equal(dp.w, dq.w));
  CHECK(ebb::all_equal(dp.b, dq.b));
  ebb::grad<1>(affine)(ebb::into(p), x, p);
  CHECK(same(p.w, dq.w));
  CHECK(p.b[3] == dq.b(3));
}
#else
TEST_CASE("Eigen's matrices work") { WARN("skipped: libeigen3-dev is not installed"); }
#endif

#ifdef __cpp_lib_mdspan
TEST_CASE("std::mdspan is an argument and a destination") {
  std::vector<double> memory{1, 4, 2, 5, 3, 6};
  const std::mdspan<double, std::extents<std::size_t, 2, 3>, std::layout_left> w(memory.data());
  const auto rows = ebb::tensor<double, 2, 3>{{1, 2, 3}, {4, 5, 6}};
  CHECK(ebb::compile([](auto a) { return a * 2; })(w) == 2. * rows);
  ebb::compile([](auto a) { return a * 2; })(ebb::into(w), w);
  CHECK(memory == std::vector<double>{2, 8, 4, 10, 6, 12});
}
#endif
