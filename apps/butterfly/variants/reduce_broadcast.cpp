/// \file
/// The extremes of the whole array in two launches: teams fold their chunks, then every team folds the teams' results,
/// which a cache holds, and writes its share of the output. Pairs have nothing to reduce: one launch swaps them.

#include <optional>

#include "../butterfly_rules.hpp"
#include "../fold_broadcast.hpp"

#include <tessera/collective/segments.hpp>
#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

namespace {

// Elements of a pack, or one.
template <class T>
struct SwapPairs {
  T const* in;
  T* out;
  collective::Segments segments;
  bool even;  // segments have an even length: every pack holds whole pairs

  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    collective::Pack<T, N> swapped;
    if constexpr (N > 1) {
      if (even) {
        auto const own = collective::load_pack<N>(in + begin);
        for (int e = 0; e < N; ++e) swapped[e] = own[e ^ 1];
        collective::pack_at<N>(out + begin) = swapped;
        return;
      }
    }
    collective::SegmentedPart const part = segments.part(begin);
    int left = part.left_at(0);
    for (int e = 0; e < N; ++e) {
      // An odd position has its partner before it.
      bool const is_later = ((static_cast<int>(part.length) - left) & 1) != 0;
      bool const has_next = left > 1 && e + 1 < part.count;
      T const* const own = in + begin + e;
      swapped[e] = is_later ? own[-1] : (has_next ? own[1] : own[0]);
      left = left > 1 ? left - 1 : static_cast<int>(part.length);
    }
    collective::pack_at<N>(out + begin) = swapped;
  }
};

}  // namespace

struct ReduceBroadcast {
  static constexpr VariantInfo info{.name = "reduce_broadcast",
                                    .level = Level::device,
                                    .summary = "the whole array is one segment: reduce, then every team writes"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Butterfly, Exec, T> const& input) : segments_(1, 0) {
      std::size_t const n = input.in.extent(0);
      Butterfly::Parameters const& parameters = input.parameters;
      if (parameters.op == ButterflyOp::pair_swap) {
        // Where it is even, pairs are those of the array.
        auto const length = static_cast<std::size_t>(parameters.segment);
        even_ = length % 2 == 0;
        segments_ = collective::Segments(n, even_ ? 2 : length);
        return;
      }
      if (parameters.segment != 0) {
        throw Skip("segment " + std::to_string(parameters.segment) +
                   " (this reduces whole arrays: --segment 0); use --variant lanes or scratch");
      }
      if (parameters.op == ButterflyOp::max) {
        max_.emplace(exec, n, parameters.team, label);
      } else {
        minmax_.emplace(exec, n, parameters.team, label);
      }
    }

    void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& input,
                    OutputOn<Butterfly, Exec, T> const& output) const {
      if (max_) {
        (*max_)(exec, input.in, output.out);
      } else if (minmax_) {
        (*minmax_)(exec, input.in, output.out);
      } else {
        constexpr int width = collective::pack_width<T>;
        kernels::for_each_pack<width>("tessera::butterfly::reduce_broadcast::swap", exec, input.in.extent(0),
                                      collective::is_aligned_for_packs<width>(output.out.data()),
                                      SwapPairs<T>{input.in.data(), output.out.data(), segments_, even_});
      }
    }

   private:
    static constexpr char const* label = "tessera::butterfly::reduce_broadcast";

    collective::Segments segments_;
    bool even_ = false;
    std::optional<FoldBroadcast<Exec, MaxRule<T>>> max_;
    std::optional<FoldBroadcast<Exec, MinMaxRule<T>>> minmax_;
  };
};

VariantRows reduce_broadcast() { return rows<Butterfly, ReduceBroadcast>(); }

}  // namespace tessera::butterfly
