#include <tessera/report/model.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include <tessera/report/machine_file.hpp>

#include "json.hpp"

namespace tessera::model {

namespace {

using report::Json;

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

// The communication pattern of a variant `distributed`, its launches on a GPU, and the input field whose rows are
// distributed.
enum class By : std::uint8_t { no, totals, halo, neighbours, sums, attention, panels, all_to_all, shift, asked_rows };
struct Pattern {
  std::string_view app;
  By by;
  double launches;
  std::size_t field = 0;
};

// Describes the code in apps/<app>/variants/distributed.cpp. tests/common/model_test.cpp compares bytes, messages and
// launches with a report of two GPUs.
constexpr std::array patterns{Pattern{"attention", By::attention, 3, 1},
                              Pattern{"axis_sum", By::no, 1},
                              Pattern{"bias_add", By::no, 1},
                              Pattern{"broadcast_add", By::no, 1, 1},
                              Pattern{"butterfly", By::neighbours, 1},
                              Pattern{"conv1d", By::halo, 2},
                              Pattern{"conv2d", By::halo, 2},
                              Pattern{"dot", By::totals, 2},
                              Pattern{"embedding", By::no, 1},
                              Pattern{"finite_difference", By::halo, 2},
                              Pattern{"histogram", By::sums, 2},
                              Pattern{"lane_broadcast", By::neighbours, 1},
                              Pattern{"layernorm", By::no, 1},
                              Pattern{"layernorm_linear", By::no, 1},
                              Pattern{"layernorm_linear_backward", By::sums, 7},
                              Pattern{"map", By::no, 1},
                              Pattern{"map_2d", By::no, 1},
                              Pattern{"map_3d", By::no, 1},
                              Pattern{"matmul", By::panels, 2},
                              Pattern{"moving_average", By::halo, 2},
                              Pattern{"partition", By::shift, 3},
                              Pattern{"pooling", By::halo, 1},
                              Pattern{"prefix_sum", By::totals, 2},
                              Pattern{"softmax", By::totals, 2},
                              Pattern{"transpose", By::all_to_all, 3},
                              Pattern{"zip", By::no, 1}};

double elements(Shape const& shape) {
  double count = 1;
  for (std::size_t const extent : shape) count *= static_cast<double>(extent);
  return count;
}

// MPI_Allgather doubles the data of each rank per round.
double rounds(double ranks) { return std::ceil(std::log2(ranks)); }

double integer(ModelCase const& c, std::string_view name, double otherwise) {
  auto const found = c.parameters.find(name);
  if (found == c.parameters.end()) return otherwise;
  auto const* const value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? otherwise : static_cast<double>(*value);
}

// A table in rows is requested from its owners, and the result assembled in four launches (the sort is two). A table
// that every rank holds needs no communication.
Pattern pattern_of(ModelCase const& c, Pattern const& pattern) {
  auto const table = c.parameters.find("table");
  if (c.app != "embedding" || table == c.parameters.end()) return pattern;
  auto const* const where = std::get_if<std::string>(&table->second);
  if (where == nullptr || *where != "rows") return pattern;
  return {pattern.app, By::asked_rows, 4, pattern.field};
}

// Returns the bytes that a rank needs from its neighbour.
double halo_bytes(ModelCase const& c) {
  auto const of_element = static_cast<double>(size_of(c.dtype));
  if (c.app == "conv1d") return (elements(c.input[1]) - 1) * of_element;
  if (c.app == "conv2d") {
    return static_cast<double>(c.input[1][0] - 1) * static_cast<double>(c.input[0][1]) * of_element;
  }
  if (c.app == "pooling") return (integer(c, "window", 3) - 1) * of_element;
  return (c.app == "moving_average" ? 2 : 1) * of_element;
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

// Returns the grid of `ranks` ranks (down and across) with the least traffic.
std::array<double, 2> grid_of(std::size_t ranks, double a, double b) {
  std::array<double, 2> best{1, static_cast<double>(ranks)};
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t down = 1; down <= ranks; ++down) {
    if (ranks % down != 0) continue;
    auto const r = static_cast<double>(down);
    double const across = static_cast<double>(ranks) / r;
    double const moved = (across - 1) * a + (r - 1) * b;
    if (moved < least) {
      least = moved;
      best = {r, across};
    }
  }
  return best;
}

std::string_view name_of(By by) {
  switch (by) {
    case By::no: return "nothing";
    case By::totals: return "totals of all";
    case By::halo: return "halo";
    case By::neighbours: return "cut segments";
    case By::sums: return "sums of arrays";
    case By::attention: return "queries, partial results";
    case By::panels: return "panels";
    case By::all_to_all: return "all to all";
    case By::shift: return "most of it, to few";
    case By::asked_rows: return "rows that are asked for";
  }
  return "";
}

}  // namespace

Link parse_link(std::string const& where, std::string const& text) {
  std::array<double, 2> values{};
  char const* at = text.data();
  char const* const end = text.data() + text.size();
  for (std::size_t i = 0; i < 2; ++i) {
    auto const [next, error] = std::from_chars(at, end, values.at(i));
    bool const last = i == 1;
    if (error != std::errc{} || !(values.at(i) > 0) || !std::isfinite(values.at(i)) ||
        (last ? next != end : (next == end || *next != ','))) {
      throw UserError("bad value `" + text + "` for " + where +
                      " (not two positive numbers, the seconds of a word and bytes a second); write for example " +
                      where + " 2e-6,25e9");
    }
    at = next + 1;
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
  auto const found = std::ranges::find(patterns, c.app, &Pattern::app);
  if (found == patterns.end()) return ranks == 1 ? std::optional(talk) : std::nullopt;
  if (ranks == 1) return talk;
  auto const p = static_cast<double>(ranks);
  auto const of_element = static_cast<double>(size_of(c.dtype));
  Pattern const pattern = pattern_of(c, *found);
  talk.launches = pattern.launches;
  talk.by = name_of(pattern.by);
  Shape const& shared = c.input.at(pattern.field);
  double const rows = shared.empty() ? 1 : static_cast<double>(shared.front());
  if (pattern.by != By::panels && rows > 0) talk.share = std::ceil(rows / p) / rows;
  switch (pattern.by) {
    case By::no: break;
    case By::totals: {
      double const each = c.app == "dot" ? of_element : 8;
      talk.words = rounds(p);
      talk.bytes = each * (p - 1);
      talk.all_messages = p * (p - 1);
      talk.all_bytes = talk.all_messages * each;
      break;
    }
    case By::halo:
      talk.words = 1;
      talk.bytes = halo_bytes(c);
      talk.all_messages = p - 1;
      talk.all_bytes = talk.bytes * (p - 1);
      break;
    case By::neighbours:
      talk.words = 1;
      talk.bytes = 2 * (integer(c, "segment", 32) - 1) * of_element;
      talk.all_messages = 2 * (p - 1);
      talk.all_bytes = talk.bytes * (p - 1);
      break;
    case By::sums:
      if (c.app == "histogram") {
        add_sum(talk, elements(c.output[0]) + 1, 8, p);
      } else {
        double const hidden = static_cast<double>(c.input[0][1]);
        double const outputs = static_cast<double>(c.input[3][0]);
        add_sum(talk, 2 * hidden + outputs, of_element, p);
        add_sum(talk, hidden * outputs, of_element, p);
      }
      break;
    case By::attention: {
      auto const queries = static_cast<double>(c.input[0][0]);
      auto const dim = static_cast<double>(c.input[0][1]);
      double const owners = std::min(queries, p);
      talk.words = 2 * (p - 1);
      talk.bytes = (p - 1) * std::ceil(queries / p) * (2 * dim + 2) * of_element;
      talk.all_messages = 4 * owners * (p - 1);
      talk.all_bytes = (p - 1) * queries * (2 * dim + 2) * of_element;
      break;
    }
    case By::panels: {
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
    case By::all_to_all:
      talk.words = p - 1;
      talk.bytes = elements(c.input[0]) * of_element * talk.share * (p - 1) / p;
      talk.all_messages = p * (p - 1);
      talk.all_bytes = elements(c.input[0]) * of_element * (p - 1) / p;
      break;
    case By::shift:
      // Elements before the pivot go to one or two ranks, and so do the others. The ranks' totals are exchanged first.
      talk.words = rounds(p) + 1;
      talk.bytes = elements(c.input[0]) * of_element * talk.share * (p == 2 ? 0.5 : 1) + 8 * (p - 1);
      talk.all_messages = p * (p - 1) + (p == 2 ? 2 : 4 * p);
      talk.all_bytes = elements(c.input[0]) * of_element * (p - 1) / p + 8 * p * (p - 1);
      break;
    case By::asked_rows: {
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
