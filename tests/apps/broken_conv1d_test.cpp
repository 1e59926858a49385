// Wrong convolutions must be caught: one kernel, each time with one typical mistake of windows. The kernel with two
// windows also runs under teams that run their threads in the worst order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broken_rows.hpp"

#include "adversarial_league.hpp"
#include "adversarial_team.hpp"
#include "emulated_copies.hpp"
#include "guarded_array.hpp"

#include "../../apps/conv1d/pipelined_windows.hpp"
#include "../../apps/conv1d/problem.hpp"

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/team/halo_tile.hpp>
#include <tessera/core/tiles.hpp>

namespace tessera::conv1d {

App app();

namespace {

enum class Mistake {
  none,
  halo_stays_in_tile,     // elements after the tile count as zero
  halo_one_short,         // the last tap's element is not in the halo
  halo_of_one,            // the halo has one element instead of K - 1
  halo_not_filled,        // the halo past the array's end keeps elements of the previous tile
  no_barrier_after_load,  // elements that another thread loads are read too early
  tail_unmasked,          // a partial last tile is written as a full tile
  flips_kernel,           // a mathematical convolution instead of a correlation
  multiplies_by_zero,     // elements past the end take part as zeros
  drops_last_chunk,       // taps are processed in chunks of four, and the remainder is lost
  not_started             // the kernel does nothing
};

constexpr int tile = 8;

// A team of two threads works on tiles of 8. Each thread computes the mirror image of the elements that it loads.
template <class Exec, class T>
struct BrokenKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Scratch = Kokkos::View<collective::Pack<T, collective::pack_width<T>>*, typename Exec::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  Mistake mistake;
  T const* a;
  T const* k;
  T* out;
  std::size_t n;
  int taps;

  [[nodiscard]] KOKKOS_FUNCTION static int places(int taps) { return taps + 2 * tile; }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), places(taps));
    team::HaloTile<T> const shape{.left = 0, .size = tile, .right = taps - 1};
    std::size_t const begin = static_cast<std::size_t>(team.league_rank()) * tile;
    int const left = n - begin < std::size_t{1} << 20 ? static_cast<int>(n - begin) : 1 << 20;
    int const count = mistake == Mistake::tail_unmasked || left >= tile ? tile : left;
    T const past_end = mistake == Mistake::halo_not_filled ? T(3) : T(0);
    T* const staged = shape.load(team, a, n, begin, past_end, reinterpret_cast<T*>(scratch.data()));
    if (mistake != Mistake::no_barrier_after_load) team.team_barrier();
    int const used = mistake == Mistake::drops_last_chunk ? taps / 4 * 4 : taps;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](int i) {
      int const t = count - 1 - i;
      int end = used;
      bool const pads = mistake == Mistake::multiplies_by_zero || mistake == Mistake::halo_not_filled;
      if (!pads && left - t < end) end = left - t;
      if (mistake == Mistake::halo_stays_in_tile && tile - t < end) end = tile - t;
      if (mistake == Mistake::halo_one_short && t + end > tile + taps - 2) --end;
      if (mistake == Mistake::halo_of_one && t + end > tile + 1) end = tile + 1 - t;
      Accumulator<T> sum = 0;
      for (int j = 0; j < end; ++j)
        sum += product(staged[t + j], k[mistake == Mistake::flips_kernel ? taps - 1 - j : j]);
      out[begin + static_cast<std::size_t>(t)] = static_cast<T>(sum);
    });
    team.team_barrier();
  }
};

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& in, OutputOn<Conv1d, Exec, T> const& out) const {
    using Kernel = BrokenKernel<Exec, T>;
    if (mistake == Mistake::not_started) return;
    std::size_t const n = in.a.extent(0);
    auto const taps = static_cast<int>(in.k.extent(0));
    typename Kernel::Policy policy(exec, static_cast<int>((n + tile - 1) / tile), exec.concurrency() > 1 ? 2 : 1);
    Kokkos::parallel_for("tessera::tests::broken_conv1d",
                         policy.set_scratch_size(
                             0, Kokkos::PerTeam(static_cast<int>(Kernel::Scratch::shmem_size(Kernel::places(taps))))),
                         Kernel{mistake, in.a.data(), in.k.data(), out.out.data(), n, taps});
  }
};

