#pragma once
/// \file
/// Lanes: W values that are processed in lockstep and exchanged without memory.
///
/// Two models of one concept, with the same order of operations:
/// - Hardware<W>: W lanes of a warp or wavefront; each lane runs the code and holds one value. In Kokkos these are the
///   W vector lanes of one thread of a TeamPolicy with vector length W.
/// - Emulated<W>: one thread holds the W values as an array and processes them together.
///
/// Lane code holds values of type `typename Lanes::template Value<T>`, changes them with `each`, and moves them with
/// the functions below.
///
/// Must be called by all W lanes together: never under a condition that differs between them, and with the same trip
/// count of enclosing loops. No scratch, no barriers. Results are valid in every lane.
///
/// Example, W = 4, values 1 2 3 4:
///   shift_up(v, 1)   -> 1 1 2 3     (lanes without a source keep their own)
///   shift_down(v, 1) -> 2 3 4 4
///   exchange(v, 1)   -> 2 1 4 3     (partner = lane xor 1)
///   read(v, 2)       -> 3           (one value, the same for all lanes)
///   first_of(v, 2)   -> 1 1 3 3     (the value of the first lane in each group of 2)
///   ballot(v > 2)    -> 0b1100
///   elect()          -> true in one lane, the same one each time; false in the others
///   sync()              afterwards all lanes see what each lane has written

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tessera/core/spaces.hpp>

namespace tessera::lane {

namespace detail {
// A callable for each lane: nvcc's front end does not accept a lambda in a concept.
struct LaneBody {
  KOKKOS_FUNCTION void operator()(int, int&) const {}
};
}  // namespace detail

/// The functions that lane code may use.
template <class L>
concept Lanes = requires(L const& lanes, typename L::template Value<int> value, typename L::template Value<bool> flag) {
  { L::width } -> std::convertible_to<int>;
  lanes.each(detail::LaneBody{}, value);
  { lanes.template fill<int>(0) } -> std::same_as<decltype(value)>;
  { lanes.shift_up(value, 1) } -> std::same_as<decltype(value)>;
  { lanes.shift_down(value, 1) } -> std::same_as<decltype(value)>;
  { lanes.exchange(value, 1) } -> std::same_as<decltype(value)>;
  { lanes.template read<int>(value, 0) } -> std::same_as<int>;
  { lanes.first_of(value, 2) } -> std::same_as<decltype(value)>;
  { lanes.ballot(flag) } -> std::same_as<std::uint64_t>;
  { lanes.any(flag) } -> std::same_as<bool>;
  { lanes.all(flag) } -> std::same_as<bool>;
  { lanes.elect() } -> std::same_as<decltype(flag)>;
  lanes.sync();
};

/// The values of W emulated lanes.
template <class T, int W>
struct Values {
  T at[W];
};

/// W lanes processed in lockstep by one thread. W is a power of two.
template <int W>
class Emulated {
 public:
  static_assert(W >= 1 && W <= 64 && (W & (W - 1)) == 0, "Tessera: lanes come in powers of two from 1 to 64");
  static constexpr int width = W;
  template <class T>
  using Value = Values<T, W>;

  /// Calls `body(lane, values...)` for every lane, with that lane's values by reference.
  template <class Body, class... V>
  KOKKOS_FUNCTION void each(Body const& body, V&... values) const {
    for (int lane = 0; lane < W; ++lane) body(lane, values.at[lane]...);
  }

  /// Returns the same value in every lane.
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Value<T> fill(T const& value) const {
    Value<T> result;
    for (int lane = 0; lane < W; ++lane) result.at[lane] = value;
    return result;
  }

  /// Lane i gets lane i - distance; the first `distance` lanes keep their own.
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Values<T, W> shift_up(Values<T, W> const& value, int distance) const {
    Values<T, W> result;
    for (int lane = 0; lane < W; ++lane) result.at[lane] = value.at[lane >= distance ? lane - distance : lane];
    return result;
  }

