// Decoupled look-back: step by step with tiles that publish when the test says so, and in kernels.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/look_back_workspace.hpp>

#include "lane_checks.hpp"
#include "operators_for_tests.hpp"

namespace tessera::test {
namespace {

using collective::TileState;

// ---- Look-back step by step: each vote of the lanes lets another event happen.

class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  virtual void step() = 0;
};

template <int W>
class ObservedLanes : public lane::Emulated<W> {
 public:
  explicit ObservedLanes(Elsewhere* elsewhere) : elsewhere_(elsewhere) {}
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t ballot(lane::Values<bool, W> const& flag) const {
    KOKKOS_IF_ON_HOST((elsewhere_->step();))
    return lane::Emulated<W>::ballot(flag);
  }

 private:
  Elsewhere* elsewhere_;
};

// The memory of a look-back on the host, without a launch, so that tests can write to it.
template <class V, class Word = std::uint64_t>
struct HostLookBack {
  explicit HostLookBack(std::size_t tiles) : words(tiles), partial(tiles), inclusive(tiles) {
    poison(partial, 1);
    poison(inclusive, 2);
  }

  [[nodiscard]] collective::LookBackHandle<V, Word> handle(std::uint32_t epoch) {
    return {words.data(), partial.data(), inclusive.data(), &counter, 0, epoch};
  }

  std::vector<Word> words;
  std::vector<V> partial;
  std::vector<V> inclusive;
  std::uint32_t counter = 0;
};

// Tiles 0 to k - 1 publish in random order: a partial value, an inclusive value, or first a partial and later an
// inclusive one. Tile 0 always ends with an inclusive value.
template <class Op, class Word = std::uint64_t>
class Publishers final : public Elsewhere {
 public:
  using V = typename Op::Value;

  Publishers(collective::LookBackHandle<V, Word> const& handle, std::vector<V> const& values, std::uint64_t seed)
      : handle_(handle) {
    auto const inclusive = serial_inclusive(values, Op{});
    for (std::size_t tile = 0; tile < values.size(); ++tile) {
      std::uint64_t const bits = random_bits((seed << 20) + tile);
      // Mostly partial values; otherwise tiles would hardly ever look far back.
      bool const knows_all = tile == 0 || bits % 64 < 3;
      Event const last{tile, knows_all ? TileState::inclusive : TileState::partial,
                       knows_all ? inclusive[tile] : values[tile]};
      if (knows_all && bits % 5 < 2) {
        first_.push_back({tile, TileState::partial, values[tile]});
        later_.push_back(last);
      } else {
        (bits % 5 < 3 ? first_ : later_).push_back(last);
      }
    }
    for (auto* events : {&first_, &later_}) {
      for (std::size_t left = events->size(); left > 1; --left) {
        std::swap((*events)[left - 1], (*events)[random_bits((seed << 20) + 500000 + left) % left]);
      }
    }
    // Some values are published before the first look.
    for (Event const& event : first_) publish(event);
  }

  void step() override {
    if (next_ < later_.size()) {
      publish(later_[next_++]);
    } else if (++idle_ > 1000) {
      throw std::runtime_error("waits for what has been published");
    }
  }

 private:
  struct Event {
    std::size_t tile;
    TileState state;
    V value;
  };
  void publish(Event const& event) { handle_.publish(event.tile, event.state, event.value); }

  collective::LookBackHandle<V, Word> handle_;
  std::vector<Event> first_;
  std::vector<Event> later_;
  std::size_t next_ = 0;
  int idle_ = 0;
};

template <class Op, int W, class Word = std::uint64_t>
void expect_look_back_step_by_step() {
  using V = typename Op::Value;
  for (std::size_t const tiles : {1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 130}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      HostLookBack<V, Word> memory(tiles + 1);
      // Values left by an earlier launch, or by the last one before the epochs restarted.
      auto const stale = samples<Op>(tiles + 1, seed + 1000);
      std::uint32_t const epoch = seed % 2 ? 7 : 1;
      for (std::size_t tile = 0; tile <= tiles; ++tile) {
        if (random_bits(seed + tile) % 4 == 0) continue;
        memory.handle(epoch == 7 ? 6 : (1u << 30) - 1)
            .publish(tile, random_bits(seed + tile) % 2 ? TileState::partial : TileState::inclusive, stale[tile]);
      }
      auto const handle = memory.handle(epoch);
      auto const values = samples<Op>(tiles, seed);
      Publishers<Op, Word> publishers(handle, values, seed);
      V before{};
      ASSERT_NO_THROW(before = handle.before(ObservedLanes<W>(&publishers), tiles, Op{}))
          << W << " lanes, " << tiles << " tiles, seed " << seed;
      ASSERT_TRUE(same(before, serial_reduce(values, Op{}))) << W << " lanes, " << tiles << " tiles, seed " << seed;
    }
  }
}

