// test/shapes/contexts.static.cpp — the autocast class of each function of shapes.hpp.
// SPDX-License-Identifier: BSL-1.0
// covers: construct.hpp distance.hpp einsum.hpp fft.hpp pad.hpp scatter.hpp segment.hpp window.hpp
#include <ebb/shapes.hpp>

#include "../trace/context_class.hpp"

namespace {

using test::has_class;
using enum test::context_class;

constexpr auto number = [](auto x) { return x(0, 0); };
constexpr auto row = [](auto x) { return ebb::select<0, 0>(x); };
constexpr auto indices = [](auto x) { return ebb::cast<int>(x); };
constexpr auto ids = [](auto x) { return ebb::cast<int>(row(x)); };

static_assert(has_class<own>([](auto x) { return ebb::tril(x); }));
static_assert(has_class<own>([](auto x) { return ebb::triu(x); }));
static_assert(has_class<own>([](auto x) { return ebb::eye<4>(x); }));
static_assert(has_class<own>([](auto x) { return ebb::arange<4>(number(x), number(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::linspace<4>(number(x), number(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::logspace<4>(number(x), number(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::geomspace<4>(number(x), number(x)); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::meshgrid(row(x), row(x))); }));
static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::meshgrid(ebb::xy_indexing, row(x), row(x))); }));
static_assert(has_class<own>([](auto x) { return ebb::block_diag(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::vander<3>(row(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::toeplitz(row(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::hankel(row(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::circulant(row(x)); }));

static_assert(has_class<full>([](auto x) { return ebb::cdist(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::pairwise_distance(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::normalize(x); }));
static_assert(has_class<own>([](auto x) { return ebb::cosine_similarity(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::skew_matrix(ebb::slice<1, 0, 3>(x)); }));

static_assert(has_class<low>([](auto x) { return ebb::einsum<"ij,jk->ik">(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::einsum<"ij->ji">(x); }));
static_assert(has_class<low>([](auto x) { return ebb::tensordot<1>(x, x); }));
static_assert(has_class<low>([](auto x) { return ebb::inner(x, x); }));

static_assert(has_class<full>([](auto x) { return std::get<0>(ebb::rfft(x)); }));
static_assert(has_class<full>([](auto x) { return ebb::irfft(x, x); }));
static_assert(has_class<full>([](auto x) { return std::get<0>(ebb::fft(x)); }));
static_assert(has_class<full>([](auto x) { return std::get<1>(ebb::ifft(x, x)); }));
static_assert(has_class<full>([](auto x) { return std::get<0>(ebb::fft2(x)); }));
static_assert(has_class<full>([](auto x) { return std::get<1>(ebb::ifft2(x, x)); }));
static_assert(has_class<full>([](auto x) { return std::get<0>(ebb::rfft2(x)); }));
static_assert(has_class<full>([](auto x) { return ebb::irfft2(x, x); }));
static_assert(has_class<own>([](auto x) { return ebb::fftfreq<4>(x(0, 0)); }));
static_assert(has_class<own>([](auto x) { return ebb::rfftfreq<4>(x(0, 0)); }));
static_assert(has_class<own>([](auto x) { return ebb::fftshift(x); }));
static_assert(has_class<own>([](auto x) { return ebb::ifftshift<-1>(x); }));

// PyTorch has a list of pads that compute in float, and these two modes are in it.
static_assert(has_class<full>([](auto x) { return ebb::pad<0, 1, 1>(x, ebb::reflect); }));
static_assert(has_class<full>([](auto x) { return ebb::pad<0, 1, 1>(x, ebb::replicate); }));
static_assert(has_class<own>([](auto x) { return ebb::pad<0, 1, 1>(x, ebb::circular); }));
static_assert(has_class<own>([](auto x) { return ebb::pad<0, 1, 1>(x, ebb::symmetric); }));

static_assert(has_class<own>([](auto x) { return ebb::scatter<0>(x, indices(x), x); }));
static_assert(has_class<own>([](auto x) { return ebb::scatter_reduce<0, ebb::combination::amax>(x, indices(x), x); }));
static_assert(has_class<own>([](auto x) { return ebb::index_copy<0>(x, ids(x), x); }));
static_assert(has_class<own>([](auto x) { return ebb::index_fill<0>(x, ids(x), 0.5); }));
static_assert(has_class<own>([](auto x) { return ebb::index_put(x, row(x), ids(x), ids(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::index_put_add(x, row(x), ids(x), ids(x)); }));

static_assert(has_class<own>([](auto x) { return ebb::segment_sum<2>(x, ids(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::segment_mean<2>(x, ids(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::segment_max<2>(x, ids(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::segment_min<2>(x, ids(x)); }));
static_assert(has_class<own>([](auto x) { return ebb::segment_softmax<2>(x, ids(x)); }));

static_assert(has_class<own>([](auto x) { return std::get<0>(ebb::broadcast_arrays(x, row(x))); }));
static_assert(has_class<own>([](auto x) { return ebb::unfold<0, 2>(x); }));
static_assert(has_class<own>([](auto x) { return ebb::fold<0, 7>(x); }));

}  // namespace
