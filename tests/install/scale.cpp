// A mini-app outside of Tessera's source tree, in one file: out[i] = factor * a[i], with one variant.

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/driver/run.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/make_app.hpp>

namespace {

using tessera::Array;
using tessera::DType;
using tessera::Shape;

struct Scale {
  static constexpr tessera::AppInfo info{.name = "scale", .summary = "out[i] = factor * a[i]"};

  struct Parameters {
    std::int64_t factor = 3;

    static tessera::MemberSpecs<Parameters> specs() {
      return {{&Parameters::factor,
               {.name = "factor", .help = "what is multiplied by", .minimum = -1000, .maximum = 1000}}};
    }
  };

  /// a [n].
  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> a;
    Parameters parameters;

    static constexpr std::array<std::string_view, 1> names{"a"};
    static auto fields(auto& self) { return std::tie(self.a); }
  };

  /// out [n].
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> out;

    static constexpr std::array<std::string_view, 1> names{"out"};
    static auto fields(auto& self) { return std::tie(self.out); }
  };

  static std::vector<Shape> input_shapes(std::size_t size, Parameters const&) { return {{size}}; }
  static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) { return {input[0]}; }

  template <class T>
  static T element(tessera::Draw const& draw, Parameters const&) {
    return tessera::drawn<T>(draw);
  }

  static tessera::Work work(std::vector<Shape> const& input, Parameters const&, DType dtype) {
    double const n = static_cast<double>(tessera::count_of(input[0]));
    return {.bytes = 2 * n * static_cast<double>(tessera::size_of(dtype)), .flops = n};
  }

  /// One multiplication.
  static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 1; }

  template <class T>
  static std::vector<tessera::ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input) {
    std::size_t const n = input.a.extent(0);
    tessera::ExpectedField out{.name = "out", .shape = {n}, .value = {}, .scale = {}};
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (std::is_integral_v<T>) {
        std::int64_t const product = std::int64_t{input.a(i)} * input.parameters.factor;
        out.value.push_back(static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(product))));
      } else {
        out.value.push_back(static_cast<double>(input.a(i)) * static_cast<double>(input.parameters.factor));
        out.scale.push_back(std::abs(out.value.back()));
      }
    }
    return {out};
  }
};

struct Range {
  static constexpr tessera::VariantInfo info{.name = "range", .level = tessera::Level::range, .summary = "one line"};

  template <tessera::ExecutionSpace Exec, class T>
  static void run(Exec const& exec, tessera::ArrayOn<T const*, Exec> const& a, tessera::ArrayOn<T*, Exec> const& out,
                  Scale::Parameters const& parameters) {
    T const factor = static_cast<T>(parameters.factor);
    Kokkos::parallel_for(
        "scale::range", tessera::over(exec, a.extent(0)), KOKKOS_LAMBDA(std::size_t i) { out(i) = factor * a(i); });
  }
};

}  // namespace

int main(int argc, char** argv) {
  return tessera::run_app(tessera::make_app<Scale>({tessera::rows<Scale, Range>()}), argc, argv);
}
