// bench/peers/steps/convnet.cpp — steps of the convolutional network of examples/convnet: batches of 64 images of 8 x 8.
// SPDX-License-Identifier: BSL-1.0
#include "turns.hpp"

#include "../../../examples/convnet/model.hpp"
#include "../../../examples/digits/digits.hpp"

namespace {

constexpr std::size_t batch = 64;

constexpr auto region = ebb::compile(loss);

}  // namespace

void bench::convnet_steps(const turns& t) {
  convnet<ebb::variable> net;
  const ebb::random_key key = 1;
  std::uint64_t number = 0;
  std::vector<float> all;
  ebb::each_leaf([&]<std::size_t... E>(ebb::variable<float, E...>& v) {
    auto x = ebb::tensor<float, E...>::full(1.f);
    if constexpr (sizeof...(E) > 1) x = ebb::initial<float, E...>(key.fold_in(number++), ebb::kaiming_normal{});
    all.insert(all.end(), x.data(), x.data() + x.size());
    v = ebb::variable(x);
  }, net);
  t.weights(all);

  const digits data = load_digits(EBB_DATA "/digits/digits.txt", 0, 1500);
  const moments<ebb::tensor> none;
  const std::size_t different = data.labels.size() / batch;
  ebb::optimizer adam(ebb::adam{.lr = 1e-3}, net);
  t.run("convnet", [&](std::size_t step) {
    const std::size_t at = step % different * batch;
    const auto value = region(net, none, ebb::view<const float, batch, 64>(data.images.data() + 64 * at),
                              ebb::view<const int, batch>(data.labels.data() + at));
    value.backward();
    adam.step();
    adam.zero_grad();
    return static_cast<double>(value.item());
  });
}
