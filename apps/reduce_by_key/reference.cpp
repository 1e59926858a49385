/// \file
/// The serial oracle of reduce_by_key: a loop over the elements of a part counts its heads, and a second one folds its
/// runs. A run that lies in several parts gets their folds in order. On several ranks each folds its own elements; the
/// rank on which a run begins adds what the ranks behind it have of it, and sends the result to the rank of its place.
///
/// Keys are moved: each run has the key of its first element. Lengths, counts, maxima and minima are exact; a NaN makes
/// maxima and minima NaN. Sums have the bound of
/// axis_sum: scale 0 if every partial sum is exact in any order (verify/grid.hpp), otherwise the sum of magnitudes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/joined.hpp>
#include <tessera/verify/moved_keys.hpp>
#include <tessera/verify/sum_oracle.hpp>

namespace tessera::reduce_by_key {

using collective::OperatorKind;

// Not in an anonymous namespace: lambdas capture these, and g++ warns of that in units of joined files.

// What is known of the elements of a run so far.
template <class T>
class RunOracle {
 public:
  RunOracle() = default;
  explicit RunOracle(Parameters const& parameters) : mode_(parameters.mode), op_(parameters.op) {}

  void add(T const* values, std::size_t count) {
    length_ += count;
    if (mode_ != Mode::reduce) return;
    if (op_ == OperatorKind::sum) return sum_.add(values, count);
    for (std::size_t i = 0; i < count; ++i) take(static_cast<double>(values[i]));
  }
  /// Adds later elements of the run.
  void merge(RunOracle const& later) {
    sum_.merge(later.sum_);
    if (op_ != OperatorKind::sum && later.length_ > 0) take(later.extreme_);
    length_ += later.length_;
  }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] verify::SumOracle<T> const& sum() const { return sum_; }
  [[nodiscard]] double extreme() const { return extreme_; }

 private:
  void take(double value) {
    double const with = op_ == OperatorKind::max ? std::max(extreme_, value) : std::min(extreme_, value);
    bool const has_nan = std::isnan(extreme_) || std::isnan(value);
    extreme_ = is_empty_ ? value : has_nan ? std::numeric_limits<double>::quiet_NaN() : with;
    is_empty_ = false;
  }

  Mode mode_{};
  OperatorKind op_{};
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

// The sums of the runs in one part.
struct SumFacts {
  double grid = std::numeric_limits<double>::infinity();
  bool all_exact = true;
  std::size_t longest = 0;

  void merge(SumFacts const& other) {
    grid = std::min(grid, other.grid);
    all_exact = all_exact && other.all_exact;
    longest = std::max(longest, other.longest);
  }
};

// Returns n elements: `of_runs`, and zeros behind them, where no row writes. All cores touch the memory.
template <class T>
std::shared_ptr<T> padded(std::vector<T> const& of_runs, std::size_t n) {
  std::shared_ptr<T[]> const all(new T[n]);
  for_blocks(n, part_elements(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) all[i] = i < of_runs.size() ? of_runs[i] : T(0);
  });
  return {all, all.get()};
}
// The same as a field of numbers that T holds.
template <class T>
ExpectedField padded_moved(std::string const& name, std::vector<double> const& of_runs, std::size_t n) {
  MovedElements<T> all(name, {n});
  for_blocks(n, part_elements(), [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) all.set(i, i < of_runs.size() ? static_cast<T>(of_runs[i]) : T(0));
  });
  return all.take();
}

// The runs of a rank's elements.
template <class K>
struct OwnRuns {
  using T = ValueOf<K>;
  std::size_t count = 0;  // of the runs that begin on the rank
  std::vector<K> unique;  // these in the order of the runs
  std::vector<double> values;
  std::vector<double> scales;
  std::vector<double> lengths;
  RunOracle<T> lead;  // the elements before them
  RunOracle<T> last;  // the last of them, which may go on behind these elements: not stored yet
  SumFacts facts;

