#pragma once
/// \file
/// A mini-app's Parameters as a table: each member with its name, help text and range. The description of the options
/// and the conversion of their values follow from it. Also the parameters that many mini-apps share.

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

/// A parameter and the function that stores its value in a mini-app's Parameters.
struct StoredParameter {
  ParameterSpec spec;
  std::function<void(void* parameters, ParameterValue const&)> set;
};

/// A member of P and the parameter that sets it. The spec's default is the member's default.
template <class P>
struct MemberSpec : StoredParameter {
  /// A number or a flag.
  template <class M>
    requires std::is_arithmetic_v<M>
  MemberSpec(M P::* member, ParameterSpec described) : StoredParameter{std::move(described), {}} {
    using Value = std::conditional_t<std::integral<M> && !std::same_as<M, bool>, std::int64_t, M>;
    spec.default_value = static_cast<Value>(P{}.*member);
    set = [member](void* to, ParameterValue const& value) {
      static_cast<P*>(to)->*member = static_cast<M>(std::get<Value>(value));
    };
  }

  /// A choice by name: each name with the value that it stands for.
  template <class M>
  MemberSpec(M P::* member, ParameterSpec described,
             std::type_identity_t<std::vector<std::pair<std::string, M>>> const& choices)
      : StoredParameter{std::move(described), {}} {
    for (auto const& [name, value] : choices) {
      spec.choices.push_back(name);
      if (value == P{}.*member) spec.default_value = name;
    }
    set = [member, choices](void* to, ParameterValue const& value) {
      for (auto const& [name, choice] : choices) {
        if (name == std::get<std::string>(value)) static_cast<P*>(to)->*member = choice;
      }
    };
  }
};

/// What `P::specs()` returns, in the order of --help. Members that no parameter sets are left out.
template <class P>
struct MemberSpecs : std::vector<StoredParameter> {
  MemberSpecs(std::initializer_list<MemberSpec<P>> members) : vector(members.begin(), members.end()) {}
};

namespace detail {

/// The parts of the two functions below that do not depend on P: they are compiled once, not per mini-app.
[[nodiscard]] std::vector<ParameterSpec> specs_of(std::vector<StoredParameter> const& members);
void store_parameters(std::vector<StoredParameter> const& members, ParameterMap const& map, void* parameters);

}  // namespace detail

/// Returns the descriptions of P's parameters.
template <class P>
[[nodiscard]] std::vector<ParameterSpec> parameter_specs() {
  return detail::specs_of(P::specs());
}

/// Returns the values of the map, which have passed check_parameter (cli/options.hpp), as members of P. The others keep
/// their defaults. `P::check()`, if there is one, throws UserError if the parameters contradict each other.
template <class P>
[[nodiscard]] P typed_parameters(ParameterMap const& map) {
  P parameters{};
  detail::store_parameters(P::specs(), map, &parameters);
  if constexpr (requires { parameters.check(); }) parameters.check();
  return parameters;
}

/// A number in a range.
[[nodiscard]] inline ParameterSpec number_parameter(std::string name, std::string help, double minimum,
                                                    double maximum = std::numeric_limits<double>::infinity()) {
  return {.name = std::move(name), .help = std::move(help), .minimum = minimum, .maximum = maximum};
}

/// A number in a range that only tunes variants (ParameterSpec::sweep).
[[nodiscard]] inline ParameterSpec tuning_parameter(std::string name, std::string help, double minimum,
                                                    double maximum) {
  ParameterSpec spec = number_parameter(std::move(name), std::move(help), minimum, maximum);
  spec.sweep = true;
  return spec;
}

/// An extent of generated input.
[[nodiscard]] inline ParameterSpec extent_parameter(std::string name, std::string help, double minimum = 0,
                                                    double maximum = std::numeric_limits<double>::infinity()) {
  ParameterSpec spec = number_parameter(std::move(name), std::move(help), minimum, maximum);
  spec.shapes_generated = true;
  return spec;
}

/// Parameters that the options of every run give (GivenBy). A Problem without input fields needs count and dtype.
[[nodiscard]] inline ParameterSpec given_parameter(std::string name, std::string help, GivenBy given_by) {
  return {.name = std::move(name), .help = std::move(help), .given_by = given_by};
}
[[nodiscard]] inline ParameterSpec count_parameter() {
  ParameterSpec spec = given_parameter("count", "elements", GivenBy::size);
  spec.minimum = 0;
  spec.maximum = 0x1p50;
  return spec;
}
[[nodiscard]] inline ParameterSpec seed_parameter() { return given_parameter("seed", "the seed", GivenBy::seed); }
[[nodiscard]] inline ParameterSpec dtype_parameter() {
  return given_parameter("dtype", "the dtype of the run", GivenBy::dtype);
}

/// --c, added to each element.
[[nodiscard]] inline ParameterSpec constant_parameter() { return {.name = "c", .help = "the constant that is added"}; }

/// --rows, of generated matrices.
[[nodiscard]] inline ParameterSpec rows_parameter(
    std::string help = "rows of the generated matrix, which has --size / rows columns; 0: about square") {
  return extent_parameter("rows", std::move(help));
}

/// --segment, of any length.
[[nodiscard]] inline ParameterSpec segment_parameter() {
  return number_parameter("segment", "elements of a segment; 0: the whole array is one", 0);
}

/// --segment, for segments that are held as a whole in registers or scratch.
[[nodiscard]] inline ParameterSpec held_segment_parameter() {
  return number_parameter("segment", "elements of a segment, 1 to 1024; 0: the whole array is one", 0, 1024);
}

/// --eps, of a normalisation.
[[nodiscard]] inline ParameterSpec eps_parameter() {
  return {.name = "eps", .help = "added to each row's variance; above 0", .in_arithmetic = true};
}

/// --tile.
[[nodiscard]] inline ParameterSpec tile_parameter(
    std::string help = "elements that a team works on at a time; 0: the variant's choice", double maximum = 1 << 30) {
  return tuning_parameter("tile", std::move(help), 0, maximum);
}

/// --team.
[[nodiscard]] inline ParameterSpec team_parameter() {
  return tuning_parameter("team", "threads per team; 0: the variant's choice", 0, 1 << 20);
}

}  // namespace tessera
