/// \file
/// cub::DevicePartition::If. It leaves the right side in reverse order, which is the result for --right reversed. For
/// --right kept, `cub` times the call as CUB's users make it and reverses the right side afterwards; `cub_restored`
/// includes this reversal in its time.

#include <concepts>
#include <cub/device/device_partition.cuh>

#include "../../../apps/partition/predicate.hpp"
#include "../../../apps/partition/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using partition::Partition;

/// Swaps element i of the right side with its mirror image.
template <class T>
struct TurnRight {
  T* values;
  std::int64_t const* left;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    auto const begin = static_cast<std::size_t>(*left);
    if (i >= (n - begin) / 2) return;
    T const value = values[begin + i];
    values[begin + i] = values[n - 1 - i];
    values[n - 1 - i] = value;
  }
};

template <ExecutionSpace Exec, class T>
class CubPlan {
 public:
  CubPlan(Exec const& exec, InputOn<Partition, Exec, T> const& input) {
    partition::require_one_segment(input.parameters, input.in.extent(0));
    workspace_ = workspace_of([&](void* memory, std::size_t& bytes) {
      return divide(memory, bytes, input, static_cast<T*>(nullptr), static_cast<std::int64_t*>(nullptr), exec);
    });
  }

  void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                  OutputOn<Partition, Exec, T> const& output) {
    if (output.left_count.extent(0) == 0) return;
    std::size_t bytes = workspace_.extent(0);
    check(divide(workspace_.data(), bytes, input, output.values.data(), output.left_count.data(), exec));
  }

 protected:
  static void restore(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                      OutputOn<Partition, Exec, T> const& output) {
    if (output.left_count.extent(0) == 0 || input.parameters.reversed) return;
    std::size_t const n = input.in.extent(0);
    Kokkos::parallel_for("tessera::compare::partition::turn_right", over(exec, n / 2),
                         TurnRight<T>{output.values.data(), output.left_count.data(), n});
  }

 private:
  static cudaError_t divide(void* memory, std::size_t& bytes, InputOn<Partition, Exec, T> const& input, T* values,
                            std::int64_t* left, Exec const& exec) {
    return with_count(input.in.extent(0), [&](auto n) {
      return cub::DevicePartition::If(memory, bytes, input.in.data(), values, left, n,
                                      partition::LessThanPivot<T>(input.parameters.pivot), exec.cuda_stream());
    });
  }

  Workspace workspace_;
};

struct Cub {
  static constexpr VariantInfo info{.name = "cub", .level = Level::library, .summary = "cub::DevicePartition::If"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan : public CubPlan<Exec, T> {
   public:
    using CubPlan<Exec, T>::CubPlan;
    void complete(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                  OutputOn<Partition, Exec, T> const& output) const {
      this->restore(exec, input, output);
    }
  };
};

struct CubRestored {
  static constexpr VariantInfo info{.name = "cub_restored",
                                    .level = Level::library,
                                    .summary = "cub::DevicePartition::If, then the right side is turned round"};
  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan : public CubPlan<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input) : CubPlan<Exec, T>(exec, input) {
      if (input.parameters.reversed) throw Skip("--right reversed (nothing is to be restored)");
    }
    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) {
      CubPlan<Exec, T>::operator()(exec, input, output);
      this->restore(exec, input, output);
    }
  };
};

}  // namespace

Peer cub_partition() { return {"partition", {rows<Partition, Cub>(), rows<Partition, CubRestored>()}}; }

}  // namespace tessera::compare
