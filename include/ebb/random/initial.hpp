// ebb/random/initial.hpp — first values of parameters: xavier, kaiming, lecun, orthogonal, dirac, identity, bounded normal numbers.
// SPDX-License-Identifier: BSL-1.0
//
//   auto w = ebb::initial<float, 64, 784>(key, ebb::kaiming_uniform{});
//   auto v = ebb::initial<float, ebb::dyn, ebb::dyn>(key, {n, m}, ebb::xavier_normal{.gain = 5.0 / 3});
// A weight is [out, in] or [out, in, extents of the window...], as linear and convolutions take it. Its fan-in is the number of elements
// for each index of axis 0, its fan-out the number for each index of axis 1. `transposed` exchanges both: for [in, out], as matmul(x, w)
// takes it. Usual gains: 1 without an activation and for sigmoid, 5 / 3 for tanh, sqrt(2) for relu, 3 / 4 for selu.
#pragma once

#include "random.hpp"

#include "../num/error_function.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace ebb::inline EBB_ABI {

/// Fan-in, the number of inputs of an output of a weight, and fan-out, the number of outputs that an input enters.
struct weight_fans {
  double in = 0, out = 0;

  template <std::size_t... E>
  static weight_fans of(const layout<E...>& shape, bool transposed) {
    static_assert(sizeof...(E) >= 2, "[ebb E0487] xavier, kaiming and lecun are for weights: arrays with two axes or more");
    if constexpr (sizeof...(E) < 2) return {};
    else {
      double window = 1;
      for (int axis = 2; axis < static_cast<int>(sizeof...(E)); ++axis) window *= static_cast<double>(shape.extent(axis));
      const double rows = static_cast<double>(shape.extent(0)) * window, columns = static_cast<double>(shape.extent(1)) * window;
      return transposed ? weight_fans{rows, columns} : weight_fans{columns, rows};
    }
  }
};

/// The normal distribution with the given mean and standard deviation, cut off outside of [lo, hi]. The numbers are found by inversion, so
/// that each takes one random number. The bounds are in units of the numbers, not of the deviation. If all of [lo, hi] is more than 8
/// deviations from the mean, every number is the bound next to the mean.   Source: torch.nn.init.trunc_normal_, whose defaults these are.
struct truncated_normal {
  double mean = 0, deviation = 1;
  double lo = -2, hi = 2;

  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key key, const layout<E...>& shape) const {
    if (!(deviation > 0 && lo < hi)) raise("ebb::truncated_normal: the deviation must be above 0, and lo below hi");
    const double from = below((lo - mean) / deviation), width = below((hi - mean) / deviation) - from;
    constexpr double unit = 0x1p-53;
    return draw_tensor<64, T>(key, shape, [=, *this](std::uint64_t bits) {
      const double q = from + (static_cast<double>(bits >> 11) + 0.5) * unit * width;
      const double z = q <= -0.5 ? lo : q >= 0.5 ? hi : mean + deviation * normal_quantile(q);
      const T x = as_element<T>(z < lo ? lo : z > hi ? hi : z);
      return x;
    });
  }

 private:
  /// The probability that a standard normal number is below z, minus 1/2.
  static double below(double z) { return lane::erf(z * 0.70710678118654752440) / 2; }
};

/// How xavier, kaiming and lecun draw numbers around 0. `factor` times a variance is the square of the bound or of the deviation.
struct uniform_draw {
  static constexpr double factor = 3;
  template <real_element T, std::size_t... E>
  static tensor<T, E...> draw(random_key key, const layout<E...>& shape, double bound) {
    if (shape.size() == 0) return tensor<T, E...>::uninitialized(shape);
    return draw_uniform<T>(key, shape, as_element<T>(-bound), as_element<T>(bound));
  }
};
struct normal_draw {
  static constexpr double factor = 1;
  template <real_element T, std::size_t... E>
  static tensor<T, E...> draw(random_key key, const layout<E...>& shape, double deviation) {
    if (shape.size() == 0) return tensor<T, E...>::uninitialized(shape);
    return draw_normal<T>(key, shape, as_element<T>(0), as_element<T>(deviation));
  }
};

