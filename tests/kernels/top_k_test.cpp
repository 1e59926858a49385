// The k largest: every type on every space, many chunks and lanes, kernels in the worst order of threads.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call Kokkos::single with this member by its qualified name.
#include "adversarial_league.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/top_k.hpp>

#include "guarded_array.hpp"

namespace tessera::test {
namespace {

enum class Elements { random, few, equal, special };
constexpr Elements all_elements[] = {Elements::random, Elements::few, Elements::equal, Elements::special};

template <class T>
[[nodiscard]] std::vector<T> make_elements(Elements kind, std::size_t n) {
  std::vector<T> elements(n);
  std::uint64_t state = n + 29;
  for (T& element : elements) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::uint64_t const bits = state ^ (state >> 29);
    element = static_cast<T>(kind == Elements::few ? (bits >> 40) % 3 : 5);
    if (kind == Elements::random || (kind == Elements::special && std::is_integral_v<T>)) {
      std::memcpy(&element, &bits, sizeof(T));  // for floats also NaN of both signs, with any payload
    } else if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      T const special[] = {T(0), -T(0), Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), T(1)};
      if (kind == Elements::special) element = special[(bits >> 33) % 6];
    }
  }
  return elements;
}

// Returns the indices of a row's k largest by the definition: NaN, then the larger one, then the lower index.
template <class T>
[[nodiscard]] std::vector<std::int64_t> best_of(T const* row, std::size_t n, std::size_t k) {
  std::vector<std::int64_t> order(n);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(row[a]) || std::isnan(row[b])) return std::isnan(row[a]) && !std::isnan(row[b]);
    }
    return row[a] > row[b];
  });
  order.resize(k);
  return order;
}

// Several calls of one object: its memory serves all of them.
template <class Exec, class T, class Tuning>
void expect_best(Elements kind, std::size_t rows, std::size_t n, std::size_t k) {
  Exec const exec;
  using Memory = typename Exec::memory_space;
  std::vector<T> const elements = make_elements<T>(kind, rows * n);
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> const in("in", rows, n);
  Kokkos::deep_copy(in, Kokkos::View<T const**, Kokkos::LayoutRight, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(
                            elements.data(), rows, n));
  Kokkos::View<T**, Kokkos::LayoutRight, Memory> const values("values", rows, k);
  Kokkos::View<std::int64_t**, Kokkos::LayoutRight, Memory> const indices("indices", rows, k);
  kernels::TopK<Exec, T, Tuning> top(exec, rows, n, k);
  for (int call = 0; call < 3; ++call) {
    Kokkos::deep_copy(indices, -1);
    top(exec, in, values, indices);
    exec.fence();
    auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, indices);
    auto const best = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, values);
    for (std::size_t row = 0; row < rows; ++row) {
      auto const expected = best_of(elements.data() + row * n, n, k);
      for (std::size_t i = 0; i < k; ++i) {
        ASSERT_EQ(found(row, i), expected[i]) << rows << " x " << n << ", k = " << k << ", row " << row << ", " << i;
        T const element = elements[row * n + static_cast<std::size_t>(expected[i])];
        ASSERT_EQ(std::memcmp(&best(row, i), &element, sizeof(T)), 0) << "row " << row << ", " << i;
      }
    }
  }
}

// Small chunks, and lanes on hosts, too.
template <class Exec, class T>
struct SmallChunks : kernels::TopKTuning<Exec, T> {
  static constexpr int lanes = is_gpu<Exec> ? 32 : 4;
  static constexpr int items = 1;
};

template <class T>
void expect_best_on_all_spaces() {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    for (Elements const kind : {Elements::random, Elements::special}) {
      for (std::size_t const n : {1, 255, 1031}) {
        for (std::size_t const k : {std::size_t{0}, std::size_t{1}, n}) {
          for (std::size_t const rows : {0, 1, 5}) expect_best<Exec, T, SmallChunks<Exec, T>>(kind, rows, n, k);
        }
      }
      expect_best<Exec, T, kernels::TopKTuning<Exec, T>>(kind, 1, 70001, 1000);
    }
  });
}
TEST(TopK, Floats) {
  expect_best_on_all_spaces<float>();
  expect_best_on_all_spaces<double>();
}
TEST(TopK, Integers) {
  expect_best_on_all_spaces<std::int32_t>();
  expect_best_on_all_spaces<std::uint64_t>();
}
TEST(TopK, RefusesMoreThanThereAre) {
  using Exec = Kokkos::DefaultExecutionSpace;
  EXPECT_THROW((kernels::TopK<Exec, float>(Exec(), 1, 10, 11)), std::invalid_argument);
}

// ---- The kernels, with teams in every order of their threads, one after another in one scratch between guard pages.

struct FourLanes {
  static constexpr int lanes = 4;
  static constexpr int threads = 3;
  static constexpr int items = 1;
};

template <class T>
class WorstSelectOrders {
  using Find = kernels::detail::FindThresholdKernel<AdversarialSpace, T, FourLanes>;
  using Count = kernels::detail::CountTakenKernel<AdversarialSpace, T, FourLanes>;
  using Write = kernels::detail::WriteTakenKernel<AdversarialSpace, T, FourLanes>;
  using Word = collective::KeyWord<T>;

 public:
  WorstSelectOrders(Elements kind, std::size_t rows, std::size_t n, std::size_t teams)
      : rows_(rows), n_(n), elements_(make_elements<T>(kind, rows * n)) {
    constexpr std::size_t lanes = FourLanes::threads * FourLanes::lanes;
    parts_.chunks = kernels::split(n, lanes, teams);
    parts_.threads = FourLanes::threads;
    parts_.part = FourLanes::lanes * tiles_of(parts_.chunks.size, lanes);
  }

