/// \file
/// sum = a[0] + ... + a[n - 1]: reads n elements and writes almost nothing.

#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::roofline {

struct Read {
  static constexpr VariantInfo info{
      .name = "read", .level = Level::lane, .summary = "sum of a: bandwidth of only reading"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Roofline, Exec, T> const& input)
        : read_(exec, input.a.extent(0), 0, "tessera::roofline::read"), n_(static_cast<double>(input.a.extent(0))) {}

    void operator()(Exec const& exec, InputOn<Roofline, Exec, T> const& input,
                    OutputOn<Roofline, Exec, T> const& output) const {
      read_(exec, input.a, output.sum);
    }

    [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = "sum"}}; }
    [[nodiscard]] Work work() const { return {.bytes = (n_ + 1) * sizeof(T), .flops = n_}; }
    [[nodiscard]] double rounding_steps() const { return read_.rounding_steps(0); }

   private:
    measure::Read<Exec, T> read_;
    double n_;
  };
};

VariantRows read() { return rows<Roofline, Read>(); }

}  // namespace tessera::roofline
