#include <tessera/study/model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/sizes.hpp>
#include <tessera/report/machine_file.hpp>

#include "../report/json.hpp"

namespace tessera::model {

namespace {

using report::Json;
using Pattern = Traffic::Pattern;

double number_at(Json const& json, char const* key) {
  Json const& value = json.at(key);
  return value.is_number() ? value.get<double>() : unknown;
}

// Returns the levels from the rows of roofline/copy: each row's working set has the bandwidth of the level that holds
// it. Rows that are dominated by the launch time are ignored.
std::vector<Level> levels_of(Json const& rows, std::string const& space, double launch_seconds) {
  std::vector<Level> levels;
  for (Json const& row : rows) {
    if (row.at("app") != "roofline" || row.at("variant") != "copy" || row.at("space") != space) continue;
    if (row.at("status") != "passed" || !row.at("seconds").is_number()) continue;
    double const seconds = row.at("seconds").get<double>() - (launch_seconds > 0 ? launch_seconds : 0);
    if (!(seconds > 0.5 * row.at("seconds").get<double>())) continue;
    double const bytes = row.at("bytes").get<double>();
    levels.push_back({bytes, bytes / seconds});
  }
  std::ranges::sort(levels, {}, &Level::bytes);
  return levels;
}

Machine machine_of(Json const& space, std::string const& name, Json const& rows, double ranks) {
  Machine machine;
  machine.device = space.at("device").get<std::string>();
  Roofs& roofs = machine.roofs;
  // A report of several ranks contains the sum of their roofs.
  roofs.copy_bytes_per_second = number_at(space, "copy_bytes_per_second") / ranks;
  roofs.launch_seconds = number_at(space, "launch_seconds");
  roofs.launch_and_fence_seconds = number_at(space, "launch_and_fence_seconds");
  for (DType const dtype : arithmetic_dtypes) {
    roofs.peak_operations_per_second.at(static_cast<std::size_t>(dtype)) =
        number_at(space.at("peak_operations_per_second"), std::string(name_of(dtype)).c_str()) / ranks;
  }
  if (space.contains("roofs_unsure") && space["roofs_unsure"].is_string()) {
    roofs.unsure = space["roofs_unsure"].get<std::string>();
  }
  machine.levels = levels_of(rows, name, roofs.launch_seconds);
  return machine;
}

double elements(Shape const& shape) {
  double count = 1;
  for (std::size_t const extent : shape) count *= static_cast<double>(extent);
  return count;
}

// MPI_Allgather doubles the data of each rank per round.
double rounds(double ranks) { return std::ceil(std::log2(ranks)); }

// The field whose rows the ranks share: without input fields, the output.
Shape const& shared_by_ranks(ModelCase const& c) {
  return c.input.empty() ? c.output.front() : c.input.at(c.traffic.field);
}

// A table that every rank has whole needs no communication.
Pattern pattern_of(ModelCase const& c) {
  // One segment of everything: the ranks exchange totals, no elements.
  Shape const& shared = shared_by_ranks(c);
  bool const is_one = c.traffic.pattern == Pattern::segments && !shared.empty() && c.reach >= shared.front();
  if (is_one) return Pattern::totals;
  if (c.traffic.pattern != Pattern::table_rows) return c.traffic.pattern;
  auto const table = c.parameters.find("table");
  bool const in_rows = table != c.parameters.end() && table->second == ParameterValue(std::string("rows"));
  return in_rows ? Pattern::table_rows : Pattern::nothing;
}

// Adds the traffic of totals over all ranks, summed in one block per rank: values are sent to the block's owner, sums
// returned.
void add_sum(Talk& talk, double count, double of_element, double p) {
  double const owners = std::min(count, p);
  talk.all_messages += 2 * owners * (p - 1);
  talk.all_bytes += 2 * (p - 1) * count * of_element;
  talk.words += 2 * (p - 1);
  talk.bytes += 2 * std::ceil(count / p) * (p - 1) * of_element;
}

// Adds the traffic of a block of each rank to each other one. \tparam all bytes of all blocks, also a rank's own
void add_all_to_all(Talk& talk, double all, double p) {
  talk.words += p - 1;
  talk.bytes += all * talk.share * (p - 1) / p;
  talk.all_messages += p * (p - 1);
  talk.all_bytes += all * (p - 1) / p;
}

// Adds the traffic of `bytes` from each rank to all others, as one message.
void add_all_gather(Talk& talk, double bytes, double p) {
  talk.words += rounds(p);
  talk.bytes += bytes * (p - 1);
  talk.all_messages += p * (p - 1);
  talk.all_bytes += bytes * p * (p - 1);
}

// Adds the traffic of one result per run of `mean` of n elements. The rank that owns its place gets it. Every rank has
// n / (mean p) results. A rank owns n / p places, so all results of one rank go to one rank: those of ranks k mean to
// (k + 1) mean - 1 go to rank k. Only the first rank keeps its results; with a mean of 1, nearly all are kept. Most
// results reach the first rank, or the second, which keeps none of its own.
void add_runs(Talk& talk, double n, double mean, double of_result, double p) {
  if (mean == 1) return;
  double const block = n / p;
  double const sent = (p - 1) * block / mean;
  double const most = std::max(std::min(mean, p) - 1, std::min(2 * mean, p) - mean);
  talk.words += most;
  talk.bytes += most * block / mean * of_result;
  talk.all_messages += p - 1;
  talk.all_bytes += sent * of_result;
}

// Returns the grid of `ranks` ranks (down and across) with the least traffic.
std::array<double, 2> grid_of(std::size_t ranks, double a, double b) {
  std::array<double, 2> best{};
  double least = std::numeric_limits<double>::infinity();
  auto const take = [&](std::size_t down) {
    auto const r = static_cast<double>(down);
    double const across = static_cast<double>(ranks) / r;
    double const moved = (across - 1) * a + (r - 1) * b;
    if (moved < least || (moved == least && r < best[0])) {
      least = moved;
      best = {r, across};
    }
  };
  for (std::size_t divisor = 1; divisor * divisor <= ranks; ++divisor) {
    if (ranks % divisor != 0) continue;
    take(divisor);
    take(ranks / divisor);
  }
  return best;
}

std::string_view name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::unknown: return "";
    case Pattern::nothing: return "nothing";
    case Pattern::totals:
    case Pattern::merged: return "totals of all";
    case Pattern::halo: return "halo";
    case Pattern::segments: return "cut segments";
    case Pattern::sums: return "sums of arrays";
    case Pattern::queries: return "queries, partial results";
    case Pattern::panels: return "panels";
    case Pattern::all_to_all: return "all to all";
    case Pattern::sample_sort: return "samples, all to all";
    case Pattern::runs: return "results of runs";
    case Pattern::shift: return "most elements, to few ranks";
    case Pattern::table_rows: return "requested rows";
  }
  return "";
}

}  // namespace

