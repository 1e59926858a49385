#include <tessera/table/poisoned_allocations.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tessera/core/spaces.hpp>

namespace tessera {

namespace {

namespace tools = Kokkos::Tools::Experimental;

// The callback of a loaded tool, which is called first.
Kokkos::Tools::allocateDataFunction others = nullptr;

// The space itself fills the memory: on a host its threads touch the pages first, as kernels do later.
template <class Exec>
void fill(void* memory, std::size_t bytes) {
  auto* const words = static_cast<std::uint64_t*>(memory);  // allocations begin at multiples of 64 bytes
  auto* const rest = static_cast<unsigned char*>(memory) + bytes / 8 * 8;
  std::size_t const count = bytes / 8;
  std::size_t const left = bytes % 8;
  Kokkos::parallel_for(
      "tessera::poison", over(Exec(), count + 1), KOKKOS_LAMBDA(std::size_t i) {
        if (i < count) {
          words[i] = ~std::uint64_t{0};
        } else {
          for (std::size_t k = 0; k < left; ++k) rest[k] = 255;
        }
      });
  Exec().fence("tessera: poison");
}

void poison(Kokkos::Tools::SpaceHandle const handle, char const* label, void const* memory, std::uint64_t size) {
  if (others != nullptr) others(handle, label, memory, size);
  // Only our Views: Kokkos' internal allocations have no header before their elements. `size` is the size of the
  // elements; the header is written after this call. For a View without elements `size` is the header's size, so an
  // allocation of exactly that size is skipped.
  constexpr std::size_t header = sizeof(Kokkos::Impl::SharedAllocationHeader);
  if (!std::string_view(label).starts_with("tessera") || size == header) return;
  auto const bytes = static_cast<std::size_t>(size) + header;
  for_each_type(EnabledSpaces{}, [&]<class Exec>() {
    static bool filled = false;
    if (std::string_view(handle.name) != Exec::memory_space::name() || filled) return;
    filled = true;  // the fill itself must not trigger a fill
    fill<Exec>(const_cast<void*>(memory), bytes);
    filled = false;
  });
}

}  // namespace

PoisonedAllocations::PoisonedAllocations() {
  others = tools::get_callbacks().allocate_data;
  tools::set_allocate_data_callback(&poison);
}

PoisonedAllocations::~PoisonedAllocations() {
  tools::set_allocate_data_callback(others);
  others = nullptr;
}

}  // namespace tessera
