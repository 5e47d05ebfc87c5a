// test/trace/functions.cpp — AMP-18: the result dtype of every function in each autocast context, for all mixes of operand dtypes.
// SPDX-License-Identifier: BSL-1.0
// covers: functions.hpp num/precision.hpp
//
// The dtypes are compared with PyTorch's (data/golden/autocast_dtypes.txt). PyTorch refuses some operands of different dtypes, and has no
// kernels for some narrow ones: ebb casts these as the function's class says and then promotes them as usual; `promoted` repeats that rule.
#include "../catch.hpp"

#include <ebb/trace/functions.hpp>
#include <ebb/autocast/under.hpp>

#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using ebb::autocast, ebb::bf16, ebb::f16, ebb::off;

constexpr const char* torch_name(ebb::dtype d) {
  constexpr const char* names[] = {"bool", "int32", "int64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<int>(d)];
}

/// Results by "context operands".
using table = std::map<std::string, std::string>;

/// Adds the result for operands of these dtypes. It is not a template: there are two thousand calls.
void note(table& to, const char* context, std::initializer_list<ebb::dtype> operands, ebb::dtype result) {
  std::string key = context, separator = " ";
  for (ebb::dtype d : operands) {
    key += separator + torch_name(d);
    separator = ",";
  }
  to[key] = torch_name(result);
}

template <class C>
constexpr const char* context_name() {
  if constexpr (std::is_same_v<C, off>) return "none";
  else return torch_name(ebb::dtype_of<typename C::low>);
}

/// The extents of an operand.
template <std::size_t... E>
struct in {
  template <class T>
  using term = ebb::term<T, E...>;
};

/// Notes the results for all floats, or all pairs of floats, that are recorded in the context C.
template <class C, class F, class... In>
struct rows {
  table& to;

  template <class... T>
  void add() const {
    using result = decltype(ebb::detail::entered<C, F>{}(std::declval<typename In::template term<T>>()...));
    note(to, context_name<C>(), {ebb::dtype_of<T>...}, ebb::dtype_of<typename result::value_type>);
  }
  template <class Low>
  void add_mixed() const {
    if constexpr (sizeof...(In) == 1) add<Low>();
    else add<Low, float>(), add<float, Low>(), add<Low, Low>();
  }
  void add_all() const {
    if constexpr (sizeof...(In) == 1) {
      add<float>();
      if constexpr (!std::is_same_v<C, autocast<f16>>) add<double>();
    } else {
      add<float, float>();
      if constexpr (!std::is_same_v<C, autocast<f16>>) add<double, double>(), add<double, float>(), add<double, bf16>();
    }
    if constexpr (!std::is_same_v<C, autocast<f16>>) add_mixed<bf16>();
    if constexpr (!std::is_same_v<C, autocast<bf16>>) add_mixed<f16>();
  }
};

/// The recorded results of an op, "error" included.
table recorded(const std::string& op) {
  static const std::map<std::string, table> all = [] {
    std::map<std::string, table> r;
    std::ifstream file(EBB_TEST_DATA "/golden/autocast_dtypes.txt");
    for (std::string text; std::getline(file, text);) {
      std::istringstream words(text);
      std::string first, name, context, operands, result, skip;
      if (words >> first >> name >> skip >> context >> skip >> operands >> skip >> result && first == "op")
        r[name][context + " " + operands] = result;
    }
    return r;
  }();
  INFO(op);
  REQUIRE(all.count(op) == 1);
  return all.at(op);
}

enum class by { low, full, own };

/// The dtype after casts and promotion: the rule for operands that PyTorch refuses.
std::string promoted(by rule, const std::string& row) {
  const std::string context = row.substr(0, row.find(' '));
  std::istringstream operands(row.substr(row.find(' ') + 1));
  std::set<std::string> kinds;
  for (std::string type; std::getline(operands, type, ',');) {
    if (context != "none" && type != "float64" && rule != by::own) type = rule == by::full ? "float32" : context;
    kinds.insert(type);
  }
  if (kinds.count("float64")) return "float64";
  return kinds.size() == 1 ? *kinds.begin() : "float32";
}

std::set<std::string> unlike;  // rows where PyTorch's dtype is another one

void compare(const std::string& op, by rule, std::size_t operands, const table& ours) {
  const table theirs = recorded(op);
  INFO(op);
  CHECK(theirs.size() == (operands == 1 ? 9 : 21));
  CHECK(ours.size() == theirs.size());
  for (const auto& [row, result] : theirs) {
    INFO(row);
    REQUIRE(ours.count(row) == 1);
    if (result == "error") CHECK(ours.at(row) == promoted(rule, row));
    else if (ours.at(row) != result) unlike.insert(op + " " + row + ": " + result + ", here " + ours.at(row));
  }
}
template <class... In, class F>
void check(const std::string& op, by rule, F) {
  table ours;
  rows<off, F, In...>{ours}.add_all();
  rows<autocast<bf16>, F, In...>{ours}.add_all();
  rows<autocast<f16>, F, In...>{ours}.add_all();
  compare(op, rule, sizeof...(In), ours);
}

using vector = in<4>;
using matrix = in<4, 4>;
using batch = in<2, 4, 4>;
constexpr auto classes = [](auto x) { return ebb::cast<std::int64_t>(ebb::sum<-1>(x)); };

}  // namespace

