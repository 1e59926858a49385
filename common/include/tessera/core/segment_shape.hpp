#pragma once
/// \file
/// The shape on which segment kernels are launched, and the Plans of variants around these kernels.

#include <cstddef>
#include <cstdint>
#include <variant>

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/variant_label.hpp>

namespace tessera {

/// n elements in segments; the last segment may be shorter.
struct SegmentShape {
  std::size_t n = 0;
  std::size_t segment = 0;  ///< elements; 0: the whole array is one segment
  std::int64_t tile = 0;    ///< for stencils: elements per team; 0: choose
  std::int64_t team = 0;    ///< threads; 0: choose
  std::size_t first = 0;    ///< for stencils on a part of a longer array: index of the part's first element
};

/// The Plan of a variant around segment kernels (kernels/stencil.hpp, kernels/segments.hpp). `Kernels` has one kernel
/// per operation of the Problem, in the order of its enum. Problem::shape_of returns the shape for an input, or throws
/// Skip.
template <class Problem, class Variant, ExecutionSpace Exec, class T, class... Kernels>
class SegmentPlan {
 public:
  SegmentPlan(Exec const& exec, InputOn<Problem, Exec, T> const& input) : kernel_(chosen(exec, input)) {}

  void operator()(Exec const& exec, InputOn<Problem, Exec, T> const& input,
                  OutputOn<Problem, Exec, T> const& output) const {
    std::visit([&](auto const& kernel) { kernel(exec, input.in, output.out); }, kernel_);
  }

 protected:
  /// Returns the index of the operation.
  [[nodiscard]] std::size_t op() const { return kernel_.index(); }

 private:
  using AnyKernel = std::variant<Kernels...>;

  template <class Kernel>
  [[nodiscard]] static AnyKernel made(Exec const& exec, SegmentShape const& shape) {
    return Kernel(exec, shape, label_of<Problem, Variant>() + "::apply");
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
