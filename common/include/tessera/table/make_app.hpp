#pragma once
/// \file
/// From types to the table: turns a Problem and its variants into an App, the plain data that the driver uses.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tessera/core/config.hpp>
#include <tessera/core/fields.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/poisoned_allocations.hpp>
#include <tessera/table/references.hpp>
#include <tessera/table/row_memory.hpp>
#include <tessera/table/untyped.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera {

/// A variant of level `ranks`: its Plan also takes a ranks::Part.
template <class V, class P, class Exec, class T>
concept PlannableOnRanks = std::constructible_from<typename V::template Plan<Exec, T>, Exec const&,
                                                   InputOn<P, Exec, T> const&, ranks::Part const&>;

namespace detail {

template <class Problem>
concept RefersToParts = requires(InputOnHost<Problem, float> const& input, ranks::Part const& part) {
  Problem::template reference_of_part<float>(input, part);
};

template <class Problem>
concept Reaches = requires(std::vector<Shape> const& shapes, typename Problem::Parameters const& parameters) {
  { Problem::reach(shapes, parameters) } -> std::same_as<ranks::Reach>;
};

template <class Problem>
concept RowsApart = Problem::rows_apart;

template <class Problem>
concept Needs = requires(std::vector<Shape> const& shapes, std::vector<ranks::Box> const& output) {
  { Problem::needs(shapes, output) } -> std::same_as<std::vector<ranks::Box>>;
};

/// It can compute the reference of some rows of its only output, all dimensions but the last.
template <class Problem>
concept RefersToSomeRows = requires(InputOnHost<Problem, float> const& input, std::vector<std::size_t> const& rows) {
  { Problem::template reference_of_rows<float>(input, rows) } -> std::same_as<ExpectedField>;
};

/// Its reference works in parts of its own, and on one rank keeps large fields as floats.
template <class Problem>
concept OwnParts = Problem::own_parts;

/// Its reference has bounds for factors rounded to bfloat16, which no compact element holds.
template <class Problem>
concept HasBFloat16Bounds = Problem::bfloat16_bounds;

/// Rows of the output have nothing to do with each other, and the Problem says which rows of the input they need.
template <class Problem>
concept RefersToRows = Distributed<Problem> && (RowsApart<Problem> || Reaches<Problem>) && !OwnParts<Problem>;

/// Returns the grid of ranks of a Problem whose fields are split over a grid; otherwise an empty grid.
template <class Problem>
[[nodiscard]] ranks::Grid grid_of(std::vector<Shape> const& shapes, typename Problem::Parameters const& parameters) {
  if constexpr (requires { Problem::grid(shapes, parameters, 1); }) {
    return Problem::grid(shapes, parameters, ranks::world().count());
  } else {
    return {};
  }
}

/// Returns how the fields are split over the ranks; every rank has whole fields if the Problem defines no split.
template <class Problem>
[[nodiscard]] Splits output_splits_of(std::vector<Shape> const& input, typename Problem::Parameters const& parameters) {
  if constexpr (Distributed<Problem>) {
    return {Problem::output_split(parameters), grid_of<Problem>(input, parameters)};
  } else {
    return {std::vector<Split>(OutputOnHost<Problem, float>::names.size(), Split::whole)};
  }
}
template <class Problem>
[[nodiscard]] Splits input_splits_of(std::vector<Shape> const& input, typename Problem::Parameters const& parameters) {
  if constexpr (Distributed<Problem>) {
    return {Problem::input_split(parameters), grid_of<Problem>(input, parameters)};
  } else {
    return {std::vector<Split>(InputOnHost<Problem, float>::names.size(), Split::whole)};
  }
}

/// Returns the number of output rows in one part of the reference. 0: the reference is computed as a whole, because an
/// output is not split into rows or is empty, or because a row needs almost all other rows.
template <class Problem>
[[nodiscard]] std::size_t rows_of_part(std::vector<Shape> const& input, std::vector<Shape> const& output,
                                       typename Problem::Parameters const& parameters) {
  if constexpr (!RefersToRows<Problem>) {
    return 0;
  } else {
    std::vector<Split> const splits = output_splits_of<Problem>(input, parameters).of_fields;
    std::size_t largest = 0;
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (splits[i] != Split::rows || output[i].empty() || output[i].front() != output[0].front()) return 0;
      largest = std::max(largest, count_of(output[i]));
    }
    if (largest == 0) return 0;
    std::size_t const rows = output[0].front();
    std::size_t of_part = std::max<std::size_t>(1, part_elements() / (largest / rows));
    if constexpr (requires { Problem::reference_rows; }) {
      of_part = std::max<std::size_t>(of_part, Problem::reference_rows);
    }
    if constexpr (Reaches<Problem>) {
      ranks::Reach const reach = Problem::reach(input, parameters);
      if (reach.before >= rows / 32 || reach.behind >= rows / 32) return 0;
      of_part = std::max(of_part, 16 * (reach.before + reach.behind));  // little is computed twice
    }
    return of_part;
  }
}

