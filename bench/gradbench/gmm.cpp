// bench/gradbench/gmm.cpp — gmm: the log posterior of a Gaussian mixture with a Wishart prior, and its gradient by all parameters.
// SPDX-License-Identifier: BSL-1.0
#include "manual.hpp"
#include "session.hpp"

#include <ebb/functional.hpp>

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
  using matrix = ebb::view<const double, ebb::dyn, ebb::dyn>;
  using result = ebb::view<double, ebb::dyn, ebb::dyn>;
  const std::span<const double> in_alpha(alpha);
  const std::span<double> out_alpha(parts[0], z.k);
  const matrix in_mu(mu.data(), z.k, z.d), in_q(q.data(), z.k, z.d), in_l(l.data(), z.k, z.triangle()), in_x(x.data(), z.n, z.d);
  const result out_mu(parts[1], z.k, z.d), out_q(parts[2], z.k, z.d), out_l(parts[3], z.k, z.triangle());
  const ebb::view<const int, ebb::dyn, ebb::dyn> in_place(place.data(), z.d, z.d);
  space<double> memory(z);
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
