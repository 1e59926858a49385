#pragma once
/// \file
/// The reducer with which a team folds the values of a run.

#include <Kokkos_Core.hpp>

#include <tessera/collective/operators.hpp>

namespace tessera::reduce_by_key {

/// Kokkos' form of an operator chosen at run time: a reducer joins the results of a team's threads.
template <class T>
struct FoldOfTeam {
  using reducer = FoldOfTeam;
  using value_type = T;
  using result_view_type = Kokkos::View<T, Kokkos::AnonymousSpace, Kokkos::MemoryUnmanaged>;
  collective::AnyOperator<T> op;
  T* result;

  KOKKOS_FUNCTION void join(T& a, T const& b) const { a = op(a, b); }
  KOKKOS_FUNCTION void init(T& fold) const { fold = op.identity(); }
  KOKKOS_FUNCTION T& reference() const { return *result; }
  KOKKOS_FUNCTION result_view_type view() const { return result_view_type(result); }
  KOKKOS_FUNCTION bool references_scalar() const { return true; }
};

}  // namespace tessera::reduce_by_key
