/// \file
/// Count, then scatter: two launches, whatever the size, and 3n traffic, of which two thirds is reading. Nobody waits
/// for another tile, and no right element is written twice.

#include "../chunked.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct ReduceThenScatter {
  static constexpr VariantInfo info{.name = "reduce_then_scatter",
                                    .level = Level::lane,
                                    .summary = "count chunks, then scatter their tiles: 3n traffic"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : chunked_(exec, input.in.extent(0), whole(input).parameters) {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) const {
      if (output.left_count.extent(0) == 0) return;
      chunked_(exec, LessThanPivot<T>(input.parameters.pivot), input.in.data(), output.values.data(),
               output.left_count.data());
    }
    [[nodiscard]] std::string note() const { return chunked_.note(); }

   private:
    [[nodiscard]] static InputOn<Partition, Exec, T> const& whole(InputOn<Partition, Exec, T> const& input) {
      if (!input.parameters.is_one_segment(input.in.extent(0))) {
        throw Skip("segments of " + std::to_string(input.parameters.segment) +
                   " (the whole array is partitioned at once)");
      }
      return input;
    }

    ChunkedPartition<Exec, T> chunked_;
  };
};

VariantRows reduce_then_scatter() { return rows<Partition, ReduceThenScatter>(); }

}  // namespace tessera::partition
