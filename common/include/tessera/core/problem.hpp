#pragma once
/// \file
/// Concepts for mini-apps and variants: what a Problem and a variant must define, checked by the compiler.

#include <concepts>
#include <cstddef>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera {

/// The input of a problem in the memory of an execution space. The elements of its views are const.
template <class Problem, class Exec, class T>
using InputOn = typename Problem::template Input<T, typename Exec::memory_space>;

/// The output of a problem in the memory of an execution space.
template <class Problem, class Exec, class T>
using OutputOn = typename Problem::template Output<T, typename Exec::memory_space>;

/// Both in host memory.
template <class Problem, class T>
using InputOnHost = typename Problem::template Input<T, Kokkos::HostSpace>;
template <class Problem, class T>
using OutputOnHost = typename Problem::template Output<T, Kokkos::HostSpace>;

/// A struct of views with names. `names` and `fields(self)` are in the same order, so that reading, copying, comparing
/// and writing are generic.
template <class F>
concept Fields = requires(F& fields) {
  F::names.size();
  std::tuple_size<decltype(F::fields(fields))>::value;
} && F::names.size() == std::tuple_size_v<decltype(F::fields(std::declval<F&>()))>;

/// The problem that a mini-app solves.
///
/// - `info`: its description.
/// - `Parameters`: a struct of scalars. `Parameters::specs()` describes its members (core/parameters.hpp).
///   `Parameters::check()`, optional: throws UserError if the parameters contradict each other.
/// - `Input<T, Memory>`, `Output<T, Memory>`: Fields; the input also contains `parameters`. With `static constexpr bool
///   vector_as_row = true` a file may hold each of its matrices as a vector [n], which is read as one row [1, n]. With
///   `static constexpr std::size_t required` a file may leave out the fields behind the first `required`. They are
///   vectors, and then [0]. An input without fields (NoInput) has count_parameter() and dtype_parameter() among its
///   parameters, and its Problem has reference_of_part if it runs on ranks.
/// - `input_shapes(size, parameters)`: returns the input shapes for a `--size`.
/// - `output_shapes(shapes, parameters)`: returns the output shapes. Throws UserError, naming both shapes, if the
///   input's shapes do not match.
/// - `element<T>(draw, parameters)`: returns the generated value of an element. A pure function of the Draw
///   (core/random.hpp), so that any rank and any thread can generate its part.
/// - `data`, optional: an array of the DataKinds that `element` supports, the default first. Default: only random.
/// - `short_floats`, optional: true if it has rows in Half and BFloat16 (core/half.hpp), in builds with these dtypes.
/// - `more_integers`, optional: true if it has rows in int64, uint32 and uint64, in builds with int32. Fields of
///   64 bits are then ExpectedField::moved, because a double has only 53.
/// - `check(parameters, dtype)`, optional: throws UserError if a parameter does not suit the dtype (a constant of 2.5
///   for int32). Called before any data are made.
/// - `check_source(dtype, source)`, optional: throws UserError if values of a file are no input, such as offsets that
///   fall. Called before anything runs; it reads the fields that it checks.
/// - `terms(shapes, parameters)`, optional: returns the number of terms in the longest sum of an output; default:
///   rounding_steps. A row is `weak` if its check could not have detected the loss of one tile of these terms.
/// - `work(shapes, parameters, dtype)`: returns the least work, independent of the variant.
/// - `rounding_steps(shapes, parameters)`: returns the longest chain of roundings of any variant. A Plan may state a
///   shorter chain.
/// - `input_split(parameters)`, `output_split(parameters)`, optional, both or neither: how the ranks share each field
///   (Split), in the order of the fields. With them the mini-app has variants of level `ranks`.
/// - `reference_of_part<T>(input, part)`, optional: returns the reference of a rank's own part of the output, from its
///   part of the input and a ranks::Part. Without it each rank runs the reference on the whole input.
/// - `rows_apart`, optional: true if a row of the output needs only the same row of split inputs, and whole inputs. The
///   reference of a rank's part is then the reference run on its part of the input. With this or `reach` all cores
///   compute the reference of some rows at a time (verify/joined.hpp).
/// - `reference_rows`, optional: the fewest rows of the output that a part of the reference should have.
/// - `own_parts`, optional: true if the reference works in parts of its own, on all cores, and keeps its elements as
///   MovedElements or BoundedElements do (verify/joined.hpp). Then it is never that of some rows.
/// - `reach(shapes, parameters)`, optional: how many rows of the split inputs beside a row the same row of the output
///   needs (ranks::Reach); all outputs must be split. With it each rank runs the reference on its own rows and more
///   rows beside them than the reach. It makes or reads these again, and does not use what variants have received. If
///   Parameters have a member `first`, it is set to the index of the first of these rows.
/// - `needs(shapes, output_boxes)`, optional: the part of each input field (ranks::Box) that the reference needs for
///   these parts of the output: reference<T>(those) gives these. With it each rank runs the reference on them, made or
///   read again; and --verify sample:N computes no more than it compares.
/// - `reference_of_rows<T>(input, rows)`, optional, with one output: returns the reference of these rows of it (indices
///   over all dimensions but the last, ascending) as a matrix. With it --verify sample:N computes only the rows that it
///   compares.
/// - `grid(shapes, parameters, ranks)`, where a field has Split::grid: the grid (ranks::Grid) of that many ranks.
///   Throws UserError if there is none.
/// - `reference_doubles`, optional: the most numbers that an element of the reference takes: 1: a value; 2, the
///   default: also a scale; 3: also an offset. It tells in advance whether a case fits into memory. An element of a
///   large reference of floats in parts takes 4 bytes without bounds and 8 with them (verify/compact.hpp).
///   `exact_reference_doubles`, optional: the same for generated exact data, for which no scale is made.
/// - `reference_temporaries(shapes, dtype)`, optional: bytes that the reference needs while it is computed, without its
///   result.
/// - `moved_copies`, optional: the reference is ExpectedField::moved, and computing it takes so many copies of the
///   output.
/// - `bfloat16_bounds`, optional: true if the reference has bounds for factors rounded to bfloat16. It is then not
///   compact.
/// - `raw_bytes(parameters, take)`, optional: passes the bytes of a stream to `take` until it returns false, for --raw
///   (App::raw_bytes).
/// - `reference<T>(input)`: the serial oracle. It gives each element's value and the scale of its error; ExpectedField
///   (core/types.hpp) says what a scale of 0 or infinity means.
template <class P, class T>
concept ProblemFor = Fields<InputOnHost<P, T>> && Fields<OutputOnHost<P, T>> &&
                     requires(typename P::Parameters const& parameters, std::vector<Shape> const& shapes,
                              InputOnHost<P, T> const& input, std::size_t size, Draw const& draw) {
                       { P::info } -> std::convertible_to<AppInfo>;
                       { P::Parameters::specs() } -> std::same_as<MemberSpecs<typename P::Parameters>>;
                       { P::input_shapes(size, parameters) } -> std::same_as<std::vector<Shape>>;
                       { P::output_shapes(shapes, parameters) } -> std::same_as<std::vector<Shape>>;
                       { P::template element<T>(draw, parameters) } -> std::convertible_to<double>;
                       { P::work(shapes, parameters, DType::float32) } -> std::same_as<Work>;
                       { P::rounding_steps(shapes, parameters) } -> std::same_as<double>;
                       { P::template reference<T>(input) } -> std::same_as<std::vector<ExpectedField>>;
                     };