template <class Draw>
struct xavier {
  double gain = 1;
  bool transposed = false;
  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key key, const layout<E...>& shape) const {
    const weight_fans fans = weight_fans::of(shape, transposed);
    return Draw::template draw<T>(key, shape, gain * std::sqrt(2 * Draw::factor / (fans.in + fans.out)));
  }
};
/// Uniform in +-gain * sqrt(6 / (fan-in + fan-out)).   Source: Glorot and Bengio, AISTATS 2010; torch.nn.init.xavier_uniform_.
using xavier_uniform = xavier<uniform_draw>;
/// Normal with the deviation gain * sqrt(2 / (fan-in + fan-out)).   Source: as xavier_uniform.
using xavier_normal = xavier<normal_draw>;

template <class Draw>
struct kaiming {
  double slope = 0;
  bool backward = false;
  bool transposed = false;
  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key key, const layout<E...>& shape) const {
    const weight_fans fans = weight_fans::of(shape, transposed);
    return Draw::template draw<T>(key, shape, std::sqrt(2 * Draw::factor / ((1 + slope * slope) * (backward ? fans.out : fans.in))));
  }
};
/// Uniform in +-sqrt(6 / ((1 + slope^2) fan)), for leaky_relu with that slope; relu has slope 0. The fan is fan-in, or fan-out if
/// `backward` is set: then gradients keep their size, while values do not. slope = sqrt(5) gives the bound 1 / sqrt(fan-in) of
/// torch.nn.Linear.
/// Source: He et al., ICCV 2015, arXiv:1502.01852; torch.nn.init.kaiming_uniform_.
using kaiming_uniform = kaiming<uniform_draw>;
/// Normal with the deviation sqrt(2 / ((1 + slope^2) fan)). All else as kaiming_uniform.
using kaiming_normal = kaiming<normal_draw>;

/// Uniform in +-sqrt(3 / fan-in).   Source: LeCun et al., Efficient BackProp, 1998.
struct lecun_uniform {
  bool transposed = false;
  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key key, const layout<E...>& shape) const {
    return uniform_draw::draw<T>(key, shape, std::sqrt(uniform_draw::factor / weight_fans::of(shape, transposed).in));
  }
};
/// Normal, cut off beyond two deviations; the variance is 1 / fan-in after that. As jax.nn.initializers.lecun_normal.
struct lecun_normal {
  bool transposed = false;
  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key key, const layout<E...>& shape) const {
    if (shape.size() == 0) return tensor<T, E...>::uninitialized(shape);
    // The divisor is the deviation of the standard normal distribution cut off outside of [-2, 2].
    const double deviation = std::sqrt(1 / weight_fans::of(shape, transposed).in) / 0.87962566103423978;
    return truncated_normal{0, deviation, -2 * deviation, 2 * deviation}.draw<T>(key, shape);
  }
};

/// Weights with which a convolution passes its input on: 1 at the middle of the window, at [d, d] of each group, otherwise 0.
/// Outputs beyond the inputs of a group are 0. The key has no effect.
/// Shape: [out, in / groups, extents of the window...]; the middle of an extent n is n / 2.   Dtype: all real ones.   Error: 0 ULP.
/// Throws: error if groups is 0 or does not divide the outputs.   Source: torch.nn.init.dirac_.
struct dirac {
  std::size_t groups = 1;
  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key, const layout<E...>& shape) const {
    constexpr int rank = static_cast<int>(sizeof...(E));
    static_assert(rank >= 3, "[ebb E0532] dirac is for weights of convolutions: arrays with three axes or more");
    auto r = tensor<T, E...>::uninitialized(shape);
    std::fill_n(r.mutable_data(), r.size(), as_element<T>(0));
    if constexpr (rank >= 3) {
      const std::size_t outputs = shape.extent(0), inputs = shape.extent(1);
      if (groups == 0 || outputs % groups != 0)
        raise("ebb::dirac: " + std::to_string(groups) + " groups do not divide " + std::to_string(outputs) + " outputs");
      if (shape.size() == 0) return r;
      std::size_t window = 1, middle = 0;
      for (int axis = 2; axis < rank; ++axis) {
        middle = middle * shape.extent(axis) + shape.extent(axis) / 2;
        window *= shape.extent(axis);
      }
      const std::size_t each = outputs / groups;
      for (std::size_t row = 0; row < outputs; ++row)
        if (row % each < inputs) r.mutable_data()[(row * inputs + row % each) * window + middle] = as_element<T>(1);
    }
    return r;
  }
};

