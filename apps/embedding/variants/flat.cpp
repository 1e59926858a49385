/// \file
/// The plain Kokkos answer: one thread an element of out, neighbouring threads on neighbouring columns, so that a warp
/// reads and writes whole pieces of rows. Every thread reads an index and divides by the width.

#include <limits>

#include "../problem.hpp"

#include <tessera/collective/divider.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

namespace {

// Divides 32-bit numbers as they are; wider ones would take a GPU some hundred instructions.
struct NarrowDivider {
  std::uint32_t divisor;
  explicit NarrowDivider(std::size_t value) : divisor(static_cast<std::uint32_t>(value)) {}
  [[nodiscard]] KOKKOS_FUNCTION std::size_t operator()(std::size_t i) const {
    return static_cast<std::uint32_t>(i) / divisor;
  }
};

template <class T, class Division>
struct LookUpElement {
  Lookup<T> of;
  Division by_width;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::size_t const position = by_width(i);
    T const* const row = of.row_of(position);
    of.out[i] = row != nullptr ? row[i - position * of.width] : T(0);
  }
};

}  // namespace

struct Flat {
  static constexpr VariantInfo info{
      .name = "flat", .level = Level::range, .summary = "one thread an element of out, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Embedding, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Embedding, Exec, T> const& input,
                    OutputOn<Embedding, Exec, T> const& output) const {
      std::size_t const n = output.out.size();
      if (n == 0) return;
      if (n <= std::numeric_limits<std::int32_t>::max()) {
        run<std::int32_t, NarrowDivider>(exec, n, lookup(input, output));
      } else {
        run<std::size_t, collective::Divider>(exec, n, lookup(input, output));
      }
    }

   private:
    template <class Index, class Division>
    static void run(Exec const& exec, std::size_t n, Lookup<T> const& of) {
      Kokkos::parallel_for("tessera::embedding::flat::look_up",
                           Kokkos::RangePolicy<Exec, Kokkos::IndexType<Index>>(exec, 0, static_cast<Index>(n)),
                           LookUpElement<T, Division>{of, Division(of.width)});
    }
  };
};

VariantRows flat() { return rows<Embedding, Flat>(); }

}  // namespace tessera::embedding
