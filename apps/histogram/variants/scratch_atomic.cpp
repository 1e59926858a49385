/// \file
/// Each team counts its share in scratch, with atomics that never leave the multiprocessor, and adds its counts to the
/// result at the end. Two threads (of 32 lanes, on a GPU) share a copy of the counts where scratch allows.

#include <algorithm>

#include "../problem.hpp"
#include "../shares.hpp"

#include <tessera/collective/lane/lanes.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/collective/scratch_add.hpp>
#include <tessera/collective/thread/for_each_element.hpp>
#include <tessera/collective/thread/rows.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::histogram {

namespace {

template <ExecutionSpace Exec, class T>
struct ScratchCounts {
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;
  using Lanes = lane::On<Exec, lane::natural_width<Exec>>;
  using Words =
      Kokkos::View<std::uint32_t*, typename Exec::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  static constexpr int rows = is_gpu<Exec> ? 4 : 1;
  static constexpr int pack = (is_gpu<Exec> ? 1 : 4) * collective::pack_width<T>;  // a cache line on hosts
  static constexpr int part = rows * Lanes::width * pack;

  T const* in;
  Result result;
  Bins<T> bins;
  kernels::Chunks chunks;
  int copies;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    Lanes const lanes;
    Bins<T> const bin_of = bins;  // the counts might be written to the kernel's own memory, for all a compiler knows
    // One counter more than bins: what is outside costs no branch. With an even number of bins, copies begin in
    // different banks.
    int const size = result.size();
    Words const counts(team.team_scratch(0), copies * size);
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, copies * size), [&](int i) { counts(i) = 0; });
    team.team_barrier();
    std::uint32_t* const own = counts.data() + team.team_rank() % copies * size;
    std::size_t const end = chunks.end(team.league_rank());
    for (std::size_t begin = chunks.begin(team.league_rank()) + static_cast<std::size_t>(team.team_rank()) * part;
         begin < end; begin += static_cast<std::size_t>(team.team_size()) * part) {
      thread::for_each_element<rows, pack>(lanes, in + begin, thread::count_before(begin, end, part),
                                           [&]<int N>(int, T const(&x)[N]) {
                                             std::int32_t bin[N];
                                             for (int k = 0; k < N; ++k) bin[k] = bin_of(x[k]);
                                             for (int k = 0; k < N; ++k) add_one(team, own + bin[k]);
                                           });
    }
    team.team_barrier();
    result.add(team, [&](int bin) {
      std::uint32_t sum = 0;
      for (int copy = 0; copy < copies; ++copy) sum += counts(copy * size + bin);
      return sum;
    });
    team.team_barrier();  // hosts count another share in the same scratch
  }

 private:
  KOKKOS_FUNCTION static void add_one(Member const& team, std::uint32_t* counter) {
    if (!is_gpu<Exec> && team.team_size() == 1) {
      ++*counter;  // a host's thread alone: an atomic would cost it 20 cycles
    } else {
      collective::scratch_add(counter, 1);
    }
  }
};

}  // namespace

struct ScratchAtomic {
  static constexpr VariantInfo info{.name = "scratch_atomic",
                                    .level = Level::lane,
                                    .summary = "counts of a team in scratch, by atomics, then added to the result"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Histogram, Exec, T> const& input)
        : bins_(input.parameters),
          threads_(kernels::team_size(exec, input.parameters.team, vector_length)),
          // As many bins as fit at all; of copies, what leaves room for other teams.
          copies_(std::clamp(kernels::scratch_tile<Exec>(0, 4 * (bins_.count + 1), 0), 1, (threads_ + 1) / 2)),
          chunks_(shares(exec, input.in.extent(0), input.parameters,
                         static_cast<std::size_t>(threads_) * ScratchCounts<Exec, T>::part, threads_ * vector_length)) {
    }

    void operator()(Exec const& exec, InputOn<Histogram, Exec, T> const& input,
                    OutputOn<Histogram, Exec, T> const& output) const {
      using Kernel = ScratchCounts<Exec, T>;
      Kernel const kernel{input.in.data(), result_of(output), bins_, chunks_, copies_};
      set_to_zero("tessera::histogram::scratch_atomic::zero", exec, kernel.result);
      typename Kernel::Policy policy(exec, chunks_.count, threads_, vector_length);
      std::size_t const bytes = Kernel::Words::shmem_size(copies_ * kernel.result.size());
      Kokkos::parallel_for("tessera::histogram::scratch_atomic::count",
                           policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes))), kernel);
    }

    [[nodiscard]] std::string note() const {
      return std::to_string(chunks_.count) + (chunks_.count == 1 ? " share, " : " shares, ") + std::to_string(copies_) +
             (copies_ == 1 ? " copy" : " copies");
    }

   private:
    static constexpr int vector_length = lane::vector_length<Exec>(lane::On<Exec, lane::natural_width<Exec>>::width);

    Bins<T> bins_;
    int threads_;
    int copies_;
    kernels::Chunks chunks_;
  };
};

VariantRows scratch_atomic() { return rows<Histogram, ScratchAtomic>(); }

}  // namespace tessera::histogram
