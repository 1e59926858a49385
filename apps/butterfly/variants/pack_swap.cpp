/// \file
/// Pairs within 16-byte packs: if segments have an even length, both partners are in one pack, and the index that loads
/// the pack swaps them in registers. Lanes exchange nothing.

#include "../problem.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/collective/segments.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::butterfly {

namespace {

// The elements of a pack, or a single element.
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

struct PackSwap {
  static constexpr VariantInfo info{
      .name = "pack_swap", .level = Level::range, .summary = "pairs swapped within 16-byte packs (only pair_swap)"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Butterfly, Exec, T> const& input) : segments_(1, 0) {
      Butterfly::Parameters const& parameters = input.parameters;
      if (parameters.op != ButterflyOp::pair_swap) {
        throw Skip("an op that folds segments (this swaps pairs: --op pair_swap); use --variant lanes or " +
                   std::string(parameters.segment == 0 ? "reduce_broadcast" : "scratch"));
      }
      // If the length is even, the segments' pairs are the array's pairs.
      auto const length = static_cast<std::size_t>(parameters.segment);
      even_ = length % 2 == 0;
      segments_ = collective::Segments(input.in.extent(0), even_ ? 2 : length);
    }

    void operator()(Exec const& exec, InputOn<Butterfly, Exec, T> const& input,
                    OutputOn<Butterfly, Exec, T> const& output) const {
      constexpr int width = collective::pack_width<T>;
      kernels::for_each_pack<width>("tessera::butterfly::pack_swap::apply", exec, input.in.extent(0),
                                    collective::is_aligned_for_packs<width>(output.out.data()),
                                    SwapPairs<T>{input.in.data(), output.out.data(), segments_, even_});
    }

   private:
    collective::Segments segments_;
    bool even_ = false;
  };
};

VariantRows pack_swap() { return rows<Butterfly, PackSwap>(); }

}  // namespace tessera::butterfly
