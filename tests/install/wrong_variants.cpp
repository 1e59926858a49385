// Variants and Problems that must not compile. run.cmake checks that each error contains Tessera's own message.

#include <array>
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
  static T element(tessera::Draw const&, Parameters const&) {
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

struct WrongFunction {
  static constexpr tessera::VariantInfo info{.name = "wrong_function", .summary = "takes the output before the input"};
  template <tessera::ExecutionSpace Exec, class T>
  static void run(Exec const&, tessera::ArrayOn<T*, Exec> const&, tessera::ArrayOn<T const*, Exec> const&) {}
};

struct Empty {
  static constexpr tessera::VariantInfo info{.name = "empty", .summary = "has neither Plan nor function"};
};

struct Twofold {
  static constexpr tessera::VariantInfo info{.name = "twofold", .summary = "has a Plan and a function"};
  template <tessera::ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, In<Exec, T> const&) {}
    void operator()(Exec const&, In<Exec, T> const&, Out<Exec, T> const&) const {}
  };
  template <tessera::ExecutionSpace Exec, class T>
  static void run(Exec const&, tessera::ArrayOn<T const*, Exec> const&, tessera::ArrayOn<T*, Exec> const&) {}
};

// Problems whose rows have nothing, or little, to do with each other, but that do not say how ranks share the fields.
struct Apart : Copy {
  static constexpr bool rows_apart = true;
};
struct Reaching : Copy {
  static tessera::ranks::Reach reach(std::vector<Shape> const&, Parameters const&) { return {.behind = 1}; }
};

}  // namespace

void all_rows() {
  (void)tessera::rows<Copy, Nameless>();
  (void)tessera::rows<Copy, WrongConstructor>();
  (void)tessera::rows<Copy, WrongCall>();
  (void)tessera::rows<Copy, WrongFunction>();
  (void)tessera::rows<Copy, Empty>();
  (void)tessera::rows<Copy, Twofold>();
  (void)tessera::make_app<Apart>({});
  (void)tessera::make_app<Reaching>({});
}
