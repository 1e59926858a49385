#include "fake_nvml.hpp"

#include <chrono>
#include <cmath>
#include <cstring>

using tessera::fake::Nvml;

extern "C" {

Nvml fake_nvml;

int nvmlInit_v2() {
  if (fake_nvml.init == 0) ++fake_nvml.opened;
  return fake_nvml.init;
}
int nvmlShutdown() {
  --fake_nvml.opened;
  return 0;
}
char const* nvmlErrorString(int code) {
  switch (code) {
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 6: return "Not Found";
    case 9: return "Driver Not Loaded";
    default: return "Unknown Error";
  }
}
int nvmlDeviceGetHandleByPciBusId_v2(char const* pci, void** device) {
  std::strncpy(fake_nvml.pci, pci, sizeof fake_nvml.pci - 1);
  *device = &fake_nvml;
  return fake_nvml.by_pci;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  if (device != &fake_nvml) return 2;
  if (fake_nvml.live_watts > 0) {
    double const now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    fake_nvml.millijoules = static_cast<unsigned long long>(std::floor(now * 10) * 100 * fake_nvml.live_watts);
  }
  *millijoules = fake_nvml.millijoules;
  return fake_nvml.energy;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  if (device != &fake_nvml) return 2;
  *milliwatts = fake_nvml.milliwatts;
  return fake_nvml.power;
}

}  // extern "C"
