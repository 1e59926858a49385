#pragma once
/// \file
/// A histogram: counts the elements in each of `bins` equal bins over [lo, hi), and the elements outside (rule:
/// histogram_bins.hpp). Reads n elements once, in one launch; the last team writes the 64-bit counts.
///
/// - ScratchHistogram: a team counts its chunk in scratch, with atomics that never leave the multiprocessor, and adds
///   its counts to the result. If scratch does not hold all bins, up to 24 teams read the same chunk and count one
///   slice of bins each (GPUs). Fastest on GPUs, up to about 240000 bins. On hosts a team is one thread, which needs no
///   atomics and has several copies of the counts.
/// - LaneHistogram: each lane has its own counters in scratch, so that the loop has no atomics, whatever the data. The
///   lanes' counters are added to the team's counts, and these to the result. As fast on hosts, up to about 900 bins.
///
/// Example, 3 bins over [0, 3): 0.5 2 7 0.1 -> counts 2 0 1, outside 1.
///
/// Use:  histogram(exec, in, lo, hi, counts, outside);
/// or, enqueued many times:
///   ScratchHistogram<Exec, float> count(exec, n, {lo, hi, bins});  count(exec, in, counts, outside);

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/team/scratch_add.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/histogram_bins.hpp>

namespace tessera::kernels {

/// Tuning parameters of ScratchHistogram and LaneHistogram.
template <ExecutionSpace Exec, class T>
struct HistogramTuning {
  static constexpr int lanes = lane::natural_width<Exec>;
  /// 16-byte accesses in flight per lane. On a GPU eight (2^24 floats take 38 to 39 us on an H100; 39 to 43 us with
  /// four), or four for short elements, whose bins take one register each. On hosts, one cache line.
  static constexpr int rows = !is_gpu<Exec> ? 1 : sizeof(T) < 4 ? 4 : 8;
  static constexpr int pack = (is_gpu<Exec> ? 1 : 4) * collective::pack_width<T>;
  /// Chunks per resident team. A team adds all of its counts to the result, with one atomic in memory per bin: for 256
  /// bins and 2^24 elements, 512 teams take 35 us on an H200, and 8 times as many take 66 us.
  static constexpr double scratch_chunks = is_gpu<Exec> ? 0.5 : 1;
  /// Threads per team of ScratchHistogram, if the user gives none; 0: 256 lanes. With 512 lanes half as many teams add
  /// to the result: 2^22 floats take 9.7 us on an H100; 11.8 us with 256 lanes.
  static constexpr int scratch_threads = is_gpu<Exec> && !is_hip<Exec> ? 16 : 0;
  /// The same for LaneHistogram, where fewer chunks would be one wave and a part of the next.
  static constexpr double lane_chunks = 1;
  /// Most slices of bins: reading the input once per slice must take less time than one atomic in memory per element.
  /// On hosts scratch holds all bins.
  static constexpr int most_slices = is_gpu<Exec> ? 24 : 1;
  /// Elements whose bins a host thread looks up before it counts them (count_ahead()). 0 on a GPU: other lanes count
  /// while one waits.
  static constexpr int ahead = is_gpu<Exec> ? 0 : 128;
  /// Copies of the counts in scratch for a team of one thread: on a host, an element then need not wait for the
  /// previous element of the same bin.
  static constexpr int copies_of_one = is_gpu<Exec> ? 1 : 8;
  /// Scratch level of a team's counts. On hosts both levels are memory, and the second one is large enough for 2^20
  /// bins.
  static constexpr int scratch_level = is_gpu<Exec> ? 0 : 1;
  /// Type of a lane's counter: 8 bits on GPUs; 32 on hosts, where a thread's few lanes only separate consecutive
  /// additions to one counter.
  using Counter = std::conditional_t<is_gpu<Exec>, std::uint8_t, std::uint32_t>;
  /// Threads (warps) per team of LaneHistogram: for 256 bins, 4 threads take 34 KB, so that 6 teams share a
  /// multiprocessor of an H200. A compute unit of an AMD GPU has 64 KiB: room for one such team, or for three teams of
  /// two threads (one wavefront each).
  static constexpr int threads_of_lane_counters = is_hip<Exec> ? 2 : 4;
};

namespace detail {

/// Prefetches a cache line.
KOKKOS_INLINE_FUNCTION void prefetch([[maybe_unused]] void const* address) {
  KOKKOS_IF_ON_HOST((__builtin_prefetch(address);))
}

/// Passes the elements of one thread's part to `body`, in no particular order. If the part is whole and aligned,
/// several 16-byte accesses per lane are in flight; otherwise elements are read one by one.
///
/// Calls `body(lane, x)` until each of the first `count` elements of `part` was in an array x. x has RowCount * N
/// elements if `count` is the whole part, RowCount * W * N, and packs of N can be read from it; otherwise x has one
/// element.
///
/// Must be called by all lanes of one thread, with the same pointer and count. The body must not exchange values
/// between lanes, since their trip counts may differ. No scratch, no barriers.
///
/// Example, W = 2, N = 2, 2 rows, 8 elements: lane 0 gets 0 1 4 5, lane 1 gets 2 3 6 7. With 7 elements lane 0 gets 0,
/// 2, 4, 6.
template <int RowCount, int N, lane::Lanes L, class T, class Body>
KOKKOS_FUNCTION void for_each_element(L const& lanes, T const* part, int count, Body const& body) {
  bool const whole = count == RowCount * L::width * N && collective::is_aligned_for_packs<N>(part);
  lanes.each([&](int lane) {
    if (whole) {
      T x[RowCount * N];
      for (int row = 0; row < RowCount; ++row) {
        collective::Pack<T, N> const pack = collective::pack_at<N>(part + (row * L::width + lane) * N);
        for (int e = 0; e < N; ++e) x[row * N + e] = pack[e];
      }
      body(lane, x);
    } else {
      for (int i = lane; i < count; i += L::width) {
        T const x[1] = {part[i]};
        body(lane, x);
      }
    }
  });
}

/// For hosts: counts the elements from `begin` to `end`; each thread of the team counts a part of them.
///
/// Calls `count(counter_of(x, k))` for each element x; k is its position in a group of 16, which can spread neighbours
/// over copies of a counter. Each element costs one store, and a processor does one store per cycle; everything else is
/// kept off that path. The counters of a group are looked up together, so that the compiler vectorizes the lookup, and
/// `Ahead` elements before they are counted: the vector stores have then completed, and no load waits for them.
///
/// Must be called by all threads of the team. No barriers, no scratch.
///
/// Example, Ahead = 32, one thread, 70 elements: looks up 0 to 31; counts 0 to 15 and looks up 32 to 47 in their place;
/// counts 16 to 31 and looks up 48 to 63; then counts 32 to 69 one by one.
template <int Ahead, class Member, class T, class CounterOf, class Count>
KOKKOS_FUNCTION void count_ahead(Member const& team, T const* in, std::size_t begin, std::size_t end,
                                 CounterOf const& counter_of, Count const& count) {
  // At least two vectors of floats. If a loop has many more stores, each an instruction of its own, processors fail to
  // predict which store the next access to the same counter depends on: constant data took four times as long with 64.
  constexpr int group = 16;
  static_assert(Ahead % group == 0);
  auto const threads = static_cast<std::size_t>(team.team_size());
  std::size_t const part = (end - begin + threads - 1) / threads;
  std::size_t i = Kokkos::min(end, begin + static_cast<std::size_t>(team.team_rank()) * part);
  std::size_t const last = Kokkos::min(end, i + part);

  std::uint32_t looked_up[Ahead];
  int oldest = 0;
  if (last - i >= Ahead) {
    for (int k = 0; k < Ahead; ++k) looked_up[k] = counter_of(in[i + static_cast<std::size_t>(k)], k % group);
  }
  for (; last - i >= Ahead + group; i += group) {
    // Among accesses to many counters, a processor does not detect that `in` is read in order.
    constexpr std::size_t line = 64 / sizeof(T);
    for (std::size_t k = 0; k < group; k += line) prefetch(in + Kokkos::min(last - 1, i + 4 * Ahead + k));
    std::uint32_t* const of_group = looked_up + oldest;
    for (int k = 0; k < group; ++k) count(of_group[k]);
    T const* const next = in + i + Ahead;
    for (int k = 0; k < group; ++k) of_group[k] = counter_of(next[k], k);
    oldest = (oldest + group) % Ahead;
  }
  for (; i < last; ++i) count(counter_of(in[i], 0));
}

/// Bins that a team counts: `size` bins, starting at `first`, every one of them or one in `stride`.
struct BinSlice {
  std::int32_t first;
  std::int32_t size;
  std::int32_t stride = 1;
};

/// Totals of all teams: bins + 1 numbers, `outside` after the last bin, as the rule of the bins returns it. The last
/// team of a launch moves them to the result and leaves zeros for the next launch, so that no launch is needed to clear
/// them.
struct BinTotals {
  std::int64_t* totals;     ///< bins + 1, zero before every launch
  std::uint32_t* finished;  ///< teams that have added all; zero before every launch
  std::int64_t* counts;     ///< the result
  std::int64_t* outside;
  std::int32_t bins;
  std::uint32_t teams;

