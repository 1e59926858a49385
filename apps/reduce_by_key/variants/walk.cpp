/// \file
/// The plain Kokkos answer: a scan counts the heads, and the thread of each head walks through its run. A long run
/// keeps one thread busy while all others wait.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::reduce_by_key {

struct Walk {
  static constexpr VariantInfo info{.name = "walk",
                                    .level = Level::range,
                                    .summary = "Kokkos::parallel_scan of heads, each walks its run, the baseline",
                                    .lesson = true};

  template <ExecutionSpace Exec, class T>
  struct Plan {
    Mode mode;

    Plan(Exec const&, InputOn<ReduceByKey, Exec, T> const& input)
        : mode(with_lengths(input.parameters.mode, input.keys.extent(0))) {}

    void operator()(Exec const& exec, InputOn<ReduceByKey, Exec, T> const& input,
                    OutputOn<ReduceByKey, Exec, T> const& output) const {
      auto const keys = input.keys;
      auto const values = input.values;
      auto const out = output;
      std::size_t const n = keys.extent(0);
      using Value = ValueOf<T>;
      collective::AnyOperator<Value> const op{input.parameters.op};
      bool const reduces = mode == Mode::reduce;
      bool const measures = mode == Mode::lengths;
      Kokkos::deep_copy(exec, out.count, 0);
      Kokkos::parallel_scan(
          "tessera::reduce_by_key::walk::scan", over(exec, n),
          KOKKOS_LAMBDA(std::size_t i, std::int64_t& run, bool final) {
            bool const head = is_head(keys, i);
            if (head && final) {
              out.unique_keys(run) = keys(i);
              Value fold = op.identity();
              std::size_t end = i;
              do {
                if (reduces) fold = op(fold, values(end));
              } while (++end < n && !is_head(keys, end));
              if (reduces) out.sums(run) = fold;
              if (measures) out.lengths(run) = static_cast<std::int32_t>(end - i);
            }
            run += head ? 1 : 0;
            if (final && i + 1 == n) out.count() = run;
          });
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return written_fields(mode); }
  };
};

VariantRows walk() { return rows<ReduceByKey, Walk>(); }

}  // namespace tessera::reduce_by_key