  OwnRuns(std::size_t runs, Mode mode)
      : count(runs),
        unique(runs),
        values(mode == Mode::reduce ? runs : 0),
        scales(values.size()),
        lengths(mode == Mode::lengths ? runs : 0) {}

  // Stores the result of a run.
  void store(SumFacts& facts_of_part, Parameters const& parameters, std::size_t number, RunOracle<T> const& run) {
    facts_of_part.longest = std::max(facts_of_part.longest, run.length());
    if (parameters.mode == Mode::lengths) lengths[number] = static_cast<double>(run.length());
    if (parameters.mode != Mode::reduce) return;
    if (parameters.op != OperatorKind::sum) {
      values[number] = run.extreme();
      return;
    }
    bool const exact = run.sum().is_exact();
    values[number] = run.sum().value();
    scales[number] = exact ? 0 : run.sum().scale();
    facts_of_part.grid = std::min(facts_of_part.grid, run.sum().spacing());
    facts_of_part.all_exact = facts_of_part.all_exact && exact;
  }

  // Returns the expected fields, of n elements. `all`: the facts of all ranks; `runs`: their runs.
  [[nodiscard]] std::vector<ExpectedField> fields(SumFacts const& all, Parameters const& parameters, std::size_t runs,
                                                  std::size_t n) const {
    std::size_t const of_sums = parameters.mode == Mode::reduce ? n : 0;
    ExpectedField sums = padded_moved<T>("sums", values, of_sums);
    if (!all.all_exact) {
      sums = {.name = "sums", .shape = {of_sums}, .value = zeros(of_sums), .scale = zeros(of_sums)};
      std::ranges::copy(values, sums.value.begin());
      std::ranges::copy(scales, sums.scale.begin());
    }
    if (parameters.op == OperatorKind::sum) sums.grid = all.grid;
    sums.terms = static_cast<double>(all.longest);
    ExpectedField of_count{.name = "count", .shape = {}, .value = {static_cast<double>(runs)}, .scale = {}};
    return list_of(verify::moved("unique_keys", padded(unique, n), n), std::move(sums),
                   padded_moved<double>("lengths", lengths, parameters.mode == Mode::lengths ? n : 0),
                   std::move(of_count));
  }
};

// `first_is_head`: a run begins at the first element.
template <class K, class Input>
OwnRuns<K> own_runs(Input const& input, bool first_is_head) {
  using T = ValueOf<K>;
  Parameters const& parameters = input.parameters;
  std::size_t const n = input.keys.extent(0);
  K const* const keys = input.keys.data();
  auto const begins = [&](std::size_t i) { return i == 0 ? first_is_head : keys[i] != keys[i - 1]; };

  std::vector<std::size_t> heads(blocks_in(n, part_elements()));
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    std::size_t own_heads = 0;  // not in the vector, whose cache lines threads share
    for (std::size_t i = begin; i < end; ++i) own_heads += begins(i) ? 1 : 0;
    heads[part] = own_heads;
  });
  std::size_t count = 0;
  for (std::size_t& of_part : heads) count += std::exchange(of_part, count);  // now: heads before the part
  OwnRuns<K> own(count, parameters.mode);
  std::vector<std::vector<OpenRun<T>>> open(heads.size());  // at most two of each part
  std::vector<SumFacts> facts(heads.size());
  for_blocks(n, part_elements(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    std::size_t next = heads[part];  // the number of the next run
    SumFacts own_facts;
    for (std::size_t i = begin; i < end;) {
      bool const begins_here = begins(i);
      if (begins_here) own.unique[next++] = keys[i];
      RunOracle<T> run(parameters);
      std::size_t const from = i;
      do ++i;
      while (i < end && keys[i] == keys[from]);
      run.add(input.values.data() + from, i - from);
      if (begins_here && i < end) {
        own.store(own_facts, parameters, next - 1, run);
      } else {
        open[part].push_back({next, run});
      }
    }
    facts[part] = own_facts;
  });
  // The open runs in order; several pieces may belong to one. Number 0 is the lead.
  OpenRun<T> current{0, RunOracle<T>(parameters)};
  own.lead = current.run;
  auto const end_current = [&] {
    if (current.number == 0) {
      own.lead = current.run;
    } else if (current.number < own.count) {
      own.store(own.facts, parameters, current.number - 1, current.run);
    }
  };
  for (std::size_t part = 0; part < open.size(); ++part) {
    own.facts.merge(facts[part]);
    for (OpenRun<T> const& one : open[part]) {
      if (one.number != current.number) {
        end_current();
        current = {one.number, RunOracle<T>(parameters)};
      }
      current.run.merge(one.run);
    }
  }
  end_current();
  own.last = current.run;
  return own;
}

