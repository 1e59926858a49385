#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <tessera/cli/nearest.hpp>
#include <tessera/core/host_pool.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/driver/driver.hpp>
#include <tessera/io/case_file.hpp>
#include <tessera/ranks/agreement.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/report/report.hpp>
#include <tessera/report/table.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/verify.hpp>

#include "interruption.hpp"
#include "run_state.hpp"

namespace tessera {

/// The planned cases from `begin` to `end` that share an input: the input, and the results that their rows are checked
/// against; or the fault that prevents it.
struct PreparedCase {
  std::size_t begin = 0;
  std::size_t end = 0;
  CaseReport report;
  std::unique_ptr<Case> problem_case;
  Oracle oracle;
  Verified verified;
  std::string fault;
  bool is_mistake = false;  // the fault is the user's

  /// Reports a row of a case with a fault as failed; a row that would skip the case has not failed. If all `rows` of
  /// the case would skip it, they fail: nothing else would report the fault. Must be called by all ranks.
  void blame(ranks::Ranks const& ranks, std::vector<Row const*> const& rows, Row const& row, RowReport& of_row) const {
    of_row.reason = fault;
    if (ranks.any(!problem_case)) return;
    std::string const why = reason_to_skip(row, *problem_case);
    auto const skips = [&](Row const* one) { return !reason_to_skip(*one, *problem_case).empty(); };
    if (why.empty() || std::ranges::all_of(rows, skips)) return;
    of_row.status = Status::skipped;
    of_row.reason = why;
  }
};

/// Prepares the cases of a plan. Must be destroyed before the Runtime.
class Cases {
 public:
  explicit Cases(RunState& run) : run_(run) { keep_freed_memory(); }

  /// Throws UserError if the memory for one of the cases is not free. Announces a large case on stderr.
  void check_memory() {
    PlannedCase const* largest = nullptr;
    for (PlannedCase const& planned : run_.plan.cases) {
      double const bytes = checked_memory(planned);
      if (largest != nullptr && bytes <= most_bytes_) continue;
      largest = &planned;
      most_bytes_ = bytes;
    }
    // Other users of the machine may need the memory.
    if (most_bytes_ < much || !run_.ranks.first()) return;
    std::cerr << run_.command.program << ": " << one_line(describe(*largest)) << " takes up to "
              << format_bytes(most_bytes_) << " of host memory (" << format_bytes(free_host_bytes()) << " are free)"
              << std::endl;
  }

  /// Reads several files in order, so that mistakes in them are reported before the first row. Keeps the first, and
  /// what fits into 4 GiB beside the largest case; the rest is read again. Throws UserError. On one rank only.
  void read_files() {
    auto const has_file = [](PlannedCase const& planned) { return !planned.path.empty() && !planned.same_input; };
    if (std::ranges::count_if(run_.plan.cases, has_file) < 2) return;
    double room = std::min(much, free_host_bytes() / 1.5 - most_bytes_);
    for (PlannedCase const& planned : run_.plan.cases) {
      bool const is_first = &planned == &run_.plan.cases.front();
      if (!has_file(planned) || interrupted()) continue;
      bool const was_open = planned.file->is_open();
      try {
        Source source = read(planned);
        Footprint const& of = planned.footprint;
        double const bytes = of.input_bytes + (planned.has_expected ? of.output_bytes : 0.0);
        if (is_first || bytes <= room) {
          if (!is_first) room -= bytes;  // its case is about to run: it is in most_bytes_
          sources_.emplace(&planned, std::move(source));
        }
      } catch (UserError const& mistake) {
        rethrow(mistake, run_.command, *planned.app, planned.path);
      }
      if (!was_open) planned.file->close();
    }
  }

  /// Returns several cases from the planned case `begin` on. References are serial loops, so they run concurrently;
  /// nothing is timed meanwhile. A group has as many cases as there are threads, and as fit into two thirds of the free
  /// memory. Must be called by all ranks.
  [[nodiscard]] std::vector<PreparedCase> prepare(std::size_t begin) {
    std::vector<PreparedCase> group = group_from(begin);
    auto const planned = [&](PreparedCase const& prepared) -> PlannedCase const& {
      return run_.plan.cases[prepared.begin];
    };
    for (PreparedCase& prepared : group) {
      if (run_.stop()) return group;
      run_.progress.begin_case(prepared.begin);
      run_.progress.show(describe(planned(prepared)) + ": input");
      make_input(planned(prepared), prepared);
      agree(prepared);
    }
    run_.progress.show(group.size() == 1 ? describe(planned(group.front())) + ": reference"
                                         : concat("references of cases ", begin + 1, " to ", group.back().end, " of ",
                                                  run_.plan.cases.size()));
    if (run_.ranks.count() > 1) {
      if (group.front().fault.empty() && !run_.stop()) find_reference(planned(group.front()), group.front());
    } else {
      for_blocks(group.size(), 1, [&](std::size_t i, std::size_t, std::size_t) {
        if (group[i].fault.empty() && !interrupted()) find_reference(planned(group[i]), group[i]);
      });
    }
    return group;
  }

