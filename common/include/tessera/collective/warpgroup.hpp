#pragma once
/// \file
/// Products of matrices on a GPU's matrix units by a warpgroup: four threads of 32 lanes each. The units read factors
/// directly from scratch: c += a b, a [64, depth], b [depth, 128], c [64, 128]. Sums are floats. Factors are Half or
/// BFloat16 with depth 16, or Tf32 with depth 8.
///
/// One instruction does the work of 64 MatrixUnit instructions (collective/lane/matrix_unit.hpp), and factors of b
/// need no registers. The units of compute capability 9.0 reach their full rate only with these instructions.
///
/// A panel in scratch holds `depth` values of k for some rows of a (or columns of b), in packs of 16 bytes: 8
/// neighbours of k, or 4 for Tf32.
///
///     panel    [2][rows] packs: the first half of k for each row, then the second half for each
///
/// For Tf32, a is not a panel: thread w holds rows 16 w .. 16 w + 15 of a in registers, as MatrixUnit<Tf32>::A. A
/// kernel can therefore convert values from scratch to factors.
///
/// Thread w of the four has rows 16 w .. 16 w + 15 of c. With g = lane / 4 and t = lane % 4 a lane's sums are
///
///     at[4 j + 2 h + e]    c(16 w + g + 8 h, 8 j + 2 t + e)      j < 16, h < 2, e < 2
///
/// Products are asynchronous, like copies into scratch (collective/async_copy.hpp): they may read scratch and write
/// sums at any time between multiply_add() and wait(). Models of one concept:
/// - Warpgroup<Factor>: CUDA's wgmma, in device code for compute capability 9.0a.
/// - EmulatedWarpgroup<Factor, Arrival>: for tests on a host; computes all products at the earliest moment, or all at
///   the latest.
///
/// Each lane has its own object (for emulated lanes: each thread):
///   see_copies()            makes the data that this lane's copies wrote to scratch visible to products; a barrier
///                           must follow
///   begin()                 must be called before the first product of a group: makes the sums in registers visible
///                           to it
///   multiply_add(c, a, b)   starts c += a b; a and b are panels, a beginning at the first of its 64 rows. For Tf32, a
///                           is the lanes' registers, which must not change until the product is done
///   multiply(c, a, b)       only Tf32: starts c = a b
///   commit()                makes a group of all products since the last commit
///   wait<N>()               returns when all of the calling thread's groups except the last N are done
///
/// Must be called by all lanes of four neighbouring threads of a team together, with the same panels. Scratch: the
/// panels. Barriers: none. A product's inputs in scratch may be overwritten after wait() and then a barrier of the
/// team.
///
/// Example: if every element of a and b is 1, multiply_add adds `depth` to each element of c.
///
/// Source: NVIDIA, PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", without swizzling.

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/half.hpp>

namespace tessera::collective {

/// Eight factors of 16 bits, two per word, or four factors of tf32.
using FactorPack = Pack<std::uint32_t, 4>;

/// A panel in scratch: `depth` values of k for `rows` rows of a, or columns of b. `packs` may point to any row that is
/// a multiple of 8.
struct FactorPanel {
  FactorPack const* packs;
  int rows;

  [[nodiscard]] KOKKOS_FUNCTION FactorPanel from(int row) const { return {packs + row, rows}; }
  [[nodiscard]] KOKKOS_FUNCTION std::uint16_t bits(int row, int k) const {
    return static_cast<std::uint16_t>(packs[k / 8 * rows + row][k % 8 / 2] >> 16 * (k % 2));
  }
  /// For tf32: returns the factor as a float.
  [[nodiscard]] KOKKOS_FUNCTION float number(int row, int k) const {
    return Kokkos::bit_cast<float>(packs[k / 4 * rows + row][k % 4]);
  }
};

/// A lane's elements of c.
struct WarpgroupSums {
  float at[64];
};

/// The shapes of a product, and the row and column of a lane's i-th element of c.
struct AnyWarpgroup {
  static constexpr int threads = 4;
  static constexpr int lanes = 32;
  static constexpr int rows = 64;
  static constexpr int cols = 128;
  static constexpr int depth = 16;

