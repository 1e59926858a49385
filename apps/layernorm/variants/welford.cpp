/// \file
/// Mean and variance in one sweep over the row, by Welford's recurrence: each of 32 lanes has the moments of every 32nd
/// element, and a butterfly exchange merges them (moments.hpp). A second sweep writes the result.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "../moments.hpp"
#include "../problem.hpp"

#include <tessera/collective/in_range.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/thread/reduce.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm {

struct Welford {
  static constexpr VariantInfo info{.name = "welford",
                                    .level = Level::lane,
                                    .summary = "32 lanes per row, mean and variance in one sweep (Welford, Chan)"};

  template <ExecutionSpace Exec, Floating T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Layernorm, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, vector_length)),
          league_(league_of(tiles_of(input.x.extent(0), static_cast<std::size_t>(threads_)))),
          hidden_(input.x.extent(1)) {}

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& x, ArrayOn<T const*, Exec> const& gamma,
                    ArrayOn<T const*, Exec> const& beta, ArrayOn<T**, Exec> const& y,
                    Layernorm::Parameters const& parameters) const {
      using Policy = Kokkos::TeamPolicy<Exec>;
      using A = Arithmetic<T>;
      auto const eps = static_cast<A>(parameters.eps);
      if (league_ == 0) return;
      Kokkos::parallel_for(
          "tessera::layernorm::welford::rows", Policy(exec, league_, threads_, vector_length),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            // Each thread takes a row with all its lanes and waits for no other thread.
            std::size_t const r = static_cast<std::size_t>(team.league_rank()) * team.team_size() + team.team_rank();
            if (r >= x.extent(0)) return;
            Lanes const lanes;
            std::size_t const hidden = x.extent(1);
            A const first = x(r, 0);  // distances from it are exact if the mean is large and the variance small
            auto parts = lanes.template fill<Moments<A>>(Moments<A>{});
            A mean = 0;
            A inv_std = 0;
            for (A scale = 1;; scale = collective::shrink<A>) {  // once more if a sum has left the range
              parts = lanes.template fill<Moments<A>>(Moments<A>{});
              for (std::size_t h = 0; h < hidden; h += Lanes::width) {
                lanes.each(
                    [&](int lane, Moments<A>& part) {
                      if (h + lane < hidden) part.add((x(r, h + lane) - first) * scale, h / Lanes::width + 1);
                    },
                    parts);
              }
              Moments<A> const row = thread::reduce<Moments<A>>(lanes, parts, MergeMoments{});
              mean = row.mean / scale;
              inv_std = scale / Kokkos::sqrt(row.squares / static_cast<A>(hidden) + eps * scale * scale);
              if (inv_std > 0 || scale < 1) break;
            }
            for (std::size_t h = 0; h < hidden; h += Lanes::width) {
              lanes.each(
                  [&](int lane, Moments<A> const&) {
                    std::size_t const at = h + lane;
                    if (at < hidden) y(r, at) = gamma(at) * (((x(r, at) - first) - mean) * inv_std) + beta(at);
                  },
                  parts);
            }
          });
    }

    /// Counts 5 per element of a lane: the distance, quotient and sum of a running mean, whose errors enter the squares
    /// one and a half times (the squared distances from running means add up to at most twice the squared distances
    /// from the final mean). A merge counts 6; then 8 for an xhat and 2 for y. If a row has more elements than T counts
    /// exactly, its counts are rounded, too: one rounding per element, and three counts per merge, each with as many
    /// roundings as there were earlier merges.
    [[nodiscard]] double rounding_steps() const {
      double const merges = std::ceil(std::log2(static_cast<double>(std::min<std::size_t>(hidden_, Lanes::width))));
      int const counts = hidden_ > (std::size_t{1} << std::numeric_limits<Arithmetic<T>>::digits) ? 1 : 0;
      return (5 + counts) * static_cast<double>(tiles_of(hidden_, std::size_t{Lanes::width})) +
             (6 + 3 * counts * (1 + merges)) * merges + 10;
    }

   private:
    using Lanes = lane::On<Exec, 32>;
    static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);

    int threads_;
    int league_;
    std::size_t hidden_;
  };
};

VariantRows welford() { return rows<Layernorm, Welford>(); }

}  // namespace tessera::layernorm