/// 1 on the diagonal of a matrix, otherwise 0. The key has no effect.
/// Shape: [rows, columns], of any extents.   Dtype: all real ones.   Error: 0 ULP.   Source: torch.nn.init.eye_.
struct identity_matrix {
  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key, const layout<E...>& shape) const {
    static_assert(sizeof...(E) == 2, "[ebb E0533] identity_matrix is for matrices: arrays with two axes");
    auto r = tensor<T, E...>::uninitialized(shape);
    std::fill_n(r.mutable_data(), r.size(), as_element<T>(0));
    if constexpr (sizeof...(E) == 2) {
      const std::size_t columns = shape.extent(1), diagonal = shape.extent(0) < columns ? shape.extent(0) : columns;
      for (std::size_t i = 0; i < diagonal; ++i) r.mutable_data()[i * columns + i] = as_element<T>(1);
    }
    return r;
  }
};

namespace detail {

/// Rows of normal numbers, made orthonormal by Gram and Schmidt. Each row passes twice: the second pass removes the rounding errors of the
/// first. No row is turned round, so the diagonal of R is positive.
EBB_ONCE tensor<double, dyn, dyn> orthonormal_rows(random_key key, std::size_t vectors, std::size_t length) {
  auto q = draw_normal<double>(key, layout<dyn, dyn>({vectors, length}, "ebb::orthogonal"), 0.0, 1.0);
  const auto dot = [length](const double* a, const double* b) {
    double s = 0;
    for (std::size_t k = 0; k < length; ++k) s += a[k] * b[k];
    return s;
  };
  for (std::size_t i = 0; i < vectors; ++i) {
    double* const row = q.mutable_data() + i * length;
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t j = 0; j < i; ++j) {
        const double* const other = q.data() + j * length;
        const double share = dot(row, other);
        for (std::size_t k = 0; k < length; ++k) row[k] -= share * other[k];
      }
    const double size = std::sqrt(dot(row, row));
    for (std::size_t k = 0; k < length; ++k) row[k] /= size;
  }
  return q;
}

}  // namespace detail

/// gain times a uniformly distributed orthogonal matrix: the rows are orthonormal if there are fewer of them than columns, else the
/// columns. It is the factor Q of a matrix of normal numbers, with the signs that make the diagonal of R positive.
/// Shape: [rows, ...], whose other axes count as one.   Dtype: all real ones; computed in double.
/// Error: Q^T Q differs from 1 by a few ULP of double, before the elements are rounded.
/// Source: Saxe et al., ICLR 2014, arXiv:1312.6120; Mezzadri, Notices AMS 54, 2007; torch.nn.init.orthogonal_, which has other numbers.
struct orthogonal {
  double gain = 1;
  template <real_element T, std::size_t... E>
  tensor<T, E...> draw(random_key key, const layout<E...>& shape) const {
    static_assert(sizeof...(E) >= 2, "[ebb E0534] orthogonal is for weights: arrays with two axes or more");
    auto r = tensor<T, E...>::uninitialized(shape);
    if constexpr (sizeof...(E) >= 2) {
      if (shape.size() == 0) return r;
      const std::size_t rows = shape.extent(0), columns = shape.size() / rows;
      const bool wide = rows < columns;
      const std::size_t vectors = wide ? rows : columns, length = wide ? columns : rows;
      const auto q = detail::orthonormal_rows(key, vectors, length);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns; ++j)
          r.mutable_data()[i * columns + j] = as_element<T>(gain * q.data()[wide ? i * length + j : j * length + i]);
    }
    return r;
  }
};

/// An array with the first values that `how` describes: they depend on the key, the extents and `how` only.
template <real_element T, std::size_t... E, class How>
  requires(extents<E...>::is_static)
tensor<T, E...> initial(random_key key, const How& how) {
  return how.template draw<T>(key, layout<E...>());
}
template <real_element T, std::size_t... E, class How>
  requires(!extents<E...>::is_static)
tensor<T, E...> initial(random_key key, dynamic_extents<extents<E...>::dynamic_rank> n, const How& how) {
  return how.template draw<T>(key, layout<E...>(n, "ebb::initial"));
}

}  // namespace ebb::inline EBB_ABI