Link parse_link(std::string const& where, std::string const& text) {
  auto const words = split_at_commas(text);
  std::vector<double> values;
  for (std::string const& word : words) {
    auto const value = to_number<double>(word);
    if (value && *value > 0 && std::isfinite(*value)) values.push_back(*value);
  }
  if (words.size() != 2 || values.size() != 2) {
    bad_value(where, text, "not two positive numbers, seconds of latency and bytes per second",
              "write for example " + where + " 2e-6,25e9");
  }
  return {values[0], values[1]};
}

double Machine::bandwidth(double bytes) const {
  if (levels.empty() || bytes > levels.back().bytes) return roofs.copy_bytes_per_second;
  auto const above = std::ranges::lower_bound(levels, bytes, {}, &Level::bytes);
  if (above == levels.begin()) return above->bytes_per_second;
  auto const below = std::prev(above);
  double const part = std::log(bytes / below->bytes) / std::log(above->bytes / below->bytes);
  return below->bytes_per_second + part * (above->bytes_per_second - below->bytes_per_second);
}

std::map<std::string, Machine> read_machines(std::string const& path) {
  auto const refuse = [&](std::string const& why) -> UserError {
    return UserError("cannot take the machine from " + path + " (" + why +
                     "); give a report of --json or a file of --save-machine");
  };
  std::ifstream file(path);
  if (!file) throw refuse("there is no such file, or it cannot be read");
  Json const json = Json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("schema")) throw refuse("it is neither of the two");
  std::map<std::string, Machine> machines;
  if (json["schema"] != "tessera-report/1") {
    for (auto const& [name, space] : read_machine_file(path)) machines[name] = {space.device, space.roofs, {}};
    return machines;
  }
  try {
    Json const& system = json.at("system");
    double const ranks = system.contains("ranks") ? std::stod(system["ranks"].get<std::string>()) : 1;
    for (auto const& [name, space] : system.at("spaces").items()) {
      machines[name] = machine_of(space, name, json.at("rows"), ranks);
    }
  } catch (std::exception const& problem) {  // from the JSON library, or an invalid number of ranks
    throw refuse(std::string("it is not whole: ") + problem.what());
  }
  return machines;
}

