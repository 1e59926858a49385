#pragma once
/// \file
/// The product of two matrices of floats, c = a b, by warpgroups. It computes the same as TensorGemm
/// (kernels/tensor_gemm.hpp), with the same error bound, using instructions that only GPUs of compute capability 9.0
/// have. They read factors from scratch instead of registers, and compute 64 x 128 sums at a time.
///
///     pack       a, b  -->  rounded panels in memory                            the first kernel
///     ------------------------------------------------------------------------------------------
///     load       a stage of panels  -->  scratch, three stages ahead  <--+      the second kernel
///     multiply   sums += a x b; waits for the previous stage's  ---------+      for each stage
///     store      sums  -->  c, as the form says
///
/// Two launches. The first one rounds a and b and writes them to a workspace, as panels of 16 of k
/// (collective/warpgroup.hpp):
///
///     packed a   [k / 16][2][m] packs of 8 neighbours of k          packed b   [k / 16][2][n], columns reordered
///
/// The second one computes c. A team is one warpgroup, and its tile is 128 x 128: two products of 64 x 128 for each 16
/// of k.
///
///     stage      256 packs of a, 256 of b: 8 KiB; five stages fit the scratch that Kokkos provides
///
/// Copies run three stages ahead. A team waits for a stage's products only after it has started the products of the
/// next stage, so that the units never idle. A stage may therefore be overwritten only after the barrier two stages
/// later. Three teams share a multiprocessor.
///
/// A lane's sums are pairs of neighbours, but c is best written four at a time. Each panel therefore stores 16 columns
/// of b as the eight even ones followed by the eight odd ones. A lane's two sums of even columns and its two sums of
/// odd columns are then four neighbours of c.
///
/// Traffic in bytes, with tiles of M x N: 6 (m k + k n) to pack, 2 m n k (1 / M + 1 / N) mostly from the cache, 4 m n
/// written.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22]; small integers are exact.
///
/// Use:  warpgroup_gemm<BFloat16>(exec, a, b, c);
///   or, enqueued many times:  WarpgroupGemm<Kokkos::Cuda, BFloat16> gemm(exec, m, n, k);  gemm(exec, a, b, c);
/// The file must be compiled by nvcc for compute capability 9.0a (`-arch=sm_90a`); Kokkos' own flags select 9.0. In
/// other code the constructor throws Skip.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/divider.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/warpgroup.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/gemm/matrix_unit_gemm.hpp>
#include <tessera/kernels/detail/gemm/matrix_units.hpp>
#include <tessera/kernels/detail/gemm/pack_factors.hpp>
#include <tessera/kernels/detail/gemm/warpgroups.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// A team's tile of c: `Strips` products below each other. `MostTeams`: teams per multiprocessor; registers must
/// suffice for them.
///
/// 2 strips and 5 stages are the fastest measured choice within the 48 KiB of scratch that Kokkos provides to a team:
/// faster than 4 stages, and than tiles of 64 x 256 and 128 x 192. 4 stages of 32 of k are faster, but need 64 KiB. See
/// docs/decisions/0023-what-tuning-taught.md.
template <int Strips = 2, int Stages = 5, int MostTeams = 3>
struct WarpgroupTile {
  static constexpr int strips = Strips;
  static constexpr int stages = Stages;
  static constexpr int teams = MostTeams;
  static constexpr int threads = collective::AnyWarpgroup::threads;
  static constexpr int lanes = threads * collective::AnyWarpgroup::lanes;
  static constexpr int rows = Strips * collective::AnyWarpgroup::rows;
  static constexpr int cols = collective::AnyWarpgroup::cols;
  static constexpr int depth = collective::AnyWarpgroup::depth;  ///< k per stage
  static_assert(Stages >= 3, "Tessera: one stage is multiplied, the one before may still be, others are in flight");
};

namespace detail {

/// Rounds a matrix of `rows` x `k`, given as it is or transposed, and writes its panels, with zeros outside the matrix.
/// One call per pack. `Paired`: rows (columns of b) are reordered so that a lane's sums are groups of four neighbours
/// in c.
template <class Factor, bool Transposed, bool Paired, class Load>
struct PackPanels {
  using Unit = collective::MatrixUnit<Factor>;

  RowsOfFactors<Transposed, Load> from;
  std::size_t padded;           // rows of the panels, a multiple of 16
  std::size_t slices;           // along k, 16 each
  collective::Divider divider;  // divides by `padded` if the matrix is transposed, else by `slices`
  collective::FactorPack* packed;

  /// Consecutive calls read neighbouring elements of the matrix.
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    if constexpr (Transposed) {
      std::size_t const eighth = divider(i);
      pack(i - eighth * padded, eighth);
    } else {
      std::size_t const block = i / 32;  // of 16 x 16 elements
      std::size_t const block_row = divider(block);
      pack(block_row * 16 + i % 32 / 2, (block - block_row * slices) * 2 + i % 2);
    }
  }

