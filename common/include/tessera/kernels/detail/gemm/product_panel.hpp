#pragma once
/// \file
/// Gemm's kernel for hosts (kernels/gemm.hpp): sums in vector registers, factors copied into panels that fit into the
/// caches.
///
/// A team computes one tile of c. For each step of `depth` along k it copies its columns of b to scratch, into panels
/// as wide as the sums. Each thread then handles strips of a few rows of a: it copies a strip, transposed, and
/// multiplies it by one panel after the other, with as many sums as fit into the registers.
///
/// Source: K. Goto, R. van de Geijn, Anatomy of high-performance matrix multiplication (2008).

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/gemm/product_of_tiles.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// Rows of sums, of two vectors each, that fit into the processor's registers.
#if defined(__AVX512F__) || defined(__ARM_NEON)
inline constexpr int vector_rows = 12;
#else
inline constexpr int vector_rows = 6;
#endif

/// Rows of sums that a thread has in registers, and the length of its steps along k.
template <int Rows, int Depth>
struct PanelShape {
  static constexpr int rows = Rows;
  static constexpr int depth = Depth;
};

namespace detail {

using collective::vector_bytes;

/// c = a b for row-major c [m, n], one team per tile of c; a functor for teams of any size with vector length 1, on
/// hosts. Extents may have any value. The form says how a and b are stored, and how elements and sums change. If k is
/// split, c is the first of `count` contiguous matrices [m, n], and the sums of part p go to matrix p.
///
/// Scratch level 1: team_bytes() per team, thread_bytes() per thread. Barriers: two per `depth` of k.
template <class Exec, class T, class Shape, class Form = PlainProduct>
class ProductPanel : public ProductOfTiles<T, Form> {
  using Base = ProductOfTiles<T, Form>;

 public:
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;

  static constexpr int rows = Shape::rows;
  static constexpr int width = vector_bytes / static_cast<int>(sizeof(T));
  static constexpr int cols = 2 * width;
  static constexpr int depth = Shape::depth;

  using Base::Base;  // the columns of its tiles are a multiple of `cols`

  [[nodiscard]] std::size_t team_bytes() const { return Scratch::shmem_size(depth * tiles_.tile_cols / width); }
  [[nodiscard]] static std::size_t thread_bytes() { return Scratch::shmem_size(strip_lines); }

  /// Returns the longest chain of roundings of an element: the products of a step, then the steps.
  [[nodiscard]] static double rounding_steps(std::size_t k) {
    return static_cast<double>(std::min<std::size_t>(k, depth) + tiles_of(k, depth)) - (k > 0 ? 1 : 0);
  }

  KOKKOS_FUNCTION void operator()(Member const& team) const { KOKKOS_IF_ON_HOST((run(team);)) }

 private:
  struct alignas(vector_bytes) Line {
    T at[width];
  };
  using Scratch = ScratchView<Line*, Exec>;
  using Place = collective::MatrixTiles::Place;
  using Load = typename Form::Load;
  using Store = typename Form::Store;
  static constexpr int strip_lines = (depth * rows + width - 1) / width;
  // A vector, which the compiler keeps in one register.
  typedef T Vector __attribute__((vector_size(vector_bytes)));

  void run(Member const& team) const {
    Scratch const panels_of_b(team.team_scratch(1), depth * tiles_.tile_cols / width);
    Scratch const strip_of_a(team.thread_scratch(1), strip_lines);
    T* const b = reinterpret_cast<T*>(panels_of_b.data());
    T* const a = reinterpret_cast<T*>(strip_of_a.data());
    std::size_t const tiles = tiles_.across() * tiles_.down();
    auto const rank = static_cast<std::size_t>(team.league_rank());
    int const part = static_cast<int>(rank / tiles);
    Place const place = tiles_.place(rank % tiles);
    T* const c = c_ + part * tiles_.rows * tiles_.cols;
    std::size_t k = k_.begin(part);
    std::size_t const end = k_.end(part);
    bool first = true;
    do {  // once even if k is 0: then the result is zero
      int const count = end - k < depth ? static_cast<int>(end - k) : depth;
      for (int panel = team.team_rank(); panel * cols < place.col_count; panel += team.team_size()) {
        copy_panel(place, panel, k, count, b + panel * cols * depth);
      }
      team.team_barrier();
      Step const step{.count = count, .add = Store::adds || !first, .last = end - k <= depth};
      for (int row = team.team_rank() * rows; row < place.row_count; row += team.team_size() * rows) {
        copy_strip(place, row, k, count, a);
        for (int panel = 0; panel * cols < place.col_count; ++panel) {
          multiply(place, row, panel * cols, a, b + panel * cols * depth, step, c);
        }
      }
      leave_scratch(team);  // the panels are overwritten for the next k or the next tile
      k += depth;
      first = false;
    } while (k < end);
  }

