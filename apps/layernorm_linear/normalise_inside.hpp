#pragma once
/// \file
/// For the variant `fused`: computes the statistics of x's rows inside the product, and normalises x as it loads it.

#include <Kokkos_Core.hpp>

#include <cstddef>

#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/layer_norm.hpp>

namespace tessera::layernorm_linear {

/// The product's operation on the rows of x (see kernels/product_form.hpp): computes the statistics, then acts like
/// NormaliseOnLoad.
///
/// \tparam lanes lanes that share a row: on a GPU only the product's own lane, on a host the lanes of vector registers
/// \tparam pack_width elements per access, if rows are whole packs
/// \tparam held accesses in flight
template <class Exec, class T, int lanes = is_gpu<Exec> ? 1 : 32,
          int pack_width = is_gpu<Exec> ? collective::pack_width<T> : 1, int held = is_gpu<Exec> ? 8 : 1>
struct NormaliseInside {
  static constexpr bool changes = true;
  using Row = kernels::NormalisedRow<T>;
  static constexpr int pack = pack_width;
  using ByPacks = kernels::LanesOfRow<Exec, T, lanes, pack, held>;
  using ByElements = kernels::LanesOfRow<Exec, T, lanes, 1, held>;

  T const* x = nullptr;
  T const* gamma = nullptr;
  T const* beta = nullptr;
  std::size_t cols = 0;
  T eps = 0;
  bool in_packs = false;  ///< rows of x are whole packs

  [[nodiscard]] KOKKOS_FUNCTION Row row(std::size_t r) const {
    return in_packs ? of<ByPacks>(x + r * cols) : of<ByElements>(x + r * cols);
  }
  template <int W>
  KOKKOS_FUNCTION void change(Row const& row, std::size_t k, collective::Pack<T, W>& values) const {
    auto const scale = collective::pack_at<W>(gamma + k);
    auto const offset = collective::pack_at<W>(beta + k);
    for (int e = 0; e < W; ++e) values[e] = scale[e] * row(values[e]) + offset[e];
  }
  template <int W>
  [[nodiscard]] bool is_aligned() const {
    return collective::is_aligned_for_packs<W>(gamma) && collective::is_aligned_for_packs<W>(beta);
  }

 private:
  template <class Statistics>
  [[nodiscard]] KOKKOS_FUNCTION Row of(T const* from) const {
    typename Statistics::Lanes const all;
    auto values = all.template fill<typename Statistics::Held>(typename Statistics::Held{});
    return Statistics::statistics_of(all, from, cols, eps, values);
  }
};

}  // namespace tessera::layernorm_linear
