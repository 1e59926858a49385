/// \file
/// A radix select: digits of 8 bits, the highest first, lead to the k-th element; then those taken are written and
/// sorted. The kernel is kernels/top_k.hpp.

#include <string>

#include "../problem.hpp"

#include <tessera/kernels/top_k.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::top_k {

struct RadixSelect {
  static constexpr VariantInfo info{
      .name = "radix_select",
      .level = Level::device,
      .summary = "digits from the top find the k-th element, a scan places those above, a sort orders them"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<TopK, Exec, T> const& input)
        : top_(exec, input.in.extent(0), input.in.extent(1), k_of(input), "tessera::top_k::radix_select") {
      if (input.parameters.team != 0) throw Skip("--team (its teams are cut at compile time)");
    }

    void operator()(Exec const& exec, InputOn<TopK, Exec, T> const& input, OutputOn<TopK, Exec, T> const& output) {
      top_(exec, input.in, output.values, output.indices);
    }

    [[nodiscard]] std::string note() const { return top_.note(); }

   private:
    kernels::TopK<Exec, T> top_;
  };
};

VariantRows radix_select() { return rows<TopK, RadixSelect>(); }

}  // namespace tessera::top_k
