#pragma once
// The processors that the threads of a launch may use. Times of launches with different threads are not comparable.

#include <string>

#include <tessera/report/report.hpp>

namespace tessera::report {

/// Returns facts for the report's `system`: `processors`, the list of processors that this process may use ("0-3,8"),
/// and each environment variable of the OpenMP runtimes that is set (OMP_..., GOMP_..., KMP_...).
[[nodiscard]] Facts thread_facts();

/// Returns "processors 0-3,8, OMP_PLACES=threads OMP_PROC_BIND=spread" for such facts. Other facts are ignored.
[[nodiscard]] std::string thread_text(Facts const& facts);

/// Returns "2 threads", the end of a host space's device name; empty for a GPU.
[[nodiscard]] std::string threads_of_device(std::string const& device);

}  // namespace tessera::report
