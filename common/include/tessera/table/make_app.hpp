#pragma once
/// \file
/// From types to the table: turns a Problem and its variants into an App, the plain data that the driver sees.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tessera/core/config.hpp>
#include <tessera/core/fields.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/cache.hpp>
#include <tessera/table/row_memory.hpp>

namespace tessera {

/// A variant's rows: what each variants/*.cpp returns.
struct VariantRows {
  VariantInfo info;
  std::vector<Row> rows;
};

/// A variant of level `ranks`: its Plan also takes a ranks::Part.
template <class V, class P, class Exec, class T>
concept PlannableOnRanks = std::constructible_from<typename V::template Plan<Exec, T>, Exec const&,
                                                   InputOn<P, Exec, T> const&, ranks::Part const&>;

namespace detail {

template <class Problem>
concept RefersToParts = requires(typename Problem::template Input<float, Kokkos::HostSpace> const& input,
                                 std::vector<ranks::Block> const& rows, ranks::Part const& part) {
  Problem::template reference_of_part<float>(input, rows, part);
};

template <class Problem>
concept Reaches = requires(std::vector<Shape> const& shapes, typename Problem::Parameters const& parameters) {
  { Problem::reach(shapes, parameters) } -> std::same_as<ranks::Reach>;
};

template <class Problem>
concept Needs = requires(std::vector<Shape> const& shapes, std::vector<ranks::Box> const& output) {
  { Problem::needs(shapes, output) } -> std::same_as<std::vector<ranks::Box>>;
};

/// The grid of ranks of a Problem whose fields lie so; else none.
template <class Problem>
[[nodiscard]] ranks::Grid grid_of(std::vector<Shape> const& shapes, typename Problem::Parameters const& parameters) {
  if constexpr (requires { Problem::grid(shapes, parameters, 1); }) {
    return Problem::grid(shapes, parameters, ranks::world().count());
  } else {
    return {};
  }
}

/// How the fields lie on the ranks; on each of them whole, if the Problem does not say.
template <class Problem>
[[nodiscard]] std::vector<Split> output_splits(typename Problem::Parameters const& parameters) {
  if constexpr (Distributed<Problem>) {
    return Problem::output_split(parameters);
  } else {
    return std::vector<Split>(Problem::template Output<float, Kokkos::HostSpace>::names.size(), Split::whole);
  }
}
template <class Problem>
[[nodiscard]] std::vector<Split> input_splits(typename Problem::Parameters const& parameters) {
  if constexpr (Distributed<Problem>) {
    return Problem::input_split(parameters);
  } else {
    return std::vector<Split>(Problem::template Input<float, Kokkos::HostSpace>::names.size(), Split::whole);
  }
}

/// Parameters with the defaults of `Problem::parameters()` where the map says nothing.
template <class Problem>
[[nodiscard]] typename Problem::Parameters typed_parameters(ParameterMap const& map) {
  ParameterMap complete = map;
  for (ParameterSpec const& spec : Problem::parameters()) complete.try_emplace(spec.name, spec.default_value);
  return Problem::Parameters::from(complete);
}

template <class Problem, class T>
class TypedCase final : public Case {
 public:
  using HostInput = typename Problem::template Input<T, Kokkos::HostSpace>;
  using HostOutput = typename Problem::template Output<T, Kokkos::HostSpace>;

  using MakeBoxes = std::function<std::unique_ptr<Case>(std::vector<ranks::Box> const&)>;

  /// `memory`: what the input's views lie over, a field each. `whole`: the shapes of the input fields of all ranks
  /// together. `make_boxes` makes the case again with other parts of each field.
  TypedCase(HostInput input, std::vector<std::shared_ptr<unsigned char>> memory, ParameterMap parameters,
            std::vector<Shape> whole, MakeBoxes make_boxes)
      : input_(std::move(input)),
        memory_(std::move(memory)),
        parameters_(std::move(parameters)),
        part_{ranks::world(), std::move(whole)},
        make_boxes_(std::move(make_boxes)) {}

