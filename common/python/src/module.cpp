// The functions of the module `tessera`: each checks its arguments, and calls its kernel without the GIL.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "kernels.hpp"
#include "operations.hpp"
#include "variants.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tessera::python {

namespace {

/// Runs a kernel while other threads of Python run. The Arguments outside keep its memory alive.
template <class Kernel, class... Parameters>
auto without_gil(Kernel&& kernel, Parameters const&... parameters) {
  nb::gil_scoped_release const released;
  return kernel(parameters...);
}

/// What keeps an argument alive.
struct Held {
  nb::object object;
  std::shared_ptr<void> memory;
  void const* data;

  [[nodiscard]] bool is(Argument const& argument) const {
    return object.is(argument.object) && data == argument.array.data;
  }
};

/// Arguments of calls on a stream that may still run.
struct Unfinished {
  Mark mark;  ///< behind the calls; none: the last call had the same arguments, and the next one makes the mark
  std::vector<Held> arguments;
  int device;
};

/// In the order of the calls, by the numbers of the streams.
std::map<std::uint64_t, std::deque<Unfinished>>& unfinished() {
  static auto& all = *new std::map<std::uint64_t, std::deque<Unfinished>>;  // Python may end first
  return all;
}

/// Whether an argument must be kept alive until the stream of the call is past it. A new result need not if its library
/// allocates on that stream: like PyTorch and CuPy everywhere, it gives the memory away only behind the call.
[[nodiscard]] bool is_held(Argument const* argument) { return !argument->is_new || !argument->is_current; }

/// Keeps the arguments alive until the stream of the first is past the calls so far, and lets go of those of calls that
/// have ended. Without a stream the call has ended. A call with the arguments of the last one only takes its mark away:
/// marks take longer than all else here.
void keep_until_done(std::initializer_list<Argument const*> arguments) {
  Array const& first = (*arguments.begin())->array;
  if (!first.stream) return;
  // The last owner of an array may call Tessera: the lists must not be under change then.
  std::vector<Unfinished> done;
  try {
    auto& all = unfinished();
    std::deque<Unfinished>& own = all[first.stream->number];
    auto const is_same = [](Held const& one, Argument const* other) { return one.is(*other); };
    auto held = std::views::filter(arguments, is_held);  // it keeps its place when it is read
    if (!own.empty() && std::ranges::equal(own.back().arguments, held, is_same)) {
      own.back().mark = nullptr;
    } else {
      Unfinished next{mark_of(first), {}, first.device};
      for (Argument const* const argument : held) {
        next.arguments.push_back({argument->object, argument->keep, argument->array.data});
      }
      if (!own.empty() && !own.back().mark) own.back().mark = next.mark;
      own.push_back(std::move(next));
    }
    for (auto& [stream, calls] : all) {
      while (!calls.empty() && calls.front().mark && is_reached(calls.front().mark)) {
        done.push_back(std::move(calls.front()));
        calls.pop_front();
      }
    }
    std::erase_if(all, [](auto const& one) { return one.second.empty(); });
  } catch (...) {
    wait_for_stream_of(first);  // the call uses its arguments, which nobody keeps
    throw;
  }
}

/// Lets go of the arguments of all calls, when they have ended.
void finish_calls() {
  std::map<std::uint64_t, std::deque<Unfinished>> done;  // see above
  std::swap(done, unfinished());
  for (auto const& [stream, calls] : done) {
    for (Unfinished const& one : calls) without_gil(wait_for, one.mark, one.device);
  }
}

/// An int64 that a kernel writes and a call returns as Python's integer. On a GPU it is in an array of the library of
/// `like`.
class Number {
 public:
  explicit Number(Argument const& like) {
    if (like.array.memory != Memory::host) argument_ = result(nb::none(), like, DType::int64, {}, {});
  }
  Number(Number const&) = delete;
  Number& operator=(Number const&) = delete;

  [[nodiscard]] Array const& array() const { return argument_ ? argument_->array : on_host_; }
  [[nodiscard]] nb::int_ value() const { return argument_ ? nb::int_(returned(*argument_)) : nb::int_(value_); }

