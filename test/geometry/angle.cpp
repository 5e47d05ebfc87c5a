// test/geometry/angle.cpp — the functions of squared angles against long double: errors, switches of formulas, lanes.
// SPDX-License-Identifier: BSL-1.0
#include "../num/oracle.hpp"

#include <ebb/ebb.hpp>
#include <ebb/geometry/angle.hpp>

namespace {

namespace lane = ebb::lane;

long double stumpff_series(int k, long double u) {
  long double sum = 0, term = 1;
  for (int i = 2; i <= k; ++i) term /= i;
  for (int j = 0; j < 60; ++j) {
    sum += term;
    term *= -u / static_cast<long double>((2 * j + k + 1) * (2 * j + k + 2));
  }
  return sum;
}
/// f_k: a series in p / w^2 below 0.3, else the closed form.
long double ratio_of_angle(int k, long double p, long double w) {
  const long double t = p / (w * w);
  if (w > 0 && t < 0.3L) {
    long double sum = 0, power = 1;
    for (int j = 0; j < 90; ++j) {
      long double term = (j + k) % 2 ? -power : power;
      for (int i = 1; i <= k; ++i) term *= j + i;
      sum += term / (2 * (j + k) + 1);
      power *= t;
    }
    for (int i = 0; i < 2 * k + 1; ++i) sum /= w;
    return sum;
  }
  const long double n = p + w * w;
  long double f = std::atan2(std::sqrt(p), w) / std::sqrt(p), q = w / n;
  for (int i = 0; i < k; ++i) {
    f = (q / 2 - (i + 0.5L) * f) / p;
    q *= -(i + 1) / n;
  }
  return f;
}

template <class T>
std::vector<T> squares(double most) {
  std::vector<T> r{0, std::numeric_limits<T>::min(), T(1e-30), T(1e-9), 10};
  for (int i = 1; i < 4000; ++i) r.push_back(static_cast<T>(most * i / 4000));
  T up = 10, down = 10;
  for (int i = 0; i < 20; ++i) r.push_back(up = std::nextafter(up, T(11))), r.push_back(down = std::nextafter(down, T(9)));
  std::erase_if(r, [most](T u) { return u > most; });
  return r;
}

template <class T, int K>
void check_series() {
  INFO("stumpff " << K);
  test::check<T>(
      "series", [](auto u) { return lane::stumpff<K>(u); }, [](long double u) { return stumpff_series(K, u); }, 4, squares<T>(10));
  // Beyond, in units of 1 / (k-2)! / u.
  double worst = 0;
  for (const T u : squares<T>(60)) {
    if (!(u > 10)) continue;
    long double unit = std::numeric_limits<T>::epsilon() / static_cast<long double>(u);
    for (int i = 2; i <= K - 2; ++i) unit /= i;
    worst = std::max(worst, static_cast<double>(std::fabs(lane::stumpff<K>(u) - stumpff_series(K, u)) / unit));
  }
  CHECK(worst < 8);
  CHECK(test::differences([](auto u) { return lane::stumpff<K>(u); }, squares<T>(60)) == 0);
  CHECK(std::isnan(lane::stumpff<K>(T(NAN))));
}
template <class T, int K>
void check_angle(double bound) {
  for (const double w : {1.0, 0.7, 1e-3, 0.0, -0.5}) {
    INFO("angle_ratio " << K << " at " << w);
    const T c = static_cast<T>(w);
    std::vector<T> p;
    for (const T u : squares<T>(1)) p.push_back(u);
    for (T up = c * c / 4, down = up; p.size() < 5000; up = std::nextafter(up, T(2)), down = std::nextafter(down, T(0)))
      p.push_back(up), p.push_back(down);
    if (c <= 0) std::erase_if(p, [](T u) { return u < T(1e-3); });
    test::check<T>("angle", [c](auto u) { return lane::angle_ratio<K>(u, lane::all<decltype(u)>(c)); },
                   [c](long double u) { return ratio_of_angle(K, u, c); }, bound, p);
  }
}

TEMPLATE_TEST_CASE("functions of squared angles keep their documented errors, for lanes and scalars", "", float, double) {
  using T = TestType;
  check_series<T, 3>();
  check_series<T, 4>();
  check_series<T, 5>();
  check_series<T, 8>();
  check_series<T, 9>();
  test::check<T>("c_2", [](auto u) { return lane::stumpff<2>(u); }, [](long double u) { return stumpff_series(2, u); }, 5, squares<T>(10));
  const auto absolute = [](auto f, int k) {
    double worst = 0;
    for (const T u : squares<T>(60))
      worst = std::max(worst, static_cast<double>(std::fabs(f(u) - stumpff_series(k, u)) /
                                                  (std::numeric_limits<T>::epsilon() * (2 + std::sqrt(u) / 2))));
    CHECK(worst < 1);
  };
  absolute([](T u) { return lane::stumpff<0>(u); }, 0);
  absolute([](T u) { return lane::stumpff<1>(u); }, 1);
  check_angle<T, 0>(4);
  check_angle<T, 1>(20);
  check_angle<T, 2>(150);
  check_angle<T, 3>(1500);
}

TEST_CASE("functions of squared angles at 0, and where they end") {
  static_assert(lane::stumpff<0>(0.0) == 1 && lane::stumpff<1>(0.0) == 1 && lane::stumpff<2>(0.0) == 0.5 &&
                lane::stumpff<4>(0.0) == 1.0 / 24);
  static_assert(lane::angle_ratio<0>(0.0, 1.0) == 1 && lane::angle_ratio<1>(0.0, 1.0) == -1.0 / 3);
  CHECK(lane::angle_ratio<0>(1.0, 0.0) == Approx(1.5707963267948966).epsilon(1e-15));
  CHECK(std::isnan(lane::angle_ratio<0>(0.0, 0.0)));
  CHECK((std::isnan(lane::stumpff<1>(-1.0)) && std::isnan(lane::angle_ratio<0>(1.0, static_cast<double>(NAN)))));
}

}  // namespace
