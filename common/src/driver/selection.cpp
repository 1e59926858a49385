// The rows that a command line selects.

#include <algorithm>

#include <tessera/cli/nearest.hpp>
#include <tessera/table/runtime.hpp>

#include "plan.hpp"

namespace tessera {

namespace {

bool has_row(App const& app, Options const& options, DType dtype, std::string_view variant, std::string_view space) {
  return std::ranges::any_of(select_rows(app, options, dtype), [&](Row const* row) {
    return (variant.empty() || row->info.name == variant) && (space.empty() || row->space == space);
  });
}

// Returns "openmp: float, double; cuda: float", for one variant or for all.
std::string where_compiled(App const& app, std::string_view variant) {
  std::vector<std::string> parts;
  for (std::string const& space : enabled_spaces()) {
    std::vector<std::string> dtypes;
    for (DType const dtype : run_dtypes) {
      bool const there = std::ranges::any_of(app.rows, [&](Row const& row) {
        return row.space == space && row.dtype == dtype && (variant.empty() || row.info.name == variant);
      });
      if (there) dtypes.emplace_back(name_of(dtype));
    }
    if (!dtypes.empty()) parts.push_back(space + ": " + join(dtypes));
  }
  return parts.empty() ? "nothing" : join(parts, "; ");
}

}  // namespace

std::vector<DType> dtypes_of(App const& app, Options const& options) {
  std::vector<DType> dtypes;
  for (DType const dtype : run_dtypes) {
    bool const has_rows = std::ranges::any_of(app.rows, [&](Row const& row) { return row.dtype == dtype; });
    if (has_rows && options.dtypes.has(name_of(dtype))) dtypes.push_back(dtype);
  }
  if (!options.dtypes.given && dtypes.size() > 1) dtypes.resize(1);  // float is first in run_dtypes
  return dtypes;
}

std::vector<Row const*> select_rows(App const& app, Options const& options, DType dtype) {
  std::vector<Row const*> rows;
  for (std::string const& space : enabled_spaces()) {
    for (VariantInfo const& variant : app.variants) {
      for (Row const& row : app.rows) {
        bool const here = row.space == space && row.info.name == variant.name && row.dtype == dtype;
        bool const wanted = options.spaces.has(space) && options.variants.has(variant.name) &&
                            options.levels.has(name_of(variant.level));
        if (here && wanted) rows.push_back(&row);
      }
    }
  }
  return rows;
}

void check_selection(App const& app, Options const& options, std::vector<DType> const& dtypes) {
  std::string const name(app.info.name);
  auto const fail = [&](std::string const& what, std::string_view variant) {
    throw UserError("nothing to run for " + what + " (" + name + (variant.empty() ? "" : " " + std::string(variant)) +
                    " is compiled for " + where_compiled(app, variant) +
                    "); choose among these, or build with what is missing");
  };
  for (std::string const& dtype : options.dtypes.names) {
    auto const value = dtype_from_name(dtype);
    if (value && !app.may_have(*value)) {
      throw UserError("nothing to run for dtype " + dtype + " (" + name + " has no rows in " +
                      (size_of(*value) == 2 ? "16-bit floats" : dtype) + ", in any build); choose among " +
                      where_compiled(app, ""));
    }
    if (!value || !has_row(app, options, *value, "", "")) fail("dtype " + dtype, "");
  }
  auto const any = [&](std::string_view variant, std::string_view space) {
    return std::ranges::any_of(dtypes, [&](DType d) { return has_row(app, options, d, variant, space); });
  };
  for (std::string const& level : options.levels.names) {
    auto const is_of_it = [&](VariantInfo const& variant) {
      return name_of(variant.level) == level && options.variants.has(variant.name);
    };
    if (!std::ranges::any_of(app.variants, is_of_it)) {
      throw UserError("nothing to run for level " + level + " (no selected variant of " + name +
                      " has this level); see --list");
    }
  }
  for (std::string const& variant : options.variants.names) {
    auto const info = std::ranges::find(app.variants, variant, &VariantInfo::name);
    if (info != app.variants.end() && !options.levels.has(name_of(info->level))) {
      throw UserError(concat("conflicting options: --level with --variant ", variant, " (its level is ",
                             name_of(info->level), "); leave one of them out"));
    }
    if (!any(variant, "")) fail("variant " + variant, variant);
  }
  for (std::string const& space : options.spaces.names) {
    if (!any("", space)) fail("space " + space, "");
  }
  if (!any("", "")) fail("this selection", "");
}

}  // namespace tessera