template <class Problem, class T>
class TypedCase final : public UntypedCase {
 public:
  using HostInput = InputOnHost<Problem, T>;

  TypedCase(CaseFields&& fields, ParameterMap const& parameters, MakeBoxes&& make_boxes)
      : UntypedCase(dtype_of<T>, std::move(fields), parameters, std::move(make_boxes)) {
    input_.parameters = typed_parameters<typename Problem::Parameters>(parameters);
    wrap_fields(input_, this->fields().own, pointers_to(this->fields().memory));
  }

  void tune(ParameterMap const& parameters) override {
    set_parameters(parameters);
    input_.parameters = typed_parameters<typename Problem::Parameters>(parameters);
  }
  [[nodiscard]] std::vector<Shape> whole_output() const override {
    return Problem::output_shapes(part().input, input_.parameters);
  }
  [[nodiscard]] Splits input_splits() const override {
    return input_splits_of<Problem>(part().input, input_.parameters);
  }
  [[nodiscard]] Splits output_splits() const override {
    return output_splits_of<Problem>(part().input, input_.parameters);
  }
  [[nodiscard]] Work work() const override { return Problem::work(part().input, input_.parameters, dtype_of<T>); }
  [[nodiscard]] double terms() const override { return terms_of<Problem>(part().input, input_.parameters); }
  [[nodiscard]] std::vector<ExpectedField> reference() const override {
    if (auto none = without_elements()) return *std::move(none);
    if (part().ranks.count() == 1) return Problem::template reference<T>(input_);
    if constexpr (RefersToParts<Problem>) {
      return Problem::template reference_of_part<T>(input_, part());
    } else if constexpr (RowsApart<Problem>) {
      return Problem::template reference<T>(input_);
    } else if constexpr (Needs<Problem>) {
      auto const other = with_boxes(Problem::needs(part().input, output_boxes()));
      return Problem::template reference<T>(input_of(*other));
    } else {
      // Runs the reference on the input that this rank's rows need: the whole input, unless the Problem needs less.
      Reached const reached = in_reach();
      return cut(Problem::template reference<T>(reached.input), reached.first);
    }
  }

  [[nodiscard]] std::vector<ExpectedField> reference_by_parts() const override {
    if (auto none = without_elements()) return *std::move(none);
    if constexpr (RefersToRows<Problem>) {
      bool const is_alone = part().ranks.count() == 1;
      if (is_alone || (RowsApart<Problem> && !RefersToParts<Problem>)) {
        std::optional<Rows> const rows = rows_of(input_);
        return rows ? joined(*rows, {0, rows->n}) : reference();
      }
      if constexpr (Reaches<Problem> && !RefersToParts<Problem>) {
        Reached const reached = in_reach();
        ranks::Block const own = output_rows().front();
        std::optional<Rows> const rows = rows_of(reached.input);
        return rows && own.size() > 0 ? joined(*rows, {own.begin - reached.first, own.end - reached.first})
                                      : cut(Problem::template reference<T>(reached.input), reached.first);
      }
    }
    return reference();
  }

