#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tessera/cli/nearest.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/report/baseline.hpp>
#include <tessera/report/report.hpp>
#include <tessera/table/runtime.hpp>

#include "run_state.hpp"

namespace tessera {

/// The efficiency of rows on several ranks, by the report of --baseline.
class Efficiency {
 public:
  /// Reads --baseline if it is given, on the first rank. Throws UserError if it has no row to compare with.
  explicit Efficiency(RunState& run) : run_(run) {
    if (run.options.baseline.empty()) return;
    Facts const build = build_facts();
    auto const version = build.find("version");
    baseline_ =
        std::make_unique<Baseline>(run.options.baseline, version == build.end() ? std::string() : version->second);
    run.report.system["baseline"] = run.options.baseline;
    if (run.ranks.count() == 1) {
      run.warn("--baseline is ignored: efficiency needs several ranks");
      return;
    }
    // If nothing can be compared with the baseline, say why.
    std::string missing;
    bool found = false;
    for (PlannedCase const& planned : run.plan.cases) {
      CaseReport const report = source_of(planned, run.options.seed);
      for (Row const* row : planned.rows) {
        if (row->info.level != Level::ranks) continue;
        bool const there = one_rank_row(planned, report, row->info.name, row->space).has_value();
        found = found || there;
        if (!there && missing.empty()) missing = size_on_one_rank(planned, report) + " on " + row->space;
      }
    }
    if (!found && !missing.empty()) {
      throw UserError("cannot use --baseline " + run.options.baseline + " (it has no matching row: " + missing +
                      (run.plan.cases.size() > 1 ? ", and others" : "") + "); write one on one rank with --json FILE");
    }
    for (std::string const& text : baseline_->differences(build)) run.warn(text);
  }

  /// Adds its scaling to a row. Warns if there is nothing to compare with.
  void compare(PlannedCase const& planned, CaseReport const& report, RowReport& row) const {
    if (!baseline_ || row.ranks.count == 1 || row.samples.seconds.empty()) return;
    auto const one = one_rank_row(planned, report, row.variant, row.space);
    if (!one) {
      run_.warn_once("no efficiency of " + size_on_one_rank(planned, report) + " on " + row.space + ": --baseline " +
                     run_.options.baseline + " has no such row");
      return;
    }
    if (std::string const text = baseline_->difference(row.space, device_name(row.space)); !text.empty()) {
      run_.warn_once(text);
    }
    bool const weak = run_.options.sizes_per_rank && report.size.has_value();
    row.ranks.scaling = Scaling{efficiency_of(row, *one), weak,         one->variant,
                                size_of_one_rank(report), one->seconds, row.noisy() || one->noisy};
  }

 private:
  // "dot in float, size 1024".
  [[nodiscard]] std::string size_on_one_rank(PlannedCase const& planned, CaseReport const& report) const {
    std::optional<std::size_t> const size = size_of_one_rank(report);
    return concat(planned.app->info.name, " in ", name_of(planned.dtype), ", ",
                  size ? "size " + std::to_string(*size) : planned.path);
  }

  // Weak scaling: the size of one rank's part; strong scaling: the whole size.
  [[nodiscard]] std::optional<std::size_t> size_of_one_rank(CaseReport const& report) const {
    if (!report.size) return std::nullopt;
    return run_.options.sizes_per_rank ? *report.size / static_cast<std::size_t>(run_.ranks.count()) : *report.size;
  }

  [[nodiscard]] std::optional<Baseline::Row> one_rank_row(PlannedCase const& planned, CaseReport const& report,
                                                          std::string_view variant, std::string_view space) const {
    CaseReport of = report;
    for (ParameterSpec const& spec : planned.app->parameters) {
      if (spec.of_ranks) of.parameters.erase(spec.name);
    }
    return baseline_->find({of, size_of_one_rank(report), variant, space, run_.options.sampling.cold});
  }

  RunState& run_;
  std::unique_ptr<Baseline> baseline_;
};

/// The speedups of a case's rows over the mini-app's first variant on the same space; if the case skips that variant,
/// over the next one that was timed.
class Speedups {
 public:
  explicit Speedups(App const& app) : baseline_(app.variants.front().name) {}

  /// Adds its speedup to a row. Rows must come in the order of --list.
  void compare(RowReport& row) {
    if (row.variant == baseline_) firsts_[row.space] = row;
    auto const found = firsts_.find(row.space);
    if (found == firsts_.end() || row.samples.seconds.empty()) return;
    RowReport& first = found->second;
    if (first.status == Status::skipped) first = row;
    if (first.bytes != row.bytes || first.flops != row.flops) return;
    row.speedup = first.seconds() / row.seconds();
    row.noisy_speedup = row.noisy() || first.noisy();
  }

 private:
  std::string_view baseline_;
  std::map<std::string, RowReport> firsts_;  // by space
};

}  // namespace tessera
