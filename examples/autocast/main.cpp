// examples/autocast/main.cpp — a backward compiled under a wrong assumption gives inf; then digits are trained in bfloat16.
// SPDX-License-Identifier: BSL-1.0
#include "../digits/digits.hpp"
#include "../digits/model.hpp"
#include "memory.hpp"

#include <algorithm>
#include <ctime>
#include <optional>

namespace contexts {

using half = ebb::autocast<ebb::f16>;

// PyTorch's issue 153044: a layer under autocast, then one in a block without it, and a loss scaled as in float16 training.
constexpr auto region = [](auto x, auto ones, auto w) {
  const auto y = ebb::matmul(x, ones);
  const auto z = ebb::no_autocast([](auto u, auto v) { return ebb::matmul(ebb::cast<float>(u), v); })(y, w);
  return ebb::sum(16384 * z);
};
using X = ebb::tensor<float, 1, 4>;
using W = ebb::tensor<float, 4, 4>;
using inside = decltype(ebb::under<half>(region));  // the type of the region inside autocast

// For this region the assumption about the call of backward matters, and the types show it. For a single product, which is cast in any
// case, it does not matter.
static_assert(ebb::policy_matters<inside, ebb::off, ebb::same_as_forward, X, W, W>);
static_assert(!ebb::policy_matters<decltype(ebb::under<half>([](auto x, auto w) { return ebb::matmul(x, w); })), ebb::off,
                                   ebb::same_as_forward, X, W>);

/// Calls the region inside autocast and backward outside, as PyTorch's guide recommends.
template <class Policy>
void show(const char* name) {
  constexpr auto compiled = ebb::compile<ebb::ambient<ebb::off, half>, ebb::backward_pass_autocast<Policy>>(region);
  const ebb::variable w(W::ones());
  std::optional<ebb::variable<float>> scaled;
  {
    const ebb::autocast_scope<ebb::f16> scope;
    scaled = compiled(X::ones(), W::ones(), w);
  }
  try {
    scaled->backward();
    std::printf("%-26s weight gradient %g\n", name, static_cast<double>(w.grad().value()(0, 0)));
  } catch (const ebb::error& e) {
    std::printf("%-26s refused: %s\n", name, e.what());
  }
}

void compare() {
  std::puts("each equation of the backward, assumed to be called outside of autocast:");
  ebb::print(ebb::backward_t<inside, ebb::off, X, W, W>{});
  std::puts("\nassumed to be called where the region was, inside:");
  ebb::print(ebb::backward_t<inside, ebb::same_as_forward, X, W, W>{});
  std::puts("\nthe region is called inside autocast<f16>, backward outside:");
  show<ebb::off>("off");
  show<ebb::as_recorded>("as_recorded");
  show<ebb::same_as_forward>("same_as_forward");
  ebb::config().autocast_mismatch = ebb::on_mismatch::ignore;
  show<ebb::same_as_forward>("same, and the check off");
  ebb::config().autocast_mismatch = ebb::on_mismatch::error;
}

}  // namespace contexts

