/// \file
/// Kokkos' functional patterns down to the vector lanes, as in the book's P22: one nested parallel_reduce over the
/// lanes of a thread (a warp on a GPU) sums 32 elements and stores their sum; a second launch adds these sums. The code
/// contains no lane index, no shuffle and no scratch.
///
/// Example, 3 lanes: a * b = 1 2 3 | 4 5 6 | 7 -> sums 6 15 7 -> 28.

#include "../problem.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::dot {

struct VectorReduce {
  static constexpr VariantInfo info{
      .name = "vector_reduce",
      .level = Level::lane,
      .summary = "Kokkos::parallel_reduce over vector lanes: one sum per 32 elements, then their sum",
      .lesson = true};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Policy = Kokkos::TeamPolicy<Exec, Kokkos::IndexType<std::size_t>>;
    using Sum = Accumulator<T>;
    /// Elements per sum: the lanes of a warp.
    static constexpr std::size_t width = 32;

    Plan(Exec const& exec, InputOn<Dot, Exec, T> const& input)
        : lanes_(lane::vector_length<Exec>(width)),
          threads_(kernels::team_size(exec, input.parameters.team, lanes_)),
          sums_(unset("tessera::dot::vector_reduce::sums"), tiles_of(input.a.extent(0), width)) {}

    void operator()(Exec const& exec, InputOn<Dot, Exec, T> const& input, OutputOn<Dot, Exec, T> const& output) const {
      auto const a = input.a, b = input.b;
      auto const sums = sums_;
      std::size_t const n = a.extent(0);
      std::size_t const per_team = sums_of_team();
      Kokkos::parallel_for(
          "tessera::dot::vector_reduce::lanes",
          Policy(exec, static_cast<int>(tiles_of(sums.extent(0), per_team)), threads_, lanes_),
          KOKKOS_LAMBDA(typename Policy::member_type const& team) {
            std::size_t const first = static_cast<std::size_t>(team.league_rank()) * per_team;
            std::size_t const end = Kokkos::min(sums.extent(0), first + per_team);
            Kokkos::parallel_for(Kokkos::TeamThreadRange(team, first, end), [&](std::size_t s) {
              std::size_t const begin = s * width;
              int const count = static_cast<int>(n - begin < width ? n - begin : width);
              Sum sum = 0;
              Kokkos::parallel_reduce(
                  Kokkos::ThreadVectorRange(team, count),
                  [&](int i, Sum& partial) { partial += product(a(begin + i), b(begin + i)); }, sum);
              Kokkos::single(Kokkos::PerThread(team), [&] { sums(s) = sum; });
            });
          });
      Kokkos::parallel_reduce(
          "tessera::dot::vector_reduce::total", over(exec, sums.extent(0)),
          KOKKOS_LAMBDA(std::size_t s, Sum& sum) { sum += sums(s); }, total_.of(output.out));
      total_.store(exec, output.out);
    }

    /// Counts a product, the lanes, and the sums in whatever order Kokkos adds them.
    [[nodiscard]] double rounding_steps() const {
      return 1 + static_cast<double>(width) + static_cast<double>(sums_.extent(0));
    }

   private:
    // A team has 16 sums per thread, or more if the league size would not fit into an int.
    [[nodiscard]] std::size_t sums_of_team() const {
      auto const threads = static_cast<std::size_t>(threads_);
      return threads * Kokkos::max<std::size_t>(16, tiles_of(sums_.extent(0), threads << 24));
    }

    int lanes_, threads_;
    Kokkos::View<Sum*, typename Exec::memory_space> sums_;
    Total<Exec, T> total_{"tessera::dot::vector_reduce::total"};
  };
};

VariantRows vector_reduce() { return rows<Dot, VectorReduce>(); }

}  // namespace tessera::dot
