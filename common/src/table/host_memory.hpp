#pragma once

#include <string>

namespace tessera {

/// Bytes that the control groups of this process still allow: the least of all from its own up to the root, since each
/// of them counts. Infinity where there is no limit. Cached files that the kernel would give up count as free.
///
/// `groups` is /proc/self/cgroup, `mount` /sys/fs/cgroup.
[[nodiscard]] double control_group_free_bytes(std::string const& groups = "/proc/self/cgroup",
                                              std::string const& mount = "/sys/fs/cgroup");

/// Bytes that the limits of this process still allow (`ulimit -v`, `ulimit -d`), less those that its own threads may take.
/// Infinity where there is no limit.
///
/// `status` is /proc/self/status.
[[nodiscard]] double process_free_bytes(std::string const& status = "/proc/self/status");

/// Bytes of the last-level caches of all processors together: a processor of many chiplets has as many of them. 0 if they are not
/// known.
///
/// `processors` is /sys/devices/system/cpu.
[[nodiscard]] double last_level_cache_bytes(std::string const& processors = "/sys/devices/system/cpu");

}  // namespace tessera
