#include <tessera/measure/energy.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace tessera {

namespace {

// The part of NVML that is used here (NVIDIA, NVML API Reference Guide). Its header is not needed to build.
struct NvmlDeviceOfLibrary;
using NvmlDevice = NvmlDeviceOfLibrary*;
constexpr int nvml_success = 0;

class Nvml {
 public:
  explicit Nvml(std::string const& name) : library_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw EnergyError("no " + name + ", which comes with NVIDIA's driver");
    try {
      find(init_, "nvmlInit_v2");
      find(shutdown_, "nvmlShutdown");
      find(text_, "nvmlErrorString");
      find(by_pci_, "nvmlDeviceGetHandleByPciBusId_v2");
      find(energy_, "nvmlDeviceGetTotalEnergyConsumption");
      find(power_, "nvmlDeviceGetPowerUsage");
      if (init_ == nullptr || shutdown_ == nullptr || text_ == nullptr || by_pci_ == nullptr || power_ == nullptr) {
        throw EnergyError(name + " lacks functions of NVML");
      }
      check(init_(), "nvmlInit");
    } catch (...) {
      (void)::dlclose(library_);
      throw;
    }
  }
  Nvml(Nvml const&) = delete;
  Nvml& operator=(Nvml const&) = delete;
  ~Nvml() {
    (void)shutdown_();
    (void)::dlclose(library_);
  }

  [[nodiscard]] NvmlDevice device(std::string const& pci) const {
    NvmlDevice found = nullptr;
    check(by_pci_(pci.c_str(), &found), "the GPU " + pci);
    return found;
  }
  // Joules since the driver was loaded; nothing if the device has no such counter (before Volta).
  [[nodiscard]] std::optional<double> energy(NvmlDevice device) const {
    unsigned long long millijoules = 0;
    if (energy_ == nullptr || energy_(device, &millijoules) != nvml_success) return std::nullopt;
    return static_cast<double>(millijoules) * 1e-3;
  }
  [[nodiscard]] double watts(NvmlDevice device) const {
    unsigned milliwatts = 0;
    check(power_(device, &milliwatts), "the GPU's power");
    return milliwatts * 1e-3;
  }

 private:
  template <class Function>
  void find(Function*& function, char const* name) const {
    function = reinterpret_cast<Function*>(::dlsym(library_, name));
  }
  void check(int code, std::string const& what) const {
    if (code != nvml_success) throw EnergyError(what + ": " + text_(code));
  }

  void* library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  char const* (*text_)(int) = nullptr;
  int (*by_pci_)(char const*, NvmlDevice*) = nullptr;
  int (*energy_)(NvmlDevice, unsigned long long*) = nullptr;
  int (*power_)(NvmlDevice, unsigned*) = nullptr;
};

class NvmlMeter final : public EnergyMeter {
 public:
  NvmlMeter(std::string const& pci, std::string const& library, Clock now)
      : nvml_(library), device_(nvml_.device(pci)), now_(std::move(now)), counts_(nvml_.energy(device_).has_value()) {
    if (!counts_) (void)joules();
  }

  double joules() override {
    if (counts_) {
      if (std::optional<double> const energy = nvml_.energy(device_)) return *energy;
      throw EnergyError("the GPU's energy counter cannot be read any more");
    }
    double const watts = nvml_.watts(device_);
    double const time = now_();
    if (time_) sum_ += (time - *time_) * (watts + watts_) / 2;
    time_ = time;
    watts_ = watts;
    return sum_;
  }
  std::string source() const override { return counts_ ? "board, NVML energy counter" : "board, NVML power added up"; }

 private:
  Nvml nvml_;
  NvmlDevice device_;
  Clock now_;
  bool counts_;
  // Without a counter: the time and power of the last call, and the sum so far.
  std::optional<double> time_;
  double watts_ = 0;
  double sum_ = 0;
};

