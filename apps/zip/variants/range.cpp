/// \file
/// The one-line Kokkos answer: parallel_for over a range, one element per index, by View access.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::zip {

struct Range {
  static constexpr VariantInfo info{.name = "range",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over elements, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& input, OutputOn<Zip, Exec, T> const& output) const {
      auto const a = input.a;
      auto const b = input.b;
      auto const out = output.out;
      Kokkos::parallel_for(
          "tessera::zip::range::add", over(exec, a.extent(0)),
          KOKKOS_LAMBDA(std::size_t i) { out(i) = Add<T>{}(a(i), b(i)); });
    }
  };
};

VariantRows range() { return rows<Zip, Range>(); }

}  // namespace tessera::zip
