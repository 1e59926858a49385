/// \file
/// Every thread a run of consecutive outputs, which share what their windows have in common. Straight from memory: what
/// a window reaches back to is in the cache, since the thread before reads it as its own. Without subtraction.

#include <algorithm>

#include "../problem.hpp"
#include "../window_run.hpp"

#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::pooling {

namespace {

// Two kernels: what long windows take would cost short ones registers, and so threads.
template <bool IsShort, class T, class Op>
struct RunningBody {
  Op op;
  Finish<T> finish;
  T const* a;
  T* out;

  template <int L>
  KOKKOS_FUNCTION void operator()(kernels::Width<L>, std::size_t begin) const {
    T run[L];
    if constexpr (!IsShort) {
      long_window_run<L>(op, a + begin, finish.window, begin, run);
    } else if constexpr (L > 1) {
      short_window_run<L>(op, a + begin, finish.window, begin, run);
    } else {
      run[0] = a[begin];
      for (std::size_t back = 1; back < finish.window && back <= begin; ++back) run[0] = op(a[begin - back], run[0]);
    }
    finish(begin, run, L);
    write_run<L>(run, out + begin);
  }
};

}  // namespace

struct Running {
  static constexpr VariantInfo info{
      .name = "running", .level = Level::range, .summary = "runs of outputs that share the core of their windows"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int length = run_length<Exec, T>;

    Plan(Exec const&, InputOn<Pooling, Exec, T> const& input)
        : finish_(finish_of<T>(input)),
          divisions_(Pooling::roundings_of_mean(input.parameters, static_cast<double>(finish_.window))) {}

    void operator()(Exec const& exec, InputOn<Pooling, Exec, T> const& input,
                    OutputOn<Pooling, Exec, T> const& output) const {
      T const* const a = input.a.data();
      T* const out = output.out.data();
      // A host's vectors may lie anywhere.
      bool const aligned = !is_gpu<Exec> || (collective::is_aligned_for_packs<collective::pack_width<T>>(a) &&
                                             collective::is_aligned_for_packs<collective::pack_width<T>>(out));
      with_operator<T>(input.parameters.op, [&]<class Op>(Op const& op) {
        std::size_t const n = input.a.extent(0);
        if (is_short_window<length>(finish_.window)) {
          kernels::for_each_pack<length>("tessera::pooling::running::short", exec, n, aligned,
                                         RunningBody<true, T, Op>{op, finish_, a, out});
        } else {
          kernels::for_each_pack<length>("tessera::pooling::running::long", exec, n, aligned,
                                         RunningBody<false, T, Op>{op, finish_, a, out});
        }
      });
    }

    /// Of a run, and of the outputs that no run is left for.
    [[nodiscard]] double rounding_steps() const {
      return divisions_ + std::max(window_run_steps<length>(finish_.window),
                                   is_short_window<length>(finish_.window) ? 0.0 : window_run_steps<1>(finish_.window));
    }

   private:
    Finish<T> finish_;
    double divisions_;
  };
};

VariantRows running() { return rows<Pooling, Running>(); }

}  // namespace tessera::pooling
