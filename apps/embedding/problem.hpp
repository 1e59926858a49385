#pragma once
/// \file
/// embedding: rows of a table by index, out[b, s, :] = w[idx[b, s], :], zeros for an index outside the table.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/core/random.hpp>
#include <tessera/core/single_array.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera::embedding {

struct Embedding {
  static constexpr AppInfo info{.name = "embedding",
                                .summary = "out[b, s, :] = w[idx[b, s], :], zeros where idx is not in [0, V)",
                                .traffic = {.pattern = Traffic::Pattern::table_rows}};
  static constexpr bool short_floats = true;

  struct Parameters {
    std::int64_t batch = 0;
    std::int64_t length = 0;
    std::int64_t vocabulary = 0;
    std::int64_t width = 0;
    std::int64_t team = 0;
    bool table_in_rows = false;

    [[nodiscard]] static MemberSpecs<Parameters> specs() {
      return {{&Parameters::batch,
               extent_parameter("batch", "sequences B of the generated idx; 0: at most 8, from --size = B * L * E")},
              {&Parameters::length, extent_parameter("length", "indices L of each sequence; 0: from --size")},
              // Indices beyond the table are drawn up to twice its rows, and int32 must hold them.
              {&Parameters::vocabulary,
               extent_parameter("vocabulary", "rows V of the generated table; 0: 10000", 0, 1 << 30)},
              {&Parameters::width,
               extent_parameter("width", "elements E of a row of the generated table; 0: at most 512, from --size")},
              {&Parameters::team, team_parameter()},
              {&Parameters::table_in_rows,
               {.name = "table",
                .help = "how distributed stores w: whole, a copy on each rank; rows, a block of its rows on each rank",
                .of_ranks = true},
               {{"whole", false}, {"rows", true}}}};
    }

    /// Returns the number of rows of the generated table.
    [[nodiscard]] std::int64_t table_rows() const { return vocabulary > 0 ? vocabulary : 10000; }
  };

  static constexpr std::array data = data_kinds;
  static constexpr int reference_doubles = 1;

  /// idx [B, L], int32 for every dtype; w [V, E].
  template <class T, class Memory>
  struct Input {
    Array<std::int32_t const**, Memory> idx;
    Array<T const**, Memory> w;
    Parameters parameters;

    static constexpr std::array<std::string_view, 2> names{"idx", "w"};
    static auto fields(auto& self) { return std::tie(self.idx, self.w); }
  };

  /// out [B, L, E].
  template <class T, class Memory>
  using Output = SingleOutput<T***, Memory>;

  /// `size` is the number of elements of out, B L E. It is divided by the extents that are given; the other extents are
  /// chosen as described in Parameters. Throws UserError if a row does not fit, or if all three extents are given and
  /// their product is not `size`.
  /// Example: 2^21 -> B = 8, L = 512, E = 512; 100 -> E = 100, B = L = 1.
  [[nodiscard]] static std::vector<Shape> input_shapes(std::size_t size, Parameters const& parameters) {
    auto const rows = static_cast<std::size_t>(parameters.table_rows());
    // Divides the given extents out of the size; a row has at least one element.
    std::size_t left = size;
    auto const take = [&](std::string const& name, std::int64_t given) {
      auto const extent = static_cast<std::size_t>(given);
      if (extent > left && size > 0) {
        throw UserError("--" + name + " " + std::to_string(given) + " does not fit into --size " +
                        std::to_string(size) +
                        " (size = batch * length * width); choose a smaller one or a larger size");
      }
      left /= std::max<std::size_t>(1, extent);
      return extent;
    };
    bool const all_given = parameters.batch > 0 && parameters.length > 0 && parameters.width > 0;
    std::size_t batch = parameters.batch > 0 ? take("batch", parameters.batch) : 0;
    std::size_t length = parameters.length > 0 ? take("length", parameters.length) : 0;
    std::size_t width = parameters.width > 0 ? take("width", parameters.width) : 0;
    if (all_given && size > 0 && batch * length * width != size) {
      throw UserError("--size " + std::to_string(size) +
                      " is not batch * length * width = " + std::to_string(batch * length * width) +
                      " (all three are given); give the product as --size, or leave out one of the three");
    }
    if (size == 0) return {{batch, 0}, {rows, std::max<std::size_t>(1, width)}};
    auto const choose = [&](std::size_t& extent, std::size_t most) {
      if (extent > 0) return;
      extent = std::min(most, left);
      left /= extent;
    };
    choose(width, 512);
    choose(batch, length > 0 ? left : std::min<std::size_t>(8, left));
    choose(length, left);
    return {{batch, length}, {rows, width}};
  }

