// examples/digits/report.hpp — the output of a training: its progress, then the accuracy on held-out images.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "digits.hpp"

#include <ebb/svg/curves.hpp>

#include <chrono>
#include <fstream>
#include <unistd.h>
#include <vector>

/// A line that is overwritten on a terminal; a few plain lines elsewhere.
class progress {
 public:
  explicit progress(int epochs) : epochs_(epochs) {}

  void show(int epoch, double mean_loss, std::size_t steps) {
    losses_.push_back(mean_loss);
    const bool last = epoch == epochs_;
    if (!terminal_ && !last && epoch % 5 != 0) return;
    if (terminal_) {
      const auto done = static_cast<std::size_t>(30 * epoch / epochs_);
      std::printf("\r%s%s  ", std::string(done, '#').c_str(), std::string(30 - done, '.').c_str());
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
    std::printf("epoch %2d  loss %.4f  %.0f steps/s%s", epoch, mean_loss, static_cast<double>(steps) / seconds.count(),
                terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
  }

  /// Writes the losses so far as a picture. Without a path it does nothing.
  void draw(const char* path, const char* title) const {
    if (path) std::ofstream(path) << ebb::to_svg({{"training", losses_}}, title, {"epoch", "loss", true});
  }

 private:
  int epochs_;
  std::vector<double> losses_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool terminal_ = isatty(STDOUT_FILENO);
};

/// Shows a few misread images and a table of confusions, and returns the accuracy.
inline double show_accuracy(const auto& predicted, const digits& held_out, std::size_t first_image) {
  int confusion[10][10] = {}, right = 0, drawn = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const int is = held_out.labels(i), seen = static_cast<int>(predicted(i));
    ++confusion[is][seen];
    right += is == seen;
    if (is != seen && drawn++ < 3) {
      std::printf("\nimage %zu is a %d and was taken for a %d:\n", first_image + i, is, seen);
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
  return accuracy;
}
