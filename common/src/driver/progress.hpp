#pragma once
// A line on stderr that the next line overwrites, if stderr is a terminal: what is running, and the remaining time.

#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

class Progress {
 public:
  /// Writes to stderr; silent if stderr is not a terminal.
  Progress();
  Progress(std::ostream& out, bool terminal, std::size_t columns)
      : out_(&out), terminal_(terminal), columns_(columns) {}

  /// A case: its mini-app, its rows, and the expected cost of one row and of its input and reference, in any unit.
  struct Part {
    std::string app;
    std::size_t rows = 0;
    double cost = 0;
  };
  /// Sets what will run, in this order.
  void plan(std::vector<Part> const& parts);
  void begin_case(std::size_t index) { case_ = index + 1; }
  /// Records that `cases` more inputs and references are ready, after `seconds`.
  void prepared(std::size_t cases, double seconds);
  /// Records that a row of this case took `seconds`. `first`: the case's first row, whose results are compared with the
  /// reference.
  void row_done(std::size_t index, bool first, double seconds);
  /// Shows what is running now.
  void show(std::string const& text) const;
  void clear() const;

  /// Returns the estimated remaining seconds; unknown while the estimate may be wrong by more than a factor of two.
  /// Rows of a mini-app are assumed to take as long as its finished rows. A mini-app without finished rows is estimated
  /// from three other mini-apps. The spread of the rates gives the uncertainty of the sum.
  [[nodiscard]] double seconds_left() const;

 private:
  // Rows of one kind: of one mini-app, either the first rows of its cases or the other rows.
  struct Kind {
    std::size_t done = 0;
    double rates = 0;  // of the finished rows: sums of seconds per cost, and of the squares
    double rate_squares = 0;
    double cost_left = 0;
    double cost_squares_left = 0;

    [[nodiscard]] double mean() const { return rates / static_cast<double>(done); }
  };

  std::ostream* out_;
  bool terminal_;
  std::size_t columns_;
  std::size_t cases_ = 0;
  std::size_t case_ = 0;
  std::size_t rows_left_ = 0;
  std::vector<Part> parts_;
  std::map<std::pair<std::string, bool>, Kind> kinds_;
  std::size_t prepared_ = 0;  // cases
  double preparing_seconds_ = 0;
};

}  // namespace tessera
