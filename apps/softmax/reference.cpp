/// \file
/// The serial oracle of softmax: for each group the maximum, then the sum of exponentials, then the quotients, in
/// double (double runs: sums in twice double precision).
///
/// Error bound. With d_i = x_i - max, e_i = exp(d_i) and S = sum e_j, y_i = e_i / S. In floating point, with u the unit
/// roundoff (Higham, Accuracy and Stability of Numerical Algorithms, 3.1 and 4.2):
/// - d_i is rounded: a relative error of u, so that e_i is off by |d_i| u, relatively; the exponential itself is taken
///   to be right within 2 units in the last place, 4 u;
/// - the same of each e_j in S: together at most sum_j e_j (|d_j| + 4) u, that is (mean |d| + 4) u relatively, with the
///   mean weighted by e_j;
/// - the quotient: 1 u, or 2 u as a product with 1 / S; a running maximum's last product 1 u.
/// These do not depend on the order of anything, and make up the offset: u y_i (|d_i| + mean |d| + 12). Where sums of
/// parts are brought to a common maximum, each of those exponentials has an argument of its own, but on the way from an
/// element to the result these arguments add up to d_j: what they cost is the mean |d| above.
/// - the additions of S, and the exponentials and products that bring parts to a common maximum: a chain of k
///   roundings, the variant's, ((1 + u)^k - 1) y_i. So the scale is y_i.
/// - below the normal range an exponential loses up to half a denormal, twice with its product: S is at least 1, so the
///   results are off by that, and S by nothing that counts. 8 denormals in the offset.
/// The reference's own rounding in double is of no account beside float; beside double the same analysis holds for it,
/// with the exact sum: |d| is rounded once more, which d's rest (two-sum) takes back, and 6 u are added.
///
/// Exact sums. Where every other element is so far below the maximum that the exponentials of all of them sum up to
/// less than 2^-24 of half an ulp of 1, and the maximum occurs m times, m a number of the dtype, every sum is m: a
/// partial sum that holds a 1 is a whole number, nothing but ones changes it, and one that holds none is absorbed (the
/// 2^-24 leave room for its own errors, and for those of a common maximum that it is brought to). Then no chain counts
/// (scale 0), nor the errors of other elements' exponentials: the offset is u y_i (|d_i| + 12), and for the maximum,
/// whose exponential is exactly 1, that of the quotient alone: 3 u y_i.
///
/// A group with a NaN or +infinity, and one of nothing but -infinities (whose maximum is -infinity), is NaN everywhere,
/// as in SciPy: infinity - infinity is in its sum. -infinity among finite elements gives 0.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/exponential.hpp>
#include <tessera/verify/joined.hpp>

namespace tessera::softmax {

/// A sum with the members of verify::ExactSum.
struct PlainSum {
  double sum = 0;
  void add(double value) { sum += value; }
  void merge(PlainSum const& other) { sum += other.sum; }
  [[nodiscard]] double value() const { return sum; }
};

/// What is known of a group while its elements pass by; a double run's sum is exact.
template <class T>
struct GroupSums {
  double max = -std::numeric_limits<double>::infinity();
  bool has_nan = false;
  std::conditional_t<std::is_same_v<T, double>, verify::ExactSum, PlainSum> sum;
  double weighted = 0;  // sum e_j |d_j|
  double ones = 0;      // elements that are the maximum
  double rest = 0;      // sum of the others' e_j

  void see(double x) {
    has_nan = has_nan || std::isnan(x);
    max = std::max(max, x);
  }

  [[nodiscard]] bool is_finite() const { return !has_nan && std::isfinite(max); }

  /// `e` is exp(x - max).
  void add(double x, double e) {
    sum.add(e);
    if (e > 0) weighted += e * (max - x);
    if (x == max) {
      ++ones;
    } else {
      rest += e;
    }
  }

  /// What other ranks have seen of the group, before anything is added.
  void see(GroupSums const& other) {
    has_nan = has_nan || other.has_nan;
    max = std::max(max, other.max);
  }
  void forget_sums() {
    sum = {};
    weighted = ones = rest = 0;
  }
  /// And what they have added, relative to the same maximum.
  void add(GroupSums const& other) {
    sum.merge(other.sum);
    weighted += other.weighted;
    ones += other.ones;
    rest += other.rest;
  }

