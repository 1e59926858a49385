#pragma once
// Products by warpgroups (collective/warpgroup.hpp), emulated on a host: all products are computed at the earliest
// moment, or all at the latest.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <Kokkos_Core.hpp>

#include "emulated_copies.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/lane/matrix_unit.hpp>
#include <tessera/collective/warpgroup.hpp>

namespace tessera::test {

using collective::AnyWarpgroup;
using collective::FactorPanel;
using collective::MatrixUnit;
using collective::Tf32;
using collective::WarpgroupSums;

// Products by one host thread, for all lanes that it emulates: the part that is the same for all factors. Does nothing
// on a device.
// \tparam Product carry_out() computes it
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

// Returns a factor of 16 bits of a panel.
template <class Factor>
[[nodiscard]] float factor_at(FactorPanel const& panel, int row, int k) {
  std::uint32_t const pair = panel.packs[k / 8 * panel.rows + row][k % 8 / 2];
  return static_cast<float>(Kokkos::bit_cast<Factor>(static_cast<std::uint16_t>(pair >> 16 * (k % 2))));
}

// c += a b for a thread's rows of c, with panels of 16-bit factors.
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
          sum += static_cast<double>(factor_at<Factor>(a, row, k)) * static_cast<double>(factor_at<Factor>(b, col, k));
        }
        c->at[lane].at[i] = static_cast<float>(sum);
      }
    }
  }
};

// c += a b, or c = a b, with a in the lanes' registers and a panel b of tf32.
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
          auto const of_b = Kokkos::bit_cast<float>(b.packs[k / 4 * b.rows + col][k % 4]);
          sum += static_cast<double>(rows[row][k]) * static_cast<double>(factor(of_b));
        }
        c->at[lane].at[i] = static_cast<float>(sum);
      }
    }
  }

 private:
  // The unit's result for a number with more bits than tf32 is undefined: NaN here.
  [[nodiscard]] static float factor(float value) {
    return collective::cut_to_tf32(value) == value ? value : std::numeric_limits<float>::quiet_NaN();
  }
};

// Products by one host thread, for all lanes that it emulates. Does nothing on a device.
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

}  // namespace tessera::test