template <class T>
std::vector<ExpectedField> ReduceByKey::reference(Input<T, Kokkos::HostSpace> const& input) {
  auto own = own_runs<T>(input, true);
  if (own.count > 0) own.store(own.facts, input.parameters, own.count - 1, own.last);
  return own.fields(own.facts, input.parameters, own.count, input.keys.extent(0));
}

template <class T>
std::vector<ExpectedField> ReduceByKey::reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                          ranks::Part const& part) {
  Parameters const& parameters = input.parameters;
  std::size_t const n = part.input[0][0];
  std::size_t const of_rank = input.keys.extent(0);
  auto const rank = static_cast<std::size_t>(part.ranks.rank());
  // Ranks without elements are the last ones.
  T const last_key = of_rank > 0 ? input.keys(of_rank - 1) : T(0);
  std::vector<T> const last_keys = part.ranks.all_gather(last_key);
  auto own = own_runs<T>(input, of_rank > 0 && (rank == 0 || input.keys(0) != last_keys[rank - 1]));

  struct Told {
    std::size_t count;
    RunOracle<ValueOf<T>> lead;
    SumFacts facts;
  };
  std::vector<Told> all = part.ranks.all_gather(Told{own.count, own.lead, {}});
  for (std::size_t r = rank + 1; r < all.size() && own.count > 0; ++r) {
    own.last.merge(all[r].lead);
    if (all[r].count > 0) break;
  }
  if (own.count > 0) own.store(own.facts, parameters, own.count - 1, own.last);
  all = part.ranks.all_gather(Told{own.count, own.lead, own.facts});
  SumFacts facts;
  for (Told const& of_one : all) facts.merge(of_one.facts);

  // Sends the runs of the places that another rank owns. All ranks know which runs begin where.
  std::vector<std::size_t> places{0};  // of each rank's first run
  for (Told const& of_one : all) places.push_back(places.back() + of_one.count);
  std::size_t const first_place = part.ranks.block(n).begin;
  OwnRuns<T> placed(std::min(of_rank, places.back() - std::min(places.back(), first_place)), parameters.mode);
  std::vector<ranks::Message> sent;
  std::vector<ranks::Message> received;
  auto const common = [&](std::size_t source, std::size_t owner) {
    ranks::Block const block = ranks::block_of(n, part.ranks.count(), static_cast<int>(owner));
    std::size_t const begin = std::max(places[source], block.begin);
    return ranks::Block{begin, std::max(begin, std::min(places[source + 1], block.end))};
  };
  auto const send = [&]<class Element>(std::vector<Element>& from, std::vector<Element>& to) {
    if (to.empty() && from.empty()) return;
    for (std::size_t r = 0; r < all.size(); ++r) {
      ranks::Block const out = common(rank, r);
      ranks::Block const in = common(r, rank);
      auto const other = static_cast<int>(r);
      if (out.size() > 0) sent.push_back({other, &from[out.begin - places[rank]], out.size() * sizeof(Element)});
      if (in.size() > 0) received.push_back({other, &to[in.begin - first_place], in.size() * sizeof(Element)});
    }
  };
  send(own.unique, placed.unique);
  send(own.values, placed.values);
  send(own.scales, placed.scales);
  send(own.lengths, placed.lengths);
  part.ranks.exchange(sent, received);
  return placed.fields(facts, parameters, places.back(), of_rank);
}

}  // namespace tessera::reduce_by_key

template struct tessera::References<tessera::reduce_by_key::ReduceByKey>;
