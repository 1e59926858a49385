#include "app_cases.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "harness.hpp"

#include <tessera/core/random.hpp>

namespace tessera::testing {

namespace {

using Int = std::int64_t;

// Numbers of one draw, one after the other.
class Dice {
 public:
  explicit Dice(std::uint64_t draw) : draw_(draw) {}

  /// 0 .. count - 1
  [[nodiscard]] std::size_t below(std::size_t count) { return random_bits(3, draw_, next_++) % count; }

  /// An extent: often 0, 1, 2 or near a power of two, else anything up to `most`.
  [[nodiscard]] std::size_t extent(std::size_t most) {
    switch (below(5)) {
      case 0: return below(4);
      case 1: return std::min(most, (std::size_t{1} << below(11)) + below(3) - 1);
      default: return below(most + 1);
    }
  }

  template <class T>
  [[nodiscard]] T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

  /// A matrix of at most about `most` elements, from one row to one column.
  [[nodiscard]] Shape matrix(std::size_t most) {
    std::size_t const rows = below(3) == 0 ? extent(most) : extent(150);
    std::size_t const cols = extent(std::max<std::size_t>(1, most / std::max<std::size_t>(1, rows)));
    return below(2) == 0 ? Shape{rows, cols} : Shape{cols, rows};
  }

