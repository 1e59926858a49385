#pragma once
/// \file
/// The sums of OrderedReduction (ranks/ordered_reduction.hpp) for arrays in the memory of an execution space, by the
/// run's transport. Each rank gets the other ranks' values for its block (RowsToOwners), adds them in the order of the
/// ranks, and gives the sums to all ranks (AllGatherRows).
///
/// Example, 1 2 3 | 10 20 30 | 100 200 300 on three ranks: rank 1 gets 2 and 200 and adds 2 + 20 + 200; all get 111 222
/// 333.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

#include <tessera/collective/accumulator.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/ranks/all_gather_rows.hpp>
#include <tessera/ranks/rows_to_owners.hpp>

namespace tessera::ranks {

namespace detail {

/// Enqueues sums[i] = parts[0, i] + parts[1, i] + ... for n elements; `parts` is [count, n].
template <ExecutionSpace Exec, class T>
void sum_in_order(std::string const& label, Exec const& exec, T const* parts, int count, std::size_t n, T* sums) {
  using Sum = collective::Accumulator<T>;
  Kokkos::parallel_for(
      label, over(exec, n), KOKKOS_LAMBDA(std::size_t i) {
        Sum sum = static_cast<Sum>(parts[i]);
        for (int r = 1; r < count; ++r) sum += static_cast<Sum>(parts[static_cast<std::size_t>(r) * n + i]);
        sums[i] = static_cast<T>(sum);
      });
}

}  // namespace detail

/// The constructor allocates two arrays of n elements, and one array of the rank's block. Must be constructed and
/// called by all ranks.
template <ExecutionSpace Exec, Summable T>
class OrderedAllReduce {
  using Memory = typename Exec::memory_space;

 public:
  OrderedAllReduce(Exec const& exec, Ranks const& ranks, std::size_t n, std::string const& label)
      : label_(label + "::sum_over_ranks"),
        count_(ranks.count()),
        own_(ranks.block(n).size()),
        given_(unset(label + "::given"), n),
        parts_(unset(label + "::parts"), static_cast<std::size_t>(count_) * own_),
        sums_(unset(label + "::sums"), own_),
        to_owners_(exec, ranks, n, {{given_.data(), parts_.data(), 1}}, label),
        to_all_(exec, ranks, n, 1, label) {}

  /// `values` [n], in memory of Exec: on entry the rank's values, on return the sums. Integers wrap. Count - 1
  /// additions per element.
  void operator()(Exec const& exec, T* values) {
    auto const all = unmanaged<Memory>(values, given_.size());
    Kokkos::deep_copy(exec, given_, all);
    to_owners_(exec);
    detail::sum_in_order<Exec, T>(label_, exec, parts_.data(), count_, own_, sums_.data());
    to_all_(exec, sums_.data());
    Kokkos::deep_copy(exec, all, unmanaged<Memory>(to_all_.all().data(), given_.size()));
  }

 private:
  std::string label_;
  int count_;
  std::size_t own_;  // elements of the rank's block
  Array<T*, Memory> given_;
  Array<T*, Memory> parts_;  // each rank's values for the block
  Array<T*, Memory> sums_;
  RowsToOwners<Exec, T> to_owners_;
  AllGatherRows<Exec, T> to_all_;
};

}  // namespace tessera::ranks