  [[nodiscard]] KOKKOS_FUNCTION std::int32_t size() const { return bins + 1; }

  /// Adds `of(i)`, if not 0, to the slice's bin i. Must be called by all threads and lanes of a team. No barriers.
  template <class Member, class Of>
  KOKKOS_FUNCTION void add(Member const& team, BinSlice const& slice, Of const& of) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, slice.size), [&](std::int32_t i) {
      std::uint32_t const more = of(i);
      if (more != 0) Kokkos::atomic_add(totals + slice.first + i * slice.stride, static_cast<std::int64_t>(more));
    });
  }

  /// Marks that the team has added all of its counts. Must be called by all threads and lanes of the team. `is_last`: a
  /// word of its scratch that is not read any more. Two barriers.
  template <class Member>
  KOKKOS_FUNCTION void finish(Member const& team, std::uint32_t* is_last) const {
    team.team_barrier();
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      Kokkos::memory_fence();  // a team that sees the number must also see the counts
      *is_last = Kokkos::atomic_fetch_add(finished, 1u) + 1 == teams ? 1 : 0;
    });
    team.team_barrier();
    if (*is_last == 0) return;
    Kokkos::memory_fence();  // the counts must not be read before the number
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size()), [&](std::int32_t i) {
      (i < bins ? counts[i] : *outside) = Kokkos::atomic_exchange(totals + i, std::int64_t{0});
    });
    Kokkos::single(Kokkos::PerTeam(team), [&] { *finished = 0; });
  }
};

