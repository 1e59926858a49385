#pragma once
/// \file
/// A Kokkos reducer to {max, sum}: for parallel_reduce over ranges, into a View, and nested in teams, into a variable.
///
/// Who calls: as any reducer of Kokkos. The body of the loop adds its elements with OnlineSum::add.
///
/// Example: parallel_reduce(RangePolicy(0, 3), [=](int i, OnlineSum<float>& own) { own.add(x(i)); },
/// OnlineReducer(view)) with x = 1 2 3 -> {3, e^-2 + e^-1 + 1}.

#include <Kokkos_Core.hpp>

#include <tessera/collective/online_sum.hpp>

namespace tessera::collective {

template <class T, class Memory>
class OnlineReducer {
 public:
  using reducer = OnlineReducer;
  using value_type = OnlineSum<T>;
  using result_view_type = Kokkos::View<value_type, Memory>;

  KOKKOS_FUNCTION explicit OnlineReducer(result_view_type const& result) : result_(result) {}
  KOKKOS_FUNCTION explicit OnlineReducer(value_type& result) : result_(&result) {}

  KOKKOS_FUNCTION void join(value_type& to, value_type const& from) const { to = MergeOnlineSums<T>{}(to, from); }
  KOKKOS_FUNCTION void init(value_type& value) const { value = value_type{}; }
  [[nodiscard]] KOKKOS_FUNCTION value_type& reference() const { return *result_.data(); }
  [[nodiscard]] KOKKOS_FUNCTION result_view_type view() const { return result_; }
  [[nodiscard]] KOKKOS_FUNCTION bool references_scalar() const { return false; }

 private:
  result_view_type result_;
};

}  // namespace tessera::collective