  [[nodiscard]] DType dtype() const override { return dtype_of<T>; }
  [[nodiscard]] ParameterMap const& parameters() const override { return parameters_; }
  void tune(ParameterMap const& parameters) override {
    parameters_ = parameters;
    input_.parameters = typed_parameters<Problem>(parameters);
  }
  [[nodiscard]] std::vector<HostField> input() const override {
    return named_fields(describe<HostInput>(), shapes_of(input_), memory_);
  }
  [[nodiscard]] std::vector<HostField> input_shapes() const override {
    return named_fields(describe<HostInput>(), part_.input, {});
  }
  [[nodiscard]] std::vector<HostField> output_shapes() const override {
    return named_fields(describe<HostOutput>(), Problem::output_shapes(part_.input, input_.parameters), {});
  }
  [[nodiscard]] std::vector<HostField> own_part(std::vector<HostField> fields) const override {
    auto const specs = describe<HostOutput>();
    std::vector<ranks::Box> const boxes = output_boxes();
    for (HostField& field : fields) {
      auto const spec = std::ranges::find(specs, field.name, &FieldSpec::name);
      if (spec == specs.end() || field.shape.empty()) continue;
      ranks::Box const own = boxes.at(static_cast<std::size_t>(spec - specs.begin()));
      std::size_t const of_row = ranks::row_elements(field.shape) * size_of(field.dtype);
      auto const* const first = static_cast<unsigned char const*>(field.data.get()) + own.rows.begin * of_row;
      std::size_t const bytes = own.cols.size() * size_of(field.dtype);
      if (bytes == of_row) {
        field.data = {field.data, first};
      } else {
        auto const cut = std::make_shared<std::vector<unsigned char>>(own.rows.size() * bytes);
        for (std::size_t r = 0; r < own.rows.size() && bytes > 0; ++r) {
          std::memcpy(cut->data() + r * bytes, first + r * of_row + own.cols.begin * size_of(field.dtype), bytes);
        }
        field.data = {cut, cut->data()};
      }
      field.shape = ranks::shape_of(own, field.shape);
    }
    return fields;
  }
  [[nodiscard]] Work work() const override { return Problem::work(part_.input, input_.parameters, dtype_of<T>); }
  [[nodiscard]] double terms() const override { return terms_of<Problem>(part_.input, input_.parameters); }
  [[nodiscard]] std::vector<ExpectedField> reference() const override {
    if (part_.ranks.count() == 1) return Problem::template reference<T>(input_);
    if constexpr (RefersToParts<Problem>) {
      return Problem::template reference_of_part<T>(input_, output_rows(), part_);
    } else if constexpr (Needs<Problem>) {
      auto const other = make_boxes_(Problem::needs(part_.input, output_boxes()));
      HostInput input = dynamic_cast<TypedCase const&>(*other).input_;
      input.parameters = input_.parameters;
      return Problem::template reference<T>(input);
    } else {
      return reference_of_rows();
    }
  }
  void release_device_input() override {
    on_device_.clear();
    kept_.clear();
  }

  [[nodiscard]] HostInput const& host_input() const { return input_; }
  [[nodiscard]] ranks::Part const& part() const { return part_; }

  /// What of each output field is this rank's.
  [[nodiscard]] std::vector<ranks::Box> output_boxes() const {
    std::vector<ranks::Box> boxes;
    std::vector<Split> const splits = output_splits<Problem>(input_.parameters);
    std::vector<Shape> const whole = Problem::output_shapes(part_.input, input_.parameters);
    ranks::Grid const grid = grid_of<Problem>(part_.input, input_.parameters);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      boxes.push_back(ranks::box_of(whole[i], splits[i], grid, part_.ranks));
    }
    return boxes;
  }
  /// The rows of these.
  [[nodiscard]] std::vector<ranks::Block> output_rows() const {
    std::vector<ranks::Block> rows;
    for (ranks::Box const& box : output_boxes()) rows.push_back(box.rows);
    return rows;
  }
  /// The shapes of this rank's part of the output.
  [[nodiscard]] std::vector<Shape> own_output_shapes() const {
    std::vector<Shape> shapes = Problem::output_shapes(part_.input, input_.parameters);
    std::vector<ranks::Box> const boxes = output_boxes();
    for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i] = ranks::shape_of(boxes[i], shapes[i]);
    return shapes;
  }

