/// \file
/// A few lanes a row, as many as its length keeps busy: from one lane that reads rows of an element or two to a warp
/// that walks along long ones. Neighbouring lanes read neighbouring packs, and every lane has several rows under way.
/// For many rows, however short. Rows that are no whole number of packs go element by element, still coalesced.

#include <algorithm>
#include <cstdint>

#include "../lane_rows.hpp"
#include "../problem.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::axis_sum {

struct LanesPerRow {
  static constexpr VariantInfo info{.name = "lanes_per_row",
                                    .level = Level::lane,
                                    .summary = "1 to 32 lanes a row by its length, several rows under way in each"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int pack = collective::pack_width<T>;

    Plan(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
        : cols_(input.a.extent(1)), team_(input.parameters.team) {
      needs_axis(input.parameters, 1, info.name);
      choose(collective::is_aligned_for_packs<pack>(input.a.data()),
             [&]<class Kernel>() { (void)kernels::team_size(exec, team_, Kernel::vector_length); });  // may say Skip
      for (bool const aligned : {false, true}) {
        choose(aligned, [&]<class Kernel>() { steps_ = std::max(steps_, Kernel::rounding_steps(cols_)); });
      }
    }

    void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                    OutputOn<AxisSum, Exec, T> const& output) const {
      if (input.a.extent(0) == 0) return;
      choose(collective::is_aligned_for_packs<pack>(input.a.data()), [&]<class Kernel>() {
        Kernel::enqueue(exec, team_, input.a.data(), accumulators_of(output.out), input.a.extent(0), cols_);
      });
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }

   private:
    /// Calls body.operator()<Kernel>() with the kernel for rows of this length.
    template <class Body>
    void choose(bool aligned, Body const& body) const {
      if constexpr (!is_gpu<Exec>) {
        // A host's lanes are vector registers, and those of one row are enough under way where it fills several.
        if (cols_ < 8) return body.template operator()<LaneRows<Exec, T, 1, 1, 8>>();
        if (cols_ < 256) return body.template operator()<LaneRows<Exec, T, 8, 1, 1>>();
        body.template operator()<LaneRows<Exec, T, 32, 1, 1>>();
      } else if (aligned && cols_ % pack == 0) {
        std::size_t const packs = cols_ / pack;
        if (packs <= 1) return body.template operator()<LaneRows<Exec, T, 1, pack, 4>>();
        if (packs <= 2) return body.template operator()<LaneRows<Exec, T, 2, pack, 4>>();
        if (packs <= 4) return body.template operator()<LaneRows<Exec, T, 4, pack, 4>>();
        if (packs <= 8) return body.template operator()<LaneRows<Exec, T, 8, pack, 4>>();
        if (packs <= 16) return body.template operator()<LaneRows<Exec, T, 16, pack, 4>>();
        body.template operator()<LaneRows<Exec, T, 32, pack, 4>>();
      } else {
        if (cols_ < 4) return body.template operator()<LaneRows<Exec, T, 1, 1, 8>>();
        if (cols_ < 32) return body.template operator()<LaneRows<Exec, T, 4, 1, 8>>();
        body.template operator()<LaneRows<Exec, T, 32, 1, 8>>();
      }
    }

    std::size_t cols_;
    std::int64_t team_;
    double steps_ = 0;
  };
};

VariantRows lanes_per_row() { return rows<AxisSum, LanesPerRow>(); }

}  // namespace tessera::axis_sum
