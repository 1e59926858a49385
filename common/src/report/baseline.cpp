#include <tessera/report/baseline.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <tessera/cli/nearest.hpp>

#include "json.hpp"

namespace tessera {

namespace {

using report::Json;
using report::positive_or_unknown;

[[noreturn]] void refuse_baseline(std::string const& path, std::string const& why) {
  throw UserError("cannot use --baseline " + path + " (" + why + "); write one on one rank with --json FILE");
}

std::string text_of(Json const& facts, char const* name) {
  return facts.is_object() && facts.contains(name) && facts[name].is_string() ? facts[name].get<std::string>() : "";
}

double work_of(double bytes, double flops) { return flops > 0 ? flops : bytes; }

ParameterMap parameters_of(Json const& json) {
  ParameterMap parameters;
  for (auto const& [name, value] : json.items()) {
    if (value.is_boolean()) {
      parameters[name] = value.get<bool>();
    } else if (value.is_number_integer()) {
      parameters[name] = value.get<std::int64_t>();
    } else if (value.is_string()) {
      parameters[name] = value.get<std::string>();
    } else {
      parameters[name] = value.is_number() ? value.get<double>() : unknown;
    }
  }
  return parameters;
}

// Returns the part of a case that rows are searched by.
CaseReport case_of(Json const& json) {
  CaseReport one;
  one.app = json.at("app").get<std::string>();
  if (json.at("source") == "file") one.source = json.at("file").get<std::string>();
  if (json.at("size").is_number()) one.size = json["size"].get<std::size_t>();
  if (json.at("seed").is_number()) one.seed = json["seed"].get<std::uint64_t>();
  for (DataKind const kind : data_kinds) {
    if (json.at("data") == name_of(kind)) one.data = kind;
  }
  std::optional<DType> const dtype = dtype_from_name(json.at("dtype").get<std::string>());
  if (dtype) {
    one.dtype = *dtype;
  } else {
    one.app.clear();  // equal to no case
  }
  for (auto const& [name, shape] : json.at("input_shapes").items()) one.input.emplace_back(name, shape.get<Shape>());
  one.parameters = parameters_of(json.at("parameters"));
  return one;
}

// An integer that a report contains as "10.0" may be read as either type.
bool equal(ParameterValue const& a, ParameterValue const& b) {
  auto const number = [](ParameterValue const& value) -> std::optional<double> {
    if (auto const* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    if (auto const* real = std::get_if<double>(&value)) return *real;
    return std::nullopt;
  };
  auto const x = number(a);
  auto const y = number(b);
  if (x && y) return *x == *y || (!std::isfinite(*x) && !std::isfinite(*y));
  return a == b;
}

bool is_same_case(CaseReport const& known, Baseline::Wanted const& wanted) {
  CaseReport const& of = wanted.of;
  if (known.app != of.app || known.dtype != of.dtype || known.source.empty() != of.source.empty()) return false;
  if (of.source.empty()) {
    if (known.size != wanted.size || known.seed != of.seed || known.data != of.data) return false;
  } else {
    namespace fs = std::filesystem;
    if (fs::path(known.source).filename() != fs::path(of.source).filename()) return false;
    if (!of.input.empty() && known.input != of.input) return false;
  }
  return std::ranges::all_of(of.parameters, [&](auto const& wish) {
    auto const found = known.parameters.find(wish.first);
    return found != known.parameters.end() && equal(found->second, wish.second);
  });
}

}  // namespace

Baseline::Baseline(std::string const& path, std::string const& version) {
  Json const json = report::read_document(path, "tessera-report/1", refuse_baseline);
  try {
    Json const& system = json.at("system");
    for (auto const& [name, value] : json.at("build").items()) {
      if (value.is_string()) build_[name] = value.get<std::string>();
    }
    if (build_["version"] != version) {
      refuse_baseline(path, "it is of version " + (build_["version"].empty() ? "unknown" : build_["version"]) +
                                " of Tessera, this is " + version);
    }
    if (std::string const ranks = text_of(system, "ranks"); !ranks.empty() && ranks != "1") {
      refuse_baseline(path, "its run was on " + ranks + " ranks");
    }
    for (auto const& [name, space] : system.at("spaces").items()) devices_[name] = text_of(space, "device");
    Json const& cases = json.at("input");
    for (Json const& row : json.at("rows")) {
      bool const verified = row.at("status") == "passed" || row.at("status") == "weak";
      double const seconds = positive_or_unknown(row.at("seconds"));
      if (!verified || !std::isfinite(seconds)) continue;
      Known known;
      known.of = case_of(cases.at(row.at("case").get<std::size_t>()));
      known.row = {row.at("variant").get<std::string>(), seconds,
                   work_of(positive_or_unknown(row.at("bytes")), positive_or_unknown(row.at("flops"))),
                   is_noisy(row.value("samples_seconds", std::vector<double>()))};
      known.space = row.at("space").get<std::string>();
      known.cold = row.at("cold").get<bool>();
      rows_.push_back(std::move(known));
    }
  } catch (Json::exception const& problem) {
    refuse_baseline(path, std::string("it is not whole: ") + problem.what());
  }
  if (rows_.empty()) refuse_baseline(path, "it has no verified row");
}

std::optional<Baseline::Row> Baseline::find(Wanted const& wanted) const {
  std::optional<Row> best;
  for (Known const& known : rows_) {
    if (known.space != wanted.space || known.cold != wanted.cold || !is_same_case(known.of, wanted)) continue;
    if (known.row.variant == wanted.variant) return known.row;
    auto const order = [](Row const& row) { return std::pair(row.noisy, row.seconds); };
    if (!best || order(known.row) < order(*best)) best = known.row;
  }
  return best;
}

std::vector<std::string> Baseline::differences(Facts const& build) const {
  std::vector<std::string> texts;
  for (auto const& [name, what] : {std::pair{"git_commit", "commit"}, std::pair{"build_type", "build type"},
                                   std::pair{"compiler", "compiler"}, std::pair{"kokkos_version", "Kokkos"}}) {
    auto const here = build.find(name);
    auto const there = build_.find(name);
    if (here == build.end() || there == build_.end() || here->second == there->second) continue;
    texts.push_back(concat("--baseline: another ", what, ", ", there->second, ", here ", here->second));
  }
  return texts;
}

std::string Baseline::difference(std::string const& space, std::string const& device) const {
  auto const there = devices_.find(space);
  if (there == devices_.end() || there->second.empty() || there->second == device) return {};
  return "--baseline: its " + space + " was " + there->second + ", here a rank has " + device;
}

double efficiency_of(RowReport const& row, Baseline::Row const& one) {
  double const of_rank = work_of(row.bytes, row.flops) / row.ranks.count / row.seconds();
  double const value = of_rank / (one.work / one.seconds);
  return std::isfinite(value) && value > 0 ? value : unknown;
}

}  // namespace tessera
