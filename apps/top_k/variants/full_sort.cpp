/// \file
/// The baseline: sort all elements, and keep the first k of each row. The sort is that of kernels/sort.hpp.

#include "../problem.hpp"

#include <optional>

#include <tessera/kernels/detail/sort/order_candidates.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::top_k {

struct FullSort {
  static constexpr VariantInfo info{
      .name = "full_sort", .level = Level::device, .summary = "a stable radix sort of all elements, the baseline"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<TopK, Exec, T> const& input) {
      if (input.parameters.team != 0) throw Skip("--team (the sort's teams are cut at compile time)");
      std::size_t const n = input.in.extent(1);
      if (input.in.extent(0) == 0 || k_of(input) == 0) return;
      order_.emplace(exec, input.in.extent(0), n, n, "tessera::top_k::full_sort");
    }

    void operator()(Exec const& exec, InputOn<TopK, Exec, T> const& input, OutputOn<TopK, Exec, T> const& output) {
      if (!order_) return;
      auto* const words = order_->words();
      auto* const places = order_->places();
      T const* const in = input.in.data();
      Kokkos::parallel_for(
          "tessera::top_k::full_sort::words", over(exec, input.in.size()), KOKKOS_LAMBDA(std::size_t i) {
            words[i] = collective::ascending_word(in[i]);
            places[i] = static_cast<std::int64_t>(i);
          });
      (*order_)(exec, in, output.values.extent(1), output.values.data(), output.indices.data());
    }

   private:
    std::optional<kernels::detail::OrderCandidates<Exec, T>> order_;
  };
};

VariantRows full_sort() { return rows<TopK, FullSort>(); }

}  // namespace tessera::top_k
