/// \file
/// Segments that the lanes of one thread hold, in one launch without scratch and barriers: 2n traffic.

#include "../lane_segments.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::partition {

struct LaneScan {
  static constexpr VariantInfo info{
      .name = "lane_scan", .level = Level::lane, .summary = "segments in the lanes of a thread, placed by their votes"};
  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Partition, Exec, T> const& input)
        : segments_(exec, input.in.extent(0), input.parameters) {}

    void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                    OutputOn<Partition, Exec, T> const& output) const {
      segments_(exec, LessThanPivot<T>(input.parameters.pivot), input.in.data(), output.values.data(),
                output.left_count.data());
    }
    [[nodiscard]] std::string note() const { return segments_.note(); }

   private:
    LaneSegments<Exec, T> segments_;
  };
};

VariantRows lane_scan() { return rows<Partition, LaneScan>(); }

}  // namespace tessera::partition
