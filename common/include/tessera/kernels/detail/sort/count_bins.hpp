#pragma once
/// \file
/// Counts items per bin: for one bin or several digits of each item at a time, for the whole array or by chunks.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/operators.hpp>
#include <tessera/collective/team/digit_rank.hpp>
#include <tessera/collective/team/scratch_add.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/collective/thread/scan.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/unroll.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/sort/bin_tuning.hpp>

namespace tessera::kernels::detail {

/// Loads item part[i] of a thread's part, i = row * W + lane, to row `row` of each lane. Places from `count` on keep
/// their value. Must be called by all lanes of one thread.
template <int N, lane::Lanes L, class Part, class Items>
KOKKOS_FUNCTION void load_striped(L const& lanes, Part const& part, int count, Items& items) {
  lanes.each(
      [&](int lane, auto& own) {
        if (count >= N * L::width) {
          TESSERA_UNROLL
          for (int row = 0; row < N; ++row) own.at[row] = part[row * L::width + lane];
        } else {
          TESSERA_UNROLL
          for (int row = 0; row < N; ++row) {
            if (row * L::width + lane < count) own.at[row] = part[row * L::width + lane];
          }
        }
      },
      items);
}

/// A team's counters in scratch: 32 bits on a GPU, where a team counts a small part of the array; 64 on a host.
template <ExecutionSpace Exec>
using BinCounter = std::conditional_t<is_gpu<Exec>, std::uint32_t, std::uint64_t>;

/// An item's bin as a code of one digit.
template <class T, class BinOf>
struct BinCodes {
  BinOf bin_of;
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t code(T const& item) const {
    return static_cast<std::uint32_t>(bin_of(item));
  }
  [[nodiscard]] KOKKOS_FUNCTION std::uint32_t of(std::uint32_t code, int) const { return code; }
};

/// Adds to a counter in scratch, atomically.
KOKKOS_INLINE_FUNCTION void add_to_counter(std::uint32_t* counter, int more) {
  team::scratch_add(counter, static_cast<std::uint32_t>(more));
}
KOKKOS_INLINE_FUNCTION void add_to_counter(std::uint64_t* counter, int more) {
  Kokkos::atomic_add(counter, static_cast<std::uint64_t>(more));
}

/// Counts the digits of in[begin, end) in `counters` [digits][256][Tuning::count_copies]: a bin's count is their sum.
///
/// \tparam Codes `code(T)` returns an item's code; `of(code, d)` digit d of the code, below 256: bits of the code, the
///         same for all codes
///
/// Must be called by all lanes of the team. Barriers: the counters are zero and may be read by the whole team before
/// and after the call only across a barrier of the caller.
template <class Tuning, lane::Lanes L, class Member, class T, class Codes, class Counter>
KOKKOS_FUNCTION void count_digits(Member const& team, L const& lanes, T const* in, std::size_t begin, std::size_t end,
                                  Codes const& codes, int digits, Counter* counters) {
  using Code = decltype(codes.code(T{}));
  constexpr int copies = Tuning::count_copies;
  if constexpr (!Tuning::warps) {
    static_assert(copies == 1);
    std::size_t const length = (end - begin + team.team_size() - 1) / team.team_size();
    std::size_t const from = Kokkos::min(end, begin + length * team.team_rank());
    std::size_t const to = Kokkos::min(end, from + length);
    for (std::size_t i = from; i < to; ++i) {
      Code const code = codes.code(in[i]);
      for (int d = 0; d < digits; ++d) {
        Counter& counter = counters[d * bin_count + static_cast<int>(codes.of(code, d))];
        if (team.team_size() == 1) {
          ++counter;
        } else {
          Kokkos::atomic_add(&counter, Counter{1});
        }
      }
    }
  } else {
    constexpr int rows = Tuning::count_rows;
    constexpr int part = rows * L::width;
    for (std::size_t i = begin + static_cast<std::size_t>(team.team_rank()) * part; i < end;
         i += static_cast<std::size_t>(team.team_size()) * part) {
      int const count = thread::count_before(i, end, part);
      auto items = lanes.template fill<team::LaneItems<T, rows>>({});
      load_striped<rows>(lanes, in + i, count, items);
      auto own_codes = lanes.template fill<team::LaneItems<Code, rows>>({});
      auto first_code = lanes.template fill<Code>({});
      lanes.each(
          [&](int, team::LaneItems<T, rows> const& own, team::LaneItems<Code, rows>& of_lane, Code& first) {
            TESSERA_UNROLL
            for (int row = 0; row < rows; ++row) of_lane.at[row] = codes.code(own.at[row]);
            first = of_lane.at[0];
          },
          items, own_codes, first_code);
      Code const common = lanes.template read<Code>(first_code, 0);
      auto differences = lanes.template fill<Code>({});
      lanes.each(
          [&](int, team::LaneItems<Code, rows> const& of_lane, Code& differs) {
            TESSERA_UNROLL
            for (int row = 0; row < rows; ++row) differs |= of_lane.at[row] ^ common;
          },
          own_codes, differences);
      for (int d = 0; d < digits; ++d) {
        // If all items of the part share the digit, as in sorted or constant data, one lane counts them: 32 atomics on
        // one counter run one after the other.
        auto differs = lanes.template fill<bool>(false);
        lanes.each([&](int, Code difference, bool& other) { other = codes.of(difference, d) != 0; }, differences,
                   differs);
        Counter* const of_digit = counters + d * bin_count * copies;
        if (count < part) {
          lanes.each(
              [&](int lane, team::LaneItems<Code, rows> const& of_lane) {
                TESSERA_UNROLL
                for (int row = 0; row < rows; ++row) {
                  if (row * L::width + lane < count) {
                    add_to_counter(of_digit + codes.of(of_lane.at[row], d) * copies + lane % copies, 1);
                  }
                }
              },
              own_codes);
        } else if (lanes.any(differs)) {
          lanes.each(
              [&](int lane, team::LaneItems<Code, rows> const& of_lane) {
                TESSERA_UNROLL
                for (int row = 0; row < rows; ++row) {
                  add_to_counter(of_digit + codes.of(of_lane.at[row], d) * copies + lane % copies, 1);
                }
              },
              own_codes);
        } else {
          lanes.each([&](int lane) {
            if (lane == 0) add_to_counter(of_digit + codes.of(common, d) * copies, part);
          });
        }
      }
    }
  }
}

/// Returns the count of a bin, the sum of its counters. Lanes with neighbouring bins read different banks.
template <class Tuning, class Counter>
[[nodiscard]] KOKKOS_FUNCTION std::int64_t count_of_bin(Counter const* counters, int bin) {
  constexpr int copies = Tuning::count_copies;
  std::int64_t count = 0;
  for (int i = 0; i < copies; ++i) {
    int const copy = (i + bin * copies / 32) % copies;
    count += static_cast<std::int64_t>(counters[bin * copies + copy]);
  }
  return count;
}

/// Counts all digits of all items in one launch. The last team writes the begins of the bins of each digit.
template <ExecutionSpace Exec, class T, class Codes, class Tuning>
struct CountAllKernel {
  using Bounds = typename Tuning::CountBounds;
  using Policy = Kokkos::TeamPolicy<Exec, Bounds>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Counter = BinCounter<Exec>;
  using Scratch = ScratchView<Counter*, Exec>;
  using Flag = ScratchView<int*, Exec>;
  static constexpr int vector_length = lane::vector_length<Exec>(Tuning::lanes);

