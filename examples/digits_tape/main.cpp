// examples/digits_tape/main.cpp — the same network on the tape: regions with a branch between them, gradients clipped by hooks, updates
// inside the backward. Two copies learn side by side, one with compiled autograd: their losses must have the same bits.
// SPDX-License-Identifier: BSL-1.0
#include "../digits/digits.hpp"
#include "../digits/model.hpp"
#include "../digits/report.hpp"

#include <bit>
#include <cstdint>
#include <optional>

constexpr std::size_t batch = 32;
constexpr int epochs = 20;

// Each region is compiled ahead, forward and backward. Ordinary C++ runs between two calls.
constexpr auto hidden_layer = ebb::compile([](auto x, auto w, auto b) { return ebb::relu(ebb::linear(x, w, b)); });
constexpr auto output_loss = ebb::compile([](auto h, auto w, auto b, auto t) { return ebb::cross_entropy(ebb::linear(h, w, b), t); });
constexpr auto decay = ebb::compile([](auto w) { return ebb::sum(5e-5f * (w * w)); });
constexpr auto pick = ebb::compile([](auto images, auto labels, auto chosen) {
  return std::tuple(ebb::take(images, chosen), ebb::take(labels, chosen));
});

/// A network and its training.
class learner {
 public:
  learner(const network<ebb::tensor>& start, bool captured)
      : net_{ebb::variable(start.w1), ebb::variable(start.b1), ebb::variable(start.w2), ebb::variable(start.b2)},
        // Each parameter is updated as soon as its gradient is complete, and the gradient is then freed.
        sgd_(ebb::optimize_in_backward(ebb::sgd{.momentum = 0.9}, net_)),
        captured_(captured) {
    ebb::each_leaf([](auto& p) { p.register_hook([](auto g) { return ebb::clamp(g, -0.1, 0.1); }); }, net_);
  }

  /// One step; returns the loss.
  float learn(const auto& x, const auto& t, double rate) {
    const auto start = std::chrono::steady_clock::now();
    sgd_.optimizer.rule().lr = rate;
    // The backward reaches this cost last. Captured, its gradient, the sum with the layers' gradient, the clipping and the step are one
    // loop.
    const auto cost = decay(net_.w1) + decay(net_.w2);
    const auto h = hidden_layer(x, net_.w1, net_.b1);
    if (!(h.value()(0, 0) < 1e6f)) std::puts("the hidden layer has gone astray");  // a graph break: the backward runs across it
    const auto value = output_loss(h, net_.w2, net_.b2, t) + cost;
    value.backward({.compiled_autograd = captured_});
    time_ += std::chrono::steady_clock::now() - start;
    return value.item();
  }
  network<ebb::tensor> result() const { return {net_.w1.value(), net_.b1.value(), net_.w2.value(), net_.b2.value()}; }
  double seconds() const { return std::chrono::duration<double>(time_).count(); }

 private:
  network<ebb::variable> net_;
  ebb::optimizer_in_backward<ebb::sgd> sgd_;
  bool captured_;
  std::chrono::steady_clock::duration time_{};
};

/// The trained network, or none if the losses differ.
std::optional<network<ebb::tensor>> train(const digits& data, ebb::random_key key, const char* picture) {
  const auto [weights, order] = key.split<2>();
  const auto start = initial_network(weights);
  learner plain(start, false), captured(start, true);

  progress report(epochs);
  std::size_t steps = 0, different = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto shuffled = ebb::permutation(order.fold_in(epoch), data.images.extent(0));
    const double rate = 0.1 * (epochs + 1 - epoch) / epochs;
    double total = 0;
    std::size_t batches = 0;
    for (std::size_t first = 0; first + batch <= shuffled.size(); first += batch, ++batches) {
      const ebb::view<const std::int64_t, batch> chosen(shuffled.data() + first);
      const auto [x, t] = pick(data.images, data.labels, chosen);
      const bool plain_first = batches % 2 == 0;  // the first one finds the batch in a colder cache
      const float a = (plain_first ? plain : captured).learn(x, t, rate);
      const float b = (plain_first ? captured : plain).learn(x, t, rate);
      different += std::bit_cast<std::uint32_t>(a) != std::bit_cast<std::uint32_t>(b);
      total += static_cast<double>(a);
    }
    report.show(epoch, total / static_cast<double>(batches), steps += batches);
  }
  report.draw(picture, "digits on the tape");
  const auto in_a_step = [&](const learner& l) { return l.seconds() / static_cast<double>(steps) * 1e6; };
  const auto counted = ebb::counters().compiled_autograd;
  std::printf("compiled autograd: %zu of %zu losses differ; %.2f us a step, %.2f without; %llu captured, %llu from the cache\n", different,
              steps, in_a_step(captured), in_a_step(plain), static_cast<unsigned long long>(counted.captures),
              static_cast<unsigned long long>(counted.hits));
  if (different) return {};
  return captured.result();
}

int main(int count, char** arguments) {
  const ebb::random_key seed = count > 1 ? std::atoi(arguments[1]) : 1;
  const std::string path = EBB_DATA "/digits/digits.txt";
  const digits training = load_digits(path, 0, 1500), held_out = load_digits(path, 1500, 1797);
  const auto net = train(vary(training, 10, seed.fold_in(0)), seed.fold_in(1), count > 2 ? arguments[2] : nullptr);
  return net && show_accuracy(ebb::compile(predict)(*net, held_out.images), held_out, 1500) >= 0.95 ? 0 : 1;
}
