#pragma once

#include <iostream>

#include <tessera/cli/nearest.hpp>

#include "sink.hpp"

namespace tessera {

/// The lines of --lines.
class LineSink final : public Sink {
 public:
  explicit LineSink(RunState& run) : run_(run) {}

  void add_row(PlannedCase const&, Row const&, RowReport const& report) override {
    std::cout << row_line(report) << std::endl;
  }

  void finish(int) override {
    for (std::string const& warning : run_.warnings) {
      std::cerr << run_.command.program << ": warning: " << one_line(warning) << std::endl;
    }
    if (run_.takes_last_line()) std::cout << run_.report.last_line() << std::endl;
  }

 private:
  RunState& run_;
};

}  // namespace tessera
