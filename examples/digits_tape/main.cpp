// examples/digits_tape/main.cpp — the same network on the tape: two regions with a branch between them, Adam inside the backward.
// SPDX-License-Identifier: BSL-1.0
#include "../digits/digits.hpp"
#include "../digits/model.hpp"
#include "../digits/report.hpp"

constexpr std::size_t batch = 32;
constexpr int epochs = 20;

// Each region is compiled ahead, forward and backward. What stands between two calls is ordinary C++.
constexpr auto hidden_layer = ebb::compile([](auto x, auto w, auto b) { return ebb::relu(ebb::linear(x, w, b)); });
constexpr auto output_loss = ebb::compile([](auto h, auto w, auto b, auto t) { return ebb::cross_entropy(ebb::linear(h, w, b), t); });
constexpr auto pick = ebb::compile([](auto images, auto labels, auto chosen) {
  return std::tuple(ebb::take(images, chosen), ebb::take(labels, chosen));
});

network<ebb::tensor> train(const digits& data, ebb::random_key key) {
  const auto [weights, order] = key.split<2>();
  const auto start = initial_network(weights);
  const network<ebb::variable> net{ebb::variable(start.w1), ebb::variable(start.b1), ebb::variable(start.w2), ebb::variable(start.b2)};
  // Each parameter is updated as soon as its gradient is complete, and the gradient is forgotten.
  auto [adam, hooks] = ebb::optimize_in_backward(ebb::adam{}, net);

  progress report(epochs);
  std::size_t steps = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto shuffled = ebb::permutation(order.fold_in(epoch), data.images.extent(0));
    adam.rule().lr = 0.005 * (epochs + 1 - epoch) / epochs;
    double total = 0;
    std::size_t batches = 0;
    for (std::size_t first = 0; first + batch <= shuffled.size(); first += batch, ++batches) {
      const ebb::view<const std::int64_t, batch> chosen(shuffled.data() + first);
      const auto [x, t] = pick(data.images, data.labels, chosen);
      const auto h = hidden_layer(x, net.w1, net.b1);
      if (!(h.value()(0, 0) < 1e6f)) std::puts("the hidden layer has gone astray");  // a graph break: the backward runs across it
      const auto value = output_loss(h, net.w2, net.b2, t);
      value.backward();
      total += value.item();
    }
    report.show(epoch, total / static_cast<double>(batches), steps += batches);
  }
  return {net.w1.value(), net.b1.value(), net.w2.value(), net.b2.value()};
}

int main(int count, char** arguments) {
  const ebb::random_key seed = count > 1 ? std::atoi(arguments[1]) : 1;
  const std::string path = EBB_DATA "/digits/digits.txt";
  const digits training = load_digits(path, 0, 1500), held_out = load_digits(path, 1500, 1797);
  const auto net = train(vary(training, 10, seed.fold_in(0)), seed.fold_in(1));
  return show_accuracy(net, held_out, 1500) >= 0.95 ? 0 : 1;
}
