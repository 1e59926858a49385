// The kernels of the backward attention, with teams in every order of their threads, one after another in one scratch:
// against the formulas in double.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

// Must precede the kernels, which call the Kokkos functions that are declared by then.
#include "adversarial_league.hpp"

#include <tessera/kernels/multi_head_attention_backward.hpp>

#include "guarded_array.hpp"

namespace tessera::test {
namespace {

// Tiles of 16 passing rows, 2 per lane; own tiles of 4 rows per thread.
struct EightLanes {
  static constexpr int lanes = 8;
  static constexpr int rows = 4;
  static constexpr int tile_bytes = 1 << 12;
  static constexpr bool whole_teams = false;
  static constexpr int near_level = 0;
};

class WorstAttentionOrders {
  static constexpr double scale = 0.25;
  using Queries = kernels::detail::QueryGradients<AdversarialSpace, float, EightLanes, 64>;
  using Keys = kernels::detail::KeyGradients<AdversarialSpace, float, EightLanes, 64>;
  using Matrix = std::vector<float>;

 public:
  explicit WorstAttentionOrders(kernels::Heads const& heads) : heads_(heads), n_(heads.rows() * heads.cols()) {
    for (Matrix* const one : {&q_, &k_, &v_, &g_}) {
      for (std::size_t i = 0; i < n_; ++i) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        one->push_back(static_cast<float>(state_ >> 40) / static_cast<float>(1 << 23) - 1);
      }
    }
    refer();
  }

  void run(int threads) {
    auto task = kernels::detail::attention_task<float>(heads_.tokens, heads_.tokens, heads_.dim);
    task.scale = static_cast<float>(scale);
    std::size_t const numbers = heads_.rows() * heads_.heads;
    AdversarialTeam team(threads);
    for (Order const order : all_orders) {
      GuardedArray<float> dq(n_);
      GuardedArray<float> dk(n_);
      GuardedArray<float> dv(n_);
      Matrix kept(3 * numbers, std::numeric_limits<float>::quiet_NaN());
      kernels::detail::AttentionGradients<float> const of{.q = q_.data(),
                                                          .k = k_.data(),
                                                          .v = v_.data(),
                                                          .out = out_.data(),
                                                          .g = g_.data(),
                                                          .dq = dq.last(n_),
                                                          .dk = dk.last(n_),
                                                          .dv = dv.last(n_),
                                                          .largest = kept.data(),
                                                          .inverse = kept.data() + numbers,
                                                          .of_out = kept.data() + 2 * numbers};
      for (float* const one : {of.dq, of.dk, of.dv}) std::fill_n(one, n_, std::numeric_limits<float>::quiet_NaN());
      bool const aligned = heads_.dim % 4 == 0;
      launch(team, order, Queries(task, of, heads_, aligned));
      launch(team, order, Keys(task, of, heads_, aligned));
      std::string const about = std::to_string(heads_.tokens) + " tokens of " + std::to_string(heads_.dim) +
                                (heads_.causal ? ", causal, " : ", ") + std::to_string(threads) + " threads, " +
                                name_of(order);
      expect_near(of.dq, dq_, "dq of " + about);
      expect_near(of.dk, dk_, "dk of " + about);
      expect_near(of.dv, dv_, "dv of " + about);
      EXPECT_TRUE(dq.untouched() && dk.untouched() && dv.untouched()) << about;
    }
  }

 private:
  void refer() {
    std::size_t const dim = heads_.dim;
    std::size_t const cols = heads_.cols();
    out_.assign(n_, 0);
    for (std::vector<double>* const one : {&dq_, &dk_, &dv_}) one->assign(n_, 0);
    std::vector<double> p(heads_.tokens);
    for (std::size_t s = 0; s < heads_.sequences; ++s) {
      for (std::size_t h = 0; h < heads_.heads; ++h) {
        auto const at = [&](std::size_t token) { return (s * heads_.tokens + token) * cols + h * dim; };
        auto const dot = [&](Matrix const& a, std::size_t i, Matrix const& b, std::size_t j) {
          double sum = 0;
          for (std::size_t c = 0; c < dim; ++c) sum += static_cast<double>(a[i + c]) * b[j + c];
          return sum;
        };
        for (std::size_t i = 0; i < heads_.tokens; ++i) {
          std::size_t const end = heads_.causal ? i + 1 : heads_.tokens;
          double total = 0;
          for (std::size_t j = 0; j < end; ++j) total += p[j] = std::exp(scale * dot(q_, at(i), k_, at(j)));
          for (std::size_t j = 0; j < end; ++j) p[j] /= total;
          for (std::size_t c = 0; c < dim; ++c) {
            double mean = 0;
            for (std::size_t j = 0; j < end; ++j) mean += p[j] * v_[at(j) + c];
            out_[at(i) + c] = static_cast<float>(mean);
          }
          double const of_out = dot(g_, at(i), out_, at(i));
          for (std::size_t j = 0; j < end; ++j) {
            double const ds = scale * p[j] * (dot(g_, at(i), v_, at(j)) - of_out);
            for (std::size_t c = 0; c < dim; ++c) {
              dv_[at(j) + c] += p[j] * g_[at(i) + c];
              dq_[at(i) + c] += ds * k_[at(j) + c];
              dk_[at(j) + c] += ds * q_[at(i) + c];
            }
          }
        }
      }
    }
  }

  template <class Kernel>
  void launch(AdversarialTeam& team, Order order, Kernel const& kernel) const {
    using Scratch = typename Kernel::Scratch;
    int const threads = team.size();
    std::size_t const bytes = Scratch::shmem_size(Kernel::tile_packs) +
                              Scratch::shmem_size(threads * Kernel::weights_of_thread) +
                              2 * Scratch::shmem_size(threads * Kernel::rows * Kernel::packs);
    std::vector<char> scratch(bytes + 64, static_cast<char>(-1));
    int const league = Kernel::league_size(heads_, threads);
    auto const error = team.run(order, 1, [&](AdversarialTeam::Member const& member) {
      for (int rank = 0; rank < league; ++rank) {
        kernel(LeagueMember(member, rank, scratch.data(), static_cast<int>(scratch.size()), league));
      }
    });
    EXPECT_EQ(error.value_or(""), "");
  }

  static void expect_near(float const* found, std::vector<double> const& expected, std::string const& about) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (!(std::abs(found[i] - expected[i]) <= 1e-4)) ++wrong;  // NaN is wrong, too
    }
    EXPECT_EQ(wrong, 0U) << about;
  }

  kernels::Heads heads_;
  std::size_t n_;
  std::uint64_t state_ = 1;
  Matrix q_, k_, v_, g_, out_;
  std::vector<double> dq_, dk_, dv_;
};

TEST(AttentionBackwardKernels, InOneScratchInAnyOrder) {
  for (std::size_t const tokens : {1, 16, 19}) {
    for (std::size_t const dim : {3, 44}) {
      for (bool const causal : {false, true}) {
        WorstAttentionOrders orders({.sequences = 2, .tokens = tokens, .heads = 2, .dim = dim, .causal = causal});
        for (int const threads : {1, 2, 3}) orders.run(threads);
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
