#include <tessera/measure/load.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <tessera/measure/sampling.hpp>

namespace tessera {

namespace {

double seconds_of(timeval const& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

std::optional<ProcessorTimes> processor_times(std::string const& text, double ticks_per_second) {
  std::istringstream lines(text);
  std::optional<ProcessorTimes> times;
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name != "cpu") {
      if (times) ++times->processors;
      continue;
    }
    // user, nice, system, idle, iowait, irq, softirq, steal. The guest times that follow are included in user.
    double busy = 0;
    double ticks = 0;
    for (int column = 0; column < 8 && words >> ticks; ++column) {
      bool const idle = column == 3 || column == 4;
      if (!idle) busy += ticks;
    }
    times = {busy / ticks_per_second, 0};
  }
  return times && times->processors > 0 ? times : std::nullopt;
}

LoadMeter::LoadMeter() : start_(now()) {}

LoadMeter::Moment LoadMeter::now() {
  Moment moment;
  moment.seconds = steady_seconds();
  struct rusage own{};
  if (::getrusage(RUSAGE_SELF, &own) == 0) moment.own_seconds = seconds_of(own.ru_utime) + seconds_of(own.ru_stime);
  std::ifstream file("/proc/stat");
  std::string const text{std::istreambuf_iterator<char>(file), {}};
  moment.machine = processor_times(text, static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return moment;
}

std::optional<OtherLoad> LoadMeter::others(ranks::Ranks const& ranks) const {
  Moment const end = now();
  double const seconds = ranks.max(end.seconds - start_.seconds);
  bool const is_known = start_.machine.has_value() && end.machine.has_value();
  if (ranks.any(!is_known) || !is_known || seconds < 0.5) return std::nullopt;
  // Each rank sees the times of its whole node.
  double const of_node = (end.machine.value().busy - start_.machine.value().busy) / ranks.count_on_node();
  double const busy = ranks.sum(of_node) - ranks.sum(end.own_seconds - start_.own_seconds);
  return OtherLoad{std::max(0.0, busy / seconds), ranks.sum(end.machine.value().processors / ranks.count_on_node())};
}

}  // namespace tessera
