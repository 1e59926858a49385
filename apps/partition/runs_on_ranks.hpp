#pragma once
/// \file
/// Splits each rank's block into runs, which go to the ranks that own their places (ranks/runs_to_places.hpp).

#include <cstddef>
#include <cstdint>
#include <string>

#include "predicate.hpp"
#include "problem.hpp"

#include <tessera/ranks/runs_to_places.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::partition {

/// \tparam Split a kernel constructed from (exec, n, predicate, tile, team, label)
/// \tparam runs 1: only the left elements go to their places; 2: also the right elements
template <ExecutionSpace Exec, class T, class Split, std::size_t runs>
class RunsOnRanks {
 public:
  /// \param label name of the variant
  RunsOnRanks(Exec const& exec, InputOn<Partition, Exec, T> const& input, ranks::Part const& part,
              std::string const& label)
      : ranks_(part.ranks),
        own_(part.ranks.block(part.input[0][0])),
        split_(exec, own_.size(), LessThanPivot<T>(input.parameters.pivot), input.parameters.tile,
               input.parameters.team, label),
        values_(unset(label + "::values"), alone() ? 0 : own_.size()),
        to_places_(exec, part.ranks, part.input[0][0], own_.size(), label),
        own_lefts_(label + "::own_lefts") {}

  void operator()(Exec const& exec, InputOn<Partition, Exec, T> const& input,
                  OutputOn<Partition, Exec, T> const& output) {
    if (output.left_count.extent(0) == 0) return;  // no elements and no segments on any rank
    auto const count = Kokkos::subview(output.left_count, 0);
    if (alone()) return split_(exec, input.in, output.values, count);
    split_(exec, input.in, values_, count);
    Kokkos::deep_copy(exec, own_lefts_, count);
    exec.fence("tessera::partition: own lefts");
    auto const lefts = static_cast<std::size_t>(own_lefts_());
    typename Places::Lengths lengths{lefts};
    if constexpr (runs == 2) lengths[1] = own_.size() - lefts;
    to_places_(exec, lengths, values_.data(), output.values.data());
    Kokkos::deep_copy(exec, count, static_cast<std::int64_t>(to_places_.length(0)));
  }

  [[nodiscard]] std::string note() const { return split_.note(); }

 protected:
  ranks::Ranks const& ranks_;
  ranks::Block own_;

 private:
  using Places = ranks::RunsToPlaces<Exec, T, runs>;
  [[nodiscard]] bool alone() const { return ranks_.count() == 1; }

  Split split_;
  Array<T*, typename Exec::memory_space> values_;  // this rank's elements, left elements first
  Places to_places_;
  Kokkos::View<std::int64_t, Kokkos::HostSpace> own_lefts_;
};

}  // namespace tessera::partition
