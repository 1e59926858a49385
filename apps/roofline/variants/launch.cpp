/// \file
/// A launch that writes one element: the measured time is the time of one launch among many.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

struct Launch {
  static constexpr VariantInfo info{
      .name = "launch", .level = Level::range, .summary = "an empty kernel: time per launch of many"};

  template <ExecutionSpace Exec, class T>
  struct Plan : OneField {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const&) : OneField("launched", 0, 0, 0) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const&,
                    OutputOn<Roofline, Exec, T> const& output) const {
      measure::mark(exec, output.launched);
    }
  };
};

VariantRows launch() { return rows<Roofline, Launch>(); }

}  // namespace tessera::roofline
