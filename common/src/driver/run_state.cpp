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

namespace tessera {

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

void RunState::describe() {
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
