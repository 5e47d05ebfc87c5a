// ebb/io/safetensors_file.hpp — a safetensors file that is read: its arrays by name, copied into structures or looked at in place.
// SPDX-License-Identifier: BSL-1.0
#pragma once

#include "mapped_file.hpp"
#include "names.hpp"
#include "safetensors_header.hpp"
#include "stored_elements.hpp"

#include "../base/error.hpp"
#include "../tensor/borrow.hpp"

#include <array>
#include <cstring>
#include <span>

namespace ebb::inline EBB_ABI {

/// The liberties of a load beyond copying arrays that fit.
struct load_options {
  bool convert = false;  // elements of another dtype: among floats by rounding to nearest, of integers to wider ones
  bool partial = false;  // leave arrays of the file aside that the structure has no place for
};

namespace detail {

inline constexpr const char* load_call = "ebb::safetensors::load";

template <class X>
concept variable_like = requires(const X& x) { x.history(), x.is_leaf(), x.defined(); };
/// An optimizer: it keeps states of its parameters.
template <class X>
concept keeps_states = requires(X& x) { x.set_states({x.state(0)}), x.state_name(0), x.parameter(0); };
template <class X>
struct is_savable : std::bool_constant<array_like<X> || keeps_states<std::remove_const_t<X>>> {};
template <class X>
struct is_loadable : std::bool_constant<mutable_array_like<X&> || (variable_like<X> && !std::is_const_v<X>) || keeps_states<X>> {};

/// The dtype of the states of a parameter.
constexpr dtype state_dtype(dtype parameter) { return size_of(parameter) == 2 ? dtype::f32 : parameter; }

EBB_COLD std::string state_prefix(const std::string& optimizer, std::size_t parameter) {
  return joined_name(optimizer, "state." + std::to_string(parameter) + ".");
}

}  // namespace detail

/// A safetensors file: its arrays by name, in its own memory. It is checked completely when it is opened: see
/// [note: what a safetensors file is]. The elements are mapped, see mapped_file: opening takes no longer for a larger file.
class safetensors {
 public:
  /// Throws: error naming the file and what is wrong with it.
  EBB_COLD_CTOR explicit safetensors(const std::string& path) : path_(path), file_(path), bytes_(file_.data(), file_.size()) {
    if (!file_.problem().empty()) refuse("ebb::safetensors", file_.problem());
    parse();
  }
  /// The same contents in memory, which must outlive the object: of a program that has its weights in it.
  EBB_COLD_CTOR explicit safetensors(std::span<const std::byte> bytes EBB_LIFETIMEBOUND) : path_("memory"), bytes_(bytes) { parse(); }
  safetensors(safetensors&&) = default;
  safetensors& operator=(safetensors&&) = default;

  /// The arrays, in the order of their elements in the file.
  const std::vector<stored_array>& arrays() const& EBB_LIFETIMEBOUND { return header_.arrays; }
  std::vector<stored_array> arrays() && { return std::move(header_.arrays); }  // for (const auto& a : ebb::safetensors(path).arrays())
  bool contains(std::string_view name) const { return header_.find(name) != nullptr; }
  /// The texts that Python's save_file takes as `metadata`.
  const texts_by_name& metadata() const& EBB_LIFETIMEBOUND { return header_.metadata; }
  texts_by_name metadata() && { return std::move(header_.metadata); }

  /// A copy of one array: load<float, dyn, 64>("fc1.weight") takes any number of rows of 64.
  /// Throws: error naming the file, the array, what was expected and what was found.
  template <element T, std::size_t... E>
  tensor<T, E...> load(std::string_view name, load_options options = {}) const {
    const stored_array& a = need(detail::load_call, name, dtype_of<T>, layout<E...>::declared.data(), sizeof...(E), options);
    return loaded<T, extents<E...>>(a);
  }
  /// One array in place, for as long as this object lives: nothing is copied.
  /// Throws: error as load; also if the elements are not aligned in the file, or bools that are neither 0 nor 1.
  template <element T, std::size_t... E>
  ebb::view<const T, E...> view(std::string_view name) const EBB_LIFETIMEBOUND {
    constexpr const char* call = "ebb::safetensors::view";
    const stored_array& a = need(call, name, dtype_of<T>, layout<E...>::declared.data(), sizeof...(E), {});
    require_in_place(call, a, alignof(T));
    return {reinterpret_cast<const T*>(data_of(a)), layout_of<E...>(a)};
  }
  /// Every array of the structure, by its name: see [note: names in files].   Tensors are replaced, and take the extents of the file where
  /// their own are dyn. Defined variables are assigned to, so that optimizers and hooks stay with them; undefined ones become leaves.
  /// Anything else is written in place, and has the extents already. An optimizer gets the states of its parameters.
  /// Throws: error if an array is missing, has another dtype or shape, or is left over; then nothing has changed.
  template <class X>
  void load(X&& x, load_options options = {}) const {
    constexpr bool fits = detail::all_named_leaves<std::remove_reference_t<X>, detail::is_loadable>::value;
    static_assert(fits, "[ebb E0300] what is loaded is an array that can be written, a variable, an optimizer, or a structure of these: "
                        "a struct names its members by BOOST_HANA_DEFINE_STRUCT");
    if constexpr (fits) {
      checking check{*this, options, std::vector<bool>(arrays().size())};
      detail::each_named_leaf(check, "", x);
      if (!options.partial) check.require_all();
      loading load{*this};
      detail::each_named_leaf(load, "", x);
    }
  }

