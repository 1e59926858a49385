/// \file
/// A launch that writes one element: the measured time is the time of one launch among many.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::roofline {

struct Launch {
  static constexpr VariantInfo info{
      .name = "launch", .level = Level::range, .summary = "an empty kernel: time of one launch among many"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Roofline, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      (void)input;
      measure::mark(exec, output.launched);
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "launched"}}; }
    [[nodiscard]] Work work() const { return {.bytes = 0, .flops = 0}; }
  };
};

VariantRows launch() { return rows<Roofline, Launch>(); }

}  // namespace tessera::roofline
