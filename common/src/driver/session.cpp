// The start of a run, on all ranks: from the options to a Session.

#include "session.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/ranks/agreement.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/transport.hpp>
#include <tessera/table/runtime.hpp>

#include "interruption.hpp"
#include "plan.hpp"
#include "task.hpp"

namespace tessera {

namespace {

// True if two ranks share a GPU, for rows that run on it. Throws UserError on all ranks unless `wanted` allows it.
bool ranks_share_gpus(ranks::Ranks const& ranks, Plan const& plan, bool wanted) {
  if (ranks.count() == 1) return false;
  std::string gpu;
  for (PlannedCase const& planned : plan.cases) {
    for (Row const* row : planned.rows) {
      if (gpu.empty() && !is_host_space(row->space)) gpu = device_identity(row->space);
    }
  }
  std::vector<std::string> gpus = ranks.all_gather(gpu);
  std::erase(gpus, "");
  auto const with_gpu = gpus.size();
  std::ranges::sort(gpus);
  auto const repeated = std::ranges::unique(gpus);
  gpus.erase(repeated.begin(), repeated.end());
  if (gpus.size() == with_gpu) return false;
  if (!wanted) {
    throw UserError(concat(with_gpu, " ranks on ", gpus.size(), gpus.size() == 1 ? " GPU" : " GPUs",
                           " (they would slow each other down); start one rank per GPU, or add --share-gpus"));
  }
  return true;
}

// Returns the options for this rank: only the first rank prints and writes files.
Options of_this_rank(Options options, ranks::Ranks const& ranks) {
  if (options.sizes_per_rank) {
    for (std::size_t& size : options.sizes) {
      auto const count = static_cast<std::size_t>(ranks.count());
      if (size > std::numeric_limits<std::size_t>::max() / count) {
        throw UserError(concat("--size-per-rank ", size, " on ", count,
                               " ranks (together more than 2^64-1); choose a smaller size"));
      }
      size *= count;
    }
  }
  if (!ranks.first()) options.json = options.csv = options.log = options.save_machine = options.baseline = "";
  return options;
}

// Starts Kokkos on all ranks or on none. Throws UserError.
std::unique_ptr<Runtime> start_kokkos(Command const& command, Options const& options) {
  std::vector<std::string> kokkos{command.program};
  kokkos.insert(kokkos.end(), options.kokkos_arguments.begin(), options.kokkos_arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : kokkos) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(kokkos.size());
  std::unique_ptr<Runtime> runtime;
  ranks::together(ranks::world(), [&] {
    try {
      runtime = std::make_unique<Runtime>(count, pointers.data());
    } catch (UserError const&) {
      throw;
    } catch (std::exception const& error) {
      throw UserError(concat("Kokkos cannot start (", error.what(),
                             "); check the --kokkos-* options, and that this machine has the build's devices"));
    }
  });
  return runtime;
}

}  // namespace

int run_plan(Command const& command, Options const& given, std::vector<std::string> const& arguments) {
  ranks::Ranks const& ranks = ranks::world();
  Options const options = of_this_rank(given, ranks);
  SignalGuard const guard(true);
  Plan plan;
  std::unique_ptr<Session> session;
  std::atomic<Session*> begun = nullptr;
  // Some launchers kill all ranks one second after a signal, or as soon as one rank ends. The first rank prints, so it
  // ends first.
  Watchdog const watchdog(ranks.first() ? 0.5 : 0.9, [&] {
    if (Session* const of_main = begun) {
      of_main->end_now();
    } else {
      write_last_line(Report());
    }
  });
  if (options.energy && ranks.count() > 1) {
    throw UserError(
        concat("--energy on ", ranks.count(), " ranks (ranks of one node would all count its energy); start one rank"));
  }
  ranks::together(ranks, [&] { plan = make_plan(command, options); });
  if (ranks.count() > 1) ranks::check_same(ranks, facts_of(plan, ranks));
  ranks::together(ranks, [&] { session = std::make_unique<Session>(command, options, plan, arguments); });
  begun = session.get();

  std::unique_ptr<Runtime> const runtime = start_kokkos(command, options);
  bool const shared_gpus = ranks_share_gpus(ranks, plan, options.share_gpus);
  ranks::together(ranks, [&] { ranks::choose_transport(options.transport, shared_gpus); });
  ranks::check_same(ranks, {{"the transport", std::string(ranks::name_of(ranks::transport(true)))}});
  try {
    return session->run();
  } catch (std::bad_alloc const&) {
    // A small allocation failed; the memory for the cases has been checked.
    if (session->has_rows()) return session->end_without_memory();
    throw;
  }
}

}  // namespace tessera
