/// \file
/// copied[i] = a[i]: reads n elements and writes n.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::roofline {

struct Copy {
  static constexpr VariantInfo info{
      .name = "copy", .level = Level::range, .summary = "copied[i] = a[i]: bandwidth, read plus written"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Roofline, Exec, T> const& input)
        : bytes_(2 * static_cast<double>(input.a.extent(0)) * sizeof(T)) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      measure::copy(exec, input.a, output.copied);
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "copied"}}; }
    [[nodiscard]] Work work() const { return {.bytes = bytes_, .flops = 0}; }

   private:
    double bytes_;
  };
};

VariantRows copy() { return rows<Roofline, Copy>(); }

}  // namespace tessera::roofline
