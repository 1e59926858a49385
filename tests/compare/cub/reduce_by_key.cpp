/// \file
/// cub::DeviceReduce::ReduceByKey, cub::DeviceRunLengthEncode::Encode and cub::DeviceSelect::Unique, by --mode.

#include <concepts>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>
#include <cuda/std/functional>
#include <vector>

#include "../../../apps/reduce_by_key/problem.hpp"
#include "../cuda_library.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using reduce_by_key::Mode;
using reduce_by_key::ReduceByKey;

struct Cub {
  static constexpr VariantInfo info{.name = "cub",
                                    .level = Level::library,
                                    .summary = "cub::DeviceReduce::ReduceByKey, RunLengthEncode or Unique",
                                    .deterministic = false,
                                    .ordered_by = "arrival"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
    using In = InputOn<ReduceByKey, Exec, T>;
    using Out = OutputOn<ReduceByKey, Exec, T>;

   public:
    Plan(Exec const& exec, In const& input) : mode_(input.parameters.mode) {
      workspace_ =
          workspace_of([&](void* memory, std::size_t& bytes) { return run(memory, bytes, input, Out{}, exec); });
    }

    void operator()(Exec const& exec, In const& input, Out const& output) {
      std::size_t bytes = workspace_.extent(0);
      check(run(workspace_.data(), bytes, input, output, exec));
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return reduce_by_key::written_fields(mode_); }

   private:
    cudaError_t run(void* memory, std::size_t& bytes, In const& input, Out const& output, Exec const& exec) const {
      return with_count(input.keys.extent(0), [&](auto n) { return run(memory, bytes, input, output, exec, n); });
    }

    template <class Count>
    cudaError_t run(void* memory, std::size_t& bytes, In const& input, Out const& output, Exec const& exec,
                    Count n) const {
      T const* const keys = input.keys.data();
      T* const unique = output.unique_keys.data();
      std::int64_t* const count = output.count.data();
      cudaStream_t const stream = exec.cuda_stream();
      if (mode_ == Mode::lengths) {
        return cub::DeviceRunLengthEncode::Encode(memory, bytes, keys, unique, output.lengths.data(), count, n, stream);
      }
      if (mode_ == Mode::unique) return cub::DeviceSelect::Unique(memory, bytes, keys, unique, count, n, stream);
      auto const reduce = [&](auto const& op) {
        return cub::DeviceReduce::ReduceByKey(memory, bytes, keys, unique, input.values.data(), output.sums.data(),
                                              count, op, n, stream);
      };
      switch (input.parameters.op) {
        case collective::OperatorKind::max: return reduce(collective::Max<reduce_by_key::ValueOf<T>>{});
        case collective::OperatorKind::min: return reduce(collective::Min<reduce_by_key::ValueOf<T>>{});
        default: return reduce(::cuda::std::plus<>{});  // CUB has delays of its own for it
      }
    }

    Mode mode_;
    Workspace workspace_;
  };
};

}  // namespace

Peer cub_reduce_by_key() { return {"reduce_by_key", {rows<ReduceByKey, Cub>()}}; }

}  // namespace tessera::compare