std::optional<Talk> talk_of(ModelCase const& c, std::size_t ranks) {
  Talk talk;
  if (ranks == 1) return talk;
  Pattern const pattern = pattern_of(c);
  if (pattern == Pattern::unknown) return std::nullopt;
  auto const p = static_cast<double>(ranks);
  auto const of_element = static_cast<double>(size_of(c.dtype));
  double const of_word = c.traffic.word_bytes > 0 ? static_cast<double>(c.traffic.word_bytes) : of_element;
  talk.launches = c.traffic.launches;
  talk.by = name_of(pattern);
  Shape const& shared = shared_by_ranks(c);
  double const rows = shared.empty() ? 1 : static_cast<double>(shared.front());
  double const halo_bytes = rows > 0 ? static_cast<double>(c.reach) * elements(shared) / rows * of_element : 0;
  if (pattern != Pattern::panels && rows > 0) talk.share = std::ceil(rows / p) / rows;
  switch (pattern) {
    case Pattern::unknown:
    case Pattern::nothing: break;
    case Pattern::totals:
      talk.words = rounds(p);
      talk.bytes = of_word * (p - 1);
      talk.all_messages = p * (p - 1);
      talk.all_bytes = talk.all_messages * of_word;
      break;
    case Pattern::merged: add_sum(talk, 1, of_word, p); break;
    case Pattern::halo:
      talk.words = 1;
      talk.bytes = halo_bytes;
      talk.all_messages = p - 1;
      talk.all_bytes = talk.bytes * (p - 1);
      break;
    case Pattern::segments:
      talk.words = 1;
      talk.bytes = 2 * halo_bytes;
      talk.all_messages = 2 * (p - 1);
      talk.all_bytes = talk.bytes * (p - 1);
      break;
    case Pattern::sums: {
      double together = 0;
      for (std::size_t i = 0; i < c.output.size(); ++i) {
        if (c.output_split.at(i) != Split::whole) continue;
        if (c.output[i].size() < 2) {
          together += elements(c.output[i]);
        } else {
          for (int t = 0; t < c.traffic.times; ++t) add_sum(talk, elements(c.output[i]), of_word, p);
        }
      }
      add_sum(talk, together, of_word, p);
      break;
    }
    case Pattern::queries: {
      auto const queries = static_cast<double>(c.input[0][0]);
      auto const dim = static_cast<double>(c.input[0][1]);
      double const owners = std::min(queries, p);
      talk.words = 2 * (p - 1);
      talk.bytes = (p - 1) * std::ceil(queries / p) * (2 * dim + 2) * of_element;
      talk.all_messages = 4 * owners * (p - 1);
      talk.all_bytes = (p - 1) * queries * (2 * dim + 2) * of_element;
      break;
    }
    case Pattern::panels: {
      double const a = elements(c.input[0]) * of_element;
      double const b = elements(c.input[1]) * of_element;
      auto const [down, across] = grid_of(ranks, a, b);
      double const width = std::min(512.0, static_cast<double>(c.input[0][1]) / std::max(down, across));
      double const panels = std::ceil(static_cast<double>(c.input[0][1]) / std::max(1.0, width));
      talk.share = std::ceil(static_cast<double>(c.input[0][0]) / down) *
                   std::ceil(static_cast<double>(c.input[1][1]) / across) /
                   std::max(1.0, elements({c.input[0][0], c.input[1][1]}));
      talk.launches = panels;
      talk.words = panels;
      talk.bytes = a / down * (across - 1) / across + b / across * (down - 1) / down;
      talk.all_messages = panels * (down * (across - 1) + across * (down - 1));
      talk.all_bytes = (across - 1) * a + (down - 1) * b;
      break;
    }
    case Pattern::all_to_all: add_all_to_all(talk, elements(c.input[0]) * of_element, p); break;
    case Pattern::sample_sort: {
      // Keys that all differ: each round of 32 samples per cut and rank leaves an eighth of a rank's keys, and the last
      // one shows all that are left.
      double const own = std::max(1.0, std::ceil(rows / p) / 32);
      double const samples = (p - 1) * 32 * of_element;
      for (double round = 0; round <= std::ceil(std::log2(own) / 3); ++round) {
        talk.words += p - 1;
        talk.bytes += samples * (p - 1);
        talk.all_messages += p * (p - 1);
        talk.all_bytes += samples * p * (p - 1);
      }
      for (std::size_t i = 0; i < c.input.size(); ++i) {  // keys, and values if there are any
        double const width = i < c.input_dtypes.size() ? static_cast<double>(size_of(c.input_dtypes[i])) : of_element;
        if (elements(c.input[i]) > 0) add_all_to_all(talk, elements(c.input[i]) * width, p);
      }
      break;
    }
    case Pattern::runs: {
      auto const mean = static_cast<double>(std::get<std::int64_t>(c.parameters.at("mean")));
      auto const mode = std::get<std::string>(c.parameters.at("mode"));
      double const of_result = mode == "reduce" ? of_element : 4;
      add_all_gather(talk, 8 + 2 * of_element + 2 * of_result, p);  // the first and the last run of each rank
      for (double const bytes : {of_element, of_result}) {          // keys, and results
        add_all_gather(talk, 8, p);
        if (rows > 0 && mean > 0) add_runs(talk, rows, mean, bytes, p);  // 0: one run, which stays
        if (mode == "unique") break;
      }
      break;
    }
    case Pattern::shift:
      // Elements before the pivot go to one or two ranks, and so do the others. The ranks' totals are exchanged first.
      talk.words = rounds(p) + 1;
      talk.bytes = elements(c.input[0]) * of_element * talk.share * (p == 2 ? 0.5 : 1) + 8 * (p - 1);
      talk.all_messages = p * (p - 1) + (p == 2 ? 2 : 4 * p);
      talk.all_bytes = elements(c.input[0]) * of_element * (p - 1) / p + 8 * p * (p - 1);
      break;
    case Pattern::table_rows: {
      talk.launches = 4;  // they assemble the result; the sort is two of them
      // The numbers of requested rows, their numbers, and the rows, assuming that every index is in the table.
      double const indices = elements(c.input[0]) * (p - 1) / p;
      double const each = 4 + static_cast<double>(c.input[1][1]) * of_element;
      talk.words = 3 * (p - 1);
      talk.bytes = indices * talk.share * each + 8 * p * (p - 1);
      talk.all_messages = 3 * p * (p - 1);
      talk.all_bytes = indices * each + 8 * p * p * (p - 1);
      break;
    }
  }
  return talk;
}

