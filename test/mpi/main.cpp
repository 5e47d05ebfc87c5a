// test/mpi/main.cpp — training on several ranks against the same training in one process: mpirun -n 2 <program> [what goes wrong]
// SPDX-License-Identifier: BSL-1.0
// covers: communicator.hpp broadcast.hpp summation.hpp all_reduce.hpp exchange.hpp data_parallel.hpp
#include "model.hpp"

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <unistd.h>

using namespace test;
namespace mpi = ebb::mpi;

namespace {

std::string events;  // what hooks and MPI were asked for, in order

}  // namespace

// MPI's profiling interface: the program's own functions are called, and call the library's by their other names.
extern "C" int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  events += "sum ";
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
extern "C" int MPI_Ialltoall(const void* from, int count, MPI_Datatype type, void* to, int many, MPI_Datatype into, MPI_Comm comm,
                             MPI_Request* request) {
  events += "parts ";
  return PMPI_Ialltoall(from, count, type, to, many, into, comm, request);
}

namespace {

int capture_count() {
  const auto c = ebb::counters().compiled_autograd;
  return static_cast<int>(c.captures + c.hits);
}

// --- the functional interface -----------------------------------------------------------------------------------------------------

template <class T>
struct mixture {
  ebb::tensor<T, ebb::dyn> long_one;
  std::vector<ebb::tensor<T, 3>> rows;
  T number;
  ebb::tensor<int, 2> labels;
};
template <class T>
auto tie_of(mixture<T>& m) {
  return std::tie(m.long_one, m.rows, m.number, m.labels);
}
template <class T>
mixture<T> mixture_of_rank(int rank, std::size_t n) {
  const ebb::random_key key = ebb::random_key(7).fold_in(rank);
  mixture<T> m{ebb::normal<T, ebb::dyn>(key, n), {}, ebb::as_element<T>(0.1 * rank - 0.3), {rank, 5}};
  for (int i = 0; i < 2; ++i) m.rows.push_back(ebb::normal<T, 3>(key.fold_in(i)));
  return m;
}
template <class T>
double real_of(T x) {
  if constexpr (sizeof(T) == 2) return static_cast<float>(x);
  else return x;
}
/// A tree over one element of each rank; each sum is rounded to T.
template <class T>
T tree_of(const std::vector<T>& x, std::size_t first, std::size_t count) {
  if (count == 1) return x[first];
  std::size_t m = 1;
  while (2 * m < count) m *= 2;
  using wide = std::conditional_t<sizeof(T) == 2, float, T>;
  return static_cast<T>(static_cast<wide>(tree_of(x, first, m)) + static_cast<wide>(tree_of(x, first + m, count - m)));
}

template <class T>
void test_all_reduce(std::size_t n) {
  using wide = std::conditional_t<sizeof(T) == 2, float, T>;
  const int ranks = mpi::size(), rank = mpi::rank();
  std::vector<mixture<T>> all;
  for (int r = 0; r < ranks; ++r) all.push_back(mixture_of_rank<T>(r, n));
  const auto count = static_cast<std::size_t>(ranks);
  const auto element = [&](auto&& get) {
    std::vector<T> x;
    for (auto& m : all) x.push_back(get(m));
    return x;
  };
  double most = 0;
  const auto compare = [&](const mixture<T>& m, bool exact, auto&& wanted) {
    const auto see = [&](T is, const std::vector<T>& x) {
      const auto [tree, real] = wanted(x);
      if (exact) CHECK_HERE(ebb::to_cell(is) == ebb::to_cell(tree));
      most = std::max(most, std::abs(real_of(is) - static_cast<double>(real)));
    };
    for (std::size_t i = 0; i < n; ++i) see(m.long_one(i), element([&](auto& o) { return o.long_one(i); }));
    for (std::size_t i = 0; i < 6; ++i) see(m.rows[i / 3](i % 3), element([&](auto& o) { return o.rows[i / 3](i % 3); }));
    see(m.number, element([](auto& o) { return o.number; }));
    CHECK_HERE(m.labels(0) == rank && m.labels(1) == 5);
  };
  const auto sum_of = [&](const std::vector<T>& x) {
    long double s = 0;
    for (T v : x) s += static_cast<long double>(real_of(v));
    return s;
  };
  const double tolerance = sizeof(T) == 8 ? 1e-14 : sizeof(T) == 4 ? 1e-5 : 0.15;
  for (const bool deterministic : {false, true}) {
    const bool exact = deterministic || sizeof(T) == 2;
    mixture<T> m = mixture_of_rank<T>(rank, n);
    auto g = tie_of(m);
    mpi::all_reduce(g, {.deterministic = deterministic});
    compare(m, exact, [&](const std::vector<T>& x) {
      return std::pair(static_cast<T>(static_cast<wide>(tree_of(x, 0, count)) / static_cast<wide>(ranks)), sum_of(x) / ranks);
    });
    m = mixture_of_rank<T>(rank, n);
    auto h = tie_of(m);
    mpi::all_reduce(h, {.reduce = mpi::reduce::sum, .deterministic = deterministic});
    compare(m, exact, [&](const std::vector<T>& x) { return std::pair(tree_of(x, 0, count), sum_of(x)); });
    // Unequal batches: rank r has r + 1 examples.
    m = mixture_of_rank<T>(rank, n);
    auto w = tie_of(m);
    mpi::all_reduce(w, {.reduce = mpi::reduce::weighted_mean, .weight = rank + 1.0, .deterministic = deterministic});
    compare(m, false, [&](const std::vector<T>& x) {
      long double s = 0;
      for (std::size_t r = 0; r < count; ++r) s += static_cast<long double>(r + 1) * static_cast<long double>(real_of(x[r]));
      return std::pair(T{}, s / (ranks * (ranks + 1) / 2));
    });
  }
  CHECK_HERE(most < tolerance);
}

void test_functional() {
  for (const std::size_t n : {0u, 1u, 7u, 1000u}) {
    test_all_reduce<float>(n);
    test_all_reduce<double>(n);
    test_all_reduce<ebb::bfloat16>(n);
    test_all_reduce<ebb::float16>(n);
  }
  // The gradient of a struct: two halves of a batch, one on each rank.
  constexpr auto cost = [](auto net, auto x, auto t) {
    return ebb::mse(ebb::linear(ebb::tanh(ebb::linear(x, net.w1, net.b1)), net.w2, net.b2), t);
  };
  const arrays net = initial(3);
  const examples mine = part_of_batch(0, mpi::rank());
  arrays g = ebb::grad(cost)(net, mine.x, mine.t);
  mpi::all_reduce(g, {.deterministic = true});
  std::vector<arrays> all;
  for (int r = 0; r < mpi::size(); ++r) {
    const examples e = part_of_batch(0, r);
    all.push_back(ebb::grad(cost)(net, e.x, e.t));
  }
  arrays wanted = tree_sum(all, 0, all.size());
  ebb::each_leaf([](auto& x) { x = x / static_cast<float>(mpi::size()); }, wanted);
  CHECK_HERE(same(g, wanted));

  float zero = 1;
  CHECK_HERE(says(raised([&] { mpi::all_reduce(zero, {.reduce = mpi::reduce::weighted_mean}); }), "the weights of all ranks are 0"));
  CHECK_HERE(says(raised([&] { mpi::all_reduce(zero, {.reduce = mpi::reduce::weighted_mean, .weight = -1}); }), "0 or more"));
}

// --- on the tape -------------------------------------------------------------------------------------------------------------------

/// Each rank runs a share of the batch; the gradients and the parameters are those of one process, bit for bit.
void test_halves() {
  const int ranks = mpi::size(), rank = mpi::rank();
  for (const bool captured : {false, true})
    for (const std::size_t bucket : {std::size_t{1}, std::size_t{300}, std::size_t{1} << 20})
      for (const bool late : {false, true}) {
        const variables net = tracked(initial(rank));  // other values on each rank: the broadcast makes them rank 0's
        ebb::optimizer opt(ebb::adam{.lr = 0.01}, net);
        mpi::data_parallel all({.bucket_bytes = bucket, .deterministic = true, .waits_in_step = late}, net);
        CHECK_HERE(all.buckets() == (bucket == 1 ? 4u : bucket == 300 ? 2u : 1u));
        CHECK_HERE(same(values(net), initial(0)));

        const variables alone = tracked(initial(0));
        ebb::optimizer plain(ebb::adam{.lr = 0.01}, alone);
        for (int step = 0; step < 4; ++step) {
          const int before = capture_count();
          backward(net, part_of_batch(step, rank), captured);
          CHECK_HERE(capture_count() - before == (captured ? 1 : 0));
          all.wait();
          if (ranks == 2) {  // a program without MPI: two backwards without zero_grad between them, divided by two
            for (int half = 0; half < 2; ++half) loss(alone, part_of_batch(step, half)).backward();
            ebb::each_leaf([](auto v) { v.set_grad(v.grad().value() / 2.f); }, alone);
          } else {
            const arrays g = mean_of_parts(values(alone), step, ranks);
            ebb::each_leaf([](auto v, const auto& x) { v.set_grad(x); }, alone, g);
          }
          CHECK_HERE(same(gradients(net), gradients(alone)));
          all.step(opt);
          plain.step();
          ebb::zero_grad(net, alone);
          CHECK_HERE(same(values(net), values(alone)));
        }
        CHECK_HERE(all.agrees());
      }
}

/// Without deterministic: the values of a long double sum, and equal parameters on all ranks.
void test_sums_of_the_library() {
  const variables net = tracked(initial(0));
  ebb::optimizer opt(ebb::sgd{.lr = 0.05, .momentum = 0.9}, net);
  mpi::data_parallel all({.bucket_bytes = 200}, net);
  for (int step = 0; step < 3; ++step) {
    const arrays wanted = mean_of_parts(values(net), step, mpi::size());
    events.clear();
    backward(net, part_of_batch(step, mpi::rank()), step > 0);
    CHECK_HERE(events == "" || events == "sum sum ");
    CHECK_HERE((events == "") == (mpi::size() == 1));
    CHECK_HERE(distance(gradients(net), wanted) < 1e-6);
    opt.step();
    opt.zero_grad();
    CHECK_HERE(all.agrees());
  }
  CHECK_HERE(says(raised([&] {
               all.step(opt);
               all.step(opt);
             }), "no gradients have been exchanged since the last step"));
}

/// Parts over 1, 2 and 4 ranks: the script compares the hashes that are printed.
void test_parts() {
  if (4 % mpi::size() != 0) return;
  const int here = 4 / mpi::size();
  for (const bool captured : {false, true}) {
    const variables net = tracked(initial(0));
    ebb::optimizer opt(ebb::adam{.lr = 0.01}, net);
    mpi::data_parallel all({.bucket_bytes = 300, .deterministic = true, .parts = 4}, net);
    for (int step = 0; step < 3; ++step) {
      const arrays wanted = mean_of_parts(values(net), step, 4);
      for (int p = 0; p < here; ++p) {
        events.clear();
        backward(net, part_of_batch(step, mpi::rank() * here + p), captured);
        CHECK_HERE((events != "") == (p + 1 == here && mpi::size() > 1));
      }
      CHECK_HERE(same(gradients(net), wanted));
      opt.step();
      if (step == 2)
        CHECK_HERE(says(raised([&] { backward(net, part_of_batch(step, 0), captured); }), "still has the gradient of the last exchange"));
      opt.zero_grad();
    }
    CHECK_HERE(all.agrees());
    if (mpi::rank() == 0)
      std::printf("bits %s %016llx\n", captured ? "captured" : "plain", static_cast<unsigned long long>(hash_of(values(net))));
  }
}

/// The update of a parameter waits for its gradient from the other ranks, in the backward.
void test_update_in_backward() {
  for (const bool captured : {false, true})
    for (const bool late : {false, true}) {
      const variables net = tracked(initial(0)), alone = tracked(initial(0));
      ebb::optimizer opt(ebb::adam{.lr = 0.01}, net), plain(ebb::adam{.lr = 0.01}, alone);
      mpi::data_parallel all({.bucket_bytes = 1, .deterministic = true, .waits_in_step = late}, net);
      all.step_in_backward(opt);
      for (int step = 0; step < 3; ++step) {
        backward(net, part_of_batch(step, mpi::rank()), captured);
        if (late) all.wait();
        ebb::each_leaf([](const auto& v) { CHECK_HERE(!v.grad().defined()); }, net);
        const arrays g = mean_of_parts(values(alone), step, mpi::size());
        ebb::each_leaf([](auto v, const auto& x) { v.set_grad(x); }, alone, g);
        plain.step();
        CHECK_HERE(same(values(net), values(alone)));
      }
      CHECK_HERE(opt.state(0).step == 3);
    }
  const ebb::variable<float> one(1.f), other(2.f);
  ebb::optimizer both(ebb::sgd{}, one, other);
  mpi::data_parallel all({}, one);
  CHECK_HERE(says(raised([&] { all.step_in_backward(both); }), "parameter 1 of the optimizer (leaf) is none of those"));
}

/// Hooks of the user, and the calls of MPI between them: a bucket is sent by its last hook, before the backward goes on.
void test_order() {
  constexpr auto times = ebb::compile([](auto a, auto b) { return a * b; });
  for (const bool captured : {false, true}) {
    std::vector<ebb::variable<double>> p;
    for (int i = 0; i < 4; ++i) p.emplace_back(i + 1.0 + mpi::rank());  // the broadcast makes it i + 1
    std::vector<double> arrived(4), before(4);
    for (std::size_t i = 0; i < 4; ++i) {
      p[i].register_hook([&, i](const ebb::tensor<double>& g) {
        events += "t" + std::to_string(i) + " ";
        arrived[i] = g;
      });
      p[i].register_post_accumulate_grad_hook([&, i](ebb::variable<double>& v) { before[i] = v.grad().item(); });
    }
    mpi::data_parallel all({.bucket_bytes = 16}, p);  // two in a bucket
    for (std::size_t i = 0; i < 4; ++i)
      p[i].register_post_accumulate_grad_hook([&, i](ebb::variable<double>& v) {
        events += std::string(v.grad().defined() ? "sees" : "later") + std::to_string(i) + " ";
      });
    for (int step = 0; step < 3; ++step) {
      ebb::zero_grad(p);
      ebb::variable<double> y(1.0 + mpi::rank());  // the data of this rank
      for (std::size_t i = 0; i < 4; ++i) y = times(y, p[i]);
      events.clear();
      ebb::backward(y, {.compiled_autograd = captured});
      const std::string sum = mpi::size() == 1 ? "" : "sum ";
      const bool alone = mpi::size() == 1;  // then a bucket is complete at once, and the last hook's gradient is back
      CHECK_HERE(events == "t3 later3 t2 " + sum +
                               (alone                                       ? "sees2 "
                                : events.find("sees2") != std::string::npos ? "sees2 "
                                                                            : "later2 ") +
                               "t1 later1 t0 " + sum +
                               (alone                                       ? "sees0 "
                                : events.find("sees0") != std::string::npos ? "sees0 "
                                                                            : "later0 "));
      for (std::size_t i = 0; i < 4; ++i) {
        const double local = (1.0 + mpi::rank()) * 24 / (static_cast<double>(i) + 1);
        CHECK_HERE(arrived[i] == local && before[i] == local);
        CHECK_HERE(p[i].grad().item() == (mpi::size() + 1) / 2.0 * 24 / (static_cast<double>(i) + 1));
      }
    }
  }
}

void test_no_sync() {
  for (const bool captured : {false, true}) {
    const variables net = tracked(initial(0));
    mpi::data_parallel all({.deterministic = true}, net);
    const int rank = mpi::rank(), ranks = mpi::size();
    for (int round = 0; round < 2; ++round) {
      {
        const auto quiet = all.no_sync();
        events.clear();
        backward(net, part_of_batch(0, rank), captured);
        CHECK_HERE(events.empty());
        CHECK_HERE(same(gradients(net), gradient_of(initial(0), part_of_batch(0, rank))));  // of this rank alone
      }
      backward(net, part_of_batch(1, rank), captured);
      std::vector<arrays> g;
      for (int r = 0; r < ranks; ++r)
        g.push_back(plus(gradient_of(initial(0), part_of_batch(0, r)), gradient_of(initial(0), part_of_batch(1, r))));
      arrays wanted = tree_sum(g, 0, g.size());
      ebb::each_leaf([&](auto& x) { x = x / static_cast<float>(ranks); }, wanted);
      CHECK_HERE(same(gradients(net), wanted));
      ebb::zero_grad(net);
    }
  }
  const ebb::variable<float> w(1.f);
  mpi::data_parallel all({.reduce = mpi::reduce::sum}, w);
  const auto once = [&] { ebb::variable<float>(w * 2.f).backward(); };
  once();
  CHECK_HERE(w.grad().item() == 2.f * static_cast<float>(mpi::size()));
  CHECK_HERE(says(raised(once), "call zero_grad first"));
}

void test_unused() {
  constexpr auto times = ebb::compile([](auto a, auto b) { return a * b; });
  const int ranks = mpi::size(), rank = mpi::rank();
  for (const bool captured : {false, true})
    for (const std::size_t bucket : {1u, 1000u}) {
      const ebb::variable<double> shared(2.0), on_last(3.0), nowhere(4.0);
      ebb::optimizer opt(ebb::sgd{.lr = 0.5, .momentum = 0.5}, shared, on_last, nowhere);
      mpi::data_parallel all({.bucket_bytes = bucket, .find_unused = true}, shared, on_last, nowhere);
      for (int step = 0; step < 3; ++step) {
        const bool uses = rank == ranks - 1;
        if (uses) ebb::backward(times(shared, on_last), {.compiled_autograd = captured});
        else ebb::backward(times(shared, shared), {.compiled_autograd = captured});
        const double s = shared.item(), l = on_last.item();
        CHECK_HERE(std::abs(shared.grad().item() - ((ranks - 1) * 2 * s + l) / ranks) < 1e-12);
        CHECK_HERE(std::abs(on_last.grad().item() - s / ranks) < 1e-12);
        CHECK_HERE(!nowhere.grad().defined());
        opt.step();
        opt.zero_grad();
        CHECK_HERE(nowhere.item() == 4.0 && opt.state(2).step == 0);
        CHECK_HERE(all.agrees());
      }
      // A gradient that was there before, of a backward without exchange, goes with the others.
      {
        const auto quiet = all.no_sync();
        ebb::backward(times(shared, on_last), {.compiled_autograd = captured});
      }
      const double s = shared.item();
      ebb::backward(times(shared, shared), {.compiled_autograd = captured});
      CHECK_HERE(std::abs(on_last.grad().item() - s) < 1e-12);
    }
}

void test_unequal_batches() {
  const int ranks = mpi::size(), rank = mpi::rank();
  for (const bool captured : {false, true}) {
    const variables net = tracked(initial(0));
    ebb::optimizer opt(ebb::sgd{.lr = 0.1}, net);
    mpi::data_parallel all({.bucket_bytes = 300, .reduce = mpi::reduce::weighted_mean}, net);
    for (int step = 0; step < 3; ++step) {
      // Rank r has 2 r + 1 examples; in the last step the last rank has none.
      const bool has_none = step == 2 && ranks > 1 && rank == ranks - 1;
      const std::size_t mine = 2 * static_cast<std::size_t>(rank) + 1;
      std::size_t count = 0;
      for (int r = 0; r < ranks - (step == 2 && ranks > 1); ++r) count += 2 * static_cast<std::size_t>(r) + 1;
      examples whole{ebb::tensor<float, ebb::dyn, 7>(count), ebb::tensor<float, ebb::dyn, 3>(count)};
      std::size_t row = 0;
      for (int r = 0; row < count; ++r) {
        const examples e = part_of_batch(step, r, 2 * static_cast<std::size_t>(r) + 1);
        std::copy(e.x.begin(), e.x.end(), whole.x.mutable_data() + row * 7);
        std::copy(e.t.begin(), e.t.end(), whole.t.mutable_data() + row * 3);
        row += 2 * static_cast<std::size_t>(r) + 1;
      }
      const arrays wanted = gradient_of(values(net), whole);
      all.set_weight(has_none ? 0 : static_cast<double>(mine));
      if (has_none) all.take_part();
      else backward(net, part_of_batch(step, rank, mine), captured);
      CHECK_HERE(distance(gradients(net), wanted) < 2e-6);
      all.step(opt);
      opt.zero_grad();
      CHECK_HERE(all.agrees());
    }
    CHECK_HERE(says(raised([&] { all.set_weight(-1); }), "0 or more"));
  }
}

void test_dtypes() {
  const ebb::variable w(ebb::tensor<ebb::bfloat16, 5>::full(ebb::bfloat16(2.f)), ebb::grad_dtype<float>);
  const ebb::variable h(ebb::tensor<ebb::float16, 5>::full(ebb::float16(2.f)));
  const ebb::variable d(ebb::tensor<double, 5>::full(2.0));
  mpi::data_parallel all({}, w, h, d);
  CHECK_HERE(all.buckets() == 3);
  CHECK_HERE(all.bytes() == 5 * (4 + 2 + 8));
  const double mine = mpi::rank() + 1.0;
  const auto total = ebb::sum(ebb::cast<double>(w) * ebb::cast<double>(h) * d * mine);
  ebb::variable<double>(total).backward();
  const double mean = (mpi::size() + 1) / 2.0 * 4;
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK_HERE(static_cast<double>(w.grad<float>().value()(i)) == mean);
    CHECK_HERE(static_cast<double>(static_cast<float>(h.grad().value()(i))) == mean);
    CHECK_HERE(d.grad().value()(i) == mean);
  }
}

