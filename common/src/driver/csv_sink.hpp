#pragma once

#include <tessera/report/csv.hpp>

#include "sink.hpp"

namespace tessera {

/// The file of --csv.
class CsvSink final : public Sink {
 public:
  /// Throws UserError if the file cannot be written.
  explicit CsvSink(RunState& run) : run_(run), csv_(run.options.csv) {}

  void add_row(PlannedCase const& planned, Row const&, RowReport const& report) override {
    csv_.add_row(report, planned.path, planned.parameters);
  }

  void finish(int) override {
    run_.attempt([&] { csv_.write(); });
  }

 private:
  RunState& run_;
  Csv csv_;
};

}  // namespace tessera
