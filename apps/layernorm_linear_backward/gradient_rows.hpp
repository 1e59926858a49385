#pragma once
/// \file
/// The base of the variants that read the rows only a few times: two products, and one pass over the rows between them
/// (kernels/layer_norm_backward.hpp).

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

#include "problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm_backward.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::layernorm_linear_backward {

/// Both products, q = G w and dw = G^T ln, by multiply-adds.
template <class Exec, class T>
struct Products {
  /// \param label name of the variant; the products are named label::q and label::dw
  Products(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input, std::string const& label)
      : q(exec, input.rows(), input.hidden(), input.outputs(),
          kernels::Gemm<Exec, T>::team_if_open(input.parameters.team), label + "::q"),
        dw(exec, input.outputs(), input.hidden(), input.rows(),
           kernels::Gemm<Exec, T>::team_if_open(input.parameters.team), label + "::dw",
           kernels::SplitK::where_it_helps) {}

  kernels::Gemm<Exec, T> q;
  kernels::Gemm<Exec, T, kernels::TransposedA> dw;
};

/// The two products with the sweep between them, and the matrices q and ln.
/// \tparam P Products, or a type with the same members
template <class Exec, class T, class P = Products<Exec, T>>
struct ProductsAndRows {
  using Matrix = Array<T**, typename Exec::memory_space>;

  /// \param label name of the variant
  ProductsAndRows(Exec const& exec, InputOn<LayernormLinearBackward, Exec, T> const& input, std::string const& label)
      : rows(exec, input.rows(), input.hidden(), input.parameters.eps, input.parameters.team, label),
        products(exec, input, label),
        q(unset(label + "::q"), input.rows(), input.hidden()),
        ln(unset(label + "::ln"), input.rows(), input.hidden()) {}

  kernels::detail::RowGradients<Exec, T> rows;
  P products;
  Matrix q;
  Matrix ln;
};

}  // namespace tessera::layernorm_linear_backward