 private:
  KOKKOS_FUNCTION void pack(std::size_t row, std::size_t eighth) const {
    auto const low = from.four(row, eighth * 8);
    auto const high = from.four(row, eighth * 8 + 4);
    std::size_t const place = Paired ? row / 16 * 16 + row % 2 * 8 + row % 16 / 2 : row;
    packed[eighth * padded + place] = {Unit::word(low[0], low[1]), Unit::word(low[2], low[3]),
                                       Unit::word(high[0], high[1]), Unit::word(high[2], high[3])};
  }
};

/// The product of packed panels.
template <class Exec, class Lanes, class Tile, class Products, collective::AsyncCopies Copies, class Store>
struct WarpgroupProduct {
  using Policy = Kokkos::TeamPolicy<Exec, Kokkos::LaunchBounds<Tile::lanes, Tile::teams>>;
  using Member = typename Policy::member_type;
  using FactorPack = collective::FactorPack;
  using FactorPanel = collective::FactorPanel;
  using Scratch = ScratchView<FactorPack*, Exec>;
  using Sums = collective::WarpgroupSums;
  template <class V>
  using Value = typename Lanes::template Value<V>;
  static constexpr int strips = Tile::strips;
  static constexpr int packs_of_a = 2 * Tile::rows;  // per stage
  static constexpr int packs_of_stage = packs_of_a + 2 * Tile::cols;

  FactorPack const* a;
  FactorPack const* b;
  float* c;
  std::size_t down;    // rows of a's panels
  std::size_t across;  // columns of b's panels
  int stages;          // along k
  collective::MatrixTiles tiles;
  Store store;
  bool by_packs;  // c can be written four elements at a time

  [[nodiscard]] static std::size_t scratch_bytes() {
    return Scratch::shmem_size(Tile::stages * packs_of_stage) + bytes_to_a_line<Exec>;
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), Tile::stages * packs_of_stage);
    FactorPack* const slots = on_a_line(scratch.data());
    auto const place = tiles.place(team.league_rank());
    Lanes const lanes;
    Copies const copies;
    Products const products(team.team_rank());
    Value<Sums> sums[strips];
    for (auto& own : sums) own = lanes.template fill<Sums>(Sums{});
    for (int ahead = 0; ahead < Tile::stages - 2; ++ahead)
      start(team, lanes, copies, place, ahead, slots + ahead * packs_of_stage);
    int slot = 0;
    int next = Tile::stages - 2;
    for (int stage = 0; stage < stages; ++stage) {
      copies.template wait<Tile::stages - 3>();
      products.see_copies();
      // After the barrier all lanes' copies of this stage have arrived, and the products of the stage before the
      // previous one are done.
      team.team_barrier();
      start(team, lanes, copies, place, stage + Tile::stages - 2, slots + next * packs_of_stage);
      FactorPanel const rows{slots + slot * packs_of_stage, Tile::rows};
      FactorPanel const cols{slots + slot * packs_of_stage + packs_of_a, Tile::cols};
      products.begin();
      TESSERA_UNROLL
      for (int s = 0; s < strips; ++s) products.multiply_add(sums[s], rows.from(s * Products::rows), cols);
      products.commit();
      products.template wait<1>();
      slot = slot + 1 == Tile::stages ? 0 : slot + 1;
      next = next + 1 == Tile::stages ? 0 : next + 1;
    }
    products.template wait<0>();
    store_panel_sums<Products>(lanes, sums, c, place, tiles.cols, team.team_rank(), store, by_packs);
    leave_scratch(team);
  }

 private:
  // Starts the copies of a stage, if there is one.
  KOKKOS_FUNCTION void start(Member const& team, Lanes const& lanes, Copies const& copies,
                             collective::MatrixTiles::Place const& place, int stage, FactorPack* to) const {
    if (stage < stages) {
      std::size_t const eighth = 2 * static_cast<std::size_t>(stage);
      lanes.each([&](int lane) {
        int const first = team.team_rank() * Products::lanes + lane;
        copy<Tile::rows>(copies, a + eighth * down + place.row, down, first, to);
        copy<Tile::cols>(copies, b + eighth * across + place.col, across, first, to + packs_of_a);
      });
    }
    copies.commit();
  }
  // Copies a lane's part of a panel of `rows` rows.
  template <int rows>
  KOKKOS_FUNCTION static void copy(Copies const& copies, FactorPack const* from, std::size_t padded, int first,
                                   FactorPack* to) {
    static_assert(rows % Tile::lanes == 0 || Tile::lanes % rows == 0);
    TESSERA_UNROLL
    for (int i = 0; i < 2 * rows; i += Tile::lanes) {
      int const pack = i + first;
      copies.template copy_async<16>(to + pack, from + pack / rows * padded + pack % rows, true);
    }
  }
};

}  // namespace detail

