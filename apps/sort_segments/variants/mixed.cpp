/// \file
/// Segments of all lengths in the same launches: lanes sort short ones in registers, and merges join what a longer
/// segment has in several runs and tiles. The kernel is kernels/sort_segments.hpp.

#include "../problem.hpp"

#include <optional>
#include <string>

#include <tessera/kernels/sort_segments.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::sort_segments {

struct Mixed {
  static constexpr VariantInfo info{
      .name = "mixed", .level = Level::team, .summary = "groups of lanes sort short segments, merges join long ones"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<SortSegments, Exec, T> const& input) {
      auto const make = [&](auto& kernel) {
        kernel.emplace(exec, input.keys.extent(0), input.offsets.extent(0) - 1, input.parameters.descending,
                       input.parameters.team, 0, "tessera::sort_segments::mixed");
      };
      if (input.values.extent(0) > 0) {
        make(pairs_);
      } else {
        make(keys_);
      }
    }

    void operator()(Exec const& exec, InputOn<SortSegments, Exec, T> const& in,
                    OutputOn<SortSegments, Exec, T> const& out) const {
      if (pairs_) {
        (*pairs_)(exec, in.keys, in.values, in.offsets, out.keys, out.values);
      } else {
        (*keys_)(exec, in.keys, in.offsets, out.keys);
      }
    }

    [[nodiscard]] std::string note() const { return pairs_ ? pairs_->note() : keys_->note(); }

   private:
    std::optional<kernels::SortSegments<Exec, T>> keys_;
    std::optional<kernels::SortSegments<Exec, T, std::int32_t>> pairs_;
  };
};

VariantRows mixed() { return rows<SortSegments, Mixed>(); }

}  // namespace tessera::sort_segments