 private:
  [[noreturn]] EBB_COLD void refuse(const char* call, const std::string& problem) const {
    raise(std::string(call) + ": " + path_ + ": " + problem);
  }
  EBB_COLD void parse() {
    const auto refused = [&](const std::string& problem) { refuse("ebb::safetensors", problem); };
    std::uint64_t length = 0;
    if (bytes_.size() < sizeof length) refused("expected a .safetensors file, found one of " + std::to_string(bytes_.size()) + " bytes");
    std::memcpy(&length, bytes_.data(), sizeof length);
    if (length > safetensors_header::max_bytes)
      refused("expected a .safetensors file, found other first bytes: they announce a header of " + std::to_string(length) + " bytes");
    const std::size_t rest = bytes_.size() - sizeof length;
    if (length > rest)
      refused("the header is truncated: it has " + std::to_string(length) + " bytes, " + std::to_string(rest) + " are there");
    const std::byte* const head = bytes_.data() + sizeof length;
    const auto head_bytes = static_cast<std::size_t>(length);
    elements_ = head + head_bytes;
    const std::string problem = header_.parse({reinterpret_cast<const char*>(head), head_bytes}, rest - head_bytes);
    if (!problem.empty()) refused(problem);
  }
  const std::byte* data_of(const stored_array& a) const { return elements_ + a.first; }

  /// The array of that name. Throws: error if there is none, or if it is no array of that dtype and these extents, where dyn is any.
  EBB_COLD const stored_array& need(const char* call, std::string_view name, dtype type, const std::size_t* extents, std::size_t rank,
                                    load_options options) const {
    const stored_array* const a = header_.find(name);
    if (!a) refuse(call, "there is no array called " + detail::json_text(name));
    bool fits = a->shape.size() == rank;
    for (std::size_t i = 0; fits && i < rank; ++i) fits = extents[i] == dyn || extents[i] == a->shape[i];
    const bool converts = detail::converts_to(*a->type, type);
    if (!fits || !(a->type->is(type) || (options.convert && converts)))
      refuse(call, detail::json_text(name) + ": expected " + std::string(detail::stored_type_of(type).name) + " of shape " +
                       list_text(extents, static_cast<int>(rank)) + ", found " + std::string(a->type->name) + " of shape " +
                       list_text(a->shape.data(), static_cast<int>(a->shape.size())) +
                       (fits && converts ? "; a load with load_options{.convert = true} converts it" : ""));
    return *a;
  }
  EBB_COLD void require_in_place(const char* call, const stored_array& a, std::size_t alignment) const {
    if (reinterpret_cast<std::uintptr_t>(data_of(a)) % alignment != 0)
      refuse(call, detail::json_text(a.name) + " is not aligned in the file: load makes a copy that is");
    if (a.type->is(dtype::boolean))
      for (std::uint64_t i = a.first; i < a.last; ++i)
        if (elements_[i] > std::byte{1}) refuse(call, detail::json_text(a.name) + " has bools that are neither 0 nor 1: load makes a copy");
  }
  /// How many updates a parameter has seen: an integer, or a float as PyTorch's optimizers have it.
  EBB_COLD std::uint64_t step_called(const std::string& name) const {
    const stored_array* const found = header_.find(name);
    const bool is_float = found && detail::converts_to(*found->type, dtype::f64);
    const stored_array& a = need(detail::load_call, name, is_float ? dtype::f64 : dtype::i64, nullptr, 0, {is_float, true});
    double step = 0;
    std::int64_t whole = 0;
    if (a.type->is(dtype::i64)) std::memcpy(&whole, data_of(a), sizeof whole);
    else {
      detail::copy_elements(*a.type, data_of(a), &step, 1);
      if (step >= 0 && step < 0x1p53) whole = static_cast<std::int64_t>(step);
    }
    if (whole < 0 || (step != 0 && static_cast<double>(whole) != step))
      refuse(detail::load_call, detail::json_text(name) + " is no number of steps");
    return static_cast<std::uint64_t>(whole);
  }

