/// \file
/// Block by block on one instance: nothing overlaps.

#include "../blocks.hpp"

namespace tessera::concurrent {

struct Blocks {
  static constexpr VariantInfo info{.name = "blocks",
                                    .level = Level::range,
                                    .summary = "from host memory: copy in, process, copy out, one block after another"};

  template <ExecutionSpace Exec, class T>
  struct Plan : OfBlocks<Exec, T> {
    using Plan::OfBlocks::OfBlocks;

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const&, ArrayOn<T*, Exec> const&) const {
      for (std::int64_t block = 0; block < this->blocks(); ++block) {
        this->copy_in(exec, block);
        this->process("tessera::concurrent::blocks::step", exec, block);
        this->copy_out(exec, block);
      }
    }
  };
};

VariantRows blocks() { return rows<Concurrent, Blocks>(); }

}  // namespace tessera::concurrent
