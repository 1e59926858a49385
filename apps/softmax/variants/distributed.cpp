/// \file
/// On several ranks: rows need no communication (kernels/softmax.hpp). If a group is a column, or all elements, each
/// rank computes {max, sum} of its parts of the groups. The pairs are merged in the order of the ranks, so all ranks
/// have the same result; then each rank writes its part. The ranks exchange messages between the two launches
/// (kernels/column_softmax.hpp, kernels/split_softmax.hpp).
///
/// Example, 1 2 | 3 4 on two ranks: {2, 1 + e^-1} and {4, 1 + e^-1} -> {4, 1.5530} -> 0.0321 0.0871 | 0.2369 0.6439.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "../problem.hpp"

#include <tessera/collective/online_sum.hpp>
#include <tessera/kernels/column_softmax.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/split_softmax.hpp>
#include <tessera/ranks/ordered_reduction.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "rows split over the ranks; merges {max, sum} of columns and of all"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks.count()),
          groups_(part.input[0][0] == 0                ? 0
                  : input.parameters.axis == Axis::all ? 1
                                                       : input.x.extent(1)),
          softmax_(chosen(exec, input, ranks_ > 1)),
          host_("tessera::softmax::distributed::sums", groups_ * most_chunks()),
          of_ranks_(part.ranks, input.parameters.axis == Axis::rows ? 0 : groups_) {}

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) {
      auto const x = groups_of(input.x, input.parameters);
      auto const y = groups_of(output.y, input.parameters);
      std::visit(
          [&]<class Kernel>(Kernel const& softmax) {
            if constexpr (!std::is_same_v<Kernel, Rows>) {
              if (ranks_ > 1) {
                if (x.size() > 0) return softmax(exec, x, y, [&](auto const& sums) { merge(exec, sums); });
                std::ranges::fill(of_ranks_.values(), Sum{});  // nothing to write, nothing to send
                return of_ranks_.reduce();
              }
            }
            softmax(exec, x, y);  // nothing to merge on the host
          },
          softmax_);
    }

    /// Counts the kernel's own steps; on several ranks also the merges of a rank's chunks (a tree) and of the ranks.
    [[nodiscard]] double rounding_steps() const {
      double const of_kernel = std::visit([](auto const& softmax) { return softmax.rounding_steps(); }, softmax_);
      if (ranks_ == 1 || std::holds_alternative<Rows>(softmax_)) return of_kernel;
      return of_kernel + Merge::rounding_steps * (std::bit_width(most_chunks()) + ranks_);
    }

   private:
    using Rows = kernels::RowSoftmax<Exec, T>;
    using Columns = kernels::ColumnSoftmax<Exec, T>;
    using All = kernels::SplitRowSoftmax<Exec, T>;
    using Sum = collective::OnlineSum<T>;
    using Merge = collective::MergeOnlineSums<T>;

    [[nodiscard]] static std::variant<Rows, Columns, All> chosen(Exec const& exec,
                                                                 InputOn<Softmax, Exec, T> const& input, bool merges) {
      auto const x = groups_of(input.x, input.parameters);
      std::size_t const rows = x.extent(0);
      std::size_t const cols = x.extent(1);
      char const* const label = "tessera::softmax::distributed";
      switch (input.parameters.axis) {
        case Axis::rows: return Rows(exec, rows, cols, input.parameters.team, label);
        case Axis::cols: return Columns(exec, rows, cols, input.parameters.team, label, merges);
        case Axis::all: break;
      }
      return All(exec, rows, cols, input.parameters.team, label);
    }

    // Replaces `sums` [chunks * groups]: the first chunk gets the merge over all ranks, the other chunks become empty.
    template <class Sums>
    void merge(Exec const& exec, Sums const& sums) {
      auto const host = Kokkos::subview(host_, std::pair<std::size_t, std::size_t>(0, sums.size()));
      Kokkos::deep_copy(exec, host, sums);
      exec.fence("tessera::softmax::distributed: own sums");
      // Merges neighbouring chunks, then pairs of the results, and so on.
      std::size_t const chunks = sums.size() / groups_;
      for (std::size_t stride = 1; stride < chunks; stride *= 2) {
        for (std::size_t c = 0; c + stride < chunks; c += 2 * stride) {
          for (std::size_t g = 0; g < groups_; ++g) {
            host(c * groups_ + g) = Merge{}(host(c * groups_ + g), host((c + stride) * groups_ + g));
          }
        }
      }
      std::span<Sum> const of_ranks = of_ranks_.values();
      for (std::size_t g = 0; g < groups_; ++g) of_ranks[g] = host(g);
      of_ranks_.reduce();
      for (std::size_t i = 0; i < host.size(); ++i) host(i) = i < groups_ ? of_ranks[i] : Sum{};
      Kokkos::deep_copy(exec, sums, host);
    }

    // Returns the number of chunks whose sums the kernel has in memory.
    [[nodiscard]] std::size_t most_chunks() const {
      return std::visit(
          []<class Kernel>(Kernel const& softmax) -> std::size_t {
            if constexpr (!std::is_same_v<Kernel, Rows>) return static_cast<std::size_t>(softmax.most_chunks());
            return 0;
          },
          softmax_);
    }

    int ranks_;
    std::size_t groups_;  // groups that cross ranks
    std::variant<Rows, Columns, All> softmax_;
    Kokkos::View<Sum*, Kokkos::HostSpace> host_;
    ranks::OrderedReduction<Sum, Merge> of_ranks_;  // {max, sum} of each group
  };
};

VariantRows distributed() { return rows<Softmax, Distributed>(); }

}  // namespace tessera::softmax
