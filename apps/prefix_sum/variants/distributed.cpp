/// \file
/// On several ranks: each rank sums its own block, gets the sum of all blocks before it, and scans its block in one
/// pass that begins with this sum (kernels/scan.hpp). Traffic 3n: the block is read twice and written once (scanning
/// first and adding afterwards would take 4n). One rank only scans, 2n.
///
/// In a segmented scan a rank passes on only the total from its last segment's head on, and only its elements before
/// its first head use the received sum. A rank without a head passes on the received sum plus its own total.
///
/// Example, 2 ranks, sum: 1 2 3 | 4 5 -> totals 6 9, before 0 6 -> 1 3 6 | 10 15.

#include "../scan_plan.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <tessera/kernels/reduce.hpp>
#include <tessera/kernels/scan.hpp>

namespace tessera::prefix_sum {

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "the sum of each rank, the sums before it, a scan from there: 3n traffic",
      // The same scan as in look_back.
      .deterministic = false,
      .ordered_by = "arrival"};

  /// The value that a rank passes on: its total, or the total of its last segment if a segment's head is on this rank.
  template <class T>
  struct Total {
    T value;
    bool has_head;
  };

  /// For max and min, which do not round. Index: the element.
  template <class T, class In>
  struct Extreme {
    using value_type = T;
    In in;
    collective::AnyOperator<T> op;

    KOKKOS_FUNCTION void operator()(std::size_t i, T& part) const { part = op(part, in(i)); }
    KOKKOS_FUNCTION void init(T& part) const { part = op.identity(); }
    KOKKOS_FUNCTION void join(T& part, T const& other) const { part = op(part, other); }
  };

  template <ExecutionSpace Exec, class T>
  class Plan {
    using Memory = typename Exec::memory_space;
    using Host = Kokkos::SharedHostPinnedSpace;  // for a number that kernels and the host write and read
    using AnyOp = collective::AnyOperator<T>;
    template <class Op>
    using Scan = kernels::LookBackScan<Exec, T, kernels::OperatorOfPart<Op, Host>>;

   public:
    Plan(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          op_{input.parameters.op},
          first_(part.ranks.block(part.input[0][0]).begin),
          n_(input.in.extent(0)),
          tail_(last_head(first_, n_, input.parameters.segment)),
          sum_(exec, n_ - tail_.value_or(0), input.parameters.team, "tessera::prefix_sum::distributed::total"),
          scan_(chosen(exec, input.parameters)) {
      before_() = op_.identity();
    }

    void operator()(Exec const& exec, InputOn<PrefixSum, Exec, T> const& input,
                    OutputOn<PrefixSum, Exec, T> const& output) {
      if (ranks_.count() > 1) {
        Total<T> const own{total(exec, input.in), tail_.has_value()};
        auto const join = [op = op_](Total<T> const& left, Total<T> const& right) {
          return right.has_head ? right : Total<T>{op(left.value, right.value), left.has_head};
        };
        before_() = ranks_.fold_before(own, Total<T>{op_.identity(), false}, join).value;
      }
      std::visit([&](auto& scan) { scan(exec, input.in, output.out); }, scan_);
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "out"}}; }
    /// Counts the scan's own steps, a rank's sum, and the additions of the previous ranks.
    [[nodiscard]] double rounding_steps() const {
      double const of_scan = std::visit([](auto const& scan) { return scan.rounding_steps(); }, scan_);
      return of_scan + sum_.rounding_steps(0) + ranks_.count();
    }
    [[nodiscard]] std::string note() const {
      return std::visit([](auto const& scan) { return scan.note(); }, scan_);
    }

   private:
    // Returns the begin of the last segment whose head is among the elements [first, first + n), as an index of this
    // rank.
    [[nodiscard]] static std::optional<std::size_t> last_head(std::size_t first, std::size_t n, std::size_t segment) {
      if (segment == 0 || n == 0) return std::nullopt;
      std::size_t const head = (first + n - 1) / segment * segment;
      return head < first ? std::nullopt : std::optional(head - first);
    }

    [[nodiscard]] AnyScan<Scan, T> chosen(Exec const& exec, Parameters const& parameters) const {
      return with_elements<T>(parameters, [&]<class Op>(kernels::ScanElements<T, Op> const& whole) {
        return AnyScan<Scan, T>(std::in_place_type<Scan<Op>>, exec, n_,
                                kernels::ScanElements<T, kernels::OperatorOfPart<Op, Host>>{whole, first_, before_},
                                parameters.tile, parameters.team, "tessera::prefix_sum::distributed");
      });
    }

    [[nodiscard]] T total(Exec const& exec, Kokkos::View<T const*, Memory, Kokkos::MemoryUnmanaged> const& in) const {
      auto const tail = Kokkos::subview(in, std::pair(tail_.value_or(0), n_));
      if (op_.kind == collective::OperatorKind::sum) {
        sum_(exec, tail, total_);
      } else {
        Kokkos::parallel_reduce("tessera::prefix_sum::distributed::extreme", over(exec, tail.extent(0)),
                                Extreme<T, decltype(tail)>{tail, op_}, total_);
      }
      exec.fence("tessera::prefix_sum::distributed: own total");
      return total_();
    }

    ranks::Ranks const& ranks_;
    AnyOp op_;
    std::size_t first_;  // index of this rank's first element
    std::size_t n_;
    std::optional<std::size_t> tail_;
    kernels::SinglePassSum<Exec, T, 1, kernels::Itself<T>> sum_;
    Kokkos::View<T, Host> total_{"tessera::prefix_sum::distributed::total"};
    Kokkos::View<T, Host> before_{"tessera::prefix_sum::distributed::before"};
    AnyScan<Scan, T> scan_;  // reads before_
  };
};

VariantRows distributed() { return rows<PrefixSum, Distributed>(); }

}  // namespace tessera::prefix_sum