  void select(std::size_t k) {
    std::size_t const all_parts = rows_ * parts_.per_row();
    std::vector<std::int64_t> totals(rows_ * 256);
    std::vector<std::uint32_t> finished(rows_);
    std::vector<kernels::detail::Threshold<Word>> thresholds(rows_);
    std::vector<std::int64_t> counts(2 * all_parts + 1);
    std::vector<std::int64_t> before(2 * all_parts + 1);
    GuardedArray<Word> words(rows_ * k);
    GuardedArray<std::int64_t> places(rows_ * k);
    typename Find::Base const elements{elements_.data(), parts_, thresholds.data()};
    auto const wanted = static_cast<std::int64_t>(k);
    constexpr int digits = sizeof(T);
    int const at_once = parts_.chunks.count == 1 ? digits : 1;
    for (Order const order : all_orders) {
      std::string const about = std::to_string(rows_) + " x " + std::to_string(n_) + ", k = " + std::to_string(k) +
                                ", " + std::to_string(parts_.chunks.count) + " chunks, " + name_of(order);
      for (int digit = 0; digit < digits; digit += at_once) {
        // Other teams see the counts of all elements of a team that is finished. (Digits behind the first one count
        // fewer. The last team clears both.)
        auto const watch = [&] {
          for (std::size_t row = 0; digit == 0 && row < rows_; ++row) {
            auto const first = totals.begin() + static_cast<std::ptrdiff_t>(row * 256);
            std::int64_t const seen = std::accumulate(first, first + 256, std::int64_t{0});
            std::size_t const ended = finished[row] == 0 ? 0 : parts_.chunks.end(static_cast<int>(finished[row]) - 1);
            EXPECT_GE(seen, static_cast<std::int64_t>(ended)) << about;
          }
        };
        run(order, Find::scratch_bytes(),
            Find{elements, wanted, digit, digit + at_once, totals.data(), finished.data()}, watch);
        ASSERT_EQ(finished, std::vector<std::uint32_t>(rows_)) << about;
        ASSERT_EQ(totals, std::vector<std::int64_t>(rows_ * 256)) << about;
      }
      run(order, 0, Count{elements, all_parts, counts.data()});
      std::exclusive_scan(counts.begin(), counts.end(), before.begin(), std::int64_t{0});
      Word* const to = words.last(rows_ * k);
      std::int64_t* const from = places.last(rows_ * k);
      std::fill_n(from, rows_ * k, -1);
      run(order, 0, Write{elements, all_parts, before.data(), wanted, to, from});
      for (std::size_t row = 0; row < rows_; ++row) {
        // The sort is stable: equal elements must be in the order of their indices already.
        std::vector<std::int64_t> found(from + row * k, from + (row + 1) * k);
        for (std::int64_t const place : found) {
          ASSERT_TRUE(place >= static_cast<std::int64_t>(row * n_) && place < static_cast<std::int64_t>((row + 1) * n_))
              << about;
        }
        std::stable_sort(found.begin(), found.end(), [&](std::int64_t a, std::int64_t b) {
          return collective::ascending_word(elements_[static_cast<std::size_t>(a)]) >
                 collective::ascending_word(elements_[static_cast<std::size_t>(b)]);
        });
        auto const best = best_of(elements_.data() + row * n_, n_, k);
        for (std::size_t i = 0; i < k; ++i) {
          ASSERT_EQ(found[i], best[i] + static_cast<std::int64_t>(row * n_)) << about << ", row " << row << ", " << i;
          auto const at = static_cast<std::size_t>(from[row * k + i]);
          ASSERT_EQ(to[row * k + i], collective::ascending_word(elements_[at])) << about;
        }
      }
      EXPECT_TRUE(words.untouched() && places.untouched()) << about;
    }
  }

 private:
  template <class Kernel>
  void run(Order order, std::size_t bytes, Kernel const& kernel, std::function<void()> const& watch = [] {}) {
    bytes = tiles_of(bytes, 16) * 16 + 16;
    GuardedArray<char> memory(bytes);
    char* const scratch = order == Order::descending ? memory.first(bytes) : memory.last(bytes);
    std::fill_n(scratch, bytes, static_cast<char>(-1));
    int const league = static_cast<int>(rows_) * parts_.chunks.count;
    auto const error = team_.run(order, 1, [&](AdversarialTeam::Member const& member) {
      for (int rank = 0; rank < league; ++rank) {
        kernel(LeagueMember(member, rank, scratch, static_cast<int>(bytes), league, &watch));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
    EXPECT_TRUE(memory.untouched());
  }

  std::size_t rows_;
  std::size_t n_;
  std::vector<T> elements_;
  kernels::detail::RowParts parts_ = {};
  AdversarialTeam team_{FourLanes::threads};
};

TEST(TopKKernels, InOneScratchInAnyOrder) {
  for (Elements const kind : all_elements) {
    for (std::size_t const rows : {1, 3}) {
      for (std::size_t const n : {1, 11, 12, 13, 500}) {
        for (std::size_t const teams : {1, 4}) {
          for (std::size_t const k : {std::size_t{1}, n / 2 + 1, n}) {
            WorstSelectOrders<float>(kind, rows, n, teams).select(k);
            WorstSelectOrders<std::int64_t>(kind, rows, n, teams).select(k);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
