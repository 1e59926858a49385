#pragma once

#include <string>

namespace tessera {

/// Returns the bytes that the control groups of this process still allow: the minimum over the groups from its own up
/// to the root, because each limit applies. Infinity if there is no limit. Cached files that the kernel can drop count
/// as free.
///
/// `groups` is /proc/self/cgroup, `mount` /sys/fs/cgroup.
[[nodiscard]] double control_group_free_bytes(std::string const& groups = "/proc/self/cgroup",
                                              std::string const& mount = "/sys/fs/cgroup");

/// Returns the bytes that the limits of this process still allow (`ulimit -v`, `ulimit -d`), minus a reserve for its
/// own threads. Infinity if there is no limit.
///
/// `status` is /proc/self/status.
[[nodiscard]] double process_free_bytes(std::string const& status = "/proc/self/status");

/// Returns the bytes of the last-level caches of all processors together (a processor with several chiplets has
/// several). 0 if unknown.
///
/// `processors` is /sys/devices/system/cpu.
[[nodiscard]] double last_level_cache_bytes(std::string const& processors = "/sys/devices/system/cpu");

}  // namespace tessera
