#pragma once
/// \file
/// From types to the table: turns a Problem and its variants into an App, the plain data that the driver sees.

#include <Kokkos_Core.hpp>

#include <any>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <tessera/app/app.hpp>
#include <tessera/core/config.hpp>
#include <tessera/core/fields.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/measure/cache.hpp>

namespace tessera {

/// A variant's rows: what each variants/*.cpp returns.
struct VariantRows {
  VariantInfo info;
  std::vector<Row> rows;
};

namespace detail {

template <class Problem, class T>
class TypedCase final : public Case {
 public:
  using HostInput = typename Problem::template Input<T, Kokkos::HostSpace>;
  using HostOutput = typename Problem::template Output<T, Kokkos::HostSpace>;

  TypedCase(HostInput input, ParameterMap parameters) : input_(std::move(input)), parameters_(std::move(parameters)) {}

  [[nodiscard]] DType dtype() const override { return dtype_of<T>; }
  [[nodiscard]] ParameterMap const& parameters() const override { return parameters_; }
  [[nodiscard]] std::vector<HostField> input() const override { return host_fields(input_); }
  [[nodiscard]] std::vector<HostField> output_shapes() const override {
    std::vector<HostField> result;
    std::vector<Shape> const shapes = Problem::output_shapes(shapes_of(input_), input_.parameters);
    std::vector<FieldSpec> const specs = describe<HostOutput>();
    for (std::size_t i = 0; i < specs.size(); ++i)
      result.push_back({specs[i].name, specs[i].dtype, shapes[i], nullptr});
    return result;
  }
  [[nodiscard]] Work work() const override { return Problem::work(shapes_of(input_), input_.parameters, dtype_of<T>); }
  [[nodiscard]] std::vector<ExpectedField> reference() const override { return Problem::template reference<T>(input_); }
  void release_device_input() override { on_device_.clear(); }

  [[nodiscard]] HostInput const& host_input() const { return input_; }

  /// The input in that space's memory, copied once.
  template <class Exec>
  [[nodiscard]] InputOn<Problem, Exec, T> const& on() {
    using DeviceInput = InputOn<Problem, Exec, T>;
    if constexpr (std::is_same_v<DeviceInput, HostInput>) {
      return input_;
    } else {
      std::any& slot = on_device_[std::type_index(typeid(DeviceInput))];
      if (!slot.has_value()) slot = copied<DeviceInput>(input_);
      return *std::any_cast<DeviceInput>(&slot);
    }
  }

 private:
  HostInput input_;
  ParameterMap parameters_;
  std::map<std::type_index, std::any> on_device_;
};

template <class Problem, class Variant, class Exec, class T>
class TypedRun final : public RowRun {
 public:
  using Plan = typename Variant::template Plan<Exec, T>;
  using Output = OutputOn<Problem, Exec, T>;

  explicit TypedRun(TypedCase<Problem, T>& problem_case)
      : input_(problem_case.template on<Exec>()),
        steps_(Problem::rounding_steps(shapes_of(problem_case.host_input()), input_.parameters)),
        plan_(exec_, input_),
        output_(Problem::output_shapes(shapes_of(problem_case.host_input()), input_.parameters)) {}

  void poison() override {
    output_.poison();
    Kokkos::fence("tessera: poisoned");
  }
  void enqueue() override { plan_(exec_, input_, output_.output()); }
  void fence() override { exec_.fence("tessera: sample"); }
  void evict_cache() override { measure::evict_cache(space_name<Exec>()); }
  [[nodiscard]] std::vector<HostField> fetch() override { return output_.fetch(); }
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
  Exec exec_{};
  InputOn<Problem, Exec, T> input_;
  double steps_;
  Plan plan_;  // before the output: a Skip must not cost its allocation
  GuardedOutput<Output> output_;
};

template <class Problem, class Variant, class Exec, class T>
std::unique_ptr<RowRun> start_row(Case& problem_case) {
  return std::make_unique<TypedRun<Problem, Variant, Exec, T>>(dynamic_cast<TypedCase<Problem, T>&>(problem_case));
}

/// Parameters with the defaults of `Problem::parameters()` where the map says nothing.
template <class Problem>
[[nodiscard]] typename Problem::Parameters typed_parameters(ParameterMap const& map) {
  ParameterMap complete = map;
  for (ParameterSpec const& spec : Problem::parameters()) complete.try_emplace(spec.name, spec.default_value);
  return Problem::Parameters::from(complete);
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
  return result;
}

/// The parameters, checked against the dtype where the Problem has something to check: `Problem::check(parameters,
/// dtype)`.
template <class Problem, class T>
[[nodiscard]] typename Problem::Parameters checked_parameters(ParameterMap const& map) {
  auto const parameters = typed_parameters<Problem>(map);
  if constexpr (requires { Problem::check(parameters, dtype_of<T>); }) Problem::check(parameters, dtype_of<T>);
  return parameters;
}

/// Reads every field of the input from a source, or generates it, into host memory touched first by the threads that
/// will use it.
template <class Problem, class T, class Fill>
[[nodiscard]] typename Problem::template Input<T, Kokkos::HostSpace> host_input(
    std::vector<Shape> const& shapes, typename Problem::Parameters const& parameters, Fill&& fill) {
  typename Problem::template Input<T, Kokkos::HostSpace> input{};
  input.parameters = parameters;
  for_each_field(input, [&]<class View>(std::size_t i, View& view) {
    auto const writable = allocate<View>(std::string(input.names[i]), shapes.at(i));
    fill(i, writable);
    view = writable;
  });
  return input;
}

template <class Problem, class T>
[[nodiscard]] std::unique_ptr<Case> generate(std::size_t size, std::uint64_t seed, ParameterMap const& map) {
  auto const parameters = checked_parameters<Problem, T>(map);
  std::vector<Shape> const shapes = Problem::input_shapes(size, parameters);
  (void)Problem::output_shapes(shapes, parameters);  // throws if the shapes do not go together
  using Host = Kokkos::DefaultHostExecutionSpace;
  auto input = host_input<Problem, T>(shapes, parameters, [&]<class View>(std::size_t field, View const& view) {
    using Value = typename View::value_type;
    Value* const data = view.data();
    Kokkos::parallel_for("tessera::generate", Kokkos::RangePolicy<Host>(0, view.size()), [=](std::size_t i) {
      data[i] = static_cast<Value>(Problem::template element<T>(field, i, seed, parameters));
    });
    Host().fence("tessera: generated");
  });
  return std::make_unique<TypedCase<Problem, T>>(std::move(input), map);
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
  auto input = host_input<Problem, T>(
      shapes, parameters, [&](std::size_t field, auto const& view) { source.read(specs[field], view.data()); });
  return std::make_unique<TypedCase<Problem, T>>(std::move(input), map);
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
                    "' is not in this build (TESSERA_DTYPES left it out) use another or build with it");
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
  app.generate = [](DType dtype, std::size_t size, std::uint64_t seed, ParameterMap const& map) {
    return detail::with_dtype(dtype, [&]<class T>() { return detail::generate<Problem, T>(size, seed, map); });
  };
  app.read = [](DType dtype, FieldSource const& source, ParameterMap const& map) {
    return detail::with_dtype(dtype, [&]<class T>() { return detail::read<Problem, T>(source, map); });
  };
  return app;
}

}  // namespace tessera
