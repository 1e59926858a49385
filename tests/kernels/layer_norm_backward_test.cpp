// The kernel of the backward layer normalisation, with rows that fit into the lanes' registers or not, against the
// formulas in double. Its column sums per thread, and added to dgamma and dbeta. Calls of one object on Views of other
// alignment.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call the Kokkos functions that are declared by then.
#include "adversarial_league.hpp"

#include <tessera/core/spaces.hpp>
#include <tessera/kernels/layer_norm_backward.hpp>

#include "guarded_array.hpp"

namespace tessera::test {
namespace {

constexpr double eps = 1e-3;

[[nodiscard]] float number(std::size_t i, std::size_t seed) {
  return static_cast<float>((i * 2654435761U + seed * 40503U) >> 7 & 1023) / 256 - 2;
}

// The gradients in double.
struct Expected {
  std::vector<double> dx, ln, dgamma, dbeta;
  std::vector<float> x, q, gamma, beta;

  Expected(std::size_t rows, std::size_t cols) : dx(rows * cols), ln(rows * cols), dgamma(cols), dbeta(cols) {
    for (std::size_t i = 0; i < rows * cols; ++i) {
      x.push_back(number(i, 1));
      q.push_back(number(i, 2));
    }
    for (std::size_t c = 0; c < cols; ++c) {
      gamma.push_back(number(c, 3));
      beta.push_back(number(c, 4));
    }
    auto const n = static_cast<double>(cols);
    for (std::size_t r = 0; r < rows; ++r) {
      float const* const of_x = x.data() + r * cols;
      float const* const of_q = q.data() + r * cols;
      double mean = 0;
      double variance = 0;
      for (std::size_t c = 0; c < cols; ++c) mean += of_x[c] / n;
      for (std::size_t c = 0; c < cols; ++c) variance += (of_x[c] - mean) * (of_x[c] - mean) / n;
      double const inv_std = 1 / std::sqrt(variance + eps);
      double sum = 0;
      double sum_of_x = 0;
      for (std::size_t c = 0; c < cols; ++c) {
        double const xhat = (of_x[c] - mean) * inv_std;
        sum += static_cast<double>(of_q[c]) * gamma[c] / n;
        sum_of_x += of_q[c] * gamma[c] * xhat / n;
        dgamma[c] += of_q[c] * xhat;
        dbeta[c] += of_q[c];
        ln[r * cols + c] = gamma[c] * xhat + beta[c];
      }
      for (std::size_t c = 0; c < cols; ++c) {
        double const xhat = (of_x[c] - mean) * inv_std;
        dx[r * cols + c] = inv_std * (static_cast<double>(of_q[c]) * gamma[c] - sum - xhat * sum_of_x);
      }
    }
  }
};

template <class Found>
void expect_near(Found const& found, std::vector<double> const& expected, std::string const& about) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    // NaN is wrong, too. Rows of equal elements have an inverse deviation of 30.
    if (!(std::abs(found[i] - expected[i]) <= 2e-3 * (1 + std::abs(expected[i])))) ++wrong;
  }
  EXPECT_EQ(wrong, 0U) << about;
}

