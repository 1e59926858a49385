#pragma once
/// \file
/// The panels of a matrix product c = a b on a grid of ranks; each rank has a block of a, of b and of c. k is divided
/// into panels. In every grid row one rank owns a panel's columns of a and sends them along the row. In every grid
/// column one rank owns the panel's rows of b and sends them along the column. While one panel is multiplied, the next
/// is in flight.
///
/// Example, 2 x 2 ranks, k = 4, panels of 2: first ranks 0 and 2 send their columns 0 1 of a to ranks 1 and 3, and
/// ranks 0 and 1 send their rows 0 1 of b to ranks 2 and 3. Then 1 and 3 send theirs to 0 and 2, and 2 and 3 send
/// theirs to 0 and 1.
///
/// Source: van de Geijn and Watts, SUMMA: scalable universal matrix multiplication algorithm (1997).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/bulk.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::ranks {

namespace detail {

/// Enqueues a copy of columns of a matrix whose rows are `stride` elements long to `to` [rows, cols].
template <ExecutionSpace Exec, class T>
void pack_columns(std::string const& label, Exec const& exec, T const* from, std::size_t stride, T* to,
                  std::size_t rows, std::size_t cols) {
  if (rows * cols == 0) return;
  using Policy = Kokkos::TeamPolicy<Exec>;
  Kokkos::parallel_for(
      label, Policy(exec, static_cast<int>(rows), Kokkos::AUTO),
      KOKKOS_LAMBDA(typename Policy::member_type const& team) {
        auto const row = static_cast<std::size_t>(team.league_rank());
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, cols),
                             [&](std::size_t col) { to[row * cols + col] = from[row * stride + col]; });
      });
}

}  // namespace detail

/// The constructor allocates two panels of a and two of b: one is multiplied while the other arrives. Must be
/// constructed and called by all ranks.
template <ExecutionSpace Exec, class T>
class PanelBroadcast {
  using Memory = typename Exec::memory_space;

 public:
  /// a is [m, k] and b is [k, n], of all ranks together; they are split over the grid (box_of()).
  /// \param most largest number of columns of a panel; one rank uses one panel
  PanelBroadcast(Exec const& exec, Ranks const& ranks, Grid const& grid, std::size_t m, std::size_t n, std::size_t k,
                 std::size_t most, std::string const& label)
      : label_(label + "::pack"),
        grid_(grid),
        row_(ranks.rank() / grid.across),
        col_(ranks.rank() % grid.across),
        m_(block_of(m, grid.down, row_).size()),
        n_(block_of(n, grid.across, col_).size()),
        k_(k),
        own_k_of_a_(block_of(k, grid.across, col_)),
        own_k_of_b_(block_of(k, grid.down, row_)),
        panels_(panels_of(k, grid, most)),
        of_a_{memory(label + "::panel_of_a", m_ * widest()), memory(label + "::panel_of_a", m_ * widest())},
        of_b_{memory(label + "::panel_of_b", widest() * n_), memory(label + "::panel_of_b", widest() * n_)},
        bulk_(exec, ranks, label, most_messages()) {
    sent_.reserve(static_cast<std::size_t>(grid.across + grid.down));
    received_.reserve(2);
  }

  /// Returns the panels, each a range [begin, end) of k.
  [[nodiscard]] std::vector<Block> const& panels() const { return panels_; }

