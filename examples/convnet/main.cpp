// examples/convnet/main.cpp — trains a convolutional network on handwritten digits.
// SPDX-License-Identifier: BSL-1.0
//
// main [seed] [picture.svg]
#include "../digits/digits.hpp"
#include "../digits/report.hpp"

#include "model.hpp"
#include "picture.hpp"

#include <cstdlib>
#include <fstream>

constexpr std::size_t batch = 64;
constexpr int epochs = 4;

constexpr auto region = ebb::compile(loss);
constexpr auto pick = ebb::compile([](auto images, auto labels, auto chosen) {
  return std::tuple(ebb::take(images, chosen), ebb::take(labels, chosen));
});

convnet<ebb::variable> initial_convnet(ebb::random_key key) {
  int number = 0;
  const auto layer_of = [&]<std::size_t In, std::size_t Out>(layer<ebb::variable, In, Out>& l) {
    l.weight = ebb::variable(ebb::initial<float, Out, In, 3, 3>(key.fold_in(number++), ebb::kaiming_normal{}));
    l.scale = ebb::variable(ebb::tensor<float, Out>::generate([](std::size_t) { return 1.f; }));
    l.shift = ebb::variable(ebb::tensor<float, Out>());
  };
  convnet<ebb::variable> net;
  layer_of(net.a);
  layer_of(net.b);
  layer_of(net.c);
  layer_of(net.d);
  net.weight = ebb::variable(ebb::initial<float, 10, 32>(key.fold_in(number), ebb::kaiming_normal{}));
  net.bias = ebb::variable(ebb::tensor<float, 10>());
  return net;
}

void train(const convnet<ebb::variable>& net, const digits& data, ebb::random_key order) {
  ebb::optimizer adam(ebb::adam{}, net);
  const std::size_t batches = data.labels.size() / batch;
  const moments<ebb::tensor> none;
  progress report(epochs);
  std::uint64_t step = 0;
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto shuffled = ebb::permutation(order.fold_in(epoch), data.labels.size());
    double total = 0;
    for (std::size_t i = 0; i < batches; ++i) {
      const auto [x, t] = pick(data.images, data.labels, ebb::view<const std::int64_t, batch>(shuffled.data() + i * batch));
      const auto value = region(net, none, x, t);
      value.backward();
      adam.rule().lr = ebb::schedule::linear(0.005, step++, epochs * batches, 1, 0);
      adam.step();
      adam.zero_grad();
      total += static_cast<double>(value.item());
    }
    report.show(epoch, total / static_cast<double>(batches), step);
  }
}

int main(int count, char** arguments) {
  const ebb::random_key seed = count > 1 ? std::atoi(arguments[1]) : 1;
  const std::string path = EBB_DATA "/digits/digits.txt";
  const digits given = load_digits(path, 0, 1500), held_out = load_digits(path, 1500, 1797);
  const auto [weights, order] = seed.fold_in(1).split<2>();
  const auto net = initial_convnet(weights);
  train(net, vary(given, 10, seed.fold_in(0), 0.1f), order);

  convnet<ebb::tensor> trained;
  ebb::each_leaf([](auto& x, const auto& v) { x = v.value(); }, trained, net);
  const auto seen = ebb::compile(observe)(trained, moments<ebb::tensor>(), given.images);
  const auto predicted = ebb::compile(predict)(trained, seen, held_out.images);
  if (count > 2) std::ofstream(arguments[2]) << picture(trained.a.weight, predicted, held_out);
  return show_accuracy(predicted, held_out, 1500) >= 0.975 ? 0 : 1;
}