TEST_CASE("AMP-18: functions of class low compute in the context's dtype") {
  unlike.clear();
  const auto product = [](auto x, auto y) { return ebb::matmul(x, y); };
  check<matrix, matrix>("matmul", by::low, product);
  check<matrix, vector>("matmul_2d_1d", by::low, product);
  check<vector, vector>("matmul_1d_1d", by::low, product);
  check<matrix, matrix>("mm", by::low, product);
  check<batch, batch>("bmm", by::low, product);
  check<matrix, matrix>("linear", by::low, [](auto x, auto w) { return ebb::linear(x, w); });
  check<matrix, matrix>("linear_bias", by::low, [](auto x, auto w) { return ebb::linear(x, w, ebb::sum<0>(w)); });
  CHECK(unlike.empty());
}

TEST_CASE("AMP-18, AMP-13: functions of class full compute in float, and double stays double") {
  unlike.clear();
  check<matrix>("prod", by::full, [](auto x) { return ebb::prod(x); });
  check<matrix>("prod_axis", by::full, [](auto x) { return ebb::prod<1>(x); });
  check<matrix>("inverse", by::full, [](auto x) { return ebb::inverse(x); });
  check<matrix>("linalg_inv", by::full, [](auto x) { return ebb::inverse(x); });
  check<matrix, matrix>("solve", by::full, [](auto a, auto b) { return ebb::solve(a, b); });
  check<matrix>("cholesky", by::full, [](auto a) { return ebb::cholesky(a); });
  check<matrix, matrix>("cholesky_solve", by::full, [](auto b, auto l) { return ebb::cholesky_solve(b, l); });
  check<matrix, matrix>("solve_triangular", by::full, [](auto t, auto b) { return ebb::solve_triangular(t, b); });
  check<matrix>("logdet", by::full, [](auto a) { return ebb::logdet(a); });
  check<matrix>("slogdet", by::full, [](auto a) { return std::get<1>(ebb::slogdet(a)); });
  check<matrix, matrix>("mse_loss", by::full, [](auto x, auto y) { return ebb::mse(x, y); });
  check<matrix, matrix>("cross_entropy_probabilities", by::full, [](auto x, auto p) { return ebb::cross_entropy(x, p); });
  check<matrix>("cross_entropy", by::full, [](auto x) { return ebb::cross_entropy(x, classes(x)); });
  check<matrix>("nll_loss", by::full, [](auto x) { return ebb::nll(x, classes(x)); });
  CHECK(unlike.empty());

  // PyTorch's loss has the dtype of its target if the two differ.
  check<matrix, matrix>("binary_cross_entropy_with_logits", by::full, [](auto x, auto y) { return ebb::bce_with_logits(x, y); });
  for (const auto& row : unlike) UNSCOPED_INFO(row);
  CHECK(unlike.size() == 6);
}