/// True if the Problem has rows in Half and BFloat16.
template <class P>
inline constexpr bool has_short_floats = requires { requires P::short_floats; };

/// True if the Problem has rows in int64, uint32 and uint64.
template <class P>
inline constexpr bool has_more_integers = requires { requires P::more_integers; };

/// True if the Problem defines how the ranks share its fields.
template <class P>
concept Distributed = requires(typename P::Parameters const& parameters) {
  { P::input_split(parameters) } -> std::same_as<std::vector<Split>>;
  { P::output_split(parameters) } -> std::same_as<std::vector<Split>>;
};

/// Returns the kinds of data that a Problem can generate, the default first.
template <class P>
[[nodiscard]] std::vector<DataKind> data_kinds_of() {
  if constexpr (requires { P::data; }) {
    return {P::data.begin(), P::data.end()};
  } else {
    return {DataKind::random};
  }
}

/// Returns the number of terms in the longest sum of an output.
template <class P>
[[nodiscard]] double terms_of(std::vector<Shape> const& shapes, typename P::Parameters const& parameters) {
  if constexpr (requires { P::terms(shapes, parameters); }) {
    return static_cast<double>(P::terms(shapes, parameters));
  } else {
    return P::rounding_steps(shapes, parameters);
  }
}

namespace detail {

// Whether a variant has a member of that name, for whichever types: a class derived from it and from Names then finds
// the name twice.
struct Names {
  int Plan;
  int run;
};
template <class V>
struct WithNames : V, Names {};
template <class V>
inline constexpr bool has_plan = !requires { &WithNames<V>::Plan; };
template <class V>
inline constexpr bool has_function = !requires { &WithNames<V>::run; };

// Whether a call with the elements of a tuple is possible and returns nothing.
template <class Callable, class Arguments>
inline constexpr bool takes = false;
template <class Callable, class... Arguments>
inline constexpr bool takes<Callable, std::tuple<Arguments...>> = requires(Callable& callable, Arguments... arguments) {
  { callable(arguments...) } -> std::same_as<void>;
};

// The arguments of a call on views: exec, and the fields of input and output in their order.
template <class Exec, class Input, class Output>
[[nodiscard]] auto views_of(Exec const& exec, Input const& input, Output const& output) {
  return std::tuple_cat(std::tie(exec), Input::fields(input), Output::fields(output));
}
// The same with the parameters behind the views.
template <class Exec, class Input, class Output>
[[nodiscard]] auto views_and_parameters(Exec const& exec, Input const& input, Output const& output) {
  return std::tuple_cat(views_of(exec, input, output), std::tie(input.parameters));
}

// The forms of a variant's call: on views, which the parameters may follow, or on Input and Output. Views come first:
// a kernel with one input and one output may take any type.
template <class Plan, class Exec, class Input, class Output>
concept CallableOnViews = takes<Plan, decltype(views_of(Exec(), Input(), Output()))>;
template <class Plan, class Exec, class Input, class Output>
concept CallableWithParameters = takes<Plan, decltype(views_and_parameters(Exec(), Input(), Output()))>;
template <class Plan, class Exec, class Input, class Output>
concept CallableInAForm =
    CallableOnViews<Plan, Exec, Input, Output> || CallableWithParameters<Plan, Exec, Input, Output> ||
    takes<Plan, std::tuple<Exec const&, Input const&, Output const&>>;

template <class Exec, class Input, class Output, CallableInAForm<Exec, Input, Output> Plan>
void enqueue(Plan& plan, Exec const& exec, Input const& input, Output const& output) {
  if constexpr (CallableOnViews<Plan, Exec, Input, Output>) {
    std::apply(plan, views_of(exec, input, output));
  } else if constexpr (CallableWithParameters<Plan, Exec, Input, Output>) {
    std::apply(plan, views_and_parameters(exec, input, output));
  } else {
    plan(exec, input, output);
  }
}

// The Plan of a variant that is a function: nothing is prepared.
template <class V, class P, class Exec, class T>
struct FunctionPlan {
  FunctionPlan(Exec const&, InputOn<P, Exec, T> const&) {}

