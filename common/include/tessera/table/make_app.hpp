#pragma once
/// \file
/// From types to the table: turns a Problem and its variants into an App, the plain data that the driver sees.

#include <Kokkos_Core.hpp>

#include <algorithm>
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
#include <tessera/table/app.hpp>
#include <tessera/table/cache.hpp>
#include <tessera/table/row_memory.hpp>

namespace tessera {

/// A variant's rows: what each variants/*.cpp returns.
struct VariantRows {
  VariantInfo info;
  std::vector<Row> rows;
};

namespace detail {

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

  /// `memory`: what the input's views lie over, a field each.
  TypedCase(HostInput input, std::vector<std::shared_ptr<unsigned char>> memory, ParameterMap parameters)
      : input_(std::move(input)), memory_(std::move(memory)), parameters_(std::move(parameters)) {}

  [[nodiscard]] DType dtype() const override { return dtype_of<T>; }
  [[nodiscard]] ParameterMap const& parameters() const override { return parameters_; }
  void tune(ParameterMap const& parameters) override {
    parameters_ = parameters;
    input_.parameters = typed_parameters<Problem>(parameters);
  }
  [[nodiscard]] std::vector<HostField> input() const override {
    return named_fields(describe<HostInput>(), shapes_of(input_), memory_);
  }
  [[nodiscard]] std::vector<HostField> output_shapes() const override {
    return named_fields(describe<HostOutput>(), Problem::output_shapes(shapes_of(input_), input_.parameters), {});
  }
  [[nodiscard]] Work work() const override { return Problem::work(shapes_of(input_), input_.parameters, dtype_of<T>); }
  [[nodiscard]] double terms() const override { return terms_of<Problem>(shapes_of(input_), input_.parameters); }
  [[nodiscard]] std::vector<ExpectedField> reference() const override { return Problem::template reference<T>(input_); }
  void release_device_input() override { on_device_.clear(); }

  [[nodiscard]] HostInput const& host_input() const { return input_; }

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

 private:
  HostInput input_;
  std::vector<std::shared_ptr<unsigned char>> memory_;
  ParameterMap parameters_;
  std::map<std::string, std::vector<std::shared_ptr<unsigned char>>> on_device_;  // by space
  HostBuffers buffers_;
};

template <class Problem, class Variant, class Exec, class T>
class TypedRun final : public RowRun {
 public:
  using Plan = typename Variant::template Plan<Exec, T>;
  using Output = OutputOn<Problem, Exec, T>;

  explicit TypedRun(TypedCase<Problem, T>& problem_case)
      : buffers_(problem_case.buffers()),
        input_(problem_case.template on<Exec>()),
        steps_(Problem::rounding_steps(shapes_of(problem_case.host_input()), input_.parameters)),
        plan_(exec_, input_),
        memory_(space_name<Exec>(), describe<Output>(),
                Problem::output_shapes(shapes_of(problem_case.host_input()), input_.parameters)) {
    std::vector<void*> fields;
    std::vector<Shape> const shapes = Problem::output_shapes(shapes_of(problem_case.host_input()), input_.parameters);
    for (std::size_t i = 0; i < shapes.size(); ++i) fields.push_back(memory_.data(i));
    wrap_fields(output_, shapes, fields);
  }

  void poison() override { memory_.poison(); }
  void enqueue() override { plan_(exec_, input_, output_); }
  void fence() override { exec_.fence("tessera: sample"); }
  void evict_cache() override { measure::evict_cache(space_name<Exec>()); }
  [[nodiscard]] std::vector<HostField> fetch() override { return memory_.fetch(buffers_); }
  [[nodiscard]] std::vector<HostField> fetch_sample(Choose const& choose) override {
    return memory_.fetch_sample(choose);
  }
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
  [[nodiscard]] bool flushes_denormals() const override {
    // CUDA C++ Programming Guide, atomicAdd: on global memory, 32-bit floats are added in flush-to-zero mode. Doubles
    // are not, and nothing else flushes unless the compiler is asked to.
    if constexpr (requires { Plan::atomic_sums; }) {
      return Plan::atomic_sums && std::is_same_v<T, float> && space_name<Exec>() == "cuda";
    } else {
      return false;
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
  HostBuffers& buffers_;
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

template <class Problem, class T>
[[nodiscard]] Footprint footprint(std::vector<Shape> const& inputs, typename Problem::Parameters const& parameters) {
  using Input = typename Problem::template Input<T, Kokkos::HostSpace>;
  using Output = typename Problem::template Output<T, Kokkos::HostSpace>;
  std::vector<Shape> const outputs = Problem::output_shapes(inputs, parameters);
  Footprint result{.input_bytes = bytes_of<Input>(inputs), .output_bytes = bytes_of<Output>(outputs)};
  for (Shape const& shape : outputs) {
    double count = 1;
    for (std::size_t const extent : shape) count *= static_cast<double>(extent);
    result.output_elements += count;
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

/// A case whose input fields are filled by fill(field, data), in host memory that nobody has touched yet.
template <class Problem, class T, class Fill>
[[nodiscard]] std::unique_ptr<Case> filled_case(std::vector<Shape> const& shapes,
                                                typename Problem::Parameters const& parameters, ParameterMap const& map,
                                                Fill&& fill) {
  using Input = typename Problem::template Input<T, Kokkos::HostSpace>;
  auto memory = host_memory_of(describe<Input>(), shapes);
  std::vector<unsigned char*> fields;
  for (auto const& field : memory) fields.push_back(field.get());
  Input input{};
  input.parameters = parameters;
  wrap_fields(input, shapes, fields);
  for_each_field(input, [&]<class View>(std::size_t i, View&) {
    fill(i, reinterpret_cast<typename View::non_const_value_type*>(fields[i]));
  });
  return std::make_unique<TypedCase<Problem, T>>(std::move(input), std::move(memory), map);
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> generate(std::size_t size, std::uint64_t seed, DataKind data,
                                             ParameterMap const& map) {
  auto const parameters = checked_parameters<Problem, T>(map);
  std::vector<Shape> const shapes = Problem::input_shapes(size, parameters);
  (void)Problem::output_shapes(shapes, parameters);  // throws if the shapes do not go together
  Draw const of_case{.seed = seed,
                     .data = data,
                     .terms = static_cast<std::uint64_t>(std::max(1.0, terms_of<Problem>(shapes, parameters))),
                     .shapes = &shapes};
  return filled_case<Problem, T>(shapes, parameters, map, [&]<class Value>(std::size_t field, Value* values) {
    for_host_ranges(count_of(shapes[field]), [&](std::size_t begin, std::size_t end) {
      Draw draw = of_case;
      draw.field = field;
      for (std::size_t i = begin; i < end; ++i) {
        draw.index = i;
        values[i] = static_cast<Value>(Problem::template element<T>(draw, parameters));
      }
    });
  });
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
  return filled_case<Problem, T>(shapes, parameters, map,
                                 [&](std::size_t field, auto* data) { source.read(specs[field], data); });
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
        static_assert(Plannable<Variant, Problem, Exec, T>,
                      "Tessera: the variant's Plan needs a constructor Plan(Exec const&, InputOn<...> const&)");
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