TEST(LookBack, StepByStep) {
  for_each_width([]<int W>() {
    expect_look_back_step_by_step<Compose<std::uint16_t>, W>();
    expect_look_back_step_by_step<Compose<std::uint32_t>, W>();
    expect_look_back_step_by_step<Compose<std::uint32_t>, W, collective::WordPair>();
    expect_look_back_step_by_step<Multiply, W>();
  });
}

class Nothing final : public Elsewhere {
 public:
  void step() override {
    if (++steps_ > 1000) throw std::runtime_error("waits for a tile that it does not need");
  }

 private:
  int steps_ = 0;
};

// A tile must not wait for tiles before its nearest inclusive predecessor.
TEST(LookBack, StopsAtTheNearestInclusiveTile) {
  for_each_width([]<int W>() {
    using Op = Multiply;
    constexpr std::size_t tiles = 70;
    auto const values = samples<Op>(tiles, 3);
    auto const all = serial_inclusive(values, Op{});
    for (std::size_t nearest = 0; nearest < tiles; ++nearest) {
      HostLookBack<Matrix> memory(tiles);
      auto const handle = memory.handle(1);
      handle.publish(nearest, TileState::inclusive, all[nearest]);
      for (std::size_t tile = nearest + 1; tile < tiles; ++tile) handle.publish(tile, TileState::partial, values[tile]);
      Nothing nothing;
      Matrix before{};
      ASSERT_NO_THROW(before = handle.before(ObservedLanes<W>(&nothing), tiles, Op{}))
          << W << " lanes, tile " << nearest;
      ASSERT_TRUE(same(before, all.back())) << W << " lanes, tile " << nearest;
    }
  });
}

TEST(LookBack, PollSeesOnlyThisLaunch) {
  HostLookBack<Matrix> memory(2);
  auto const handle = memory.handle(5);
  EXPECT_EQ(handle.poll(0).state, TileState::absent);
  memory.handle(4).publish(0, TileState::inclusive, {1, 2, 3, 4});
  EXPECT_EQ(handle.poll(0).state, TileState::absent);
  handle.publish(0, TileState::partial, {5, 6, 7, 8});
  EXPECT_EQ(handle.poll(0).state, TileState::partial);
  EXPECT_TRUE(same(handle.poll(0).value, Matrix{5, 6, 7, 8}));
  handle.publish(0, TileState::inclusive, {9, 10, 11, 12});
  EXPECT_EQ(handle.poll(0).state, TileState::inclusive);
  EXPECT_TRUE(same(handle.poll(0).value, Matrix{9, 10, 11, 12}));
  EXPECT_EQ(handle.poll(1).state, TileState::absent);
  // The partial value stays, because another tile may still read it.
  EXPECT_TRUE(same(memory.partial[0], Matrix{5, 6, 7, 8}));
}

// The same for a value that shares one 16-byte word with its flag.
TEST(LookBack, AWordPairIsSeenWhole) {
  using V = Affine<std::uint32_t>;
  HostLookBack<V, collective::WordPair> memory(2);
  auto const handle = memory.handle(5);
  memory.handle(4).publish(0, TileState::inclusive, {1, 2});
  EXPECT_EQ(handle.poll(0).state, TileState::absent);
  handle.publish(0, TileState::partial, {0xfffffff1u, 0xfffffff2u});
  EXPECT_EQ(handle.poll(0).state, TileState::partial);
  EXPECT_TRUE(same(handle.poll(0).value, V{0xfffffff1u, 0xfffffff2u}));
  handle.publish(0, TileState::inclusive, {3, 0});
  EXPECT_EQ(handle.poll(0).state, TileState::inclusive);
  EXPECT_TRUE(same(handle.poll(0).value, V{3, 0}));
  EXPECT_EQ(handle.poll(1).state, TileState::absent);
}

TEST(LookBack, TicketsGoOnWhenTheCounterWraps) {
  std::uint32_t counter = 0xfffffffeu;
  collective::LookBackHandle<int> const handle{nullptr, nullptr, nullptr, &counter, 0xfffffffeu, 1};
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(handle.next_tile(), i);
}