  [[nodiscard]] std::optional<std::vector<ExpectedField>> reference_of_sample(
      std::function<std::vector<Stretch>(std::size_t)> const& choose) const override {
    if (part().ranks.count() > 1) return std::nullopt;
    if constexpr (RefersToRows<Problem>) {
      std::optional<Rows> const rows = rows_of(input_);
      if (!rows) return std::nullopt;
      return sampled_reference(rows->outputs, choose, [&](std::size_t field, Stretch const& elements) {
        std::size_t const of_row = ranks::row_elements(rows->outputs[field].shape);
        ranks::Block const own{elements.begin / of_row, (elements.end - 1) / of_row + 1};
        std::size_t const before = own.begin * of_row;
        return gather(reference_of(*rows, own).at(field), {{elements.begin - before, elements.end - before}});
      });
    } else if constexpr (RefersToSomeRows<Problem>) {
      Shape const shape = output_shapes().front().shape;
      std::vector<Stretch> stretches = choose(count_of(shape));
      std::vector<std::size_t> rows;
      for (Stretch& elements : stretches) {
        std::size_t const of_row = shape.back();
        for (std::size_t row = elements.begin / of_row; row * of_row < elements.end; ++row) {
          if (rows.empty() || rows.back() < row) rows.push_back(row);
        }
        // The elements' positions among those of the chosen rows. The stretch ends in the last one.
        std::size_t const end = (rows.size() - 1) * of_row + (elements.end - 1) % of_row + 1;
        elements = {end - (elements.end - elements.begin), end};
      }
      return list_of(gather(Problem::template reference_of_rows<T>(input_, rows), stretches));
    } else if constexpr (Needs<Problem>) {
      std::vector<HostField> const outputs = output_shapes();
      if (outputs.size() != 1 || outputs[0].shape.size() != 2) return std::nullopt;
      bool const is_grid = output_splits().of_fields.front() == Split::grid;
      return sampled_reference(outputs, choose, [&](std::size_t, Stretch const& elements) {
        // One piece per output row that contains some of the elements.
        std::size_t const cols = outputs[0].shape[1];
        std::vector<ExpectedField> pieces;
        for (std::size_t begin = elements.begin; begin < elements.end;) {
          std::size_t const row = begin / cols;
          std::size_t const end = std::min(elements.end, (row + 1) * cols);
          ranks::Block const wanted{begin - row * cols, end - row * cols};
          ranks::Box const box{{row, row + 1}, is_grid ? wanted : ranks::Block{0, cols}};
          ExpectedField const of_box = reference_of_box(box);
          pieces.push_back(gather(of_box, {{wanted.begin - box.cols.begin, wanted.end - box.cols.begin}}));
          begin = end;
        }
        return concatenated(pieces);
      });
    }
    return std::nullopt;
  }

  /// Returns the input in that space's memory, copied once.
  template <class Exec>
  [[nodiscard]] InputOn<Problem, Exec, T> on() {
    using DeviceInput = InputOn<Problem, Exec, T>;
    if constexpr (std::is_same_v<DeviceInput, HostInput>) {
      return input_;
    } else {
      DeviceInput copy{};
      copy.parameters = input_.parameters;
      wrap_fields(copy, fields().own, copies_on(space_name<Exec>()));
      return copy;
    }
  }

 private:
  // Returns another case's input with the parameters of this case.
  [[nodiscard]] HostInput input_of(Case const& other) const {
    HostInput input = dynamic_cast<TypedCase const&>(other).input_;
    input.parameters = input_.parameters;
    return input;
  }

  // Returns the reference of a part of the only output, from the parts of the input that it needs.
  [[nodiscard]] ExpectedField reference_of_box(ranks::Box const& output) const {
    std::vector<ranks::Box> const boxes = Problem::needs(part().input, {output});
    HostInput some = input_;
    std::vector<std::shared_ptr<void>> copies;
    for_each_field(some, [&]<class View>(std::size_t i, View& view) {
      using Element = typename View::non_const_value_type;
      ranks::Box const& box = boxes[i];
      std::size_t const of_row = ranks::row_elements(part().input[i]);
      Element const* from = view.data() + box.rows.begin * of_row;
      if (box.cols.size() < of_row) {
        auto const copy = std::make_shared<std::vector<Element>>();
        copy->reserve(box.size());
        for (std::size_t r = 0; r < box.rows.size(); ++r, from += of_row) {
          copy->insert(copy->end(), from + box.cols.begin, from + box.cols.end);
        }
        from = copy->data();
        copies.push_back(copy);
      }
      view = wrap<View>(from, ranks::shape_of(box, part().input[i]));
    });
    return std::move(Problem::template reference<T>(some).front());
  }

  // On several ranks: the input that this rank's rows need, from row `first` on. This is the whole input, unless the
  // Problem needs less.
  struct Reached {
    std::unique_ptr<Case> owner;
    HostInput input;
    std::size_t first;
  };
  [[nodiscard]] Reached in_reach() const {
    std::optional<ranks::Reach> reach;
    if constexpr (Reaches<Problem>) reach = Problem::reach(part().input, input_.parameters);
    auto const [boxes, first] = boxes_in_reach(input_splits().of_fields, reach);
    std::unique_ptr<Case> other = with_boxes(boxes);
    HostInput input = input_of(*other);
    if constexpr (requires { input.parameters.first; }) input.parameters.first = first;
    return {std::move(other), input, first};
  }

