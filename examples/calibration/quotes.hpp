// examples/calibration/quotes.hpp — implied volatilities of options on the DAX.
// SPDX-License-Identifier: BSL-1.0
//
// Source: quotes of 5 July 2002, as printed by A. Sepp, Pricing European-Style Options under Jump Diffusion Processes with Stochastic
// Volatility: Applications of Fourier Transform (2003), and used for tests in QuantLib. They are market data, that is facts.
#pragma once

#include <cstddef>

namespace dax {

constexpr double spot = 4468.17;
constexpr int days[] = {13, 41, 75, 165, 256, 345, 524, 703};
constexpr double rate[] = {0.0357, 0.0349, 0.0341, 0.0355, 0.0359, 0.0368, 0.0386, 0.0401};
constexpr double strike[] = {3400, 3600, 3800, 4000, 4200, 4400, 4500, 4600, 4800, 5000, 5200, 5400, 5600};
/// A row for each strike, a column for each maturity.
constexpr double volatility[13][8] = {{0.6625, 0.4875, 0.4204, 0.3667, 0.3431, 0.3267, 0.3121, 0.3121},
                                      {0.6007, 0.4543, 0.3967, 0.3511, 0.3279, 0.3154, 0.2984, 0.2921},
                                      {0.5084, 0.4221, 0.3718, 0.3327, 0.3155, 0.3027, 0.2919, 0.2889},
                                      {0.4541, 0.3869, 0.3492, 0.3149, 0.2963, 0.2926, 0.2819, 0.2800},
                                      {0.4060, 0.3607, 0.3330, 0.2999, 0.2887, 0.2811, 0.2751, 0.2775},
                                      {0.3726, 0.3396, 0.3108, 0.2781, 0.2788, 0.2722, 0.2661, 0.2686},
                                      {0.3550, 0.3277, 0.3012, 0.2781, 0.2781, 0.2661, 0.2661, 0.2681},
                                      {0.3428, 0.3209, 0.2958, 0.2740, 0.2688, 0.2627, 0.2580, 0.2620},
                                      {0.3302, 0.3062, 0.2799, 0.2631, 0.2573, 0.2533, 0.2504, 0.2544},
                                      {0.3343, 0.2959, 0.2705, 0.2540, 0.2504, 0.2464, 0.2448, 0.2462},
                                      {0.3460, 0.2845, 0.2624, 0.2463, 0.2425, 0.2385, 0.2373, 0.2422},
                                      {0.3857, 0.2860, 0.2578, 0.2399, 0.2357, 0.2327, 0.2312, 0.2351},
                                      {0.3976, 0.2860, 0.2607, 0.2356, 0.2297, 0.2268, 0.2241, 0.2320}};
constexpr std::size_t strikes = 13, maturities = 8;

}  // namespace dax
