#pragma once
/// \file
/// Large blocks of host memory that one case leaves to the next. Fresh pages take longer than what is written to them:
/// a block that was used before has none.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

namespace tessera {

/// The pool of this process. It keeps blocks only while a HostPool::Keeping exists; otherwise, blocks are freed with
/// their last owner. The blocks of a pool never take more memory than the blocks that were in use at one time.
class HostPool {
 public:
  using Block = std::shared_ptr<unsigned char>;
  /// Smaller blocks are not kept: malloc keeps them (Cases::keep_freed_memory).
  static constexpr std::size_t least_bytes = std::size_t{32} << 20;

  [[nodiscard]] static HostPool& instance() {
    static HostPool& pool = *new HostPool;  // blocks may be freed after static objects
    return pool;
  }

  /// Returns a kept block of the same kind and size, or a new one: what `make` returns. A kind has a purpose: the pages
  /// of a kept block are near the threads that touched them first. The content is unspecified.
  [[nodiscard]] Block take(std::string_view kind, std::size_t bytes, std::function<Block()> const& make) {
    if (bytes < least_bytes) return make();
    Block block;
    {
      std::lock_guard const lock(mutex_);
      auto const kept =
          std::ranges::find_if(kept_, [&](Kept const& one) { return one.kind == kind && one.bytes == bytes; });
      if (kept != kept_.end()) {
        block = std::move(kept->block);
        kept_bytes_ -= bytes;
        kept_.erase(kept);
      } else {
        free_down_to(std::max(most_, used_ + bytes) - used_ - bytes);
      }
      used_ += bytes;
      if (block) most_ = std::max(most_, used_);
    }
    if (!block) {
      try {
        block = make();
      } catch (...) {
        std::lock_guard const lock(mutex_);
        used_ -= bytes;
        throw;
      }
      std::lock_guard const lock(mutex_);
      most_ = std::max(most_, used_);
    }
    unsigned char* const data = block.get();
    return {data, [block = std::move(block), kind, bytes](unsigned char*) mutable {
              instance().give_back({kind, bytes, std::move(block)});
            }};
  }

  /// Returns the bytes of blocks that are kept and not in use.
  [[nodiscard]] double kept_bytes() {
    std::lock_guard const lock(mutex_);
    return static_cast<double>(kept_bytes_);
  }

  /// Frees the blocks that are kept and not in use.
  void release() {
    std::lock_guard const lock(mutex_);
    free_down_to(0);
    most_ = used_;
  }

  /// The pool keeps blocks during its lifetime. It frees them at the end.
  class Keeping {
   public:
    Keeping() { instance().keep(true); }
    ~Keeping() { instance().keep(false); }
    Keeping(Keeping const&) = delete;
    Keeping& operator=(Keeping const&) = delete;
  };

 private:
  struct Kept {
    std::string_view kind;
    std::size_t bytes;
    Block block;
  };

  HostPool() = default;

  void keep(bool keeps) {
    std::lock_guard const lock(mutex_);
    keeps_ = keeps;
    free_down_to(0);
    most_ = used_;
  }

  void give_back(Kept returned) {
    std::lock_guard const lock(mutex_);
    used_ -= returned.bytes;
    if (!keeps_ || used_ + kept_bytes_ + returned.bytes > most_) return;
    kept_bytes_ += returned.bytes;
    kept_.push_back(std::move(returned));
  }

  // Frees the oldest blocks.
  void free_down_to(std::size_t bytes) {
    while (kept_bytes_ > bytes) {
      kept_bytes_ -= kept_.front().bytes;
      kept_.pop_front();
    }
  }

  std::mutex mutex_;
  std::deque<Kept> kept_;
  std::size_t kept_bytes_ = 0;
  std::size_t used_ = 0;
  std::size_t most_ = 0;  // that was in use at one time
  bool keeps_ = false;
};

/// Returns a kept or a new array of `count` numbers, with unspecified values, that only the driver reads and writes.
template <class Number>
[[nodiscard]] std::shared_ptr<Number[]> pooled_array(std::size_t count) {
  HostPool::Block const block = HostPool::instance().take("array", count * sizeof(Number), [&] {
    std::shared_ptr<Number[]> const numbers(new Number[count]);
    return HostPool::Block(numbers, reinterpret_cast<unsigned char*>(numbers.get()));
  });
  return {block, reinterpret_cast<Number*>(block.get())};
}

}  // namespace tessera
