#pragma once
// A line on stderr that the next one overwrites, where somebody looks at it: what is running and how long the rest takes.

#include <cstddef>
#include <ostream>
#include <string>

namespace tessera {

class Progress {
 public:
  /// On stderr; silent where that is no terminal.
  Progress();
  Progress(std::ostream& out, bool terminal, std::size_t columns)
      : out_(&out), terminal_(terminal), columns_(columns) {}

  /// What will run: cases, and rows with the sum of what they are expected to cost, in any unit.
  void plan(std::size_t cases, std::size_t rows, double cost);
  void begin_case(std::size_t index) { case_ = index + 1; }
  /// A row of that cost is done after `seconds` of its case.
  void row_done(double cost, double seconds);
  /// Says what is running now.
  void show(std::string const& text) const;
  void clear() const;

  /// Seconds that the rows left may take, by the time of those that are done; unknown before the first.
  [[nodiscard]] double seconds_left() const;

 private:
  std::ostream* out_;
  bool terminal_;
  std::size_t columns_;
  std::size_t cases_ = 0;
  std::size_t case_ = 0;
  std::size_t rows_left_ = 0;
  double cost_left_ = 0;
  double cost_done_ = 0;
  double seconds_done_ = 0;
};

}  // namespace tessera