/// How teams share an array.
struct HistogramShape {
  int threads;
  int copies;  ///< of the counters in a team's scratch
  Chunks chunks;
  int slices;  ///< of bins, each counted by teams of its own
};

/// Returns `chunks` per resident team of `lanes` lanes.
template <ExecutionSpace Exec>
[[nodiscard]] std::size_t chunks_that_fill(Exec const& exec, int lanes, double chunks) {
  return static_cast<std::size_t>(chunks * static_cast<double>(teams_at_once(exec, lanes)));
}

/// Returns the teams' chunks: of the user's `tile`, or `fill` chunks, but not so small that adding the counts to the
/// result costs more than counting. A chunk has at most about 2^30 elements, so that its 32-bit counts cannot overflow.
///
/// \param part elements that a team handles at a time
[[nodiscard]] inline Chunks histogram_chunks(std::size_t n, std::int64_t bins, std::int64_t requested_tile,
                                             std::size_t part, std::size_t fill) {
  if (requested_tile > 0) {
    auto const tile = static_cast<std::size_t>(requested_tile);
    return {.n = n, .size = tile, .count = league_of(std::max<std::size_t>(1, tiles_of(n, tile)))};
  }
  std::size_t const worthwhile = std::max<std::size_t>(1, n / (4 * static_cast<std::size_t>(bins)));
  std::size_t const necessary = tiles_of(n, std::size_t{1} << 30);
  return split(n, part, std::max(std::min(fill, worthwhile), necessary));
}