TEST(LookBack, DocumentedExample) {
  HostLookBack<int> memory(4);
  auto const handle = memory.handle(1);
  handle.publish(0, TileState::inclusive, 3);
  handle.publish(1, TileState::inclusive, 10);
  handle.publish(2, TileState::partial, 2);
  EXPECT_EQ(handle.before(lane::Emulated<2>{}, 3, collective::Sum<int>{}), 12);
  EXPECT_EQ(handle.before(lane::Emulated<1>{}, 3, collective::Sum<int>{}), 12);
  EXPECT_EQ(handle.before(lane::Emulated<8>{}, 3, collective::Sum<int>{}), 12);
}

// ---- Look-back in kernels: each tile is one value and writes down the sum of all previous tiles.

template <class Exec, class Op>
struct LookBackKernel {
  using V = typename Op::Value;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using TileView =
      Kokkos::View<std::uint32_t, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  template <class T>
  using DeviceView = Kokkos::View<T*, typename Exec::memory_space>;

  DeviceView<V> values;
  DeviceView<V> before;
  DeviceView<int> drawn;
  typename kernels::LookBackWorkspace<Exec, V>::Handle look_back;
  std::uint64_t seed;

  KOKKOS_FUNCTION void operator()(typename Kokkos::TeamPolicy<Exec>::member_type const& team) const {
    TileView const shared(team.team_scratch(0));
    Kokkos::single(Kokkos::PerTeam(team), [&] { shared() = look_back.next_tile(); });
    team.team_barrier();
    std::uint32_t const tile = shared();
    if (tile >= values.extent(0)) return;  // the count of draws will report this
    if (team.team_rank() == 0) {
      Op const op;
      V prefix = op.identity();
      // Some tiles are slow, so that others find them unpublished.
      V const value = delay(tile) == 0 ? op.identity() : values(tile);
      if (tile > 0) {
        publish(team, tile, TileState::partial, value);
        prefix = look_back.before(Lanes{}, tile, op);
      }
      publish(team, tile, TileState::inclusive, op(prefix, value));
      Kokkos::single(Kokkos::PerThread(team), [&] {
        before(tile) = prefix;
        Kokkos::atomic_inc(&drawn(tile));
      });
    }
    team.team_barrier();  // on hosts the next team reuses the same scratch
  }

  KOKKOS_FUNCTION void publish(typename Kokkos::TeamPolicy<Exec>::member_type const& team, std::size_t tile,
                               TileState state, V const& value) const {
    Kokkos::single(Kokkos::PerThread(team), [&] { look_back.publish(tile, state, value); });
  }

  // Never 0, but stored with a delay.
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t delay(std::uint32_t tile) const {
    std::uint64_t bits = random_bits(seed + tile);
    int const steps = bits % 8 == 0 ? 500 : 0;
    for (int step = 0; step < steps; ++step) bits = random_bits(bits);
    return bits | 1;
  }
};

// One look-back object that is launched repeatedly with different values.
template <class Exec, class Op>
class RepeatedLookBack {
 public:
  using V = typename Op::Value;
  using Kernel = LookBackKernel<Exec, Op>;

  explicit RepeatedLookBack(std::size_t tiles) : tiles_(tiles), look_back_("look_back", tiles) {}

  /// Enqueues `launches` launches without waiting between them.
  [[nodiscard]] std::optional<std::string> run(int launches, int threads, std::uint64_t seed) {
    Exec const exec;
    std::vector<Kernel> kernels;
    std::vector<std::vector<V>> values;
    for (int launch = 0; launch < launches; ++launch) {
      values.push_back(samples<Op>(tiles_, seed + static_cast<std::uint64_t>(launch)));
      Kernel const kernel{View("values", tiles_), View("before", tiles_),
                          typename Kernel::template DeviceView<int>("drawn", tiles_), look_back_.next_launch(exec),
                          (seed + static_cast<std::uint64_t>(launch)) << 20};
      Kokkos::deep_copy(kernel.values, Kokkos::View<V const*, Kokkos::HostSpace>(values.back().data(), tiles_));
      kernels.push_back(kernel);
    }
    for (Kernel const& kernel : kernels) {
      Kokkos::TeamPolicy<Exec> policy(exec, static_cast<int>(tiles_), threads,
                                      lane::vector_length<Exec>(Kernel::Lanes::width));
      auto const bytes = static_cast<int>(Kernel::TileView::shmem_size());
      Kokkos::parallel_for("look_back", policy.set_scratch_size(0, Kokkos::PerTeam(bytes)), kernel);
    }
    exec.fence();
    for (std::size_t launch = 0; launch < kernels.size(); ++launch) {
      auto const before = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernels[launch].before);
      auto const drawn = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, kernels[launch].drawn);
      std::string const where = std::string(space_name<Exec>()) + ", " + std::to_string(tiles_) + " tiles, " +
                                std::to_string(threads) + " threads, launch " + std::to_string(launch) + ": ";
      for (std::size_t tile = 0; tile < tiles_; ++tile) {
        if (drawn(tile) != 1)
          return where + "tile " + std::to_string(tile) + " drawn " + std::to_string(drawn(tile)) + " times";
      }
      auto const problem =
          difference(std::vector<V>(before.data(), before.data() + tiles_), serial_exclusive(values[launch], Op{}));
      if (problem) return where + *problem;
    }
    return std::nullopt;
  }

 private:
  using View = typename Kernel::template DeviceView<V>;

  std::size_t tiles_;
  kernels::LookBackWorkspace<Exec, V> look_back_;
};

