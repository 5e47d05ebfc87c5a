// bench/weights/main.cpp — safetensors files: saved, loaded, and looked at in place; MB per second of processor time.
// SPDX-License-Identifier: BSL-1.0
//
// weights.py measures the same with Python's package.
#include "../clock.hpp"

#include <ebb/functional.hpp>
#include <ebb/io/safetensors.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

template <class F>
double median(int times, F f) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const double start = bench::thread_seconds();
    f();
    seconds.push_back(bench::thread_seconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  const std::size_t count = smoke ? 4 : 64;  // arrays of 4 MB
  const int times = smoke ? 1 : 9;
  const std::string path = "/tmp/ebb-bench-weights.safetensors";
  using matrix = ebb::tensor<float, ebb::dyn, 1024>;
  std::vector<matrix> weights(count), loaded(count);
  for (auto& w : weights) w = matrix::full(0.5f, 1024);
  const double megabytes = 4.194304 * static_cast<double>(count);

  const double save = median(times, [&] { ebb::save_safetensors(path, weights); });
  const double load = median(times, [&] { ebb::load_safetensors(path, loaded); });
  double sum = 0;
  const double open = median(times, [&] { sum += static_cast<double>(ebb::safetensors(path).arrays().size()); });
  const double view = median(times, [&] {
    const ebb::safetensors file(path);
    for (std::size_t i = 0; i < count; ++i) sum += ebb::sum(file.view<float, ebb::dyn, 1024>(std::to_string(i)));
  });
  const double added = median(times, [&] {
    for (const auto& w : weights) sum += ebb::sum(w);
  });
  std::printf("%zu arrays, %.0f MB, in the page cache; sum of all %g\n", count, megabytes, sum);
  std::printf("save %.0f MB/s   load %.0f MB/s   open %.0f us   view and add up %.0f MB/s (in memory %.0f MB/s)\n", megabytes / save,
              megabytes / load, 1e6 * open, megabytes / view, megabytes / added);
  std::remove(path.c_str());
}