TEST_CASE("AMP-18, AMP-15: concat and stack take the widest dtype, other functions of two operands promote theirs") {
  unlike.clear();
  check<matrix>("cumsum", by::own, [](auto x) { return ebb::cumsum(x); });
  check<matrix>("cumprod", by::own, [](auto x) { return ebb::cumprod(x); });
  check<matrix>("var", by::own, [](auto x) { return ebb::var<1>(x); });
  check<matrix>("std", by::own, [](auto x) { return ebb::stddev<1>(x); });
  check<matrix>("vector_norm", by::own, [](auto x) { return ebb::norm<1>(x); });
  check<matrix>("layer_norm", by::own, [](auto x) { return ebb::layer_norm(x); });
  check<matrix, matrix>("cat", by::own, [](auto x, auto y) { return ebb::concat<0>(x, y); });
  check<matrix, matrix>("stack", by::own, [](auto x, auto y) { return ebb::stack<0>(x, y); });
  check<matrix, matrix>("add", by::own, [](auto x, auto y) { return x + y; });
  check<matrix, matrix>("mul", by::own, [](auto x, auto y) { return x * y; });
  check<matrix, matrix>("div", by::own, [](auto x, auto y) { return x / y; });
  check<matrix, matrix>("maximum", by::own, [](auto x, auto y) { return ebb::maximum(x, y); });
  check<matrix, matrix>("less", by::own, [](auto x, auto y) { return x < y; });
  check<matrix, matrix>("scatter_add", by::own, [](auto x, auto y) { return ebb::scatter_add<0>(x, ebb::arange_like<1>(x), y); });
  check<matrix, matrix>("atan2", by::own, [](auto x, auto y) { return ebb::atan2(x, y); });
  check<matrix, matrix>("pow", by::own, [](auto x, auto y) { return ebb::pow(x, y); });
  check<matrix, matrix>("where", by::own, [](auto x, auto y) { return ebb::where(x > 0, x, y); });
  check<vector, vector>("dot", by::own, [](auto x, auto y) { return ebb::dot(x, y); });
  check<vector, vector>("outer", by::own, [](auto x, auto y) { return ebb::outer(x, y); });
  CHECK(unlike.empty());
}

TEST_CASE("AMP-18: functions of one operand without a class keep its dtype in every context; an explicit dtype wins") {
  unlike.clear();
  const auto same = [](const char* op, auto f) { check<matrix>(op, by::own, f); };
  same("sum", [](auto x) { return ebb::sum(x); });
  same("sum_dtype_float64", [](auto x) { return ebb::sum(ebb::cast<double>(x)); });
  same("mean", [](auto x) { return ebb::mean(x); });
  same("max", [](auto x) { return ebb::max(x); });
  same("amax", [](auto x) { return ebb::max<1>(x); });
  same("logsumexp", [](auto x) { return ebb::logsumexp<1>(x); });
  same("softmax", [](auto x) { return ebb::softmax(x); });
  same("softmax_dtype_float32", [](auto x) { return ebb::softmax(ebb::cast<float>(x)); });
  same("log_softmax", [](auto x) { return ebb::log_softmax(x); });
  same("exp", [](auto x) { return ebb::exp(x); });
  same("expm1", [](auto x) { return ebb::expm1(x); });
  same("log", [](auto x) { return ebb::log(x); });
  same("log1p", [](auto x) { return ebb::log1p(x); });
  same("sqrt", [](auto x) { return ebb::sqrt(x); });
  same("rsqrt", [](auto x) { return ebb::rsqrt(x); });
  same("reciprocal", [](auto x) { return ebb::reciprocal(x); });
  same("sin", [](auto x) { return ebb::sin(x); });
  same("tanh", [](auto x) { return ebb::tanh(x); });
  same("sigmoid", [](auto x) { return ebb::sigmoid(x); });
  same("erf", [](auto x) { return ebb::erf(x); });
  same("gelu", [](auto x) { return ebb::gelu(x); });
  same("softplus", [](auto x) { return ebb::softplus(x); });
  same("relu", [](auto x) { return ebb::relu(x); });
  same("clamp", [](auto x) { return ebb::clamp(x, -1, 1); });
  same("pow_scalar", [](auto x) { return ebb::pow(x, 2.5); });
  same("scalar_pow", [](auto x) { return ebb::pow(2.5, x); });
  same("add_python_scalar", [](auto x) { return x + 1.5; });
  same("pad_constant", [](auto x) { return ebb::pad<0, 1, 1>(x); });
  same("embedding", [](auto x) { return ebb::take(x, classes(x)); });
  CHECK(unlike.empty());
}

