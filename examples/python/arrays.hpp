// examples/python/arrays.hpp — arrays of Python as ebb's, and ebb's tensors as Python objects: to copy into a module of your own.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <ebb/interop/dlpack.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ebb_python {

namespace py = pybind11;
namespace dl = ebb::dlpack;

/// Lets other Python threads run during f, which may not touch Python objects.
template <class F>
auto without_gil(F&& f) {
  const py::gil_scoped_release release;
  return f();
}

/// A buffer, e.g. of NumPy, as a tensor of DLPack. NumPy's own tensors of DLPack cannot be read-only before version 2.1; buffers can.
struct buffer {
  Py_buffer of{};
  dl::managed_versioned managed{};
  std::vector<std::int64_t> shape, strides;

  /// Null if the object has no buffer, or one that other formats than numbers describe.
  static dl::managed_versioned* of_object(py::handle object, const std::string& call) {
    auto b = std::make_unique<buffer>();
    if (PyObject_GetBuffer(object.ptr(), &b->of, PyBUF_RECORDS_RO) != 0) {
      PyErr_Clear();
      return nullptr;
    }
    buffer& x = *b;
    x.managed.manager_ctx = b.release();
    x.managed.deleter = [](dl::managed_versioned* m) { delete static_cast<buffer*>(m->manager_ctx); };
    std::unique_ptr<buffer> owner(&x);
    x.managed.version = dl::written_version;
    x.managed.flags = x.of.readonly ? dl::read_only : 0;
    const std::int64_t size = x.of.itemsize;
    for (int i = 0; i < x.of.ndim; ++i) {
      x.shape.push_back(x.of.shape[i]);
      x.strides.push_back(x.of.strides[i] / size);
      if (x.of.strides[i] % size != 0 && x.of.shape[i] > 1)
        ebb::raise(call + ": expected strides of whole elements, found " + std::to_string(x.of.strides[i]) + " bytes between elements of " +
                   std::to_string(size));
    }
    x.managed.dl_tensor = {x.of.buf, {dl::cpu, 0}, x.of.ndim, type_of(x.of.format ? x.of.format : "B", size, call), x.shape.data(),
                           x.strides.data(), 0};
    return &owner.release()->managed;
  }
  ~buffer() { PyBuffer_Release(&of); }

 private:
  static dl::data_type type_of(std::string format, std::int64_t size, const std::string& call) {
    const auto refuse = [&](const std::string& found) {
      ebb::raise(call + ": expected numbers in the byte order of this machine, found elements of format '" + format + "'" + found);
    };
    std::string kind = format;
    if (const char order = kind.empty() ? ' ' : kind.front(); std::string("@=<>!").find(order) != std::string::npos) {
      if ((order == '>' || order == '!') && size > 1) refuse(", which is big-endian: convert it by x.astype(x.dtype.newbyteorder('='))");
      kind.erase(0, 1);
    }
    const auto is_one_of = [&](const char* kinds) { return kind.size() == 1 && std::string(kinds).find(kind) != std::string::npos; };
    dl::data_type t{0, static_cast<std::uint8_t>(8 * size), 1};
    if (kind == "?") t.code = 6;
    else if (is_one_of("efdg")) t.code = 2;
    else if (is_one_of("BHILQN")) t.code = 1;
    else if (kind.size() == 2 && kind.front() == 'Z') t.code = 5;
    else if (!is_one_of("bhilqn")) refuse("");
    return t;
  }
};

/// An array of Python: one with a buffer (NumPy's, JAX's on the CPU, memoryview) or with __dlpack__ (PyTorch's and all others). Nothing is
/// copied. The Python object stays alive until the array of `as` is destroyed, which must hold the GIL.
class argument {
 public:
  /// `call` begins each message: "robust.loss: x".
  argument(py::handle object, std::string call) : call_(std::move(call)) {
    if (PyObject_CheckBuffer(object.ptr())) versioned_ = buffer::of_object(object, call_);
    if (versioned_) return;
    if (!py::hasattr(object, "__dlpack__"))
      ebb::raise(call_ + ": expected an array with a buffer or with __dlpack__, found " + std::string(py::str(py::type::of(object))));
    const py::object function = object.attr("__dlpack__");
    try {
      capsule_ = function(py::arg("max_version") = py::make_tuple(1, 0));
    } catch (py::error_already_set& e) {  // producers of before 2024 know no max_version
      if (!e.matches(PyExc_TypeError)) throw;
      capsule_ = function();
    }
    if (PyCapsule_IsValid(capsule_.ptr(), "dltensor_versioned")) versioned_ = pointer<dl::managed_versioned>("dltensor_versioned");
    else if (PyCapsule_IsValid(capsule_.ptr(), "dltensor")) legacy_ = pointer<dl::managed>("dltensor");
    else ebb::raise(call_ + ": expected a capsule called dltensor or dltensor_versioned, found another result of __dlpack__");
  }
  argument(argument&& other) noexcept
      : call_(std::move(other.call_)), capsule_(std::move(other.capsule_)), versioned_(std::exchange(other.versioned_, nullptr)),
        legacy_(std::exchange(other.legacy_, nullptr)) {}
  ~argument() {
    if (versioned_ && !capsule_) versioned_->deleter(versioned_);  // a capsule gives back what nobody took
  }

