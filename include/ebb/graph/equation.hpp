// ebb/graph/equation.hpp — one operation for one dtype, erased, and the equation that applies it.
// SPDX-License-Identifier: BSL-1.0
//
// Words used here and everywhere above:
//   op         a struct that says all about one operation: name, shape rule, value, pull (namespace ebb::op, or a user's own)
//   op_info    that struct for one dtype, erased into a table of constants and functions
//   equation   y = op(operands), with a shape, attributes and perhaps a sub-graph
//   graph      equations in order; operands are numbers of earlier equations
//
// [note: kernels of their own]
// An op of kind own has members for what passes and executors know of the other kinds. So floors above the ops add such ops without a
// change here:
//   whole<T>(whole_call)                 the kernel
//   reference<S>(move_call, in, put)     its meaning: in(j, i) is element i of operand j, put(i, x) gives element i of the result
//   folded(attr, rank)                   optional: the operand, of this rank, whose first axis is a batch as the result's first one is
// Batched, it gets leading axes in front of all operands: it takes any number of them.
#pragma once

#include "../base/hash.hpp"
#include "../base/text.hpp"
#include "../num/dtype.hpp"
#include "../num/precision.hpp"
#include "../tensor/nest.hpp"
#include "../tensor/strided.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ebb::inline EBB_ABI {

struct graph;
struct number_range;
struct whole_call;  // op/whole.hpp

/// How an op meets memory. Passes and plans ask for the kind, never for the op.
enum class kind : std::uint8_t {
  input,        // attr[0]: number of the argument
  literal,      // attr[0]: the bits of the one value that fills the shape
  index,        // attr[0]: the axis whose index each element holds
  elementwise,  // operands and result have one shape
  broadcast,    // attr[0]: mask of the result's axes that the operand does not have
  reduce,       // attr[0]: first axis, attr[1]: one past the last axis; a run of adjacent axes
  scan,         // attr[0]: the axis, attr[1]: whether it is reversed (1), exclusive (2); operand and result have one shape
  contract,     // a matrix product; attr[0]: which operands are taken transposed
  solve,        // linear systems: operand 0 is square, operand 1 the right sides, or they are 1; attr[0]: whether operand 0 is transposed,
                // attr[1]: 0, or which triangle of it is read, see tensor/triangle_order.hpp
  triangle,     // a product of operand 1 with a triangle of operand 0, or the triangle of a product; attr: see tensor/triangle_order.hpp
  factor,       // a function of each matrix of operand 0: attr[0] is a factor_kind
  reshape,      // the same elements in the same order under another shape: no work, one buffer
  move,         // boxes of elements are copied: permute, slice, place, concat; the rest of the result is zero
  gather,       // rows of operand 0 named by the integers in operand 1; attr[0]: the leading axes with rows of their own; attr[1]: turned
  scatter,      // rows of operand 0 are added into zeros, at the places that operand 1 names; attr: as of gather
  rows,         // a function of each row: of the last axes of the operands; the leading axes are batches, the same in operands and result
  loop,         // the sub-graph once for each row, with what it carries from one step to the next; see [note: loops]
  own,          // an op with a kernel of its own on whole arrays, see [note: kernels of their own]
  result,       // an array that operand 0, a loop, gives; attr[0]: which one of its kind, attr[1]: the kind, a loop_result
  custom,       // arrays with a pull of the user's, the sub-graph; its results are equations of kind result; see [note: custom pulls]
};

/// The arithmetic of an op, for rules on floors below the ops: its name says nothing, since a user may choose it.
enum class arithmetic : std::uint8_t { other, sum, product };