// Returns the number in a file, or nothing.
std::optional<std::uint64_t> number_in(std::filesystem::path const& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// The counters of microjoules of the packages: <folder>/intel-rapl:<package>/energy_uj, which also AMD's processors
// have. Deeper folders (core, memory) are parts of a package; psys, of the whole machine, contains the packages. A
// counter begins again at max_energy_range_uj, after minutes.
class RaplMeter final : public EnergyMeter {
 public:
  explicit RaplMeter(std::string const& folder) {
    std::error_code error;
    bool locked = false;
    for (auto const& entry : std::filesystem::directory_iterator(folder, error)) {
      std::string const name = entry.path().filename();
      if (!name.starts_with("intel-rapl:") || std::ranges::count(name, ':') != 1) continue;
      std::string kind;
      if (std::ifstream(entry.path() / "name") >> kind && kind == "psys") continue;
      auto const value = number_in(entry.path() / "energy_uj");
      auto const range = number_in(entry.path() / "max_energy_range_uj");
      locked = locked || (!value && std::filesystem::exists(entry.path() / "energy_uj", error));
      if (value && range) packages_.push_back({entry.path() / "energy_uj", *range, *value});
    }
    if (locked) throw EnergyError("energy_uj in " + folder + " can only be read by root; ask for read permission");
    if (packages_.empty()) throw EnergyError("no intel-rapl counters in " + folder);
  }

  double joules() override {
    for (Package& package : packages_) {
      auto const now = number_in(package.path);
      if (!now) throw EnergyError("cannot read " + package.path.string() + " any more");
      std::uint64_t const more = *now >= package.last ? *now - package.last : *now + package.range - package.last;
      sum_ += static_cast<double>(more) * 1e-6;
      package.last = *now;
    }
    return sum_;
  }
  std::string source() const override { return "processor packages (" + std::to_string(packages_.size()) + "), RAPL"; }

 private:
  struct Package {
    std::filesystem::path path;
    std::uint64_t range;
    std::uint64_t last;
  };
  std::vector<Package> packages_;
  double sum_ = 0;
};

std::string from_environment(char const* variable, std::string const& otherwise) {
  char const* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace

std::unique_ptr<EnergyMeter> nvml_meter(std::string const& pci, std::string const& library, Clock now) {
  return std::make_unique<NvmlMeter>(pci, library, std::move(now));
}

std::unique_ptr<EnergyMeter> rapl_meter(std::string const& folder) { return std::make_unique<RaplMeter>(folder); }

std::unique_ptr<EnergyMeter> energy_meter(std::string const& pci) {
  if (pci.empty()) return rapl_meter(from_environment("TESSERA_POWERCAP", "/sys/class/powercap"));
  return nvml_meter(pci, from_environment("TESSERA_NVML", "libnvidia-ml.so.1"));
}

Energy measure_energy(RowRun& run, EnergyMeter& meter, double launch_seconds, std::function<bool()> const& interrupted,
                      Clock const& now) {
  constexpr double patience = 2;
  constexpr double batch_seconds = 0.02;
  constexpr double largest_batch = 10000;  // an empty launch takes some nanoseconds
  auto const batch = static_cast<std::size_t>(
      std::clamp(std::round(batch_seconds / std::max(launch_seconds, 1e-9)), 1.0, largest_batch));
  std::size_t launches = 0;
  auto const launch = [&] {
    for (std::size_t i = 0; i < batch; ++i) run.enqueue();
    (void)meter.joules();  // with these launches in flight
    run.fence();
    launches += batch;
  };
  // A moment at which the counter has just changed: the seconds, its value and the launches so far.
  struct Moment {
    double seconds;
    double joules;
    std::size_t launches;
  };
  // Launches until the counter changes, and not before `earliest`.
  auto const next_change = [&](double earliest) -> std::optional<Moment> {
    double before = meter.joules();
    double changed = now();
    while (true) {
      launch();
      if (interrupted && interrupted()) return std::nullopt;
      double const joules = meter.joules();
      double const seconds = now();
      if (joules < before) throw EnergyError("the energy counter went backwards");
      if (joules > before && seconds >= earliest) return Moment{seconds, joules, launches};
      if (joules == before && seconds - changed > patience) throw EnergyError("the energy counter stands still");
      if (joules > before) changed = seconds;
      before = joules;
    }
  };

  run.fence();
  std::optional<Moment> const first = next_change(0);
  if (!first) return {};
  std::optional<Moment> const last = next_change(first->seconds + least_energy_seconds);
  if (!last) return {};
  std::size_t const counted = last->launches - first->launches;
  return {.joules = (last->joules - first->joules) / static_cast<double>(counted),
          .seconds = last->seconds - first->seconds,
          .launches = counted,
          .source = meter.source()};
}

}  // namespace tessera
