#pragma once
/// \file
/// Measures the energy of a row: of the whole board of an NVIDIA GPU through NVML, or of a host's processor packages
/// through RAPL. Idle power is included. NVML is loaded at run time. No Kokkos.

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <tessera/measure/sampling.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

/// Energy cannot be measured, or not any more; with the reason.
class EnergyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A counter of energy.
class EnergyMeter {
 public:
  EnergyMeter() = default;
  EnergyMeter(EnergyMeter const&) = delete;
  EnergyMeter& operator=(EnergyMeter const&) = delete;
  virtual ~EnergyMeter() = default;

  /// Returns the joules since a fixed moment. Call it while work is in flight, because a meter that only knows the
  /// power of now adds it up from call to call. Throws EnergyError if the counter cannot be read any more.
  [[nodiscard]] virtual double joules() = 0;
  /// Returns what is measured and how: "board, NVML energy counter".
  [[nodiscard]] virtual std::string source() const = 0;
};

/// Returns the meter of the NVIDIA GPU with this PCI bus id ("0000:65:00.0"): its energy counter, or its power, added
/// up, if it has no such counter. Throws EnergyError if there is none.
/// \param library path or name of NVML
[[nodiscard]] std::unique_ptr<EnergyMeter> nvml_meter(std::string const& pci, std::string const& library,
                                                      Clock now = steady_seconds);

/// Returns the meter of all processor packages of this node. Throws EnergyError if there is none or if it cannot be
/// read.
/// \param folder Linux' powercap folder
[[nodiscard]] std::unique_ptr<EnergyMeter> rapl_meter(std::string const& folder);

/// Returns the meter of a GPU with this PCI bus id; of this node's processors if it is empty. The environment variables
/// TESSERA_NVML and TESSERA_POWERCAP replace the library's name and the folder. Throws as above.
[[nodiscard]] std::unique_ptr<EnergyMeter> energy_meter(std::string const& pci);

/// The energy of a row's launches.
struct Energy {
  double joules = 0;  ///< per launch
  double seconds = 0;
  std::size_t launches = 0;
  std::string source;

  /// Returns the mean power while it was measured.
  [[nodiscard]] double watts() const { return joules * static_cast<double>(launches) / seconds; }
};

/// A measurement lasts at least this many seconds: NVML's counter changes about every 0.1 s.
inline constexpr double least_energy_seconds = 1;

/// Launches the row, in batches of about 20 ms, until least_energy_seconds have passed, and returns the energy between
/// two changes of the counter. Batches before the first change are warm-ups.
///
/// Throws EnergyError if the counter does not change for 2 s of short launches, or goes backwards.
/// \param launch_seconds time of one launch
/// \param interrupted called after each batch; ends the measurement. May be empty.
[[nodiscard]] Energy measure_energy(RowRun& run, EnergyMeter& meter, double launch_seconds,
                                    std::function<bool()> const& interrupted = {}, Clock const& now = steady_seconds);

}  // namespace tessera
