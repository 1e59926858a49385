/// \file
/// On several ranks: each rank adds the constant to its own planes. Ranks exchange nothing. The kernel is
/// kernels/transform.hpp.

#include "../problem.hpp"

#include <tessera/kernels/transform.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_3d {

struct Distributed {
  static constexpr VariantInfo info{.name = "distributed",
                                    .level = Level::ranks,
                                    .summary = "each rank its planes, 16-byte accesses, no communication"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const&, InputOn<Map3d, Exec, T> const& input, ranks::Part const&)
        : add_({static_cast<T>(input.parameters.c)}, "tessera::map_3d::distributed::add") {}

    void operator()(Exec const& exec, InputOn<Map3d, Exec, T> const& input,
                    OutputOn<Map3d, Exec, T> const& output) const {
      add_(exec, input.a, output.out);
    }

   private:
    kernels::Transform<Exec, T, AddConstant<T>> add_;
  };
};

VariantRows distributed() { return rows<Map3d, Distributed>(); }

}  // namespace tessera::map_3d
