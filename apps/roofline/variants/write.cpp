/// \file
/// written[i] = i mod 256: reads nothing and writes n elements.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

struct Write {
  static constexpr VariantInfo info{
      .name = "write", .level = Level::range, .summary = "written[i] = i mod 256: bandwidth of only writing"};

  template <ExecutionSpace Exec, class T>
  struct Plan : OneField {
    Plan(Exec const&, InputOn<Roofline, Exec, T> const& input) : OneField("written", input.a.extent(0), sizeof(T), 0) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const&,
                    OutputOn<Roofline, Exec, T> const& output) const {
      measure::write(exec, output.written);
    }
  };
};

VariantRows write() { return rows<Roofline, Write>(); }

}  // namespace tessera::roofline
