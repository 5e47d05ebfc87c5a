// examples/digits/main.cpp — trains a classifier of handwritten digits and shows its results.
// SPDX-License-Identifier: BSL-1.0
#include "digits.hpp"
#include "model.hpp"
#include "report.hpp"

#include <cstdlib>

constexpr std::size_t batch = 32;
constexpr int epochs = 20;

network<ebb::tensor> train(const digits& data, ebb::random_key key, const char* picture) {
  const auto [weights, order] = key.split<2>();
  auto net = initial_network(weights);
  adam<ebb::tensor> state;
  progress report(epochs);
  std::size_t steps = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto shuffled = ebb::permutation(order.fold_in(epoch), data.images.extent(0));
    const float rate = 0.005f * static_cast<float>(epochs + 1 - epoch) / epochs;
    double total = 0;
    std::size_t batches = 0;
    for (std::size_t first = 0; first + batch <= shuffled.size(); first += batch, ++batches) {
      const ebb::view<const std::int64_t, batch> chosen(shuffled.data() + first);
      float value;
      ebb::compile(train_step)(ebb::into(value, net, state), net, state, data.images, data.labels, chosen, rate);
      total += value;
    }
    report.show(epoch, total / static_cast<double>(batches), steps += batches);
  }
  report.draw(picture, "digits");
  return net;
}

int main(int count, char** arguments) {
  const ebb::random_key seed = count > 1 ? std::atoi(arguments[1]) : 1;
  const std::string path = EBB_DATA "/digits/digits.txt";
  const digits training = load_digits(path, 0, 1500), held_out = load_digits(path, 1500, 1797);
  const auto net = train(vary(training, 10, seed.fold_in(0)), seed.fold_in(1), count > 2 ? arguments[2] : nullptr);

  return show_accuracy(ebb::compile(predict)(net, held_out.images), held_out, 1500) >= 0.95 ? 0 : 1;
}
