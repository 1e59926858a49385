#pragma once
/// \file
/// Predicts the time of a case before it runs, from measured roofs, the launch time, and a link between ranks. The
/// model is deliberately small: it predicts what the best variant could reach, and its error shows what it lacks.
///
///   seconds = max(bytes / bandwidth, operations / peak) + launches + messages of ranks + bytes over the link
///
/// docs/decisions/0019-a-study-is-a-list-of-launches.md lists its assumptions.

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

/// The link of a rank to the others. Unknown: not given, and communication takes no time.
struct Link {
  double word_seconds = unknown;      ///< message latency: an empty message, without fences
  double bytes_per_second = unknown;  ///< per rank, in one direction
};

/// Parses "2e-6,25e9". Throws UserError that names `where`.
[[nodiscard]] Link parse_link(std::string const& where, std::string const& text);

/// The bandwidth of a copy that touches `bytes` bytes.
struct Level {
  double bytes = 0;
  double bytes_per_second = 0;
};

struct Machine {
  std::string device;
  Roofs roofs;                ///< per rank
  std::vector<Level> levels;  ///< of caches, the smallest first; may be empty

  /// Returns the bandwidth for work that touches `bytes`: interpolated over the logarithm between neighbouring levels;
  /// above the last level, the bandwidth of memory.
  [[nodiscard]] double bandwidth(double bytes) const;
};

/// Returns the machines by space, read from a report (its roofs, and levels from the rows of roofline/copy if there are
/// any) or a machine file. Throws UserError.
[[nodiscard]] std::map<std::string, Machine> read_machines(std::string const& path);

/// A case as the model sees it.
struct ModelCase {
  std::string app;
  DType dtype = DType::float32;
  Work work;  ///< of all ranks together
  std::vector<Shape> input;
  std::vector<DType> input_dtypes = {};  ///< empty: all as dtype
  std::vector<Shape> output;
  ParameterMap parameters;
  Traffic traffic;
  std::vector<Split> output_split;
  std::size_t reach = 0;  ///< rows beside its own that a rank needs
};

/// The launches and messages of a case's variant `distributed` on a number of ranks.
struct Talk {
  double launches = 1;         ///< per rank
  double share = 1;            ///< the busiest rank's share of the work
  double words = 0;            ///< messages that a rank waits for, one after the other
  double bytes = 0;            ///< sent or received by the busiest rank
  double all_bytes = 0;        ///< of all ranks together, as reports count them
  double all_messages = 0;     ///< of all ranks together, as reports count them
  std::string_view by = "no";  ///< the pattern: "no", "totals", "halo", "all to all", ...
};

/// Returns nothing on several ranks if the pattern of the exchange is unknown.
[[nodiscard]] std::optional<Talk> talk_of(ModelCase const& c, std::size_t ranks);

struct Predicted {
  double moving = 0;  ///< bytes divided by the bandwidth
  double computing = 0;
  double launching = 0;
  double talking = 0;

  [[nodiscard]] double seconds() const { return (moving > computing ? moving : computing) + launching + talking; }
  /// Returns the longest part: "memory", "arithmetic", "launches" or "ranks".
  [[nodiscard]] std::string_view bound() const;
};

/// `shared`: the ranks share the memory and processors of one machine, as on a host; otherwise each rank has its own.
[[nodiscard]] Predicted predict(ModelCase const& c, Talk const& talk, std::size_t ranks, Machine const& machine,
                                Link const& link, bool shared);

/// A row of the table of limits.
struct Limit {
  std::string app;
  std::string_view by;
  std::size_t ranks = 0;
  double weak_efficiency = 0;     ///< at `each` elements per rank
  std::string_view bound;         ///< the longest part there
  std::size_t least_each = 0;     ///< elements per rank, a power of 2, from which the efficiency is at least 0.5
  bool never = false;             ///< the efficiency is below 0.5 at any size
  std::size_t working_ranks = 0;  ///< ranks that have work at `each`
};

/// Returns the limits of scaling. Efficiency is T(1) / (`ranks` * T(`ranks`)) for the same work; the one rank has as
/// much memory as the work needs. `case_of` makes the case of a size. Returns nothing if the pattern of the exchange is
/// unknown.
[[nodiscard]] std::optional<Limit> limit_of(std::function<ModelCase(std::size_t)> const& case_of, std::size_t ranks,
                                            std::size_t each, Machine const& machine, Link const& link);

}  // namespace tessera::model
