// examples/digits/main.cpp — trains a classifier of handwritten digits, and shows what it has learnt.
// SPDX-License-Identifier: BSL-1.0
#include "digits.hpp"
#include "model.hpp"

#include <chrono>
#include <cstdlib>
#include <unistd.h>

constexpr std::size_t batch = 32;
constexpr int epochs = 20;

/// Random weights of deviation sqrt(2 / inputs), biases of 0.
network<ebb::tensor> initial_network(ebb::random_key key) {
  const auto [hidden, output] = key.split<2>();
  network<ebb::tensor> net;
  net.w1 = ebb::normal<float, 128, 64>(hidden, 0.f, 0.177f);
  net.w2 = ebb::normal<float, 10, 128>(output, 0.f, 0.125f);
  return net;
}

/// One line that is overwritten on a terminal, a few plain ones elsewhere.
class progress {
 public:
  void show(int epoch, double mean_loss, std::size_t steps) {
    const bool last = epoch == epochs;
    if (!terminal_ && !last && epoch % 5 != 0) return;
    if (terminal_) {
      const auto done = static_cast<std::size_t>(30 * epoch / epochs);
      std::printf("\r%s%s  ", std::string(done, '#').c_str(), std::string(30 - done, '.').c_str());
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    std::printf("epoch %2d  loss %.4f  %.0f steps/s%s", epoch, mean_loss, static_cast<double>(steps) / seconds.count(),
                terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_ = isatty(STDOUT_FILENO);
};

network<ebb::tensor> train(const digits& data, ebb::random_key key) {
  const auto [weights, order] = key.split<2>();
  auto net = initial_network(weights);
  adam<ebb::tensor> state;
  progress report;
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
  return net;
}

int main(int count, char** arguments) {
  const ebb::random_key seed = count > 1 ? std::atoi(arguments[1]) : 1;
  const std::string path = EBB_DATA "/digits/digits.txt";
  const digits training = load_digits(path, 0, 1500), held_out = load_digits(path, 1500, 1797);
  const auto net = train(vary(training, 10, seed.fold_in(0)), seed.fold_in(1));

  const auto predicted = ebb::compile(predict)(net, held_out.images);
  int confusion[10][10] = {}, right = 0, drawn = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const int is = held_out.labels(i), seen = static_cast<int>(predicted(i));
    ++confusion[is][seen];
    right += is == seen;
    if (is != seen && drawn++ < 3) {
      std::printf("\nimage %zu is a %d and was taken for a %d:\n", 1500 + i, is, seen);
      draw(held_out.images.row(i));
    }
  }

  std::printf("\nrows: what the image is, columns: what it was taken for\n    ");
  for (int seen = 0; seen < 10; ++seen) std::printf("%4d", seen);
  for (int is = 0; is < 10; ++is) {
    std::printf("\n%4d", is);
    for (int times : confusion[is]) std::printf(times ? "%4d" : "   .", times);
  }
  const double accuracy = right / static_cast<double>(predicted.size());
  std::printf("\n\nheld-out accuracy %.3f\n", accuracy);
  return accuracy >= 0.95 ? 0 : 1;
}
