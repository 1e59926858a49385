#pragma once
/// \file
/// Predictions of the suite's machine model for an access pattern: sectors or cache lines touched, ways of a bank
/// conflict, branches that a warp takes. They are counted on the host, element by element, for a part of all indices,
/// and reported beside the measurement.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "problem.hpp"

#include <tessera/core/tiles.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::memory_access {

/// The smallest unit that memory moves, the number of indices whose accesses form one request, and whether lanes wait
/// for each other.
struct Machine {
  std::size_t unit_bytes;
  std::size_t together;  ///< indices per request
  bool has_warps;
  std::string_view unit;  ///< name of the unit
};

/// The unit is a sector, or the smallest memory access of an AMD GPU. The accesses of 32 lanes are one request.
inline constexpr Machine cuda_machine{.unit_bytes = 32, .together = 32, .has_warps = true, .unit = "sectors"};
inline constexpr Machine hip_machine{.unit_bytes = 64, .together = 64, .has_warps = true, .unit = "pieces of 64 bytes"};
/// The unit is a cache line. Accesses come one after the other; the lines of 64 consecutive accesses are still cached.
inline constexpr Machine host_machine{.unit_bytes = 64, .together = 64, .has_warps = false, .unit = "lines"};

template <ExecutionSpace Exec>
[[nodiscard]] constexpr Machine machine_of() {
  return space_name<Exec>() == "cuda" ? cuda_machine : is_gpu<Exec> ? hip_machine : host_machine;
}

/// Calls body(first, end) for groups of indices that act together: for 256 groups spread over 0 .. n - 1, or for all if
/// there are fewer. Returns the mean of the results, 0 if there are no groups.
template <class Body>
[[nodiscard]] double mean_over_groups(Machine const& machine, std::size_t n, Body const& body) {
  std::size_t const groups = tiles_of(n, machine.together);
  std::size_t const looked_at = std::min<std::size_t>(groups, 256);
  double sum = 0;
  for (std::size_t g = 0; g < looked_at; ++g) {
    std::size_t const first = g * groups / looked_at * machine.together;
    sum += static_cast<double>(body(first, std::min(n, first + machine.together)));
  }
  return looked_at == 0 ? 0 : sum / static_cast<double>(looked_at);
}

/// Returns the number of different values.
[[nodiscard]] inline std::size_t count_different(std::vector<std::size_t> values) {
  std::ranges::sort(values);
  return static_cast<std::size_t>(std::ranges::unique(values).begin() - values.begin());
}

/// Returns the number of sectors or lines that a group touches if index i accesses the element at position(i). Elements
/// have `size` bytes, and the first is aligned. Positions from n on are no accesses.
///
/// Example, float on CUDA: position(i) = i -> 4; 2 i -> 8; 8 i -> 32.
template <class Position>
[[nodiscard]] double units_together(Machine const& machine, std::size_t n, std::size_t size, Position const& position) {
  return mean_over_groups(machine, n, [&](std::size_t first, std::size_t end) {
    std::vector<std::size_t> units;
    for (std::size_t i = first; i < end; ++i) {
      if (position(i) < n) units.push_back(position(i) * size / machine.unit_bytes);
    }
    return count_different(std::move(units));
  });
}

/// Returns the number of different branches that a group takes if index i takes branch(i). Returns 1 on a host, where
/// each index runs by itself, and for no indices, because the result is a factor of a time.
template <class Which>
[[nodiscard]] double branches_together(Machine const& machine, std::size_t n, Which const& branch) {
  if (!machine.has_warps || n == 0) return 1;
  return mean_over_groups(machine, n, [&](std::size_t first, std::size_t end) {
    std::vector<std::size_t> taken;
    for (std::size_t i = first; i < end; ++i) taken.push_back(branch(i));
    return count_different(std::move(taken));
  });
}

/// Returns the ways of the bank conflict if place t of a tile reads place(t); 1 on a host, which has no banks. 4-byte
/// words lie in 32 banks in turn. A bank delivers one word at a time, to all lanes that read it, and 128 bytes are read
/// together.
///
/// Example, 1024 floats: t -> 1; 2 t -> 2; 32 t -> 32; 0 -> 1.
template <class Place>
[[nodiscard]] double bank_ways(Machine const& machine, std::size_t count, std::size_t size, Place const& place) {
  if (!machine.has_warps) return 1;
  std::size_t const together = 128 / size;
  double sum = 0;
  for (std::size_t first = 0; first < count; first += together) {
    std::vector<std::vector<std::size_t>> words(32);
    for (std::size_t t = first; t < std::min(count, first + together); ++t) {
      for (std::size_t word = place(t) * size / 4; word < (place(t) + 1) * size / 4; ++word) {
        words[word % 32].push_back(word);
      }
    }
    std::size_t ways = 0;
    for (auto const& of_bank : words) ways = std::max(ways, count_different(of_bank));
    sum += static_cast<double>(ways);
  }
  return count == 0 ? 1 : sum / static_cast<double>(tiles_of(count, together));
}

/// A Plan's report about itself: the field that it writes, its minimum work, and the model's prediction.
class Told : public OneField {
 public:
  /// \param field the field that the Plan writes \param n its elements \param bytes least bytes for each of them
  Told(Machine const& machine, char const* field, std::size_t n, double bytes)
      : OneField(field, n, bytes, 0), machine_(machine), prediction_{.bytes = work().bytes, .passes = 1} {}

  [[nodiscard]] Prediction prediction() const { return prediction_; }
  [[nodiscard]] std::string note() const { return note_; }

 protected:
  [[nodiscard]] Machine const& machine() const { return machine_; }
  /// \param units units that a group touches at its worst access \param bytes bytes that memory moves in total
  void tell_units(double units, double bytes) {
    prediction_.bytes = bytes;
    note_ = "model: " + text(work().bytes > 0 ? bytes / work().bytes : 1) + "x bytes, " + text(units) + " " +
            std::string(machine_.unit) +
            (machine_.has_warps ? " per request" : " in " + std::to_string(machine_.together) + " accesses");
  }
  /// \param what "-way conflicts" or " branches a warp"
  void tell_passes(double passes, std::string const& what) {
    prediction_.passes = passes;
    if (machine_.has_warps) note_ = "model: " + text(passes) + what;
  }
  /// Returns the bytes that move if each group touches `units` units.
  [[nodiscard]] double moved_by(double units, std::size_t n) const {
    return units * static_cast<double>(machine_.unit_bytes) * static_cast<double>(tiles_of(n, machine_.together));
  }

 private:
  // "4" or "3.33".
  [[nodiscard]] static std::string text(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof(buffer), value == std::floor(value) ? "%.0f" : "%.2f", value);
    return buffer;
  }

  Machine machine_;
  Prediction prediction_;
  std::string note_;
};

}  // namespace tessera::memory_access