  [[nodiscard]] static std::vector<Shape> output_shapes(std::vector<Shape> const& input, Parameters const&) {
    return {{input[0][0], input[0][1], input[1][1]}};
  }

  /// Indices into the table; one in 64 lies outside of it, below or above. With adversarial data some of these are the
  /// smallest and the largest int32. Elements of the table are used as drawn.
  template <class T>
  [[nodiscard]] static double element(Draw const& draw, Parameters const& parameters) {
    if (draw.field == 1) return static_cast<double>(drawn<T>(draw));
    std::uint64_t const bits = random_bits(draw.seed, draw.field, draw.index);
    auto const rows = static_cast<std::uint64_t>(parameters.table_rows());
    auto const inside = static_cast<double>((bits >> 16) % rows);
    if (draw.data == DataKind::adversarial && bits % 8 == 1) {
      double const ends[] = {-0x1p31, 0x1p31 - 1, -1, static_cast<double>(rows), static_cast<double>(rows) - 1, 0};
      return ends[(bits >> 6) % 6];
    }
    if (bits % 64 != 0) return inside;
    return (bits >> 6) % 2 == 0 ? -1 - inside : static_cast<double>(rows) + inside;
  }

  /// Counts one read and one write per element of out, as if every index were in the table, and one read per index.
  /// Rows that are read again may come from a cache.
  [[nodiscard]] static Work work(std::vector<Shape> const& input, Parameters const& parameters, DType dtype) {
    double const indices = static_cast<double>(count_of(input[0]));
    double const elements = static_cast<double>(count_of(output_shapes(input, parameters)[0]));
    return {.bytes = indices * sizeof(std::int32_t) + 2 * elements * static_cast<double>(size_of(dtype)), .flops = 0};
  }

  /// Elements are copied.
  [[nodiscard]] static double rounding_steps(std::vector<Shape> const&, Parameters const&) { return 0; }

  /// How several ranks share the input.
  [[nodiscard]] static std::vector<Split> input_split(Parameters const& parameters) {
    return {Split::rows, parameters.table_in_rows ? Split::rows : Split::whole};
  }
  [[nodiscard]] static std::vector<Split> output_split(Parameters const&) { return {Split::rows}; }
  /// A sequence of the output needs its indices and the whole table. Sequences are few and long, so the reference
  /// states its own parts.
  static constexpr bool rows_apart = true;
  static constexpr bool own_parts = true;
  /// If the table is split by rows, the ranks show their rows to all other ranks, some rows at a time, so that no rank
  /// must hold the whole table.
  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference_of_part(Input<T, Kokkos::HostSpace> const& input,
                                                                    ranks::Part const& part);

  template <class T>
  [[nodiscard]] static std::vector<ExpectedField> reference(Input<T, Kokkos::HostSpace> const& input);
};

/// Returns the sequences' indices as one array, [B L].
template <class View>
[[nodiscard]] auto flat_indices(View const& idx) {
  return Array<std::int32_t const*, typename View::memory_space>(idx.data(), idx.size());
}

/// Returns the sequences' rows as one matrix, [B L, E].
template <class View>
[[nodiscard]] auto flat_rows(View const& out) {
  using Rows = Array<typename View::value_type**, typename View::memory_space>;
  return Rows(out.data(), out.extent(0) * out.extent(1), out.extent(2));
}

/// Returns whether the table [V, E] has a row with this index.
template <class View>
[[nodiscard]] KOKKOS_INLINE_FUNCTION bool has_row(View const& table, std::int32_t index) {
  return 0 <= index && static_cast<std::size_t>(index) < table.extent(0);
}

}  // namespace tessera::embedding
