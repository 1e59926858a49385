/// \file
/// Parameters of embedding and shapes.

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/core/parameters.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

namespace {

ParameterSpec shape_parameter(std::string name, std::string help, double maximum) {
  return {.name = std::move(name),
          .help = std::move(help),
          .default_value = std::int64_t{0},
          .choices = {},
          .minimum = 0,
          .maximum = maximum,
          .shapes_generated = true};
}

}  // namespace

std::vector<ParameterSpec> Embedding::parameters() {
  constexpr double any = std::numeric_limits<double>::infinity();
  return {
      shape_parameter("batch", "sequences B of the generated idx; 0: at most 8, from --size = B * L * E", any),
      shape_parameter("length", "indices L of each sequence; 0: from --size", any),
      // Indices beyond the table are drawn up to twice its rows, and int32 must hold them.
      shape_parameter("vocabulary", "rows V of the generated table; 0: 10000", 1 << 30),
      shape_parameter("width", "elements E of a row of the generated table; 0: at most 512, from --size", any),
      team_parameter(),
      {.name = "table",
       .help = "where distributed has w: whole, on each rank; rows, a block of its rows on each",
       .default_value = std::string("whole"),
       .choices = {"whole", "rows"},
       .of_ranks = true},
  };
}

Embedding::Parameters Embedding::Parameters::from(ParameterMap const& map) {
  return {.batch = std::get<std::int64_t>(map.at("batch")),
          .length = std::get<std::int64_t>(map.at("length")),
          .vocabulary = std::get<std::int64_t>(map.at("vocabulary")),
          .width = std::get<std::int64_t>(map.at("width")),
          .team = std::get<std::int64_t>(map.at("team")),
          .table_in_rows = std::get<std::string>(map.at("table")) == "rows"};
}

std::vector<Shape> Embedding::input_shapes(std::size_t size, Parameters const& parameters) {
  auto const rows = static_cast<std::size_t>(parameters.table_rows());
  // Divides the given extents out of the size; a row has at least one element.
  std::size_t left = size;
  auto const take = [&](std::string const& name, std::int64_t given) {
    auto const extent = static_cast<std::size_t>(given);
    if (extent > left && size > 0) {
      throw UserError("--" + name + " " + std::to_string(given) + " is more than is left of --size " +
                      std::to_string(size) + " (size = batch * length * width); choose a smaller one or a larger size");
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
                    " (all three are given); give this size, or fewer of them");
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

}  // namespace tessera::embedding
