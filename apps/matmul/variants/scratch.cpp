/// \file
/// The whole problem in one team's scratch: the book's first step from memory to shared memory. One team, however large
/// the machine: for learning, and for products so small that a launch is all they cost.

#include <limits>
#include <string>

#include "../problem.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

namespace {

template <class Exec, class Sum>
struct WholeProduct {
  using Member = typename Kokkos::TeamPolicy<Exec>::member_type;
  using Staged = ScratchView<Sum*, Exec>;

  Operands<Sum> of;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    int const m = static_cast<int>(of.m);
    int const n = static_cast<int>(of.n);
    int const k = static_cast<int>(of.k);
    Staged const a(team.team_scratch(0), m * k);
    Staged const b(team.team_scratch(0), k * n);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, m * k), [&](int i) { a(i) = of.a[i]; });
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, k * n), [&](int i) { b(i) = of.b[i]; });
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, m), [&](int row) {
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, n), [&](int col) {
        Sum sum = 0;
        for (int i = 0; i < k; ++i) sum += a(row * k + i) * b(i * n + col);
        of.c[row * n + col] = sum;
      });
    });
  }
};

}  // namespace

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "the whole problem in the scratch of one team"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = WholeProduct<Exec, Accumulator<T>>;
    static constexpr int lanes = is_gpu<Exec> ? 32 : 1;

    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, lanes)) {
      // In double: the product of sizes may be anything. Without inner extent c alone could be too large for an int.
      double const elements = static_cast<double>(input.a.size()) + static_cast<double>(input.b.size());
      double const needed = elements * sizeof(T) + 256;
      double const most = Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0);
      double const of_c = static_cast<double>(input.a.extent(0)) * static_cast<double>(input.b.extent(1));
      if (needed > most || of_c > std::numeric_limits<int>::max()) {
        throw Skip("a and b do not fit into a team's scratch of " + std::to_string(static_cast<std::size_t>(most)) +
                   " bytes");
      }
      bytes_ =
          static_cast<int>(Kernel::Staged::shmem_size(input.a.size()) + Kernel::Staged::shmem_size(input.b.size()));
    }

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                    OutputOn<Matmul, Exec, T> const& output) const {
      Kernel const kernel{operands(input, output)};
      if (kernel.of.m == 0 || kernel.of.n == 0) return;
      Kokkos::parallel_for(
          "tessera::matmul::scratch::product",
          Kokkos::TeamPolicy<Exec>(exec, 1, threads_, lanes).set_scratch_size(0, Kokkos::PerTeam(bytes_)), kernel);
    }

   private:
    int threads_;
    int bytes_ = 0;
  };
};

VariantRows scratch() { return rows<Matmul, Scratch>(); }

}  // namespace tessera::matmul