/// c = a b for a [m, k], b [k, n] and c [m, n] of floats, with factors rounded to `Factor`: Half or BFloat16. Depending
/// on the form, a is given as [k, m] or b as [n, k]. error_of_factors and error_of_unit_sums (kernels/tensor_gemm.hpp)
/// bound the error.
///
/// All matrices must be row-major; c must not overlap a or b. A call throws std::invalid_argument for other extents or
/// strides.
///
/// The constructor allocates the workspace, 2 (m k + k n) bytes plus the padding of tiles at the edges; it launches a
/// small kernel and waits. Calls only enqueue: two launches, none if c is empty. Calls of one object must not run
/// concurrently, because they share the workspace. If k is 0, c becomes zeros, changed as the form says. Factors have
/// the same range as in TensorGemm.
template <ExecutionSpace Exec, class Factor, class Form = PlainProduct, class Tile = WarpgroupTile<>>
class WarpgroupGemm
    : public MatrixUnitGemm<WarpgroupGemm<Exec, Factor, Form, Tile>, Exec, Form, can_have_units_of_warps<Exec>> {
  using Base = MatrixUnitGemm<WarpgroupGemm, Exec, Form, can_have_units_of_warps<Exec>>;

 public:
  /// Throws Skip if the device, or the code that was compiled for it, has no warpgroups.
  WarpgroupGemm(Exec const& exec, std::size_t m, std::size_t n, std::size_t k,
                std::string label = "tessera::warpgroup_gemm")
      : Base(m, n, k, std::move(label)), slices_(tiles_of(k, Tile::depth)) {
    detail::require_warpgroups<WarpgroupGemm>(exec);
    this->template cut_into_tiles<Tile>();
    if (league_ == 0) return;
    down_ = tiles_.down() * Tile::rows;
    across_ = tiles_.across() * Tile::cols;
    auto const packs = [&](char const* name, std::size_t padded) {
      return Workspace(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label_ + name), padded * slices_ * 2);
    };
    a_ = packs("::a", down_);
    b_ = packs("::b", across_);
  }

  // Public because a device kernel may not be launched from a private function.
  void enqueue(Exec const& exec, float const* a, float const* b, float* c, Form const& form) const {
    using Product =
        detail::WarpgroupProduct<Exec, lane::On<Exec, collective::AnyWarpgroup::lanes>, Tile,
                                 collective::Warpgroup<Factor>, collective::HardwareCopiesPastL1, typename Form::Store>;
    if (slices_ > 0) pack(exec, a, b, form);
    bool const by_packs = n_ % 4 == 0 && collective::is_aligned_for_packs<4>(c);
    this->template launch<Tile>(exec, Product{a_.data(), b_.data(), c, down_, across_, static_cast<int>(slices_),
                                              tiles_, form.store, by_packs});
  }

  void pack(Exec const& exec, float const* a, float const* b, Form const& form) const {
    using Left = detail::PackPanels<Factor, Form::a_transposed, false, typename Form::Load>;
    using Right = detail::PackPanels<Factor, !Form::b_transposed, true, AsStored>;
    auto const aligned = [&](float const* data) { return k_ % 4 == 0 && collective::is_aligned_for_packs<4>(data); };
    Left const left{{a, m_, k_, aligned(a) && form.load.template is_aligned<4>(), form.load},
                    down_,
                    slices_,
                    collective::Divider(Form::a_transposed ? down_ : slices_),
                    a_.data()};
    Right const right{{b, n_, k_, aligned(b), {}},
                      across_,
                      slices_,
                      collective::Divider(Form::b_transposed ? slices_ : across_),
                      b_.data()};
    Kokkos::parallel_for(label_ + "::pack", over(exec, a_.size() + b_.size()),
                         detail::PackFactors<Left, Right>{left, right, a_.size()});
  }

 private:
  using Workspace = Kokkos::View<collective::FactorPack*, typename Exec::memory_space>;

  using Base::k_, Base::label_, Base::league_, Base::m_, Base::n_, Base::tiles_;
  std::size_t slices_;      // along k, 16 each
  std::size_t down_ = 0;    // rows of a's panels, including padding
  std::size_t across_ = 0;  // columns of b's panels
  Workspace a_;
  Workspace b_;
};

/// c = a b (see WarpgroupGemm); all matrices are row-major, and c must not overlap a or b. For a single use: it
/// allocates, enqueues, and waits.
template <class Factor, ExecutionSpace Exec, class A, class B, class C, class Form = PlainProduct>
void warpgroup_gemm(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) {
  multiply_once<WarpgroupGemm<Exec, Factor, Form>>(exec, a, b, c, form, "tessera: warpgroup_gemm");
}

}  // namespace tessera::kernels
