#pragma once
// Asynchronous copies into scratch (collective/async_copy.hpp), emulated on a host. Hardware may copy at any time
// between copy_async() and wait(): one model copies at the earliest moment, the other at the latest. Code that passes
// the tests with both models waits before it reads, and does not overwrite places that are still being read.

#include <cstddef>
#include <cstring>
#include <vector>

#include <Kokkos_Core.hpp>

#include <tessera/collective/async_copy.hpp>

namespace tessera::test {

// When an emulated copy happens.
enum class Arrival { at_once, at_wait };

// The copies of one host thread, for all lanes that it emulates. Does nothing on a device.
template <Arrival arrival>
class EmulatedCopies {
 public:
  KOKKOS_FUNCTION EmulatedCopies() { KOKKOS_IF_ON_HOST((queue_ = new Queue;)) }
  KOKKOS_FUNCTION ~EmulatedCopies() { KOKKOS_IF_ON_HOST((delete queue_;)) }
  EmulatedCopies(EmulatedCopies const&) = delete;
  EmulatedCopies& operator=(EmulatedCopies const&) = delete;

  template <int Bytes>
  KOKKOS_FUNCTION void copy_async(void* to, void const* from, bool take) const {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "Tessera: an asynchronous copy has 4, 8 or 16 bytes");
    KOKKOS_IF_ON_HOST((queue_->start({to, take ? from : nullptr, Bytes});))
  }
  KOKKOS_FUNCTION void commit() const { KOKKOS_IF_ON_HOST((queue_->ends.push_back(queue_->copies.size());)) }
  template <int N>
  KOKKOS_FUNCTION void wait() const {
    static_assert(N >= 0);
    KOKKOS_IF_ON_HOST((queue_->let_arrive(N);))
  }

 private:
  struct Copy {
    void* to;
    void const* from;  // null: zeros
    std::size_t bytes;

    void carry_out() const {
      if (from != nullptr) {
        std::memcpy(to, from, bytes);
      } else {
        std::memset(to, 0, bytes);
      }
    }
  };
  struct Queue {
    std::vector<Copy> copies;
    std::vector<std::size_t> ends;  // of the groups

    void start(Copy const& copy) {
      if (arrival == Arrival::at_once) {
        copy.carry_out();
      } else {
        copies.push_back(copy);
      }
    }
    void let_arrive(std::size_t all_but) {
      if (ends.size() <= all_but) return;
      std::size_t const groups = ends.size() - all_but;
      std::size_t const arrived = ends[groups - 1];
      for (std::size_t i = 0; i < arrived; ++i) copies[i].carry_out();
      copies.erase(copies.begin(), copies.begin() + static_cast<std::ptrdiff_t>(arrived));
      ends.erase(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(groups));
      for (std::size_t& end : ends) end -= arrived;
    }
  };

  Queue* queue_ = nullptr;
};

}  // namespace tessera::test
