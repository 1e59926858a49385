#pragma once
/// \file
/// The kernels of composed and query_by_query, for some queries at a time.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include "scores.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/transpose.hpp>

namespace tessera::attention {

/// The product of the queries and the keys multiplies q by the scale, so that the softmax does not have to.
template <class T>
struct ScaleOnLoad {
  static constexpr bool changes = true;
  struct Row {};

  T scale;

  [[nodiscard]] KOKKOS_FUNCTION Row row(std::size_t) const { return {}; }
  template <int W>
  KOKKOS_FUNCTION void change(Row const&, std::size_t, collective::Pack<T, W>& values) const {
    for (int e = 0; e < W; ++e) values[e] *= scale;
  }
  template <int W>
  [[nodiscard]] bool is_aligned() const {
    return true;
  }
};

template <class T>
using ScaledProduct = kernels::ProductForm<false, false, ScaleOnLoad<T>>;

template <ExecutionSpace Exec, class T>
class ComposedPlan {
 public:
  /// Counts a row's sum, a weight's exponential and quotient, and the product. (The offset holds a score's chain.)
  [[nodiscard]] double rounding_steps() const { return softmax_.rounding_steps() + 8 + to_output_.rounding_steps(); }

 protected:
  /// \param queries queries at a time
  /// \param label name of the variant; the launches are named label::transpose, and so on
  /// \param scores [queries, keys]
  ComposedPlan(Exec const& exec, InputOn<Attention, Exec, T> const& input, std::size_t queries,
               std::string const& label, Scores<Exec, T> const& scores)
      : turn_(exec, input.k.extent(0), input.k.extent(1), team_of(input), label + "::transpose"),
        to_scores_(exec, queries, input.k.extent(0), input.q.extent(1), team_of(input), label + "::scores"),
        softmax_(exec, queries, input.k.extent(0), input.parameters.team, label + "::softmax"),
        to_output_(exec, queries, input.q.extent(1), input.k.extent(0), team_of(input), label + "::output"),
        scores_(scores),
        turned_(unset("tessera::attention::turned"), input.k.extent(1), input.k.extent(0)) {}

  void transpose_keys(Exec const& exec, InputOn<Attention, Exec, T> const& input) const {
    turn_(exec, input.k, turned_);
  }
  /// Enqueues out = softmax(scale * q k^T) v for `queries` rows of q and out. Must be called after transpose_keys().
  template <class Queries, class Out>
  void attend(Exec const& exec, InputOn<Attention, Exec, T> const& input, Queries const& q, Out const& out) const {
    to_scores_(exec, q, turned_, scores_, {.load = {static_cast<T>(input.parameters.scale)}, .store = {}});
    softmax_(exec, scores_, scores_);
    to_output_(exec, scores_, input.v, out);
  }

 private:
  // On a GPU the tile fixes the number of threads per team.
  [[nodiscard]] static std::int64_t team_of(InputOn<Attention, Exec, T> const& input) {
    return is_gpu<Exec> ? 0 : input.parameters.team;
  }

  kernels::Transpose<Exec, T> turn_;
  kernels::Gemm<Exec, T, ScaledProduct<T>> to_scores_;
  kernels::RowSoftmax<Exec, T> softmax_;
  kernels::Gemm<Exec, T> to_output_;
  Scores<Exec, T> scores_;
  Scores<Exec, T> turned_;
};

}  // namespace tessera::attention
