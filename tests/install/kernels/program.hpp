#pragma once
// Shared by the programs in this folder: a comparison that reports where it failed, and a main() that calls the
// program's check.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdio>
#include <stdexcept>

/// Defined by each program; returns the number of errors.
int check(Kokkos::DefaultExecutionSpace const& exec);

/// Returns 1 and prints a line on stderr if `found` differs from `expected`.
template <class T>
int differs(char const* what, std::size_t where, T found, T expected) {
  if (found == expected) return 0;
  std::fprintf(stderr, "%s: at %zu is %g, not %g\n", what, where, static_cast<double>(found),
               static_cast<double>(expected));
  return 1;
}

/// Returns 1 and prints a line on stderr if `call` does not refuse its arguments.
template <class Call>
int accepts(char const* what, Call const& call) {
  try {
    call();
  } catch (std::invalid_argument const&) {
    return 0;
  }
  std::fprintf(stderr, "%s was accepted\n", what);
  return 1;
}

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  int const wrong = check(Kokkos::DefaultExecutionSpace());
  std::puts(wrong == 0 ? "kernel: ok" : "kernel: FAILED");
  return wrong == 0 ? 0 : 1;
}
