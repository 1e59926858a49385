// Energy meters: NVML by a fake library, RAPL by a folder of files, and the measurement of a row on a fake clock.

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "fake_nvml.hpp"

#include <tessera/measure/energy.hpp>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A launch takes `launch_seconds` on the fake clock, a fence 0.1 ms. Afterwards the test's counter may change.
class Launches final : public RowRun {
 public:
  explicit Launches(double launch_seconds) : launch_seconds_(launch_seconds) {}

  void poison() override {}
  void enqueue() override {
    pending_ += launch_seconds_;
    ++launches;
  }
  void fence() override {
    time += pending_ + 1e-4;
    pending_ = 0;
    if (passed) passed(time);
  }
  void evict_cache() override {}
  [[nodiscard]] std::vector<HostField> fetch() override { return {}; }
  [[nodiscard]] double rounding_steps() const override { return 0; }
  [[nodiscard]] std::string note() const override { return {}; }
  [[nodiscard]] Clock clock() {
    return [this] { return time; };
  }

  double time = 100;
  std::size_t launches = 0;
  std::function<void(double)> passed;

 private:
  double launch_seconds_;
  double pending_ = 0;
};

template <class Call>
std::string error_of(Call const& call) {
  try {
    (void)call();
  } catch (EnergyError const& error) {
    return error.what();
  }
  return "";
}