  /// See above.
  [[nodiscard]] bool is_exact() const {
    double const unit = unit_roundoff(dtype_of<T>);
    return ones * unit <= 1 && rest <= 0x1p-24 * unit;
  }
};

namespace {

// Elements whose exponentials are computed together.
constexpr std::size_t most_together = 256;
using Exponentials = std::array<double, most_together>;

// Consecutive elements: all of one group (step 0), or each of the group behind the one before (step 1).
template <class T>
struct Run {
  GroupSums<T>* group;
  std::size_t step;
  T const* x;
  std::size_t count;

  [[nodiscard]] GroupSums<T>& group_of(std::size_t k) const { return group[k * step]; }

  // exp(x - max) of each; of doubles with what the difference loses.
  void exponentials(Exponentials& to) const {
    if constexpr (std::is_same_v<T, double>) {
      for (std::size_t k = 0; k < count; ++k) {
        double const max = group_of(k).max;
        double const d = x[k] - max;
        double const back = d - x[k];
        double const lost = (x[k] - (d - back)) - (max + back);
        to[k] = std::exp(d) * (std::isfinite(lost) ? 1 + lost : 1);
      }
    } else {
      for (std::size_t k = 0; k < count; ++k) to[k] = static_cast<double>(x[k]) - group_of(k).max;
      for (std::size_t k = 0; k < count; ++k) to[k] = verify::exponential_of_negative(to[k]);
    }
  }
};

// Of rows whose groups may go on elsewhere: `seen(groups)` is called when all maxima of these rows are found, and
// `added(groups)` when all exponentials are added.
template <class T, class Seen, class Added>
std::vector<ExpectedField> of_rows(Softmax::Input<T, Kokkos::HostSpace> const& input, Seen const& seen,
                                   Added const& added) {
  std::size_t const rows = input.x.extent(0);
  std::size_t const cols = input.x.extent(1);
  std::size_t const n = rows * cols;
  Axis const axis = input.parameters.axis;
  std::vector<GroupSums<T>> groups(axis == Axis::all ? 1 : axis == Axis::rows ? rows : cols);
  // Parts that have nothing to do with each other are serial loops, several of which run side by side: rows, columns,
  // or some elements of the one group, each with what is known of it alone.
  std::size_t const lines = axis == Axis::all ? n : axis == Axis::rows ? rows : cols;
  std::size_t const in_line = axis == Axis::all ? 1 : axis == Axis::rows ? cols : rows;
  std::size_t const together =
      axis == Axis::cols ? 64 : blocks_in(1 << 16, std::max<std::size_t>(1, in_line));  // columns: whole cache lines
  auto const for_each_part = [&](auto const& body) { for_blocks(lines, together, body); };
  // Row by row whatever the axis: as memory likes it.
  auto const for_each_run = [&](std::size_t begin, std::size_t end, auto const& body) {
    auto const runs = [&](GroupSums<T>* group, std::size_t step, std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; i += most_together) {
        body(Run<T>{group + step * (i - from), step, input.x.data() + i, std::min(most_together, to - i)}, i);
      }
    };
    if (axis == Axis::cols) {
      for (std::size_t row = 0; row < rows; ++row) runs(&groups[begin], 1, row * cols + begin, row * cols + end);
    } else if (axis == Axis::rows) {
      for (std::size_t row = begin; row < end; ++row) runs(&groups[row], 0, row * cols, (row + 1) * cols);
    } else {
      runs(groups.data(), 0, begin, end);
    }
  };
  // Of one group: each part by itself, then together, in their order.
  auto const gather = [&](auto const& one, auto const& together_with) {
    if (axis != Axis::all) {
      for_each_part([&](std::size_t, std::size_t begin, std::size_t end) {
        for_each_run(begin, end, [&](Run<T> const& run, std::size_t) { one(run); });
      });
      return;
    }
    std::vector<GroupSums<T>> parts(blocks_in(lines, together), groups[0]);
    for_each_part([&](std::size_t part, std::size_t begin, std::size_t end) {
      GroupSums<T> own = parts[part];  // not in the vector, whose cache lines threads share
      for_each_run(begin, end, [&](Run<T> run, std::size_t) {
        run.group = &own;
        one(run);
      });
      parts[part] = own;
    });
    for (GroupSums<T> const& part : parts) together_with(groups[0], part);
  };

