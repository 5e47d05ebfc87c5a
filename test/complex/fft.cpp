// test/complex/fft.cpp — transforms of complex arrays: those of their parts, with PyTorch's gradients of real losses.
// SPDX-License-Identifier: BSL-1.0
#include "../same_bits.hpp"
#include "../catch.hpp"

#include <ebb/complex.hpp>
#include <ebb/ebb.hpp>
#include <ebb/functional.hpp>

#include <complex>
#include <random>
#include <vector>

namespace {

using ebb::dyn;
using wide_complex = std::complex<long double>;
using array = ebb::complex<ebb::tensor<double, dyn, dyn>>;

array random_array(std::size_t m, std::size_t n, unsigned key) {
  std::mt19937_64 next(key);
  std::uniform_real_distribution<double> number(-1, 1);
  array z{ebb::tensor<double, dyn, dyn>(m, n), ebb::tensor<double, dyn, dyn>(m, n)};
  for (std::size_t i = 0; i < m * n; ++i) z.re.mutable_data()[i] = number(next), z.im.mutable_data()[i] = number(next);
  return z;
}
bool same(const auto& z, const auto& pair) { return test::same_bits(z.re, std::get<0>(pair)) && test::same_bits(z.im, std::get<1>(pair)); }

TEST_CASE("transforms of complex arrays are those of their parts") {
  const auto z = random_array(4, 6, 1);
  auto w = z;
  CHECK(same(ebb::fft(w), ebb::fft(z.re, z.im)));
  CHECK(same(ebb::ifft(z), ebb::ifft(z.re, z.im)));
  CHECK(same(ebb::fft2(w), ebb::fft2(z.re, z.im)));
  CHECK(same(ebb::ifft2(z), ebb::ifft2(z.re, z.im)));
  CHECK(same(ebb::fftshift(z), std::tuple(ebb::fftshift(z.re), ebb::fftshift(z.im))));
  CHECK(same(ebb::ifftshift<-1>(w), std::tuple(ebb::ifftshift<-1>(z.re), ebb::ifftshift<-1>(z.im))));
  CHECK(test::same_bits(ebb::irfft(w), ebb::irfft(z.re, z.im)));
  CHECK(test::same_bits(ebb::irfft<11>(z), ebb::irfft<11>(z.re, z.im)));
  CHECK(test::same_bits(ebb::irfft2(z), ebb::irfft2(z.re, z.im)));
  const auto traced = ebb::compile([](auto x) { return ebb::ifft(2.0 * ebb::fft(x)); })(z);
  for (std::size_t i = 0; i < 24; ++i) {
    CHECK(traced.re.data()[i] == Approx(2 * z.re.data()[i]).margin(1e-15));
    CHECK(traced.im.data()[i] == Approx(2 * z.im.data()[i]).margin(1e-15));
  }
}

TEST_CASE("the gradient of a real loss of a transform is PyTorch's: dL/dre + i dL/dim") {
  // L = sum of re(c w) + |w|^2 for w = F z has the gradient F^H conj(c) + 2 n z.
  const std::size_t n = 10;
  const auto z = random_array(1, n, 2), c = random_array(1, n, 3);
  const auto loss = [](auto x, auto k) {
    const auto w = ebb::fft(x);
    return ebb::sum((k * w).re + ebb::abs_squared(w));
  };
  const auto slope = ebb::grad<0>(loss)(z, c);
  constexpr long double whole_turn = 6.28318530717958647692528676655900577L;
  for (std::size_t j = 0; j < n; ++j) {
    wide_complex want = 2.0L * n * wide_complex(z.re(0, j), z.im(0, j));
    for (std::size_t k = 0; k < n; ++k)
      want += wide_complex(c.re(0, k), -c.im(0, k)) * std::polar(1.0L, whole_turn * static_cast<long double>(j * k % n) / n);
    CHECK(std::abs(wide_complex(slope.re(0, j), slope.im(0, j)) - want) <= 1e-14L * 30);
  }
}

}  // namespace
