#pragma once
/// \file
/// The single pass of look_back and compact: every team splits a tile, learns from its predecessors how many left
/// elements lie before it (decoupled look-back), and writes the left ones to their places. The places of the right ones
/// begin behind all left ones, of which nobody knows the number before the last tile is counted: they go to a buffer of
/// their own, in order, from where a second launch moves them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tile.hpp"

#include <tessera/kernels/chunks.hpp>
#include <tessera/kernels/look_back_workspace.hpp>

namespace tessera::partition {

/// Count: unsigned, holds numbers up to n. Of 32 bits it shares a word with its flag.
template <ExecutionSpace Exec, class T, class Count, bool with_rights, bool as_gpu>
struct SinglePassKernel {
  // Two teams of the most lanes there are: so no thread takes more than 64 registers, and four teams of 256 lanes share
  // a multiprocessor. While one asks its predecessors, the others load and store.
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 2>>;
  using Member = typename Policy::member_type;
  using Shape = TileShape<Exec, T, as_gpu>;
  using Lanes = typename Shape::Lanes;

  struct Shared {
    std::uint32_t tile;
    Count before;
  };
  template <class Value>
  using Scratch = Kokkos::View<Value*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  LessThanPivot<T> is_left;
  T const* in;
  T* values;
  T* rights;  // all right elements, in order
  std::int64_t* left_count;
  std::size_t n;
  std::size_t tiles;
  std::size_t tile_size;
  int part;
  collective::LookBackHandle<Count> look_back;

  [[nodiscard]] static std::size_t scratch_bytes(Shape const& shape) {
    return Scratch<Shared>::shmem_size(1) + Scratch<int>::shmem_size(shape.threads) +
           Scratch<T>::shmem_size(shape.tile);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    collective::Sum<Count> const add;
    Scratch<Shared> const shared(team.team_scratch(0), 1);
    Scratch<int> const totals(team.team_scratch(0), team.team_size());
    Scratch<T> const exchange(team.team_scratch(0), tile_size);

    // 1. The tile's number: in the order in which teams start, not in which they are numbered.
    Kokkos::single(Kokkos::PerTeam(team), [&] { shared(0).tile = look_back.next_tile(); });
    team.team_barrier();
    std::size_t const number = shared(0).tile;
    std::size_t const begin = number * tile_size;
    int const count = thread::count_before(begin, n, static_cast<int>(tile_size));

    // 2. The tile alone. Its elements go to scratch before anybody is asked: by then more have answered.
    Tile<Shape, T> tile;
    auto const counts = tile.load(team, in + begin, part, count, is_left, totals.data());
    auto const lefts = static_cast<Count>(counts.lefts);
    if (team.team_rank() == 0 && number > 0) publish(team, number, collective::TileState::partial, lefts);
    tile.template exchange<with_rights>(is_left, counts, exchange.data());

    // 3. What lies before it.
    if (team.team_rank() == 0) {
      Count const before = number > 0 ? look_back.before(lanes, number, add) : add.identity();
      publish(team, number, collective::TileState::inclusive, add(before, lefts));
      Kokkos::single(Kokkos::PerThread(team), [&] {
        shared(0).before = before;
        if (number + 1 == tiles) left_count[0] = static_cast<std::int64_t>(add(before, lefts));
      });
    }
    team.team_barrier();

    // 4. Runs of neighbours, as wide as the tile has left and right elements.
    std::size_t const before = shared(0).before;
    store_run<Shape>(team, exchange.data(), counts.lefts, values + before);
    if constexpr (with_rights) {
      store_run<Shape>(team, exchange.data() + counts.lefts, count - counts.lefts, rights + (begin - before));
    }
  }

 private:
  KOKKOS_FUNCTION void publish(Member const& team, std::size_t tile, collective::TileState state, Count value) const {
    Kokkos::single(Kokkos::PerThread(team), [&] { look_back.publish(tile, state, value); });
  }
};

/// Moves the right elements behind the left ones. As many teams as fill the machine: how many elements there are to
/// move, they find out when they run.
template <ExecutionSpace Exec, class T, bool as_gpu>
struct MoveRights {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<512, 2>>;  // 64 registers
  using Member = typename Policy::member_type;
  using Lanes = typename TileShape<Exec, T, as_gpu>::Lanes;
  static constexpr int in_flight = 4;
  static constexpr int pack = collective::pack_width<T>;
  using Pack = collective::Pack<T, pack>;
  using Block = InFlight<Pack, in_flight>;