  [[nodiscard]] KOKKOS_FUNCTION static int row_of_c(int thread, int lane, int i) {
    return 16 * thread + lane / 4 + 8 * (i / 2 % 2);
  }
  [[nodiscard]] KOKKOS_FUNCTION static int col_of_c(int lane, int i) { return 8 * (i / 4) + 2 * (lane % 4) + i % 2; }
};

/// Products by the hardware: the part that is the same for all factors.
class WarpgroupGroups : public AnyWarpgroup {
 public:
  KOKKOS_FUNCTION void see_copies() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
  }
  KOKKOS_FUNCTION void begin() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
#endif
  }
  KOKKOS_FUNCTION void commit() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
#endif
  }
  template <int N>
  KOKKOS_FUNCTION void wait() const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(N) : "memory");
#endif
  }

 protected:
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // The panel's descriptor for the instruction. All fields are in units of 16 bytes: the panel's address, the distance
  // to the next half of k, and the distance to the next 8 rows.
  static __device__ std::uint64_t described(FactorPanel const& panel) {
    auto const at = static_cast<std::uint64_t>(__cvta_generic_to_shared(panel.packs));
    return at >> 4 | static_cast<std::uint64_t>(panel.rows) << 16 | std::uint64_t{8} << 32;
  }
#endif
};

// Eight sums from the n-th on, as operands.
#define TESSERA_EIGHT(n)                                                                             \
  "+f"(c.at[n]), "+f"(c.at[(n) + 1]), "+f"(c.at[(n) + 2]), "+f"(c.at[(n) + 3]), "+f"(c.at[(n) + 4]), \
      "+f"(c.at[(n) + 5]), "+f"(c.at[(n) + 6]), "+f"(c.at[(n) + 7])
#define TESSERA_SUMS                                                                                              \
  TESSERA_EIGHT(0), TESSERA_EIGHT(8), TESSERA_EIGHT(16), TESSERA_EIGHT(24), TESSERA_EIGHT(32), TESSERA_EIGHT(40), \
      TESSERA_EIGHT(48), TESSERA_EIGHT(56)
#define TESSERA_NAMES_OF_SUMS                                                                         \
  " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, " \
  "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, "   \
  "%40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, "   \
  "%59, %60, %61, %62, %63}"

/// Products of panels of 16-bit factors by the hardware.
template <class Factor>
class Warpgroup : public WarpgroupGroups {
 public:
  static_assert(std::same_as<Factor, Half> || std::same_as<Factor, BFloat16>,
                "Tessera: no matrix unit has such factors");

  KOKKOS_FUNCTION explicit Warpgroup(int /*thread*/) {}

// The last five operands: add the product; negate neither factor; k is the fastest index of both.
#define TESSERA_WGMMA(TYPE)                                                                       \
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE TESSERA_NAMES_OF_SUMS \
               ", %64, %65, 1, 1, 1, 0, 0;"                                                       \
               : TESSERA_SUMS                                                                     \
               : "l"(described(a)), "l"(described(b)))
  KOKKOS_FUNCTION void multiply_add(WarpgroupSums& c, FactorPanel const& a, FactorPanel const& b) const {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    if constexpr (std::same_as<Factor, Half>) {
      TESSERA_WGMMA("f16");
    } else {
      TESSERA_WGMMA("bf16");
    }
#else
    (void)c, (void)a, (void)b;
#endif
  }
#undef TESSERA_WGMMA
};

/// Products of a lane's tf32 factors and a panel of tf32 factors.
template <>
class Warpgroup<Tf32> : public WarpgroupGroups {
 public:
  static constexpr int depth = 8;
  using A = MatrixUnit<Tf32>::A;

  KOKKOS_FUNCTION explicit Warpgroup(int /*thread*/) {}

  KOKKOS_FUNCTION void multiply_add(WarpgroupSums& c, A const& a, FactorPanel const& b) const { start<1>(c, a, b); }
  KOKKOS_FUNCTION void multiply(WarpgroupSums& c, A const& a, FactorPanel const& b) const { start<0>(c, a, b); }