/// A team counts in scratch, with atomics that never leave the multiprocessor; its threads share `copies` copies of the
/// counts. If scratch does not hold all bins, a team counts one slice, and other teams read the same chunk for the
/// other slices. These teams are neighbours in the league, so that one finds in the cache what another has read.
template <ExecutionSpace Exec, class T, class Bins, class Tuning>
struct ScratchHistogramKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Words = ScratchView<std::uint32_t*, Exec>;
  static constexpr int rows = Tuning::rows;
  static constexpr int pack = Tuning::pack;
  static constexpr int part = rows * Lanes::width * pack;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);
  static constexpr int scratch_level = Tuning::scratch_level;

  T const* in;
  BinTotals result;
  Bins bins;
  HistogramShape of;

  /// Bins per slice. The last slice may extend past the result; nothing is counted there.
  [[nodiscard]] KOKKOS_FUNCTION static std::int32_t slice_size(std::int32_t bins, int slices) {
    return bins / slices + 1;
  }
  [[nodiscard]] static HistogramShape shape(Exec const& exec, std::size_t n, std::int32_t bins, std::int64_t tile,
                                            std::int64_t team) {
    int const threads = team_size(exec, team > 0 ? team : Tuning::scratch_threads, vector_length);
    std::int32_t const most = scratch_words(exec);
    int const slices = (bins + most) / most;
    if (slices > Tuning::most_slices) {
      throw Skip(std::to_string(bins) + " bins (a team's scratch holds " + std::to_string(most) +
                 (Tuning::most_slices > 1
                      ? ", and at most " + std::to_string(Tuning::most_slices) + " teams share them)"
                      : ")"));
    }
    // As many copies as leave room for other teams, or as fit into a host's first-level cache. Two threads share one.
    std::int32_t const size = slice_size(bins, slices);
    int const fitting = static_cast<int>((std::size_t{1} << 14) / sizeof(std::uint32_t)) / size;
    return {threads, std::clamp(fitting, 1, threads > 1 ? (threads + 1) / 2 : Tuning::copies_of_one),
            histogram_chunks(n, bins, tile, static_cast<std::size_t>(threads) * part,
                             chunks_that_fill(exec, threads * vector_length, Tuning::scratch_chunks)),
            slices};
  }
  /// Counters that fit into a team's scratch, minus what Kokkos and the padding of an array take.
  [[nodiscard]] static std::int32_t scratch_words(Exec const& exec) {
    return static_cast<std::int32_t>(
        (static_cast<std::size_t>(Policy(exec, 1, 1).scratch_size_max(scratch_level)) - 512) / sizeof(std::uint32_t));
  }
  [[nodiscard]] static std::size_t scratch_bytes(std::int32_t bins, HistogramShape const& of) {
    return Words::shmem_size(of.copies * slice_size(bins, of.slices));
  }
  [[nodiscard]] static std::string note(HistogramShape const& of) {
    return std::to_string(of.chunks.count) + (of.chunks.count == 1 ? " chunk, " : " chunks, ") +
           (of.slices > 1 ? std::to_string(of.slices) + " slices"
                          : std::to_string(of.copies) + (of.copies == 1 ? " copy" : " copies"));
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    // a copy: a compiler must assume that the counts could overwrite the kernel's own members
    Bins const bin_of = bins;
    // One counter more than bins, so that elements outside cost no branch. If the number of bins is even, the copies
    // begin in different banks.
    int const chunk = team.league_rank() / of.slices;
    int const size = slice_size(bins.count, of.slices);
    BinSlice const slice{team.league_rank() % of.slices * size, size};
    constexpr int level = scratch_level;  // Kokkos takes a reference, and device code has no static member
    Words const counts(team.team_scratch(level), of.copies * slice.size);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, of.copies * slice.size), [&](int i) { counts(i) = 0; });
    team.team_barrier();
    std::uint32_t* const own = counts.data() + team.team_rank() % of.copies * slice.size;
    std::size_t const end = of.chunks.end(chunk);
    if constexpr (Tuning::ahead > 0) {
      // A team of one thread uses all copies, a larger team one per thread. With three copies, `&` leaves one empty.
      int const copies = team.team_size() == 1 ? of.copies : 1;
      auto const counter_of = [&](T x, int k) {
        return static_cast<std::uint32_t>(bin_of(x) + (k & (copies - 1)) * size);
      };
      std::size_t const begin = of.chunks.begin(chunk);
      if (team.team_size() == 1) {  // an atomic would cost it 20 cycles
        count_ahead<Tuning::ahead>(team, in, begin, end, counter_of, [&](std::uint32_t at) { ++own[at]; });
      } else {
        count_ahead<Tuning::ahead>(team, in, begin, end, counter_of,
                                   [&](std::uint32_t at) { team::scratch_add(own + at, 1); });
      }
    } else {
      std::size_t const stride = static_cast<std::size_t>(team.team_size()) * part;
      for (std::size_t begin = of.chunks.begin(chunk) + static_cast<std::size_t>(team.team_rank()) * part; begin < end;
           begin += stride) {
        for_each_element<rows, pack>(
            lanes, in + begin, thread::count_before(begin, end, part), [&]<int N>(int, T const(&x)[N]) {
              std::int32_t bin[N];
              for (int k = 0; k < N; ++k) bin[k] = bin_of(x[k]) - slice.first;
              for (int k = 0; k < N; ++k) {
                // A bin below the slice's first one becomes a large number, too.
                if (static_cast<std::uint32_t>(bin[k]) < static_cast<std::uint32_t>(slice.size)) {
                  add_one(team, own + bin[k]);
                }
              }
            });
      }
    }
    team.team_barrier();
    result.add(team, slice, [&](int i) {
      std::uint32_t sum = 0;
      for (int copy = 0; copy < of.copies; ++copy) sum += counts(copy * slice.size + i);
      return sum;
    });
    result.finish(team, counts.data());
    leave_scratch(team);
  }

 private:
  KOKKOS_FUNCTION static void add_one(Member const& team, std::uint32_t* counter) {
    if (vector_length == 1 && team.team_size() == 1) {
      ++*counter;  // one thread of a host: an atomic would cost it 20 cycles
    } else {
      team::scratch_add(counter, 1);
    }
  }
};

