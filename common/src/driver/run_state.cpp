#include "run_state.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include <tessera/cli/nearest.hpp>
#include <tessera/io/hdf5.hpp>
#include <tessera/ranks/transport.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/runtime.hpp>

#include "../report/thread_facts.hpp"
#include "interruption.hpp"

namespace tessera {

namespace {

// Returns what a run's parts cost relative to each other: each row its case's bytes plus a constant.
std::vector<Progress::Part> parts_of(Plan const& plan) {
  std::vector<Progress::Part> parts;
  for (PlannedCase const& planned : plan.cases) {
    double const bytes = planned.footprint.input_bytes + planned.footprint.output_bytes;
    parts.push_back({std::string(planned.app->info.name), planned.rows.size(), bytes + 0x1p22});
  }
  return parts;
}

}  // namespace

void RunState::warn(std::string const& text) {
  warnings.push_back(text);
  std::string& all = report.system["warnings"];
  all += (all.empty() ? "" : "; ") + text;
}

void RunState::warn_once(std::string const& text) {
  if (std::ranges::find(warnings, text) == warnings.end()) warn(text);
}

void RunState::complain(std::string const& text) {
  file_failed_ = true;
  if (complaints_.insert(text).second) std::cerr << command.program << ": " << one_line(text) << std::endl;
}

std::string RunState::noise() const { return noise_text(report.noisy(), report.timed(), other_load); }

bool RunState::stop() {
  if (stop_signal_ == 0) stop_signal_ = static_cast<int>(ranks.max(caught_signal()));
  return stop_signal_ != 0;
}

void RunState::note_other_load() {
  other_load = load_.others(ranks);
  if (!other_load) return;
  report.system["processors_of_all_nodes"] = format_number(other_load->processors);
  report.system["processors_busy_with_others"] = format_number(other_load->busy);
}

void RunState::describe() {
  progress.plan(parts_of(plan));
  report.build = build_facts();
  report.system["command"] = command.program + (arguments.empty() ? "" : " ") + join(arguments, " ");
  report.system["ranks"] = std::to_string(ranks.count());
  report.system.merge(report::thread_facts());
  if (ranks.count() > 1) {
    report.system["nodes"] = std::to_string(std::llround(ranks.sum(ranks.rank_on_node() == 0 ? 1 : 0)));
    report.system["mpi"] = ranks.library();
    report.system["transport"] = name_of(ranks::transport(true));
    report.system["hdf5_access"] = hdf5::is_parallel() ? "collective" : "independent";
  }
  struct utsname machine{};
  if (::uname(&machine) == 0) {
    report.system["host"] = machine.nodename;
    report.system["kernel"] = concat(machine.sysname, " ", machine.release, " ", machine.machine);
  }
  auto const type = report.build.find("build_type");
  if (type != report.build.end() && type->second != "Release") {
    warn("this is a " + (type->second.empty() ? std::string("build without a type") : type->second + " build") +
         ", not a Release build: its times say little");
  }
  if (options.verify.kind == VerifyOptions::Kind::first) {
    warn("--verify first: only the first launch of each row is checked");
  }
  if (options.verify.kind == VerifyOptions::Kind::sample) {
    warn(concat("--verify sample:", options.verify.elements,
                ": only about this many elements of each field are checked"));
  }
  if (options.sampling.samples < fewest_samples) {
    warn(concat("only ", options.sampling.samples, options.sampling.samples == 1 ? " sample" : " samples",
                " per row: fewer than ", fewest_samples, " say little about the spread"));
  }
}

}  // namespace tessera