  Codes codes;
  T const* in;
  int digits;
  std::int64_t* totals;     ///< [digits][256], zero before every launch
  std::uint32_t* finished;  ///< teams that have added their counts; zero before every launch
  std::int64_t* begins;     ///< [digits][2][256]: the first of the two is written
  std::int64_t* offsets;    ///< null, or [bins + 1]: begins of the bins of the only digit, and n
  int bins;                 ///< of `offsets`
  Chunks chunks;

  [[nodiscard]] static std::size_t scratch_bytes(int digits) {
    return Scratch::shmem_size(digits * bin_count * Tuning::count_copies) + Flag::shmem_size(1);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Scratch const counters(team.team_scratch(0), digits * bin_count * Tuning::count_copies);
    Flag const is_last(team.team_scratch(0), 1);
    int const own = team.team_rank() * Lanes::width;
    int const stride = team.team_size() * Lanes::width;
    auto const for_each = [&](int count, auto const& body) {
      lanes.each([&](int lane) {
        for (int i = own + lane; i < count; i += stride) body(i);
      });
    };
    // The last chunks first: the next launch then finds the first tiles in the cache.
    int const chunk = chunks.count - 1 - team.league_rank();
    for_each(digits * bin_count * Tuning::count_copies, [&](int i) { counters(i) = 0; });
    team.team_barrier();
    count_digits<Tuning>(team, lanes, in, chunks.begin(chunk), chunks.end(chunk), codes, digits, counters.data());
    team.team_barrier();
    for_each(digits * bin_count, [&](int i) {
      auto const more = count_of_bin<Tuning>(counters.data(), i);
      if (more != 0) Kokkos::atomic_add(totals + i, more);
    });
    Kokkos::memory_fence();  // a team that sees the number of finished teams must also see their counts
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      auto const teams = static_cast<std::uint32_t>(chunks.count);
      is_last(0) = Kokkos::atomic_fetch_add(finished, 1U) + 1 == teams ? 1 : 0;
      if (is_last(0) != 0) *finished = 0;
    });
    team.team_barrier();
    if (is_last(0) != 0) {
      Kokkos::memory_fence();
      write_begins(team);
    }
    leave_scratch(team);
  }

 private:
  // Each thread scans the totals of some digits, and leaves zeros for the next launch.
  KOKKOS_FUNCTION void write_begins(Member const& team) const {
    Lanes const lanes;
    for (int d = team.team_rank(); d < digits; d += team.team_size()) {
      std::int64_t before = 0;
      for (int first = 0; first < bin_count; first += Lanes::width) {
        auto total = lanes.template fill<std::int64_t>(0);
        lanes.each(
            [&](int lane, std::int64_t& own) {
              if (first + lane < bin_count) {
                own = Kokkos::atomic_exchange(totals + d * bin_count + first + lane, std::int64_t{0});
              }
            },
            total);
        auto upto = total;
        thread::inclusive_scan(lanes, upto, collective::Sum<std::int64_t>{});
        lanes.each(
            [&](int lane, std::int64_t own, std::int64_t inclusive) {
              int const bin = first + lane;
              if (bin >= bin_count) return;
              begins[d * 2 * bin_count + bin] = before + inclusive - own;
              if (offsets != nullptr && bin < bins) {
                offsets[bin] = before + inclusive - own;
                if (bin + 1 == bins) offsets[bins] = static_cast<std::int64_t>(chunks.n);
              }
            },
            total, upto);
        before += lanes.template read<std::int64_t>(upto, Lanes::width - 1);
      }
    }
  }
};

