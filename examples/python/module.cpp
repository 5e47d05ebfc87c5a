// examples/python/module.cpp — the Python module `robust`: a regression that outliers do not spoil, its gradient and a training step.
// SPDX-License-Identifier: BSL-1.0
#include <ebb/functional.hpp>

#include "arrays.hpp"

#include <atomic>
#include <limits>
#include <optional>

namespace py = pybind11;
using ebb::dyn, ebb_python::argument, ebb_python::without_gil;

namespace {

/// The mean negative log-likelihood of y = x w + noise, up to a constant. The noise has Student's t distribution with 4 degrees of freedom.
/// The parameters p are w, then the logarithm of the noise's scale.
constexpr auto loss = [](auto p, auto x, auto y) {
  const auto r = (y - ebb::matmul(x, ebb::slice<0, 0, -1>(p))) * ebb::exp(-p[-1]);
  return 2.5 * ebb::mean(ebb::log1p(0.25 * r * r)) + p[-1];
};
constexpr auto value = ebb::compile(loss);
constexpr auto value_and_grad = ebb::value_and_grad(loss);

/// Gradient descent with momentum: the loss before the step, the new parameters, the new velocity.
constexpr auto step = ebb::compile([](auto p, auto v, auto x, auto y, auto rate, auto momentum) {
  const auto [before, slope] = ebb::value_and_grad(loss)(p, x, y);
  const auto next = momentum * v + slope;
  return std::tuple(before, p - rate * next, next);
});

/// f(float()) or f(double()), by the dtype of the parameters; all other arrays have the same.
template <class F>
auto in_dtype_of(const argument& p, F f) {
  if (p.holds<float>()) return f(float());
  if (!p.holds<double>()) ebb::raise(p.call() + ": expected f32 or f64, found " + p.text());
  return f(double());
}

double loss_of(const py::object& parameters, const py::object& inputs, const py::object& targets) {
  argument p(parameters, "robust.loss: p"), x(inputs, "robust.loss: x"), y(targets, "robust.loss: y");
  return in_dtype_of(p, [&]<class T>(T) {
    const auto p_ = p.as<const T, dyn>();
    const auto x_ = x.as<const T, dyn, dyn>();
    const auto y_ = y.as<const T, dyn>();
    return static_cast<double>(without_gil([&] { return value(p_, x_, y_); }));
  });
}

py::object value_and_grad_of(const py::object& parameters, const py::object& inputs, const py::object& targets, const py::object& out) {
  argument p(parameters, "robust.value_and_grad: p"), x(inputs, "robust.value_and_grad: x"), y(targets, "robust.value_and_grad: y");
  return in_dtype_of(p, [&]<class T>(T) -> py::object {
    const auto p_ = p.as<const T, dyn>();
    const auto x_ = x.as<const T, dyn, dyn>();
    const auto y_ = y.as<const T, dyn>();
    if (out.is_none()) {
      auto [loss_, slope] = without_gil([&] { return value_and_grad(p_, x_, y_); });
      return py::make_tuple(static_cast<double>(loss_), ebb_python::result(std::move(slope)));
    }
    const auto slope = argument(out, "robust.value_and_grad: out").as<T, dyn>();
    T loss_{};
    without_gil([&] { value_and_grad(ebb::into(loss_, slope), p_, x_, y_); });
    return py::make_tuple(static_cast<double>(loss_), out);
  });
}

/// Steps until there were `steps` of them, or until `stop` is no longer 0: another thread may write it. Returns the number of steps and the
/// loss before the last, NaN if there was none.
std::pair<std::int64_t, double> steps_of(const std::string& call, const py::object& parameters, const py::object& velocity,
                                         const py::object& inputs, const py::object& targets, double rate, double momentum,
                                         std::int64_t steps, const py::object& stop) {
  argument p(parameters, call + ": p"), v(velocity, call + ": v"), x(inputs, call + ": x"), y(targets, call + ": y");
  return in_dtype_of(p, [&]<class T>(T) {
    const auto p_ = p.as<T, dyn>();
    const auto v_ = v.as<T, dyn>();
    const auto x_ = x.as<const T, dyn, dyn>();
    const auto y_ = y.as<const T, dyn>();
    std::optional<ebb::dlpack_array<std::int32_t, 1>> stop_;
    if (!stop.is_none()) stop_.emplace(argument(stop, call + ": stop").as<std::int32_t, 1>());
    std::int64_t done = 0;
    T before = std::numeric_limits<T>::quiet_NaN();
    without_gil([&] {
      for (; done < steps && !(stop_ && std::atomic_ref(*stop_->origin()).load()); ++done)
        step(ebb::into(before, p_, v_), p_, v_, x_, y_, static_cast<T>(rate), static_cast<T>(momentum));
    });
    return std::pair(done, static_cast<double>(before));
  });
}

double step_of(const py::object& p, const py::object& v, const py::object& x, const py::object& y, double rate, double momentum) {
  return steps_of("robust.step", p, v, x, y, rate, momentum, 1, py::none()).second;
}
std::pair<std::int64_t, double> fit_of(const py::object& p, const py::object& v, const py::object& x, const py::object& y, double rate,
                                       double momentum, std::int64_t steps, const py::object& stop) {
  return steps_of("robust.fit", p, v, x, y, rate, momentum, steps, stop);
}

}  // namespace

PYBIND11_MODULE(robust, m) {
  using py::arg;
  m.doc() = "Linear regression with Student's t noise, compiled with its gradient by ebb. Arrays are float32 or float64, of NumPy, of "
            "PyTorch, or of anything with a buffer or __dlpack__. They are not copied if they are in rows. Calls release the GIL.";
  py::register_exception<ebb::error>(m, "Error", PyExc_ValueError);
  ebb_python::result::define(m, "Array");
  m.def("loss", &loss_of, arg("p"), arg("x"), arg("y"),
        "The mean negative log-likelihood of y given x. p: weights, then the logarithm of the scale.");
  m.def("value_and_grad", &value_and_grad_of, arg("p"), arg("x"), arg("y"), arg("out") = py::none(),
        "The loss and its gradient by p: a new array, or `out`, into which it is written.");
  m.def("step", &step_of, arg("p"), arg("v"), arg("x"), arg("y"), arg("rate"), arg("momentum") = 0.9,
        "One step of gradient descent: p and the velocity v are written in place. Returns the loss before it.");
  m.def("fit", &fit_of, arg("p"), arg("v"), arg("x"), arg("y"), arg("rate"), arg("momentum") = 0.9, arg("steps") = 100,
        arg("stop") = py::none(), "Many steps, in one call. They end early when another thread writes 1 to the int32 array `stop`. "
        "Returns how many there were, and the loss before the last: NaN if there was none.");
}