// --- the start, and checkpoints ----------------------------------------------------------------------------------------------------

void test_broadcast() {
  const int rank = mpi::rank(), last = mpi::size() - 1;
  auto [a, b, n] =
      std::tuple(ebb::tensor<float, 3>::full(static_cast<float>(rank)), ebb::tensor<std::int64_t, ebb::dyn>::full(rank, 4), 1.5 * rank);
  ebb::random_key key(rank + 10);
  const ebb::variable<double, 2> v(ebb::tensor<double, 2>::full(rank));
  auto everything = std::tie(a, b, n, v);
  mpi::broadcast(everything, {.from = last});
  mpi::broadcast(key, {.from = last});
  CHECK_HERE(a(2) == static_cast<float>(last) && b(3) == last && n == 1.5 * last && v.value()(1) == last);
  CHECK_HERE(key == ebb::random_key(last + 10));

  ebb::random_key other(rank);
  const ebb::variable<double, 2> w(ebb::tensor<double, 2>::full(rank));
  const mpi::data_parallel all({}, w, other);
  CHECK_HERE(other == ebb::random_key(0) && w.value()(0) == 0);

  if (last == 0) return;
  const auto unequal = ebb::tensor<float, ebb::dyn>(static_cast<std::size_t>(rank == 0 ? 3 : 4));
  auto copy = unequal;
  const std::string message = raised([&] { mpi::broadcast(copy); });
  CHECK_HERE(says(message, "has arrays of other dtypes, extents or number than rank 0") == (rank != 0));
  if (rank != 0) mpi::detail::broadcast_bytes(copy.mutable_data(), 12, {});  // what rank 0 has sent after all
}