 private:
  std::uint64_t draw_;
  std::uint64_t next_ = 0;
};

void choose_team(Dice& dice, ParameterMap& map) {
  if (dice.below(3) == 0) map["team"] = static_cast<Int>(1 + dice.below(4));
}

void choose_tile(Dice& dice, ParameterMap& map) {
  if (dice.below(2) == 0) map["tile"] = static_cast<Int>(1 + dice.below(dice.below(2) == 0 ? 8 : 300));
}

bool has_parameter(App const& app, std::string_view name) {
  return std::any_of(app.parameters.begin(), app.parameters.end(), [&](auto const& spec) { return spec.name == name; });
}

}  // namespace

RandomCase random_case(App const& app, std::uint64_t draw) {
  Dice dice(draw);
  RandomCase random;
  std::string_view const name = app.info.name;
  std::size_t const n = dice.extent(dice.one_of({100, 3000, 20000}));
  if (name == "conv1d") {
    random.shapes = {{n}, {1 + dice.extent(dice.one_of({9, 70, 700}))}};
  } else if (name == "conv2d") {
    random.shapes = {dice.matrix(8000), {1 + dice.extent(9), 1 + dice.extent(9)}};
  } else if (name == "broadcast_add") {
    Shape const out = dice.matrix(20000);
    random.shapes = {{out[1]}, {out[0]}};
  } else if (name == "matmul") {
    std::size_t const m = dice.extent(90);
    std::size_t const k = dice.extent(dice.one_of({90, 600}));
    std::size_t const columns = dice.extent(90);
    random.shapes = {{m, k}, {k, columns}};
  } else if (name == "attention") {
    std::size_t const dim = dice.extent(dice.one_of({9, 80, 270}));
    std::size_t const keys = dice.extent(dice.one_of({9, 100, 700}));
    random.shapes = {{dice.extent(40), dim}, {keys, dim}, {keys, dim}};
    if (dice.below(2) == 0) random.parameters["scale"] = dice.one_of({0.0, 0.1, -1.0, 30.0});
  } else if (name == "embedding") {
    // Indices are drawn from -100 to 100: tables both smaller and larger than that.
    std::size_t const rows = dice.extent(200);
    random.shapes = {{dice.extent(20), dice.extent(30)}, {rows, dice.extent(dice.one_of({9, 150}))}};
  } else if (name == "layernorm_linear" || name == "layernorm_linear_backward") {
    std::size_t const layer_rows = dice.extent(90);
    std::size_t const hidden = 1 + dice.extent(dice.one_of({40, 300}));
    std::size_t const outputs = dice.extent(90);
    Shape const last = name == "layernorm_linear" ? Shape{outputs} : Shape{layer_rows, outputs};
    random.shapes = {{layer_rows, hidden}, {hidden}, {hidden}, {outputs, hidden}, last};
  } else {
    std::vector<FieldSpec> const fields = app.input_fields(app.rows.at(0).dtype);
    Shape const shape = fields.at(0).rank == 2 ? dice.matrix(20000) : Shape{n};
    random.shapes.assign(fields.size(), shape);
  }

  random.parameters.merge(base_parameters(name));
  ParameterMap& map = random.parameters;
  if (name == "histogram") {
    map["bins"] = dice.one_of({Int{1}, Int{2}, Int{7}, Int{255}, Int{256}, Int{257}, Int{700}, Int{5000}});
    map["lo"] = dice.one_of({-101.0, -1.0, 0.0, -50.0});
    map["hi"] = dice.one_of({1.0, 3.0, 60.0, 101.0});
  }
  if (has_parameter(app, "team")) choose_team(dice, map);
  if (has_parameter(app, "tile")) choose_tile(dice, map);
  if (map.contains("tile")) {
    // A tile costs a barrier or two: some hundred tiles, or five each way, show all edges; thousands take minutes.
    auto const tile = static_cast<std::size_t>(std::get<Int>(map.at("tile")));
    std::size_t const most = name == "matmul" ? 4 * tile + 3 : 200 * tile;
    for (Shape& shape : random.shapes) {
      for (std::size_t& extent : shape) extent = std::min(extent, most);
    }
  }
  if (has_parameter(app, "segment") && dice.below(3) != 0) {
    bool const by_lanes = name == "lane_broadcast" || name == "butterfly";
    map["segment"] = static_cast<Int>(dice.extent(by_lanes ? dice.one_of({9, 100, 1024}) : 100));
  }
  if (has_parameter(app, "pivot") && dice.below(2) == 0) map["pivot"] = dice.one_of({-0.9, -0.3, 0.2, 0.7, 40.0});
  if (has_parameter(app, "window")) map["window"] = static_cast<Int>(1 + dice.extent(dice.one_of({5, 40, 5000})));
  if (has_parameter(app, "axis")) map["axis"] = static_cast<Int>(dice.below(2));
  if (has_parameter(app, "exclusive")) map["exclusive"] = dice.below(2) == 0;
  for (ParameterSpec const& spec : app.parameters) {
    if (!spec.choices.empty()) map[spec.name] = spec.choices[dice.below(spec.choices.size())];
  }
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

ParameterMap base_parameters(std::string_view app) {
  if (app == "roofline") return {{"iterations", Int{50}}};
  if (app == "attention") return {{"scale", 0.01}};  // scores of a few units for the patterns' elements
  if (app == "embedding") return {{"vocabulary", Int{90}}};
  if (app == "histogram") return {{"lo", 0.0}, {"hi", 9.0}};  // some of the patterns' elements, floats and integers
  return {};
}

std::vector<ParameterMap> parameters_of(std::string_view app) {
  if (app == "prefix_sum") {
    std::vector<ParameterMap> maps;
    for (char const* const op : {"sum", "max", "min"}) {
      for (bool const exclusive : {false, true}) {
        for (Int const segment : {Int{0}, Int{32}, Int{1}, Int{100}, Int{5000}}) {
          maps.push_back({{"op", std::string(op)}, {"exclusive", exclusive}, {"segment", segment}});
        }
      }
    }
    for (Int const tile : {Int{1}, Int{2}, Int{8}, Int{37}}) {
      for (Int const segment : {Int{0}, Int{3}}) {
        maps.push_back({{"tile", tile}, {"segment", segment}});
        maps.push_back({{"tile", tile}, {"segment", segment}, {"exclusive", true}, {"team", Int{2}}});
      }
    }
    for (Int const team : {Int{2}, Int{3}, Int{4}}) {
      maps.push_back({{"team", team}});
      maps.push_back({{"team", team}, {"segment", Int{100}}, {"op", std::string("max")}});
    }
    return maps;
  }
  if (app == "roofline")
    return {{{"iterations", Int{0}}}, {{"iterations", Int{1}}}, {{"s", -3.0}, {"iterations", Int{7}}}};
  std::vector<ParameterMap> maps{{{"team", Int{2}}}, {{"team", Int{3}}}, {{"team", Int{4}}}};
  auto const add = [&](char const* parameter, std::initializer_list<Int> values) {
    for (Int const value : values) maps.push_back({{parameter, value}});
  };
  bool const is_matrix = app == "map_2d" || app == "broadcast_add" || app == "axis_sum" || app == "transpose";
  if (is_matrix || app == "conv2d") add("rows", {1, 2, 3});
  if (app == "map" || app == "map_2d") maps.push_back({{"c", -3.0}});
  if (app == "zip") add("tile", {1, 2, 3, 7, 64});
  if (app == "pooling") {
    for (char const* const op : {"sum", "mean", "max"}) {
      for (Int const window : {1, 2, 3, 4, 5, 33, 1000, 7000}) {
        maps.push_back({{"op", std::string(op)}, {"window", window}});
        maps.push_back({{"op", std::string(op)}, {"window", window}, {"tile", Int{8}}, {"team", Int{2}}});
      }
    }
  }
  if (app == "conv1d") {
    for (Int const kernel : {1, 2, 3, 5, 8, 9, 64, 1000}) {
      maps.push_back({{"kernel", kernel}});
      maps.push_back({{"kernel", kernel}, {"tile", Int{8}}, {"team", Int{2}}});
    }
  }
  if (app == "conv2d") {
    for (Int const height : {1, 2, 3, 7}) {
      for (Int const width : {1, 3, 4, 7}) maps.push_back({{"kernel-rows", height}, {"kernel-cols", width}});
    }
    maps.push_back({{"rows", Int{5}}, {"kernel-rows", Int{9}}, {"kernel-cols", Int{70}}});
  }
  if (app == "finite_difference" || app == "moving_average") {
    for (Int const segment : {1, 2, 3, 32, 33, 100, 5000}) {
      maps.push_back({{"segment", segment}});
      maps.push_back({{"segment", segment}, {"tile", Int{8}}, {"team", Int{2}}});
    }
  }
  if (app == "lane_broadcast" || app == "butterfly") {
    bool const is_broadcast = app == "lane_broadcast";
    for (char const* const op : {is_broadcast ? "basic" : "pair_swap", is_broadcast ? "conditional" : "max",
                                 is_broadcast ? "shuffle" : "minmax_parity"}) {
      for (Int const segment :
           {0, 1, 2, 3, 4, 5, 8, 31, 32, 33, 64, 100, 128, 129, 256, 511, 512, 600, 1000, 1023, 1024}) {
        maps.push_back({{"op", std::string(op)}, {"segment", segment}});
      }
      for (Int const segment : {0, 5, 32, 1000}) {
        for (Int const team : {2, 3, 4}) {
          maps.push_back({{"op", std::string(op)}, {"segment", segment}, {"team", team}});
        }
      }
    }
  }
  if (app == "partition") {
    double const infinite = std::numeric_limits<double>::infinity();
    // All right, all left, a bound that no float is, the patterns' extremes, beyond int32.
    for (double const pivot :
         {-infinite, infinite, std::nan(""), 0.1, -0.7, 50.5, -0.0, 1e300, -1e300, 2147483648.0, -2147483648.0}) {
      maps.push_back({{"pivot", pivot}});
      maps.push_back({{"pivot", pivot}, {"segment", Int{32}}});
    }
    for (Int const segment : {1, 2, 3, 8, 9, 32, 33, 100, 511, 512, 513, 5000, 100000}) {
      maps.push_back({{"segment", segment}});
      maps.push_back({{"segment", segment}, {"team", Int{3}}});
    }
    for (Int const tile : {1, 2, 8, 37, 300, 1023, 1025}) {
      maps.push_back({{"tile", tile}});
      maps.push_back({{"tile", tile}, {"team", Int{3}}, {"pivot", 0.4}});
    }
  }
  if (app == "axis_sum") {
    for (Int const rows : {0, 1, 2, 3}) maps.push_back({{"axis", Int{0}}, {"rows", rows}});
    for (Int const team : {2, 3, 4}) maps.push_back({{"axis", Int{0}}, {"team", team}});
  }
  if (app == "attention") {
    for (ParameterMap& map : maps) map["scale"] = 0.01;
    auto const add_shape = [&](Int dim, Int queries) {
      maps.push_back({{"dim", dim}, {"queries", queries}, {"scale", 0.01}});
      maps.push_back({{"dim", dim}, {"queries", queries}, {"scale", 0.01}, {"chunks", Int{3}}, {"team", Int{3}}});
    };
    for (Int const dim : {7, 33, 64, 100, 200, 257}) add_shape(dim, 3);
    for (Int const queries : {1, 8, 20}) add_shape(16, queries);
    // Rows so short that several threads share a column when the pieces are put together.
    maps.push_back({{"dim", Int{1}}, {"queries", Int{40}}, {"scale", 0.01}, {"chunks", Int{20}}, {"team", Int{4}}});
    maps.push_back({{"dim", Int{40}}, {"scale", 10.0}});
    maps.push_back({{"dim", Int{40}}, {"scale", -0.1}});
  }
  if (app == "embedding") {
    for (ParameterMap& map : maps) map["vocabulary"] = Int{90};
    for (Int const width : {1, 2, 3, 4, 7, 16, 33, 64, 300, 1024}) {
      maps.push_back({{"vocabulary", Int{77}}, {"width", width}});
      maps.push_back({{"vocabulary", Int{1}}, {"width", width}, {"team", Int{2}}});
    }
    maps.push_back({{"vocabulary", Int{90}}, {"batch", Int{3}}});
    maps.push_back({{"vocabulary", Int{90}}, {"length", Int{5}}});
    maps.push_back({{"vocabulary", Int{90}}, {"batch", Int{2}}, {"width", Int{8}}});
  }
  if (app == "histogram") {
    for (ParameterMap& map : maps) map.merge(ParameterMap{{"lo", -0.0}, {"hi", 9.0}});
    auto const add_range = [&](double lo, double hi, std::initializer_list<Int> bins) {
      for (Int const count : bins) maps.push_back({{"lo", lo}, {"hi", hi}, {"bins", count}});
    };
    add_range(-1, 1, {1, 2, 3, 255, 256, 257, 890, 1000, 8000, 1 << 16, 1 << 20});
    add_range(-100, 101, {1, 2, 7, 201, 256, 1000});
    add_range(-101, -1, {1, 50, 99, 300});
    add_range(0, 98, {2});  // 49 is the edge: 49 * (2.0 / 98) is below 1
    add_range(-0x1p31, 0x1p31, {1, 255, 256, 1 << 20});
    add_range(-0x1p31 + 1, 0x1p31 - 1, {3, 257});
    add_range(0x1p31 - 2, 0x1p31, {1, 2, 3});
    add_range(-0.75, 0.3, {10, 256});
    add_range(1e-45, 1e-6, {10});
    add_range(1000, 2000, {10});
    for (Int const tile : {1, 7, 100, 1000}) {
      maps.push_back({{"lo", -1.0}, {"hi", 60.0}, {"tile", tile}});
      maps.push_back({{"lo", -1.0}, {"hi", 60.0}, {"tile", tile}, {"bins", Int{77}}, {"team", Int{3}}});
    }
    for (Int const bins : {16, 200}) {
      for (Int const team : {2, 3, 4}) maps.push_back({{"lo", -1.0}, {"hi", 1.0}, {"bins", bins}, {"team", team}});
    }
  }
  if (app == "layernorm_linear" || app == "layernorm_linear_backward") {
    for (char const* const extent : {"rows", "hidden", "outputs"}) {
      for (Int const value : {1, 3}) maps.push_back({{extent, value}});
    }
    maps.push_back({{"hidden", Int{2048}}});
    maps.push_back({{"rows", Int{2050}}, {"hidden", Int{4}}, {"outputs", Int{5}}});
    maps.push_back({{"eps", 1.0}});
  }
  if (app == "softmax") {
    for (char const* const axis : {"all", "rows", "cols"}) {
      for (Int const rows : {0, 1, 2, 3, 63, 500}) maps.push_back({{"axis", std::string(axis)}, {"rows", rows}});
      for (Int const team : {2, 3, 4}) maps.push_back({{"axis", std::string(axis)}, {"rows", Int{5}}, {"team", team}});
    }
  }
  if (app == "matmul") {
    maps.push_back({{"m", Int{1}}});
    maps.push_back({{"n", Int{1}}});
    maps.push_back({{"k", Int{1}}});
    add("tile", {1, 2, 3, 5});
  }
  return maps;
}

}  // namespace tessera::testing