ParameterMap with(std::int64_t taps) { return {{"kernel", taps}}; }

// The last tap is infinite and must not be multiplied by anything past the end.
class InfiniteTap final : public FieldSource {
 public:
  [[nodiscard]] Shape shape(FieldSpec const& spec) const override { return {spec.name == "k" ? 3u : 20u}; }
  void read(FieldSpec const& spec, void* destination) const override {
    auto* const data = static_cast<float*>(destination);
    std::size_t const count = count_of(shape(spec));
    for (std::size_t i = 0; i < count; ++i) data[i] = 1;
    if (spec.name == "k") data[2] = std::numeric_limits<float>::infinity();
  }
};

template <class Tested>
std::string outcome_with_infinite_tap(Tested const& tested) {
  App const app = testing::app_with({testing::rows_of<Conv1d>(tested)});
  for (Row const& row : app.rows) {
    if (row.dtype != DType::float32) continue;
    auto const problem_case = app.read(row.dtype, InfiniteTap(), testing::with_defaults(app, {}));
    return testing::run_row(row, *problem_case, problem_case->reference(), 1);
  }
  return "no row";
}

// Without a mistake the kernel must pass; otherwise the tests below prove nothing.
TEST(BrokenConv1d, IsRightWithoutAMistake) {
  for (std::int64_t const taps : {1, 4, 7, 30}) {
    testing::expect_right<Conv1d>(Broken{Mistake::none}, 101, with(taps), 2);
  }
  EXPECT_EQ(outcome_with_infinite_tap(Broken{Mistake::none}), "");
}
TEST(BrokenConv1d, HaloStaysInTile) {
  testing::expect_caught<Conv1d>(Broken{Mistake::halo_stays_in_tile}, 15, with(4), "first at [5]");
}
TEST(BrokenConv1d, HaloOneShort) {
  testing::expect_caught<Conv1d>(Broken{Mistake::halo_one_short}, 100, with(4), "first at [7]");
}
TEST(BrokenConv1d, HaloOfOne) {
  testing::expect_caught<Conv1d>(Broken{Mistake::halo_of_one}, 100, with(4), "first at [6]");
}
TEST(BrokenConv1d, HaloNotFilled) {
  testing::expect_caught<Conv1d>(Broken{Mistake::halo_not_filled}, 100, with(4), "first at [97]");
}
TEST(BrokenConv1d, NoBarrierAfterLoad) {
  testing::expect_caught<Conv1d>(Broken{Mistake::no_barrier_after_load}, 10007, with(33), "wrong", 200,
                                 testing::Where::hosts);
}
TEST(BrokenConv1d, TailUnmasked) {
  testing::expect_caught<Conv1d>(Broken{Mistake::tail_unmasked}, 100, with(4), "past the end");
}
TEST(BrokenConv1d, FlipsKernel) {
  testing::expect_caught<Conv1d>(Broken{Mistake::flips_kernel}, 100, with(4), "first at [0]");
}
TEST(BrokenConv1d, MultipliesByZero) {
  EXPECT_NE(outcome_with_infinite_tap(Broken{Mistake::multiplies_by_zero}).find("first at [18]"), std::string::npos);
}
TEST(BrokenConv1d, DropsLastChunk) {
  testing::expect_caught<Conv1d>(Broken{Mistake::drops_last_chunk}, 100, with(7), "first at [0]");
}
TEST(BrokenConv1d, NotStarted) { testing::expect_caught<Conv1d>(Broken{Mistake::not_started}, 100, with(4), "[0]"); }

// A team of `threads`, of which `loaders` only load, in one scratch. The arrays end at a guard page.
struct Pipeline {
  int threads;
  int loaders;
  int tile;
  int tiles_of_chunk;
  std::size_t n;
  int taps;
};