/// Rank 0 writes; a new start from the file goes on with the same bits.
void test_checkpoints(const std::string& directory) {
  const std::string path = directory + "/adam.state";
  const auto run = [&](const variables& net, ebb::optimizer<ebb::adam>& opt, mpi::data_parallel& all, int first, int last) {
    for (int step = first; step < last; ++step) {
      backward(net, part_of_batch(step, mpi::rank()), false);
      all.step(opt);
      opt.zero_grad();
    }
  };
  const variables net = tracked(initial(0));
  ebb::optimizer opt(ebb::adam{.lr = 0.01}, net);
  mpi::data_parallel all({.deterministic = true}, net);
  run(net, opt, all, 0, 2);
  const arrays saved = values(net);
  mpi::on_first([&] { opt.save(path); });
  run(net, opt, all, 2, 4);

  const variables again = tracked(mpi::rank() == 0 ? saved : initial(5));
  ebb::optimizer resumed(ebb::adam{.lr = 0.01}, again);
  mpi::on_first([&] { resumed.load(path); });
  CHECK_HERE(resumed.state(0).step == (mpi::rank() == 0 ? 2u : 0u));
  mpi::broadcast(resumed);
  CHECK_HERE(resumed.state(0).step == 2);
  mpi::data_parallel both({.deterministic = true}, again);
  run(again, resumed, both, 2, 4);
  CHECK_HERE(same(values(again), values(net)));
}

