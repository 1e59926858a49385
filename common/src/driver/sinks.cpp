#include "sink.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/io/whole_file.hpp>
#include <tessera/report/csv.hpp>
#include <tessera/report/digest.hpp>
#include <tessera/report/machine_file.hpp>
#include <tessera/report/table.hpp>

#include "commands.hpp"
#include "roofs.hpp"

namespace tessera {

namespace {

// Printed before the last line after a signal.
constexpr char const* interrupted_text = "interrupted: these are the rows that were done\n";

// The file of --csv.
class CsvSink final : public Sink {
 public:
  // Throws UserError if the file cannot be written.
  explicit CsvSink(RunState& run) : Sink(run), csv_(run.options.csv) {}

  void add_row(PlannedCase const& planned, Row const&, RowReport const& report) override {
    csv_.add_row(report, planned.path, planned.parameters);
  }

  void finish(int) override {
    run_.attempt([&] { csv_.write(); });
  }

 private:
  Csv csv_;
};

// The tables, and the text around them. `on_stdout`: `out` is stdout, where the last line is printed only once.
class TableSink final : public Sink {
 public:
  TableSink(std::ostream& out, bool on_stdout, RunState& run)
      : Sink(run), out_(out), on_stdout_(on_stdout), table_(out, run.options.spread, run.options.energy) {}

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
  Table table_;
  App const* app_ = nullptr;  // that began last
  std::size_t warnings_printed_ = 0;
};

// The same in the file of --log.
class LogSink final : public Sink {
 public:
  // Throws UserError if the file cannot be written.
  explicit LogSink(RunState& run) : Sink(run), file_("--log", run.options.log), table_(log_, false, run) {}

  // The log is renamed as soon as its first lines are on the disk, so that a full disk does not destroy an older log.
  // Afterwards it grows in place, so that users can watch it.
  void begin_case(PlannedCase const& planned, CaseReport const& report) override {
    bool const first = !std::exchange(has_begun_, true);
    if (first) log_.open(file_.temporary(), std::ios::binary);
    table_.begin_case(planned, report);
    if (!first) return;
    try {
      log_.flush();
      if (!log_) file_.fail("its first lines could not be written: is the disk full?");
      file_.publish();
    } catch (std::runtime_error const& error) {
      log_.close();
      file_.discard();
      run_.complain(error.what());
    }
  }

  void add_row(PlannedCase const& planned, Row const& row, RowReport const& report) override {
    table_.add_row(planned, row, report);
  }

  void finish(int signal) override {
    table_.finish(signal);
    if (log_.is_open() && !log_) {
      run_.complain("cannot write --log " + file_.path() + " (it is not complete); free some space");
    }
  }

 private:
  WholeFile file_;  // the lock and the name of the log
  std::ofstream log_;
  TableSink table_;
  bool has_begun_ = false;
};

// The report, with the file of --json, and the file of --save-machine.
class JsonSink final : public Sink {
 public:
  // Throws UserError if the latter cannot be written.
  explicit JsonSink(RunState& run) : Sink(run) {
    if (!run.options.save_machine.empty()) machine_file_.emplace("--save-machine", run.options.save_machine);
  }

  void add_row(PlannedCase const&, Row const&, RowReport const& row) override {
    run_.attempt([&] { run_.report.add_row(row); });
  }

  void finish(int signal) override {
    Report& report = run_.report;
    run_.attempt([&] {
      if (signal != 0) return report.flush();
      report.finish();
      if (machine_file_) write_machine_file(*machine_file_, report.spaces, report.build, report.system);
    });
  }

 private:
  std::optional<WholeFile> machine_file_;
};

// The lines of --lines.
class LineSink final : public Sink {
 public:
  using Sink::Sink;

  void add_row(PlannedCase const&, Row const&, RowReport const& report) override {
    std::cout << row_line(report) << std::endl;
  }

  void finish(int) override {
    for (std::string const& warning : run_.warnings) {
      std::cerr << run_.command.program << ": warning: " << one_line(warning) << std::endl;
    }
    if (run_.takes_last_line()) std::cout << run_.report.last_line() << std::endl;
  }
};

// The screen of --digest.
class DigestSink final : public Sink {
 public:
  explicit DigestSink(RunState& run) : Sink(run), digest_(digest_of(run.plan)) {}

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

  Digest digest_;
  App const* app_ = nullptr;  // that began last
};

}  // namespace

Sinks::Sinks(RunState& run) {
  if (!run.options.csv.empty()) sinks_.push_back(std::make_unique<CsvSink>(run));
  if (!run.options.log.empty()) sinks_.push_back(std::make_unique<LogSink>(run));
  sinks_.push_back(std::make_unique<JsonSink>(run));
  if (run.options.digest) {
    sinks_.push_back(std::make_unique<DigestSink>(run));
  } else if (run.options.lines) {
    sinks_.push_back(std::make_unique<LineSink>(run));
  } else {
    sinks_.push_back(std::make_unique<TableSink>(std::cout, true, run));
  }
}

void write_last_line(Report const& report) {
  if (!ranks::world().first()) return;
  std::string const text = interrupted_text + report.last_line() + "\n";
  (void)!::write(STDOUT_FILENO, text.data(), text.size());
}

}  // namespace tessera
