#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include <tessera/cli/nearest.hpp>
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

// Formats an estimate with few digits.
std::string about(double seconds) {
  auto const whole = [](double value) { return std::to_string(static_cast<long>(std::ceil(value))); };
  if (seconds < 100) return "about " + whole(seconds) + " s";
  if (seconds < 100 * 60) return "about " + whole(seconds / 60) + " min";
  return "about " + whole(seconds / 3600) + " h";
}

}  // namespace

Progress::Progress() : Progress(std::cerr, stderr_is_terminal(), stderr_columns()) {}

void Progress::plan(std::vector<Part> const& parts) {
  parts_ = parts;
  cases_ = parts.size();
  rows_left_ = 0;
  for (Part const& part : parts) {
    rows_left_ += part.rows;
    for (std::size_t row = 0; row < part.rows; ++row) {
      Kind& kind = kinds_[{part.app, row == 0}];
      kind.cost_left += part.cost;
      kind.cost_squares_left += part.cost * part.cost;
    }
  }
}

void Progress::prepared(std::size_t cases, double seconds) {
  prepared_ = std::min(parts_.size(), prepared_ + cases);
  preparing_seconds_ += seconds;
}

void Progress::row_done(std::size_t index, bool first, double seconds) {
  Part const& part = parts_.at(index);
  Kind& kind = kinds_[{part.app, first}];
  double const rate = seconds / part.cost;
  --rows_left_;
  ++kind.done;
  kind.rates += rate;
  kind.rate_squares += rate * rate;
  kind.cost_left -= part.cost;
  kind.cost_squares_left -= part.cost * part.cost;
}

double Progress::seconds_left() const {
  constexpr std::size_t enough = 3;  // to estimate a spread
  double seconds = 0;
  double variance = 0;
  // Adds `count` items with these rates and further items of the same kind: the mean itself is uncertain as well.
  auto const add = [&](double count, double rates, double rate_squares, double cost, double cost_squares) {
    double const mean = rates / count;
    double const spread = std::max(0.0, (rate_squares - count * mean * mean) / (count - 1));
    seconds += mean * cost;
    variance += spread * (cost_squares + cost * cost / count);
  };
  for (bool const first : {true, false}) {
    double apps = 0;
    double rates = 0;
    double rate_squares = 0;
    double unseen = 0;
    double unseen_squares = 0;
    for (auto const& [name, kind] : kinds_) {
      if (name.second != first) continue;
      if (kind.done > 0) {
        apps += 1;
        rates += kind.mean();
        rate_squares += kind.mean() * kind.mean();
      }
      if (!(kind.cost_left > 0)) continue;
      if (kind.done >= enough) {
        add(static_cast<double>(kind.done), kind.rates, kind.rate_squares, kind.cost_left, kind.cost_squares_left);
      } else {
        unseen += kind.cost_left;
        unseen_squares += kind.cost_left * kind.cost_left;
      }
    }
    if (!(unseen > 0)) continue;
    if (apps < enough) return unknown;
    add(apps, rates, rate_squares, unseen, unseen_squares);
  }
  double of_prepared = 0;
  double to_prepare = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) (i < prepared_ ? of_prepared : to_prepare) += parts_[i].cost;
  if (to_prepare > 0) {
    if (!(of_prepared > 0)) return unknown;
    double const preparing = preparing_seconds_ / of_prepared * to_prepare;
    seconds += preparing;
    variance += preparing * preparing / 4;  // references of other mini-apps may take 50% more or less
  }
  // An error above twice the standard deviation is rare, and that is at most half of the estimate.
  return std::sqrt(variance) <= seconds / 4 ? seconds : unknown;
}

void Progress::show(std::string const& text) const {
  if (!terminal_) return;
  std::string line =
      concat("[case ", case_, "/", cases_, ", ", rows_left_, rows_left_ == 1 ? " row" : " rows", " left");
  if (std::isfinite(seconds_left())) line += ", " + about(seconds_left());
  line += "] " + text;
  // A line that wraps could not be overwritten.
  if (line.size() >= columns_) line.resize(columns_ - 1);
  *out_ << "\r\033[K" << line << std::flush;
}

void Progress::clear() const {
  if (terminal_) *out_ << "\r\033[K" << std::flush;
}

}  // namespace tessera