/// Counters per lane, side by side in scratch, so that counting needs neither atomics nor other lanes and has no bank
/// conflicts. `count` counters for each of the W lanes of one thread. Counter: std::uint8_t or std::uint32_t.
///
/// A word of 32 bits holds 4 counters of 8 bits or one of 32 bits. Word w of lane l is at w * W + l, so that on a GPU
/// with 32 lanes each lane has its own bank, whatever it counts.
///
/// - 8 bits: four times as many counters in the same scratch. The price is a flush after 255 elements per lane, which
///   costs a load, a store and six operations per word: for 64 words (256 counters) about 2 operations per element.
///   16 bits would save 1.9 of them, but halve the teams per multiprocessor.
/// - 32 bits: for hosts, where scratch is a cache and lanes are few.
///
/// Example, W = 2, 3 counters of 8 bits, one word per lane; lane 0 counts 0 0 2, lane 1 counts 2: the words are
/// 0x00010002 and 0x00010000; the flushed sums are 2, 0, 2.
template <lane::Lanes L, class Counter>
struct LaneCounters {
  static_assert(std::is_same_v<Counter, std::uint8_t> || std::is_same_v<Counter, std::uint32_t>);
  static_assert(sizeof(Counter) == 4 || std::endian::native == std::endian::little, "counter k is bits 8k to 8k + 7");
  static constexpr int in_word = 4 / static_cast<int>(sizeof(Counter));
  /// Most elements that a lane may count between two flushes.
  static constexpr std::uint32_t limit = std::numeric_limits<Counter>::max();

  /// Words of scratch per thread.
  [[nodiscard]] KOKKOS_FUNCTION static constexpr int words_for(int count) {
    return (count + in_word - 1) / in_word * L::width;
  }