std::string_view Predicted::bound() const {
  std::array<std::pair<double, std::string_view>, 4> const parts{
      {{moving, "memory"}, {computing, "arithmetic"}, {launching, "launches"}, {talking, "ranks"}}};
  return std::ranges::max_element(parts, {}, &std::pair<double, std::string_view>::first)->second;
}

Predicted predict(ModelCase const& c, Talk const& talk, std::size_t ranks, Machine const& machine, Link const& link,
                  bool shared) {
  Predicted result;
  // Infinity is kept: a roof too small to give a time must not look like zero time.
  auto const known = [](double value) { return std::isnan(value) ? 0 : value; };
  // Ranks that share memory move all bytes through it. A rank without work leaves its processors idle.
  double const bytes = c.work.bytes * talk.share;
  double const together = shared ? std::min(static_cast<double>(ranks), 1 / talk.share) : 1;
  result.moving = known(bytes * together / machine.bandwidth(bytes * together));
  result.computing = known(c.work.flops * talk.share * together / machine.roofs.peak(c.dtype));
  result.launching = known(talk.launches * machine.roofs.launch_seconds);
  if (talk.words > 0) {
    // A rank waits for its kernel before it communicates.
    result.launching += known(machine.roofs.launch_and_fence_seconds - machine.roofs.launch_seconds);
    result.talking = known(talk.words * link.word_seconds) + known(talk.bytes / link.bytes_per_second);
  }
  return result;
}

std::optional<Limit> limit_of(std::function<ModelCase(std::size_t)> const& case_of, std::size_t ranks, std::size_t each,
                              Machine const& machine, Link const& link) {
  auto const efficiency = [&](std::size_t of_rank, Predicted* many) -> std::optional<double> {
    ModelCase const c = case_of(of_rank * ranks);
    std::optional<Talk> const talk = talk_of(c, ranks);
    if (!talk) return std::nullopt;
    double const alone = predict(c, *talk_of(c, 1), 1, machine, link, false).seconds();
    *many = predict(c, *talk, ranks, machine, link, false);
    return alone / (static_cast<double>(ranks) * many->seconds());
  };
  Predicted many;
  std::optional<double> const weak = efficiency(each, &many);
  ModelCase const c = case_of(each * ranks);
  std::optional<Talk> const talk = talk_of(c, ranks);
  if (!weak || !talk) return std::nullopt;
  double const working = std::round(std::min(static_cast<double>(ranks), 1 / talk->share));
  Limit limit{c.app, talk->by, ranks, *weak, many.bound(), 0, true, static_cast<std::size_t>(working)};
  constexpr std::size_t most_each = std::size_t{1} << 36;
  for (std::size_t of_rank = most_each; of_rank > 0; of_rank /= 2) {
    Predicted ignored;
    std::optional<double> const reached = efficiency(of_rank, &ignored);
    if (!reached || !(*reached >= 0.5)) break;  // nothing is known if roofs are too small to compute a number
    limit.least_each = of_rank;
    limit.never = false;
  }
  return limit;
}

}  // namespace tessera::model
