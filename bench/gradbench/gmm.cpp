// bench/gradbench/gmm.cpp — gmm: the log posterior of a Gaussian mixture with a Wishart prior, and its gradient by all parameters.
// SPDX-License-Identifier: BSL-1.0
//
// `shaped` multiplies |Q (x - mu)|^2 out: x' Q'Q x is a product of the points with a triangle, whose derivative needs the points only. This
// loses digits if points are much farther from zero than from each other.
// only: simd
#include "by_hand.hpp"
// only: end
#include "manual.hpp"
#include "session.hpp"

// only: natural, shaped
#include <ebb/functional.hpp>
// only: end
// only: shaped
#include <ebb/shapes/construct.hpp>
// only: end

namespace gradbench {
namespace {

// lines: natural
/// alpha + sum(q) - |Q (x - mu)|^2 / 2 for each point x, where `place` says which of exp(q) and l each element of the triangle Q is.
constexpr auto component = [](auto alpha, auto mu, auto q, auto l, auto x, auto place) {
  const auto triangle = ebb::lower(ebb::take(ebb::concat<0>(ebb::exp(q), l), place));
  return alpha + ebb::sum(q) - 0.5 * ebb::sum<1>(ebb::square(ebb::matmul(x - mu, ebb::transpose(triangle))));
};
constexpr auto objective = [](auto alpha, auto mu, auto q, auto l, auto x, auto place, auto m, auto gamma) {
  const auto beta = ebb::map(component, alpha, mu, q, l, ebb::whole(x), ebb::whole(place));
  const auto squares = ebb::sum(ebb::square(ebb::exp(q))) + ebb::sum(ebb::square(l));
  return ebb::sum(ebb::logsumexp<0>(beta)) - ebb::extent<0>(x) * ebb::logsumexp(alpha) - 0.5 * gamma * gamma * squares + m * ebb::sum(q);
};
constexpr auto value = ebb::compile(objective);
constexpr auto gradient = ebb::grad<0, 1, 2, 3>(objective);
// lines: end

// lines: shaped
constexpr auto quadratic = [](auto alpha, auto mu, auto q, auto l, auto x, auto place) {
  const auto triangle = ebb::tril(ebb::take(ebb::concat<0>(ebb::exp(q), l), place));
  const auto p = ebb::matmul(ebb::transpose(triangle), triangle);
  const auto products = ebb::matmul(x, ebb::lower(p + ebb::tril<-1>(p)));  // what is above the diagonal of p is as large as below
  return alpha + ebb::sum(q) - 0.5 * ebb::sum(ebb::square(ebb::matmul(triangle, mu))) +
         ebb::sum<1>(x * (ebb::matmul(p, mu) - 0.5 * products));
};
constexpr auto shaped_objective = [](auto alpha, auto mu, auto q, auto l, auto x, auto place, auto m, auto gamma) {
  const auto beta = ebb::map(quadratic, alpha, mu, q, l, ebb::whole(x), ebb::whole(place));
  const auto squares = ebb::sum(ebb::square(ebb::exp(q))) + ebb::sum(ebb::square(l));
  return ebb::sum(ebb::logsumexp<0>(beta)) - ebb::extent<0>(x) * ebb::logsumexp(alpha) - 0.5 * gamma * gamma * squares + m * ebb::sum(q);
};
constexpr auto shaped_value = ebb::compile(shaped_objective);
constexpr auto shaped_gradient = ebb::grad<0, 1, 2, 3>(shaped_objective);
// lines: end

struct prior {
  double m = 0, gamma = 1;
};
struct sizes {
  std::size_t d, k, n;
  std::size_t triangle() const { return d * (d - 1) / 2; }
};

GRADBENCH_MANUAL_BEGIN
// lines: manual
template <class T>
struct space {  // memory that is kept from call to call
  std::vector<T> diagonal, logs, centred, product, beta, back;
  explicit space(sizes z) : diagonal(z.k * z.d), logs(z.k), centred(z.k * z.d), product(z.k * z.d), beta(z.k), back(z.d) {}
};
template <class T>
T largest_of(const T* x, std::size_t n) {
  T most = x[0];
  for (std::size_t i = 1; i < n; ++i) most = most < x[i] ? x[i] : most;
  return most;
}
/// The logarithm of the sum of e^x; x becomes e^(x - its peak).
template <class T>
T log_sum(T* x, std::size_t n, T& sum) {
  const T most = largest_of(x, n);
  sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] = std::exp(x[i] - most);
  return most + std::log(sum);
}
/// x - mu, Q (x - mu) and beta of each component.
template <class T>
void components(sizes z, const T* alpha, const T* mu, const T* l, const T* x, space<T>& s) {
  for (std::size_t k = 0; k < z.k; ++k) {
    T* __restrict const c = s.centred.data() + k * z.d;
    T* __restrict const p = s.product.data() + k * z.d;
    const T *const e = s.diagonal.data() + k * z.d, *at = l + k * z.triangle();
    for (std::size_t i = 0; i < z.d; ++i) c[i] = x[i] - mu[k * z.d + i];
    for (std::size_t i = 0; i < z.d; ++i) p[i] = e[i] * c[i];
    for (std::size_t i = 0; i < z.d; ++i)
      for (std::size_t j = i + 1; j < z.d; ++j) p[j] += *at++ * c[i];
    T square = 0;
    for (std::size_t i = 0; i < z.d; ++i) square += p[i] * p[i];
    s.beta[k] = alpha[k] + s.logs[k] - square / 2;
  }
}
template <class T>
T begin(sizes z, const T* alpha, const T* q, const T* l, prior w, space<T>& s) {
  T squares = 0, all = 0, sum = 0;
  for (std::size_t i = 0; i < z.k * z.d; ++i) {
    s.diagonal[i] = std::exp(q[i]);
    squares += s.diagonal[i] * s.diagonal[i];
  }
  for (std::size_t i = 0; i < z.k * z.triangle(); ++i) squares += l[i] * l[i];
  for (std::size_t k = 0; k < z.k; ++k) {
    s.logs[k] = 0;
    for (std::size_t i = 0; i < z.d; ++i) s.logs[k] += q[k * z.d + i];
    all += s.logs[k];
    s.beta[k] = alpha[k];
  }
  return -static_cast<T>(z.n) * log_sum(s.beta.data(), z.k, sum) - T(w.gamma * w.gamma) / 2 * squares + T(w.m) * all;
}
template <class T>
[[gnu::noinline]] T manual(sizes z, const T* alpha, const T* mu, const T* q, const T* l, const T* x, prior w, space<T>& s) {
  T to = begin(z, alpha, q, l, w, s), sum = 0;
  for (std::size_t i = 0; i < z.n; ++i) {
    components(z, alpha, mu, l, x + i * z.d, s);
    to += log_sum(s.beta.data(), z.k, sum);
  }
  return to;
}
template <class T>
[[gnu::noinline]] void manual_gradient(sizes z, const T* alpha, const T* mu, const T* q, const T* l, const T* x, prior w, space<T>& s,
                                       T* dalpha, T* dmu, T* dq, T* dl) {
  begin(z, alpha, q, l, w, s);  // leaves e^(alpha - peak) in beta
  T sum = 0;
  for (std::size_t k = 0; k < z.k; ++k) sum += s.beta[k];
  for (std::size_t k = 0; k < z.k; ++k) dalpha[k] = -static_cast<T>(z.n) * s.beta[k] / sum;
  for (std::size_t i = 0; i < z.k * z.d; ++i) {
    dmu[i] = 0;
    dq[i] = T(w.m) - T(w.gamma * w.gamma) * s.diagonal[i] * s.diagonal[i];
  }
  for (std::size_t i = 0; i < z.k * z.triangle(); ++i) dl[i] = -T(w.gamma * w.gamma) * l[i];
  for (std::size_t i = 0; i < z.n; ++i) {
    components(z, alpha, mu, l, x + i * z.d, s);
    log_sum(s.beta.data(), z.k, sum);
    for (std::size_t k = 0; k < z.k; ++k) {
      const T share = s.beta[k] / sum;
      const T* const c = s.centred.data() + k * z.d;
      T* __restrict const p = s.product.data() + k * z.d;
      const T *const e = s.diagonal.data() + k * z.d, *at = l + k * z.triangle();
      T* __restrict by = dl + k * z.triangle();
      dalpha[k] += share;
      for (std::size_t a = 0; a < z.d; ++a) p[a] *= share;
      for (std::size_t a = 0; a < z.d; ++a) {
        dq[k * z.d + a] += share - p[a] * e[a] * c[a];
        T back = e[a] * p[a];
        for (std::size_t b = a + 1; b < z.d; ++b) {
          back += *at++ * p[b];
          *by++ -= p[b] * c[a];
        }
        dmu[k * z.d + a] += back;
      }
    }
  }
}
// lines: end
GRADBENCH_MANUAL_END

// lines: simd
using namespace by_hand;

/// Points are taken in blocks, in whose columns they are in lanes. Lanes without a point have zeros.
constexpr std::size_t block = 128, groups = 2, tall = many_registers ? 8 : 4;

struct simd_space {
  space<double> begun;                    // e^q, its logarithms' sums, e^(alpha - peak)
  vector x, beta, products, sums, share;  // of a block: [d, block], [k, block], [k, d, block]; sums of the products over all points
  explicit simd_space(sizes z) : begun(z), x(z.d * block), beta(z.k * block), products(z.k * z.d * block), sums(z.k * z.d), share(z.k) {}
};
/// The number of the first element below element i of the diagonal.
std::size_t column_of(sizes z, std::size_t i) { return i * (z.d - 1) - i * (i - (i > 0)) / 2; }

/// Rows j to j + Tall of Q (x - mu) for groups of points, whose squares are added to `squares`.
template <std::size_t Tall>
EBB_INLINE void product_rows(sizes z, std::size_t j, const double* x, const double* mu, const double* e, const double* l, double* to,
                             R (&squares)[groups]) {
  R sum[Tall][groups] = {};
  const auto centred = [&](std::size_t i, std::size_t g) EBB_LAMBDA { return load(x + i * block + g * lanes) - all(mu[i]); };
  for (std::size_t i = 0; i < j; ++i) {
    const double* const at = l + column_of(z, i) + (j - i - 1);
    R c[groups];
    unrolled<groups>([&](auto g) EBB_LAMBDA { c[g] = centred(i, g); });
    unrolled<Tall>([&](auto r) EBB_LAMBDA {
      unrolled<groups>([&](auto g) EBB_LAMBDA { sum[r][g] = fma(all(at[r]), c[g], sum[r][g]); });
    });
  }
  unrolled<Tall>([&](auto i) EBB_LAMBDA {
    const double* const at = l + column_of(z, j + i);
    R c[groups];
    unrolled<groups>([&](auto g) EBB_LAMBDA {
      c[g] = centred(j + i, g);
      sum[i][g] = fma(all(e[j + i]), c[g], sum[i][g]);
    });
    unrolled<Tall - 1 - i>([&](auto r) EBB_LAMBDA {
      unrolled<groups>([&](auto g) EBB_LAMBDA { sum[i + 1 + r][g] = fma(all(at[r]), c[g], sum[i + 1 + r][g]); });
    });
  });
  unrolled<Tall>([&](auto r) EBB_LAMBDA {
    unrolled<groups>([&](auto g) EBB_LAMBDA {
      squares[g] = fma(sum[r][g], sum[r][g], squares[g]);
      if (to) store(to + (j + r) * block + g * lanes, sum[r][g]);
    });
  });
}
/// beta of all components for a block of points, and with products also Q (x - mu).
template <bool Products>
void simd_components(sizes z, const double* alpha, const double* mu, const double* l, std::size_t count, simd_space& s) {
  for (std::size_t k = 0; k < z.k; ++k)
    for (std::size_t i = 0; i < count; i += groups * lanes) {
      const double *const x = &s.x[i], *const m = mu + k * z.d, *const e = &s.begun.diagonal[k * z.d], *const at = l + k * z.triangle();
      double* const to = Products ? &s.products[k * z.d * block + i] : nullptr;
      R squares[groups] = {};
      std::size_t j = 0;
      for (; j + tall <= z.d; j += tall) product_rows<tall>(z, j, x, m, e, at, to, squares);
      if (tall > 4 && j + 4 <= z.d) product_rows<4>(z, j, x, m, e, at, to, squares), j += 4;
      if (j + 2 <= z.d) product_rows<2>(z, j, x, m, e, at, to, squares), j += 2;
      if (j < z.d) product_rows<1>(z, j, x, m, e, at, to, squares);
      for (std::size_t g = 0; g < groups; ++g)
        store(&s.beta[k * block + i + g * lanes], fma(squares[g], all(-0.5), all(alpha[k] + s.begun.logs[k])));
    }
}
/// The sum over `count` points of the logarithm of the sum of e^beta. With shares each beta becomes its part of that sum.
template <bool Shares>
double log_sums(std::size_t components, std::size_t count, double* beta) {
  constexpr std::size_t width = ebb::lane_count;
  V total = V::all(0);
  for (std::size_t i = 0; i < count; i += width) {
    const auto valid = ebb::lanes<bool>::first(static_cast<int>(std::min(width, count - i)));
    V peak = V::load(beta + i), sum = V::all(0);
    for (std::size_t k = 1; k < components; ++k) peak = V::at_least(V::load(beta + k * block + i), peak);
    for (std::size_t k = 0; k < components; ++k) {
      const V term = ebb::lane::exp(V::load(beta + k * block + i) - peak);
      sum = sum + term;
      if constexpr (Shares) term.store(beta + k * block + i);
    }
    if constexpr (Shares) {
      const V scale = V::select(valid, V::all(1) / sum, V::all(0));
      for (std::size_t k = 0; k < components; ++k) (V::load(beta + k * block + i) * scale).store(beta + k * block + i);
    } else total = total + V::select(valid, peak + ebb::lane::log(sum), V::all(0));
  }
  return sum_of(total);
}
/// Calls f(number of points) for each block, with its columns in s.x.
template <class F>
void in_blocks(sizes z, const double* x, simd_space& s, F f) {
  for (std::size_t first = 0; first < z.n; first += block) {
    const std::size_t count = std::min(block, z.n - first);
    if (count < block) std::fill(s.x.begin(), s.x.end(), 0.0);
    ebb::kernel::transpose<8>(reinterpret_cast<char*>(s.x.data()), block * 8, reinterpret_cast<const char*>(x + first * z.d),
                              static_cast<std::ptrdiff_t>(z.d * 8), count, z.d);
    f(count);
  }
}
[[gnu::noinline]] double simd(sizes z, const double* alpha, const double* mu, const double* q, const double* l, const double* x, prior w,
                              simd_space& s) {
  double to = begin(z, alpha, q, l, w, s.begun);
  in_blocks(z, x, s, [&](std::size_t count) {
    simd_components<false>(z, alpha, mu, l, count, s);
    to += log_sums<false>(z.k, count, s.beta.data());
  });
  return to;
}
/// Takes sum(p[b] (x[a] - mu[a])) over points off the elements (b, a) of a triangle: columns a and a + 1, rows from `first` to `end`.
EBB_INLINE void subtract_products(sizes z, std::size_t a, std::size_t first, std::size_t end, const double* p, const double* x,
                                  const double* mu, std::size_t count, double* to) {
  R sum[2][lanes] = {};
  const double* row[lanes];
  for (std::size_t r = 0; r < lanes; ++r) row[r] = p + std::min(first + r, end - 1) * block;
  for (std::size_t i = 0; i < count; i += lanes) {
    const R c0 = load(x + a * block + i) - all(mu[a]), c1 = load(x + (a + 1) * block + i) - all(mu[a + 1]);
    unrolled<lanes>([&](auto r) EBB_LAMBDA {
      const R at = load(row[r] + i);
      sum[0][r] = fma(at, c0, sum[0][r]);
      sum[1][r] = fma(at, c1, sum[1][r]);
    });
  }
  for (std::size_t column = 0; column < 2; ++column) {
    const R total = sums_of(sum[column]);
    double* const below = to + column_of(z, a + column) - (a + column + 1);
    if (first > a + column && first + lanes <= end) store(below + first, load(below + first) - total);
    else
      for (std::size_t b = std::max(first, a + column + 1); b < end; ++b) below[b] -= total[b - first];
  }
}
[[gnu::noinline]] void simd_gradient(sizes z, const double* alpha, const double* mu, const double* q, const double* l, const double* x,
                                     prior w, simd_space& s, double* dalpha, double* dmu, double* dq, double* dl) {
  begin(z, alpha, q, l, w, s.begun);  // leaves e^(alpha - peak) in beta
  double sum = 0;
  for (std::size_t k = 0; k < z.k; ++k) sum += s.begun.beta[k];
  for (std::size_t k = 0; k < z.k; ++k) dalpha[k] = -static_cast<double>(z.n) * s.begun.beta[k] / sum;
  for (std::size_t i = 0; i < z.k * z.d; ++i) dq[i] = w.m - w.gamma * w.gamma * s.begun.diagonal[i] * s.begun.diagonal[i];
  for (std::size_t i = 0; i < z.k * z.triangle(); ++i) dl[i] = -w.gamma * w.gamma * l[i];
  std::fill(s.sums.begin(), s.sums.end(), 0.0);
  in_blocks(z, x, s, [&](std::size_t count) {
    simd_components<true>(z, alpha, mu, l, count, s);
    log_sums<true>(z.k, count, s.beta.data());
    for (std::size_t k = 0; k < z.k; ++k) {
      double *const p = &s.products[k * z.d * block], *const to = dl + k * z.triangle();
      const double *const m = mu + k * z.d, *const part = &s.beta[k * block];
      R parts = all(0);
      for (std::size_t i = 0; i < count; i += lanes) parts = parts + load(part + i);
      const double all_parts = sum_of(parts);
      dalpha[k] += all_parts;
      for (std::size_t j = 0; j < z.d; ++j) {
        R products = all(0), squares = all(0);
        for (std::size_t i = 0; i < count; i += lanes) {
          const R at = load(p + j * block + i) * load(part + i);
          store(p + j * block + i, at);
          products = products + at;
          squares = fma(at, load(&s.x[j * block + i]) - all(m[j]), squares);
        }
        s.sums[k * z.d + j] += sum_of(products);
        dq[k * z.d + j] += all_parts - s.begun.diagonal[k * z.d + j] * sum_of(squares);
      }
      for (std::size_t end = z.d; end > 1; end -= std::min<std::size_t>(lanes, end))
        for (std::size_t a = 0; a + 1 < end; a += 2)
          subtract_products(z, a, end - std::min<std::size_t>(lanes, end), end, p, s.x.data(), m, count, to);
    }
  });
  for (std::size_t k = 0; k < z.k; ++k)  // mu moves all points by Q
    for (std::size_t a = 0; a < z.d; ++a) {
      const double *const at = l + k * z.triangle() + column_of(z, a) - (a + 1), *const p = &s.sums[k * z.d];
      double back = s.begun.diagonal[k * z.d + a] * p[a];
      for (std::size_t b = a + 1; b < z.d; ++b) back += at[b] * p[b];
      dmu[k * z.d + a] = back;
    }
}
// lines: end

void size_of(session& s, sizes z, prior w) {
  generator g(36);
  const std::size_t kd = z.k * z.d, kt = z.k * z.triangle();
  vector alpha = uniform(g, z.k, -1, 1), mu = uniform(g, kd, 0, 1), q = uniform(g, kd, -1, 1), l = uniform(g, kt, -1, 1);
  const vector x = uniform(g, z.n * z.d, -2, 2);
  std::vector<int> place(z.d * z.d, 0);  // elements above the diagonal are not read
  for (std::size_t i = 0, at = z.d; i < z.d; ++i) {
    place[i * z.d + i] = static_cast<int>(i);
    for (std::size_t j = i + 1; j < z.d; ++j) place[j * z.d + i] = static_cast<int>(at++);
  }
  vector to(z.k + 2 * kd + kt), want;
  double* const parts[] = {to.data(), to.data() + z.k, to.data() + z.k + kd, to.data() + z.k + 2 * kd};
  // only: natural, shaped
  using matrix = ebb::view<const double, ebb::dyn, ebb::dyn>;
  using result = ebb::view<double, ebb::dyn, ebb::dyn>;
  const std::span<const double> in_alpha(alpha);
  const std::span<double> out_alpha(parts[0], z.k);
  const matrix in_mu(mu.data(), z.k, z.d), in_q(q.data(), z.k, z.d), in_l(l.data(), z.k, z.triangle()), in_x(x.data(), z.n, z.d);
  const result out_mu(parts[1], z.k, z.d), out_q(parts[2], z.k, z.d), out_l(parts[3], z.k, z.triangle());
  const ebb::view<const int, ebb::dyn, ebb::dyn> in_place(place.data(), z.d, z.d);
  // only: end
  space<double> memory(z);
  // only: simd
  simd_space lanes_of_memory(z);
  // only: end
  double y = 0;
  // Both leave out the same constant: -n d / 2 log(2 pi) and the norming of the prior.
  const std::vector<candidate> all = {
      {"manual", [&] { y = manual(z, alpha.data(), mu.data(), q.data(), l.data(), x.data(), w, memory); },
       [&] {
         manual_gradient(z, alpha.data(), mu.data(), q.data(), l.data(), x.data(), w, memory, parts[0], parts[1], parts[2], parts[3]);
       }},
      {"natural", [&] { value(ebb::into(y), in_alpha, in_mu, in_q, in_l, in_x, in_place, w.m, w.gamma); },
       [&] {
         gradient(ebb::into(out_alpha, out_mu, out_q, out_l), in_alpha, in_mu, in_q, in_l, in_x, in_place, w.m, w.gamma);
       }},
      {"shaped", [&] { shaped_value(ebb::into(y), in_alpha, in_mu, in_q, in_l, in_x, in_place, w.m, w.gamma); },
       [&] {
         shaped_gradient(ebb::into(out_alpha, out_mu, out_q, out_l), in_alpha, in_mu, in_q, in_l, in_x, in_place, w.m, w.gamma);
       }},
      {"simd", [&] { y = simd(z, alpha.data(), mu.data(), q.data(), l.data(), x.data(), w, lanes_of_memory); },
       [&] {
         simd_gradient(z, alpha.data(), mu.data(), q.data(), l.data(), x.data(), w, lanes_of_memory, parts[0], parts[1], parts[2],
                       parts[3]);
       }},
  };
  all[0].primal();
  all[0].derivative();
  want = to;
  const double value_wanted = y;
  if (s.smoke) {
    std::vector<long double> exact[] = {{alpha.begin(), alpha.end()}, {mu.begin(), mu.end()}, {q.begin(), q.end()}, {l.begin(), l.end()}};
    const std::vector<long double> exact_x(x.begin(), x.end());
    space<long double> exact_memory(z);
    std::vector<long double> slopes;
    const auto at = [&] {
      return manual(z, exact[0].data(), exact[1].data(), exact[2].data(), exact[3].data(), exact_x.data(), w, exact_memory);
    };
    for (std::vector<long double>& part : exact)
      for (long double& e : part) {
        const long double kept = e, h = 1e-5L;
        e = kept + h;
        const long double high = at();
        e = kept - h;
        slopes.push_back((high - at()) / (2 * h));
        e = kept;
      }
    session::check("gmm, manual against differences", want, slopes, 1e-6);
  }
  const std::string size = "d = " + std::to_string(z.d) + ", k = " + std::to_string(z.k) + ", n = " + std::to_string(z.n);
  for (const candidate& c : all) {
    y = 0;
    std::fill(to.begin(), to.end(), 99);
    c.primal();
    c.derivative();
    session::check("gmm " + size + ", " + c.name + ", value", vector{y}, vector{value_wanted}, 1e-11);
    session::check("gmm " + size + ", " + c.name + ", gradient", to, want, 1e-8);
  }
  // only: peer
  if (s.has_peers() && z.d > 1)  // GradBench's reads the first element of a triangle that has none
    s.add_peer("gmm", size, {{z.d, z.k, z.n}, {alpha, mu, q, l, x, {w.m, w.gamma}}, {}}, vector{value_wanted}, want);
  // only: end
  s.time(size, all);
}

}  // namespace

void gmm(session& s) {
  if (s.smoke) {
    size_of(s, {1, 1, 1}, {0, 1});
    size_of(s, {2, 5, 33}, {0, 1});
    size_of(s, {7, 3, 20}, {2, 0.5});
    size_of(s, {17, 2, 5}, {0, 1});
  } else
    for (const std::size_t d : {2u, 10u, 20u, 32u, 64u})
      for (const std::size_t k : {5u, 10u, 25u, 50u, 100u}) size_of(s, {d, k, 1000}, {0, 1});
  s.total("gmm");
}

}  // namespace gradbench
