// examples/pytorch_weights/main.cpp — a network that PyTorch has trained: the same logits, the same next steps, and training that goes on.
// SPDX-License-Identifier: BSL-1.0
//
// main [file]: writes the network and Adam's states into the file at the end; train.py reads it.
#include "../digits/digits.hpp"

#include <ebb/io/safetensors.hpp>

#include <algorithm>
#include <cmath>

constexpr std::size_t batch = 50;

// torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
template <template <class, std::size_t...> class Array, std::size_t In, std::size_t Out>
struct dense {
  using matrix = Array<float, Out, In>;
  using row = Array<float, Out>;
  BOOST_HANA_DEFINE_STRUCT(dense, (matrix, weight), (row, bias));
};
template <template <class, std::size_t...> class Array>
struct network {
  using first = dense<Array, 64, 32>;
  using second = dense<Array, 32, 10>;
  BOOST_HANA_DEFINE_STRUCT(network, (first, hidden), (second, output));
};

constexpr auto logits = [](auto net, auto x) {
  return ebb::linear(ebb::relu(ebb::linear(x, net.hidden.weight, net.hidden.bias)), net.output.weight, net.output.bias);
};
constexpr auto loss = ebb::compile([](auto net, auto x, auto t) { return ebb::cross_entropy(logits(net, x), t); });

/// The names that PyTorch gives to members and parameters: a Sequential counts its modules, the ReLU is number 1.
auto as_in_pytorch(auto& net, auto& optimizer) {
  return std::tuple(ebb::with_name("model", std::tuple(ebb::with_name("0", net.hidden), ebb::with_name("2", net.output))),
                    ebb::with_name("optimizer", optimizer));
}

double accuracy(const network<ebb::variable>& net, const digits& data) {
  const auto& [hidden, output] = net;
  const network<ebb::tensor> now{{hidden.weight.value(), hidden.bias.value()}, {output.weight.value(), output.bias.value()}};
  const auto guess = ebb::compile([](auto n, auto x) { return ebb::argmax<1>(logits(n, x)); })(now, data.images);
  std::size_t right = 0;
  for (std::size_t i = 0; i < guess.size(); ++i) right += guess(i) == data.labels(i);
  return static_cast<double>(right) / static_cast<double>(guess.size());
}

int main(int argc, char** argv) {
  const std::string here = EBB_DATA "/../pytorch_weights/";
  const std::string images = EBB_DATA "/digits/digits.txt";
  const digits training = load_digits(images, 0, 1500), held_out = load_digits(images, 1500, 1797);

  network<ebb::variable> net;
  net.hidden = {ebb::variable(ebb::tensor<float, 32, 64>()), ebb::variable(ebb::tensor<float, 32>())};
  net.output = {ebb::variable(ebb::tensor<float, 10, 32>()), ebb::variable(ebb::tensor<float, 10>())};
  ebb::optimizer adam(ebb::adam{.lr = 1e-3}, net);
  ebb::load_safetensors(here + "model.safetensors", as_in_pytorch(net, adam));
  std::printf("from PyTorch, after %d steps: held-out accuracy %.3f\n", static_cast<int>(adam.state(0).step), accuracy(net, held_out));

  // What PyTorch computed with these weights, looked at in the file's memory.
  const ebb::safetensors recorded(here + "recorded.safetensors");
  const auto theirs = recorded.view<float, ebb::dyn, 10>("logits");
  const auto ours = ebb::compile(logits)(net, held_out.images).value();
  float difference = 0, largest = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    difference = std::max(difference, std::abs(ours.data()[i] - theirs.data()[i]));
    largest = std::max(largest, std::abs(theirs.data()[i]));
  }
  std::printf("%zu logits, the largest %.2f: they differ by at most %.0g\n", ours.size(), static_cast<double>(largest),
              static_cast<double>(difference));

  // The next steps of Adam, with the states that PyTorch had.
  const auto their_losses = recorded.view<float, ebb::dyn>("losses");
  const auto step = [&](std::size_t number) {
    const std::size_t first = number * batch % 1500;
    const ebb::view<const float, batch, 64> x(training.images.data() + 64 * first);
    const ebb::view<const int, batch> t(training.labels.data() + first);
    adam.zero_grad();
    const auto value = loss(net, x, t);
    value.backward();
    adam.step();
    return value.item();
  };
  float apart = 0;
  for (std::size_t i = 0; i < their_losses.size(); ++i) apart = std::max(apart, std::abs(step(i) - their_losses(i)));
  std::printf("%zu more steps: the losses differ from PyTorch's by at most %.0g\n", their_losses.size(), static_cast<double>(apart));

  for (std::size_t i = 0; i < 1500; ++i) step(i);
  std::printf("and %d in all: held-out accuracy %.3f\n", static_cast<int>(adam.state(0).step), accuracy(net, held_out));
  if (argc > 1) ebb::save_safetensors(argv[1], as_in_pytorch(net, adam), {{"format", "pt"}});
  return difference <= 1e-6f * largest && apart <= 1e-5f ? 0 : 1;
}
