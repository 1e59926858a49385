#pragma once
// Where the threads of a launch may run. Times of launches that differ in it do not compare.

#include <string>

#include <tessera/report/report.hpp>

namespace tessera::report {

/// For the report's `system`: `processors`, those that this process may use as a list ("0-3,8"), and each variable of
/// OpenMP's runtimes that is set (OMP_..., GOMP_..., KMP_...).
[[nodiscard]] Facts thread_facts();

/// "processors 0-3,8, OMP_PLACES=threads OMP_PROC_BIND=spread", of such facts. Other facts are left out.
[[nodiscard]] std::string thread_text(Facts const& facts);

/// "2 threads": the end of a host space's device; empty for a GPU.
[[nodiscard]] std::string threads_of_device(std::string const& device);

}  // namespace tessera::report
