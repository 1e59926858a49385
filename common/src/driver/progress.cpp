#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <tessera/measure/roofs.hpp>

namespace tessera {

namespace {

bool stderr_is_terminal() {
  char const* const kind = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && !(kind != nullptr && std::string_view(kind) == "dumb");
}

std::size_t stderr_columns() {
  winsize size{};
  bool const known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

// A guess: no more digits than it deserves.
std::string about(double seconds) {
  auto const whole = [](double value) { return std::to_string(static_cast<long>(std::ceil(value))); };
  if (seconds < 100) return "about " + whole(seconds) + " s";
  if (seconds < 100 * 60) return "about " + whole(seconds / 60) + " min";
  return "about " + whole(seconds / 3600) + " h";
}

}  // namespace

Progress::Progress() : Progress(std::cerr, stderr_is_terminal(), stderr_columns()) {}

void Progress::plan(std::size_t cases, std::size_t rows, double cost) {
  cases_ = cases;
  rows_left_ = rows;
  cost_left_ = cost;
}

void Progress::row_done(double cost, double seconds) {
  --rows_left_;
  cost_left_ -= cost;
  cost_done_ += cost;
  seconds_done_ += seconds;
}

double Progress::seconds_left() const { return cost_done_ > 0 ? seconds_done_ / cost_done_ * cost_left_ : unknown; }

void Progress::show(std::string const& text) const {
  if (!terminal_) return;
  std::string line = "[case " + std::to_string(case_) + "/" + std::to_string(cases_) + ", " +
                     std::to_string(rows_left_) + (rows_left_ == 1 ? " row" : " rows") + " left";
  if (std::isfinite(seconds_left())) line += ", " + about(seconds_left());
  line += "] " + text;
  // A line that wraps would not be overwritten.
  if (line.size() >= columns_) line.resize(columns_ - 1);
  *out_ << "\r\033[K" << line << std::flush;
}

void Progress::clear() const {
  if (terminal_) *out_ << "\r\033[K" << std::flush;
}

}  // namespace tessera
