#pragma once
/// \file
/// How long a case may take, said before it runs: from roofs that were measured, the time of a launch, and a link between
/// ranks. Small on purpose: it says what the best variant could do, and the error says what is missing.
///
///   seconds = max(bytes / bandwidth, operations / peak) + launches + words of ranks + bytes over the link
///
/// docs/decisions/0019-a-study-is-a-list-of-launches.md has its assumptions.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/measure/roofs.hpp>

namespace tessera::model {

/// What a rank has to the others. Unknown: not said, and what ranks say takes no time.
struct Link {
  double word_seconds = unknown;      ///< of a message without content, fences aside
  double bytes_per_second = unknown;  ///< of a rank, in one direction
};

/// "2e-6,25e9". Throws UserError that names `where`.
[[nodiscard]] Link parse_link(std::string const& where, std::string const& text);

/// The bandwidth of a copy that touches so many bytes.
struct Level {
  double bytes = 0;
  double bytes_per_second = 0;
};

struct Machine {
  std::string device;
  Roofs roofs;                ///< of a rank
  std::vector<Level> levels;  ///< of caches, the smallest first; may be empty

  /// Of work that touches `bytes`: between the levels that lie beside it (over the logarithm); above the last that of memory.
  [[nodiscard]] double bandwidth(double bytes) const;
};

/// The machines by space: of a report (its roofs; levels from rows roofline/copy, if it has any) or of a machine file.
/// Throws UserError.
[[nodiscard]] std::map<std::string, Machine> read_machines(std::string const& path);

/// A case as the model sees it.
struct ModelCase {
  std::string app;
  DType dtype = DType::float32;
  Work work;  ///< of all ranks together
  std::vector<Shape> input;
  std::vector<Shape> output;
  ParameterMap parameters;
};

/// What a case's variant `distributed` does on so many ranks.
struct Talk {
  double launches = 1;         ///< of a rank
  double share = 1;            ///< of the work that the busiest rank has
  double words = 0;            ///< messages that a rank waits for, one after the other
  double bytes = 0;            ///< that the busiest rank sends or receives
  double all_bytes = 0;        ///< of all ranks together, as reports count them
  double all_messages = 0;     ///< likewise
  std::string_view by = "no";  ///< how: "no", "totals", "halo", "all to all", ...
};

/// Nothing for a mini-app that the model knows no distributed variant of.
[[nodiscard]] std::optional<Talk> talk_of(ModelCase const& c, std::size_t ranks);

struct Predicted {
  double moving = 0;  ///< bytes over the bandwidth
  double computing = 0;
  double launching = 0;
  double talking = 0;

  [[nodiscard]] double seconds() const { return (moving > computing ? moving : computing) + launching + talking; }
  /// The longest part: "memory", "arithmetic", "launches", "ranks".
  [[nodiscard]] std::string_view bound() const;
};

/// `shared`: the ranks share one machine's memory and processors, as on a host; else each has its own.
[[nodiscard]] Predicted predict(ModelCase const& c, Talk const& talk, std::size_t ranks, Machine const& machine,
                                Link const& link, bool shared);

/// A row of the table of limits.
struct Limit {
  std::string app;
  std::string_view by;
  std::size_t ranks = 0;
  double weak_efficiency = 0;     ///< at `each` elements a rank
  std::string_view bound;         ///< what takes the time there
  std::size_t least_each = 0;     ///< elements a rank, a power of 2, from which on the efficiency is at least a half
  bool never = false;             ///< it is less than that at any size
  std::size_t working_ranks = 0;  ///< that have anything to do at `each`
};

/// Efficiency is the time of the same work on one rank, with as much memory as it takes, over `ranks` times that on `ranks`.
/// `case_of` makes the case of a size. Nothing where the model knows no distributed variant.
[[nodiscard]] std::optional<Limit> limit_of(std::function<ModelCase(std::size_t)> const& case_of, std::size_t ranks,
                                            std::size_t each, Machine const& machine, Link const& link);

}  // namespace tessera::model
