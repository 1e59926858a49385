/// \file
/// A copy in pieces of 16 bytes, each --bytes beyond a 16-byte boundary. The address of a GPU's access must be a
/// multiple of the access width: a piece that is 8 bytes off takes two accesses, 4 bytes off four, 2 bytes off eight,
/// and a piece at an odd address one per byte. A host's vectors may lie anywhere.

#include "../model.hpp"

#include <bit>
#include <cstring>

namespace tessera::memory_access {

namespace {

constexpr std::size_t piece_bytes = 16;

/// The bytes of one access.
template <std::size_t Width>
struct alignas(Width) Access {
  unsigned char at[Width];
};

/// Copies a piece. \tparam Width bytes per access; both addresses must be multiples of it
template <std::size_t Width>
KOKKOS_INLINE_FUNCTION void move_piece(unsigned char* to, unsigned char const* from) {
  KOKKOS_IF_ON_HOST((std::memcpy(to, from, piece_bytes);))
  KOKKOS_IF_ON_DEVICE((for (std::size_t k = 0; k < piece_bytes / Width; ++k) {
    reinterpret_cast<Access<Width>*>(to)[k] = reinterpret_cast<Access<Width> const*>(from)[k];
  }))
}

}  // namespace

struct OffBoundary {
  static constexpr VariantInfo info{.name = "off_boundary",
                                    .level = Level::range,
                                    .summary = "pieces of 16 bytes, --bytes beyond a 16-byte boundary"};

  template <ExecutionSpace Exec, class T>
  class Plan : public Told {
   public:
    Plan(Exec const&, InputOn<MemoryAccess, Exec, T> const& input)
        : Told(machine_of<Exec>(), "copied", input.in.extent(0), 2 * sizeof(T)),
          bytes_(input.in.extent(0) * sizeof(T)),
          shift_(std::min(static_cast<std::size_t>(input.parameters.bytes), bytes_)) {
      std::size_t const accesses = piece_bytes / width_at(shift_);
      tell_passes(is_gpu<Exec> ? static_cast<double>(accesses) : 1,
                  accesses == 1 ? " access per piece" : " accesses per piece");
    }

    void operator()(Exec const& exec, InputOn<MemoryAccess, Exec, T> const& input,
                    OutputOn<MemoryAccess, Exec, T> const& output) const {
      auto const* const in = reinterpret_cast<unsigned char const*>(input.in.data());
      auto* const out = reinterpret_cast<unsigned char*>(output.copied.data());
      // The caller's memory may begin at any address.
      switch (
          width_at(reinterpret_cast<std::uintptr_t>(in + shift_) | reinterpret_cast<std::uintptr_t>(out + shift_))) {
        case 16: return move<16>(exec, in, out);
        case 8: return move<8>(exec, in, out);
        case 4: return move<4>(exec, in, out);
        case 2: return move<2>(exec, in, out);
        default: return move<1>(exec, in, out);
      }
    }

    /// One index per piece, and one more for the bytes before the first piece and after the last.
    template <std::size_t Width>
    void move(Exec const& exec, unsigned char const* in, unsigned char* out) const {
      std::size_t const bytes = bytes_;
      std::size_t const shift = shift_;
      std::size_t const pieces = (bytes - shift) / piece_bytes;
      Kokkos::parallel_for(
          "tessera::memory_access::off_boundary::copy", over(exec, pieces + 1), KOKKOS_LAMBDA(std::size_t i) {
            std::size_t const at = shift + i * piece_bytes;
            if (i < pieces) {
              move_piece<Width>(out + at, in + at);
            } else {
              for (std::size_t k = 0; k < shift; ++k) out[k] = in[k];
              for (std::size_t k = at; k < bytes; ++k) out[k] = in[k];
            }
          });
    }

   private:
    // Returns the widest access that the address allows, up to a piece.
    [[nodiscard]] static std::size_t width_at(std::uintptr_t address) {
      return std::size_t{1} << std::countr_zero(address | piece_bytes);
    }

    std::size_t bytes_;
    std::size_t shift_;
  };
};

VariantRows off_boundary() { return rows<MemoryAccess, OffBoundary>(); }

}  // namespace tessera::memory_access
