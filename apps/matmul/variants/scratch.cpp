/// \file
/// The whole problem in one team's scratch: the book's first step from memory to shared memory. There is one team on
/// any machine: the variant is for learning, and for products so small that they cost no more than a launch.

#include <limits>
#include <string>

#include "../square_tiles.hpp"

#include <tessera/core/scratch.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>

namespace tessera::matmul {

struct Scratch {
  static constexpr VariantInfo info{
      .name = "scratch", .level = Level::team, .summary = "the whole problem in the scratch of one team"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec>;
    using Staged = ScratchTiles<T**, Exec>;
    static constexpr int lanes = kernels::warp_lanes<Exec>;

    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team, lanes)) {
      // In double, because products of extents may be very large. If k is 0, c may still be too large for an int.
      double const elements = static_cast<double>(input.a.size()) + static_cast<double>(input.b.size());
      double const needed = elements * sizeof(T) + 256;
      double const most = Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0);
      double const of_c = static_cast<double>(input.a.extent(0)) * static_cast<double>(input.b.extent(1));
      if (needed > most || of_c > std::numeric_limits<int>::max()) {
        throw Skip("a and b in a team's scratch (it holds " + std::to_string(static_cast<std::size_t>(most)) +
                   " bytes)");
      }
      bytes_ = Staged::shmem_size(input.a.extent(0), input.a.extent(1)) +
               Staged::shmem_size(input.b.extent(0), input.b.extent(1));
    }

    void operator()(Exec const& exec, ArrayOn<T const**, Exec> const& a, ArrayOn<T const**, Exec> const& b,
                    ArrayOn<T**, Exec> const& c) const {
      if (c.size() == 0) return;
      int const m = static_cast<int>(a.extent(0));
      int const n = static_cast<int>(b.extent(1));
      int const k = static_cast<int>(a.extent(1));
      Kokkos::parallel_for(
          "tessera::matmul::scratch::product", with_scratch(Policy(exec, 1, threads_, lanes), bytes_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            Staged const staged_a(team.team_scratch(0), m, k);
            Staged const staged_b(team.team_scratch(0), k, n);
            Kokkos::parallel_for(Kokkos::TeamVectorRange(team, m * k),
                                 [&](int i) { staged_a(i / k, i % k) = a(i / k, i % k); });
            Kokkos::parallel_for(Kokkos::TeamVectorRange(team, k * n),
                                 [&](int i) { staged_b(i / n, i % n) = b(i / n, i % n); });
            team.team_barrier();
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, m), [&](int row) {
              Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, n), [&](int col) {
                Accumulator<T> sum = 0;
                for (int i = 0; i < k; ++i) sum += collective::product(staged_a(row, i), staged_b(i, col));
                c(row, col) = static_cast<T>(sum);
              });
            });
            leave_scratch(team);
          });
    }

   private:
    int threads_;
    std::size_t bytes_ = 0;
  };
};

VariantRows scratch() { return rows<Matmul, Scratch>(); }

}  // namespace tessera::matmul