 private:
  // The operand after the panel selects whether the product is added; the last two negate neither factor.
  template <int Adds>
  KOKKOS_FUNCTION static void start(WarpgroupSums& c, A const& a, FactorPanel const& b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32" TESSERA_NAMES_OF_SUMS
                 ", {%64, %65, %66, %67}, %68, %69, 1, 1;"
                 : TESSERA_SUMS
                 : "r"(__float_as_uint(a.at[0])), "r"(__float_as_uint(a.at[1])), "r"(__float_as_uint(a.at[2])),
                   "r"(__float_as_uint(a.at[3])), "l"(described(b)), "n"(Adds));
#else
    (void)c, (void)a, (void)b;
#endif
  }
};
#undef TESSERA_NAMES_OF_SUMS
#undef TESSERA_SUMS
#undef TESSERA_EIGHT

/// Products by one host thread, for all lanes that it emulates: the part that is the same for all factors. Does nothing
/// on a device.
/// \tparam Product carry_out() computes it
template <class Product, Arrival arrival>
class EmulatedGroups : public AnyWarpgroup {
 public:
  using Sums = lane::Values<WarpgroupSums, lanes>;

  KOKKOS_FUNCTION explicit EmulatedGroups(int thread) : thread_(thread) { KOKKOS_IF_ON_HOST((queue_ = new Queue;)) }
  KOKKOS_FUNCTION ~EmulatedGroups() { KOKKOS_IF_ON_HOST((delete queue_;)) }
  EmulatedGroups(EmulatedGroups const&) = delete;
  EmulatedGroups& operator=(EmulatedGroups const&) = delete;

  KOKKOS_FUNCTION void see_copies() const {}
  KOKKOS_FUNCTION void begin() const { KOKKOS_IF_ON_HOST((queue_->begun = true;)) }
  KOKKOS_FUNCTION void commit() const {
    KOKKOS_IF_ON_HOST((queue_->groups.push_back(queue_->products.size()); queue_->begun = false;))
  }
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    KOKKOS_IF_ON_HOST((let_finish(N);))
  }

 protected:
  KOKKOS_FUNCTION void start([[maybe_unused]] Product const& product) const {
    KOKKOS_IF_ON_HOST(
        (queue_->products.push_back({product, queue_->begun}); if (arrival == Arrival::at_once) carry_out(1);))
  }
  [[nodiscard]] KOKKOS_FUNCTION int thread() const { return thread_; }

 private:
  struct Started {
    Product product;
    bool begun;
  };
  struct Queue {
    std::vector<Started> products;
    std::vector<std::size_t> groups;  // the groups' ends
    bool begun = false;
  };

  // Sums that were not made visible have undefined values: NaN here.
  static void spoil(Sums& sums) {
    for (WarpgroupSums& own : sums.at) {
      for (float& sum : own.at) sum = std::numeric_limits<float>::quiet_NaN();
    }
  }
  void let_finish(std::size_t all_but) const {
    if (queue_->groups.size() <= all_but) return;
    std::size_t const groups = queue_->groups.size() - all_but;
    std::size_t const done = queue_->groups[groups - 1];
    carry_out(done);
    queue_->groups.erase(queue_->groups.begin(), queue_->groups.begin() + static_cast<std::ptrdiff_t>(groups));
    for (std::size_t& end : queue_->groups) end = end > done ? end - done : 0;
  }
  // Computes the first `count` products.
  void carry_out(std::size_t count) const {
    auto& products = queue_->products;
    count = count < products.size() ? count : products.size();
    for (std::size_t p = 0; p < count; ++p) {
      products[p].product.carry_out();
      if (!products[p].begun) spoil(*products[p].product.c);
    }
    products.erase(products.begin(), products.begin() + static_cast<std::ptrdiff_t>(count));
  }

  int thread_;
  Queue* queue_ = nullptr;
};

