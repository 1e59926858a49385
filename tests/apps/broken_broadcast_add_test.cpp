// Wrong broadcasts must be caught: exchanged operands and axes, a register kept beyond its row, edges without masks.

#include "broken_rows.hpp"

#include "../../apps/broadcast_add/problem.hpp"

namespace tessera::broadcast_add {
namespace {

// The right sum with one mistake that decides where an element is written and from which operands. Reads stay inside.
enum class Mistake { none, operands, axes, keeps_row, unmasked, misses_last_column };

template <class T>
struct AddWrongly {
  T const* a;
  T const* b;
  T* out;
  std::size_t rows;
  std::size_t cols;
  Mistake mistake;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const row = i / cols;
    std::size_t const col = i % cols;
    std::size_t const place = mistake == Mistake::axes ? col * rows + row : i;
    T along = a[col];
    T down = row < rows ? b[row] : T(1);
    if (mistake == Mistake::operands) {
      along = a[row % cols];
      down = b[col % rows];
    }
    // A pack of four that crosses into the next row keeps the row in which it began.
    if (mistake == Mistake::keeps_row) down = b[i / 4 * 4 / cols];
    if (mistake == Mistake::misses_last_column && col == cols - 1) return;
    out[place] = Add<T>{}(along, down);
  }
};

template <class Exec, class T>
void add_wrongly(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& in, OutputOn<BroadcastAdd, Exec, T> const& out,
                 Mistake mistake) {
  std::size_t const rows = in.b.extent(0);
  std::size_t const cols = in.a.extent(0);
  std::size_t const n = rows * cols;
  Kokkos::parallel_for("tessera::tests::broken_broadcast_add",
                       over(exec, mistake == Mistake::unmasked ? (n + 7) / 8 * 8 : n),
                       AddWrongly<T>{in.a.data(), in.b.data(), out.out.data(), rows, cols, mistake});
}

struct Broken {
  Mistake mistake;

  template <ExecutionSpace Exec, class T>
  void operator()(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& in,
                  OutputOn<BroadcastAdd, Exec, T> const& out) const {
    add_wrongly<Exec, T>(exec, in, out, mistake);
  }
};

// A 7 x 13 matrix.
ParameterMap const seven_rows{{"rows", std::int64_t{7}}};

void expect_caught(Mistake mistake, std::string const& message) {
  testing::expect_caught<BroadcastAdd>(Broken{mistake}, 91, seven_rows, message);
}

TEST(BrokenBroadcastAdd, Operands) { expect_caught(Mistake::operands, "first"); }
TEST(BrokenBroadcastAdd, Axes) { expect_caught(Mistake::axes, "first"); }
TEST(BrokenBroadcastAdd, KeepsRow) { expect_caught(Mistake::keeps_row, "first"); }
TEST(BrokenBroadcastAdd, Unmasked) { expect_caught(Mistake::unmasked, "past the end"); }
TEST(BrokenBroadcastAdd, MissesLastColumn) { expect_caught(Mistake::misses_last_column, "12"); }

}  // namespace
}  // namespace tessera::broadcast_add
