#pragma once
/// \file
/// Sums of columns in chunks of rows that are put together afterwards: what columns_two_stage and columns_atomic do, with
/// the kernel that suits the execution space.

#include <cstddef>
#include <string>
#include <type_traits>

#include "column_lanes.hpp"
#include "column_tiles.hpp"
#include "problem.hpp"

#include <tessera/core/problem.hpp>

namespace tessera::axis_sum {

template <class Exec, class T>
using SpaceColumns = std::conditional_t<is_gpu<Exec>, LaneColumns<Exec, T>, TileColumns<Exec, T>>;

/// What the notes of both variants say.
[[nodiscard]] inline std::string chunks_note(int chunks) {
  return std::to_string(chunks) + (chunks == 1 ? " chunk of rows: 1 launch" : " chunks of rows: 2 launches");
}

/// Sums of each chunk's columns in memory, then the sums of these, in their order. One launch if there is one chunk.
template <class Exec, class T, template <class, class> class Columns>
class TwoStageColumns {
 public:
  using Sum = Accumulator<T>;

  TwoStageColumns(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
      : first_(exec, input.parameters.team, input.a.data(), input.a.extent(0), input.a.extent(1), true),
        partial_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::axis_sum::columns_two_stage::partial"),
                 first_.chunks() == 1 ? 0 : static_cast<std::size_t>(first_.chunks()) * input.a.extent(1)),
        second_(exec, input.parameters.team, partial_.data(), static_cast<std::size_t>(first_.chunks()),
                input.a.extent(1), false) {}

  void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                  OutputOn<AxisSum, Exec, T> const& output) const {
    Sum* const out = accumulators_of(output.out);
    bool const once = first_.chunks() == 1;
    first_.enqueue(exec, "tessera::axis_sum::columns_two_stage::chunks", input.a.data(), once ? out : partial_.data(),
                   false);
    if (!once) second_.enqueue(exec, "tessera::axis_sum::columns_two_stage::total", partial_.data(), out, false);
  }

  /// A chunk, then the chunks.
  [[nodiscard]] double rounding_steps() const {
    return first_.rounding_steps() + (first_.chunks() == 1 ? 0 : second_.rounding_steps());
  }
  [[nodiscard]] std::string note() const { return chunks_note(first_.chunks()); }

 private:
  Columns<Exec, T> first_;
  Kokkos::View<Sum*, typename Exec::memory_space> partial_;
  Columns<Exec, Sum> second_;
};

/// The chunks' sums added to an output of zeros, in whatever order they come. One chunk has nothing to be added to.
template <class Exec, class T, template <class, class> class Columns>
class AtomicColumns {
 public:
  static constexpr bool atomic_sums = true;

  using Sum = Accumulator<T>;

  AtomicColumns(Exec const& exec, InputOn<AxisSum, Exec, T> const& input)
      : columns_(exec, input.parameters.team, input.a.data(), input.a.extent(0), input.a.extent(1), true) {}

  void operator()(Exec const& exec, InputOn<AxisSum, Exec, T> const& input,
                  OutputOn<AxisSum, Exec, T> const& output) const {
    bool const once = columns_.chunks() == 1;
    if (!once) Kokkos::deep_copy(exec, output.out, T(0));
    columns_.enqueue(exec, "tessera::axis_sum::columns_atomic::sum", input.a.data(), accumulators_of(output.out),
                     !once);
  }

  /// A chunk, and at worst one chunk after the other.
  [[nodiscard]] double rounding_steps() const {
    return columns_.rounding_steps() + (columns_.chunks() == 1 ? 0 : columns_.chunks());
  }
  [[nodiscard]] std::string note() const { return chunks_note(columns_.chunks()); }

 private:
  Columns<Exec, T> columns_;
};

}  // namespace tessera::axis_sum
