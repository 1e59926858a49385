#pragma once
/// \file
/// The serial references of a Problem, compiled for the dtypes of this build only.

#include <cstdint>
#include <type_traits>
#include <vector>

#include <tessera/core/config.hpp>
#include <tessera/core/half.hpp>
#include <tessera/core/problem.hpp>
#include <tessera/core/type_list.hpp>

namespace tessera {

/// Calls `body.template operator()<T>()` for each enabled dtype that the Problem supports; int32 enables all integers.
template <class Problem, class Body>
void for_each_dtype(Body&& body) {
  for_each_type(EnabledDTypes{}, [&]<class T>() {
    if constexpr (!ShortFloat<T> || has_short_floats<Problem>) body.template operator()<T>();
  });
  // Not within the loop above, where nvcc instantiates calls that do not depend on T for every Problem.
  if constexpr (has_more_integers<Problem> && contains<std::int32_t>(EnabledDTypes{})) {
    for_each_type(TypeList<std::int64_t, std::uint32_t, std::uint64_t>{}, body);
  }
}

namespace detail {

template <class Problem, class T>
void append_references(std::vector<void (*)()>& all) {
  all.push_back(reinterpret_cast<void (*)()>(&Problem::template reference<T>));
  if constexpr (requires { &Problem::template reference_of_part<T>; }) {
    all.push_back(reinterpret_cast<void (*)()>(&Problem::template reference_of_part<T>));
  }
  if constexpr (requires { &Problem::template reference_of_rows<T>; }) {
    all.push_back(reinterpret_cast<void (*)()>(&Problem::template reference_of_rows<T>));
  }
}

}  // namespace detail

/// Compiles reference<T>, and reference_of_part<T> and reference_of_rows<T> if the Problem has them, for each enabled
/// dtype. Each reference.cpp
/// ends with `template struct tessera::References<tessera::map::Map>;`.
template <class Problem>
struct References {
  /// Returns their addresses. Nothing needs them; they keep the compiler from leaving out a function.
  [[nodiscard]] static std::vector<void (*)()> addresses() {
    std::vector<void (*)()> all;
    for_each_dtype<Problem>([&]<class T>() { detail::append_references<Problem, T>(all); });
    return all;
  }
};

}  // namespace tessera