class Energies : public testing::Test {
 protected:
  Energies() : library_(::dlopen(TESSERA_FAKE_NVML, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error(::dlerror());
    nvml = static_cast<fake::Nvml*>(::dlsym(library_, "fake_nvml"));
    *nvml = {};
    std::string pattern = (fs::temp_directory_path() / "tessera_energy_XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~Energies() override {
    EXPECT_EQ(nvml->opened, 0) << "NVML is not shut down";
    (void)::dlclose(library_);
    fs::remove_all(folder);
  }

  // A counter that changes every 0.1 s.
  void count(Launches& run, double watts) const {
    run.passed = [watts, this](double time) {
      nvml->millijoules = static_cast<unsigned long long>(std::floor(time * 10) * 100 * watts);
    };
  }
  [[nodiscard]] std::unique_ptr<EnergyMeter> meter(Launches& run) const {
    return nvml_meter("0000:65:00.0", TESSERA_FAKE_NVML, run.clock());
  }
  void write(std::string const& package, std::string const& file, std::string const& text) const {
    fs::create_directories(folder / package);
    std::ofstream(folder / package / file) << text;
  }

  fake::Nvml* nvml;
  fs::path folder;

 private:
  void* library_;
};

TEST_F(Energies, of_a_counter) {
  for (double const launch_seconds : {1e-5, 1e-3, 0.05, 0.3}) {
    Launches run(launch_seconds);
    count(run, 250);
    auto const counter = meter(run);
    EXPECT_STREQ(nvml->pci, "0000:65:00.0");
    Energy const energy = measure_energy(run, *counter, launch_seconds, {}, run.clock());
    EXPECT_GE(energy.seconds, 1) << launch_seconds;
    // The counter lags by up to 0.1 s at a change that a long launch hides.
    EXPECT_NEAR(energy.joules, 250 * launch_seconds, (launch_seconds > 0.02 ? 0.1 : 0.03) * 250 * launch_seconds);
    EXPECT_NEAR(energy.watts(), 250, 25);
    EXPECT_EQ(energy.source, "board, NVML energy counter");
    EXPECT_LT(energy.launches, run.launches) << "launches before the first change count";
  }
}

TEST_F(Energies, of_a_launch_longer_than_the_measurement) {
  Launches run(5);
  count(run, 250);
  auto const counter = meter(run);
  Energy const energy = measure_energy(run, *counter, 5, {}, run.clock());
  EXPECT_EQ(energy.launches, 1u);
  EXPECT_EQ(run.launches, 2u);
  EXPECT_NEAR(energy.joules, 1250, 50);
}

TEST_F(Energies, of_nothing_ends) {
  Launches run(0);
  count(run, 250);
  auto const counter = meter(run);
  EXPECT_GE(measure_energy(run, *counter, 0, {}, run.clock()).seconds, 1);
}

TEST_F(Energies, of_power_if_there_is_no_counter) {
  nvml->energy = 3;
  nvml->milliwatts = 200000;
  Launches run(1e-3);
  auto const counter = meter(run);
  Energy const energy = measure_energy(run, *counter, 1e-3, {}, run.clock());
  EXPECT_NEAR(energy.joules, 0.2, 0.002);
  EXPECT_EQ(energy.source, "board, NVML power added up");
}

TEST_F(Energies, of_changing_power) {
  nvml->energy = 3;
  Launches run(1e-3);
  run.passed = [&](double time) { nvml->milliwatts = std::fmod(time, 0.2) < 0.1 ? 100000 : 300000; };
  auto const counter = meter(run);
  EXPECT_NEAR(measure_energy(run, *counter, 1e-3, {}, run.clock()).watts(), 200, 20);
}

TEST_F(Energies, that_cannot_be_measured_say_why) {
  Launches run(1e-3);
  EXPECT_EQ(error_of([] { return nvml_meter("0000:65:00.0", "/nowhere/libnvidia-ml.so.1"); }),
            "no /nowhere/libnvidia-ml.so.1, which comes with NVIDIA's driver");
  EXPECT_EQ(error_of([] { return nvml_meter("0000:65:00.0", "libm.so.6"); }), "libm.so.6 lacks functions of NVML");
  nvml->init = 9;
  EXPECT_EQ(error_of([&] { return meter(run); }), "nvmlInit: Driver Not Loaded");
  nvml->init = 0;
  nvml->by_pci = 4;
  EXPECT_EQ(error_of([&] { return meter(run); }), "the GPU 0000:65:00.0: Insufficient Permissions");
  nvml->by_pci = 0;
  nvml->energy = nvml->power = 3;
  EXPECT_EQ(error_of([&] { return meter(run); }), "the GPU's power: Not Supported");
}

TEST_F(Energies, of_a_counter_that_fails_later) {
  Launches run(1e-3);
  count(run, 250);
  auto const counter = meter(run);
  nvml->energy = 4;
  EXPECT_EQ(error_of([&] { return counter->joules(); }), "the GPU's energy counter cannot be read any more");
}

TEST_F(Energies, of_a_counter_that_stands_still) {
  Launches run(1e-3);
  auto const counter = meter(run);
  EXPECT_EQ(error_of([&] { return measure_energy(run, *counter, 1e-3, {}, run.clock()); }),
            "the energy counter stands still");
}

// The driver was loaded again: its counter begins at 0.
TEST_F(Energies, of_a_counter_that_goes_backwards) {
  Launches run(1e-3);
  run.passed = [&](double time) {
    nvml->millijoules = static_cast<unsigned long long>(1e6 * (time < 100.5 ? time : time - 100.5));
  };
  auto const counter = meter(run);
  EXPECT_EQ(error_of([&] { return measure_energy(run, *counter, 1e-3, {}, run.clock()); }),
            "the energy counter went backwards");
}

TEST_F(Energies, end_with_an_interruption) {
  Launches run(1e-3);
  count(run, 250);
  auto const counter = meter(run);
  Energy const energy = measure_energy(run, *counter, 1e-3, [] { return true; }, run.clock());
  EXPECT_EQ(energy.launches, 0u);
  EXPECT_EQ(run.launches, 20u);
}

TEST_F(Energies, of_packages_and_not_of_their_parts) {
  write("intel-rapl:0", "energy_uj", "1000000");
  write("intel-rapl:0", "max_energy_range_uj", "5000000");
  write("intel-rapl:0:0", "energy_uj", "1");
  write("intel-rapl:0:0", "max_energy_range_uj", "5000000");
  write("intel-rapl:1", "energy_uj", "4000000");
  write("intel-rapl:1", "max_energy_range_uj", "5000000");
  write("intel-rapl:1", "name", "package-1");
  write("intel-rapl:2", "energy_uj", "9000000");
  write("intel-rapl:2", "max_energy_range_uj", "9000000000");
  write("intel-rapl:2", "name", "psys");  // the whole machine, which contains the packages
  write("dtpm", "energy_uj", "7");
  auto const counter = rapl_meter(folder.string());
  EXPECT_EQ(counter->source(), "processor packages (2), RAPL");
  double const before = counter->joules();
  write("intel-rapl:0", "energy_uj", "1500000");
  write("intel-rapl:0:0", "energy_uj", "3000000");
  write("intel-rapl:1", "energy_uj", "500000");  // began again at 5 J
  EXPECT_NEAR(counter->joules() - before, 0.5 + 1.5, 1e-9);
  write("intel-rapl:1", "energy_uj", "600000");
  EXPECT_NEAR(counter->joules() - before, 2.1, 1e-9);
  fs::remove_all(folder / "intel-rapl:1");
  EXPECT_NE(error_of([&] { return counter->joules(); }).find("any more"), std::string::npos);
}

TEST_F(Energies, of_packages_that_only_root_may_read) {
  write("intel-rapl:0", "max_energy_range_uj", "5000000");
  fs::create_directories(folder / "intel-rapl:0" / "energy_uj");  // exists, and cannot be read, not even by root
  EXPECT_NE(error_of([&] { return rapl_meter(folder.string()); }).find("can only be read by root"), std::string::npos);
}

TEST_F(Energies, without_counters) {
  EXPECT_EQ(error_of([&] { return rapl_meter(folder.string()); }), "no intel-rapl counters in " + folder.string());
  EXPECT_EQ(error_of([] { return rapl_meter("/nowhere"); }), "no intel-rapl counters in /nowhere");
}

}  // namespace
}  // namespace tessera