  std::uint32_t* words;  // words_for(count)
  int count;

  /// Must be called by all lanes of the thread, before they count.
  KOKKOS_FUNCTION void set_to_zero(L const& lanes) const {
    lanes.each([&](int lane) {
      for (int at = lane; at < words_for(count); at += L::width) words[at] = 0;
    });
  }

  /// Any lane may call it, with its own number.
  KOKKOS_FUNCTION void add_one(int lane, int index) const {
    // ((of / in_word) * W + lane) * in_word + of % in_word, in two multiply-adds and an `and` on a GPU.
    auto const of = static_cast<std::uint32_t>(index);
    std::uint32_t const in_lane = of * L::width - of % in_word * (L::width - 1);
    ++reinterpret_cast<Counter*>(words + lane)[in_lane];
  }

  /// Calls `body(index, sum over the lanes)`, each index in some lane, and sets the counters to zero. With 8 bits, W is
  /// at most 64, so that 16-bit sums cannot overflow.
  ///
  /// Must be called by all lanes of the thread together. Barriers: lanes.sync() before and after.
  template <class Body>
  KOKKOS_FUNCTION void flush(L const& lanes, Body const& body) const {
    lanes.sync();
    lanes.each([&](int lane) {
      for (int word = lane; word * in_word < count; word += L::width) {
        std::uint32_t even = 0;  // of bytes 0 and 2, or of the single counter
        std::uint32_t odd = 0;   // of bytes 1 and 3
        for (int i = 0; i < L::width; ++i) {
          // Each lane starts with its own word: all start in different banks, instead of all at lane 0's word.
          std::uint32_t& at = words[word * L::width + ((i + lane) & (L::width - 1))];
          if constexpr (in_word == 1) {
            even += at;
          } else {
            even += at & 0x00ff00ffu;
            odd += (at >> 8) & 0x00ff00ffu;
          }
          at = 0;
        }
        if constexpr (in_word == 1) {
          body(word, even);
        } else {
          int const first = word * in_word;
          std::uint32_t const sums[4] = {even & 0xffffu, odd & 0xffffu, even >> 16, odd >> 16};
          for (int k = 0; k < 4; ++k) {
            if (first + k < count) body(first + k, sums[k]);
          }
        }
      }
    });
    lanes.sync();
  }
};

