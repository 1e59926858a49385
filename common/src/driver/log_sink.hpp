#pragma once

#include <fstream>
#include <stdexcept>
#include <utility>

#include <tessera/io/whole_file.hpp>

#include "table_sink.hpp"

namespace tessera {

/// The same in the file of --log.
class LogSink final : public Sink {
 public:
  /// Throws UserError if the file cannot be written.
  explicit LogSink(RunState& run) : run_(run), file_("--log", run.options.log), table_(log_, false, run) {}

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
  RunState& run_;
  WholeFile file_;  // the lock and the name of the log
  std::ofstream log_;
  TableSink table_;
  bool has_begun_ = false;
};

}  // namespace tessera