/// Functions of an op on memory.
struct op_kernels {
  /// One step of lanes: out = op(a, b, c); a reduction: out = combine(a, b).
  using vector_function = void (*)(const void* a, const void* b, const void* c, void* out);
  /// n elements of adjacent arrays: graphs that are made at run time run by these, block by block.
  using block_function = void (*)(const void* const* in, void* out, std::size_t n);
  /// Reduction of n elements into its logical lanes, beginning at lane number `phase`; see [note: logical reduction tree].
  using accumulate_function = void (*)(void* lanes, const void* x, std::size_t n, std::size_t phase);
  /// The whole equation: products, systems, moves, rows by index.
  using whole_function = void (*)(const whole_call&);
  /// The whole equation for one matrix of `rows` rows and columns, see [note: one small matrix]; `columns` are those of a system's result,
  /// or of the matrix that is factored. False: nothing is written, and `whole` has to be called.
  using small_matrix_function = bool (*)(int rows, int columns, const std::int64_t* attr, const void* const* in, void* out);
  /// A product of two matrices alone: op(a) is m x k, op(b) k x n. False: nothing is written, and `whole` has to be called.
  using product_function = bool (*)(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, const std::int64_t* attr, const void* const* in,
                                    void* out);
  vector_function vector = nullptr;
  vector_function ordered = nullptr;  // of a reduction: combine(a, b) where b is no NaN; null if that is not quicker
  vector_function divided = nullptr;  // of a division: c has both parts of -1 / b, see [note: quotients by one number]
  block_function block = nullptr;
  accumulate_function accumulate = nullptr;
  whole_function whole = nullptr;
  small_matrix_function small_matrix = nullptr;
  product_function product = nullptr;  // of products of float and double
};

/// The attributes of an equation of kind result.
struct attributes_of_result {
  std::int64_t number = 0, kind = 0;
};

struct cast_context;

/// A context, or none: asked without comparing an address, see op_info::differentiable.
class maybe_context {
 public:
  constexpr maybe_context(std::nullptr_t = nullptr) {}
  constexpr maybe_context(const cast_context* at) : at_(at), there_(true) {}
  constexpr maybe_context(const cast_context& at) : at_(&at), there_(true) {}
  constexpr explicit operator bool() const { return there_; }
  constexpr const cast_context* operator->() const { return at_; }

 private:
  const cast_context* at_ = nullptr;
  bool there_ = false;
};

/// An autocast context as rules meet it in a graph: see op/context.hpp.
struct cast_context {
  int number = 0;       // as number_of_context has it
  bool assumed = true;  // false if the context of the pull is known: then no call has to check it
  int (*product)(graph&, int x, int y, std::int64_t attr) = nullptr;  // x y in the context's dtype, given back in that of x
  maybe_context known = nullptr;                                      // the same context where it is not assumed
  bool of_call = false;  // off, because the call is taken to be: a derivative that is one program with its function is in the call's
};
/// Outside of all contexts, and that is known.
inline constexpr cast_context known_off{0, false, nullptr, nullptr};

struct op_info {
  std::string_view name;
  std::string_view asker;    // the function named in errors about operands
  std::string_view counted = "rows";  // what the places are that operands name
  std::int64_t left_out = -1;         // kind scatter: rows with this index are left out
  std::uint64_t id = 0;      // of op and dtype, by content: never compare addresses
  std::uint64_t family = 0;  // of the op alone
  kind what = kind::elementwise;
  arithmetic computes = arithmetic::other;
  precision autocast = precision::as_is;
  bool heavy = false;         // worth saving: transcendental functions, contractions, reductions
  bool branch_free = false;   // elementwise, even for one element: two elements in lanes take about as long as one
  bool needs_elements = false;  // checked at the call: the reduced axes are not empty
  bool names_places = false;    // checked at the call: kind gather, scatter: integers in operand 1 are rows; kind broadcast: integers in
                                // operand 0 are places along the one axis that is added
  int arity = 0;              // -1: any number
  dtype result = dtype::f32;
  dtype operand = dtype::f32;   // the dtype that the op is instantiated for
  dtype operands[4] = {};       // of each operand; where any number is taken, all as the last
  bool differentiable = false;  // fields are read, never pointers tested: g++ with UBSan refuses that in constant expressions
  bool stops = false;           // no gradient passes: its pull gives no operand one
  cell identity = 0;            // of a reduction or scan
  bool pairs = false;           // compares or combines components two at a time: a reduction has `combine` then, kind own `of_parts`
  bool links = false;           // a product: whether `link` is there
  bool folds = false;           // kind own: whether `folded` is there