  constexpr double u = unit_roundoff(dtype_of<T>);
  constexpr double own_error = std::is_same_v<T, double> ? 6 : 0;
  constexpr double denormals = 8 * static_cast<double>(std::numeric_limits<T>::denorm_min());
  gather(
      [](Run<T> const& run) {
        for (std::size_t k = 0; k < run.count; ++k) run.group_of(k).see(static_cast<double>(run.x[k]));
      },
      [](GroupSums<T>& group, GroupSums<T> const& part) { group.see(part); });
  seen(groups);
  gather(
      [](Run<T> const& run) {
        Exponentials e;  // NOLINT(cppcoreguidelines-pro-type-member-init): as many as there are elements are set
        run.exponentials(e);
        for (std::size_t k = 0; k < run.count; ++k) run.group_of(k).add(static_cast<double>(run.x[k]), e[k]);
      },
      [](GroupSums<T>& group, GroupSums<T> const& part) { group.add(part); });
  added(groups);
  bool const all_exact =
      std::ranges::all_of(groups, [](GroupSums<T> const& group) { return !group.is_finite() || group.is_exact(); });
  BoundedElements<T> y("y", {rows, cols}, !all_exact);
  auto const finish = [&](GroupSums<T> const& group, double x, double e, std::size_t i) {
    if (!group.is_finite()) return y.set(i, {.value = std::numeric_limits<double>::quiet_NaN()});
    double const total = group.sum.value();
    double const value = e / total;
    double const distance = value > 0 ? group.max - x : 0;
    bool const is_exact = group.is_exact();
    double const errors = !is_exact ? distance + group.weighted / total + 12 : x == group.max ? 3 : distance + 12;
    // The value comes last: its product with u alone may be below the smallest number.
    y.set(i, {value, is_exact ? 0 : value, u * (errors + own_error) * value + denormals});
  };
  for_each_part([&](std::size_t, std::size_t begin, std::size_t end) {
    for_each_run(begin, end, [&](Run<T> const& run, std::size_t i) {
      Exponentials e;  // NOLINT(cppcoreguidelines-pro-type-member-init)
      run.exponentials(e);
      for (std::size_t k = 0; k < run.count; ++k) {
        finish(run.group_of(k), static_cast<double>(run.x[k]), e[k], i + k);
      }
    });
  });
  ExpectedField field = y.take();
  field.each_sees_all = axis == Axis::all;
  return list_of(std::move(field));
}

}  // namespace

template <class T>
std::vector<ExpectedField> Softmax::reference(Input<T, Kokkos::HostSpace> const& input) {
  auto const nothing = [](std::vector<GroupSums<T>>&) {};
  return of_rows(input, nothing, nothing);
}

template <class T>
std::vector<ExpectedField> Softmax::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                      ranks::Part const& part) {
  if (input.parameters.axis == Axis::rows) return reference<T>(input);
  using Groups = std::vector<GroupSums<T>>;
  return of_rows(
      input,
      [&](Groups& groups) {
        for (Groups const& of_rank : part.ranks.all_gather(groups)) {
          for (std::size_t g = 0; g < groups.size(); ++g) groups[g].see(of_rank[g]);
        }
      },
      [&](Groups& groups) {
        std::vector<Groups> const all = part.ranks.all_gather(groups);
        for (GroupSums<T>& group : groups) group.forget_sums();
        for (Groups const& of_rank : all) {
          for (std::size_t g = 0; g < groups.size(); ++g) groups[g].add(of_rank[g]);
        }
      });
}

}  // namespace tessera::softmax

template struct tessera::References<tessera::softmax::Softmax>;
