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
  const digits data = load_digits(EBB_DATA "/digits/digits.txt", 0, 1500);
  const moments<ebb::tensor> none;
  const std::size_t different = data.labels.size() / batch;
  const ebb::random_key key = 1;
  std::uint64_t number = 0;
  const auto first = [&]<std::size_t... E>(std::type_identity<ebb::tensor<float, E...>>) {
    if constexpr (sizeof...(E) > 1) return ebb::initial<float, E...>(key.fold_in(number++), ebb::kaiming_normal{});
    else return ebb::tensor<float, E...>::full(1.f);
  };
  train(t, "convnet", net, first, [&](std::size_t step) {
    const std::size_t at = step % different * batch;
    return region(net, none, ebb::view<const float, batch, 64>(data.images.data() + 64 * at),
                  ebb::view<const int, batch>(data.labels.data() + at));
  });
}
