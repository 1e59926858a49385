#include "app_cases.hpp"

#include <algorithm>
#include <string_view>

#include "harness.hpp"

#include <tessera/core/random.hpp>

namespace tessera::testing {

std::size_t Dice::below(std::size_t count) { return random_bits(3, draw_, next_++) % count; }

std::size_t Dice::extent(std::size_t most) {
  switch (below(5)) {
    case 0: return below(4);
    case 1: return std::min(most, (std::size_t{1} << below(11)) + below(3) - 1);
    default: return below(most + 1);
  }
}

Shape Dice::matrix(std::size_t most) {
  std::size_t const rows = below(3) == 0 ? extent(most) : extent(150);
  std::size_t const cols = extent(std::max<std::size_t>(1, most / std::max<std::size_t>(1, rows)));
  return below(2) == 0 ? Shape{rows, cols} : Shape{cols, rows};
}

std::vector<ParameterMap> teams_and(std::vector<ParameterMap> const& maps) {
  std::vector<ParameterMap> all{{{"team", Int{2}}}, {{"team", Int{3}}}, {{"team", Int{4}}}};
  all.insert(all.end(), maps.begin(), maps.end());
  return all;
}

RandomCase random_case(App const& app, std::uint64_t draw) {
  AppCases const cases = app_cases();
  Dice dice(draw);
  auto const has = [&](std::string_view name) {
    return std::ranges::find(app.parameters, name, &ParameterSpec::name) != app.parameters.end();
  };
  RandomCase random{.shapes = {}, .parameters = cases.base};
  ParameterMap& map = random.parameters;
  std::size_t const n = dice.extent(dice.one_of({100, 3000, 20000}));
  if (cases.shapes != nullptr) {
    random.shapes = cases.shapes(dice, n);
  } else {
    std::vector<FieldSpec> const fields = app.input_fields(app.rows.at(0).dtype);
    Shape const shape = fields.at(0).rank == 2 ? dice.matrix(20000) : Shape{n};
    random.shapes.assign(fields.size(), shape);
  }
  if (has("team") && dice.below(3) == 0) map["team"] = static_cast<Int>(1 + dice.below(4));
  if (has("tile") && dice.below(2) == 0) {
    std::size_t const tile = 1 + dice.below(dice.below(2) == 0 ? 8 : 300);
    map["tile"] = static_cast<Int>(tile);
    for (Shape& shape : random.shapes) {
      for (std::size_t& extent : shape) extent = std::min(extent, cases.tiles_along * tile);
    }
  }
  if (has("segment") && dice.below(3) != 0) map["segment"] = static_cast<Int>(dice.extent(100));
  // Limits the rows or segments processed by teams of several threads, because each of them costs barriers.
  if (map.contains("team") && std::get<Int>(map["team"]) > 1) {
    bool const segments = map.contains("segment") && std::get<Int>(map["segment"]) > 0;
    std::size_t const most =
        segments ? cases.tiles_along * static_cast<std::size_t>(std::get<Int>(map["segment"])) : 1000;
    for (Shape& shape : random.shapes) {
      if (!segments && (shape.size() < 2 || cases.shapes != nullptr)) continue;
      for (std::size_t& extent : shape) extent = std::min(extent, most);
    }
  }
  for (ParameterSpec const& spec : app.parameters) {
    if (!spec.choices.empty()) map[spec.name] = spec.choices[dice.below(spec.choices.size())];
  }
  if (cases.choose != nullptr) cases.choose(dice, map);
  return random;
}

bool takes(App const& app, DType dtype, ParameterMap const& given, std::size_t size) {
  bool const has_dtype =
      std::any_of(app.rows.begin(), app.rows.end(), [&](Row const& row) { return row.dtype == dtype; });
  if (!has_dtype) return false;
  try {
    (void)app.footprint_of_size(dtype, size, with_defaults(app, given));
  } catch (UserError const&) {
    return false;
  }
  return true;
}

}  // namespace tessera::testing