  template <std::size_t... E>
  static layout<E...> layout_of(const stored_array& a) {
    std::array<std::size_t, sizeof...(E)> shape{};
    for (std::size_t i = 0; i < sizeof...(E); ++i) shape[i] = a.shape[i];
    return {"ebb::safetensors", shape};
  }
  template <class T, class Extents>
  tensor_of<T, Extents> loaded(const stored_array& a) const {
    return [&]<std::size_t... E>(extents<E...>) {
      auto result = tensor<T, E...>::uninitialized(layout_of<E...>(a));
      detail::copy_elements(*a.type, data_of(a), result.mutable_data(), result.size());
      return result;
    }(Extents{});
  }

  /// Finds out whether all can be loaded.
  struct checking {
    const safetensors& file;
    load_options options;
    std::vector<bool> used;

    template <class Leaf>
    void operator()(const std::string& name, Leaf& leaf) {
      if constexpr (detail::keeps_states<Leaf>) states(name, leaf);
      else {
        using from = borrow<std::remove_const_t<Leaf>>;
        constexpr int rank = from::extents_type::rank;
        std::size_t extents[rank + 1] = {};
        bool any = false;
        if constexpr (detail::variable_like<Leaf>) {
          any = !leaf.defined();
          if (!leaf.is_leaf())
            file.refuse(detail::load_call, detail::json_text(name) + " would be loaded into a variable that is no leaf");
        } else any = detail::is_tensor<Leaf>;
        for (int i = 0; i < rank; ++i)
          extents[i] = any ? borrowed_layout<Leaf>::declared[static_cast<std::size_t>(i)] : from::extent(leaf, i);
        need(name, dtype_of<typename from::element>, extents, rank);
      }
    }
    template <class Optimizer>
    void states(const std::string& name, Optimizer& o) {
      for (std::size_t i = 0; i < o.size(); ++i) {
        const std::string prefix = detail::state_prefix(name, i);
        const auto& p = o.parameter(i);
        use(prefix + "step");
        file.step_called(prefix + "step");
        std::size_t k = 0;
        for (; file.contains(prefix + o.state_name(k)); ++k)
          need(prefix + o.state_name(k), detail::state_dtype(p.type), p.extents.e, static_cast<std::size_t>(p.extents.rank));
        if (!o.may_keep(k))
          file.refuse(detail::load_call, "there are " + std::to_string(k) + " states beside " + detail::json_text(prefix + "step") +
                                             ", another number than the rule keeps");
      }
    }
    EBB_COLD void need(const std::string& name, dtype type, const std::size_t* extents, std::size_t rank) {
      file.need(detail::load_call, name, type, extents, rank, options);
      use(name);
    }
    EBB_COLD void use(const std::string& name) {
      if (const stored_array* const a = file.header_.find(name)) used[static_cast<std::size_t>(a - file.arrays().data())] = true;
    }
    EBB_COLD void require_all() const {
      for (std::size_t i = 0; i < used.size(); ++i)
        if (!used[i])
          file.refuse(detail::load_call, "nothing in the structure is called " + detail::json_text(file.arrays()[i].name) +
                                             "; load_options{.partial = true} leaves it aside");
    }
  };

  /// Loads what has been checked.
  struct loading {
    const safetensors& file;

    template <class Leaf>
    void operator()(const std::string& name, Leaf& leaf) {
      if constexpr (detail::keeps_states<Leaf>) states(name, leaf);
      else {
        const stored_array& a = *file.header_.find(name);
        using T = borrowed_element<Leaf>;
        using E = borrowed_extents<Leaf>;
        if constexpr (detail::variable_like<Leaf>) {
          if (leaf.defined()) leaf.assign(file.loaded<T, E>(a));
          else leaf = Leaf(file.loaded<T, E>(a));
        } else if constexpr (detail::is_tensor<Leaf>) leaf = file.loaded<T, E>(a);
        else {
          const auto to = borrowed_mutable_view(leaf);
          detail::copy_elements(*a.type, file.data_of(a), to.data(), to.size());
        }
      }
    }
    template <class Optimizer>
    void states(const std::string& name, Optimizer& o) {
      std::vector<std::remove_cvref_t<decltype(o.state(0))>> all(o.size());
      for (std::size_t i = 0; i < o.size(); ++i) {
        const std::string prefix = detail::state_prefix(name, i);
        all[i].step = file.step_called(prefix + "step");
        for (std::size_t k = 0; const stored_array* const a = file.header_.find(prefix + o.state_name(k)); ++k)
          with_dtype(detail::state_dtype(o.parameter(i).type), [&]<class T>(T) {
            const std::size_t count = o.parameter(i).extents.volume();
            all[i].arrays.emplace_back(count * sizeof(T));
            detail::copy_elements(*a->type, file.data_of(*a), reinterpret_cast<T*>(all[i].arrays.back().data()), count);
          });
      }
      o.set_states(std::move(all));
    }
  };

  std::string path_;
  mapped_file file_;
  std::span<const std::byte> bytes_;
  const std::byte* elements_ = nullptr;
  safetensors_header header_;
};

}  // namespace ebb::inline EBB_ABI
