/// \file
/// triad[i] = a[i] + s * b[i]: reads 2n elements and writes n.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::roofline {

struct Triad {
  static constexpr VariantInfo info{
      .name = "triad", .level = Level::range, .summary = "triad[i] = a[i] + s * b[i]: bandwidth, read plus written"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Roofline, Exec, T> const& input)
        : s_(static_cast<T>(input.parameters.s)), n_(static_cast<double>(input.a.extent(0))) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      measure::triad(exec, input.a, input.b, output.triad, s_);
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "triad"}}; }
    [[nodiscard]] Work work() const { return {.bytes = 3 * n_ * sizeof(T), .flops = 2 * n_}; }

   private:
    T s_;
    double n_;
  };
};

VariantRows triad() { return rows<Roofline, Triad>(); }

}  // namespace tessera::roofline
