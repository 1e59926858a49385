#pragma once
/// \file
/// Kernel objects, and their workspaces, that outlive the call that constructed them. All functions must be called with
/// the lock of running().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tessera::python {

/// What an object was constructed from: its type, the stream's number and all that its constructor got. Only a view: to
/// find an object allocates nothing.
struct KeptKey {
  void const* type;
  std::uint64_t stream;
  std::span<std::uint64_t const> numbers;
};

/// Its address identifies a type.
template <class T>
inline constexpr char type_number = 0;

/// Counts what Kokkos allocates in Views from its construction on. Objects must not nest.
class AllocatedBytes {
 public:
  AllocatedBytes();
  ~AllocatedBytes();
  AllocatedBytes(AllocatedBytes const&) = delete;
  AllocatedBytes& operator=(AllocatedBytes const&) = delete;

  [[nodiscard]] std::size_t count() const;
};

/// Returns the object of this key; nullptr if it is not kept.
[[nodiscard]] void* find_kept(KeptKey const& key);

/// Keeps an object with a workspace of that size, and a copy of the numbers.
void keep(KeptKey const& key, std::shared_ptr<void> object, std::size_t bytes);

/// Destroys the objects that were not used for longest, until the others are within the limits. Nobody may hold a
/// reference to an object. Waits for all work of all devices before: the stream that used an object may be destroyed.
void keep_to_the_limits();

/// Destroys all objects, after a wait as above. Kokkos must run.
void forget_all();

/// At most this many objects, and bytes of their workspaces, are kept between calls.
inline constexpr std::size_t most_kept = 64;
inline constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;

}  // namespace tessera::python