/// Counts one digit of each chunk, bin by bin: counts[bin * chunks + chunk].
template <ExecutionSpace Exec, class T, class Codes, class Tuning>
struct CountChunksKernel {
  using Policy = Kokkos::TeamPolicy<Exec, typename Tuning::CountBounds>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Counter = BinCounter<Exec>;
  using Scratch = ScratchView<Counter*, Exec>;

  Codes codes;
  T const* in;
  std::int64_t* counts;
  Chunks chunks;

  [[nodiscard]] static std::size_t scratch_bytes() { return Scratch::shmem_size(bin_count * Tuning::count_copies); }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Scratch const counters(team.team_scratch(0), bin_count * Tuning::count_copies);
    int const own = team.team_rank() * Lanes::width;
    int const stride = team.team_size() * Lanes::width;
    int const chunk = Tuning::warps ? chunks.count - 1 - team.league_rank() : team.league_rank();
    auto const for_each = [&](int count, auto const& body) {
      lanes.each([&](int lane) {
        for (int i = own + lane; i < count; i += stride) body(i);
      });
    };
    for_each(bin_count * Tuning::count_copies, [&](int i) { counters(i) = 0; });
    team.team_barrier();
    count_digits<Tuning>(team, lanes, in, chunks.begin(chunk), chunks.end(chunk), codes, 1, counters.data());
    team.team_barrier();
    for_each(bin_count, [&](int bin) {
      counts[static_cast<std::size_t>(bin) * chunks.count + chunk] = count_of_bin<Tuning>(counters.data(), bin);
    });
    leave_scratch(team);
  }
};

}  // namespace tessera::kernels::detail
