#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <tessera/cli/nearest.hpp>
#include <tessera/measure/roofs.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/report/machine_file.hpp>
#include <tessera/report/report.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/runtime.hpp>

#include "run_state.hpp"

namespace tessera {

/// Returns "100% copy on openmp is 23.5 GB/s, ...".
[[nodiscard]] inline std::string roofs_text(SpaceReport const& space) {
  Roofs const& roofs = space.roofs;
  std::string text = "100% copy on " + space.name + " is " + format_number(roofs.copy_bytes_per_second / 1e9) + " GB/s";
  text += " (" + space.device + ")";
  for (DType const dtype : arithmetic_dtypes) {
    if (std::isfinite(roofs.peak(dtype))) {
      text += concat(", ", name_of(dtype), " peak ", format_number(roofs.peak(dtype) / 1e9), " GFLOP/s");
    }
  }
  std::string matrix;
  for (Unit const unit : matrix_units) {
    double const peak = roofs.matrix_peak(unit);
    if (std::isfinite(peak)) {
      matrix += concat(matrix.empty() ? " " : ", ", name_of(unit), " ", format_number(peak / 1e12));
    }
  }
  if (!matrix.empty()) text += ", of matrix units (mma.sync)" + matrix + " TFLOP/s";
  if (!space.machine_file.empty()) text += ", from " + space.machine_file;
  return text + (roofs.unsure.empty() ? "" : " (unsure)");
}

/// The roofs of the spaces of a run: measured, or those of --machine or --roof.
class RunRoofs {
 public:
  explicit RunRoofs(RunState& run) : run_(run) {}

  /// Reads --machine. Throws UserError if its roofs are not those of this machine: they would be worse than none.
  void read_machine() {
    machine_ = read_machine_file(run_.options.machine);
    std::optional<SpaceReport> only;
    if (machine_.size() == 1) only = machine_.begin()->second;
    for (PlannedCase const& planned : run_.plan.cases) {
      for (Row const* row : planned.rows) {
        bool const another = planned.app->info.measures_roofs;
        // The file of another machine may lack this machine's spaces.
        if (another && only) machine_.try_emplace(row->space, *only);
        auto const found = machine_.find(row->space);
        if (found == machine_.end()) {
          throw UserError("cannot use --machine " + run_.options.machine + " (it has no roofs of " + row->space +
                          "); write one here with --save-machine FILE, or choose a --space");
        }
        if (std::string const here = device_name(row->space); found->second.device != here) {
          if (another) {
            run_.warn_once("the roofs of " + row->space + " were measured on another device: " + found->second.device +
                           ", from " + run_.options.machine);
            continue;
          }
          throw UserError("cannot use --machine " + run_.options.machine + " (its " + row->space + " is " +
                          found->second.device + ", here it is " + here + "); write one here with --save-machine FILE");
        }
      }
    }
  }

  /// Returns the roofs of a space, measured once per run. Must be called by all ranks.
  [[nodiscard]] Roofs of(std::string const& space) {
    for (SpaceReport const& known : run_.report.spaces) {
      if (known.name == space) return known.roofs;
    }
    SpaceReport report;
    report.name = space;
    report.device = device_name(space);
    report.concurrency = concurrency(space);
    if (!run_.options.roof.empty()) {
      report.machine_file = "--roof " + run_.options.roof;
      report.roofs = run_.options.given_roofs;
    } else if (run_.options.machine.empty()) {
      measure(report);
    } else {
      report.machine_file = run_.options.machine;
      report.roofs = machine_.at(space).roofs;
    }
    std::lock_guard const lock(run_.mutex);
    run_.report.spaces.push_back(report);
    if (!report.roofs.unsure.empty()) run_.warn(unsure_text(report));
    return report.roofs;
  }