 private:
  // An input, and the results that its file has for it.
  struct Source {
    std::unique_ptr<Case> problem_case;
    std::vector<HostField> expected;
  };
  static constexpr double long_reference = 10;  // seconds
  static constexpr double much = 0x1p32;        // bytes

  // Parts of a reference allocate and free some MiB each. By default glibc may return them to the system after each
  // part, and page faults take as long as the parts.
  static void keep_freed_memory() {
#if defined(__GLIBC__)
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
  }

  // Returns the bytes of host memory that a case needs.
  [[nodiscard]] double checked_memory(PlannedCase const& planned) const {
    MemoryNeed need = memory_need(planned.footprint, planned.has_expected);
    // For all ranks on this node together. Each has its own part plus the data that every rank holds, or the whole
    // input for its reference.
    ranks::Ranks const& ranks = run_.ranks;
    double const share = 1.0 / ranks.count();
    double const on_each = (1 - share) * planned.footprint.input_bytes_on_each;
    need.host = ranks.count_on_node() * (planned.app->refers_to_parts ? share * need.host + on_each : need.host);
    need.device = share * need.device + on_each;
    tessera::check_memory(describe(planned), need, spaces_of(planned.rows),
                          planned.path.empty() ? "choose a smaller --size" : "use a machine with more memory");
    return need.host;
  }

  [[nodiscard]] std::unique_ptr<Case> build(PlannedCase const& planned) const {
    App const& app = *planned.app;
    try {
      if (planned.path.empty()) {
        return app.generate_data(planned.dtype, planned.size, run_.options.seed, planned.data, planned.parameters);
      }
      ranks::together(run_.ranks, [&] { planned.file->reopen(); });
      return app.read(planned.dtype, *planned.file, planned.parameters);
    } catch (UserError const&) {
      throw;
    } catch (std::exception const& error) {  // out of memory: everything else has been checked before
      throw UserError("not enough memory for " + describe(planned) + " (" + error.what() + "); choose a smaller case");
    }
  }

  Source read(PlannedCase const& planned) const {
    Source source{build(planned), {}};
    if (planned.has_expected) {
      source.expected = planned.file->expected(planned.app->output_fields(planned.dtype));
      check_expected_shapes(source.expected, source.problem_case->output_shapes(), planned.path);
    }
    return source;
  }

  Source take(PlannedCase const& planned) {
    auto known = sources_.extract(&planned);
    if (known.empty()) return read(planned);
    planned.file->reopen();  // refuses a file that was changed
    return std::move(known.mapped());
  }

  std::vector<PreparedCase> group_from(std::size_t begin) const {
    std::vector<PreparedCase> group;
    std::size_t end = begin;
    // All cases of a group exist at once, but the results of only one.
    double held = 0;
    double results = 0;
    auto const need = [&] { return memory_need(run_.plan.cases[end].footprint, run_.plan.cases[end].has_expected); };
    auto const needed_with = [&](MemoryNeed const& more) {
      return held + more.held + std::max(results, more.host - more.held);
    };
    do {
      results = std::max(results, need().host - need().held);
      held += need().held;
      PreparedCase& next = group.emplace_back();
      next.begin = end++;
      while (end < run_.plan.cases.size() && run_.plan.cases[end].same_input) ++end;
      next.end = end;
    } while (end < run_.plan.cases.size() && group.size() < host_threads() && run_.ranks.count() == 1 &&
             1.5 * needed_with(need()) < free_host_bytes() + HostPool::instance().kept_bytes());
    // Blocks that other cases left may not have the sizes of these cases.
    if (held + results > free_host_bytes()) HostPool::instance().release();
    return group;
  }

  void make_input(PlannedCase const& planned, PreparedCase& prepared) {
    CaseReport& report = prepared.report;
    report = source_of(planned, run_.options.seed);
    trying(prepared, [&] {
      Source source = take(planned);
      prepared.problem_case = std::move(source.problem_case);
      Case const& problem_case = *prepared.problem_case;
      bool const is_drawn = planned.path.empty();
      prepared.oracle.random_data = is_drawn && planned.data == DataKind::random;
      prepared.oracle.is_file = !is_drawn;
      prepared.oracle.other_is_exact = is_drawn && planned.data != DataKind::exact && planned.app->has(DataKind::exact);
      prepared.oracle.verify = run_.options.verify;
      prepared.oracle.from_file = problem_case.own_part(std::move(source.expected));
      // On several ranks the reference may read the whole input again.
      if (planned.file && run_.ranks.count() == 1) planned.file->close();
      report.input = shapes_of(as_given(planned, problem_case.input_shapes()));
      report.output = shapes_of(as_given(planned, problem_case.output_shapes()));
      Work const work = problem_case.work();
      report.bytes = work.bytes;
      report.flops = work.flops;
    });
  }