  // A step along k: its length, whether c already holds the sums of earlier steps, and whether it completes c.
  struct Step {
    int count;
    bool add;
    bool last;
  };

  // Columns past the end become zero; their sums are not stored.
  void copy_panel(Place const& place, int panel, std::size_t k, int count, T* to) const {
    int const first = panel * cols;
    int const present = std::min(cols, place.col_count - first);
    if constexpr (Form::b_transposed) {
      for (int col = 0; col < cols; ++col) {
        bool const inside = col < present;
        T const* const from = inside ? b_ + (place.col + first + col) * k_.n + k : nullptr;
        for (int i = 0; i < count; ++i) to[i * cols + col] = inside ? from[i] : T(0);
      }
    } else {
      T const* from = b_ + k * tiles_.cols + place.col + first;
      for (int i = 0; i < count; ++i, from += tiles_.cols, to += cols) {
        if (present == cols) {
          std::memcpy(to, from, sizeof(T) * cols);
        } else {
          for (int col = 0; col < cols; ++col) to[col] = col < present ? from[col] : T(0);
        }
      }
    }
  }

  // Element (row, i) of the strip is at i * rows + row. Rows past the end become zero; their sums are not stored.
  void copy_strip(Place const& place, int first, std::size_t k, int count, T* to) const {
    if constexpr (Form::a_transposed) {
      int const present = std::min(rows, place.row_count - first);
      T const* from = a_ + k * tiles_.rows + place.row + first;
      for (int i = 0; i < count; ++i, from += tiles_.rows, to += rows) {
        for (int row = 0; row < rows; ++row) to[row] = row < present ? from[row] : T(0);
      }
    } else {
      for (int row = 0; row < rows; ++row) {
        bool const inside = first + row < place.row_count;
        T const* const from = inside ? a_ + (place.row + first + row) * k_.n + k : nullptr;
        if constexpr (Load::changes) {
          auto const of_row = inside ? form_.load.row(place.row + first + row) : typename Load::Row{};
          for (int i = 0; i < count; ++i) {
            collective::Pack<T, 1> value{inside ? from[i] : T(0)};
            if (inside) form_.load.change(of_row, k + i, value);
            to[i * rows + row] = value[0];
          }
        } else {
          for (int i = 0; i < count; ++i) to[i * rows + row] = inside ? from[i] : T(0);
        }
      }
    }
  }

  // Sums rows x cols elements over one step, and stores the sums or adds them to c.
  void multiply(Place const& place, int row, int col, T const* a, T const* b, Step const& step, T* result) const {
    Vector sums[rows][2] = {};
    for (int i = 0; i < step.count; ++i, a += rows, b += cols) {
      Vector left;
      Vector right;
      std::memcpy(&left, b, sizeof(Vector));
      std::memcpy(&right, b + width, sizeof(Vector));
      for (int r = 0; r < rows; ++r) {
        sums[r][0] += a[r] * left;
        sums[r][1] += a[r] * right;
      }
    }
    T values[rows][cols];
    std::memcpy(values, sums, sizeof values);
    int const row_count = std::min(rows, place.row_count - row);
    int const col_count = std::min(cols, place.col_count - col);
    for (int r = 0; r < row_count; ++r) {
      T* const c = result + (place.row + row + r) * tiles_.cols + place.col + col;
      for (int j = 0; j < col_count; ++j) c[j] = step.add ? c[j] + values[r][j] : values[r][j];
      if constexpr (Store::changes) {
        if (step.last) {
          for (int j = 0; j < col_count; ++j) {
            T finished = form_.store.finished(c[j], form_.store.of_column(place.col + col + j));
            if constexpr (TakesElements<Store>) finished += form_.store.of_element(c - result + j);
            c[j] = finished;
          }
        }
      }
    }
  }

  using Base::a_, Base::b_, Base::c_, Base::k_, Base::tiles_, Base::form_;
};

}  // namespace detail
}  // namespace tessera::kernels