  shape (*infer)(symbols&, const shape* in, int count, const std::int64_t* attr) = nullptr;
  void (*pull)(graph&, int g, int y, int* out) = nullptr;  // out[j]: cotangent of operand j, or -1
  /// One element; reductions and scans combine two, and so do scatters that do not add.
  void (*scalar)(const cell* in, cell* out) = nullptr;
  /// A reduction: the equation that combines two arrays as the reduction combines two elements; without `a`, -1, its identity and x.
  int (*combine)(graph&, int a, int x) = nullptr;
  /// A product: the equation that adds the product of two elements to a chain, for arrays of elements.
  int (*link)(graph&, int x, int y, int sum) = nullptr;
  /// Kind own, along one axis, with the attributes of axes_dropped: the equations that give the result from the elements along the axis.
  int (*of_parts)(graph&, number_range parts) = nullptr;
  /// Kind factor, where the op has the arithmetic itself: `in` has the extents x, `out` has n elements.
  void (*matrices)(const extent_list& x, int n, std::int64_t flags, const cell* in, cell* out) = nullptr;
  strided_copy (*copy)(const move_call&, int operand) = nullptr;  // kind move: where the elements of an operand go
  /// Kind rows: one row of the result, of `count` elements, from one row of each operand.
  void (*row)(const cell* const* in, const std::size_t* length, cell* out, std::size_t count, const std::int64_t* attr) = nullptr;
  bool batched = false;                                           // kind move: whether `batch` is there
  void (*batch)(std::int64_t* attr, int rank) = nullptr;          // kind move: attributes when operands of this rank get a leading axis
  int (*folded)(const std::int64_t* attr, int rank) = nullptr;  // kind own: the operand whose first axis is a batch, and the result's too
  void (*reference)(const move_call&, const cell* const* in, cell* out) = nullptr;  // kind own: the whole equation, on cells
  bool shows = false;                                             // kind move, own: whether `show` is there
  int (*show)(const std::int64_t* attr, int rank, std::int64_t* numbers) = nullptr;  // the attributes that are printed
  const struct dtype_kit* kit = nullptr;                   // the equations that passes emit for the result's dtype
  op_kernels kernels;
};

/// The equations of a dtype that passes emit without naming an op.
struct dtype_kit {
  int (*add)(graph&, int a, int b);
  int (*sub)(graph&, int a, int b);
  int (*neg)(graph&, int a);
  int (*literal)(graph&, int shape, double value);
  int (*constant)(graph&, int shape, cell bits);
  int (*input)(graph&, int shape, int number);
  int (*broadcast)(graph&, int x, int shape, std::int64_t mask);
  int (*sum)(graph&, int x, std::int64_t mask);
  int (*reshape)(graph&, int x, int shape);
  int (*permute)(graph&, int x, const int* axes);  // axis i of the result is axis axes[i] of x
  int (*slice)(graph&, int x, int axis, std::int64_t start, int shape);
  int (*place)(graph&, int x, int axis, std::int64_t start, int shape);  // within zeros
  int (*concat)(graph&, number_range in, int axis, int shape);
  int (*result)(graph&, int loop, int shape, attributes_of_result which);
  int (*widen)(graph&, int x);                     // x in the dtype that this one is computed in
};

struct equation {
  const op_info* op = nullptr;
  int first = 0, count = 0;  // operands: a range of the graph's pool
  int shape = -1;            // number of a shape in the graph
  int sub = -1;              // number of a sub-graph, or -1
  std::int64_t attr[2] = {};
  cast_question asked{};  // by the pull that gave it; no part of what it computes
  maybe_context pulled_in = nullptr;  // the context of its pull; none: that of its region
};

/// The axes that a reduction drops, or an equation of kind own, which counts the axes after its one. They must not be empty.
constexpr part axes_dropped(kind what, const std::int64_t* attr, int rank) {
  if (what == kind::own) return {rank - 1 - static_cast<int>(attr[0]), 1};
  return {static_cast<int>(attr[0]), static_cast<int>(attr[1] - attr[0])};
}

}  // namespace ebb::inline EBB_ABI