  // Rows of an input and of its output, for the reference of some of these rows.
  struct Rows {
    HostInput const& input;
    std::vector<Split> splits;
    std::vector<HostField> outputs;
    std::optional<ranks::Reach> reach;  // empty: a row needs no other rows
    std::size_t of_part = 1;
    std::size_t n = 0;
  };

  // Returns the reference of the rows `own`.
  [[nodiscard]] std::vector<ExpectedField> joined(Rows const& rows, ranks::Block own) const {
    std::vector<HostField> outputs = rows.outputs;
    for (HostField& output : outputs) output.shape.front() = own.size();
    return joined_reference(outputs, rows.of_part, [&](ranks::Block some) {
      return reference_of(rows, {own.begin + some.begin, own.begin + some.end});
    });
  }

  // Returns nothing if the reference is computed as a whole: see rows_of_part.
  [[nodiscard]] std::optional<Rows> rows_of(HostInput const& input) const {
    std::vector<Shape> const shapes = shapes_of(input);
    std::vector<Shape> const whole = Problem::output_shapes(shapes, input.parameters);
    Rows rows{input, input_splits().of_fields, {}, {}, rows_of_part<Problem>(shapes, whole, input.parameters)};
    if (rows.of_part == 0) return std::nullopt;
    rows.n = whole.front().front();
    for (std::size_t i = 0; i < whole.size(); ++i) {
      rows.outputs.push_back({output_specs()[i].name, output_specs()[i].dtype, whole[i], nullptr});
    }
    if constexpr (Reaches<Problem>) rows.reach = Problem::reach(shapes, input.parameters);
    return rows;
  }

  [[nodiscard]] std::vector<ExpectedField> reference_of(Rows const& rows, ranks::Block own) const {
    ranks::Block wide = own;
    // More rows than the reach, as on ranks: if the reach is too small, variants that rely on it differ from the
    // reference.
    if (rows.reach) wide = ranks::with_halo(own, wider(*rows.reach), rows.n);
    HostInput some = rows.input;
    for_each_field(some, [&]<class View>(std::size_t i, View& view) {
      if (rows.splits[i] != Split::rows) return;
      Shape shape = shape_of(view);
      std::size_t const first = wide.begin * ranks::row_elements(shape);
      shape.front() = wide.size();
      view = wrap<View>(view.data() + first, shape);
    });
    if constexpr (requires { some.parameters.first; }) some.parameters.first += wide.begin;
    std::vector<ExpectedField> fields = Problem::template reference<T>(some);
    for (ExpectedField& field : fields) cut_rows(field, {own.begin - wide.begin, own.end - wide.begin});
    return fields;
  }

  HostInput input_{};
};

template <class Problem, class Variant, class Exec, class T>
class TypedRun final : public UntypedRun {
 public:
  using Plan = PlanOf<Variant, Problem, Exec, T>;
  using Output = OutputOn<Problem, Exec, T>;

  explicit TypedRun(TypedCase<Problem, T>& problem_case)
      : UntypedRun(problem_case, space_name<Exec>()),
        input_(problem_case.template on<Exec>()),
        part_(problem_case.part()),
        steps_(Problem::rounding_steps(part_.input, input_.parameters)) {
    TypedRun::make_plan();
    std::vector<unsigned char*> const fields = allocate(problem_case);
    wrap_fields(output_, problem_case.own_output_shapes(), fields);
  }

