// bench/ops/convolution.cpp — conv2d beside oneDNN.
// SPDX-License-Identifier: BSL-1.0
#include "linalg.hpp"
#include "rows.hpp"
#include "session.hpp"

#include <ebb/functional.hpp>
#include <ebb/nn.hpp>

#include <memory>
#include <random>

namespace {

using planes = ebb::view<const float, ebb::dyn, ebb::dyn, ebb::dyn, ebb::dyn>;
using planes_out = ebb::view<float, ebb::dyn, ebb::dyn, ebb::dyn, ebb::dyn>;

constexpr auto convolved = ebb::compile([](auto x, auto w) { return ebb::conv2d<ebb::conv{.padding = 1}>(x, w); });
constexpr auto slopes = ebb::grad<0, 1>([](auto x, auto w) { return ebb::sum(ebb::square(ebb::conv2d<ebb::conv{.padding = 1}>(x, w))); });

}  // namespace

void ops::convolution(session& s) {
  if (!s.wanted("conv2d")) return;
  for (const image_size& of : {image_size{1, 3, 16, 32}, {1, 16, 32, 28}, {1, 64, 64, 14}, {100, 1, 8, 8}, {100, 16, 32, 8}}) {
    const std::size_t pixels = of.side * of.side;
    std::vector<float> x(of.batch * of.channels * pixels), w(of.filters * of.channels * 9), y(of.batch * of.filters * pixels),
        by_peer(y.size());
    std::vector<float> dx(x.size()), dw(w.size());
    std::mt19937 engine(3);
    for (float& e : x) e = std::uniform_real_distribution<float>(-1, 1)(engine);
    for (float& e : w) e = std::uniform_real_distribution<float>(-1, 1)(engine);
    const planes in(x.data(), of.batch, of.channels, of.side, of.side), weights(w.data(), of.filters, of.channels, 3, 3);
    std::vector<candidate> all{
        {"ebb", [&] { convolved(ebb::into(planes_out(y.data(), of.batch, of.filters, of.side, of.side)), in, weights); }}};
    all[0].run();
    std::unique_ptr<convolution_peer> peer;
    const std::string name = "conv2d " + std::to_string(of.channels) + "->" + std::to_string(of.filters) + ", " + std::to_string(of.side);
    if (convolution_peer::exists()) {
      peer = std::make_unique<convolution_peer>(of, x.data(), w.data(), by_peer.data());
      peer->run();
      s.check(name, "oneDNN", by_peer.data(), y.data(), y.size());
      all.push_back({"oneDNN", [&] { peer->run(); }});
    }
    s.measure(name, of.batch == 1 ? "x 1" : "x 100", "float", static_cast<double>(of.batch), all);
    s.measure(name, of.batch == 1 ? "grad x 1" : "grad x 100", "float", static_cast<double>(of.batch),
              {{"ebb", [&] {
                  slopes(ebb::into(planes_out(dx.data(), of.batch, of.channels, of.side, of.side),
                                   planes_out(dw.data(), of.filters, of.channels, 3, 3)),
                         in, weights);
                }}});
  }
}
