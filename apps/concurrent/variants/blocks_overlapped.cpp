/// \file
/// Block by block on three instances: while one block is processed, the next is copied in, and the one before is copied
/// out. Three buffers: a block may be copied in only when the block three before it has left its buffer.

#include "../blocks.hpp"

namespace tessera::concurrent {

struct BlocksOverlapped {
  static constexpr VariantInfo info{.name = "blocks_overlapped",
                                    .level = Level::range,
                                    .summary = "blocks with an instance for each copy, and three buffers"};

  template <ExecutionSpace Exec, class T>
  class Plan : public OfBlocks<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Concurrent, Exec, T> const& input) : Plan::OfBlocks(exec, input), all_(exec, 3) {}

    void operator()(Exec const& exec, ArrayOn<T const*, Exec> const&, ArrayOn<T*, Exec> const&) const {
      Exec const& in = all_[0];
      Exec const& middle = all_[1];
      Exec const& out = all_[2];
      all_.fork(exec);
      for (std::int64_t block = 0; block < this->blocks(); ++block) {
        auto const& [filled, processed, emptied] = of_buffer_[block % Plan::buffers];
        if (block >= Plan::buffers) emptied.hold(in);
        this->copy_in(in, block);
        filled.record(in);
        filled.hold(middle);
        this->process("tessera::concurrent::blocks_overlapped::step", middle, block);
        processed.record(middle);
        processed.hold(out);
        this->copy_out(out, block);
        emptied.record(out);
      }
      all_.join(exec);
    }

   private:
    struct OfBuffer {
      kernels::Event<Exec> filled;
      kernels::Event<Exec> processed;
      kernels::Event<Exec> emptied;
    };

    kernels::Instances<Exec> all_;
    OfBuffer of_buffer_[Plan::buffers];
  };
};

VariantRows blocks_overlapped() { return rows<Concurrent, BlocksOverlapped>(); }

}  // namespace tessera::concurrent
