#pragma once
/// \file
/// Measures how busy other processes kept the machine while this program ran.

#include <optional>
#include <string>

#include <tessera/ranks/ranks.hpp>

namespace tessera {

/// The average number of processors that other processes kept busy, and the number of processors; summed over nodes.
struct OtherLoad {
  double busy = 0;
  double processors = 0;
};

/// Processor time of a machine since it started, summed over its processors, in seconds. Time that a hypervisor gave to
/// other machines counts as busy.
struct ProcessorTimes {
  double busy = 0;
  double processors = 0;
};

/// Parses the text of Linux' /proc/stat, whose times are in ticks. Returns nothing if the text has another format.
[[nodiscard]] std::optional<ProcessorTimes> processor_times(std::string const& text, double ticks_per_second);

/// Measures from its construction on.
class LoadMeter {
 public:
  LoadMeter();

  /// Must be called by all ranks. Returns nothing if the system has no such counters, or after less than half a second,
  /// because the system counts in hundredths of a second.
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