// Returns the number of wrong outputs over all orders of the threads. `Member` is a thread of the team.
template <class Kernel, class T, class Member = test::LeagueMember>
std::size_t wrong_outputs(Pipeline const& of) {
  test::GuardedArray<T> of_a(of.n);
  test::GuardedArray<T> of_k(static_cast<std::size_t>(of.taps));
  test::GuardedArray<T> of_out(of.n);
  T* const a = of_a.last(of.n);
  T* const k = of_k.last(static_cast<std::size_t>(of.taps));
  for (std::size_t i = 0; i < of.n; ++i) a[i] = static_cast<T>(i * 7 % 13 + 1);
  for (int j = 0; j < of.taps; ++j) k[j] = static_cast<T>(j * 5 % 11 + 1);
  test::AdversarialTeam team(of.threads);
  kernels::Chunks const chunks = {
      .n = of.n,
      .size = static_cast<std::size_t>(of.tile * of.tiles_of_chunk),
      .count = static_cast<int>(tiles_of(of.n, static_cast<std::size_t>(of.tile * of.tiles_of_chunk)))};
  std::vector<char> scratch(Kernel::scratch_bytes(of.tile, of.taps) + 64);
  std::size_t wrong = 0;
  for (test::Order const order : test::all_orders) {
    T* const out = of_out.last(of.n);
    std::fill(out, out + of.n, T(-77));
    std::fill(scratch.begin(), scratch.end(), static_cast<char>(-1));  // NaN, only once
    Kernel const kernel{a, k, out, chunks, of.taps, of.tile, of.loaders};
    std::optional<std::string> const error = team.run(order, 1, [&](test::AdversarialTeam::Member const& member) {
      for (int rank = 0; rank < chunks.count; ++rank) {
        kernel(Member(member, rank, scratch.data(), static_cast<int>(scratch.size())));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
    EXPECT_TRUE(of_out.untouched());
    for (std::size_t i = 0; i < of.n; ++i) {
      Accumulator<T> sum = 0;
      for (std::size_t j = 0; j < static_cast<std::size_t>(of.taps) && i + j < of.n; ++j)
        sum += product(a[i + j], k[j]);
      if (out[i] != static_cast<T>(sum)) ++wrong;
    }
  }
  return wrong;
}

using test::Arrival;
using Early = test::EmulatedCopies<Arrival::at_once>;
using Late = test::EmulatedCopies<Arrival::at_wait>;
template <class T, class Copies, class Space = test::AdversarialSpace>
using Windows = PipelinedWindows<Space, T, Copies, collective::pack_width<T>>;

// Extents around the edges of tiles and chunks: tiles that are not whole packs, more taps than a tile or the array has,
// short ends.
template <class Copies, class T>
void expect_right() {
  for (auto const& [threads, loaders] : {std::pair{1, 0}, {4, 0}, {2, 1}, {4, 1}, {5, 3}}) {
    for (int const tile : {1, 7, 8, 32}) {
      for (int const tiles_of_chunk : {1, 3}) {
        for (std::size_t const n : {1, 8, 31, 101}) {
          for (int const taps : {1, 4, 13, 40}) {
            Pipeline const of{threads, loaders, tile, tiles_of_chunk, n, taps};
            EXPECT_EQ((wrong_outputs<Windows<T, Copies>, T>(of)), 0u)
                << loaders << " of " << threads << " threads load, " << tiles_of_chunk << " tiles of " << tile << ", "
                << n << " elements, " << taps << " taps";
          }
        }
      }
    }
  }
}
TEST(PipelinedWindows, RightInAnyOrder) {
  expect_right<Early, float>();
  expect_right<Late, float>();
  expect_right<Late, double>();
  expect_right<Late, std::int32_t>();
  expect_right<collective::HardwareCopies, float>();
}

// A thread that skips barrier number `missing` of its team.
template <int missing>
class Hasty : public test::LeagueMember {
 public:
  using test::LeagueMember::LeagueMember;
  KOKKOS_FUNCTION void team_barrier() const {
    if (passed_++ != missing) test::LeagueMember::team_barrier();
  }

 private:
  mutable int passed_ = 0;
};
template <int missing>
struct HastySpace : test::AdversarialSpace {};

}  // namespace
}  // namespace tessera::conv1d

template <int missing, class... Properties>
class Kokkos::TeamPolicy<tessera::conv1d::HastySpace<missing>, Properties...> {
 public:
  using member_type = tessera::conv1d::Hasty<missing>;
};

namespace tessera::conv1d {
namespace {

constexpr Pipeline with_roles{.threads = 3, .loaders = 1, .tile = 8, .tiles_of_chunk = 3, .n = 48, .taps = 5};
constexpr Pipeline without_roles{.threads = 3, .loaders = 0, .tile = 8, .tiles_of_chunk = 3, .n = 48, .taps = 5};

template <int missing>
void expect_barrier_needed() {
  using Kernel = Windows<float, Early, HastySpace<missing>>;
  EXPECT_GT((wrong_outputs<Kernel, float, Hasty<missing>>(with_roles)), 0u);
  EXPECT_GT((wrong_outputs<Kernel, float, Hasty<missing>>(without_roles)), 0u);
}
// Each of a team's barriers: after the first window, after the second and third, and before the next team reuses the
// scratch. (With an even number of tiles, the last tile and the next team's first tile use different windows.)
TEST(BrokenConv1d, PipelineWithoutABarrier) {
  EXPECT_EQ((wrong_outputs<Windows<float, Early, HastySpace<-1>>, float, Hasty<-1>>(with_roles)), 0u);
  expect_barrier_needed<0>();
  expect_barrier_needed<1>();
  expect_barrier_needed<2>();
  expect_barrier_needed<3>();
}

// Mistake: leaves the barrier before its last copies have arrived.
struct WaitsTooLittle : Late {
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    Late::wait<N + 1>();
  }
};
TEST(BrokenConv1d, PipelineWaitsTooLittle) {
  EXPECT_GT((wrong_outputs<Windows<float, WaitsTooLittle>, float>(with_roles)), 0u);
  EXPECT_GT((wrong_outputs<Windows<float, WaitsTooLittle>, float>(without_roles)), 0u);
}

// Padding with zeros gives a wrong answer for an infinite tap: the variant refuses it, and the guarded variants are
// right.
TEST(Conv1d, ZerosAreNotForInfiniteTaps) {
  App const all = app();
  int skipped = 0;
  for (Row const& row : all.rows) {
    if (row.dtype != DType::float32 || !testing::is_wanted(row)) continue;
    auto const problem_case = all.read(row.dtype, InfiniteTap(), testing::with_defaults(all, {}));
    std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), 1);
    if (row.info.name == "zero_padded") {
      EXPECT_TRUE(outcome.starts_with("skipped: ") && outcome.find("k[2]") != std::string::npos) << outcome;
      ++skipped;
    } else {
      // If there are no asynchronous copies, or in a build without MPI.
      bool const may_skip = row.info.name == "async_halo" || row.info.level == Level::ranks;
      EXPECT_TRUE(outcome.empty() || (may_skip && outcome.starts_with("skipped: ")))
          << testing::name_of(all, row) << ": " << outcome;
    }
  }
  EXPECT_GT(skipped, 0);
}

// A kernel that does not fit is processed in passes through the same scratch: no thread may begin the next pass while
// another thread is still in this one.
TEST(Conv1d, PassesWaitForEachOther) {
  App const all = app();
  for (std::int64_t const team : {2, 3, 4}) {
    ParameterMap const given{{"kernel", std::int64_t{1500}}, {"team", team}};
    for (Row const& row : all.rows) {
      auto const problem_case = all.generate(row.dtype, 3001, 1, testing::with_defaults(all, given));
      std::string const outcome = testing::run_row(row, *problem_case, problem_case->reference(), testing::repeats(10));
      EXPECT_TRUE(outcome.empty() || outcome.starts_with("skipped: ")) << testing::name_of(all, row) << ": " << outcome;
    }
  }
}

TEST(Conv1d, AnEmptyKernelIsRefused) {
  try {
    (void)Conv1d::output_shapes({{7}, {0}}, Conv1d::Parameters());
    FAIL() << "accepted";
  } catch (UserError const& error) {
    EXPECT_NE(std::string(error.what()).find("[0]"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera::conv1d
