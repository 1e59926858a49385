#pragma once

#include <map>
#include <memory>
#include <string>

#include <tessera/cli/nearest.hpp>
#include <tessera/measure/energy.hpp>
#include <tessera/table/runtime.hpp>

#include "run_state.hpp"

namespace tessera {

/// The energy meters of a run's spaces, with --energy.
class RunEnergy {
 public:
  explicit RunEnergy(RunState& run) : run_(run) {}

  /// Finds the meters. A space without one is a warning. Throws UserError if no space of the run has one.
  void find_meters() {
    std::vector<std::string> reasons;
    for (std::string const& space : spaces_of(run_.plan)) {
      try {
        std::string const pci = device_pci(space);
        if (pci.empty() && !is_host_space(space)) throw EnergyError("only GPUs of NVIDIA have a meter here");
        meters_[space] = energy_meter(pci);
      } catch (EnergyError const& error) {
        reasons.push_back(space + ": " + error.what());
      }
    }
    if (meters_.empty()) {
      throw UserError("--energy: nothing can be measured here (" + join(reasons, "; ") + "); leave the option out");
    }
    for (std::string const& reason : reasons) run_.warn("no energy of " + reason);
  }

  /// Returns the meter of a space, or nullptr.
  [[nodiscard]] EnergyMeter* of(std::string const& space) const {
    auto const found = meters_.find(space);
    return found == meters_.end() ? nullptr : found->second.get();
  }

 private:
  RunState& run_;
  std::map<std::string, std::unique_ptr<EnergyMeter>> meters_;
};

}  // namespace tessera
