#pragma once

#include <ostream>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/report/table.hpp>

#include "roofs.hpp"
#include "sink.hpp"

namespace tessera {

/// The tables, and the text around them. `on_stdout`: `out` is stdout, where the last line is printed only once.
class TableSink final : public Sink {
 public:
  TableSink(std::ostream& out, bool on_stdout, RunState& run)
      : out_(out), on_stdout_(on_stdout), run_(run), table_(out, run.options.spread) {}

  void begin_case(PlannedCase const& planned, CaseReport const& report) override {
    if (app_ == nullptr) {
      for (std::string const& line : to_lines(run_.plan.left_out)) out_ << one_line(line) << "\n";
    }
    print_warnings();
    if (std::exchange(app_, planned.app) != planned.app)
      table_.begin_app(*planned.app, rows_of(run_.plan, *planned.app));
    table_.begin_case(report, run_.plan.index_of(planned), run_.plan.cases.size());
  }

  void add_row(PlannedCase const&, Row const&, RowReport const& report) override { table_.add_row(report); }

  void finish(int signal) override {
    table_.end_app();
    if (!run_.report.spaces.empty()) out_ << "\n";
    for (SpaceReport const& space : run_.report.spaces) out_ << roofs_text(space) << "\n";
    if (signal != 0) out_ << interrupted_text;
    if (run_.report.noisy() > 0) out_ << run_.noise() << "\n";
    print_warnings();
    if (!on_stdout_ || run_.takes_last_line()) out_ << run_.report.last_line() << std::endl;
  }

 private:
  void print_warnings() {
    for (; warnings_printed_ < run_.warnings.size(); ++warnings_printed_) {
      out_ << "warning: " << run_.warnings[warnings_printed_] << "\n";
    }
  }

  std::ostream& out_;
  bool on_stdout_;
  RunState& run_;
  Table table_;
  App const* app_ = nullptr;  // that began last
  std::size_t warnings_printed_ = 0;
};

}  // namespace tessera
