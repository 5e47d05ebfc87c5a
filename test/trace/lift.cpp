// test/trace/lift.cpp — calls that are refused: by the code of the sentence, and under the name of the function that the user called.
// SPDX-License-Identifier: BSL-1.0
//
// One rule of one op refuses for many functions: a .fail.cpp shows its sentence at the user's line for one of them, and here the others
// are seen to give the same code.
#include "../asked_call.hpp"

#include <ebb/ebb.hpp>
#include <ebb/geometry.hpp>
#include <ebb/linalg.hpp>
#include <ebb/nn.hpp>
#include <ebb/reductions.hpp>
#include <ebb/shapes.hpp>
#include <ebb/special.hpp>
#include <ebb/stats.hpp>

namespace {

using test::asked, test::check_refused;

constexpr asked<float, 3> three;
constexpr asked<float, 4> four;
constexpr asked<float, 5, 3> rows;
constexpr asked<float, 5, 4> four_wide;
constexpr asked<float, 4, 2> weights;
constexpr asked<float, 2, 2, 2> cube;
constexpr asked<int, 3> places;
constexpr asked<bool, 3> bits;

TEST_CASE("operands whose extents do not fit are an error of the function that is called") {
  check_refused({
    {ebb::allclose(three, four), 102, "allclose"},
    {ebb::bernoulli_lpmf(three, four), 102, "bernoulli_lpmf"},
    {ebb::bernoulli_logit_lpmf(three, four), 102, "bernoulli_logit_lpmf"},
    {ebb::beta(three, four), 102, "beta"},
    {ebb::broadcast_like(three, four), 102, "broadcast_like"},
    {ebb::cauchy_lpdf(three, four, 1), 102, "cauchy_lpdf"},
    {ebb::chi_squared_lpdf(three, four), 102, "chi_squared_lpdf"},
    {ebb::expand<2, 4>(three), 102, "broadcast_to<2, 4>"},
    {ebb::exponential_lpdf(three, four), 102, "exponential_lpdf"},
    {ebb::gaussian_nll(three, four, four), 102, "gaussian_nll"},
    {ebb::geometric_lpmf(three, four), 102, "geometric_lpmf"},
    {ebb::gumbel_lpdf(three, four, 1), 102, "gumbel_lpdf"},
    {ebb::half_cauchy_lpdf(three, four), 102, "half_cauchy_lpdf"},
    {ebb::half_normal_lpdf(three, four), 102, "half_normal_lpdf"},
    {ebb::hinge_embedding(three, four), 102, "hinge_embedding"},
    {ebb::inverse_gamma_lpdf(three, 1, four), 102, "inverse_gamma_lpdf"},
    {ebb::isclose(three, four), 102, "isclose"},
    {ebb::kl_div(three, four), 102, "kl_div"},
    {ebb::laplace_lpdf(three, four, 1), 102, "laplace_lpdf"},
    {ebb::lchoose(three, four), 102, "lchoose"},
    {ebb::logistic_lpdf(three, four, 1), 102, "logistic_lpdf"},
    {ebb::lognormal_lpdf(three, 0, four), 102, "lognormal_lpdf"},
    {ebb::logsubexp(three, four), 102, "logsubexp"},
    {ebb::margin_ranking(three, four, three, 0.5), 102, "margin_ranking"},
    {ebb::masked(bits, four, 1, ebb::log), 102, "where"},
    {ebb::multinomial_lpmf(three, four), 102, "multinomial_lpmf"},
    {ebb::negative_binomial_lpmf(three, four, 0.5), 102, "negative_binomial_lpmf"},
    {ebb::normal_lpdf(three, four, 1), 102, "normal_lpdf"},
    {ebb::pareto_lpdf(three, four, 1), 102, "pareto_lpdf"},
    {ebb::poisson_nll(three, four), 102, "poisson_nll"},
    {ebb::smooth_l1(three, four), 102, "smooth_l1"},
    {ebb::soft_margin(three, four), 102, "soft_margin"},
    {ebb::student_t_lpdf(three, 3, four, 1), 102, "student_t_lpdf"},
    {ebb::truncated_normal_lpdf(three, four, 1, 0, 1), 102, "truncated_normal_lpdf"},
    {ebb::uniform_lpdf(three, four, 9), 102, "uniform_lpdf"},
    {ebb::vecdot(three, four), 102, "vecdot"},
    {ebb::von_mises_lpdf(three, four, 1), 102, "von_mises_lpdf"},
    {ebb::weibull_lpdf(three, four, 1), 102, "weibull_lpdf"},
  });
}

TEST_CASE("an axis that an array has not is an error of the function that is called") {
  check_refused({
    {ebb::amax<2>(rows), 103, "amax"},
    {ebb::amin<2>(rows), 103, "amin"},
    {std::get<0>(ebb::aminmax<2>(rows)), 103, "aminmax"},
    {ebb::any<2>(rows), 103, "any"},
    {ebb::arange_like<2>(rows), 103, "arange_like"},
    {ebb::count_nonzero<2>(rows), 103, "count_nonzero"},
    {ebb::flatten<1, 2>(rows), 103, "flatten"},
    {ebb::flip<2>(rows), 103, "flip"},
    {ebb::index_fill<2>(rows, places, 0), 103, "index_fill"},
    {ebb::kurtosis<2>(rows), 103, "kurtosis"},
    {ebb::log_mean_exp<2>(rows), 103, "log_mean_exp"},
    {ebb::log_softmax<2>(rows), 103, "log_softmax"},
    {ebb::logsumexp<2>(rows), 103, "logsumexp"},
    {ebb::masked_max<2>(rows, rows), 103, "masked_max"},
    {ebb::masked_mean<2>(rows, rows), 103, "masked_mean"},
    {ebb::masked_min<2>(rows, rows), 103, "masked_min"},
    {ebb::masked_sum<2>(rows, rows), 103, "masked_sum"},
    {ebb::max_with_index<2>(rows), 103, "argmax"},
    {ebb::min<2>(rows), 103, "min"},
    {ebb::min_with_index<2>(rows), 103, "argmin"},
    {ebb::movedim<0, 2>(rows), 103, "movedim"},
    {ebb::nanmax<2>(rows), 103, "nanmax"},
    {ebb::nanmin<2>(rows), 103, "nanmin"},
    {ebb::norm_squared<2>(rows), 103, "norm_squared"},
    {ebb::pairwise_distance(three, four), 103, "pairwise_distance"},
    {ebb::permute<0, 2>(rows), 103, "transpose"},
    {ebb::prod<2>(rows), 103, "prod"},
    {ebb::repeat_interleave<2, 3>(rows), 103, "repeat_interleave"},
    {ebb::rot90(three), 103, "rot90"},
    {ebb::scatter_reduce<2, ebb::combination::amax>(rows, places, rows), 103, "scatter_reduce"},
    {ebb::skew<2>(rows), 103, "skew"},
    {ebb::softmin<2>(rows), 103, "softmin"},
    {ebb::swap_axes<0, 2>(rows), 103, "swap_axes"},
    {ebb::unsqueeze<5>(rows), 103, "unsqueeze"},
    {ebb::var_mean<2>(rows), 103, "var"},
    {ebb::weighted_logsumexp<2>(rows, rows), 103, "weighted_logsumexp"},
    {ebb::weighted_mean<2>(rows, rows), 103, "weighted_mean"},
  });
}

TEST_CASE("arrays that are no quaternions, rotations, twists or poses are an error of the function that is called") {
  check_refused({
    {ebb::quaternion_from_axis_angle(four, 1), 496, "quaternion_from_axis_angle"},
    {ebb::quaternion_from_matrix(four), 496, "quaternion_from_matrix"},
    {ebb::quaternion_inverse(three), 496, "quaternion_inverse"},
    {ebb::quaternion_to_matrix(rows), 496, "quaternion_to_matrix"},
    {ebb::se2_act(four, three), 496, "se2_act"},
    {ebb::se2_compose(four, three), 496, "se2_compose"},
    {ebb::se2_exp(four), 496, "se2_exp"},
    {ebb::se2_inverse(three), 496, "se2_inverse"},
    {ebb::se3_compose(four, four), 496, "se3_compose"},
    {ebb::se3_inverse(four), 496, "se3_inverse"},
    {ebb::se3_matrix(four), 496, "se3_matrix"},
    {ebb::slerp(four, rows, 0.5), 496, "slerp"},
    {ebb::so3_left_jacobian(four), 496, "so3_left_jacobian"},
    {ebb::so3_left_jacobian_inverse(four), 496, "so3_left_jacobian_inverse"},
    {ebb::so3_right_jacobian(four), 496, "so3_right_jacobian"},
    {ebb::so3_right_jacobian_inverse(four), 496, "so3_right_jacobian_inverse"},
  });
}

TEST_CASE("too few axes, and indices that are no integers, are an error of the function that is called") {
  check_refused({
    {ebb::adaptive_avg_pool2d<2, 2>(three), 470, "adaptive_avg_pool2d"},
    {ebb::adaptive_max_pool2d<2, 2>(three), 470, "adaptive_max_pool2d"},
    {ebb::adaptive_avg_pool3d<2, 2, 2>(rows), 470, "adaptive_avg_pool3d"},
    {ebb::adaptive_max_pool3d<2, 2, 2>(rows), 470, "adaptive_max_pool3d"},
    {ebb::avg_pool3d<ebb::pool{.size = 2}>(rows), 470, "avg_pool3d"},
    {ebb::batch_norm_by(rows, four, four), 472, "batch_norm_by"},
    {ebb::block_diag(three, cube), 394, "block_diag"},
    {ebb::conv1d(three, three), 460, "conv1d"},
    {ebb::conv_transpose3d(rows, rows), 460, "conv_transpose3d"},
    {ebb::embedding<0>(rows, three), 115, "embedding"},
    {ebb::index_put(rows, three, three), 115, "index_put"},
    {ebb::index_put_add(rows, three, three), 115, "index_put_add"},
    {ebb::instance_norm(three), 473, "instance_norm"},
    {ebb::logspace<3>(three, 2), 394, "linspace"},
    {ebb::matrix_exp(rows), 180, "matrix_exp"},
    {ebb::matrix_rank(three), 420, "matrix_rank"},
    {ebb::matrix_sqrt(rows), 180, "matrix_sqrt"},
    {ebb::meshgrid(three, cube), 394, "meshgrid"},
    {ebb::scatter_reduce<0, ebb::combination::amax>(rows, places, rows), 498, "scatter_reduce"},
    {ebb::triu(three), 394, "triu"},
    {ebb::rnn_cell(rows, four_wide, weights, asked<float, 4, 4>{}), 101, "linear"},
    {ebb::gru_cell(rows, four_wide, asked<float, 16, 3>{}, asked<float, 16, 4>{}), 485, "gru_cell"},
  });
}

TEST_CASE("functions of one array of any extents and dtype refuse none: they have no error") {
  const auto takes = [](const char* name, auto f) {
    INFO(name);
    const test::refusal answers[] = {f(asked<float>{}),          f(rows), f(places), f(bits), f(asked<ebb::bfloat16, 3>{}),
                                     f(asked<float, ebb::dyn>{})};
    for (const test::refusal& r : answers) CHECK(r.code == 0);
  };
  takes("grad_reverse", [](auto x) { return ebb::grad_reverse(x); });
  takes("hardshrink", [](auto x) { return ebb::hardshrink(x); });
  takes("nan_to_num", [](auto x) { return ebb::nan_to_num(x); });
  takes("ones_like", [](auto x) { return ebb::ones_like(x); });
  takes("quick_gelu", [](auto x) { return ebb::quick_gelu(x); });
  takes("relu6", [](auto x) { return ebb::relu6(x); });
  takes("selu", [](auto x) { return ebb::selu(x); });
  takes("softshrink", [](auto x) { return ebb::softshrink(x); });
  takes("threshold", [](auto x) { return ebb::threshold(x, 1, 0); });
  takes("zeros_like", [](auto x) { return ebb::zeros_like(x); });
}

}  // namespace