  /// The input in that space's memory, copied once.
  template <class Exec>
  [[nodiscard]] InputOn<Problem, Exec, T> on() {
    using DeviceInput = InputOn<Problem, Exec, T>;
    if constexpr (std::is_same_v<DeviceInput, HostInput>) {
      return input_;
    } else {
      std::string const space(space_name<Exec>());
      auto& memory = on_device_[space];
      if (memory.empty()) memory = copies_in(space, input());
      DeviceInput copy{};
      copy.parameters = input_.parameters;
      std::vector<unsigned char*> fields;
      for (auto const& field : memory) fields.push_back(field.get());
      wrap_fields(copy, shapes_of(input_), fields);
      return copy;
    }
  }
  [[nodiscard]] HostBuffers& buffers() { return buffers_; }
  /// What a row on that space kept of its output.
  [[nodiscard]] GuardedFields::Blocks& kept(std::string_view space) { return kept_[std::string(space)]; }

 private:
  // The reference of as much of the input as this rank's rows need: of all of it, unless the Problem says less.
  [[nodiscard]] std::vector<ExpectedField> reference_of_rows() const {
    std::vector<Split> const splits = input_splits<Problem>(input_.parameters);
    std::vector<ranks::Box> boxes;
    std::size_t first = 0;
    for (std::size_t i = 0; i < part_.input.size(); ++i) {
      boxes.push_back(ranks::whole_box(part_.input[i]));
      if constexpr (Reaches<Problem>) {
        if (splits[i] == Split::whole) continue;
        // More than the reach: if that is too small, variants that go by it differ from the reference.
        ranks::Reach const reach = Problem::reach(part_.input, input_.parameters);
        std::size_t const n = boxes[i].rows.end;
        boxes[i].rows = ranks::with_halo(part_.ranks.block(n), {2 * reach.before + 8, 2 * reach.behind + 8}, n);
        first = boxes[i].rows.begin;
      }
    }
    auto const other = make_boxes_(boxes);
    HostInput input = dynamic_cast<TypedCase const&>(*other).input_;
    input.parameters = input_.parameters;
    if constexpr (requires { input.parameters.first; }) input.parameters.first = first;
    return cut(Problem::template reference<T>(input), first);
  }

  // This rank's rows of what is known of the output's rows from `first` on.
  [[nodiscard]] std::vector<ExpectedField> cut(std::vector<ExpectedField> fields, std::size_t first) const {
    std::vector<ranks::Block> const rows = output_rows();
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].shape.empty()) continue;
      std::size_t const of_row = ranks::row_elements(fields[i].shape);
      for (std::vector<double>* const values : {&fields[i].value, &fields[i].scale, &fields[i].offset}) {
        if (values->empty()) continue;
        auto const begin = values->begin() + static_cast<std::ptrdiff_t>((rows[i].begin - first) * of_row);
        *values = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(rows[i].size() * of_row));
      }
      fields[i].shape.front() = rows[i].size();
    }
    return fields;
  }

  HostInput input_;
  std::vector<std::shared_ptr<unsigned char>> memory_;
  ParameterMap parameters_;
  ranks::Part part_;
  MakeBoxes make_boxes_;
  std::map<std::string, std::vector<std::shared_ptr<unsigned char>>> on_device_;  // by space
  std::map<std::string, GuardedFields::Blocks> kept_;                             // by space
  HostBuffers buffers_;
};

template <class Problem, class Variant, class Exec, class T>
class TypedRun final : public RowRun {
 public:
  using Plan = typename Variant::template Plan<Exec, T>;
  using Output = OutputOn<Problem, Exec, T>;