void test_misuse() {
  const ebb::variable<float> w(1.f);
  const ebb::variable<float> y = w * 2.f;
  CHECK_HERE(says(raised([&] { mpi::data_parallel({}, y); }), "is the result of"));
  CHECK_HERE(says(raised([&] { mpi::data_parallel({}, w, w); }), "is there twice"));
  CHECK_HERE(says(raised([&] { mpi::data_parallel({}, ebb::variable<float>()); }), "has no history"));
  CHECK_HERE(says(raised([&] { mpi::data_parallel({.parts = mpi::size() * 2 + (mpi::size() == 1 ? -3 : 1)}, w); }), "parts for"));
  {
    mpi::data_parallel all({.reduce = mpi::reduce::weighted_mean}, w);
    CHECK_HERE(says(raised([&] { ebb::variable<float>(w * 2.f).backward(); }), "needs set_weight"));
  }
  ebb::zero_grad(w);
  {
    mpi::data_parallel all({.parts = mpi::size()}, w);
    CHECK_HERE(says(raised([&] { const auto quiet = all.no_sync(); }), "with parts it is known"));
    CHECK_HERE(says(raised([&] { ebb::backward(ebb::variable<float>(w * w), {.create_graph = true}); }), "the exchange has no derivative"));
  }
  ebb::zero_grad(w);
  {
    mpi::data_parallel all({.waits_in_step = true}, w);
    ebb::variable<float>(w * 2.f).backward();
    CHECK_HERE(says(raised([&] { ebb::variable<float>(w * 2.f).backward(); }), "are on their way"));
    all.wait();
  }
  ebb::zero_grad(w);
  {
    mpi::data_parallel all({.waits_in_step = true}, w);
    ebb::variable<float>(w * (2.f + static_cast<float>(mpi::rank()))).backward();
  }
  CHECK_HERE(w.grad().item() == 2.f + static_cast<float>(mpi::size() - 1) / 2);  // its end has waited
  for (const bool later : {false, true}) {
    const ebb::variable<float> v(1.f);
    ebb::optimizer opt(ebb::sgd{}, v);
    if (!later) opt.step_in_backward();
    mpi::data_parallel all({}, v);
    if (later) opt.step_in_backward();
    CHECK_HERE(says(raised([&] { ebb::variable<float>(v * 2.f).backward(); }), "Call data_parallel::step_in_backward instead"));
  }
  // When it is gone, gradients are of this rank again.
  ebb::zero_grad(w);
  ebb::variable<float>(w * (2.f + static_cast<float>(mpi::rank()))).backward();
  CHECK_HERE(w.grad().item() == 2.f + static_cast<float>(mpi::rank()));
}

