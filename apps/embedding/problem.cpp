/// \file
/// The shapes of embedding that --size stands for.

#include <algorithm>
#include <string>
#include <vector>

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::embedding {

std::vector<Shape> Embedding::input_shapes(std::size_t size, Parameters const& parameters) {
  auto const rows = static_cast<std::size_t>(parameters.table_rows());
  // Divides the given extents out of the size; a row has at least one element.
  std::size_t left = size;
  auto const take = [&](std::string const& name, std::int64_t given) {
    auto const extent = static_cast<std::size_t>(given);
    if (extent > left && size > 0) {
      throw UserError("--" + name + " " + std::to_string(given) + " does not fit into --size " + std::to_string(size) +
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

}  // namespace tessera::embedding
