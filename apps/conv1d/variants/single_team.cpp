/// \file
/// The whole input in the scratch of one team: the puzzle's first kernel. For inputs that fit, which are small.

#include "../problem.hpp"

#include <tessera/collective/team/halo_tile.hpp>
#include <tessera/collective/thread/correlate.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/kernels/conv1d.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::conv1d {

namespace {

template <class Exec, class T>
struct SingleTeamKernel {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  static constexpr int length = kernels::Conv1dTuning<Exec, T>::items;
  static constexpr int pack = collective::pack_width<T>;
  // Packs, for their alignment.
  using Scratch = ScratchView<collective::Pack<T, pack>*, Exec>;

  T const* a;
  T const* k;
  T* out;
  int n;
  int taps;

  [[nodiscard]] KOKKOS_FUNCTION static int packs(int n) { return (n + pack - 1) / pack; }

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Scratch const scratch(team.team_scratch(0), packs(n));
    team::HaloTile<T> const shape{.left = 0, .size = n, .right = 0};
    T const* const staged =
        shape.load(team, a, static_cast<std::size_t>(n), 0, T(0), reinterpret_cast<T*>(scratch.data()));
    bool const aligned = collective::is_aligned_for_packs<pack>(out);
    team.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (n + length - 1) / length), [&](int r) {
      int const begin = r * length;
      Accumulator<T> sums[length] = {};
      thread::correlate<length, T>(thread::Span<T, true>{staged + begin, n - begin}, thread::Span<T, false>{k, taps},
                                   taps, n - begin, sums);
      thread::store_sums<length>(sums, n - begin, aligned, out + begin);
    });
  }
};

}  // namespace

struct SingleTeam {
  static constexpr VariantInfo info{
      .name = "single_team", .level = Level::team, .summary = "the whole input in one team's scratch, if it fits"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = SingleTeamKernel<Exec, T>;

    Plan(Exec const& exec, InputOn<Conv1d, Exec, T> const& input)
        : threads_(kernels::team_size(exec, input.parameters.team)) {
      auto const most = static_cast<std::size_t>(typename Kernel::Policy(1, 1).scratch_size_max(0));
      // Packs and padding.
      std::size_t const places = most < 512 ? 0 : (most - 512) / sizeof(T);
      if (input.a.extent(0) > places) {
        throw Skip("an input of " + std::to_string(input.a.extent(0)) + " elements (a team's scratch holds " +
                   std::to_string(places) + ")");
      }
    }

    void operator()(Exec const& exec, InputOn<Conv1d, Exec, T> const& input,
                    OutputOn<Conv1d, Exec, T> const& output) const {
      auto const n = static_cast<int>(input.a.extent(0));
      if (n == 0) return;
      auto const bytes = static_cast<int>(Kernel::Scratch::shmem_size(Kernel::packs(n)));
      typename Kernel::Policy policy(exec, 1, threads_);
      Kokkos::parallel_for(
          "tessera::conv1d::single_team::sum", with_scratch(policy, bytes),
          Kernel{input.a.data(), input.k.data(), output.out.data(), n, static_cast<int>(taps_of(input))});
    }

   private:
    int threads_;
  };
};

VariantRows single_team() { return rows<Conv1d, SingleTeam>(); }

}  // namespace tessera::conv1d
