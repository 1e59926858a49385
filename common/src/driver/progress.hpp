#pragma once
// A line on stderr that the next one overwrites, where somebody looks at it: what is running and how long the rest takes.

#include <cstddef>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

class Progress {
 public:
  /// On stderr; silent where that is no terminal.
  Progress();
  Progress(std::ostream& out, bool terminal, std::size_t columns)
      : out_(&out), terminal_(terminal), columns_(columns) {}

  /// A case: its mini-app, its rows, and what one of them and its input and reference are expected to cost, in any unit.
  struct Part {
    std::string app;
    std::size_t rows = 0;
    double cost = 0;
  };
  /// What will run, in this order.
  void plan(std::vector<Part> const& parts);
  void begin_case(std::size_t index) { case_ = index + 1; }
  /// The inputs and references of so many cases more are there, after `seconds`.
  void prepared(std::size_t cases, double seconds);
  /// A row of this case is done after `seconds`: its first, whose results are compared with the reference, or another.
  void row_done(std::size_t index, bool first, double seconds);
  /// Says what is running now.
  void show(std::string const& text) const;
  void clear() const;

  /// Seconds that the rest may take; unknown as long as it may well be more than twice or less than half of that. Rows of a
  /// mini-app take what those that are done took; of a mini-app that has not been seen, what three others' took; the
  /// spread of these tells how far the sum may be off.
  [[nodiscard]] double seconds_left() const;

 private:
  // Rows that are alike: of one mini-app, the first of their cases or others.
  struct Kind {
    std::size_t done = 0;
    double rates = 0;  // of those that are done: the sum of their seconds over cost, and of its squares
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
