#pragma once
/// \file
/// An all-reduce of arrays in host memory, element by element, that applies the operator in the order of the ranks. The
/// result has the same bits on all ranks and in every run, which MPI's reductions do not guarantee. Each rank reduces
/// its block of the arrays, then gives it to the others. A rank sends and receives 2 n (R - 1) / R elements, the
/// minimum for an all-reduce.
///
/// Example, 1 2 3 | 10 20 30 | 100 200 300 on three ranks: rank 1 gets 2 and 200 and adds 2 + 20 + 200; all get 111 222
/// 333.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include <tessera/collective/operators.hpp>
#include <tessera/ranks/ranks.hpp>

namespace tessera::ranks {

/// The constructor allocates host memory for n elements, and for the other ranks' values of its block. reduce() must be
/// called by all ranks. T must be trivially copyable.
template <class T, collective::OperatorOn<T> Op = collective::Sum<T>>
class OrderedReduction {
 public:
  OrderedReduction(Ranks const& ranks, std::size_t n)
      : ranks_(ranks), own_(ranks.block(n)), values_("tessera::ranks::values", n) {
    auto const count = static_cast<std::size_t>(ranks.count());
    parts_ = Values("tessera::ranks::parts", count > 1 ? count * own_.size() : 0);
    for (int r = 0; r < ranks.count(); ++r) {
      if (r == ranks.rank()) continue;
      Block const of_rank = block_of(n, ranks.count(), r);
      Message const theirs{r, values_.data() + of_rank.begin, of_rank.size() * sizeof(T)};
      add(given_, theirs);
      add(got_, {r, part(r), own_.size() * sizeof(T)});
      add(told_, {r, values_.data() + own_.begin, own_.size() * sizeof(T)});
      add(heard_, theirs);
    }
  }

  /// Returns the n elements: the rank's values before reduce(), the results afterwards.
  [[nodiscard]] std::span<T> values() const { return {values_.data(), values_.extent(0)}; }

  /// Applies the operator, ranks - 1 times per element.
  void reduce() const {
    if (ranks_.count() == 1) return;
    ranks_.exchange(given_, got_);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      T& value = values_(own_.begin + i);
      part(ranks_.rank())[i] = value;
      T all = part(0)[i];
      for (int r = 1; r < ranks_.count(); ++r) all = Op{}(all, part(r)[i]);
      value = all;
    }
    ranks_.exchange(told_, heard_);
  }

 private:
  using Values = Kokkos::View<T*, Kokkos::HostSpace>;

  // Returns that rank's values for this rank's block.
  [[nodiscard]] T* part(int rank) const { return parts_.data() + static_cast<std::size_t>(rank) * own_.size(); }
  static void add(std::vector<Message>& messages, Message const& message) {
    if (message.bytes > 0) messages.push_back(message);
  }

  Ranks const& ranks_;
  Block own_;
  Values values_;
  Values parts_;  // [ranks, own_]
  std::vector<Message> given_;
  std::vector<Message> got_;
  std::vector<Message> told_;
  std::vector<Message> heard_;
};

}  // namespace tessera::ranks
