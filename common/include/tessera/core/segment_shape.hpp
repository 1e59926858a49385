#pragma once
/// \file
/// The shape on which kernels on segments are launched, and the Plans of variants around such kernels.

#include <cstddef>
#include <cstdint>
#include <variant>

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>

namespace tessera {

/// n elements in segments, of which the last may be short.
struct SegmentShape {
  std::size_t n = 0;
  std::size_t segment = 0;  ///< elements; 0: the whole array is one
  std::int64_t tile = 0;    ///< for stencils: elements that a team works on; 0: choose
  std::int64_t team = 0;    ///< threads; 0: choose
  std::size_t first = 0;    ///< for stencils on a part of a longer array: the index of its first element
};

/// The Plan of a variant around kernels on segments (kernels/stencil.hpp, kernels/segments.hpp): `Kernels` has one for
/// each of the Problem's operations, in the order of its enum. `Variant` has a member `label`; Problem::shape_of gives
/// the shape for an input, or throws Skip.
template <class Problem, class Variant, ExecutionSpace Exec, class T, class... Kernels>
class SegmentPlan {
 public:
  SegmentPlan(Exec const& exec, InputOn<Problem, Exec, T> const& input) : kernel_(chosen(exec, input)) {}

  void operator()(Exec const& exec, InputOn<Problem, Exec, T> const& input,
                  OutputOn<Problem, Exec, T> const& output) const {
    std::visit([&](auto const& kernel) { kernel(exec, input.in, output.out); }, kernel_);
  }

 protected:
  /// The number of the operation.
  [[nodiscard]] std::size_t op() const { return kernel_.index(); }

 private:
  using AnyKernel = std::variant<Kernels...>;

  template <class Kernel>
  [[nodiscard]] static AnyKernel made(Exec const& exec, SegmentShape const& shape) {
    return Kernel(exec, shape, Variant::label);
  }
  [[nodiscard]] static AnyKernel chosen(Exec const& exec, InputOn<Problem, Exec, T> const& input) {
    std::size_t op = 0;
    if constexpr (requires { input.parameters.op; }) op = static_cast<std::size_t>(input.parameters.op);
    AnyKernel (*const make[])(Exec const&, SegmentShape const&) = {&made<Kernels>...};
    return make[op](exec, Problem::shape_of(input));
  }

  AnyKernel kernel_;
};

}  // namespace tessera
