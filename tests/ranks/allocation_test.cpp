// Communication in timed launches must not allocate. The test counts every operator new of the calling thread. It does
// not see memory that MPI allocates itself, or allocations by threads of MPI or the GPU driver.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <tessera/ranks/bulk.hpp>
#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/ordered_reduction.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/rows_from_owners.hpp>
#include <tessera/ranks/runs_to_places.hpp>
#include <tessera/ranks/transport.hpp>

namespace {

thread_local std::uint64_t allocations = 0;

[[maybe_unused]] void* allocated(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

[[maybe_unused]] void* allocated_or_null(std::size_t size) {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}

}  // namespace

// CUDA's compiler treats these as device functions, too.
void* operator new(std::size_t size) {
  KOKKOS_IF_ON_HOST((return allocated(size);))
  KOKKOS_IF_ON_DEVICE(((void)size; return nullptr;))
}
void* operator new[](std::size_t size) {
  KOKKOS_IF_ON_HOST((return allocated(size);))
  KOKKOS_IF_ON_DEVICE(((void)size; return nullptr;))
}
// All forms without alignment are replaced together, because one form may free memory allocated by another.
void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  KOKKOS_IF_ON_HOST((return allocated_or_null(size);))
  KOKKOS_IF_ON_DEVICE(((void)size; return nullptr;))
}
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept {
  KOKKOS_IF_ON_HOST((return allocated_or_null(size);))
  KOKKOS_IF_ON_DEVICE(((void)size; return nullptr;))
}
void operator delete(void* memory, std::nothrow_t const&) noexcept { std::free(memory); }
void operator delete[](void* memory, std::nothrow_t const&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tessera {

namespace {

using ranks::Message;

ranks::Ranks const& world() { return ranks::world(); }

// Returns the number of allocations of `call`, which is called once before, like a warm-up launch.
template <class Call>
std::uint64_t allocations_of(Call const& call) {
  call();
  std::uint64_t const before = allocations;
  call();
  return allocations - before;
}

TEST(Allocations, AreCounted) {
  std::vector<std::vector<int>> kept;
  EXPECT_GT(allocations_of([&] { kept.emplace_back(100); }), 0U);
}

TEST(Allocations, NoneForWords) {
  int sum = 0;
  auto const add = [](int a, int b) { return a + b; };
  std::vector<int> all(static_cast<std::size_t>(world().count()));
  std::vector<double> numbers(1000, 1);
  EXPECT_EQ(allocations_of([&] {
              sum += world().fold(1, add) + world().fold_before(1, 0, add);
              world().all_gather(world().rank(), std::span(all));
              world().sum(std::span(numbers));
              world().barrier();
            }),
            0U);
  EXPECT_EQ(sum, 2 * (world().count() + world().rank()));
  EXPECT_EQ(all.back(), world().count() - 1);
}

// A ring, with more than one message in flight.
TEST(Allocations, NoneForMessages) {
  int const count = world().count();
  int const to = (world().rank() + 1) % count;
  int const from = (world().rank() + count - 1) % count;
  std::vector<std::uint32_t> out(5001, static_cast<std::uint32_t>(world().rank()));
  std::vector<std::uint32_t> in(5001);
  std::vector<Message> const sent{{to, out.data(), 4 * 5000}, {to, out.data() + 5000, 4}};
  std::vector<Message> const received{{from, in.data(), 4 * 5000}, {from, in.data() + 5000, 4}};
  EXPECT_EQ(allocations_of([&] { world().exchange(sent, received); }), 0U);
  ranks::Exchange exchange(world(), 2);
  EXPECT_EQ(allocations_of([&] {
              exchange.begin(sent, received);
              exchange.wait();
            }),
            0U);
  if (count > 1) {
    EXPECT_EQ(allocations_of([&] {
                exchange.in_blocks(sent, received, 64, [](std::size_t) {}, [](ranks::MessageBlock const&) {});
              }),
              0U);
  }
  EXPECT_EQ(in.back(), static_cast<std::uint32_t>(from));
}

// On hosts, MPI handles the messages completely.
TEST(Allocations, NoneForBulkOnAHost) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  Exec const exec;
  int const count = world().count();
  if (count == 1) return;
  ranks::choose_transport("auto", true);
  int const to = (world().rank() + 1) % count;
  int const from = (world().rank() + count - 1) % count;
  std::vector<std::uint32_t> out(5000, static_cast<std::uint32_t>(world().rank()));
  std::vector<std::uint32_t> in(5000);
  std::vector<Message> const sent{{to, out.data(), 4 * 5000}};
  std::vector<Message> const received{{from, in.data(), 4 * 5000}};
  ranks::Bulk<Exec> bulk(exec, world(), "test", {.messages = 1, .sent = 20000, .received = 20000});
  EXPECT_EQ(allocations_of([&] { bulk(exec, sent, received); }), 0U);
  EXPECT_EQ(in.back(), static_cast<std::uint32_t>(from));
}

// The first half of each rank's elements forms the first run, the second half the second run behind it.
TEST(Allocations, NoneForRunsToPlacesOnAHost) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  Exec const exec;
  ranks::choose_transport("auto", true);
  std::size_t const each = 1000;
  std::vector<int> from(each, world().rank());
  std::vector<int> own(each);
  ranks::RunsToPlaces<Exec, int, 2> give(exec, world(), each * static_cast<std::size_t>(world().count()), each, "t");
  EXPECT_EQ(allocations_of([&] { give(exec, {each / 2, each / 2}, from.data(), own.data()); }), 0U);
  EXPECT_EQ(own.back(), (2 * world().rank() + 1) % world().count());
}

struct Nothing {
  KOKKOS_FUNCTION void operator()(Kokkos::TeamPolicy<Kokkos::DefaultHostExecutionSpace>::member_type const&) const {}
  KOKKOS_FUNCTION void operator()(int, int&, bool) const {}
};

// First indices into all ranks' rows, then into one rank's. (The label is short because Kokkos copies the label of a
// team launch.)
TEST(Allocations, NoneForRowsFromOwnersOnAHost) {
  using Exec = Kokkos::DefaultHostExecutionSpace;
  using Memory = Exec::memory_space;
  Exec const exec;
  std::uint64_t const of_kokkos = allocations_of([&] {
    Kokkos::parallel_for("t", Kokkos::TeamPolicy<Exec>(exec, 1, 1), Nothing());
    Kokkos::parallel_scan("t", Kokkos::RangePolicy<Exec, int>(exec, 0, 1), Nothing());
  });
  if (of_kokkos > 0) GTEST_SKIP() << "launches of this Kokkos allocate by themselves";
  ranks::choose_transport("auto", true);
  std::size_t const rows = 100 * static_cast<std::size_t>(world().count());
  Array<float**, Memory> const table("table", 100, 8);
  Array<float**, Memory> const out("out", 300, 8);
  Array<std::int32_t*, Memory> const numbers("numbers", 300);
  Kokkos::deep_copy(table, static_cast<float>(world().rank()));
  ranks::RowsFromOwners<Exec, float> look_up(exec, world(), 300, 300, rows, table, 0, "t");
  for (bool const of_one : {false, true}) {
    for (std::size_t i = 0; i < 300; ++i) numbers(i) = static_cast<std::int32_t>(of_one ? rows - 1 : i * 37 % rows);
    EXPECT_EQ(allocations_of([&] { look_up(exec, numbers, table, out); }), 0U);
    exec.fence();
    EXPECT_EQ(out(299, 7), static_cast<float>(numbers(299) / 100));
  }
}

TEST(Allocations, NoneForHalosAndSums) {
  std::vector<int> rows(6);
  std::vector<int> beside(6);
  ranks::Halo halo(world(), static_cast<std::size_t>(3 * world().count()), {3, 3}, sizeof(int));
  halo.lies_at(rows.data(), rows.data(), beside.data(), beside.data() + 3);
  EXPECT_EQ(allocations_of([&] { halo.exchange(); }), 0U);
  ranks::OrderedReduction<float> const sum(world(), 10007);
  EXPECT_EQ(allocations_of([&] { sum.reduce(); }), 0U);
}

}  // namespace
}  // namespace tessera
