// Variants that must not compile. run.cmake checks that each error contains Tessera's own message.

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/table/make_app.hpp>

namespace {

using tessera::Array;
using tessera::Shape;

struct Copy {
  static constexpr tessera::AppInfo info{.name = "copy", .summary = "out[i] = a[i]"};
  struct Parameters {
    static tessera::MemberSpecs<Parameters> specs() { return {}; }
  };

  template <class T, class Memory>
  struct Input {
    Array<T const*, Memory> a;
    Parameters parameters;
    static constexpr std::array<std::string_view, 1> names{"a"};
    static auto fields(auto& self) { return std::tie(self.a); }
  };
  template <class T, class Memory>
  struct Output {
    Array<T*, Memory> out;
    static constexpr std::array<std::string_view, 1> names{"out"};
    static auto fields(auto& self) { return std::tie(self.out); }
  };

  static std::vector<Shape> input_shapes(std::size_t size, Parameters const&) { return {{size}}; }
  static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) { return {input[0]}; }
  template <class T>
  static T element(std::size_t, std::size_t, std::uint64_t, Parameters const&) {
    return T(1);
  }
  static tessera::Work work(std::vector<Shape> const&, Parameters const&, tessera::DType) { return {}; }
  static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }
  template <class T>
  static std::vector<tessera::ExpectedField> reference(Input<T, Kokkos::HostSpace> const&) {
    return {};
  }
};

template <class Exec, class T>
using In = tessera::InputOn<Copy, Exec, T>;
template <class Exec, class T>
using Out = tessera::OutputOn<Copy, Exec, T>;

struct Nameless {
  template <tessera::ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, In<Exec, T> const&) {}
    void operator()(Exec const&, In<Exec, T> const&, Out<Exec, T> const&) const {}
  };
};

struct WrongConstructor {
  static constexpr tessera::VariantInfo info{.name = "wrong_constructor", .summary = "takes no input"};
  template <tessera::ExecutionSpace Exec, class T>
  struct Plan {
    explicit Plan(Exec const&) {}
    void operator()(Exec const&, In<Exec, T> const&, Out<Exec, T> const&) const {}
  };
};

struct WrongCall {
  static constexpr tessera::VariantInfo info{.name = "wrong_call", .summary = "takes the output before the input"};
  template <tessera::ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, In<Exec, T> const&) {}
    void operator()(Exec const&, Out<Exec, T> const&, In<Exec, T> const&) const {}
  };
};

}  // namespace

void all_rows() {
  (void)tessera::rows<Copy, Nameless>();
  (void)tessera::rows<Copy, WrongConstructor>();
  (void)tessera::rows<Copy, WrongCall>();
}
