#include <tessera/table/row_memory.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <type_traits>

#include <tessera/core/host_pool.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/with_dtype.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera {

namespace {

constexpr unsigned char guard_pattern = 0xA5;

template <class Memory>
using Bytes = Kokkos::View<unsigned char*, Memory>;

template <class Memory>
constexpr bool on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;

template <class Memory>
std::shared_ptr<unsigned char> allocate(std::size_t bytes, std::string const& label) {
  auto const owner = std::make_shared<Bytes<Memory>>(unset(label), bytes);
  return {owner, owner->data()};
}

// Calls body.operator()<Exec>() for the space with that name.
template <class Body>
void in_space(std::string_view space, Body const& body) {
  if (!with_space(space, body)) throw std::runtime_error("no execution space `" + std::string(space) + "`");
}

// Copies within host memory, on all cores.
void copy_on_host(void* to, void const* from, std::size_t bytes) {
  for_blocks(bytes, std::size_t{1} << 22, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::memcpy(static_cast<unsigned char*>(to) + begin, static_cast<unsigned char const*>(from) + begin, end - begin);
  });
}

constexpr std::size_t pinned_bytes = std::size_t{1} << 26;

// Returns pinned memory that has no other owner, for copies from and to a device at the bus' full speed. Allocating it
// takes longer than using it, so blocks are kept until the end.
std::shared_ptr<unsigned char> pinned_memory() {
  static std::vector<std::shared_ptr<unsigned char>> blocks;
  for (auto const& block : blocks) {
    if (block.use_count() == 1) return block;
  }
  if (blocks.empty()) Kokkos::push_finalize_hook([] { blocks.clear(); });
  return blocks.emplace_back(allocate<Kokkos::SharedHostPinnedSpace>(pinned_bytes, "tessera: pinned"));
}

// Starts a copy between pinned memory and the memory of a device.
template <class Exec, bool ToHost>
void start_copy(Exec const& exec, unsigned char* pinned, unsigned char* device, std::size_t bytes) {
  auto const host = unmanaged<Kokkos::SharedHostPinnedSpace>(pinned, bytes);
  auto const other = unmanaged<typename Exec::memory_space>(device, bytes);
  if constexpr (ToHost) {
    Kokkos::deep_copy(exec, host, other);
  } else {
    Kokkos::deep_copy(exec, other, host);
  }
}

// Copies between host memory and memory that the host cannot access. Large copies go through two blocks of pinned
// memory: all cores fill or empty one of them while the bus moves the other.
template <class Exec, bool ToHost>
void copy_across(unsigned char* host, unsigned char* device, std::size_t bytes) {
  if (bytes <= pinned_bytes / 16) {
    auto const here = unmanaged<Kokkos::HostSpace>(host, bytes);
    auto const there = unmanaged<typename Exec::memory_space>(device, bytes);
    if constexpr (ToHost) {
      Kokkos::deep_copy(here, there);
    } else {
      Kokkos::deep_copy(there, here);
    }
    return;
  }
  std::shared_ptr<unsigned char> const one = pinned_memory();
  std::shared_ptr<unsigned char> const other = pinned_memory();
  std::array<unsigned char*, 2> const pinned{one.get(), other.get()};
  std::size_t const pieces = blocks_in(bytes, pinned_bytes);
  auto const length = [&](std::size_t piece) { return std::min(pinned_bytes, bytes - piece * pinned_bytes); };
  Exec const exec{};
  Kokkos::fence("tessera: before a copy");  // the copy may be in another stream than the launches
  for (std::size_t piece = 0; piece <= pieces; ++piece) {
    // Before the fence, the bus moves the piece before this one in one direction, or this one in the other.
    if constexpr (ToHost) {
      if (piece < pieces) {
        start_copy<Exec, ToHost>(exec, pinned[piece % 2], device + piece * pinned_bytes, length(piece));
      }
      if (piece > 0) {
        copy_on_host(host + (piece - 1) * pinned_bytes, pinned[(piece - 1) % 2], length(piece - 1));
      }
      exec.fence("tessera: piece copied");
    } else {
      if (piece < pieces) copy_on_host(pinned[piece % 2], host + piece * pinned_bytes, length(piece));
      exec.fence("tessera: piece copied");
      if (piece < pieces) {
        start_copy<Exec, ToHost>(exec, pinned[piece % 2], device + piece * pinned_bytes, length(piece));
      }
    }
  }
}

// Copies between host memory and a space's memory. `from` is only read.
template <bool ToHost>
void copy_bytes(std::string_view space, void* to, void const* from, std::size_t bytes) {
  in_space(space, [&]<class Exec>() {
    if constexpr (on_host<typename Exec::memory_space>) {
      copy_on_host(to, from, bytes);
    } else {
      auto* const target = static_cast<unsigned char*>(to);
      auto* const source = const_cast<unsigned char*>(static_cast<unsigned char const*>(from));
      copy_across<Exec, ToHost>(ToHost ? target : source, ToHost ? source : target, bytes);
    }
  });
}