  // A row above its roof shows that the measured roof is too low. Caches explain it only for data that fit into them.
  // Integers are excluded because adding may be faster than multiplying, matrix units because they have faster
  // instructions.
  void doubt(RowReport& row) {
    std::vector<SpaceReport>& spaces = run_.report.spaces;
    auto const space = std::ranges::find(spaces, row.space, &SpaceReport::name);
    if (space == spaces.end() || !run_.options.roof.empty() || !space->roofs.unsure.empty()) return;
    Roofs const& roofs = row.roofs;
    double const bandwidth =
        std::max({roofs.copy_bytes_per_second, roofs.triad_bytes_per_second, roofs.read_bytes_per_second});
    double const cache = is_host_space(row.space) ? host_cache_bytes() : 0x1p27;
    bool const moves_faster =
        row.bytes > 2 * cache * run_.ranks.count() && row.bytes_per_second() > beyond_roof * bandwidth;
    bool const computes_faster =
        row.unit == Unit::multiply_add && arithmetic_of(row.dtype) != DType::int32 && row.share_of_peak() > beyond_roof;
    if (!moves_faster && !computes_faster) return;
    std::lock_guard const lock(run_.mutex);
    double const share = moves_faster ? row.share_of_copy() : row.share_of_peak();
    space->roofs.unsure = concat(row.variant, " of ", row.app, " reached ", std::llround(100 * share), "% of its ",
                                 moves_faster ? "copy bandwidth" : "peak");
    row.roofs.unsure = space->roofs.unsure;
    run_.warn(unsure_text(*space));
  }

 private:
  // Limit for measuring the roofs of a run, for all ranks of a node.
  static constexpr double seconds_for_roofs = 3;

  // A row that exceeds its roof by this factor shows that the roof is wrong. (Least bytes count a table row once per
  // lookup. In `embedding` a GPU's cache serves a part of them, and the row reaches 1.3 times copy.)
  static constexpr double beyond_roof = 1.6;

  static std::string unsure_text(SpaceReport const& space) {
    return "the roofs of " + space.name + " are unsure (" + space.roofs.unsure + "); " +
           (space.machine_file.empty() ? "run again" : "measure them again") + " on an idle machine";
  }

  // Returns the bytes of this rank's buffers, the same on all ranks. The buffers of a node take at most a quarter of
  // its free memory. They exceed the last-level caches, and on a GPU they are large enough that the launch time does
  // not matter. They are larger for large cases, and if the roofs themselves are requested.
  [[nodiscard]] std::size_t buffer_bytes(std::string const& space) const {
    double of_node = 0x1p31;
    if (is_host_space(space)) {
      double const beyond_caches = std::max(4 * host_cache_bytes(), 0x1p26);
      double largest = run_.options.save_machine.empty() ? 0 : 0x1p29;
      for (PlannedCase const& planned : run_.plan.cases) {
        Footprint const& of = planned.footprint;
        largest = std::max(largest, planned.app->info.measures_roofs ? 0x1p29 : of.input_bytes + of.output_bytes);
      }
      largest = run_.ranks.max(largest);
      of_node = std::clamp(2 * largest, beyond_caches, std::max(beyond_caches, 0x1p29));
    }
    double const on_node = run_.ranks.count_on_node();
    double const beyond_own_caches = 0x1p23;
    double const bytes =
        std::min(std::max(of_node / on_node, beyond_own_caches), free_memory_bytes(space) / 4 / on_node);
    return static_cast<std::size_t>(run_.ranks.fold(bytes, [](double a, double b) { return std::min(a, b); })) / 512 *
           512;
  }

  void measure(SpaceReport& report) {
    run_.progress.show("roofs of " + report.name);
    Region const region("roofs");
    RoofLimits limits;
    limits.bytes = buffer_bytes(report.name);
    // Reserve for the last run, which may end later, and for work that is not timed.
    limits.seconds = 0.8 * seconds_for_roofs / static_cast<double>(spaces_of(run_.plan).size());
    try {
      if (limits.bytes > 0) report.roofs = measure_roofs(report.name, limits, run_.ranks);
    } catch (std::exception const& error) {
      std::lock_guard const lock(run_.mutex);
      run_.progress.clear();
      run_.warn("no roofs of " + report.name + ": " + error.what());
    }
    if (run_.ranks.count() == 1) return;
    // Measured on all ranks concurrently: ranks that share a memory share its bandwidth, so the total is the sum over
    // ranks.
    Roofs& roofs = report.roofs;
    for (double* const rate :
         {&roofs.copy_bytes_per_second, &roofs.triad_bytes_per_second, &roofs.read_bytes_per_second}) {
      *rate = run_.ranks.sum(*rate);
    }
    for (double& peak : roofs.peak_operations_per_second) peak = run_.ranks.sum(peak);
    for (double& peak : roofs.matrix_peak_operations_per_second) peak = run_.ranks.sum(peak);
    for (double* const seconds : {&roofs.launch_seconds, &roofs.launch_and_fence_seconds})
      *seconds = run_.ranks.max(*seconds);
  }

  RunState& run_;
  std::map<std::string, SpaceReport> machine_;  // the contents of --machine
};

}  // namespace tessera
