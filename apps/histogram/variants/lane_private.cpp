/// \file
/// Every lane counts for itself: no atomics in the loop, whatever the elements are. See lane_counts.hpp; on GPUs
/// counters of 8 bits, on hosts, where a thread's few lanes only keep additions to one counter apart, of 32.

#include <type_traits>

#include "../lane_counts.hpp"
#include "../problem.hpp"
#include "../shares.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

struct LanePrivate {
  static constexpr VariantInfo info{
      .name = "lane_private",
      .level = Level::lane,
      .summary = "counters for each lane in scratch, no atomics, then teams, then result"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input)
        : counting_(exec, input.in.extent(0), input.parameters) {}

    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                    OutputOn<Histogram, Exec, T> const& output) const {
      counting_(exec, input.in.data(), result_of(output));
    }

    [[nodiscard]] std::string note() const { return counting_.note(); }

   private:
    LaneCounting<Exec, T, std::conditional_t<is_gpu<Exec>, std::uint8_t, std::uint32_t>> counting_;
  };
};

VariantRows lane_private() { return rows<Histogram, LanePrivate>(); }

}  // namespace tessera::histogram