// Returns a copy of a piece of a field in host memory. A large piece of a device's memory goes straight to pinned
// memory, whose pages are not fresh.
std::shared_ptr<unsigned char> fetched(std::string_view space, unsigned char* from, std::size_t bytes) {
  std::shared_ptr<unsigned char> to;
  in_space(space, [&]<class Exec>() {
    if constexpr (!on_host<typename Exec::memory_space>) {
      if (bytes <= pinned_bytes / 16 || bytes > pinned_bytes) return;
      to = pinned_memory();
      Exec const exec{};
      Kokkos::fence("tessera: before a copy");
      start_copy<Exec, true>(exec, to.get(), from, bytes);
      exec.fence("tessera: piece copied");
    }
  });
  return to;
}

// True if `bytes` bytes on a device are equal: -0 differs from +0, and a NaN equals the same NaN.
template <class Exec, class Word>
bool same_words(void const* one, void const* other, std::size_t bytes) {
  auto const* const words = static_cast<Word const*>(one);
  auto const* const others = static_cast<Word const*>(other);
  std::size_t differing = 1;
  Kokkos::parallel_reduce(
      "tessera::same_bits", over(Exec(), bytes / sizeof(Word)),
      KOKKOS_LAMBDA(std::size_t i, std::size_t& count) { count += words[i] == others[i] ? 0 : 1; }, differing);
  return differing == 0;
}

// Writes the guards' pattern before and after a field, and one value to all of its elements.
template <class Exec, class Word>
void poison_block(unsigned char* block, std::size_t bytes, Word value) {
  constexpr auto pattern = static_cast<Word>(0xA5A5'A5A5'A5A5'A5A5U);
  auto* const words = reinterpret_cast<Word*>(block);
  std::size_t const guard = GuardedFields::guard_bytes / sizeof(Word);
  std::size_t const end = guard + bytes / sizeof(Word);
  Kokkos::parallel_for(
      "tessera::poison", over(Exec(), end + guard),
      KOKKOS_LAMBDA(std::size_t i) { words[i] = i < guard || i >= end ? pattern : value; });
}

// The positions of a field's pieces that get other values.
struct Pieces {
  static constexpr std::size_t most_words = OtherValues::most_bytes / sizeof(std::uint32_t);
  static constexpr std::size_t pieces = 256;
  static constexpr std::size_t piece = most_words / pieces;

  std::size_t words;  // of the field

  [[nodiscard]] std::size_t count() const { return std::min(words, most_words); }
  // Returns the word of the field for word number i of the pieces.
  [[nodiscard]] KOKKOS_FUNCTION std::size_t operator()(std::size_t i) const {
    if (words <= most_words) return i;
    // Not computed as a product of two word counts, which could exceed 2^64.
    std::size_t const apart = (words - piece) / (pieces - 1);
    std::size_t const number = i / piece;
    std::size_t const begin = number == pieces - 1 ? words - piece : number * apart;
    return begin + i % piece;
  }
};

struct Exchange {
  Pieces pieces;
  std::uint32_t* field;
  std::uint32_t* others;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    std::uint32_t const word = field[pieces(i)];
    field[pieces(i)] = others[i];
    others[i] = word;
  }
};

}  // namespace

std::shared_ptr<unsigned char> allocate_in(std::string_view space, std::size_t bytes, std::string const& label) {
  std::shared_ptr<unsigned char> memory;
  in_space(space, [&]<class Exec>() { memory = allocate<typename Exec::memory_space>(bytes, label); });
  return memory;
}

std::shared_ptr<unsigned char> allocate_on_host(std::size_t bytes, std::string const& label) {
  return allocate<Kokkos::HostSpace>(bytes, label);
}

void copy_from_host(std::string_view space, void* to, void const* from, std::size_t bytes) {
  copy_bytes<false>(space, to, from, bytes);
}

void copy_to_host(std::string_view space, void* to, void const* from, std::size_t bytes) {
  copy_bytes<true>(space, to, from, bytes);
}

std::vector<std::shared_ptr<unsigned char>> host_memory_of(std::vector<FieldSpec> const& specs,
                                                           std::vector<Shape> const& shapes) {
  std::vector<std::shared_ptr<unsigned char>> memory;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::size_t const bytes = count_of(shapes.at(i)) * size_of(specs[i].dtype);
    memory.push_back(HostPool::instance().take("input", bytes, [&] { return allocate_on_host(bytes, specs[i].name); }));
  }
  return memory;
}

