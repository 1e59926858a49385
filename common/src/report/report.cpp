#include <tessera/report/report.hpp>

#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <filesystem>
#include <numeric>

#include <tessera/cli/nearest.hpp>

#include "json.hpp"

namespace tessera {

namespace {

using report::Json;

Json optional_text(std::string const& text) { return text.empty() ? Json(nullptr) : Json(text); }

// A path or a system message may contain invalid UTF-8: replacing bytes is better than having no report.
std::string dump(Json const& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json parameters_json(ParameterMap const& parameters) {
  Json result = Json::object();
  for (auto const& [name, value] : parameters) {
    std::visit([&](auto const& held) { result[name] = held; }, value);
  }
  return result;
}

Json shapes_json(std::vector<std::pair<std::string, Shape>> const& fields) {
  Json result = Json::object();
  for (auto const& [name, shape] : fields) result[name] = shape;
  return result;
}

Json case_json(CaseReport const& report) {
  Json json;
  json["app"] = report.app;
  json["source"] = report.source.empty() ? "generated" : "file";
  json["file"] = optional_text(report.source);
  json["dtype"] = name_of(report.dtype);
  json["size"] = report.size ? Json(*report.size) : Json(nullptr);
  json["seed"] = report.seed ? Json(*report.seed) : Json(nullptr);
  json["data"] = report.data ? Json(name_of(*report.data)) : Json(nullptr);
  json["input_shapes"] = shapes_json(report.input);
  json["output_shapes"] = shapes_json(report.output);
  json["parameters"] = parameters_json(report.parameters);
  json["has_expected"] = report.has_expected;
  json["bytes"] = report.bytes;
  json["flops"] = report.flops;
  json["reference_seconds"] = report.reference_seconds;
  return json;
}

Json over_ranks_json(OverRanks const& numbers) {
  return Json{{"min", numbers.min}, {"median", numbers.median}, {"max", numbers.max}};
}

Json ranks_json(RanksReport const& ranks) {
  Json json;
  json["count"] = ranks.count;
  json["seconds"] = over_ranks_json(ranks.seconds);
  json["communication_seconds"] = over_ranks_json(ranks.communication);
  json["imbalance"] = ranks.imbalance;
  json["bytes_sent"] = ranks.bytes;
  json["messages"] = ranks.messages;
  json["transport"] = ranks.transport;
  if (ranks.scaling) {
    Scaling const& scaling = *ranks.scaling;
    json["scaling"] = Json{{"kind", scaling.weak ? "weak" : "strong"},
                           {"efficiency", scaling.efficiency},
                           {"baseline_variant", scaling.variant},
                           {"baseline_size", scaling.size ? Json(*scaling.size) : Json(nullptr)},
                           {"baseline_seconds", scaling.seconds}};
  }
  return json;
}

Json kernels_json(std::vector<KernelUse> const& kernels) {
  Json all = Json::array();
  for (KernelUse const& use : kernels) {
    Json json;
    json["launches"] = use.launches;
    json["teams"] = use.teams;
    json["team_threads"] = use.team_threads;
    json["registers_per_thread"] = use.registers;
    json["local_bytes_per_thread"] = use.local_bytes;
    json["static_scratch_bytes"] = use.static_scratch_bytes;
    json["dynamic_scratch_bytes"] = use.dynamic_scratch_bytes;
    json["teams_per_multiprocessor"] = use.teams_per_multiprocessor;
    json["occupancy"] = use.occupancy;
    all.push_back(json);
  }
  return all;
}

std::string now_utc() {
  std::time_t const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string joined_lines(std::vector<std::string> const& lines) {
  return lines.empty() ? "" : "\n    " + join(lines, ",\n    ") + "\n  ";
}

}  // namespace

report::Json report::row_json(RowReport const& row) {
  Json json;
  json["app"] = row.app;
  json["case"] = row.case_index;
  json["size"] = row.size ? Json(*row.size) : Json(nullptr);
  json["variant"] = row.variant;
  json["level"] = name_of(row.level);
  json["space"] = row.space;
  json["dtype"] = name_of(row.dtype);
  json["status"] = name_of(row.status);
  json["reason"] = optional_text(row.reason);
  json["note"] = optional_text(row.note);
  Statistics const times = row.times();
  json["seconds"] = times.median;
  json["seconds_min"] = times.min;
  json["seconds_first_quartile"] = times.first_quartile;
  json["seconds_third_quartile"] = times.third_quartile;
  json["seconds_max"] = times.max;
  json["noisy"] = row.noisy();
  json["bytes_per_second"] = row.bytes_per_second();
  json["flops_per_second"] = row.flops_per_second();
  json["share_of_copy"] = row.share_of_copy();
  json["share_of_read"] = row.share_of_read();
  json["share_of_peak"] = row.share_of_peak();
  json["share_of_roof"] = row.share_of_roof();
  json["unit"] = name_of(row.unit);
  json["unit_products"] = row.unit_products;
  json["bytes"] = row.bytes;
  json["flops"] = row.flops;
  json["predicted_bytes"] = row.prediction ? row.prediction->bytes : unknown;
  json["predicted_passes"] = row.prediction ? row.prediction->passes : unknown;
  json["deterministic"] = row.deterministic;
  json["elements"] = row.elements;
  json["unchecked_elements"] = row.unchecked;
  json["rounding_steps"] = row.rounding_steps;
  json["checked_relative_error"] = row.checked_relative_error;
  if (row.false_alarms > 0) json["false_alarm_rate"] = row.false_alarms;
  json["worst_error_in_bounds"] = row.worst_error_in_bounds;
  json["cold"] = row.cold;
  json["warmup_launches"] = row.samples.warmups;
  json["launches_per_sample"] = row.samples.batch;
  json["samples_seconds"] = row.samples.seconds;
  if (Prediction const* const parts = row.parts()) {
    json["parts"] = {
        {"longest_seconds", parts->longest_seconds}, {"sum_seconds", parts->sum_seconds}, {"overlap", row.overlap()}};
  }
  if (row.energy) {
    json["energy"] = {{"joules", row.energy->joules},
                      {"joules_per_element", row.joules_per_element()},
                      {"joules_per_flop", row.joules_per_flop()},
                      {"watts", row.energy->watts()},
                      {"seconds", row.energy->seconds},
                      {"launches", row.energy->launches},
                      {"source", row.energy->source}};
  }
  if (!row.kernels.empty()) json["kernels"] = kernels_json(row.kernels);
  if (row.ranks.count > 1) json["ranks"] = ranks_json(row.ranks);
  return json;
}

std::string row_line(RowReport const& row) {
  auto const text = [](double value) { return std::isfinite(value) ? shortest_text(value) : "-"; };
  std::string const checked = row.false_alarms > 0              ? "p<" + text(row.false_alarms)
                              : row.checked_relative_error == 0 ? "exact"
                                                                : text(row.checked_relative_error);
  return concat("TESSERA row app=", row.app, " variant=", row.variant, " space=", row.space,
                " dtype=", name_of(row.dtype), " size=", row.size ? std::to_string(*row.size) : "-",
                " ranks=", row.ranks.count, " cold=", row.cold ? "true" : "false", " seconds=", text(row.seconds()),
                " bytes_per_second=", text(row.bytes_per_second()), " share_of_roof=", text(row.share_of_roof()),
                " checked=", checked, " status=", name_of(row.status), " noisy=", row.noisy() ? "true" : "false");
}

Statistics RowReport::times() const {
  return samples.seconds.empty() ? Statistics{unknown, unknown, unknown, unknown, unknown}
                                 : statistics(samples.seconds);
}

Report::Report(std::string path, Clock now) : now_(std::move(now)) {
  system["started"] = now_utc();
  if (!path.empty()) file_ = std::make_unique<WholeFile>("--json", std::move(path));
}

Report::~Report() {
  try {
    if (!all_written_) write();      // a run that ended by a mistake writes nothing
  } catch (std::exception const&) {  // NOLINT(bugprone-empty-catch): flush() and finish() report errors
  }
}

std::size_t Report::add_case(CaseReport const& report) {
  cases_.push_back(dump(case_json(report)));
  return cases_.size() - 1;
}

void Report::add_row(RowReport const& report) {
  rows_.push_back(dump(report::row_json(report)));
  ++counts_[static_cast<std::size_t>(report.status)];
  if (!report.samples.seconds.empty()) ++timed_;
  if (report.noisy()) ++noisy_;
  all_written_ = false;
  if (writings_ == 0 || now_() - written_at_ >= 20 * write_seconds_) write();
}

void Report::flush() {
  bool const is_older = file_ && writings_ == 0 && std::filesystem::exists(file_->path());
  if (!all_written_ || is_older) write();
}

void Report::finish() {
  system["finished"] = now_utc();
  if (!rows_.empty()) write();
}

std::size_t Report::rows() const { return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}); }

std::string Report::last_line() const {
  std::string text = "TESSERA rows=" + std::to_string(rows());
  for (Status const status : {Status::passed, Status::failed, Status::skipped, Status::weak}) {
    text += concat(" ", name_of(status), "=", count(status));
  }
  return text;
}

std::string Report::document() const {
  Json machine(system);
  // Null until the end, so that readers detect a crashed or interrupted run.
  if (!system.contains("finished")) machine["finished"] = nullptr;
  Json& by_name = machine["spaces"] = Json::object();
  for (SpaceReport const& space : spaces) {
    Json& json = by_name[space.name] = report::space_json(space);
    json["machine_file"] = optional_text(space.machine_file);
  }
  return "{\n  \"schema\": \"tessera-report/1\",\n  \"input\": [" + joined_lines(cases_) +
         "],\n  \"build\": " + dump(Json(build)) + ",\n  \"system\": " + dump(machine) + ",\n  \"rows\": [" +
         joined_lines(rows_) + "]\n}\n";
}

void Report::write() {
  if (!file_) return;
  double const start = now_();
  ++writings_;
  std::exception_ptr error;
  try {
    file_->replace(document());
    all_written_ = true;
  } catch (std::exception const&) {
    error = std::current_exception();
  }
  written_at_ = now_();
  write_seconds_ = written_at_ - start;
  if (error) std::rethrow_exception(error);
}

}  // namespace tessera
