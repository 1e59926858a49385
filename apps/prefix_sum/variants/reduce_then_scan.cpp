/// \file
/// Reduce, scan the totals, scan again: three launches, whatever the size, and 3n traffic. Every team owns one
/// contiguous chunk of register tiles; there are only as many chunks as fill the machine, so that one team scans all
/// their totals.

#include "../scan_plan.hpp"

#include <algorithm>
#include <cmath>

#include <tessera/collective/team/lane_scan.hpp>
#include <tessera/kernels/chunks.hpp>
#include <tessera/kernels/natural_tile.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::prefix_sum {

namespace {

template <class Exec, class Elements>
struct ChunkKernels {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Scalar = typename Elements::Scalar;
  using Value = typename Elements::Value;
  using Natural = kernels::NaturalTile<Exec, Elements>;
  using Lanes = typename Natural::Lanes;
  using Tile = typename Natural::type;
  using Scratch = Kokkos::View<Value*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  struct ReduceTag {};
  struct TotalsTag {};
  struct ScanTag {};

  Elements elements;
  Scalar const* in;
  Scalar* out;
  Value* totals;
  kernels::Chunks chunks;
  std::size_t tile;  // elements that a team works on at a time
  int part;          // elements of a tile that are one thread's

  // The totals of the threads, in two buffers: the next tile's are written while the last one's may still be read.
  [[nodiscard]] static std::size_t scratch_bytes(int threads) { return Scratch::shmem_size(2 * threads); }

  // One thread's part of a tile: loaded here, so that both launches read the same elements.
  KOKKOS_FUNCTION void load(Tile& part_of_tile, std::size_t tile_begin, Member const& team) const {
    std::size_t const end = Kokkos::min(tile_begin + tile, chunks.n);
    std::size_t const begin = Kokkos::min(tile_begin + static_cast<std::size_t>(team.team_rank()) * part, end);
    part_of_tile.load(Lanes{}, elements, in, begin, Kokkos::min(begin + part, end));
  }

  // What a chunk adds up to.
  KOKKOS_FUNCTION void operator()(ReduceTag, Member const& team) const {
    auto const op = elements.op();
    Scratch const scratch(team.team_scratch(0), 2 * team.team_size());
    std::size_t const end = chunks.end(team.league_rank());
    Value carry = op.identity();
    int buffer = 0;
    for (std::size_t tile_begin = chunks.begin(team.league_rank()); tile_begin < end; tile_begin += tile, buffer ^= 1) {
      Tile own;
      load(own, tile_begin, team);
      Value const total = own.scan(Lanes{}, elements);
      auto const threads = team::scan_threads(team, Lanes{}, total, scratch.data() + buffer * team.team_size(), op);
      carry = op(carry, threads.total);
    }
    Kokkos::single(Kokkos::PerTeam(team), [&] { totals[team.league_rank()] = carry; });
    team.team_barrier();  // hosts go on with another chunk in the same scratch
  }

  // Inclusive scan of all chunks' totals by one team.
  KOKKOS_FUNCTION void operator()(TotalsTag, Member const& team) const {
    Scratch const scratch(team.team_scratch(0), 2 * team.team_size());
    team::lane_scan(team, Lanes{}, totals, scratch.data(), chunks.count, elements.op());
  }

  // The scan of a chunk, from what lies before it.
  KOKKOS_FUNCTION void operator()(ScanTag, Member const& team) const {
    auto const op = elements.op();
    Scratch const scratch(team.team_scratch(0), 2 * team.team_size());
    std::size_t const end = chunks.end(team.league_rank());
    Value carry = team.league_rank() > 0 ? totals[team.league_rank() - 1] : op.identity();
    int buffer = 0;
    for (std::size_t tile_begin = chunks.begin(team.league_rank()); tile_begin < end; tile_begin += tile, buffer ^= 1) {
      Tile own;
      load(own, tile_begin, team);
      Value const total = own.scan(Lanes{}, elements);
      auto const threads = team::scan_threads(team, Lanes{}, total, scratch.data() + buffer * team.team_size(), op);
      own.store(Lanes{}, elements, op(carry, threads.before), out);
      carry = op(carry, threads.total);
    }
    team.team_barrier();  // hosts go on with another chunk in the same scratch
  }
};

template <class Exec, class Elements>
class ReduceThenScanOfChunks {
 public:
  using Scalar = typename Elements::Scalar;
  using Kernels = ChunkKernels<Exec, Elements>;
  using Value = typename Kernels::Value;
  using Tile = typename Kernels::Tile;
  static constexpr int vector_length = lane::vector_length<Exec>(Kernels::Lanes::width);