  /// Lane i gets lane i + distance; the last `distance` lanes keep their own.
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Values<T, W> shift_down(Values<T, W> const& value, int distance) const {
    Values<T, W> result;
    for (int lane = 0; lane < W; ++lane) result.at[lane] = value.at[lane + distance < W ? lane + distance : lane];
    return result;
  }

  /// Lane i gets lane i xor mask, 0 <= mask < W.
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Values<T, W> exchange(Values<T, W> const& value, int mask) const {
    Values<T, W> result;
    for (int lane = 0; lane < W; ++lane) result.at[lane] = value.at[lane ^ mask];
    return result;
  }

  /// Returns the value of one lane, for all lanes.
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T read(Values<T, W> const& value, int lane) const {
    return value.at[lane];
  }

  /// Lane i gets the value of the first lane of its group of `group` lanes, a power of two up to W.
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION Values<T, W> first_of(Values<T, W> const& value, int group) const {
    Values<T, W> result;
    for (int lane = 0; lane < W; ++lane) result.at[lane] = value.at[lane & ~(group - 1)];
    return result;
  }

  /// Bit i is lane i's flag.
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t ballot(Values<bool, W> const& flag) const {
    std::uint64_t bits = 0;
    for (int lane = 0; lane < W; ++lane) bits |= static_cast<std::uint64_t>(flag.at[lane]) << lane;
    return bits;
  }
  [[nodiscard]] KOKKOS_FUNCTION bool any(Values<bool, W> const& flag) const { return ballot(flag) != 0; }
  [[nodiscard]] KOKKOS_FUNCTION bool all(Values<bool, W> const& flag) const {
    return ballot(flag) == (~std::uint64_t{0} >> (64 - W));
  }
  /// True in lane 0.
  [[nodiscard]] KOKKOS_FUNCTION Values<bool, W> elect() const {
    Values<bool, W> result{};
    result.at[0] = true;
    return result;
  }

  /// After the call all lanes see what each lane wrote to scratch or memory before it.
  KOKKOS_FUNCTION void sync() const {}
};

/// W lanes of a warp or wavefront (CUDA, HIP): the vector lanes of one Kokkos thread. W is a power of two, at most 32
/// on CUDA and 64 on HIP. Device code only.
template <int W>
class Hardware {
 public:
  static_assert(W >= 1 && W <= 64 && (W & (W - 1)) == 0, "Tessera: lanes come in powers of two from 1 to 64");
  static constexpr int width = W;
  template <class T>
  using Value = T;