 private:
  std::int64_t value_ = 0;
  Array on_host_{.name = "a number", .data = &value_, .dtype = DType::int64, .shape = {}};
  std::optional<Argument> argument_;
};

/// The type in signatures of functions that return an array and a number.
using WithNumber = nb::typed<nb::tuple, nb::any, int>;

/// The type in signatures of functions that return two arrays by name.
using TwoArrays = nb::typed<nb::tuple, nb::any, nb::any>;

/// Classes of Python's named tuples, made when the module is imported. They live as long as the process.
nb::handle topk_tuple;
nb::handle unique_counts_tuple;

[[nodiscard]] nb::handle named_tuple(char const* name, char const* first, char const* second) {
  return nb::module_::import_("collections")
      .attr("namedtuple")(name, nb::make_tuple(first, second), "module"_a = "tessera")
      .release();
}

/// The keyword `variant`.
using Variant = std::optional<std::string>;

/// An argument as a field of a mini-app, in its own shape or in another one.
[[nodiscard]] Field field(Argument const& argument) { return {&argument.array, argument.shape()}; }
[[nodiscard]] Field field(Argument const& argument, Shape shape) { return {&argument.array, std::move(shape)}; }
[[nodiscard]] Field no_elements() { return {nullptr, {0}}; }

/// Returns the array for a result of x's shape, which may be x. Not all variants work in place.
[[nodiscard]] Argument result_in_place(nb::handle out, Argument const& x, std::initializer_list<Argument const*> others,
                                       Variant const& variant) {
  Argument const to = result(out, x, x.array.dtype, x.shape(), others, &x);
  if (variant && to.array.data == x.array.data && x.array.bytes() > 0) {
    throw std::invalid_argument(
        "out is x (a named variant reads x while it writes); give the result memory of its own");
  }
  return to;
}

/// The last dimension as columns, the others as rows.
[[nodiscard]] Shape as_matrix(Argument const& argument) {
  std::size_t rows = 1;
  for (std::size_t i = 0; i + 1 < argument.rank(); ++i) rows *= argument.shape()[i];
  return {rows, argument.shape().back()};
}

/// A matrix: rows of the last dimension, whatever leads. Throws std::invalid_argument for no dimension.
void require_rows(Argument const& x) {
  if (x.rank() == 0) require_rank(x, 1, "at least one dimension");
}

/// An axis counted from 0. Throws std::invalid_argument if there is none of that number.
[[nodiscard]] std::size_t axis_of(Argument const& x, std::int64_t axis) {
  auto const rank = static_cast<std::int64_t>(x.rank());
  if (axis < -rank || axis >= rank) {
    throw std::invalid_argument("axis is " + std::to_string(axis) + " (" + x.array.name + " has " +
                                std::to_string(rank) + " dimensions); give one of them");
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

nb::any py_cumulative_sum(nb::handle object, nb::handle dtype, nb::handle out, Variant const& variant,
                          nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rank(x, 1, "one dimension");
  require_sum_dtype(x, dtype);
  Argument const to = result_in_place(out, x, {}, variant);
  if (variant) {
    without_gil(run_variant, VariantCall{"prefix_sum", *variant, x.array.dtype, {}, {field(x)}, {field(to)}});
  } else {
    without_gil(cumulative_sum, x.array, to.array);
    keep_until_done({&x, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_sum(nb::handle object, std::optional<std::int64_t> axis, nb::handle dtype, nb::handle out,
               Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_sum_dtype(x, dtype);
  if (!axis) {
    Argument const to = result(out, x, x.array.dtype, {}, {&x});
    if (variant) {
      // One row.
      without_gil(run_variant, VariantCall{"axis_sum",
                                           *variant,
                                           x.array.dtype,
                                           {{"axis", std::int64_t{1}}},
                                           {field(x, {1, x.array.count()})},
                                           {field(to, {1})}});
    } else {
      without_gil(sum, x.array, to.array);
      keep_until_done({&x, &to});
    }
    return nb::borrow<nb::any>(returned(to));
  }
  std::size_t const along = axis_of(x, *axis);
  Shape shape = x.shape();
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along));
  if (along + 1 != x.rank() && !(along == 0 && x.rank() == 2)) {
    throw std::invalid_argument("axis is " + std::to_string(*axis) +
                                " (only the last axis, and the first of two, are summed); transpose x");
  }
  Argument const to = result(out, x, x.array.dtype, shape, {&x});
  bool const of_rows = along + 1 == x.rank();
  if (variant) {
    without_gil(run_variant, VariantCall{"axis_sum",
                                         *variant,
                                         x.array.dtype,
                                         {{"axis", std::int64_t{of_rows}}},
                                         {field(x, as_matrix(x))},
                                         {field(to, {to.array.count()})}});
  } else {
    without_gil(of_rows ? sum_rows : sum_columns, x.array, to.array);
    keep_until_done({&x, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_vecdot(nb::handle first, nb::handle second, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const a = input("x1", first, stream);
  Argument const b = input("x2", second, a);
  require_rank(a, 1, "one dimension");
  require_alike(a, b);
  require_shape(b, a.shape(), "x1 has it");
  Argument const to = result(out, a, a.array.dtype, {}, {&a, &b});
  if (variant) {
    without_gil(run_variant, VariantCall{"dot", *variant, a.array.dtype, {}, {field(a), field(b)}, {field(to)}});
  } else {
    without_gil(vecdot, a.array, b.array, to.array);
    keep_until_done({&a, &b, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_matmul(nb::handle first, nb::handle second, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const a = input("x1", first, stream);
  Argument const b = input("x2", second, a);
  require_rank(a, 2, "matrices [rows, cols]");
  require_rank(b, 2, "matrices [rows, cols]");
  require_alike(a, b);
  require_shape(b, {a.shape()[1], b.shape()[1]}, "it has as many rows as x1 has columns");
  Argument const to = result(out, a, a.array.dtype, {a.shape()[0], b.shape()[1]}, {&a, &b});
  if (variant) {
    without_gil(run_variant, VariantCall{"matmul", *variant, a.array.dtype, {}, {field(a), field(b)}, {field(to)}});
  } else {
    without_gil(matmul, a.array, b.array, to.array);
    keep_until_done({&a, &b, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_matrix_transpose(nb::handle object, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rank(x, 2, "a matrix [rows, cols]");
  Argument const to = result(out, x, x.array.dtype, {x.shape()[1], x.shape()[0]}, {&x});
  if (variant) {
    without_gil(run_variant, VariantCall{"transpose", *variant, x.array.dtype, {}, {field(x)}, {field(to)}});
  } else {
    without_gil(matrix_transpose, x.array, to.array);
    keep_until_done({&x, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_softmax(nb::handle object, std::int64_t axis, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rows(x);
  std::size_t const along = axis_of(x, axis);
  if (along + 1 != x.rank() && !(along == 0 && x.rank() == 2)) {
    throw std::invalid_argument("axis is " + std::to_string(axis) +
                                " (softmax takes the last axis, and the first of two); transpose x");
  }
  Argument const to = result_in_place(out, x, {}, variant);
  bool const of_rows = along + 1 == x.rank();
  if (variant) {
    without_gil(run_variant, VariantCall{"softmax",
                                         *variant,
                                         x.array.dtype,
                                         {{"axis", of_rows ? "rows" : "cols"}},
                                         {field(x, as_matrix(x))},
                                         {field(to, as_matrix(to))}});
  } else {
    without_gil(of_rows ? softmax_rows : softmax_columns, x.array, to.array);
    keep_until_done({&x, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_layer_norm(nb::handle object, nb::handle of_weight, nb::handle of_bias, double eps, nb::handle out,
                      Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  Argument const weight = input("weight", of_weight, x);
  Argument const bias = input("bias", of_bias, x);
  require_rows(x);
  for (Argument const* const of_cols : {&weight, &bias}) {
    require_alike(x, *of_cols);
    require_shape(*of_cols, {x.shape().back()}, "the last dimension of x has it");
  }
  Argument const to = result_in_place(out, x, {&weight, &bias}, variant);
  if (variant) {
    without_gil(run_variant, VariantCall{"layernorm",
                                         *variant,
                                         x.array.dtype,
                                         {{"eps", eps}},
                                         {field(x, as_matrix(x)), field(weight), field(bias)},
                                         {field(to, as_matrix(to))}});
  } else {
    without_gil(layer_norm, x.array, weight.array, bias.array, eps, to.array);
    keep_until_done({&x, &weight, &bias, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

WithNumber py_histogram(nb::handle object, std::int64_t bins, std::pair<double, double> range, nb::handle out,
                        Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  if (bins < 1) {
    throw std::invalid_argument("bins is " + std::to_string(bins) + " (there is at least one); give a larger number");
  }
  Argument const counts = result(out, x, DType::int64, {static_cast<std::size_t>(bins)}, {&x});
  Number outside(counts);
  if (variant) {
    without_gil(run_variant, VariantCall{"histogram",
                                         *variant,
                                         x.array.dtype,
                                         {{"bins", bins}, {"lo", range.first}, {"hi", range.second}},
                                         {field(x)},
                                         {field(counts), {&outside.array(), {}}}});
  } else {
    without_gil(histogram, x.array, range.first, range.second, counts.array, outside.array());
    if (x.array.stream) without_gil(wait_for_stream_of, x.array);  // one of the results is read here
  }
  return WithNumber(nb::make_tuple(returned(counts), outside.value()));
}

nb::any py_sort(nb::handle object, bool descending, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rank(x, 1, "one dimension");
  Argument const to = result(out, x, x.array.dtype, x.shape(), {&x});
  if (variant) {
    without_gil(run_variant, VariantCall{"sort",
                                         *variant,
                                         x.array.dtype,
                                         {{"descending", descending}},
                                         {field(x), no_elements(), no_elements()},
                                         {field(to)}});
  } else {
    without_gil(sort, x.array, descending, to.array);
    keep_until_done({&x, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_argsort(nb::handle object, bool descending, nb::handle out, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rank(x, 1, "one dimension");
  Argument const to = result(out, x, DType::int64, x.shape(), {&x});
  without_gil(argsort, x.array, descending, to.array);
  keep_until_done({&x, &to});
  return nb::borrow<nb::any>(returned(to));
}

TwoArrays py_topk(nb::handle object, std::int64_t k, std::int64_t axis, bool largest, bool /*sorted*/, nb::handle out,
                  Variant const& variant, nb::handle stream) {
  Argument const x = input("input", object, stream);
  require_rows(x);
  if (axis_of(x, axis) + 1 != x.rank()) {
    throw std::invalid_argument("dim is " + std::to_string(axis) + " (topk takes the last dimension); transpose input");
  }
  if (!largest) throw std::invalid_argument("largest is False (the kernel finds the largest); give the negative input");
  if (k < 0 || static_cast<std::size_t>(k) > x.shape().back()) {
    throw std::invalid_argument("k is " + std::to_string(k) + " (rows have " + std::to_string(x.shape().back()) +
                                " elements); choose k from 0 to that");
  }
  nb::object out_values = nb::none();
  nb::object out_indices = nb::none();
  if (!out.is_none()) {
    if (!nb::isinstance<nb::tuple>(out) || nb::len(out) != 2) {
      throw WrongType("out is no pair (values, indices); give a tuple of two arrays");
    }
    out_values = out[0];
    out_indices = out[1];
  }
  Shape shape = x.shape();
  shape.back() = static_cast<std::size_t>(k);
  Argument const values = result(out_values, x, x.array.dtype, shape, {&x});
  Argument const indices = result(out_indices, x, DType::int64, shape, {&x, &values});
  if (variant) {
    without_gil(run_variant, VariantCall{"top_k",
                                         *variant,
                                         x.array.dtype,
                                         {{"k", k}},
                                         {field(x, as_matrix(x))},
                                         {field(values, as_matrix(values)), field(indices, as_matrix(indices))}});
  } else {
    without_gil(topk, x.array, values.array, indices.array);
    keep_until_done({&x, &values, &indices});
  }
  return nb::borrow<TwoArrays>(topk_tuple(returned(values), returned(indices)));
}

TwoArrays py_unique_counts(nb::handle object, nb::handle stream) {
  Argument const x = input("x", object, stream);
  Shape const most = {x.array.count()};
  Argument const values = result(nb::none(), x, x.array.dtype, most, {&x});
  Argument const counts = result(nb::none(), x, DType::int64, most, {&x});
  std::int64_t const runs = without_gil(unique_counts, x.array, values.array, counts.array);
  keep_until_done({&x, &values, &counts});
  nb::slice const written(nb::int_(0), nb::int_(runs), nb::int_(1));
  auto const first = [&](Argument const& all) { return nb::object(returned(all)[written]); };
  return nb::borrow<TwoArrays>(unique_counts_tuple(first(values), first(counts)));
}

nb::any py_take(nb::handle object, nb::handle of_indices, nb::handle axis, nb::handle out, nb::handle stream) {
  Argument const x = input("x", object, stream);
  Argument const indices = input("indices", of_indices, x);
  require_rows(x);
  require_rank(indices, 1, "one dimension of indices");
  if (indices.array.dtype != DType::int32 && indices.array.dtype != DType::int64) {
    throw WrongType("indices has dtype " + numpy_name(indices.array.dtype) +
                    " (indices are int32 or int64); convert it first");
  }
  require_one_device(x, indices);
  if (axis.is_none() && x.rank() > 1) {
    throw std::invalid_argument("axis is None (x has " + std::to_string(x.rank()) + " dimensions); give axis=0");
  }
  if (!axis.is_none() && axis_of(x, nb::cast<std::int64_t>(axis)) != 0) {
    throw std::invalid_argument("axis is " + std::to_string(nb::cast<std::int64_t>(axis)) +
                                " (take copies along the first axis); transpose x");
  }
  Shape shape = x.shape();
  shape[0] = indices.array.count();
  Argument const to = result(out, x, x.array.dtype, shape, {&x, &indices});
  std::int64_t const outside = without_gil(take, x.array, indices.array, to.array);
  keep_until_done({&x, &indices, &to});
  if (outside > 0) {
    throw std::out_of_range("indices has " + std::to_string(outside) + " outside of x (its first dimension is " +
                            std::to_string(x.shape()[0]) + "); correct them");
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_linear(nb::handle object, nb::handle of_weight, nb::handle of_bias, nb::handle out, nb::handle stream) {
  Argument const x = input("input", object, stream);
  Argument const weight = input("weight", of_weight, x);
  require_rows(x);
  require_rank(weight, 2, "a matrix [outputs, inputs]");
  require_alike(x, weight);
  require_shape(weight, {weight.shape()[0], x.shape().back()}, "it has as many columns as input");
  std::optional<Argument> bias;
  if (!of_bias.is_none()) {
    bias = input("bias", of_bias, x);
    require_alike(x, *bias);
    require_shape(*bias, {weight.shape()[0]}, "weight has as many rows");
  }
  Shape shape = x.shape();
  shape.back() = weight.shape()[0];
  Argument const& third = bias ? *bias : weight;
  Argument const to = result(out, x, x.array.dtype, shape, {&x, &weight, &third});
  without_gil(linear, x.array, weight.array, bias ? &bias->array : nullptr, to.array);
  keep_until_done({&x, &weight, &third, &to});
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_embedding(nb::handle of_indices, nb::handle of_weight, nb::handle out, Variant const& variant,
                     nb::handle stream) {
  Argument const indices = input("indices", of_indices, stream);
  Argument const weight = input("weight", of_weight, stream);
  require_rank(indices, 1, "one dimension of indices");
  require_rank(weight, 2, "a matrix [rows, cols]");
  if (indices.array.dtype != DType::int32) {
    throw WrongType("indices has dtype " + numpy_name(indices.array.dtype) + " (indices are int32); convert it first");
  }
  require_one_device(weight, indices);
  Argument const to =
      result(out, weight, weight.array.dtype, {indices.shape()[0], weight.shape()[1]}, {&indices, &weight});
  if (variant) {
    without_gil(run_variant, VariantCall{"embedding",
                                         *variant,
                                         weight.array.dtype,
                                         {},
                                         {field(indices, {1, indices.array.count()}), field(weight)},
                                         {field(to, {1, to.shape()[0], to.shape()[1]})}});
  } else {
    without_gil(embedding, indices.array, weight.array, to.array);
    keep_until_done({&weight, &indices, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

WithNumber py_partition(nb::handle object, double below, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rank(x, 1, "one dimension");
  Argument const to = result(out, x, x.array.dtype, x.shape(), {&x});
  if (variant) {
    Number count(to);
    without_gil(
        run_variant,
        VariantCall{
            "partition", *variant, x.array.dtype, {{"pivot", below}}, {field(x)}, {field(to), {&count.array(), {1}}}});
    return WithNumber(nb::make_tuple(returned(to), count.value()));
  }
  std::int64_t const count = without_gil(partition, x.array, below, to.array);
  return WithNumber(nb::make_tuple(returned(to), count));
}

nb::any py_conv1d(nb::handle object, nb::handle of_weight, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  Argument const weight = input("weight", of_weight, x);
  require_rank(x, 1, "one dimension");
  require_rank(weight, 1, "one dimension");
  require_alike(x, weight);
  Argument const to = result(out, x, x.array.dtype, x.shape(), {&x, &weight});
  if (variant) {
    without_gil(run_variant,
                VariantCall{"conv1d", *variant, x.array.dtype, {}, {field(x), field(weight)}, {field(to)}});
  } else {
    without_gil(conv1d, x.array, weight.array, to.array);
    keep_until_done({&x, &weight, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_conv2d(nb::handle object, nb::handle of_weight, nb::handle out, Variant const& variant, nb::handle stream) {
  Argument const x = input("x", object, stream);
  Argument const weight = input("weight", of_weight, x);
  require_rank(x, 2, "a matrix [rows, cols]");
  require_rank(weight, 2, "a matrix [rows, cols]");
  require_alike(x, weight);
  Argument const to = result(out, x, x.array.dtype, x.shape(), {&x, &weight});
  if (variant) {
    without_gil(run_variant,
                VariantCall{"conv2d", *variant, x.array.dtype, {}, {field(x), field(weight)}, {field(to)}});
  } else {
    without_gil(conv2d, x.array, weight.array, to.array);
    keep_until_done({&x, &weight, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

nb::any py_attention(nb::handle of_query, nb::handle of_key, nb::handle of_value, nb::handle mask, bool causal,
                     std::optional<double> scale, nb::handle out, Variant const& variant, nb::handle stream) {
  if (!mask.is_none()) {
    throw std::invalid_argument(
        "attn_mask is given (is_causal=True is the only mask: a query sees the keys up to its own place); leave it "
        "out");
  }
  Argument const query = input("query", of_query, stream);
  Argument const key = input("key", of_key, query);
  Argument const value = input("value", of_value, query);
  if (query.rank() < 2) require_rank(query, 2, "matrices [tokens, dim], which others may lead");
  for (Argument const* const one : {&key, &value}) {
    require_rank(*one, query.rank(), "as many dimensions as query has");
    require_alike(query, *one);
  }
  std::size_t const dim = query.shape().back();
  Shape of_keys = query.shape();
  of_keys[of_keys.size() - 2] = key.shape()[of_keys.size() - 2];
  require_shape(key, of_keys, "query has as many columns, and the same leading dimensions");
  require_shape(value, of_keys, "key has it");
  if (causal && variant) throw std::invalid_argument("is_causal is True (variants see all keys); leave variant out");
  Argument const to = result(out, query, query.array.dtype, query.shape(), {&query, &key, &value});
  double const factor = scale.value_or(dim == 0 ? 1.0 : 1 / std::sqrt(static_cast<double>(dim)));
  if (variant) {
    require_rank(query, 2, "matrices [tokens, dim] if a variant is named");
    without_gil(run_variant, VariantCall{"attention",
                                         *variant,
                                         query.array.dtype,
                                         {{"scale", factor}},
                                         {field(query), field(key), field(value)},
                                         {field(to)}});
  } else {
    without_gil(scaled_dot_product_attention, query.array, key.array, value.array, causal, factor, to.array);
    keep_until_done({&query, &key, &value, &to});
  }
  return nb::borrow<nb::any>(returned(to));
}

void translate(std::exception_ptr const& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (WrongType const& wrong) {
    PyErr_SetString(PyExc_TypeError, wrong.what());
  } catch (Skip const& skip) {
    PyErr_SetString(PyExc_ValueError, skip.what());
  } catch (UserError const& mistake) {
    PyErr_SetString(PyExc_ValueError, mistake.what());
  }
}

}  // namespace

NB_MODULE(_tessera, m) {
  nb::register_exception_translator(translate);
  m.def("_finish", [] {
    finish_calls();
    finish();
  });
  m.def("_is_main_interpreter", [] { return PyInterpreterState_GetID(PyInterpreterState_Get()) == 0; });
  m.def("_seconds_in_launches", [] { return without_gil(seconds_in_launches); });
  add_operations(m);
  topk_tuple = named_tuple("topk", "values", "indices");
  unique_counts_tuple = named_tuple("unique_counts", "values", "counts");
  nb::list dtypes;
  for (DType const dtype : built_dtypes()) dtypes.append(numpy_name(dtype));
  m.attr("dtypes") = nb::tuple(dtypes);
  nb::list devices;
  for (std::string const& device : built_devices()) devices.append(device);
  m.attr("devices") = nb::tuple(devices);

  m.def(
      "workspaces",
      []() -> nb::typed<nb::dict, nb::str, int> {
        Workspaces const now = without_gil(workspaces);
        nb::typed<nb::dict, nb::str, int> result;
        result["objects"] = now.objects;
        result["bytes"] = now.bytes;
        result["limit"] = now.limit;
        return result;
      },
      "Returns the number of kernel objects that are kept, the bytes of their workspaces, and the limit in bytes.");
  m.def(
      "clear_workspaces",
      [] {
        finish_calls();
        without_gil(clear_workspaces);
      },
      "Frees all kept kernel objects and their workspaces, and lets go of arguments of calls on streams, after the "
      "work that uses them.");
  m.def(
      "limit_workspaces", [](std::size_t bytes) { without_gil(limit_workspaces, bytes); }, "bytes"_a,
      "Keeps workspaces of at most that many bytes from now on. 0: each call allocates and frees its own.");

  m.def("cumulative_sum", &py_cumulative_sum, "x"_a.none(), nb::kw_only(), "dtype"_a = nb::none(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns the sums of the first elements: out[i] = x[0] + ... + x[i], for x of one dimension.\n\n"
        "Sums have the dtype of x. int32 wraps, and needs dtype=\"int32\". `out` may be x.");
  m.def("sum", &py_sum, "x"_a.none(), nb::kw_only(), "axis"_a = nb::none(), "dtype"_a = nb::none(),
        "out"_a = nb::none(), "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns the sum of all elements as an array of no dimension, or the sums along the last axis, or along the "
        "first of two.\n\nSums have the dtype of x. int32 wraps, and needs dtype=\"int32\".");
  m.def("vecdot", &py_vecdot, "x1"_a.none(), "x2"_a.none(), nb::kw_only(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns the sum of x1[i] * x2[i], for arrays of one dimension, as an array of no dimension. int32 wraps.");
  m.def("matmul", &py_matmul, "x1"_a.none(), "x2"_a.none(), nb::kw_only(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns the product of the matrices x1 [m, k] and x2 [k, n]. int32 wraps.");
  m.def("matrix_transpose", &py_matrix_transpose, "x"_a.none(), nb::kw_only(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns the transpose of the matrix x, in memory of its own.");
  m.def("softmax", &py_softmax, "x"_a.none(), "axis"_a = -1, nb::kw_only(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns exp(x - max) / sum(exp(x - max)) along the last axis, or along the first of two. `out` may be x.\n\n"
        "A row with NaN or infinity, or with nothing but -infinity, becomes NaN.");
  m.def("layer_norm", &py_layer_norm, "x"_a.none(), "weight"_a.none(), "bias"_a.none(), "eps"_a = 1e-5, nb::kw_only(),
        "out"_a = nb::none(), "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns (x - mean) / sqrt(variance + eps) * weight + bias, of each row of the last dimension. `out` may be "
        "x.");
  m.def("histogram", &py_histogram, "x"_a.none(), "bins"_a = 10, nb::kw_only(), "range"_a, "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns (counts, outside): the elements in each of the equal bins over [lo, hi), int64, and the number of "
        "elements in no bin.\n\nA bin is half open, also the last: NumPy counts x == hi in the last bin.");
  m.def("sort", &py_sort, "x"_a.none(), nb::kw_only(), "descending"_a = false, "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns the elements of x, of one dimension, in order. NaN is last, also if descending. Stable.");
  m.def("argsort", &py_argsort, "x"_a.none(), nb::kw_only(), "descending"_a = false, "out"_a = nb::none(),
        "stream"_a = nb::none(),
        "Returns the places, int64, of the elements of x, of one dimension, in order. NaN is last. Stable.");
  m.def("topk", &py_topk, "input"_a.none(), "k"_a, "dim"_a = -1, "largest"_a = true, "sorted"_a = true, nb::kw_only(),
        "out"_a = nb::none(), "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns (values, indices): the k largest elements of each row of the last dimension, the largest first, and "
        "their places in the row, int64. NaN is above all numbers; of equal elements the first places are taken.\n\n"
        "`largest` must be True. `out` is a tuple of two arrays.");
  m.def("unique_counts", &py_unique_counts, "x"_a.none(), nb::kw_only(), "stream"_a = nb::none(),
        "Returns (values, counts): the different elements of x in order, and how often each occurs, int64. Waits.\n\n"
        "NaN is last, and each NaN is an element of its own. Both results are views of as much memory as x has "
        "elements.");
  m.def("take", &py_take, "x"_a.none(), "indices"_a.none(), nb::kw_only(), "axis"_a = nb::none(), "out"_a = nb::none(),
        "stream"_a = nb::none(),
        "Returns x[indices[i], ...] for each i: elements along the first axis. Indices, of one dimension, are int32 or "
        "int64; negative ones count from the end.\n\n"
        "Raises IndexError for an index outside of x. A call on a stream cannot: it gives zeros.");
  m.def("linear", &py_linear, "input"_a.none(), "weight"_a.none(), "bias"_a = nb::none(), nb::kw_only(),
        "out"_a = nb::none(), "stream"_a = nb::none(),
        "Returns input weight^T + bias, for input [..., inputs], weight [outputs, inputs] and bias [outputs]. int32 "
        "wraps.");
  m.def("embedding", &py_embedding, "indices"_a.none(), "weight"_a.none(), nb::kw_only(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns the rows weight[indices[i], :]. Indices are int32. An index outside of the matrix, also -1, gives a "
        "row of zeros.");
  m.def("partition", &py_partition, "x"_a.none(), nb::kw_only(), "below"_a, "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns (y, count): first the `count` elements below the bound, then all others, both in their order.\n\n"
        "numpy.partition is another function: it selects by place.");
  m.def("conv1d", &py_conv1d, "x"_a.none(), "weight"_a.none(), nb::kw_only(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns out[i] = x[i] * weight[0] + x[i + 1] * weight[1] + ..., for terms inside x, of one dimension.\n\n"
        "PyTorch's conv1d gives the same for one channel with len(weight) - 1 zeros behind x.");
  m.def("conv2d", &py_conv2d, "x"_a.none(), "weight"_a.none(), nb::kw_only(), "out"_a = nb::none(),
        "variant"_a = nb::none(), "stream"_a = nb::none(),
        "Returns out[r, c] = the sum of x[r + i, c + j] * weight[i, j], for terms inside the matrix x.\n\n"
        "PyTorch's conv2d gives the same for one channel with zeros below and to the right of x.");
  m.def(
      "scaled_dot_product_attention", &py_attention, "query"_a.none(), "key"_a.none(), "value"_a.none(), nb::kw_only(),
      "attn_mask"_a = nb::none(), "is_causal"_a = false, "scale"_a = nb::none(), "out"_a = nb::none(),
      "variant"_a = nb::none(), "stream"_a = nb::none(),
      "Returns softmax(scale * query key^T) value, for matrices [tokens, dim] with dim up to 256, or for each of many "
      "with the same leading dimensions: [batch, heads, tokens, dim].\n\n"
      "`scale` is 1 / sqrt(dim) unless it is given. If `is_causal`, a query sees the keys up to its own "
      "place. `attn_mask` must be None.");
}

}  // namespace tessera::python
