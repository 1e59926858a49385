/// \file
/// copied[i] = a[i]: reads n elements and writes n.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

struct Copy {
  static constexpr VariantInfo info{
      .name = "copy", .level = Level::range, .summary = "copied[i] = a[i]: bandwidth, read plus written"};

  template <ExecutionSpace Exec, class T>
  struct Plan : OneField {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const& input)
        : OneField("copied", input.a.extent(0), 2 * sizeof(T), 0) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      measure::copy(exec, input.a, output.copied);
    }
  };
};

VariantRows copy() { return rows<Roofline, Copy>(); }

}  // namespace tessera::roofline