/// Each lane counts in its own counters. Before they can overflow, and at the end, a thread's lanes add them to the
/// team's counts in scratch, and the team adds those to the result.
template <ExecutionSpace Exec, class T, class Bins, class Tuning>
struct LaneHistogramKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, Tuning::lanes>;
  using Counters = LaneCounters<Lanes, typename Tuning::Counter>;
  using Words = ScratchView<std::uint32_t*, Exec>;
  static constexpr int rows = Tuning::rows;
  static constexpr int pack = Tuning::pack;
  static constexpr int part = rows * Lanes::width * pack;
  static constexpr int vector_length = lane::vector_length<Exec>(Lanes::width);
  static constexpr int scratch_level = 0;
  // A part gives each lane rows * pack elements.
  static constexpr std::uint32_t parts_between_flushes = Counters::limit / (rows * pack);

  T const* in;
  BinTotals result;
  Bins bins;
  HistogramShape of;

  [[nodiscard]] static std::size_t scratch_bytes(std::int32_t bins, int threads) {
    return Words::shmem_size(bins + 1 + threads * Counters::words_for(bins + 1));
  }
  [[nodiscard]] static std::size_t scratch_bytes(std::int32_t bins, HistogramShape const& of) {
    return scratch_bytes(bins, of.threads);
  }
  [[nodiscard]] static std::size_t scratch_there(Exec const& exec) {
    return static_cast<std::size_t>(Policy(exec, 1, 1).scratch_size_max(0));
  }
  /// Whether a team's scratch holds the counters.
  [[nodiscard]] static bool fits(Exec const& exec, std::int32_t bins, int threads) {
    return scratch_bytes(bins, threads) <= scratch_there(exec);
  }
  [[nodiscard]] static HistogramShape shape(Exec const& exec, std::size_t n, std::int32_t bins, std::int64_t tile,
                                            std::int64_t team) {
    // The requested number of threads, or as many as fit.
    int const wanted = team_size(exec, team, vector_length);
    int threads = team > 0 ? wanted : std::min(wanted, Tuning::threads_of_lane_counters);
    while (team == 0 && threads > 1 && !fits(exec, bins, threads)) --threads;
    if (!fits(exec, bins, threads)) {
      throw Skip("counters of " + std::to_string(scratch_bytes(bins, threads)) + " bytes for " + std::to_string(bins) +
                 " bins and " + std::to_string(threads * Lanes::width) + " lanes (a team's scratch holds " +
                 std::to_string(scratch_there(exec)) + ")");
    }
    std::size_t const team_part = static_cast<std::size_t>(threads) * part;
    Chunks chunks = histogram_chunks(n, bins, tile, team_part,
                                     chunks_that_fill(exec, threads * vector_length, Tuning::lane_chunks));
    // A chunk with one part more than the counters hold would be flushed twice.
    std::size_t const period = parts_between_flushes * team_part;
    if (tile == 0 && chunks.size > period) {
      chunks.size -= chunks.size % period;
      chunks.count = league_of(tiles_of(n, chunks.size));
    }
    return {.threads = threads, .copies = threads, .chunks = chunks, .slices = 1};
  }
  [[nodiscard]] static std::string note(HistogramShape const& of) {
    return std::to_string(of.chunks.count) + (of.chunks.count == 1 ? " chunk of " : " chunks, teams of ") +
           std::to_string(of.threads * vector_length);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    // a copy: a compiler must assume that the counters could overwrite the kernel's own members
    Bins const bin_of = bins;
    // One counter more than bins, so that elements outside cost no branch.
    int const size = result.size();
    int const of_thread = Counters::words_for(size);
    Words const words(team.team_scratch(0), size + team.team_size() * of_thread);
    std::uint32_t* const counts = words.data();
    Counters const counters{counts + size + team.team_rank() * of_thread, size};
    auto const add_to_team = [&](int bin, std::uint32_t more) {
      if (more != 0) team::scratch_add(counts + bin, more);
    };

    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, size), [&](int bin) { counts[bin] = 0; });
    counters.set_to_zero(lanes);
    team.team_barrier();
    std::size_t const end = of.chunks.end(team.league_rank());
    if constexpr (Tuning::ahead > 0) {
      static_assert(Counters::in_word == 1, "counters that hold a chunk");
      count_ahead<Tuning::ahead>(
          team, in, of.chunks.begin(team.league_rank()), end,
          [&](T x, int k) { return static_cast<std::uint32_t>(bin_of(x) * Lanes::width + k % Lanes::width); },
          [&](std::uint32_t at) { ++counters.words[at]; });
    } else {
      std::uint32_t left = parts_between_flushes;
      for (std::size_t begin = of.chunks.begin(team.league_rank()) + static_cast<std::size_t>(team.team_rank()) * part;
           begin < end; begin += static_cast<std::size_t>(team.team_size()) * part) {
        if (left-- == 0) {
          counters.flush(lanes, add_to_team);
          left = parts_between_flushes - 1;
        }
        for_each_element<rows, pack>(lanes, in + begin, thread::count_before(begin, end, part),
                                     [&]<int N>(int lane, T const(&x)[N]) {
                                       std::int32_t bin[N];
                                       for (int k = 0; k < N; ++k) bin[k] = bin_of(x[k]);
                                       for (int k = 0; k < N; ++k) counters.add_one(lane, bin[k]);
                                     });
      }
    }
    counters.flush(lanes, add_to_team);
    team.team_barrier();
    result.add(team, BinSlice{0, size}, [&](int bin) { return counts[bin]; });
    result.finish(team, counts);
    leave_scratch(team);
  }
};