  template <class... Arguments>
  auto operator()(Arguments const&... arguments) const -> decltype(V::template run<Exec, T>(arguments...)) {
    return V::template run<Exec, T>(arguments...);
  }
};

template <class V, class P, class Exec, class T>
struct ChosenPlan {
  using type = FunctionPlan<V, P, Exec, T>;
};
template <class V, class P, class Exec, class T>
  requires requires { typename V::template Plan<Exec, T>; }
struct ChosenPlan<V, P, Exec, T> {
  using type = typename V::template Plan<Exec, T>;
};

}  // namespace detail

/// A variant that prepares something has a class template `Plan<Exec, T>`; one without state has a static function
/// template `run<Exec, T>`.
template <class V>
concept PlanOrFunction = detail::has_plan<V> != detail::has_function<V>;

/// True if a variant declares support: its Plan or function has no `requires` clause, or the clause holds.
template <class V, class Exec, class T>
concept DeclaredFor = requires { typename V::template Plan<Exec, T>; } || requires { V::template run<Exec, T>; };

/// The variant's Plan; a Plan that only calls it if the variant is a function.
template <class V, class P, class Exec, class T>
using PlanOf = typename detail::ChosenPlan<V, P, Exec, T>::type;

/// A variant's Plan can be constructed from (exec, input). The constructor allocates and chooses; it is not timed.
template <class V, class P, class Exec, class T>
concept Plannable = std::constructible_from<PlanOf<V, P, Exec, T>, Exec const&, InputOn<P, Exec, T> const&>;

/// A variant's Plan or function can be called with (exec, views of input and output), which the parameters may follow,
/// or with (exec, input, output), and returns void: it only enqueues.
template <class V, class P, class Exec, class T>
concept Enqueueable = detail::CallableInAForm<PlanOf<V, P, Exec, T>, Exec, InputOn<P, Exec, T>, OutputOn<P, Exec, T>>;

/// A variant has its name, level and summary.
template <class V>
concept Described = requires {
  { V::info } -> std::convertible_to<VariantInfo>;
};

}  // namespace tessera