/// Checks the dtype of a function of one matrix in each context; expected(row) is that of a row "context dtype".
template <class F>
void check_rows(const char* name, F, const std::function<std::string(const std::string&)>& expected) {
  table ours;
  rows<off, F, matrix>{ours}.add_all();
  rows<autocast<bf16>, F, matrix>{ours}.add_all();
  rows<autocast<f16>, F, matrix>{ours}.add_all();
  INFO(name);
  CHECK(ours.size() == 9);
  for (const auto& [row, type] : ours) CHECK(type == expected(row));
}
/// The result's dtype is always `result`; if that is empty, it is the operand's.
const auto own = [](const char* name, const char* result, auto f) {
  check_rows(name, f, [=](const std::string& row) { return *result ? std::string(result) : row.substr(row.find(' ') + 1); });
};

TEST_CASE("AMP-18: functions that PyTorch has no record of and that have no class keep their operand's dtype in every context") {
  own("abs", "", [](auto x) { return ebb::abs(x); });
  own("ceil", "", [](auto x) { return ebb::ceil(x); });
  own("floor", "", [](auto x) { return ebb::floor(x); });
  own("round", "", [](auto x) { return ebb::round(x); });
  own("trunc", "", [](auto x) { return ebb::trunc(x); });
  own("sign", "", [](auto x) { return ebb::sign(x); });
  own("square", "", [](auto x) { return ebb::square(x); });
  own("cos", "", [](auto x) { return ebb::cos(x); });
  own("acos", "", [](auto x) { return ebb::acos(x); });
  own("asin", "", [](auto x) { return ebb::asin(x); });
  own("atan", "", [](auto x) { return ebb::atan(x); });
  own("acosh", "", [](auto x) { return ebb::acosh(x); });
  own("asinh", "", [](auto x) { return ebb::asinh(x); });
  own("atanh", "", [](auto x) { return ebb::atanh(x); });
  own("cosh", "", [](auto x) { return ebb::cosh(x); });
  own("digamma", "", [](auto x) { return ebb::digamma(x); });
  own("erfc", "", [](auto x) { return ebb::erfc(x); });
  own("exp2", "", [](auto x) { return ebb::exp2(x); });
  own("gelu_tanh", "", [](auto x) { return ebb::gelu_tanh(x); });
  own("hardsigmoid", "", [](auto x) { return ebb::hardsigmoid(x); });
  own("hardswish", "", [](auto x) { return ebb::hardswish(x); });
  own("lgamma", "", [](auto x) { return ebb::lgamma(x); });
  own("log10", "", [](auto x) { return ebb::log10(x); });
  own("log2", "", [](auto x) { return ebb::log2(x); });
  own("log_ndtr", "", [](auto x) { return ebb::log_ndtr(x); });
  own("mish", "", [](auto x) { return ebb::mish(x); });
  own("ndtr", "", [](auto x) { return ebb::ndtr(x); });
  own("relu6", "", [](auto x) { return ebb::relu6(x); });
  own("selu", "", [](auto x) { return ebb::selu(x); });
  own("sinh", "", [](auto x) { return ebb::sinh(x); });
  own("tan", "", [](auto x) { return ebb::tan(x); });
  own("zeros_like", "", [](auto x) { return ebb::zeros_like(x); });
  own("ones_like", "", [](auto x) { return ebb::ones_like(x); });
  own("hypot", "", [](auto x) { return ebb::hypot(x, x); });
  own("polygamma", "", [](auto x) { return ebb::polygamma<1>(x); });
  own("cummax", "", [](auto x) { return std::get<0>(ebb::cummax(x)); });
  own("cummin", "", [](auto x) { return std::get<0>(ebb::cummin(x)); });
  own("logcumsumexp", "", [](auto x) { return ebb::logcumsumexp(x); });
  own("linear_scan", "", [](auto x) { return ebb::linear_scan(x, x); });
  own("var_mean", "", [](auto x) { return std::get<0>(ebb::var_mean(x)); });
  own("full_like", "", [](auto x) { return ebb::full_like(x, 2); });
  own("reshape_like", "", [](auto x) { return ebb::reshape_like(x, x); });
  own("extent", "", [](auto x) { return x * ebb::extent<0>(x); });
  own("numel", "", [](auto x) { return x * ebb::numel(x); });
  own("iota", "", [](auto x) { return x + ebb::iota<0>(x); });
  own("arange_like", "", [](auto x) { return x + ebb::arange_like<0>(x); });
  own("log_sigmoid", "", [](auto x) { return ebb::log_sigmoid(x); });
  own("minimum", "", [](auto x) { return ebb::minimum(x, x); });
  own("min", "", [](auto x) { return ebb::min<0>(x); });
  own("stop_gradient", "", [](auto x) { return ebb::stop_gradient(x); });
  own("transpose", "", [](auto x) { return ebb::transpose(x); });
  own("take along an axis", "", [](auto x) { return ebb::take<1>(x, classes(x)); });
  own("take_along_axis", "", [](auto x) { return ebb::take_along_axis<1>(x, ebb::cast<int>(x)); });
  own("split, chunk, unbind", "", [](auto x) {
    return std::get<1>(ebb::split<0, 2>(x)) + std::get<1>(ebb::chunk<0, 2>(x)) + std::get<0>(ebb::unbind<0>(x));
  });
  own("permute, movedim, swap_axes", "", [](auto x) { return ebb::permute<1, 0>(x) + ebb::movedim<0, 1>(x) + ebb::swap_axes<0, 1>(x); });
  own("roll, rot90, tile", "", [](auto x) { return ebb::roll<0>(x, 1) + ebb::rot90(x) + ebb::slice<1, 4>(ebb::tile<2>(x)); });
  own("expand, repeat_interleave", "", [](auto x) { return ebb::expand<2, 4, 4>(x) + ebb::slice<0, 4>(ebb::repeat_interleave<0, 2>(x)); });
  own("masked_fill", "", [](auto x) { return ebb::masked_fill(x, x > 0, 2.0); });
  own("placed", "", [](auto x) { return ebb::placed<1, 0, 2>(x, ebb::slice<1, 1, 3>(x)); });
  own("add_at", "", [](auto x) { return ebb::add_at<1, 0, 2>(x, ebb::slice<1, 1, 3>(x)); });
  own("dynamic_slice", "", [](auto x) { return ebb::dynamic_slice<2, 2>(x, 1, 2); });
  own("dynamic_update_slice", "", [](auto x) { return ebb::dynamic_update_slice(x, x, 0, 0); });
  own("index_add", "", [](auto x) { return ebb::index_add<1>(x, classes(x), x); });
  own("reshape", "", [](auto x) { return ebb::reshape<16>(x); });
  own("slice", "", [](auto x) { return ebb::slice<0, 0, 2>(x); });
  own("flip", "", [](auto x) { return ebb::flip<0>(x); });
  own("isnan", "bool", [](auto x) { return ebb::isnan(x); });
  own("clamp_min", "", [](auto x) { return ebb::clamp_min(x, 0); });
  own("clamp_max", "", [](auto x) { return ebb::clamp_max(x, 0); });
  own("flatten", "", [](auto x) { return ebb::flatten(x); });
  own("unsqueeze, squeeze", "", [](auto x) { return ebb::squeeze<0>(ebb::unsqueeze<0>(x)); });
  own("select", "", [](auto x) { return ebb::select<0, 1>(x); });
  own("broadcast_to", "", [](auto x) { return ebb::broadcast_to<2, 4, 4>(x); });
  own("broadcast_like", "", [](auto x) { return ebb::broadcast_like(x, x); });
  own("isfinite", "bool", [](auto x) { return ebb::isfinite(x); });
  own("isinf", "bool", [](auto x) { return ebb::isinf(x); });
  own("equal", "bool", [](auto x) { return x == x; });
  own("not_equal", "bool", [](auto x) { return x != x; });
  own("less_equal", "bool", [](auto x) { return x <= x; });
  own("greater", "bool", [](auto x) { return x > x; });
  own("greater_equal", "bool", [](auto x) { return x >= x; });
  own("logical_and", "bool", [](auto x) { return ebb::logical_and(x > 0, x < 1); });
  own("logical_or", "bool", [](auto x) { return ebb::logical_or(x > 0, x < 1); });
  own("logical_not", "bool", [](auto x) { return ebb::logical_not(x > 0); });
  own("all", "bool", [](auto x) { return ebb::all(x > 0); });
  own("any", "bool", [](auto x) { return ebb::any(x > 0); });
  own("argmax", "int64", [](auto x) { return ebb::argmax<1>(x); });
  own("argmin", "int64", [](auto x) { return ebb::argmin<1>(x); });
  own("one_hot", "int64", [](auto x) { return ebb::one_hot<3>(classes(x)); });
  own("uniform, normal", "float32", [](auto x) { return ebb::uniform<float, 4>(classes(x)(0)) + ebb::normal<float, 4>(classes(x)(1)); });
  own("bernoulli", "bool", [](auto x) { return ebb::bernoulli<4>(classes(x)(0), 0.5); });
  own("split_key, fold_in", "int64", [](auto x) { return ebb::fold_in(ebb::split_key<2>(classes(x)(0))[1], 3); });
  own("gather_nd", "", [](auto x) { return ebb::gather_nd(x, classes(x), classes(x)); });
  own("zeros, ones, full", "", [](auto x) { return ebb::zeros<2>(x) + ebb::ones<2>(x) + ebb::full<2>(x(0, 0)); });
}