/// Chooses a kernel's shape once, owns the totals of its teams, and enqueues the count.
template <ExecutionSpace Exec, class T, class Bins, class Kernel>
class HistogramLaunches {
 public:
  /// \param n number of elements
  /// \param tile elements that a team counts before it adds to the result; 0: as many as fill the machine
  /// \param team threads per team; 0: choose. Throws Skip if the space cannot provide them, or if scratch does not hold
  ///        the counts.
  /// \param label kernel name that Kokkos Tools reports
  HistogramLaunches(Exec const& exec, std::size_t n, Bins const& bins, std::int64_t tile = 0, std::int64_t team = 0,
                    std::string const& label = "tessera::histogram")
      : label_(label),
        bins_(bins),
        shape_(Kernel::shape(exec, n, bins.count, tile, team)),
        teams_(league_of(static_cast<std::size_t>(shape_.chunks.count) * static_cast<std::size_t>(shape_.slices))),
        totals_(label + "::totals", static_cast<std::size_t>(bins.count) + 1),
        finished_(label + "::finished") {}

  /// Enqueues. Throws std::invalid_argument if `in` or `counts` has another length or a stride.
  template <Readable<Exec, T, 1> In, Writable<Exec, std::int64_t, 1> Counts, Writable<Exec, std::int64_t, 0> Outside>
  void operator()(Exec const& exec, In const& in, Counts const& counts, Outside const& outside) const {
    T const* const from = contiguous(in, shape_.chunks.n);
    BinTotals const result{totals_.data(), finished_.data(), contiguous(counts, static_cast<std::size_t>(bins_.count)),
                           outside.data(), bins_.count,      static_cast<std::uint32_t>(teams_)};
    typename Kernel::Policy policy(exec, teams_, shape_.threads, Kernel::vector_length);
    policy = with_scratch(policy, Kernel::scratch_bytes(bins_.count, shape_), Kernel::scratch_level);
    Kokkos::parallel_for(label_ + "::count", policy, Kernel{from, result, bins_, shape_});
  }

  [[nodiscard]] std::string note() const { return Kernel::note(shape_); }

 private:
  std::string label_;
  Bins bins_;
  HistogramShape shape_;
  int teams_;
  Kokkos::View<std::int64_t*, typename Exec::memory_space> totals_;
  Kokkos::View<std::uint32_t, typename Exec::memory_space> finished_;
};

}  // namespace detail

/// counts[b] = number of elements in bin b; outside = number of elements in no bin; counted in scratch with atomics.
/// `in` [n], contiguous; `counts` [bins] and `outside` (rank 0) of std::int64_t.
///
/// Bins: the rule, `std::int32_t operator()(T) const` in device code, which returns the bin, or `count` for none; and
/// its member `count`. Construct it once; it allocates one number per bin. A call only enqueues; calls on one object
/// must not run concurrently.
template <ExecutionSpace Exec, class T, class Bins = EqualBins<T>, class Tuning = HistogramTuning<Exec, T>>
using ScratchHistogram =
    detail::HistogramLaunches<Exec, T, Bins, detail::ScratchHistogramKernel<Exec, T, Bins, Tuning>>;

/// As ScratchHistogram, but with counters per lane.
template <ExecutionSpace Exec, class T, class Bins = EqualBins<T>, class Tuning = HistogramTuning<Exec, T>>
using LaneHistogram = detail::HistogramLaunches<Exec, T, Bins, detail::LaneHistogramKernel<Exec, T, Bins, Tuning>>;

/// counts[b] = number of elements of `in` [n] in bin b of the counts.extent(0) equal bins over [lo, hi); `outside` =
/// number of elements in no bin. For integers, lo and hi must be whole numbers. Convenience for a single call: enqueues
/// ScratchHistogram and waits. Throws Skip if scratch does not hold the counts.
template <ExecutionSpace Exec, class In, class Counts, class Outside>
void histogram(Exec const& exec, In const& in, double lo, double hi, Counts const& counts, Outside const& outside) {
  using T = typename In::non_const_value_type;
  EqualBins<T> const bins(lo, hi, static_cast<std::int64_t>(counts.extent(0)));
  ScratchHistogram<Exec, T>(exec, in.extent(0), bins)(exec, in, counts, outside);
  exec.fence("tessera: histogram");
}

}  // namespace tessera::kernels
