#pragma once

#include <string>

namespace tessera {

/// Bytes that the control groups of this process still allow: the least of all from its own up to the root, since each
/// of them counts. Infinity where there is no limit. Cached files that the kernel would give up count as free.
///
/// `groups` is /proc/self/cgroup, `mount` /sys/fs/cgroup.
[[nodiscard]] double control_group_free_bytes(std::string const& groups = "/proc/self/cgroup",
                                              std::string const& mount = "/sys/fs/cgroup");

}  // namespace tessera