  /// Whether the elements are of type T.
  template <class T>
  bool holds() const {
    const dl::data_type t = (versioned_ ? versioned_->dl_tensor : legacy_->dl_tensor).dtype, wanted = dl::type_of(ebb::dtype_of<T>);
    return t.code == wanted.code && t.bits == wanted.bits && t.lanes == wanted.lanes;
  }
  /// The array, once. T without const may be written.
  template <class T, std::size_t... E>
  ebb::dlpack_array<T, E...> as() {
    if (legacy_) {
      auto result = ebb::from_dlpack<T, E...>(legacy_, call_.c_str());
      PyCapsule_SetName(capsule_.ptr(), "used_dltensor");
      legacy_ = nullptr;
      return result;
    }
    auto result = ebb::from_dlpack<T, E...>(versioned_, call_.c_str());
    if (capsule_) PyCapsule_SetName(capsule_.ptr(), "used_dltensor_versioned");
    versioned_ = nullptr;
    return result;
  }
  const std::string& call() const { return call_; }
  /// "f64 of shape [3, 2]"
  std::string text() const {
    const dl::array& a = versioned_ ? versioned_->dl_tensor : legacy_->dl_tensor;
    return dl::detail::text_of(a.dtype) + " of shape " + ebb::list_text(a.shape, a.ndim);
  }

 private:
  template <class M>
  M* pointer(const char* name) const {
    return static_cast<M*>(PyCapsule_GetPointer(capsule_.ptr(), name));
  }

  std::string call_;
  py::object capsule_;
  dl::managed_versioned* versioned_ = nullptr;
  dl::managed* legacy_ = nullptr;
};

/// A tensor that Python owns: an object with a buffer and with __dlpack__, so numpy.asarray and torch.from_dlpack copy nothing. It can be
/// written through each of them.
class result {
 public:
  template <ebb::element T, std::size_t... E>
  explicit result(ebb::tensor<T, E...> x) {
    const auto all = std::make_shared<ebb::tensor<T, E...>>(std::move(x));
    T* const data = all->mutable_data();
    const auto shape = all->layout();
    versioned_ = [=] { return ebb::to_dlpack<dl::managed_versioned>(ebb::view<T, E...>(data, shape), all); };
    legacy_ = [=] { return ebb::to_dlpack<dl::managed>(ebb::view<T, E...>(data, shape), all); };
    copy_ = [=] { return result(ebb::tensor<T, E...>(ebb::view<T, E...>(data, shape))); };
    const auto extents = shape.shape();
    std::vector<py::ssize_t> bytes(extents.size());
    auto step = static_cast<py::ssize_t>(sizeof(T));
    for (std::size_t i = extents.size(); i-- > 0; step *= static_cast<py::ssize_t>(extents[i])) bytes[i] = step;
    info_ = [=] { return py::buffer_info(data, std::vector<py::ssize_t>(extents.begin(), extents.end()), bytes); };
  }

  static void define(py::module_& m, const char* name) {
    py::class_<result>(m, name, py::buffer_protocol(), "An array: for numpy.asarray, torch.from_dlpack and all that takes DLPack.")
        .def_buffer([](result& x) { return x.info_(); })
        .def("__dlpack__", &result::dlpack, py::kw_only(), py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
             py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
        .def("__dlpack_device__", [](const result&) { return py::make_tuple(dl::cpu, 0); });
  }

 private:
  using version = std::optional<std::pair<int, int>>;

  py::object dlpack(const py::object& stream, const version& max_version, const py::object& device, const py::object& copy) const {
    if (!stream.is_none()) throw py::buffer_error("an array of the CPU has no stream");
    if (!device.is_none() && !device.equal(py::make_tuple(dl::cpu, 0))) throw py::buffer_error("the array is on the CPU, device (1, 0)");
    if (!copy.is_none() && copy.cast<bool>()) return copy_().dlpack(stream, max_version, device, py::none());
    if (max_version && max_version->first >= 1) return capsule("dltensor_versioned", versioned_());
    return capsule("dltensor", legacy_());
  }
  template <class M>
  static py::object capsule(const char* name, M* m) {
    PyObject* const object = PyCapsule_New(m, name, [](PyObject* self) {
      const char* const is = std::is_same_v<M, dl::managed> ? "dltensor" : "dltensor_versioned";
      if (!PyCapsule_IsValid(self, is)) return;  // taken, and called used_dltensor by the receiver
      auto* const left = static_cast<M*>(PyCapsule_GetPointer(self, is));
      left->deleter(left);
    });
    if (!object) {
      m->deleter(m);
      throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(object);
  }

  std::function<dl::managed_versioned*()> versioned_;
  std::function<dl::managed*()> legacy_;
  std::function<result()> copy_;
  std::function<py::buffer_info()> info_;
};

}  // namespace ebb_python
