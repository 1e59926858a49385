#include "kept.hpp"

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels.hpp"
#include "runtime.hpp"

namespace tessera::python {

namespace {

namespace tools = Kokkos::Tools::Experimental;

struct Kept {
  void const* type;
  std::uint64_t stream;
  std::vector<std::uint64_t> numbers;
  std::shared_ptr<void> object;
  std::size_t bytes;

  [[nodiscard]] bool is(KeptKey const& key) const {
    return type == key.type && stream == key.stream && std::ranges::equal(numbers, key.numbers);
  }
};

// The last used is the first. Never destroyed: a process may end without Kokkos.
struct Store {
  std::vector<std::unique_ptr<Kept>> objects;
  std::size_t bytes = 0;
  std::size_t limit = most_kept_bytes;
};
Store& store() {
  static Store& one = *new Store;
  return one;
}

// The callback of a loaded tool, which is called first.
Kokkos::Tools::allocateDataFunction others = nullptr;
std::size_t allocated = 0;

void count_allocation(Kokkos::Tools::SpaceHandle const handle, char const* label, void const* memory,
                      std::uint64_t size) {
  if (others != nullptr) others(handle, label, memory, size);
  allocated += static_cast<std::size_t>(size);
}

// An object is forgotten also if the wait throws: later calls would fail on it again.
void forget(std::size_t i) {
  Store& all = store();
  std::unique_ptr<Kept> const one = std::move(all.objects[i]);
  all.objects.erase(all.objects.begin() + static_cast<std::ptrdiff_t>(i));
  all.bytes -= one->bytes;
  Kokkos::fence("tessera: python");
}

}  // namespace

AllocatedBytes::AllocatedBytes() {
  allocated = 0;
  others = tools::get_callbacks().allocate_data;
  tools::set_allocate_data_callback(&count_allocation);
}

AllocatedBytes::~AllocatedBytes() {
  tools::set_allocate_data_callback(others);
  others = nullptr;
}

std::size_t AllocatedBytes::count() const { return allocated; }

void* find_kept(KeptKey const& key) {
  auto& objects = store().objects;
  auto const found = std::ranges::find_if(objects, [&](auto const& one) { return one->is(key); });
  if (found == objects.end()) return nullptr;
  std::rotate(objects.begin(), found, found + 1);
  return objects.front()->object.get();
}

void keep(KeptKey const& key, std::shared_ptr<void> object, std::size_t bytes) {
  Store& all = store();
  std::vector<std::uint64_t> numbers(key.numbers.begin(), key.numbers.end());
  auto kept = std::make_unique<Kept>(Kept{key.type, key.stream, std::move(numbers), std::move(object), bytes});
  all.objects.insert(all.objects.begin(), std::move(kept));
  all.bytes += bytes;
}

void keep_to_the_limits() {
  Store& all = store();
  // One that is too large does not push out all others.
  for (std::size_t i = all.objects.size(); i-- > 0 && all.bytes > all.limit;) {
    if (all.objects[i]->bytes > all.limit) forget(i);
  }
  while (all.objects.size() > most_kept || all.bytes > all.limit) forget(all.objects.size() - 1);
}

void forget_all() {
  while (!store().objects.empty()) forget(store().objects.size() - 1);
}

Workspaces workspaces() {
  std::unique_lock<std::mutex> const lock = at_rest();
  return {store().objects.size(), store().bytes, store().limit};
}

void limit_workspaces(std::size_t bytes) {
  std::unique_lock<std::mutex> const lock = at_rest();
  store().limit = bytes;
  keep_to_the_limits();
}

void clear_workspaces() {
  std::unique_lock<std::mutex> const lock = at_rest();
  forget_all();
}

}  // namespace tessera::python