namespace training {

constexpr std::size_t batch = 32;
constexpr int epochs = 20;

// One region for both: the scope around its call selects the program. Its weights and their gradients stay float.
constexpr auto step_loss =
    ebb::compile<ebb::ambient<ebb::off, ebb::autocast<ebb::bf16>>, ebb::backward_pass_autocast<ebb::as_recorded>>(loss);
constexpr auto pick = ebb::compile([](auto images, auto labels, auto chosen) {
  return std::tuple(ebb::take(images, chosen), ebb::take(labels, chosen));
});

/// The cost of forward and backward of one batch.
struct cost {
  double microseconds;  // of processor time
  std::size_t saved;    // bytes, for the backward
  std::ptrdiff_t most;  // peak bytes, without the batch and the network
};
struct outcome {
  double accuracy;
  cost small, large;  // of `batch` images, and of all
};

network<ebb::variable> variables(const network<ebb::tensor>& net) {
  return {ebb::variable(net.w1), ebb::variable(net.b1), ebb::variable(net.w2), ebb::variable(net.b2)};
}

/// The loss of a batch, in float or inside autocast.
ebb::variable<float> forward(const network<ebb::variable>& net, const auto& x, const auto& t, bool low) {
  std::optional<ebb::autocast_scope<ebb::bf16>> scope;
  if (low) scope.emplace();
  return step_loss(net, x, t);
}

/// The bytes that a call saves for its backward, without arrays of the batch and of the network, which exist anyway.
std::size_t bytes_saved(const void* images, const network<ebb::variable>& net, auto&& call) {
  std::vector<const void*> held{images};
  ebb::each_leaf([&](const auto& p) { held.push_back(p.value().data()); }, net);
  std::size_t bytes = 0;
  const auto pack = [&](const ebb::any_tensor& saved) {
    const void* const data = saved.block().data();
    if (std::find(held.begin(), held.end(), data) == held.end()) bytes += saved.block().bytes();
    return saved;
  };
  const ebb::saved_tensors_hooks count(pack, [](const ebb::any_tensor& saved) { return saved; });
  call();
  return bytes;
}

cost measure(const network<ebb::tensor>& start, const auto& x, const auto& t, bool low) {
  const network<ebb::variable> net = variables(start);
  const auto step = [&] { forward(net, x, t, low).backward(); };
  const std::size_t saved = bytes_saved(x.data(), net, [&] { forward(net, x, t, low); });
  const std::ptrdiff_t most = memory::peak(step);
  const int calls = x.extent(0) < 1000 ? 100 : 1;
  std::vector<double> times(21);
  for (double& time : times) {
    const std::clock_t begin = std::clock();
    for (int i = 0; i < calls; ++i) step();
    time = 1e6 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / calls;
  }
  std::nth_element(times.begin(), times.begin() + 10, times.end());
  return {times[10], saved, most};
}

outcome train(const digits& data, const digits& held_out, ebb::random_key key, bool low) {
  const auto [weights, order] = key.split<2>();
  const auto start = initial_network(weights);
  const auto net = variables(start);
  auto [adam, hooks] = ebb::optimize_in_backward(ebb::adam{.lr = 0.005}, net);
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    const auto shuffled = ebb::permutation(order.fold_in(epoch), data.images.extent(0));
    adam.rule().lr = 0.005 * (epochs + 1 - epoch) / epochs;
    for (std::size_t first = 0; first + batch <= shuffled.size(); first += batch) {
      const auto [x, t] = pick(data.images, data.labels, ebb::view<const std::int64_t, batch>(shuffled.data() + first));
      forward(net, x, t, low).backward();
    }
  }
  const network<ebb::tensor> trained{net.w1.value(), net.b1.value(), net.w2.value(), net.b2.value()};
  const auto predicted = ebb::compile(predict)(trained, held_out.images);
  int right = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) right += predicted(i) == held_out.labels(i);

  const auto [x, t] = pick(data.images, data.labels, ebb::view<const std::int64_t, batch>(ebb::permutation(order, batch).data()));
  return {right / static_cast<double>(predicted.size()), measure(start, x, t, low), measure(start, data.images, data.labels, low)};
}

bool compare() {
  const std::string path = EBB_DATA "/digits/digits.txt";
  const digits training = vary(load_digits(path, 0, 1500), 10, 1), held_out = load_digits(path, 1500, 1797);
  const outcome full = train(training, held_out, 2, false), low = train(training, held_out, 2, true);
  std::printf("\ndigits, %d epochs                  float32    bfloat16\n", epochs);
  std::printf("held-out accuracy                  %8.3f    %8.3f\n", full.accuracy, low.accuracy);
  const auto print = [](std::size_t images, const cost& f, const cost& l) {
    std::printf("%5zu images: microseconds          %8.1f    %8.1f\n", images, f.microseconds, l.microseconds);
    std::printf("              bytes saved          %8zu    %8zu\n", f.saved, l.saved);
    std::printf("              most bytes at a time %8td    %8td\n", f.most, l.most);
  };
  print(batch, full.small, low.small);
  print(training.images.extent(0), full.large, low.large);
  return low.accuracy > full.accuracy - 0.0051 && full.accuracy >= 0.95;
}

}  // namespace training

int main() {
  contexts::compare();
  return training::compare() ? 0 : 1;
}
