// examples/digits_mpi/main.cpp — the digits on several ranks: the same parameters on one, two and four, bit for bit.
// SPDX-License-Identifier: BSL-1.0
#include "../digits/digits.hpp"
#include "../digits/model.hpp"
#include "../digits/report.hpp"

#include "cost.hpp"

#include <cstdint>
#include <optional>
#include <thread>

constexpr std::size_t batch = 32;
constexpr int parts = 4, epochs = 6;

constexpr auto hidden_layer = ebb::compile([](auto x, auto w, auto b) { return ebb::relu(ebb::linear(x, w, b)); });
constexpr auto output_loss = ebb::compile([](auto h, auto w, auto b, auto t) { return ebb::cross_entropy(ebb::linear(h, w, b), t); });
constexpr auto pick = ebb::compile([](auto images, auto labels, auto chosen) {
  return std::tuple(ebb::take(images, chosen), ebb::take(labels, chosen));
});

/// A network on all ranks. Without `exchanges` each rank is alone: to measure what the exchange adds.
class learner {
 public:
  learner(const network<ebb::tensor>& start, ebb::random_key& order, bool exchanges)
      : net_{ebb::variable(start.w1), ebb::variable(start.b1), ebb::variable(start.w2), ebb::variable(start.b2)},
        opt_(ebb::sgd{.momentum = 0.9}, net_) {
    // The order of the images comes from a key, which all ranks need: rank 0's, as the parameters.
    if (exchanges) all_.emplace(ebb::mpi::data_parallel_options{.bucket_bytes = 4096, .deterministic = true, .parts = parts}, net_, order);
  }

  /// This rank's parts of a step, one backward each: the last one exchanges. Returns the sum of their losses.
  double learn(const digits& data, const std::int64_t* chosen, double rate) {
    constexpr std::size_t rows = batch / parts;
    const auto here = static_cast<std::size_t>(parts / ebb::mpi::size()), first = static_cast<std::size_t>(ebb::mpi::rank()) * here;
    double sum = 0;
    for (std::size_t p = first; p < first + here; ++p) {
      const auto [x, t] = pick(data.images, data.labels, ebb::view<const std::int64_t, rows>(chosen + p * rows));
      const auto value = output_loss(hidden_layer(x, net_.w1, net_.b1), net_.w2, net_.b2, t);
      value.backward({.compiled_autograd = true});
      sum += static_cast<double>(value.item());
    }
    opt_.rule().lr = rate;
    opt_.step();
    opt_.zero_grad();
    return sum;
  }
  network<ebb::tensor> result() const { return {net_.w1.value(), net_.b1.value(), net_.w2.value(), net_.b2.value()}; }
  ebb::mpi::data_parallel& all() { return *all_; }
  /// The exchange of a step by itself, of zeros.
  void exchange() {
    all_->take_part();
    opt_.zero_grad();
  }

 private:
  network<ebb::variable> net_;
  ebb::optimizer<ebb::sgd> opt_;
  std::optional<ebb::mpi::data_parallel> all_;
};

void train(learner& net, const digits& data, ebb::random_key order, int last_epoch) {
  std::optional<progress> report;
  if (ebb::mpi::rank() == 0) report.emplace(last_epoch);
  std::size_t steps = 0;
  for (int epoch = 1; epoch <= last_epoch; ++epoch) {
    const auto shuffled = ebb::permutation(order.fold_in(epoch), data.images.extent(0));
    double total = 0;
    std::size_t batches = 0;
    for (std::size_t first = 0; first + batch <= shuffled.size(); first += batch, ++batches)
      total += net.learn(data, shuffled.data() + first, 0.1 * (epochs + 1 - epoch) / epochs);
    steps += batches;
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (report) report->show(epoch, total / static_cast<double>(batches * parts), steps);
  }
}

/// The measured step beside the model's.
void print_costs(learner& net, const digits& data, const network<ebb::tensor>& start) {
  const int ranks = ebb::mpi::size();
  ebb::random_key none = 0;
  learner alone(start, none, false);
  const auto chosen = ebb::permutation(1, data.images.extent(0));
  const double compute = shortest(20, 20, [&] { alone.learn(data, chosen.data(), 0); });
  const double step = shortest(20, 20, [&] { net.learn(data, chosen.data(), 0); });
  const double bytes = static_cast<double>(net.all().bytes()), buckets = static_cast<double>(net.all().buckets());
  if (ranks == 1) return static_cast<void>(std::printf("a step on one rank: %.0f us\n", step * 1e6));

  const network_cost c = measured_network();
  const double exchange = shortest(20, 20, [&] { net.exchange(); });
  if (ebb::mpi::rank() != 0) return;
  const double model = exchange_cost(c, ranks, bytes, buckets, true);
  std::printf("%.1f KB in %.0f buckets, %d ranks; one message: %.2f us, and %.2f ns a KB\n", bytes / 1e3, buckets, ranks, c.latency * 1e6,
              c.a_byte * 1e12);
  std::printf("                          measured (us)   model (us)\n");
  std::printf("backwards and update      %13.0f\n", compute * 1e6);
  std::printf("exchange by itself        %13.0f %12.0f\n", exchange * 1e6, model * 1e6);
  std::printf("step                      %13.0f %12.0f if all overlaps, %.0f if nothing does\n", step * 1e6, std::max(compute, model) * 1e6,
              (compute + model) * 1e6);
  std::printf("%.0f %% of the exchange is hidden behind the backward\n",
              std::min(1.0, std::max(0.0, (compute + exchange - step) / exchange)) * 100);
  if (std::thread::hardware_concurrency() < static_cast<unsigned>(ranks))
    std::puts("There are more ranks than cores: the ranks wait for each other's turns, which the model does not know.");
}

std::uint64_t hash_of(const network<ebb::tensor>& net) {
  std::uint64_t h = 14695981039346656037u;
  ebb::each_leaf([&](const auto& x) { h = ebb::hash_text({reinterpret_cast<const char*>(x.data()), x.size() * sizeof(float)}, h); }, net);
  return h;
}

int main(int count, char** arguments) {
  const std::string option = count > 1 ? arguments[1] : "";
  if (option == "--paper") return print_paper(), 0;
  return ebb::mpi::run(count, arguments, [&] {
    const bool first = ebb::mpi::rank() == 0;
    const bool is_short = option == "--short";
    const ebb::random_key seed = 1;
    const std::string path = EBB_DATA "/digits/digits.txt";
    const digits training = vary(load_digits(path, 0, 1500), is_short ? 1 : 10, seed.fold_in(0)), held_out = load_digits(path, 1500, 1797);
    auto [weights, order] = seed.fold_in(1).split<2>();
    const network<ebb::tensor> start = initial_network(weights);

    learner net(start, order, true);
    train(net, training, order, is_short ? 2 : epochs);
    if (!net.all().agrees()) ebb::raise("the ranks have different parameters");
    double accuracy = 1;
    if (first && !is_short) accuracy = show_accuracy(ebb::compile(predict)(net.result(), held_out.images), held_out, 1500);
    if (first) std::printf("parameters %016llx\n", static_cast<unsigned long long>(hash_of(net.result())));
    if (!is_short) print_costs(net, training, start);
    return accuracy >= 0.95 ? 0 : 1;
  });
}
