#pragma once
/// \file
/// From the replicates' sums to the estimate and its standard error, and the base of Plans that do so. Their note is
/// the error in standard errors (sigma), the most that passes, the standard error, and the probability of a false
/// alarm.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>

#include "problem.hpp"

#include <tessera/core/unroll.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::monte_carlo {

/// The replicates' sums in memory of the space: of one rank [32], or of all ranks [ranks, 32], which are added.
struct StoredSums {
  std::int64_t const* of_ranks;
  int ranks = 1;

  /// One pass per rank, so that its 32 loads are in flight at the same time.
  KOKKOS_FUNCTION void add_to(std::int64_t (&sums)[replicates]) const {
    for (int rank = 0; rank < ranks; ++rank) {
      TESSERA_UNROLL
      for (std::size_t r = 0; r < replicates; ++r) sums[r] += of_ranks[static_cast<std::size_t>(rank) * replicates + r];
    }
  }
};

/// The replicates' sums as an argument of the kernel: from memory of the host it would read each for a microsecond.
struct GivenSums {
  std::int64_t of[replicates];

  KOKKOS_FUNCTION void add_to(std::int64_t (&sums)[replicates]) const {
    for (std::size_t r = 0; r < replicates; ++r) sums[r] += of[r];
  }
};

/// With c_r of n points and the mean m_r in replicate r: the estimate is the mean m over all points, and the standard
/// error is sqrt(sum c_r / n (m_r - m)^2 / 31). In double, in one fixed order.
template <class T, class Memory, class Sums>
struct Finish {
  Array<std::int64_t*, Memory> out;
  Array<T, Memory> estimate;
  Array<T, Memory> standard_error;
  std::uint64_t n;
  double unit;  ///< the value of 1 in a sum
  Sums from;

  KOKKOS_FUNCTION void operator()(int) const {
    std::int64_t sums[replicates] = {};
    from.add_to(sums);
    std::int64_t total = 0;
    for (std::size_t r = 0; r < replicates; ++r) {
      out(r) = sums[r];
      total += sums[r];
    }
    double const points = static_cast<double>(n);
    double const mean = static_cast<double>(total) / points;  // NaN without points
    double squares = n == 0 ? mean : 0;
    for (std::size_t r = 0; r < replicates; ++r) {
      auto const own = static_cast<double>(n / replicates + (r < n % replicates ? 1 : 0));
      if (own == 0) continue;
      double const off = static_cast<double>(sums[r]) / own - mean;
      squares += own / points * off * off;
    }
    estimate() = static_cast<T>(mean * unit);
    standard_error() = static_cast<T>(Kokkos::sqrt(squares / (replicates - 1)) * unit);
  }
};

/// Enqueues the last step, and says in the note what came out.
template <ExecutionSpace Exec, class T>
class EstimatePlan {
  using Memory = typename Exec::memory_space;

 public:
  explicit EstimatePlan(Parameters const& parameters, std::string label)
      : parameters_(parameters), label_(std::move(label)) {}

  /// Enqueues estimate and standard error from output.sums.
  void finish(Exec const& exec, OutputOn<MonteCarlo, Exec, T> const& output) {
    finish(exec, output, StoredSums{output.sums.data()});
  }
  /// The same from other sums, which also become output.sums.
  template <class Sums>
  void finish(Exec const& exec, OutputOn<MonteCarlo, Exec, T> const& output, Sums const& sums) {
    Kokkos::parallel_for(
        label_ + "::finish", over<int>(exec, 1),
        Finish<T, Memory, Sums>{output.sums, output.estimate, output.standard_error, parameters_.count, unit(), sums});
    last_ = output;
  }

  [[nodiscard]] std::string note() const {
    if (!last_) return {};
    T standard_error = 0;
    Kokkos::deep_copy(standard_error, last_->standard_error);
    auto const error = static_cast<double>(standard_error);
    if (!(error > 0)) return parameters_.count == 0 ? "no points" : "no spread";
    // From the sums, as the reference does: a float may round the estimate by more than the standard error.
    auto const sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, last_->sums);
    auto const total = static_cast<double>(std::accumulate(sums.data(), sums.data() + replicates, std::int64_t{0}));
    double const off = total / static_cast<double>(parameters_.count) * unit() - exact_value<T>(parameters_);
    char text[96];
    if (is_judged(parameters_)) {
      (void)std::snprintf(text, sizeof text, "%+.1f of %.3g sigma (%.0e), p<%.0e", off / error,
                          most_standard_errors + most_bias<T>(parameters_) / error, error, false_alarms);
    } else {
      (void)std::snprintf(text, sizeof text, "%+.1f sigma (%.0e)", off / error, error);
    }
    return text;
  }

 protected:
  [[nodiscard]] Parameters const& parameters() const { return parameters_; }
  [[nodiscard]] std::string const& label() const { return label_; }

 private:
  /// The value of 1 in a sum.
  [[nodiscard]] double unit() const {
    return std::ldexp(parameters_.quantity == Quantity::call ? parameters_.spot : 1, -digits_of(parameters_));
  }

  Parameters parameters_;
  std::string label_;
  std::optional<OutputOn<MonteCarlo, Exec, T>> last_;
};

}  // namespace tessera::monte_carlo
