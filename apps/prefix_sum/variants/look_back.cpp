/// \file
/// A single pass: every team scans one register tile and learns from its predecessors what lies before it (decoupled
/// look-back). One launch, 2n traffic, the least there is.

#include "../scan_plan.hpp"

#include <algorithm>
#include <cmath>

#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/kernels/look_back_workspace.hpp>
#include <tessera/kernels/natural_tile.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

template <class Exec, class Elements>
struct LookBackKernel {
  // Two teams of the most lanes there are: so no thread takes more than 64 registers, and four teams of 256 lanes share
  // a multiprocessor. While one asks its predecessors, the others load and store.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 2>>;
  using Member = typename Policy::member_type;
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Natural = kernels::NaturalTile<Exec, Elements>;
  using Lanes = typename Natural::Lanes;
  using Tile = typename Natural::type;

  // A team's scratch: the number of its tile, what lies before the tile, the threads' totals.
  struct Shared {
    std::uint32_t tile;
    Value before;
  };
  using SharedView = Kokkos::View<Shared, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using TotalsView = Kokkos::View<Value*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Elements elements;
  Scalar const* in;
  Scalar* out;
  std::size_t n;
  std::size_t tile_size;
  int part;  // elements of a tile that are one thread's
  collective::LookBackHandle<Value> look_back;

  [[nodiscard]] static std::size_t scratch_bytes(int threads) {
    return SharedView::shmem_size() + TotalsView::shmem_size(threads);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    auto const op = elements.op();
    SharedView const shared(team.team_scratch(0));
    TotalsView const totals(team.team_scratch(0), team.team_size());

    // 1. The tile's number: in the order in which teams start, not in which they are numbered.
    Kokkos::single(Kokkos::PerTeam(team), [&] { shared().tile = look_back.next_tile(); });
    team.team_barrier();
    std::size_t const tile = shared().tile;

    // 2. The scan of the tile alone.
    std::size_t const tile_begin = tile * tile_size;
    std::size_t const tile_end = Kokkos::min(tile_begin + tile_size, n);
    std::size_t const begin = Kokkos::min(tile_begin + static_cast<std::size_t>(team.team_rank()) * part, tile_end);
    Tile own;
    own.load(lanes, elements, in, begin, Kokkos::min(begin + part, tile_end));
    Value const own_total = own.scan(lanes, elements);
    auto const threads = team::scan_threads(team, lanes, own_total, totals.data(), op);

    // 3. Tell the others, and ask them.
    if (team.team_rank() == 0) {
      Value before = op.identity();
      if (tile > 0) {
        publish(team, tile, collective::TileState::partial, threads.total);
        before = look_back.before(lanes, tile, op);
      }
      publish(team, tile, collective::TileState::inclusive, op(before, threads.total));
      Kokkos::single(Kokkos::PerThread(team), [&] { shared().before = before; });
    }
    team.team_barrier();

    // 4. The scan of everything.
    own.store(lanes, elements, op(shared().before, threads.before), out);
  }

 private:
  KOKKOS_FUNCTION void publish(Member const& team, std::size_t tile, collective::TileState state,
                               Value const& value) const {
    Kokkos::single(Kokkos::PerThread(team), [&] { look_back.publish(tile, state, value); });
  }
};

template <class Exec, class Elements>
class SinglePassScan {
 public:
  using Scalar = typename Elements::Scalar;
  using Kernel = LookBackKernel<Exec, Elements>;
  using Tile = typename Kernel::Tile;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernel::Lanes::width);

  SinglePassScan(Exec const& exec, Elements const& elements, std::size_t n, PrefixSum::Parameters const& parameters)
      : elements_(elements),
        n_(n),
        threads_(kernels::team_size(exec, parameters.team, vector_length)),
        tile_(std::min<std::size_t>(parameters.tile == 0 ? most() : static_cast<std::size_t>(parameters.tile), most())),
        // A smaller tile than fits into registers leaves some of them empty; threads share it evenly.
        part_(static_cast<int>((tile_ + threads_ - 1) / threads_)),
        tiles_(tiles_of(n, tile_)),
        look_back_("tessera::prefix_sum::look_back", tiles_) {}

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) {
    Kernel const kernel{elements_, in, out, n_, tile_, part_, look_back_.next_launch(exec)};
    typename Kernel::Policy policy(exec, static_cast<int>(tiles_), threads_, vector_length);
    Kokkos::parallel_for("tessera::prefix_sum::look_back::scan",
                         policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(threads_)))),
                         kernel);
  }

  /// At worst every tile finds only its neighbour inclusive: a chain through all tiles. Within a tile a lane's run, the
  /// rows, lanes and threads, twice where an element is added again on top of what lies before it.
  [[nodiscard]] double rounding_steps() const {
    double const within = Tile::size / Kernel::Lanes::width + 2 * std::log2(Kernel::Lanes::width) + threads_ + 8;
    return within + static_cast<double>(tiles_);
  }
  [[nodiscard]] std::string note() const { return "tile " + std::to_string(tile_); }

 private:
  [[nodiscard]] std::size_t most() const { return static_cast<std::size_t>(threads_) * Tile::size; }

  Elements elements_;
  std::size_t n_;
  int threads_;
  std::size_t tile_;
  int part_;
  std::size_t tiles_;
  kernels::LookBackWorkspace<Exec, typename Kernel::Value> look_back_;
};

}  // namespace

struct LookBack {
  static constexpr VariantInfo info{.name = "look_back",
                                    .level = Level::device,
                                    .summary = "single pass, 2n traffic: tiles ask their predecessors (look-back)",
                                    // Who is asked, and so the order of additions, depends on who has answered by then.
                                    .deterministic = false,
                                    .ordered_by = "arrival"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<SinglePassScan, Exec, T>;
};

VariantRows look_back() { return rows<PrefixSum, LookBack>(); }

}  // namespace tessera::prefix_sum
