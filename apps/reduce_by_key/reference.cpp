/// \file
/// The serial oracle of reduce_by_key: a loop over the elements of a part counts its heads, and a second one folds its
/// runs. A run that lies in several parts gets their folds in order.
///
/// Keys, lengths and counts are exact, and so are maxima and minima; a NaN makes them NaN. Sums have the bound of
/// axis_sum: scale 0 if every partial sum is exact in any order (verify/grid.hpp), otherwise the sum of magnitudes.

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>
#include <tessera/verify/sum_oracle.hpp>

namespace tessera::reduce_by_key {

using collective::OperatorKind;

// Not in an anonymous namespace: lambdas capture these, and g++ warns of that in units of joined files.

// What is known of the elements of a run so far.
template <class T>
class RunOracle {
 public:
  explicit RunOracle(Parameters const& parameters) : parameters_(&parameters) {}

  void add(T value) {
    ++length_;
    if (parameters_->mode != Mode::reduce) return;
    if (parameters_->op == OperatorKind::sum) return sum_.add(value);
    take(static_cast<double>(value));
  }
  /// Adds later elements of the run.
  void merge(RunOracle const& later) {
    sum_.merge(later.sum_);
    if (parameters_->op != OperatorKind::sum && later.length_ > 0) take(later.extreme_);
    length_ += later.length_;
  }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] verify::SumOracle<T> const& sum() const { return sum_; }
  [[nodiscard]] double extreme() const { return extreme_; }

 private:
  void take(double value) {
    double const with = parameters_->op == OperatorKind::max ? std::max(extreme_, value) : std::min(extreme_, value);
    bool const has_nan = std::isnan(extreme_) || std::isnan(value);
    extreme_ = is_empty_ ? value : has_nan ? std::numeric_limits<double>::quiet_NaN() : with;
    is_empty_ = false;
  }

  Parameters const* parameters_;
  verify::SumOracle<T> sum_;
  double extreme_ = 0;
  bool is_empty_ = true;
  std::size_t length_ = 0;
};

// What a part has of a run that begins before it or may go on behind it.
template <class T>
struct OpenRun {
  std::size_t number;
  RunOracle<T> run;
};

template <class T>
struct PartRuns {
  std::vector<OpenRun<T>> open;  // at most two
  double grid = std::numeric_limits<double>::infinity();
  bool all_exact = true;
  std::size_t longest = 0;
};

template <class T>
std::vector<ExpectedField> ReduceByKey::reference(Input<T, Kokkos::HostSpace> const& input) {
  Parameters const& parameters = input.parameters;
  std::size_t const n = input.keys.extent(0);
  std::int32_t const* const keys = input.keys.data();
  bool const has_sums = parameters.mode == Mode::reduce;
  bool const has_lengths = parameters.mode == Mode::lengths;
  auto const begins = [&](std::size_t i) { return i == 0 || keys[i] != keys[i - 1]; };

  std::vector<std::size_t> heads(blocks_in(n, part_elements()));
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) heads[part] += begins(i) ? 1 : 0;
  });
  std::size_t count = 0;
  for (std::size_t& of_part : heads) count += std::exchange(of_part, count);  // now: heads before the part

  ExpectedField unique = zero_field("unique_keys", {n});
  ExpectedField sums = zero_field("sums", {has_sums ? n : 0}, true);
  ExpectedField lengths = zero_field("lengths", {has_lengths ? n : 0});
  auto const store = [&](PartRuns<T>& part, std::size_t number, RunOracle<T> const& run) {
    part.longest = std::max(part.longest, run.length());
    if (has_lengths) lengths.value[number] = static_cast<double>(run.length());
    if (!has_sums) return;
    if (parameters.op != OperatorKind::sum) {
      sums.value[number] = run.extreme();
      return;
    }
    bool const exact = run.sum().is_exact();
    sums.value[number] = run.sum().value();
    sums.scale[number] = exact ? 0 : run.sum().scale();
    part.grid = std::min(part.grid, run.sum().spacing());
    part.all_exact = part.all_exact && exact;
  };
  std::vector<PartRuns<T>> parts(heads.size());
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    std::size_t next = heads[part];  // the number of the next run
    for (std::size_t i = begin; i < end;) {
      bool const begins_here = begins(i);
      if (begins_here) unique.value[next++] = keys[i];
      RunOracle<T> run(parameters);
      std::size_t const from = i;
      do {
        run.add(input.values(i++));
      } while (i < end && keys[i] == keys[from]);
      if (begins_here && (i < end || i == n)) {
        store(parts[part], next - 1, run);
      } else {
        parts[part].open.push_back({next - 1, run});
      }
    }
  });
  PartRuns<T> joined;
  std::vector<OpenRun<T>> open;
  for (PartRuns<T> const& part : parts) {
    joined.grid = std::min(joined.grid, part.grid);
    joined.all_exact = joined.all_exact && part.all_exact;
    joined.longest = std::max(joined.longest, part.longest);
    for (OpenRun<T> const& one : part.open) {
      if (open.empty() || open.back().number != one.number) {
        open.push_back(one);
      } else {
        open.back().run.merge(one.run);
      }
    }
  }
  for (OpenRun<T> const& one : open) store(joined, one.number, one.run);
  if (joined.all_exact) sums.scale.clear();
  if (parameters.op == OperatorKind::sum) sums.grid = joined.grid;
  sums.terms = static_cast<double>(joined.longest);
  ExpectedField of_count{.name = "count", .shape = {}, .value = {static_cast<double>(count)}, .scale = {}};
  return list_of(std::move(unique), std::move(sums), std::move(lengths), std::move(of_count));
}

}  // namespace tessera::reduce_by_key

template struct tessera::References<tessera::reduce_by_key::ReduceByKey>;
