#pragma once
// The state of fake_nvml.cpp, a library with the functions of NVML that Tessera calls. A test opens it, too, and
// changes what the functions return.

namespace tessera::fake {

struct Nvml {
  int init = 0;  // what the functions return; 0: success
  int by_pci = 0;
  int energy = 0;
  int power = 0;
  unsigned long long millijoules = 0;  // unless live_watts is set
  unsigned milliwatts = 0;
  double live_watts = 0;  // the counter then runs by the clock, and changes every 0.1 s
  char pci[32] = {};      // of the last call
  int opened = 0;         // nvmlInit without nvmlShutdown
};

}  // namespace tessera::fake