  template <class Body, class... V>
  KOKKOS_FUNCTION void each(Body const& body, V&... values) const {
    body(rank(), values...);
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T fill(T const& value) const {
    return value;
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T shift_up(T const& value, int distance) const {
    return move<Shuffle::up>(value, distance);
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T shift_down(T const& value, int distance) const {
    return move<Shuffle::down>(value, distance);
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T exchange(T const& value, int mask) const {
    return move<Shuffle::exchange>(value, mask);
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T read(T const& value, int lane) const {
    return move<Shuffle::read>(value, lane);
  }
  template <class T>
  [[nodiscard]] KOKKOS_FUNCTION T first_of(T const& value, int group) const {
    return read(value, rank() & ~(group - 1));
  }
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t ballot(bool flag) const {
#if defined(__CUDA_ARCH__)
    return (__ballot_sync(mask(), flag) & mask()) >> first();
#elif defined(__HIP_DEVICE_COMPILE__)
    return (__ballot(flag) >> first()) & (~std::uint64_t{0} >> (64 - W));
#else
    return flag ? 1 : 0;
#endif
  }
  [[nodiscard]] KOKKOS_FUNCTION bool any(bool flag) const { return ballot(flag) != 0; }
  [[nodiscard]] KOKKOS_FUNCTION bool all(bool flag) const { return ballot(flag) == (~std::uint64_t{0} >> (64 - W)); }
  /// CUDA chooses the lane from compute capability 9.0; elsewhere it is lane 0.
  [[nodiscard]] KOKKOS_FUNCTION bool elect() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    std::uint32_t elected;
    asm volatile("{ .reg .pred one; elect.sync _|one, %1; selp.u32 %0, 1, 0, one; }" : "=r"(elected) : "r"(mask()));
    return elected != 0;
#else
    return rank() == 0;
#endif
  }
  KOKKOS_FUNCTION void sync() const {
#if defined(__CUDA_ARCH__)
    __syncwarp(mask());
#elif defined(__HIP_DEVICE_COMPILE__)
    __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");  // a wavefront's lanes run together
    __builtin_amdgcn_wave_barrier();
#endif
  }

 private:
  // Kokkos puts the vector lanes of a thread on x, the threads of a team on y.
  [[nodiscard]] KOKKOS_FUNCTION static int rank() {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }

#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  // The position of this thread's lane 0 in its warp or wavefront. If W is a whole warp, this is a constant, and so is
  // the mask below. If the mask is not known at compile time, nvcc lets every exchange look up the participating lanes,
  // which costs several times as much as the exchange.
  [[nodiscard]] KOKKOS_FUNCTION static unsigned first() {
#if defined(__CUDA_ARCH__)
    constexpr unsigned warp = 32;
#else
    unsigned const warp = warpSize;
#endif
    return threadIdx.y * static_cast<unsigned>(W) % warp;
  }
#endif
#if defined(__CUDA_ARCH__)
  // Only the lanes of this thread: other threads of the same warp may be elsewhere in the program, or not exist.
  [[nodiscard]] KOKKOS_FUNCTION static unsigned mask() { return (0xffffffffu >> (32 - W)) << first(); }
#endif

  enum class Shuffle : std::uint8_t { up, down, exchange, read };

  template <Shuffle kind>
  [[nodiscard]] KOKKOS_FUNCTION static std::uint32_t shuffle(std::uint32_t word, [[maybe_unused]] int by) {
#if defined(__CUDA_ARCH__)
    if constexpr (kind == Shuffle::up) {
      return __shfl_up_sync(mask(), word, by, W);
    } else if constexpr (kind == Shuffle::down) {
      return __shfl_down_sync(mask(), word, by, W);
    } else if constexpr (kind == Shuffle::exchange) {
      return __shfl_xor_sync(mask(), word, by, W);
    } else {
      return __shfl_sync(mask(), word, by, W);
    }
#elif defined(__HIP_DEVICE_COMPILE__)
    if constexpr (kind == Shuffle::up) {
      return __shfl_up(word, by, W);
    } else if constexpr (kind == Shuffle::down) {
      return __shfl_down(word, by, W);
    } else if constexpr (kind == Shuffle::exchange) {
      return __shfl_xor(word, by, W);
    } else {
      return __shfl(word, by, W);
    }
#else
    return word;
#endif
  }

  // Shuffles move 4-byte words; a trivially copyable value consists of a few of them.
  template <Shuffle kind, class T>
  [[nodiscard]] KOKKOS_FUNCTION static T move(T const& value, int by) {
    constexpr int words = static_cast<int>((sizeof(T) + 3) / 4);
    std::uint32_t buffer[words] = {};
    memcpy(buffer, &value, sizeof(T));
    for (int w = 0; w < words; ++w) buffer[w] = shuffle<kind>(buffer[w], by);
    T result;
    memcpy(&result, buffer, sizeof(T));
    return result;
  }
};

/// The lanes to use on an execution space: W hardware lanes on a GPU, W emulated ones on a host.
template <ExecutionSpace Exec, int W>
using On = std::conditional_t<is_gpu<Exec>, Hardware<W>, Emulated<W>>;

/// The natural number of lanes per thread: a warp on GPUs; 8 on hosts, a vector register of floats.
template <ExecutionSpace Exec>
inline constexpr int natural_width = is_gpu<Exec> ? 32 : 8;

/// Returns the vector length of a TeamPolicy for W lanes. It is 1 on hosts, where one thread emulates all lanes.
template <ExecutionSpace Exec>
[[nodiscard]] constexpr int vector_length(int width) {
  return is_gpu<Exec> ? width : 1;
}

}  // namespace tessera::lane
