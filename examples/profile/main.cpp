// examples/profile/main.cpp — finds out why a training loop is slow, and shows that its fixed version is not.
// SPDX-License-Identifier: BSL-1.0
#if !defined(EBB_PROFILE)
#define EBB_PROFILE  // in each file that is profiled: better on the command line
#endif
#include <ebb/ebb.hpp>
#include <ebb/profile.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

using points = ebb::tensor<float, ebb::dyn>;
using scalar_array = ebb::tensor<float>;

constexpr std::size_t many_points = 1 << 17;
constexpr int training_steps = 100;

/// A line through points with outliers: each statement makes an array of 131,072 numbers.
constexpr auto in_statements = [](const points& x, const points& y, const auto& slope, const auto& height) {
  const ebb::variable line = slope * x + height;
  const ebb::variable error = line - y;
  const ebb::variable square = error * error;
  const ebb::variable robust = ebb::log1p(square);
  return ebb::mean(robust);
};
/// The same as one function.
constexpr auto in_one = ebb::compile([](auto x, auto y, auto slope, auto height) {
  const auto error = slope * x + height - y;
  return ebb::mean(ebb::log1p(error * error));
});

/// Bytes that programs move, and how many programs run, for each step.
void print_work(const char* name, const ebb::profile& p) {
  double bytes = 0, programs = 0;
  for (const ebb::profile_row& r : p.rows())
    if (r.is == ebb::probed::program) {
      bytes += r.work.read + r.work.written;
      programs += static_cast<double>(r.calls);
    }
  bytes /= static_cast<double>(many_points);
  std::printf("%s: %.0f programs a step, %.0f bytes a point\n\n", name, programs / training_steps, bytes / training_steps);
}

void train(const char* name, auto loss, const std::string& files) {
  const points x = points::generate([](std::size_t i) { return static_cast<float>(i % 1000) / 1000; }, many_points);
  const points y =
      points::generate([](std::size_t i) { return i % 7 == 0 ? 9.f : 2 * static_cast<float>(i % 1000) / 1000 - 1; }, many_points);
  const ebb::variable slope(scalar_array(0.f)), height(scalar_array(0.f));
  ebb::optimizer descent(ebb::sgd{.lr = 0.5}, slope, height);
  const auto step = [&] {
    loss(x, y, slope, height).backward();
    descent.step();
    descent.zero_grad();
  };
  step();  // first calls take memory from the system

  const ebb::profile profile;
  for (int i = 0; i < training_steps; ++i) step();
  std::printf("%s\n%s\n", name, profile.table().c_str());
  print_work(name, profile);
  if (files.empty()) return;
  std::ofstream picture(files + "/" + name + ".svg"), trace(files + "/" + name + ".json");
  picture << ebb::to_svg(profile) << std::flush;
  trace << profile.chrome_trace() << std::flush;
  if (!picture || !trace) {
    std::fprintf(stderr, "cannot write to %s\n", files.c_str());
    std::exit(1);
  }
}

int main(int given, char** arguments) {
  const std::string files = given > 1 ? arguments[1] : "";  // a directory for pictures and traces
  train("statements", in_statements, files);
  train("region", in_one, files);
}