std::vector<std::shared_ptr<unsigned char>> copies_in(std::string_view space, std::vector<HostField> const& fields) {
  std::vector<std::shared_ptr<unsigned char>> memory;
  for (HostField const& field : fields) {
    memory.push_back(allocate_in(space, field.bytes(), field.name));
    copy_from_host(space, memory.back().get(), field.data.get(), field.bytes());
  }
  return memory;
}

std::vector<HostField> named_fields(std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes,
                                    std::vector<std::shared_ptr<unsigned char>> const& memory) {
  std::vector<HostField> fields;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    fields.push_back({specs[i].name, specs[i].dtype, shapes.at(i), nullptr});
    if (!memory.empty()) fields.back().data = memory.at(i);
  }
  return fields;
}

void for_host_ranges(std::size_t count, std::function<void(std::size_t, std::size_t)> const& body) {
  using Host = Kokkos::DefaultHostExecutionSpace;
  std::size_t const block = std::size_t{1} << 18;
  if (Host().concurrency() == 1) {  // usual in GPU builds
    for_blocks(count, block, [&](std::size_t, std::size_t begin, std::size_t end) { body(begin, end); });
    return;
  }
  Kokkos::parallel_for("tessera::host_ranges", over(Host(), blocks_in(count, block)),
                       [&](std::size_t i) { body(i * block, std::min(count, (i + 1) * block)); });
  Host().fence("tessera: host ranges");
}

void other_offsets(std::span<std::int64_t> offsets) {
  for (std::size_t i = 1; i + 1 < offsets.size(); i += 2) {
    std::int64_t const first = offsets[i] - offsets[i - 1];
    std::int64_t const second = offsets[i + 1] - offsets[i];
    if (first != second) {
      offsets[i] = offsets[i - 1] + second;
    } else if (first > 0) {
      --offsets[i];
    }
  }
}

OtherValues::OtherValues(std::string_view space, unsigned char* data, std::size_t bytes)
    : OtherValues(space, data, bytes, std::vector<unsigned char>(std::min(bytes, most_bytes)).data()) {}

OtherValues::OtherValues(std::string_view space, unsigned char* data, std::size_t bytes, void const* values)
    : space_(space), data_(data), words_(bytes / sizeof(std::uint32_t)) {
  if (words_ == 0) return;
  std::size_t const replaced = Pieces{words_}.count() * sizeof(std::uint32_t);
  others_ = allocate_in(space_, replaced, "tessera: other values");
  copy_from_host(space_, others_.get(), values, replaced);
  exchange();
}

std::unique_ptr<OtherValues> OtherValues::of_offsets(std::string_view space, unsigned char* data, std::size_t bytes) {
  std::vector<std::int64_t> offsets(std::min(bytes, most_bytes) / sizeof(std::int64_t));
  bytes = offsets.size() * sizeof(std::int64_t);
  if (bytes > 0) copy_to_host(space, offsets.data(), data, bytes);
  other_offsets(offsets);
  return std::unique_ptr<OtherValues>(new OtherValues(space, data, bytes, offsets.data()));
}

OtherValues::~OtherValues() {
  if (words_ == 0) return;
  try {
    exchange();
  } catch (std::exception const&) {
    // A launch on a GPU has failed, and every later launch fails as well: nothing more is verified there.
  }
}

void OtherValues::exchange() {
  Kokkos::fence("tessera: before other values");  // a row that has thrown may have left launches behind
  Pieces const pieces{words_};
  in_space(space_, [&]<class Exec>() {
    Kokkos::parallel_for(
        "tessera::other_values", over(Exec(), pieces.count()),
        Exchange{pieces, reinterpret_cast<std::uint32_t*>(data_), reinterpret_cast<std::uint32_t*>(others_.get())});
  });
  Kokkos::fence("tessera: other values");
}

std::shared_ptr<unsigned char> HostBuffers::take(std::size_t bytes) {
  for (auto const& [size, memory] : buffers_) {
    if (size == bytes && memory.use_count() == 1) return memory;
  }
  return buffers_
      .emplace_back(
          bytes, HostPool::instance().take("array", bytes, [&] { return allocate_on_host(bytes, "tessera: result"); }))
      .second;
}

GuardedFields::GuardedFields(std::string_view space, std::vector<FieldSpec> specs, std::vector<Shape> shapes)
    : space_(space), specs_(std::move(specs)), shapes_(std::move(shapes)) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    blocks_.push_back(allocate_in(space_, bytes(i) + 2 * guard_bytes, specs_[i].name));
  }
}

std::size_t GuardedFields::bytes(std::size_t field) const {
  return count_of(shapes_.at(field)) * size_of(specs_[field].dtype);
}

unsigned char* GuardedFields::data(std::size_t i) const { return blocks_.at(i).get() + guard_bytes; }