TEST_CASE("AMP-18: further functions without a class keep their operand's dtype in every context; prelu has the class low") {
  const auto same = [](const char* name, auto f) { own(name, "", f); };
  same("logaddexp", [](auto x) { return ebb::logaddexp(x, x); });
  same("log1mexp", [](auto x) { return ebb::log1mexp(x); });
  same("xlogy", [](auto x) { return ebb::xlogy(x, x); });
  same("xlog1py", [](auto x) { return ebb::xlog1py(x, x); });
  same("entr", [](auto x) { return ebb::entr(x); });
  same("fmod", [](auto x) { return ebb::fmod(x, x); });
  same("remainder", [](auto x) { return ebb::remainder(x, x); });
  same("floor_divide", [](auto x) { return ebb::floor_divide(x, x); });
  same("frac", [](auto x) { return ebb::frac(x); });
  same("round_to", [](auto x) { return ebb::round_to<2>(x); });
  same("fmax", [](auto x) { return ebb::fmax(x, x); });
  same("fmin", [](auto x) { return ebb::fmin(x, x); });
  same("copysign", [](auto x) { return ebb::copysign(x, x); });
  same("lerp", [](auto x) { return ebb::lerp(x, x, x); });
  same("nan_to_num", [](auto x) { return ebb::nan_to_num(x); });
  same("ldexp", [](auto x) { return ebb::ldexp(x, 3); });
  same("grad_scale", [](auto x) { return ebb::grad_scale(x, 2); });
  same("grad_reverse", [](auto x) { return ebb::grad_reverse(x); });
  same("glu", [](auto x) { return ebb::glu(x); });
  same("swiglu", [](auto x) { return ebb::swiglu(x); });
  same("geglu", [](auto x) { return ebb::geglu(x); });
  check_rows("prelu", [](auto x) { return ebb::prelu(x, x(0, 0)); }, [](const std::string& row) { return promoted(by::low, row); });
  own("signbit", "bool", [](auto x) { return ebb::signbit(x); });
  own("isposinf", "bool", [](auto x) { return ebb::isposinf(x); });
  own("isneginf", "bool", [](auto x) { return ebb::isneginf(x); });
  own("isclose", "bool", [](auto x) { return ebb::isclose(x, x); });
  own("allclose", "bool", [](auto x) { return ebb::allclose(x, x); });
  own("bitwise_and", "int64", [](auto x) { return ebb::bitwise_and(classes(x), 3); });
  own("bitwise_or", "int64", [](auto x) { return ebb::bitwise_or(classes(x), 3); });
  own("bitwise_xor", "int64", [](auto x) { return ebb::bitwise_xor(classes(x), 3); });
  own("bitwise_not", "int64", [](auto x) { return ebb::bitwise_not(classes(x)); });
  own("shift_left", "int64", [](auto x) { return ebb::shift_left(classes(x), 3); });
  own("shift_right", "int64", [](auto x) { return ebb::shift_right(classes(x), 3); });
}