  void enqueue() override {
    detail::enqueue(*plan_, exec_, input_, output_);
    is_complete_ = false;
  }
  void fence() override { exec_.fence("tessera: sample"); }
  [[nodiscard]] double rounding_steps() const override {
    return of_plan(steps_, [](auto& plan) -> decltype(plan.rounding_steps()) { return plan.rounding_steps(); });
  }
  [[nodiscard]] std::optional<Work> work() const override {
    return of_plan(RowRun::work(), [](auto& plan) -> decltype(plan.work()) { return plan.work(); });
  }
  [[nodiscard]] std::optional<Prediction> prediction() const override {
    return of_plan(RowRun::prediction(), [](auto& plan) -> decltype(plan.prediction()) { return plan.prediction(); });
  }
  [[nodiscard]] bool flushes_denormals() const override {
    // CUDA C++ Programming Guide, atomicAdd: on global memory, 32-bit floats are added in flush-to-zero mode, doubles
    // are not. Nothing else flushes unless the compiler is told to.
    return requires { requires Plan::atomic_sums; } && std::is_same_v<T, float> && space_name<Exec>() == "cuda";
  }
  [[nodiscard]] ReducedPrecision reduced_precision() const override {
    return of_plan(RowRun::reduced_precision(),
                   [](auto& plan) -> decltype(plan.reduced_precision()) { return plan.reduced_precision(); });
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const override {
    return of_plan(RowRun::outputs(), [](auto& plan) -> decltype(plan.outputs()) { return plan.outputs(); });
  }
  [[nodiscard]] std::string note() const override {
    return of_plan(std::string(), [](auto& plan) -> decltype(plan.note()) { return plan.note(); });
  }

 protected:
  void make_plan() override {
    plan_.reset();  // two Plans at once may need too much memory
    PoisonedAllocations const poisoned;
    if constexpr (PlannableOnRanks<Variant, Problem, Exec, T>) {
      plan_ = std::make_unique<Plan>(exec_, input_, part_);
    } else {
      if (part_.ranks.count() > 1) throw Skip("it runs on one rank (variants of level `ranks` run on several)");
      plan_ = std::make_unique<Plan>(exec_, input_);
    }
    TypedRun::stage();
  }
  void stage() override {
    if constexpr (requires { plan_->stage(exec_, input_); }) {
      plan_->stage(exec_, input_);
      exec_.fence("tessera: stage");
    }
  }
  void complete() override {
    if constexpr (requires { plan_->complete(exec_, input_, output_); }) {
      if (is_complete_) return;
      plan_->complete(exec_, input_, output_);
      exec_.fence("tessera: complete");
      is_complete_ = true;
    }
  }

 private:
  // Returns what an optional member of the Plan returns, or `standard` if the Plan has no such member.
  template <class Result, class Member>
  [[nodiscard]] Result of_plan(Result standard, Member const& member) const {
    if constexpr (std::invocable<Member const&, Plan&>) {
      return member(*plan_);
    } else {
      return standard;
    }
  }

  Exec exec_{};
  InputOn<Problem, Exec, T> input_;
  ranks::Part const& part_;  // of the case
  double steps_;
  std::unique_ptr<Plan> plan_;
  Output output_{};
  bool is_complete_ = true;
};

/// Number of doubles per output element in a reference.
template <class Problem>
inline constexpr int reference_doubles = 2;
template <class Problem>
  requires requires { Problem::reference_doubles; }
inline constexpr int reference_doubles<Problem> = Problem::reference_doubles;

/// The same for generated exact data.
template <class Problem>
inline constexpr int exact_reference_doubles = reference_doubles<Problem>;
template <class Problem>
  requires requires { Problem::exact_reference_doubles; }
inline constexpr int exact_reference_doubles<Problem> = Problem::exact_reference_doubles;

template <class Problem, class T>
[[nodiscard]] Footprint footprint(std::vector<Shape> const& inputs, typename Problem::Parameters const& parameters) {
  (void)grid_of<Problem>(inputs, parameters);  // throws for a grid that does not fit, before any data are made
  std::vector<Shape> const outputs = Problem::output_shapes(inputs, parameters);
  Footprint result = footprint_of(
      describe<InputOnHost<Problem, T>>(), inputs, input_splits_of<Problem>(inputs, parameters).of_fields,
      describe<OutputOnHost<Problem, T>>(), outputs, output_splits_of<Problem>(inputs, parameters).of_fields);
  // In parts, a reference of floats takes 4 bytes per element for values and 8 with scales or offsets
  // (joined_reference, MovedElements, BoundedElements).
  std::size_t const of_part = rows_of_part<Problem>(inputs, outputs, parameters);
  auto const is_in_parts = [&](Shape const& output) {
    if (!std::is_same_v<T, float> || HasBFloat16Bounds<Problem>) return false;
    if (OwnParts<Problem>) return ranks::world().count() == 1 && count_of(output) > part_elements();
    return of_part > 0 && output.front() > of_part;
  };
  auto const bytes = [&](Shape const& output, int doubles) {
    if (!is_in_parts(output)) return wide_count_of(output) * doubles * sizeof(double);
    return wide_count_of(output) * (doubles == 1 ? sizeof(float) : sizeof(CompactElement));
  };
  if constexpr (requires { Problem::moved_copies; }) {
    result.reference_bytes = Problem::moved_copies * result.output_bytes;
    result.exact_reference_bytes = result.reference_bytes;
  } else {
    for (Shape const& output : outputs) {
      result.reference_bytes += bytes(output, reference_doubles<Problem>);
      result.exact_reference_bytes += bytes(output, exact_reference_doubles<Problem>);
    }
  }
  if constexpr (requires { Problem::reference_temporaries(inputs, dtype_of<T>); }) {
    double const bytes_beside = Problem::reference_temporaries(inputs, dtype_of<T>);
    result.reference_bytes += bytes_beside;
    result.exact_reference_bytes += bytes_beside;
  }
  result.work = Problem::work(inputs, parameters, dtype_of<T>);
  if constexpr (Distributed<Problem>) {
    auto const specs = describe<InputOnHost<Problem, T>>();
    result.input_bytes_on_each = whole_bytes(specs, inputs, Problem::input_split(parameters));
  }
  return result;
}

/// Returns the typed parameters. check_reals and, if the Problem has it, `check(parameters, dtype)` have been called.
/// They throw UserError if a parameter does not suit the dtype.
template <class Problem, class T>
[[nodiscard]] typename Problem::Parameters checked_parameters(ParameterMap const& map) {
  auto const parameters = typed_parameters<typename Problem::Parameters>(map);
  check_reals(parameter_specs<typename Problem::Parameters>(), map, dtype_of<T>);
  if constexpr (requires { Problem::check(parameters, dtype_of<T>); }) Problem::check(parameters, dtype_of<T>);
  return parameters;
}

/// Returns the parameters with those that the run gives.
template <class Problem>
[[nodiscard]] ParameterMap generated_parameters(ParameterMap const& options, std::size_t size, std::uint64_t seed,
                                                DType dtype) {
  return given_by_run(parameter_specs<typename Problem::Parameters>(), options, size, seed, dtype);
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<UntypedCase> make_case(CaseFields&& fields, ParameterMap const& map,
                                                     UntypedCase::MakeBoxes&& make_boxes) {
  return std::make_unique<TypedCase<Problem, T>>(std::move(fields), map, std::move(make_boxes));
}

template <class Problem, class T>
inline constexpr CaseType case_type{.input_fields = describe<InputOnHost<Problem, T>>,
                                    .output_fields = describe<OutputOnHost<Problem, T>>,
                                    .make = make_case<Problem, T>};

/// Returns a case with this rank's part of each input field.
template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> own_case(std::vector<Shape> const& whole,
                                             typename Problem::Parameters const& parameters, ParameterMap const& map,
                                             FillField const& fill) {
  (void)Problem::output_shapes(whole, parameters);  // throws if the shapes do not match
  std::vector<ranks::Box> const boxes = own_boxes(whole, input_splits_of<Problem>(whole, parameters));
  return filled_case(case_type<Problem, T>, whole, boxes, map, fill);
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> generate(std::size_t size, std::uint64_t seed, DataKind data,
                                             ParameterMap const& options) {
  ParameterMap const map = generated_parameters<Problem>(options, size, seed, dtype_of<T>);
  auto const parameters = checked_parameters<Problem, T>(map);
  std::vector<Shape> const shapes = Problem::input_shapes(size, parameters);
  Draw const of_case{.seed = seed,
                     .data = data,
                     .terms = static_cast<std::uint64_t>(std::max(1.0, terms_of<Problem>(shapes, parameters)))};
  auto const fill = [=](std::size_t field, ranks::Box const& box, unsigned char* memory) {
    std::size_t const of_row = ranks::row_elements(shapes[field]);
    std::size_t const cols = box.cols.size();
    std::size_t const first = box.rows.begin * of_row + box.cols.begin;
    auto const fill_as = [&]<class Value>(Value* values) {
      for_host_ranges(box.size(), [&](std::size_t begin, std::size_t end) {
        Draw draw = of_case;
        draw.shapes = &shapes;
        draw.field = field;
        for (std::size_t i = begin; i < end; ++i) {
          draw.index = first + (cols == of_row ? i : i / cols * of_row + i % cols);
          values[i] = static_cast<Value>(Problem::template element<T>(draw, parameters));
        }
      });
    };
    InputOnHost<Problem, T> fields{};
    for_each_field(fields, [&]<class View>(std::size_t i, View&) {
      if (i == field) fill_as(reinterpret_cast<typename View::non_const_value_type*>(memory));
    });
  };
  return own_case<Problem, T>(shapes, parameters, map, fill);
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> read(FieldSource const& source, ParameterMap const& map) {
  auto const parameters = checked_parameters<Problem, T>(map);
  auto const specs = describe<InputOnHost<Problem, T>>();
  std::vector<Shape> const shapes = shapes_on_ranks(source, specs);
  return own_case<Problem, T>(shapes, parameters, map, filled_from(source, specs, shapes));
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> borrow(BorrowedFields const& fields, ParameterMap const& map) {
  auto const parameters = checked_parameters<Problem, T>(map);
  (void)Problem::output_shapes(fields.input_shapes, parameters);  // throws if the shapes do not match
  return borrowed_case(case_type<Problem, T>, fields, map);
}

template <class Problem, class T>
[[nodiscard]] Footprint footprint_of_size(std::size_t size, ParameterMap const& map) {
  auto const parameters = checked_parameters<Problem, T>(generated_parameters<Problem>(map, size, 0, dtype_of<T>));
  return footprint<Problem, T>(Problem::input_shapes(size, parameters), parameters);
}

template <class Problem, class T>
[[nodiscard]] Footprint footprint_of_source(FieldSource const& source, ParameterMap const& map) {
  return footprint<Problem, T>(shapes_in(source, describe<InputOnHost<Problem, T>>()),
                               checked_parameters<Problem, T>(map));
}

/// The functions of an App (see there) for one dtype.
struct TypedFunctions {
  CaseType type;
  Footprint (*footprint_of_size)(std::size_t size, ParameterMap const&);
  Footprint (*footprint_of_source)(FieldSource const&, ParameterMap const&);
  std::unique_ptr<Case> (*generate)(std::size_t size, std::uint64_t seed, DataKind, ParameterMap const&);
  std::unique_ptr<Case> (*read)(FieldSource const&, ParameterMap const&);
  std::unique_ptr<Case> (*borrow)(BorrowedFields const&, ParameterMap const&);
};
template <class Problem, class T>
inline constexpr TypedFunctions typed_functions{.type = case_type<Problem, T>,
                                                .footprint_of_size = footprint_of_size<Problem, T>,
                                                .footprint_of_source = footprint_of_source<Problem, T>,
                                                .generate = generate<Problem, T>,
                                                .read = read<Problem, T>,
                                                .borrow = borrow<Problem, T>};

/// Throws UserError if this build lacks the dtype.
template <class Problem>
[[nodiscard]] TypedFunctions const& functions_for(DType dtype) {
  TypedFunctions const* found = nullptr;
  for_each_dtype<Problem>([&]<class T>() {
    if (dtype_of<T> == dtype) found = &typed_functions<Problem, T>;
  });
  if (found == nullptr) refuse(dtype, Problem::info.name, has_short_floats<Problem>, has_more_integers<Problem>);
  return *found;
}

/// Calls a function of the Problem's TypedFunctions.
template <class Problem, auto function, class... Arguments>
[[nodiscard]] auto of_dtype(DType dtype, Arguments... arguments) {
  return (functions_for<Problem>(dtype).*function)(arguments...);
}

}  // namespace detail

/// Why this build has no code for a variant; empty if it has. CMake specialises it before the variant's file
/// (cmake/AbsentVariants.cpp.in), and nothing of its Plan is instantiated.
template <class Variant>
inline constexpr std::string_view why_absent{};

/// Returns the rows of one variant: every enabled space x dtype that its Plan or function supports (the `requires`
/// clause). Rows of an absent variant are skipped.
///
/// Within the supported range the concept is a hard requirement, with these messages.
template <class Problem, class Variant>
[[nodiscard]] VariantRows rows() {
  static_assert(Described<Variant>, "Tessera: a variant needs `static constexpr VariantInfo info{.name = ..., ...}`");
  static_assert(PlanOrFunction<Variant>,
                "Tessera: a variant needs either a class template Plan<Exec, T> or, if it has no state, a static "
                "function template run<Exec, T>");
  VariantRows result{.info = Variant::info, .rows = {}};
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    for_each_dtype<Problem>([&]<class T>() {
      static_assert(ProblemFor<Problem, T>, "Tessera: the Problem lacks a member (see tessera/core/problem.hpp)");
      if constexpr (!why_absent<Variant>.empty()) {
        if (!is_chosen_space(space_name<Exec>()) || !DeclaredFor<Variant, Exec, T>) return;
        auto const skip = [](Case&) -> std::unique_ptr<RowRun> { throw Skip(std::string(why_absent<Variant>)); };
        result.rows.push_back({Variant::info, std::string(space_name<Exec>()), dtype_of<T>, skip});
      } else if constexpr (is_chosen_space(space_name<Exec>()) && DeclaredFor<Variant, Exec, T>) {
        static_assert(Plannable<Variant, Problem, Exec, T> || PlannableOnRanks<Variant, Problem, Exec, T>,
                      "Tessera: the variant's Plan needs a constructor Plan(Exec const&, InputOn<...> const&), or one "
                      "that also takes a ranks::Part const&");
        static_assert(!PlannableOnRanks<Variant, Problem, Exec, T> || Distributed<Problem>,
                      "Tessera: the Problem of a variant on ranks needs input_split and output_split");
        static_assert(Enqueueable<Variant, Problem, Exec, T> || detail::has_function<Variant>,
                      "Tessera: the variant's Plan needs void operator()(Exec const&, InputOn<...> const&, "
                      "OutputOn<...> const&), or one on their views, which Parameters const& may follow");
        static_assert(Enqueueable<Variant, Problem, Exec, T> || detail::has_plan<Variant>,
                      "Tessera: the variant's function needs void run(Exec const&, views of the input, views of the "
                      "output), where Parameters const& may follow");
        auto const start = [](Case& problem_case) -> std::unique_ptr<RowRun> {
          return std::make_unique<detail::TypedRun<Problem, Variant, Exec, T>>(
              dynamic_cast<detail::TypedCase<Problem, T>&>(problem_case));
        };
        result.rows.push_back({Variant::info, std::string(space_name<Exec>()), dtype_of<T>, start});
      }
    });
  });
  return result;
}

/// Returns the App of a Problem, with its variants in the order of --list.
template <class Problem>
[[nodiscard]] App make_app(std::vector<VariantRows> const& variants) {
  // Without a split no part of the driver would look at them.
  static_assert(Distributed<Problem> || !(detail::RowsApart<Problem> || detail::Reaches<Problem>),
                "Tessera: a Problem with `rows_apart` or `reach` also needs input_split and output_split");
  App app;
  app.info = Problem::info;
  app.parameters = parameter_specs<typename Problem::Parameters>();
  for (VariantRows const& variant : variants) {
    app.variants.push_back(variant.info);
    app.rows.insert(app.rows.end(), variant.rows.begin(), variant.rows.end());
  }
  app.input_fields = [](DType dtype) { return detail::functions_for<Problem>(dtype).type.input_fields(); };
  app.output_fields = [](DType dtype) { return detail::functions_for<Problem>(dtype).type.output_fields(); };
  app.check_parameters = [](ParameterMap const& map) { (void)typed_parameters<typename Problem::Parameters>(map); };
  app.input_shapes = [](std::size_t size, ParameterMap const& map) {
    return Problem::input_shapes(size, typed_parameters<typename Problem::Parameters>(map));
  };
  app.footprint_of_size = detail::of_dtype<Problem, &detail::TypedFunctions::footprint_of_size>;
  app.footprint_of_source = detail::of_dtype<Problem, &detail::TypedFunctions::footprint_of_source>;
  if constexpr (requires(FieldSource const& source) { Problem::check_source(DType{}, source); }) {
    app.check_source = [](DType dtype, FieldSource const& source) { Problem::check_source(dtype, source); };
  }
  app.has_short_floats = has_short_floats<Problem>;
  app.has_more_integers = has_more_integers<Problem>;
  app.distributed = Distributed<Problem>;
  if constexpr (Distributed<Problem>) {
    app.output_split = [](ParameterMap const& map) {
      return Problem::output_split(typed_parameters<typename Problem::Parameters>(map));
    };
  }
  if constexpr (detail::Reaches<Problem>) {
    app.reach = [](std::vector<Shape> const& shapes, ParameterMap const& map) {
      ranks::Reach const reach = Problem::reach(shapes, typed_parameters<typename Problem::Parameters>(map));
      return std::max(reach.before, reach.behind);
    };
  }
  app.refers_to_parts = detail::RefersToParts<Problem> || detail::RowsApart<Problem>;
  app.data = data_kinds_of<Problem>();
  if constexpr (requires { &Problem::raw_bytes; }) {
    app.raw_bytes = [](ParameterMap const& map, App::TakeBytes const& take) {
      Problem::raw_bytes(typed_parameters<typename Problem::Parameters>(map), take);
    };
  }
  app.generate_data = detail::of_dtype<Problem, &detail::TypedFunctions::generate>;
  app.read = detail::of_dtype<Problem, &detail::TypedFunctions::read>;
  app.borrow = detail::of_dtype<Problem, &detail::TypedFunctions::borrow>;
  return app;
}

}  // namespace tessera