  static std::vector<std::pair<std::string, Shape>> shapes_of(std::vector<HostField> const& fields) {
    std::vector<std::pair<std::string, Shape>> shapes;
    for (HostField const& field : fields) shapes.emplace_back(field.name, field.shape);
    return shapes;
  }

  // Executes one step of preparing a case. An exception becomes the case's fault.
  template <class Step>
  static void trying(PreparedCase& prepared, Step const& step) {
    try {
      step();
    } catch (UserError const& error) {
      prepared.is_mistake = true;
      prepared.fault = error.what();
    } catch (std::bad_alloc const&) {
      prepared.is_mistake = true;
      prepared.fault = "out of memory (the input or the reference did not fit); choose a smaller case";
    } catch (std::exception const& error) {
      prepared.fault = std::string("the case could not be prepared: ") + error.what();
    }
  }

  // A fault of a case on one rank becomes the fault on all ranks.
  void agree(PreparedCase& prepared) {
    ranks::Ranks const& ranks = run_.ranks;
    if (ranks.count() == 1) return;
    try {
      ranks::together(ranks, [&] {
        if (prepared.fault.empty()) return;
        if (prepared.is_mistake) throw UserError(prepared.fault);
        throw std::runtime_error(prepared.fault);
      });
    } catch (UserError const& error) {
      prepared.is_mistake = true;
      prepared.fault = error.what();
    } catch (std::exception const& error) {
      prepared.fault = error.what();
    }
  }

  // Reports once that a reference takes long, estimated from its first parts as soon as every thread has done one.
  BlockWatch announced_reference(PlannedCase const& planned) {
    return BlockWatch([this, &planned, said = std::make_shared<std::atomic<bool>>(!run_.ranks.first())](
                          std::size_t done, std::size_t blocks, double seconds) {
      if (done < std::min(host_threads(), blocks) || *said) return;
      double const left = seconds / static_cast<double>(done) * static_cast<double>(blocks - done);
      if (left < long_reference || said->exchange(true)) return;
      std::lock_guard const lock(announcing_);
      run_.progress.clear();
      std::cerr << run_.command.program << ": the reference of " << one_line(describe(planned)) << " may take "
                << std::llround(left) << " s more (estimated from its first parts); interrupt it if that is too long"
                << std::endl;
    });
  }

  // On several ranks references communicate: a failure on one rank ends all ranks.
  void find_reference(PlannedCase const& planned, PreparedCase& prepared) {
    ranks::Ranks const& ranks = run_.ranks;
    trying(prepared, [&] {
      double const start = steady_seconds();
      BlockWatch const watch = announced_reference(planned);
      Oracle& oracle = prepared.oracle;
      if (run_.options.verify.kind == VerifyOptions::Kind::sample && oracle.from_file.empty()) {
        auto const choose = [&](std::size_t count) {
          return sample_of(count, run_.options.verify.elements, run_.options.verify.seed);
        };
        oracle.sample = prepared.problem_case->reference_of_sample(choose).value_or(std::vector<ExpectedField>());
      }
      if (oracle.sample.empty()) oracle.reference = prepared.problem_case->reference_by_parts();
      prepared.report.reference_seconds = steady_seconds() - start;
      prepared.fault = disagreement(prepared.oracle);
    });
    if (ranks.count() == 1) return;
    if (planned.file) planned.file->close();
    if (prepared.oracle.reference.empty() && !prepared.fault.empty()) {
      (void)std::fprintf(stderr, "rank %d: %s: %s\n", ranks.rank(), describe(planned).c_str(), prepared.fault.c_str());
      ranks.abort(1);
    }
    agree(prepared);
  }

  RunState& run_;
  HostPool::Keeping keeping_;                     // blocks of Kokkos' memory: freed before the Runtime ends
  std::mutex announcing_;                         // for references, several of which may run
  double most_bytes_ = 0;                         // of host memory, of the largest case
  std::map<PlannedCase const*, Source> sources_;  // that were read early
};

/// Converts the reference to the dtypes of the results.
inline void make_narrow(PreparedCase& prepared) {
  if (!prepared.fault.empty()) return;
  std::vector<ExpectedField>& reference = prepared.oracle.reference;
  std::vector<HostField> const outputs = prepared.problem_case->output_shapes();
  for (std::size_t i = 0; i < std::min(outputs.size(), reference.size()); ++i) {
    make_narrow(reference[i], outputs[i].dtype);
  }
}

}  // namespace tessera