template <class Op>
void expect_repeated_look_back() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    std::vector<std::unique_ptr<RepeatedLookBack<Exec, Op>>> objects;
    for (std::size_t const tiles : {1, 2, 31, 32, 33, 65, 1000}) {
      objects.push_back(std::make_unique<RepeatedLookBack<Exec, Op>>(tiles));
    }
    constexpr int at_once = 8;
    // Objects of all sizes alternate.
    for (int round = 0; round < 25; ++round) {
      // With more threads than cores each barrier of a host's team costs a time slice, so one round is enough.
      int const most = is_gpu<Exec> ? 5 : round == 1 ? std::min(2, Exec().concurrency()) : 1;
      int const threads = 1 + round % most;
      for (auto const& object : objects) {
        ASSERT_EQ(object->run(at_once, threads, static_cast<std::uint64_t>(round) * at_once), std::nullopt)
            << "round " << round;
      }
    }
  });
}

TEST(LookBack, PackedValuesInKernels) { expect_repeated_look_back<Compose<std::uint16_t>>(); }
TEST(LookBack, PackedValuesThatRarelySayAnything) { expect_repeated_look_back<LastNonZero>(); }
TEST(LookBack, ValuesOfEightBytesInKernels) { expect_repeated_look_back<Compose<std::uint32_t>>(); }
TEST(LookBack, WideValuesInKernels) { expect_repeated_look_back<Multiply>(); }

// Every tile publishes, or counts as present if it has published.
template <class Exec, class V>
struct PublishOrCount {
  typename kernels::LookBackWorkspace<Exec, V>::Handle look_back;
  bool publish;

  KOKKOS_FUNCTION void operator()(int tile, int& present) const {
    if (publish) look_back.publish(static_cast<std::size_t>(tile), TileState::inclusive, V{});
    if (look_back.poll(static_cast<std::size_t>(tile)).state != TileState::absent) ++present;
  }
};

template <class Exec>
[[nodiscard]] int present(typename kernels::LookBackWorkspace<Exec, int>::Handle const& look_back, int tiles,
                          bool publish) {
  int count = 0;
  Kokkos::parallel_reduce("present", Kokkos::RangePolicy<Exec>(0, tiles), PublishOrCount<Exec, int>{look_back, publish},
                          count);
  return count;
}

// After 2^30 launches the epochs restart; values left by the first launches must not be read as new.
TEST(LookBack, EpochsBeginAnew) {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "counts to 2^30, which takes too long in this build";
#endif
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    constexpr int tiles = 64;
    Exec const exec;
    kernels::LookBackWorkspace<Exec, int> look_back("look_back", tiles);
    auto const first = look_back.next_launch(exec);
    EXPECT_EQ((present<Exec>(first, tiles, true)), tiles);
    EXPECT_EQ((present<Exec>(look_back.next_launch(exec), tiles, false)), 0);
    // Uses up epochs 3 to 2^30 - 1 without launching a kernel.
    for (std::uint32_t launch = 3; launch < 1u << 30; ++launch) (void)look_back.next_launch(exec);
    EXPECT_EQ((present<Exec>(look_back.next_launch(exec), tiles, false)), 0);
    EXPECT_EQ((present<Exec>(first, tiles, true)), tiles);  // the first epoch again
    EXPECT_EQ((present<Exec>(look_back.next_launch(exec), tiles, false)), 0);
  });
}

}  // namespace
}  // namespace tessera::test
