// bench/suite/rows.hpp — the rows of the suite, one file each, and the plain loops of plain.cpp.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "session.hpp"

#include <cstddef>

namespace suite {

void tanh_exp(session&);   // a
void logsumexp(session&);  // b
void gaussian(session&);   // c1, c2
void logistic(session&);   // d2
void mlp(session&);        // e
void product(session&);    // f
void streams(session&);    // fused groups of cheap operations, and of two widths
void calls(session&);      // the cost of a call without its work
void cart_pole(session&);  // a program of numbers

namespace plain {

template <class T>
T tanh_exp(const T* x, T* dx, std::size_t n);
template <class T>
T logsumexp(const T* x, T* dx, std::size_t n);
template <class T>
T gaussian(T mu, T sigma, const T* x, std::size_t n, T* by_mu, T* by_sigma);
template <class T>
T gaussian(T mu, T sigma, const T* x, std::size_t n, T* dx);
template <class T>
T logistic(const T* x, const T* t, const T* w, T b, T* dw, T* db);  // x: 1000 x 50
template <class T>
T mlp(const T* x, const int* label, const T* w1, const T* b1, const T* w2, const T* b2, T* dw1, T* db1, T* dw2, T* db2);
template <class T>
T product(const T* a, const T* b, T* da, T* db, T* memory, std::size_t n);  // memory: 2 n^2
template <class T>
T cheap(const T* x, const T* w, T* dx, T* dw, std::size_t n);
double mixed(const float* x, const double* y, float* dx, double* dy, std::size_t n);
void twice(const float* x, float* y, std::size_t n);

}  // namespace plain
}  // namespace suite
