/// \file
/// The one-line Kokkos answer: parallel_for over a range, elements by View access.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::map {

struct Range {
  static constexpr VariantInfo info{.name = "range",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_for over elements, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Map, Exec, T> const& input) : add_{static_cast<T>(input.parameters.c)} {}

    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& input, OutputOn<Map, Exec, T> const& output) const {
      auto const a = input.a;
      auto const out = output.out;
      auto const add = add_;
      Kokkos::parallel_for(
          "tessera::map::range::add", over(exec, a.extent(0)), KOKKOS_LAMBDA(std::size_t i) { out(i) = add(a(i)); });
    }

   private:
    AddConstant<T> add_;
  };
};

VariantRows range() { return rows<Map, Range>(); }

}  // namespace tessera::map
