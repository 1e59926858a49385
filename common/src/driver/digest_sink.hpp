#pragma once

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tessera/report/digest.hpp>

#include "commands.hpp"
#include "roofs.hpp"
#include "sink.hpp"

namespace tessera {

/// The screen of --digest.
class DigestSink final : public Sink {
 public:
  explicit DigestSink(RunState& run) : run_(run), digest_(digest_of(run.plan)) {}

  void begin_case(PlannedCase const& planned, CaseReport const& report) override {
    if (app_ == nullptr) {
      for (LeftOut const& one : run_.plan.left_out) {
        one.is_file ? digest_.leave_out_file(one.why) : digest_.leave_out_app(one.why);
      }
    }
    if (std::exchange(app_, planned.app) != planned.app) {
      auto const cases = std::ranges::count(run_.plan.cases, app_, &PlannedCase::app);
      digest_.begin_app(*app_, static_cast<std::size_t>(cases), rows_of(run_.plan, *app_));
    }
    digest_.begin_case(report, describe(planned), planned.tuning, planned.same_input);
  }

  void add_row(PlannedCase const& planned, Row const& row, RowReport const& report) override {
    bool const to_repeat = report.status == Status::failed || report.status == Status::weak;
    digest_.add_row(
        report, to_repeat ? repeat_command(run_.command, run_.options, run_.arguments, planned, row) : std::string());
  }

  void finish(int signal) override {
    DigestEnd end;
    end.warnings = run_.warnings;
    for (SpaceReport const& space : run_.report.spaces) end.roofs.push_back(roofs_text(space));
    std::pair<char const*, std::string const&> const files[] = {{"tables", run_.options.log},
                                                                {"report", run_.options.json},
                                                                {"rows", run_.options.csv},
                                                                {"results", run_.options.output},
                                                                {"machine file", run_.options.save_machine}};
    for (auto const& [what, path] : files) {
      if (!path.empty()) end.files.emplace_back(what, path);
    }
    end.log = run_.options.log;
    if (run_.report.timed() > 0) end.noise = run_.noise();
    end.to_try = commands_to_try(run_.command, run_.options, run_.plan, digest_.slowest());
    digest_.finish(end);
    if (signal != 0) std::cout << interrupted_text;
    if (run_.takes_last_line()) std::cout << run_.report.last_line() << std::endl;
  }

 private:
  static Digest digest_of(Plan const& plan) {
    std::vector<std::string> apps;
    std::set<DType> dtypes;
    for (PlannedCase const& planned : plan.cases) {
      apps.emplace_back(planned.app->info.name);
      dtypes.insert(planned.dtype);
    }
    return {std::cout, apps, spaces_of(plan).size(), dtypes.size()};
  }

  RunState& run_;
  Digest digest_;
  App const* app_ = nullptr;  // that began last
};

}  // namespace tessera
