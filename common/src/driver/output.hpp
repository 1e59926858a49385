#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tessera/driver/driver.hpp>
#include <tessera/io/case_file.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/table/app.hpp>

#include "run_state.hpp"

namespace tessera {

// A rank's parts of fields, and their places; no places on one rank, which has whole fields.
struct PlacedFields {
  std::vector<HostField> fields;
  std::vector<FieldPlace> places;
};

inline PlacedFields as_given(PlannedCase const& planned, std::vector<HostField> fields,
                             std::vector<FieldPlace> const& places) {
  if (places.empty()) return {as_given(planned, std::move(fields)), {}};
  PlacedFields placed{std::move(fields), {}};
  for (HostField& field : placed.fields) {
    FieldPlace place = *std::ranges::find(places, field.name, &FieldPlace::name);
    HostField whole = field;
    whole.shape = place.whole;
    whole = as_given(planned, {whole}).front();
    if (whole.shape.size() < place.whole.size()) {  // a vector read as a matrix of one row, which ranks may not have
      if (field.shape.front() == 0) field.shape.back() = 0;
      field.shape.erase(field.shape.begin());
      place.offset.erase(place.offset.begin());
      place.whole = whole.shape;
    }
    placed.places.push_back(std::move(place));
  }
  return placed;
}

// A row that writes only the first elements of a vector has fewer elements than its ranks' blocks. The whole is as long
// as the parts together. Must be called by all ranks.
inline void cut_to_parts(PlacedFields& placed, ranks::Ranks const& ranks) {
  for (std::size_t i = 0; i < placed.places.size(); ++i) {
    FieldPlace& place = placed.places[i];
    if (place.is_everywhere || place.whole.size() != 1) continue;
    place.whole = {0};
    for (std::size_t const own : ranks.all_gather(placed.fields[i].shape.front())) place.whole[0] += own;
  }
}

/// The file of --output, if it is given: the input, and what verified rows wrote. After a failure nothing more is
/// written.
class RowOutput {
 public:
  /// Throws UserError if the file cannot be written.
  explicit RowOutput(RunState& run) : run_(run) {
    if (!run.options.output.empty()) file_ = std::make_unique<OutputFile>(run.options.output, run.ranks);
  }

  /// Writes a case's input. Must be called by all ranks.
  void write_input(PlannedCase const& planned, Case const& problem_case) {
    trying([&] {
      PlacedFields const input = as_given(planned, problem_case.input(), problem_case.input_places());
      file_->write_input(input.fields, without_shaping(*planned.app, planned.parameters), input.places);
    });
  }

  /// Returns what receives the output of the case's rows; empty without a file. Must be called by all ranks.
  [[nodiscard]] TakeOutput taker(PlannedCase const& planned, Case const& problem_case) {
    if (!file_) return {};
    return [&](Row const& row, std::vector<HostField> const& fields) {
      trying([&] {
        PlacedFields kept = as_given(planned, fields, problem_case.output_places());
        cut_to_parts(kept, run_.ranks);
        file_->write(std::string(row.info.name), row.space, kept.fields, kept.places);
        has_rows_ = true;
      });
    };
  }

  /// Renames the file, if it has a row. Until then an older file stays. Requires that the run's mutex is locked.
  void commit() {
    std::unique_lock const lock(in_use_, std::try_to_lock);
    if (!lock) {
      run_.complain("cannot write --output " + run_.options.output +
                    " (the run was ended while it wrote); run it again");
      return;
    }
    if (!file_ || !has_rows_) return;
    run_.attempt([&] { file_->commit(); });
    file_.reset();
  }

 private:
  template <class Write>
  void trying(Write const& write) {
    std::lock_guard const lock(in_use_);
    if (!file_) return;
    try {
      write();
    } catch (std::runtime_error const& error) {
      file_.reset();
      std::lock_guard const lock_state(run_.mutex);
      run_.complain(error.what());
    }
  }

  RunState& run_;
  std::unique_ptr<OutputFile> file_;
  std::mutex in_use_;
  bool has_rows_ = false;
};

}  // namespace tessera
