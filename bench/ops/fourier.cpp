// bench/ops/fourier.cpp — Fourier transforms of 64 rows of 64 numbers, and of the plane that they are, by ebb.
// SPDX-License-Identifier: BSL-1.0
#include "shaped.hpp"

#include <ebb/shapes.hpp>

namespace {

/// Both parts are computed.
constexpr auto sum_of_parts = [](auto parts) { return std::get<0>(parts) + std::get<1>(parts); };

}  // namespace

void ops::fourier(table& t) {
  using plane = of<64, 64>;
  using half = of<64, 33>;
  constexpr range signs[] = {{-1, 1}}, both[] = {{-1, 1}, {-1, 1}};
  add_shaped<plane, plane, plane>(t, "fft", both, [](auto re, auto im) { return sum_of_parts(ebb::fft(re, im)); });
  add_shaped<plane, plane, plane>(t, "ifft", both, [](auto re, auto im) { return sum_of_parts(ebb::ifft(re, im)); });
  add_shaped<plane, plane, plane>(t, "fft2", both, [](auto re, auto im) { return sum_of_parts(ebb::fft2(re, im)); });
  add_shaped<plane, plane, plane>(t, "ifft2", both, [](auto re, auto im) { return sum_of_parts(ebb::ifft2(re, im)); });
  add_shaped<half, plane>(t, "rfft", signs, [](auto x) { return sum_of_parts(ebb::rfft(x)); });
  add_shaped<plane, half, half>(t, "irfft", both, [](auto re, auto im) { return ebb::irfft(re, im); });
  add_shaped<half, plane>(t, "rfft2", signs, [](auto x) { return sum_of_parts(ebb::rfft2(x)); });
  add_shaped<plane, half, half>(t, "irfft2", both, [](auto re, auto im) { return ebb::irfft2(re, im); });
  add_shaped<plane, plane>(t, "fftshift", signs, [](auto x) { return ebb::fftshift(x); });
  add_shaped<of<63, 65>, of<63, 65>>(t, "ifftshift", signs, [](auto x) { return ebb::ifftshift(x); });
  constexpr range distance[] = {{1, 2}};
  add_shaped<of<4096>, of<1>>(t, "fftfreq", distance, [](auto x) { return ebb::fftfreq<4096>(x(0)); });
  add_shaped<of<2049>, of<1>>(t, "rfftfreq", distance, [](auto x) { return ebb::rfftfreq<4096>(x(0)); });
}
