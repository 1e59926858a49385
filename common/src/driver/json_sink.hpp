#pragma once

#include <optional>

#include <tessera/io/whole_file.hpp>
#include <tessera/report/machine_file.hpp>

#include "sink.hpp"

namespace tessera {

/// The report, with the file of --json, and the file of --save-machine.
class JsonSink final : public Sink {
 public:
  /// Throws UserError if the latter cannot be written.
  explicit JsonSink(RunState& run) : run_(run) {
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
  RunState& run_;
  std::optional<WholeFile> machine_file_;
};

}  // namespace tessera