  explicit TypedRun(TypedCase<Problem, T>& problem_case)
      : buffers_(problem_case.buffers()),
        kept_(problem_case.kept(space_name<Exec>())),
        input_(problem_case.template on<Exec>()),
        steps_(Problem::rounding_steps(problem_case.part().input, input_.parameters)),
        plan_(make_plan(exec_, input_, problem_case.part())),
        memory_(space_name<Exec>(), describe<Output>(), problem_case.own_output_shapes()) {
    std::vector<void*> fields;
    std::vector<Shape> const shapes = problem_case.own_output_shapes();
    for (std::size_t i = 0; i < shapes.size(); ++i) fields.push_back(memory_.data(i));
    wrap_fields(output_, shapes, fields);
  }

  void poison() override { memory_.poison(); }
  void enqueue() override { plan_(exec_, input_, output_); }
  void fence() override { exec_.fence("tessera: sample"); }
  void evict_cache() override { measure::evict_cache(space_name<Exec>()); }
  [[nodiscard]] std::vector<HostField> fetch() override {
    std::vector<std::string> names;
    for (WrittenField const& one : outputs()) names.push_back(one.field);
    return memory_.fetch(buffers_, names);
  }
  [[nodiscard]] std::vector<HostField> fetch_sample(Choose const& choose) override {
    return memory_.fetch_sample(choose);
  }
  [[nodiscard]] bool keep() override { return memory_.keep(kept_); }
  [[nodiscard]] bool same_as_kept() override { return memory_.same_bits(kept_); }
  [[nodiscard]] double rounding_steps() const override {
    if constexpr (requires { plan_.rounding_steps(); }) {
      return plan_.rounding_steps();
    } else {
      return steps_;
    }
  }
  [[nodiscard]] std::optional<Work> work() const override {
    if constexpr (requires { plan_.work(); }) {
      return plan_.work();
    } else {
      return std::nullopt;
    }
  }
  [[nodiscard]] std::optional<Prediction> prediction() const override {
    if constexpr (requires { plan_.prediction(); }) {
      return plan_.prediction();
    } else {
      return std::nullopt;
    }
  }
  [[nodiscard]] bool flushes_denormals() const override {
    // CUDA C++ Programming Guide, atomicAdd: on global memory, 32-bit floats are added in flush-to-zero mode. Doubles
    // are not, and nothing else flushes unless the compiler is asked to.
    if constexpr (requires { Plan::atomic_sums; }) {
      return Plan::atomic_sums && std::is_same_v<T, float> && space_name<Exec>() == "cuda";
    } else {
      return false;
    }
  }
  [[nodiscard]] double systematic_error() const override {
    if constexpr (requires { plan_.systematic_error(); }) {
      return plan_.systematic_error();
    } else {
      return 0;
    }
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const override {
    if constexpr (requires { plan_.outputs(); }) {
      return plan_.outputs();
    } else {
      return {};
    }
  }
  [[nodiscard]] std::string note() const override {
    if constexpr (requires { plan_.note(); }) {
      return plan_.note();
    } else {
      return {};
    }
  }

 private:
  // Made in place: a Plan need not be movable.
  [[nodiscard]] static Plan make_plan(Exec const& exec, InputOn<Problem, Exec, T> const& input,
                                      ranks::Part const& part) {
    if constexpr (PlannableOnRanks<Variant, Problem, Exec, T>) {
      return Plan(exec, input, part);
    } else {
      if (part.ranks.count() > 1) throw Skip("it runs on one rank (those of level `ranks` run on several)");
      return Plan(exec, input);
    }
  }

  HostBuffers& buffers_;
  GuardedFields::Blocks& kept_;  // of the case
  Exec exec_{};
  InputOn<Problem, Exec, T> input_;
  double steps_;
  Plan plan_;  // before the output: a Skip must not cost its allocation
  GuardedFields memory_;
  Output output_{};  // over that memory
};

template <class Problem, class Variant, class Exec, class T>
std::unique_ptr<RowRun> start_row(Case& problem_case) {
  return std::make_unique<TypedRun<Problem, Variant, Exec, T>>(dynamic_cast<TypedCase<Problem, T>&>(problem_case));
}

/// Doubles of an output element that a reference has.
template <class Problem>
inline constexpr int reference_doubles = 2;
template <class Problem>
  requires requires { Problem::reference_doubles; }
inline constexpr int reference_doubles<Problem> = Problem::reference_doubles;

/// The same of generated exact data.
template <class Problem>
inline constexpr int exact_reference_doubles = reference_doubles<Problem>;
template <class Problem>
  requires requires { Problem::exact_reference_doubles; }
inline constexpr int exact_reference_doubles<Problem> = Problem::exact_reference_doubles;

template <class Problem, class T>
[[nodiscard]] Footprint footprint(std::vector<Shape> const& inputs, typename Problem::Parameters const& parameters) {
  using Input = typename Problem::template Input<T, Kokkos::HostSpace>;
  using Output = typename Problem::template Output<T, Kokkos::HostSpace>;
  std::vector<Shape> const outputs = Problem::output_shapes(inputs, parameters);
  (void)grid_of<Problem>(inputs, parameters);  // a grid that does not fit is said before anything is made
  Footprint result{.input_bytes = bytes_of<Input>(inputs), .output_bytes = bytes_of<Output>(outputs)};
  for (Shape const& shape : outputs) {
    double count = 1;
    for (std::size_t const extent : shape) count *= static_cast<double>(extent);
    double const bytes = count * static_cast<double>(sizeof(double));
    result.reference_bytes += reference_doubles<Problem> * bytes;
    result.exact_reference_bytes += exact_reference_doubles<Problem> * bytes;
  }
  result.output_shapes = outputs;
  return result;
}

/// The typed parameters. If the Problem has `check(parameters, dtype)`, that has seen them: it throws UserError where
/// they do not suit the dtype.
template <class Problem, class T>
[[nodiscard]] typename Problem::Parameters checked_parameters(ParameterMap const& map) {
  auto const parameters = typed_parameters<Problem>(map);
  if constexpr (requires { Problem::check(parameters, dtype_of<T>); }) Problem::check(parameters, dtype_of<T>);
  return parameters;
}

/// A case with these parts of each input field, which are filled by fill(field, box, data), in host memory that nobody
/// has touched yet.
template <class Problem, class T, class Fill>
[[nodiscard]] std::unique_ptr<Case> filled_case(std::vector<Shape> const& whole, std::vector<ranks::Box> const& boxes,
                                                typename Problem::Parameters const& parameters, ParameterMap const& map,
                                                Fill const& fill) {
  using Input = typename Problem::template Input<T, Kokkos::HostSpace>;
  std::vector<Shape> own = whole;
  for (std::size_t i = 0; i < whole.size(); ++i) own[i] = ranks::shape_of(boxes[i], whole[i]);
  auto memory = host_memory_of(describe<Input>(), own);
  std::vector<unsigned char*> fields;
  for (auto const& field : memory) fields.push_back(field.get());
  Input input{};
  input.parameters = parameters;
  wrap_fields(input, own, fields);
  for_each_field(input, [&]<class View>(std::size_t i, View&) {
    fill(i, boxes[i], reinterpret_cast<typename View::non_const_value_type*>(fields[i]));
  });
  return std::make_unique<TypedCase<Problem, T>>(std::move(input), std::move(memory), map, whole,
                                                 [=](std::vector<ranks::Box> const& other) {
                                                   return filled_case<Problem, T>(whole, other, parameters, map, fill);
                                                 });
}

/// What this rank has of each input field.
template <class Problem>
[[nodiscard]] std::vector<ranks::Box> own_boxes(std::vector<Shape> const& whole,
                                                typename Problem::Parameters const& parameters) {
  std::vector<Split> const splits = input_splits<Problem>(parameters);
  ranks::Grid const grid = grid_of<Problem>(whole, parameters);
  std::vector<ranks::Box> boxes;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    boxes.push_back(ranks::box_of(whole[i], splits[i], grid, ranks::world()));
  }
  return boxes;
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> generate(std::size_t size, std::uint64_t seed, DataKind data,
                                             ParameterMap const& map) {
  auto const parameters = checked_parameters<Problem, T>(map);
  std::vector<Shape> const shapes = Problem::input_shapes(size, parameters);
  (void)Problem::output_shapes(shapes, parameters);  // throws if the shapes do not go together
  Draw const of_case{.seed = seed,
                     .data = data,
                     .terms = static_cast<std::uint64_t>(std::max(1.0, terms_of<Problem>(shapes, parameters)))};
  auto const fill = [=]<class Value>(std::size_t field, ranks::Box const& box, Value* values) {
    std::size_t const of_row = ranks::row_elements(shapes[field]);
    std::size_t const cols = box.cols.size();
    std::size_t const first = box.rows.begin * of_row + box.cols.begin;
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
  return filled_case<Problem, T>(shapes, own_boxes<Problem>(shapes, parameters), parameters, map, fill);
}

template <class Problem, class T>
[[nodiscard]] std::vector<Shape> shapes_from(FieldSource const& source) {
  std::vector<Shape> shapes;
  for (FieldSpec const& spec : describe<typename Problem::template Input<T, Kokkos::HostSpace>>()) {
    shapes.push_back(source.shape(spec));
  }
  return shapes;
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> read(FieldSource const& source, ParameterMap const& map) {
  auto const parameters = checked_parameters<Problem, T>(map);
  std::vector<Shape> const shapes = shapes_from<Problem, T>(source);
  (void)Problem::output_shapes(shapes, parameters);
  auto const specs = describe<typename Problem::template Input<T, Kokkos::HostSpace>>();
  auto const fill = [specs, shapes, &source]<class Value>(std::size_t field, ranks::Box const& box, Value* data) {
    std::size_t const of_row = ranks::row_elements(shapes[field]);
    if (box.cols.size() < of_row) {
      // Some rows at a time, whole: of these its columns.
      std::size_t const most = std::max<std::size_t>(1, (std::size_t{1} << 20) / of_row);
      std::vector<Value> some(most * of_row);
      for (std::size_t row = box.rows.begin; row < box.rows.end && box.cols.size() > 0; row += most) {
        std::size_t const count = std::min(most, box.rows.end - row);
        source.read_rows(specs[field], row, count, some.data());
        for (std::size_t r = 0; r < count; ++r) {
          data = std::copy_n(some.data() + r * of_row + box.cols.begin, box.cols.size(), data);
        }
      }
    } else if (!shapes[field].empty() && box.rows.size() < shapes[field].front()) {
      source.read_rows(specs[field], box.rows.begin, box.rows.size(), data);
    } else {
      source.read(specs[field], data);
    }
  };
  return filled_case<Problem, T>(shapes, own_boxes<Problem>(shapes, parameters), parameters, map, fill);
}

/// Calls `body.template operator()<T>()` for the enabled dtype; throws UserError if this build has no such dtype.
template <class Body>
auto with_dtype(DType dtype, Body&& body) {
  using Result = decltype(body.template operator()<float>());
  Result result{};
  bool found = false;
  for_each_type(EnabledDTypes{}, [&]<class T>() {
    if (dtype_of<T> != dtype) return;
    found = true;
    result = body.template operator()<T>();
  });
  if (!found) {
    throw UserError("dtype '" + std::string(name_of(dtype)) +
                    "' is not in this build (TESSERA_DTYPES left it out); use another, or build with it");
  }
  return result;
}

}  // namespace detail

/// The rows of one variant: every enabled space x dtype that the variant's Plan declares (its `requires` clause).
///
/// Inside the declared range the concept is a hard requirement, with these messages.
template <class Problem, class Variant>
[[nodiscard]] VariantRows rows() {
  static_assert(Described<Variant>, "Tessera: a variant needs `static constexpr VariantInfo info{.name = ..., ...}`");
  VariantRows result{.info = Variant::info, .rows = {}};
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    for_each_type(EnabledDTypes{}, [&]<class T>() {
      static_assert(ProblemFor<Problem, T>, "Tessera: the Problem lacks a member (see tessera/core/problem.hpp)");
      if constexpr (is_chosen_space(space_name<Exec>()) && DeclaredFor<Variant, Exec, T>) {
        static_assert(Plannable<Variant, Problem, Exec, T> || PlannableOnRanks<Variant, Problem, Exec, T>,
                      "Tessera: the variant's Plan needs a constructor Plan(Exec const&, InputOn<...> const&), or one "
                      "that also takes a ranks::Part const&");
        static_assert(!PlannableOnRanks<Variant, Problem, Exec, T> || Distributed<Problem>,
                      "Tessera: the Problem of a variant on ranks needs input_split and output_split");
        static_assert(Enqueueable<Variant, Problem, Exec, T>,
                      "Tessera: the variant's Plan needs void operator()(Exec const&, InputOn<...> const&, "
                      "OutputOn<...> const&)");
        result.rows.push_back({.info = Variant::info,
                               .space = std::string(space_name<Exec>()),
                               .dtype = dtype_of<T>,
                               .start = &detail::start_row<Problem, Variant, Exec, T>});
      }
    });
  });
  return result;
}