  /// body(p, a, b) enqueues the work on the panels a [m, width] and b [width, n], where m and n are the rows and
  /// columns of the rank's block of c. Called for p = 0 .. panels().size() - 1 in order.
  /// \param a, b the rank's blocks, in memory of Exec
  template <class Body>
  void operator()(Exec const& exec, T const* a, T const* b, Body const& body) {
    if (panels_.empty()) return;
    Panel here = begin(exec, 0, a, b);
    bulk_.wait(exec);
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      bool const is_last = p + 1 == panels_.size();
      // The preceding product reads the memory that is written next: begin() waits for the product.
      Panel const next = is_last ? here : begin(exec, p + 1, a, b);
      std::size_t const width = panels_[p].size();
      body(p, Array<T const**, Memory>(here.a, m_, width), Array<T const**, Memory>(here.b, width, n_));
      if (!is_last) bulk_.wait(exec);
      here = next;
    }
  }

 private:
  struct Panel {
    T const* a;
    T const* b;
  };

  // Each panel has one owner per grid row, and one per grid column.
  [[nodiscard]] static std::vector<Block> panels_of(std::size_t k, Grid const& grid, std::size_t most) {
    std::vector<Block> panels;
    for (std::size_t begin = 0; begin < k;) {
      std::size_t end = grid == Grid{1, 1} ? k : std::min(k, begin + most);
      for (int const count : {grid.across, grid.down}) {
        end = std::min(end, block_of(k, count, owner_of(begin, k, count)).end);
      }
      panels.push_back({begin, end});
      begin = end;
    }
    return panels;
  }
  [[nodiscard]] std::size_t widest() const {
    std::size_t widest = 0;
    for (Block const& panel : panels_) widest = std::max(widest, panel.size());
    return widest;
  }
  [[nodiscard]] Array<T*, Memory> memory(std::string const& label, std::size_t size) const {
    return Array<T*, Memory>(unset(label), grid_ == Grid{1, 1} ? 0 : size);
  }
  [[nodiscard]] MostOfBulk most_messages() const {
    std::size_t const bytes_of_a = m_ * widest() * sizeof(T);
    std::size_t const bytes_of_b = widest() * n_ * sizeof(T);
    return {.messages = static_cast<std::size_t>(grid_.across + grid_.down),
            .sent = static_cast<std::size_t>(grid_.across - 1) * bytes_of_a +
                    static_cast<std::size_t>(grid_.down - 1) * bytes_of_b,
            .received = bytes_of_a + bytes_of_b};
  }

  // Begins to send and receive panel p. Returns where it will be: in place, if the rank owns it and it is contiguous.
  [[nodiscard]] Panel begin(Exec const& exec, std::size_t p, T const* a, T const* b) {
    Block const panel = panels_[p];
    int const owner_of_a = owner_of(panel.begin, k_, grid_.across);
    int const owner_of_b = owner_of(panel.begin, k_, grid_.down);
    T* at_a = of_a_[p % 2].data();
    T* at_b = of_b_[p % 2].data();
    if (owner_of_a == col_) {
      T const* const from = a + (panel.begin - own_k_of_a_.begin);
      if (panel == own_k_of_a_) {
        at_a = const_cast<T*>(from);  // only read
      } else {
        detail::pack_columns(label_, exec, from, own_k_of_a_.size(), at_a, m_, panel.size());
      }
    }
    if (owner_of_b == row_) at_b = const_cast<T*>(b) + (panel.begin - own_k_of_b_.begin) * n_;
    sent_.clear();
    received_.clear();
    std::size_t const bytes_of_a = m_ * panel.size() * sizeof(T);
    std::size_t const bytes_of_b = panel.size() * n_ * sizeof(T);
    for (int c = 0; c < grid_.across; ++c) {
      if (c != col_) pass(owner_of_a == col_, owner_of_a == c, {row_ * grid_.across + c, at_a, bytes_of_a});
    }
    for (int r = 0; r < grid_.down; ++r) {
      if (r != row_) pass(owner_of_b == row_, owner_of_b == r, {r * grid_.across + col_, at_b, bytes_of_b});
    }
    bulk_.begin(exec, sent_, received_);
    return {at_a, at_b};
  }
  // Sends to or receives from another rank, if this rank or that rank owns the panel.
  void pass(bool is_own, bool is_theirs, Message const& message) {
    if (is_own) sent_.push_back(message);
    if (is_theirs) received_.push_back(message);
  }

  std::string label_;
  Grid grid_;
  int row_;  // of the grid
  int col_;
  std::size_t m_;  // of the rank's block of c
  std::size_t n_;
  std::size_t k_;  // of all ranks together
  Block own_k_of_a_;
  Block own_k_of_b_;
  std::vector<Block> panels_;
  std::array<Array<T*, Memory>, 2> of_a_;
  std::array<Array<T*, Memory>, 2> of_b_;
  Bulk<Exec> bulk_;
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