  T const* rights;  // as an allocation begins, aligned for packs
  T* values;
  std::int64_t const* left_count;
  std::size_t n;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const lefts = static_cast<std::size_t>(left_count[0]);
    T* const to = values + lefts;
    auto const count = static_cast<std::int64_t>(n - lefts);
    // Tiles begin where a line of the target does.
    int const shift = behind_line<as_gpu>(to);
    int const tile = as_gpu ? in_flight * Lanes::width * pack * team.team_size() : 8192;
    std::int64_t const tiles = (count + shift + tile - 1) / tile;
    for (std::int64_t number = team.league_rank(); number < tiles; number += team.league_size()) {
      // The last first: the caches still hold it.
      std::int64_t const begin = (tiles - 1 - number) * tile - shift;
      if (as_gpu && begin >= 0 && begin + tile + pack <= count) {
        move_packs(team, begin, to + begin);
      } else {
        std::int64_t const first = Kokkos::max<std::int64_t>(begin, 0);
        auto const moved = static_cast<int>(Kokkos::min<std::int64_t>(begin + tile, count) - first);
        T const* const tile_from = rights + first;
        T* const tile_to = to + first;
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, moved), [&](int i) { tile_to[i] = tile_from[i]; });
      }
    }
  }

 private:
  // A whole tile, at least a pack before the last element. It begins where a line of the target does, but somewhere in a
  // pack of the source: a lane loads the pack in which its elements begin, the rest of them is in the next lane's.
  KOKKOS_FUNCTION void move_packs(Member const& team, std::int64_t begin, T* to) const {
    Lanes const lanes;
    int const ahead = static_cast<int>(begin % pack);
    int const first = team.team_rank() * Lanes::width * pack;
    int const stride = team.team_size() * Lanes::width * pack;
    T const* const from = rights + (begin - ahead);
    auto own = lanes.template fill<Block>({});
    auto behind = lanes.template fill<Block>({});  // the last lane
    lanes.each(
        [&](int lane, Block& mine, Block& more) {
          for (int k = 0; k < in_flight; ++k) {
            T const* const at = from + first + k * stride + lane * pack;
            mine.at[k] = collective::pack_at<pack>(at);
            if (lane + 1 == Lanes::width) more.at[k] = collective::pack_at<pack>(at + pack);
          }
        },
        own, behind);
    auto const next = lanes.shift_down(own, 1);
    lanes.each(
        [&](int lane, Block const& mine, Block const& following, Block const& more) {
          for (int k = 0; k < in_flight; ++k) {
            T window[2 * pack];
            for (int e = 0; e < pack; ++e) {
              window[e] = mine.at[k][e];
              window[pack + e] = lane + 1 == Lanes::width ? more.at[k][e] : following.at[k][e];
            }
            // By powers of two: what indexes registers must be a constant.
            for (int by = 1; by < pack; by *= 2) {
              for (int e = 0; e + by < 2 * pack; ++e) window[e] = (ahead & by) != 0 ? window[e + by] : window[e];
            }
            Pack out;
            for (int e = 0; e < pack; ++e) out[e] = window[e];
            collective::pack_at<pack>(to + first + k * stride + lane * pack) = out;
          }
        },
        own, next, behind);
  }
};

/// Enqueues the pass, and the launch that moves the right elements where they are wanted. For one segment.
template <ExecutionSpace Exec, class T, class Count, bool with_rights, bool as_gpu = is_gpu<Exec>>
class SinglePass {
 public:
  using Kernel = SinglePassKernel<Exec, T, Count, with_rights, as_gpu>;

  SinglePass(std::string const& label, Exec const& exec, std::size_t n, Partition::Parameters const& parameters)
      : label_(label),
        shape_(exec, parameters),
        n_(n),
        // One tile even of nothing: it writes the count.
        tiles_(std::max<std::size_t>(1, tiles_of(n, shape_.tile))),
        league_(league_of(tiles_)),
        movers_(
            league_of(std::min(kernels::teams_that_fill(exec, shape_.threads * Kernel::Shape::vector_length), tiles_))),
        look_back_(label, tiles_),
        rights_(Kokkos::view_alloc(Kokkos::WithoutInitializing, label + "::rights"), with_rights ? n : 0) {}

  void operator()(Exec const& exec, LessThanPivot<T> const& is_left, T const* in, T* values, std::int64_t* left_count) {
    constexpr int vector_length = Kernel::Shape::vector_length;
    typename Kernel::Policy policy(exec, league_, shape_.threads, vector_length);
    Kokkos::parallel_for(label_ + "::pass",
                         policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(shape_)))),
                         Kernel{is_left, in, values, rights_.data(), left_count, n_, tiles_, shape_.tile, shape_.part,
                                look_back_.next_launch(exec)});
    if constexpr (with_rights) {
      using Move = MoveRights<Exec, T, as_gpu>;
      Kokkos::parallel_for(label_ + "::move", typename Move::Policy(exec, movers_, shape_.threads, vector_length),
                           Move{rights_.data(), values, left_count, n_});
    }
  }

  [[nodiscard]] std::string note() const { return "tile " + std::to_string(shape_.tile); }

 private:
  std::string label_;
  typename Kernel::Shape shape_;
  std::size_t n_;
  std::size_t tiles_;
  int league_;
  int movers_;
  kernels::LookBackWorkspace<Exec, Count> look_back_;
  Kokkos::View<T*, typename Exec::memory_space> rights_;
};

}  // namespace tessera::partition