/// The App of a Problem with its variants in the order that --list shows.
template <class Problem>
[[nodiscard]] App make_app(std::vector<VariantRows> const& variants) {
  App app;
  app.info = Problem::info;
  app.parameters = Problem::parameters();
  for (VariantRows const& variant : variants) {
    app.variants.push_back(variant.info);
    app.rows.insert(app.rows.end(), variant.rows.begin(), variant.rows.end());
  }
  app.input_fields = [](DType dtype) {
    return detail::with_dtype(
        dtype, []<class T>() { return describe<typename Problem::template Input<T, Kokkos::HostSpace>>(); });
  };
  app.output_fields = [](DType dtype) {
    return detail::with_dtype(
        dtype, []<class T>() { return describe<typename Problem::template Output<T, Kokkos::HostSpace>>(); });
  };
  app.check_parameters = [](ParameterMap const& map) { (void)detail::typed_parameters<Problem>(map); };
  app.input_shapes = [](std::size_t size, ParameterMap const& map) {
    return Problem::input_shapes(size, detail::typed_parameters<Problem>(map));
  };
  app.footprint_of_size = [](DType dtype, std::size_t size, ParameterMap const& map) {
    return detail::with_dtype(dtype, [&]<class T>() {
      auto const parameters = detail::checked_parameters<Problem, T>(map);
      return detail::footprint<Problem, T>(Problem::input_shapes(size, parameters), parameters);
    });
  };
  app.footprint_of_source = [](DType dtype, FieldSource const& source, ParameterMap const& map) {
    return detail::with_dtype(dtype, [&]<class T>() {
      return detail::footprint<Problem, T>(detail::shapes_from<Problem, T>(source),
                                           detail::checked_parameters<Problem, T>(map));
    });
  };
  app.distributed = Distributed<Problem>;
  app.refers_to_parts = detail::RefersToParts<Problem>;
  app.data = data_kinds_of<Problem>();
  app.generate_data = [](DType dtype, std::size_t size, std::uint64_t seed, DataKind data, ParameterMap const& map) {
    return detail::with_dtype(dtype, [&]<class T>() { return detail::generate<Problem, T>(size, seed, data, map); });
  };
  app.read = [](DType dtype, FieldSource const& source, ParameterMap const& map) {
    return detail::with_dtype(dtype, [&]<class T>() { return detail::read<Problem, T>(source, map); });
  };
  return app;
}

}  // namespace tessera