/// c += a b for a thread's rows of c, with panels of 16-bit factors.
template <class Factor>
struct EmulatedPanelProduct {
  int thread;
  lane::Values<WarpgroupSums, AnyWarpgroup::lanes>* c;
  FactorPanel a;
  FactorPanel b;

  void carry_out() const {
    for (int lane = 0; lane < AnyWarpgroup::lanes; ++lane) {
      for (int i = 0; i < 64; ++i) {
        int const row = AnyWarpgroup::row_of_c(thread, lane, i);
        int const col = AnyWarpgroup::col_of_c(lane, i);
        auto sum = static_cast<double>(c->at[lane].at[i]);
        for (int k = 0; k < AnyWarpgroup::depth; ++k) {
          sum += static_cast<double>(static_cast<float>(Kokkos::bit_cast<Factor>(a.bits(row, k)))) *
                 static_cast<double>(static_cast<float>(Kokkos::bit_cast<Factor>(b.bits(col, k))));
        }
        c->at[lane].at[i] = static_cast<float>(sum);
      }
    }
  }
};

/// c += a b, or c = a b, with a in the lanes' registers and a panel b of tf32.
struct EmulatedTf32Product {
  using Unit = MatrixUnit<Tf32>;
  int thread;
  lane::Values<WarpgroupSums, AnyWarpgroup::lanes>* c;
  lane::Values<Unit::A, AnyWarpgroup::lanes> const* a;
  FactorPanel b;
  bool adds;

  void carry_out() const {
    float rows[Unit::rows][Unit::depth];
    for (int lane = 0; lane < AnyWarpgroup::lanes; ++lane) {
      for (int i = 0; i < 4; ++i) rows[Unit::row_of_a(lane, i)][Unit::col_of_a(lane, i)] = factor(a->at[lane].at[i]);
    }
    for (int lane = 0; lane < AnyWarpgroup::lanes; ++lane) {
      for (int i = 0; i < 64; ++i) {
        int const row = AnyWarpgroup::row_of_c(thread, lane, i) - 16 * thread;
        int const col = AnyWarpgroup::col_of_c(lane, i);
        double sum = adds ? static_cast<double>(c->at[lane].at[i]) : 0.0;
        for (int k = 0; k < Unit::depth; ++k) {
          sum += static_cast<double>(rows[row][k]) * static_cast<double>(factor(b.number(col, k)));
        }
        c->at[lane].at[i] = static_cast<float>(sum);
      }
    }
  }

 private:
  // The unit's result for a number with more bits than tf32 is undefined: NaN here.
  [[nodiscard]] static float factor(float value) {
    return cut_to_tf32(value) == value ? value : std::numeric_limits<float>::quiet_NaN();
  }
};

/// Products by one host thread, for all lanes that it emulates. Does nothing on a device.
template <class Factor, Arrival arrival>
class EmulatedWarpgroup : public EmulatedGroups<EmulatedPanelProduct<Factor>, arrival> {
 public:
  using Base = EmulatedGroups<EmulatedPanelProduct<Factor>, arrival>;
  using Base::Base;

  KOKKOS_FUNCTION void multiply_add(typename Base::Sums& c, FactorPanel const& a, FactorPanel const& b) const {
    this->start({this->thread(), &c, a, b});
  }
};

template <Arrival arrival>
class EmulatedWarpgroup<Tf32, arrival> : public EmulatedGroups<EmulatedTf32Product, arrival> {
 public:
  using Base = EmulatedGroups<EmulatedTf32Product, arrival>;
  using Base::Base;
  using A = lane::Values<MatrixUnit<Tf32>::A, AnyWarpgroup::lanes>;
  static constexpr int depth = 8;

  KOKKOS_FUNCTION void multiply_add(typename Base::Sums& c, A const& a, FactorPanel const& b) const {
    this->start({this->thread(), &c, &a, b, true});
  }
  KOKKOS_FUNCTION void multiply(typename Base::Sums& c, A const& a, FactorPanel const& b) const {
    this->start({this->thread(), &c, &a, b, false});
  }
};

}  // namespace tessera::collective
