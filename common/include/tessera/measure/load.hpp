#pragma once
/// \file
/// How busy the machine was with the work of others while this program ran.

#include <optional>
#include <string>

#include <tessera/ranks/ranks.hpp>

namespace tessera {

/// Processors that others kept busy, on average, of those that there are; of several nodes, of all of them together.
struct OtherLoad {
  double busy = 0;
  double processors = 0;
};

/// What all processors of a machine did since it started, in seconds. Time that a hypervisor gave to other machines
/// counts as busy.
struct ProcessorTimes {
  double busy = 0;
  double processors = 0;
};

/// Reads the text of Linux' /proc/stat, whose times are in ticks; nothing if it is none.
[[nodiscard]] std::optional<ProcessorTimes> processor_times(std::string const& text, double ticks_per_second);

/// Measures from its construction on.
class LoadMeter {
 public:
  LoadMeter();

  /// Must be called by all ranks. Nothing where the system does not tell, or after less than half a second: the
  /// system counts in hundredths of a second.
  [[nodiscard]] std::optional<OtherLoad> others(ranks::Ranks const& ranks) const;

 private:
  struct Moment {
    double seconds = 0;
    double own_seconds = 0;  // of processors, in this process
    std::optional<ProcessorTimes> machine;
  };
  [[nodiscard]] static Moment now();

  Moment start_;
};

}  // namespace tessera