void GuardedFields::poison() {
  in_space(space_, [&]<class Exec>() {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      with_dtype(specs_[i].dtype, [&]<class T>() {
        poison_block<Exec>(blocks_[i].get(), bytes(i), std::bit_cast<WordOf<T>>(poison_value<T>));
      });
    }
  });
  Kokkos::fence("tessera: poisoned");
}

template <class DataOf>
std::vector<HostField> GuardedFields::named(std::vector<std::string> const& names, DataOf const& data_of) const {
  check_guards();
  std::vector<HostField> result = named_fields(specs_, shapes_, {});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (names.empty() || std::ranges::find(names, specs_[i].name) != names.end()) result[i].data = data_of(i);
  }
  return result;
}

std::vector<HostField> GuardedFields::fetch(HostBuffers& buffers, std::vector<std::string> const& names) const {
  return named(names, [&](std::size_t i) {
    std::shared_ptr<unsigned char> const to = buffers.take(bytes(i));
    copy_to_host(space_, to.get(), data(i), bytes(i));
    return to;
  });
}

std::vector<HostField> GuardedFields::in_place(std::vector<std::string> const& names) const {
  return named(names, [&](std::size_t i) { return std::shared_ptr<unsigned char>(blocks_[i], data(i)); });
}

std::vector<HostField> GuardedFields::fetch_sample(
    std::function<std::vector<Stretch>(std::size_t)> const& choose) const {
  check_guards();
  std::vector<HostField> result;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    std::vector<Stretch> const stretches = choose(count_of(shapes_[i]));
    std::size_t const size = size_of(specs_[i].dtype);
    if (stretches.size() == 1) {
      Stretch const& one = stretches.front();
      if (auto const memory = fetched(space_, data(i) + one.begin * size, (one.end - one.begin) * size)) {
        result.push_back({specs_[i].name, specs_[i].dtype, {one.end - one.begin}, memory});
        continue;
      }
    }
    std::shared_ptr<unsigned char> const to = allocate_on_host(count_of(stretches) * size, "tessera: sample");
    std::size_t filled = 0;
    for (Stretch const& one : stretches) {
      std::size_t const length = (one.end - one.begin) * size;
      copy_to_host(space_, to.get() + filled, data(i) + one.begin * size, length);
      filled += length;
    }
    result.push_back({specs_[i].name, specs_[i].dtype, {count_of(stretches)}, to});
  }
  return result;
}

bool GuardedFields::keep(Blocks& kept) const {
  double total = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) total += static_cast<double>(bytes(i));
  // Memory for this copy, plus the next row's output and temporaries besides this row's. An unknown amount (NaN) counts
  // as enough.
  if (kept.empty() && 4 * total > free_memory_bytes(space_)) return false;
  try {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (kept.size() == i) kept.push_back(allocate_in(space_, bytes(i), "tessera: kept"));
      in_space(space_, [&]<class Exec>() {
        using Memory = typename Exec::memory_space;
        if constexpr (on_host<Memory>) {
          copy_on_host(kept[i].get(), data(i), bytes(i));
        } else {
          Kokkos::deep_copy(unmanaged<Memory>(kept[i].get(), bytes(i)), unmanaged<Memory>(data(i), bytes(i)));
        }
      });
    }
  } catch (std::exception const&) {  // no memory: keep() is only an optimisation
    kept.clear();
    return false;
  }
  return true;
}

bool GuardedFields::same_bits(Blocks const& kept) const {
  if (kept.size() != blocks_.size()) return false;
  check_guards();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    bool same = false;
    in_space(space_, [&]<class Exec>() {
      if constexpr (on_host<typename Exec::memory_space>) {
        same = same_bytes(data(i), kept[i].get(), bytes(i));
      } else {
        // An odd number of 16-bit floats is not a whole number of 4-byte words.
        same = bytes(i) % sizeof(std::uint32_t) == 0
                   ? same_words<Exec, std::uint32_t>(data(i), kept[i].get(), bytes(i))
                   : same_words<Exec, std::uint16_t>(data(i), kept[i].get(), bytes(i));
      }
    });
    if (!same) return false;
  }
  return true;
}

void GuardedFields::check_guards() const {
  std::array<unsigned char, guard_bytes> guard{};
  for (std::size_t field = 0; field < blocks_.size(); ++field) {
    for (std::size_t const begin : {std::size_t{0}, guard_bytes + bytes(field)}) {
      copy_to_host(space_, guard.data(), blocks_[field].get() + begin, guard_bytes);
      for (std::size_t i = 0; i < guard_bytes; ++i) {
        if (guard[i] == guard_pattern) continue;
        std::string const where = begin == 0 ? std::to_string(guard_bytes - i) + " bytes before the start"
                                             : std::to_string(i) + " bytes past the end";
        throw std::runtime_error("wrote outside of '" + specs_[field].name + "': " + where);
      }
    }
  }
}

}  // namespace tessera