  ReduceThenScanOfChunks(Exec const& exec, Elements const& elements, std::size_t n,
                         PrefixSum::Parameters const& parameters)
      : elements_(elements), threads_(kernels::team_size(exec, parameters.team, vector_length)) {
    auto const most = static_cast<std::size_t>(threads_) * Tile::size;
    tile_ = parameters.tile == 0 ? most : std::min(static_cast<std::size_t>(parameters.tile), most);
    // A smaller tile than fits into registers leaves some of them empty; threads share it evenly.
    part_ = static_cast<int>((tile_ + threads_ - 1) / threads_);
    chunks_ = kernels::chunks_of(exec, n, tile_, threads_ * vector_length);
    totals_ =
        TotalsView(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::prefix_sum::reduce_then_scan::totals"),
                   chunks_.count);
  }

  void operator()(Exec const& exec, Scalar const* in, Scalar* out) const {
    Kernels const kernels{elements_, in, out, totals_.data(), chunks_, tile_, part_};
    if (chunks_.count > 1) {
      Kokkos::parallel_for("tessera::prefix_sum::reduce_then_scan::reduce",
                           policy<typename Kernels::ReduceTag>(exec, chunks_.count), kernels);
      Kokkos::parallel_for("tessera::prefix_sum::reduce_then_scan::totals",
                           policy<typename Kernels::TotalsTag>(exec, 1), kernels);
    }
    Kokkos::parallel_for("tessera::prefix_sum::reduce_then_scan::scan",
                         policy<typename Kernels::ScanTag>(exec, chunks_.count), kernels);
  }

  /// A chunk's tiles one after the other, the chunks' totals, and within a tile its lanes' runs, rows and threads,
  /// twice where an element is added again on top of what lies before it.
  [[nodiscard]] double rounding_steps() const {
    double const within = Tile::size / Kernels::Lanes::width + 2 * std::log2(Kernels::Lanes::width) + threads_ + 8;
    double const chunk_tiles = std::ceil(static_cast<double>(chunks_.size) / static_cast<double>(tile_));
    double const totals = std::ceil(static_cast<double>(chunks_.count) / (Kernels::Lanes::width * threads_)) + within;
    return within + 2 * chunk_tiles + totals;
  }
  [[nodiscard]] std::string note() const {
    return std::to_string(chunks_.count) + " chunks, tile " + std::to_string(tile_);
  }

 private:
  using TotalsView = Kokkos::View<Value*, typename Exec::memory_space>;

  template <class Tag>
  [[nodiscard]] auto policy(Exec const& exec, int league) const {
    Kokkos::TeamPolicy<Exec, Tag> result(exec, league, threads_, vector_length);
    return result.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernels::scratch_bytes(threads_))));
  }

  Elements elements_;
  int threads_;
  int part_ = 0;
  std::size_t tile_ = 0;
  kernels::Chunks chunks_;
  TotalsView totals_;
};

}  // namespace

struct ReduceThenScan {
  static constexpr VariantInfo info{.name = "reduce_then_scan",
                                    .level = Level::lane,
                                    .summary = "reduce chunks, scan their totals, scan the chunks: 3n traffic"};
  template <ExecutionSpace Exec, class T>
  using Plan = ScanPlan<ReduceThenScanOfChunks, Exec, T>;
};

VariantRows reduce_then_scan() { return rows<PrefixSum, ReduceThenScan>(); }

}  // namespace tessera::prefix_sum
