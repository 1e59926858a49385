/// \file
/// triad[i] = a[i] + s * b[i]: reads 2n elements and writes n.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

struct Triad {
  static constexpr VariantInfo info{
      .name = "triad", .level = Level::range, .summary = "triad[i] = a[i] + s * b[i]: bandwidth, read plus written"};

  template <ExecutionSpace Exec, class T>
  struct Plan : OneField {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const& input)
        : OneField("triad", input.a.extent(0), 3 * sizeof(T), 2) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      measure::triad(exec, input.a, input.b, output.triad, static_cast<T>(input.parameters.s));
    }
  };
};

VariantRows triad() { return rows<Roofline, Triad>(); }

}  // namespace tessera::roofline