template <int N, int Packs>
void expect_rows_in_any_order(std::size_t rows, std::size_t cols, int threads) {
  using Kernel = kernels::detail::GradientRows<AdversarialSpace, float, 4, N, Packs>;
  Expected const expected(rows, cols);
  kernels::Chunks const chunks = kernels::split(rows, static_cast<std::size_t>(threads), 3);
  std::size_t const sum_rows = static_cast<std::size_t>(chunks.count) * static_cast<std::size_t>(threads);
  AdversarialTeam team(threads);
  for (Order const order : all_orders) {
    for (bool const adds : {false, true}) {  // to dgamma and dbeta
      GuardedArray<float> dx(rows * cols);
      GuardedArray<float> ln(rows * cols);
      GuardedArray<float> sums(2 * sum_rows * cols);
      std::vector<float> added(2 * cols);
      kernels::detail::RowArrays<float> const of{.x = expected.x.data(),
                                                 .q = expected.q.data(),
                                                 .gamma = expected.gamma.data(),
                                                 .beta = expected.beta.data(),
                                                 .dx = dx.last(rows * cols),
                                                 .ln = ln.last(rows * cols),
                                                 .sums = sums.last(2 * sum_rows * cols),
                                                 .dgamma = adds ? added.data() : nullptr,
                                                 .dbeta = adds ? added.data() + cols : nullptr};
      std::fill_n(of.sums, 2 * sum_rows * cols, std::numeric_limits<float>::quiet_NaN());
      Kernel const kernel{of, cols, static_cast<float>(eps), chunks};
      auto const error = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
        for (int rank = 0; rank < chunks.count; ++rank) kernel(LeagueMember(member, rank, nullptr, 0, chunks.count));
      });
      std::string const about = std::to_string(rows) + " x " + std::to_string(cols) + ", packs of " +
                                std::to_string(N) + ", " + std::to_string(threads) + " threads, " + name_of(order) +
                                (adds ? ", added" : "");
      ASSERT_EQ(error.value_or(""), "") << about;
      std::vector<double> found(added.begin(), added.end());  // dgamma, then dbeta
      for (std::size_t t = 0; t < sum_rows && !adds; ++t) {
        for (std::size_t c = 0; c < 2 * cols; ++c) found[c] += of.sums[2 * t * cols + c];
      }
      expect_near(of.dx, expected.dx, "dx of " + about);
      expect_near(of.ln, expected.ln, "ln of " + about);
      expect_near(found.data(), expected.dgamma, "dgamma of " + about);
      expect_near(found.data() + cols, expected.dbeta, "dbeta of " + about);
      EXPECT_TRUE(dx.untouched() && ln.untouched() && sums.untouched()) << about;
    }
  }
}

TEST(LayerNormBackwardKernel, InAnyOrder) {
  for (int const threads : {1, 3}) {
    for (std::size_t const rows : {1, 7, 50}) {
      for (std::size_t const cols : {2, 6, 16, 18, 40}) expect_rows_in_any_order<2, 2>(rows, cols, threads);
      for (std::size_t const cols : {1, 11, 12, 13, 30}) expect_rows_in_any_order<1, 3>(rows, cols, threads);
    }
  }
}

// On a GPU, 12 threads share the rows of 2048 elements if they are aligned for packs, otherwise 8. The sums of the
// other 4, from the call before, must not be added. On a host, the threads are the same.
TEST(LayerNormBackward, OfViewsOfOtherAlignment) {
  for_each_type(EnabledSpaces{}, []<class Exec>() {
    using Memory = typename Exec::memory_space;
    using Matrix = Kokkos::View<float**, Kokkos::LayoutRight, Memory, Kokkos::MemoryUnmanaged>;
    Exec const exec;
    for (std::size_t const cols : {4, 2048}) {
      std::size_t const rows = 200;
      Expected const expected(rows, cols);
      Kokkos::View<float*, Memory> const x("x", rows * cols + 1);
      Kokkos::View<float*, Memory> const q("q", rows * cols + 1);
      Kokkos::View<float*, Memory> const dx("dx", rows * cols + 1);
      Kokkos::View<float*, Memory> const gamma("gamma", cols);
      Kokkos::View<float*, Memory> const dgamma("dgamma", cols);
      Kokkos::View<float*, Memory> const dbeta("dbeta", cols);
      auto const fill = [](auto const& to, std::vector<float> const& from, std::size_t begin) {
        Kokkos::View<float const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> const all(from.data(), from.size());
        Kokkos::deep_copy(Kokkos::subview(to, std::pair(begin, begin + from.size())), all);
      };
      fill(gamma, expected.gamma, 0);
      kernels::LayerNormBackward<Exec, float> const backward(exec, rows, cols, eps);
      for (std::size_t const begin : {0, 1, 0}) {
        fill(x, expected.x, begin);
        fill(q, expected.q, begin);
        backward(exec, Matrix(x.data() + begin, rows, cols), gamma, Matrix(q.data() + begin, rows, cols),
                 Matrix(dx.data() + begin, rows, cols), dgamma, dbeta);
        exec.fence();
        auto const found_gamma = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), dgamma);
        auto const found_beta = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), dbeta);
        std::string const about = std::to_string(cols) + " columns from element " + std::to_string(begin) + " on";
        expect_near(found_gamma.data(), expected.dgamma, "dgamma of " + about);
        expect_near(found_beta.data(), expected.dbeta, "dbeta of " + about);
      }
    }
  });
}

}  // namespace
}  // namespace tessera::test