// --- what goes wrong: each ends all ranks, see test/mpi.sh ---------------------------------------------------------------------------

void go_wrong(const std::string& how) {
  const variables net = tracked(initial(0));
  const bool last = mpi::rank() == mpi::size() - 1;
  if (how == "differs") {
    const ebb::variable<float, ebb::dyn> w(ebb::tensor<float, ebb::dyn>(static_cast<std::size_t>(last ? 3 : 4)));
    mpi::data_parallel all({}, w);
  }
  mpi::data_parallel all({}, net);
  if (how == "throws" && last)
    net.w2.register_hook([](const ebb::tensor<float, 3, 19>&) { throw std::runtime_error("the data of this rank are bad"); });
  if (how == "killed" && last)
    net.w2.register_hook([](const ebb::tensor<float, 3, 19>&) { std::raise(SIGKILL); });
  if (how == "unused" && last) hidden(part_of_batch(0, 0).x, net.w1, net.b1).backward(ebb::tensor<float, ebb::dyn, 19>(std::size_t{8}));
  else backward(net, part_of_batch(0, mpi::rank()), true);
  if (how == "idle" && !last) backward(net, part_of_batch(0, mpi::rank()), true);
  if (how == "idle" && last) throw 7;
  std::puts("went on");  // nobody may
}

}  // namespace

int main(int count, char** arguments) {
  return mpi::run(count, arguments, [&] {
    const std::string what = count > 1 ? arguments[1] : ".";
    if (what.find('/') == std::string::npos && what != ".") return go_wrong(what);
    test_functional();
    test_halves();
    test_sums_of_the_library();
    test_parts();
    test_update_in_backward();
    test_order();
    test_no_sync();
    test_unused();
    test_unequal_batches();
    test_dtypes();
    test_broadcast();
    test_checkpoints(what);
    test_misuse();
    MPI_Barrier(MPI_COMM_WORLD);
    if (mpi::rank() == 0) std::printf("passed on %d ranks\n", mpi::size());
  });
}
