/// \file
/// Few queries and long sequences: the keys are cut into pieces, as many as keep the machine busy, each piece is a task
/// of its own (key_stream.hpp), and a second launch puts the pieces of each query together (partial.hpp).

#include "../key_stream.hpp"
#include "../problem.hpp"

#include <tessera/kernels/chunks.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::attention {

struct SplitSequence {
  static constexpr VariantInfo info{.name = "split_sequence",
                                    .level = Level::device,
                                    .summary = "pieces of the keys side by side, their results merged"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& input)
        : task_(task_of(input)), team_(input.parameters.team) {
      if (task_.dim > 256) throw Skip("d = " + std::to_string(input.q.extent(1)) + " (lanes hold at most 256 columns)");
      choose(1, [&]<class Kernel>() {
        int const most = Kernel::most_threads();
        int const threads = kernels::team_size(exec, input.parameters.team, Kernel::vector_length);
        if (input.parameters.team > most) {
          throw Skip("a team of " + std::to_string(threads) + " threads (its scratch holds the sums of " +
                     std::to_string(most) + ")");
        }
        threads_ = std::min(threads, most);
        Kernel const kernel{task_};
        // As many teams as run at once, 512 lanes of 128 registers on each of a GPU's multiprocessors: more would only
        // have more to merge. But a thread has some keys to amortise its part of the merging, which grows with the
        // queries.
        std::size_t const blocks = task_.queries == 1 ? 16 : 32;
        std::size_t const teams = std::max<std::size_t>(
            1, kernels::teams_that_fill(exec, threads_ * Kernel::vector_length) / (is_gpu<Exec> ? 8 : 1));
        std::size_t const wanted = input.parameters.chunks > 0
                                       ? static_cast<std::size_t>(input.parameters.chunks)
                                       : std::min<std::size_t>(tiles_of(teams, std::max(1, kernel.query_groups())),
                                                               tiles_of(task_.keys, blocks * Kernel::block * threads_));
        std::size_t const most_pieces = MergePieces<Exec, T>::most_pieces;
        auto const pieces = kernels::split(task_.keys, Kernel::block, std::min(wanted, most_pieces));
        task_.chunk = pieces.size;
        task_.chunks = pieces.count;
        steps_ =
            Kernel::rounding_steps(pieces.size, threads_) + MergePieces<Exec, T>(exec, task_, team_).rounding_steps();
        (void)league_of(static_cast<std::size_t>(kernel.query_groups()) * task_.chunks);
      });
      if (task_.chunks == 1) return;
      std::size_t const rows = task_.queries * task_.chunks;
      sums_ = Numbers(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::split_sequence::sums"),
                      rows * task_.dim);
      largest_ =
          Numbers(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::split_sequence::largest"), rows);
      total_ =
          Numbers(Kokkos::view_alloc(Kokkos::WithoutInitializing, "tessera::attention::split_sequence::total"), rows);
      task_.sums = sums_.data();
      task_.largest = largest_.data();
      task_.total = total_.data();
    }

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& input,
                    OutputOn<Attention, Exec, T> const& output) const {
      if (task_.keys == 0) {
        Kokkos::deep_copy(exec, output.out, T(0));
        return;
      }
      Task<T> const task = with_arrays(task_, input, output);
      choose(is_aligned(task) ? collective::pack_width<T> : 1, [&]<class Kernel>() {
        Kernel{task}.enqueue("tessera::attention::split_sequence::attend", exec, threads_);
      });
      MergePieces<Exec, T>::enqueue("tessera::attention::split_sequence::merge", exec, task, team_);
    }

    [[nodiscard]] double rounding_steps() const { return steps_; }
    [[nodiscard]] std::string note() const { return std::to_string(task_.chunks) + " pieces"; }

   private:
    using Numbers = Kokkos::View<T*, typename Exec::memory_space>;

    template <int Share, int Columns, int Queries, class Body>
    void choose_width([[maybe_unused]] int width, Body const& body) const {
      constexpr int widest = std::min(Columns, collective::pack_width<T>);
      if constexpr (is_gpu<Exec>) {
        if (width == 1) return body.template operator()<KeyStream<Exec, T, Share, Columns, Queries, 1>>();
      }
      body.template operator()<KeyStream<Exec, T, Share, Columns, Queries, widest>>();
    }

    /// Calls body.operator()<Kernel>() with the kernel for rows of this length and so many queries. A lane of a GPU
    /// holds 16 bytes of a row in float, and more only where a warp's lanes do not suffice.
    template <class Body>
    void choose(int width, Body const& body) const {
      auto const with_columns = [&]<int Share, int Columns>() {
        if (task_.queries == 1) return choose_width<Share, Columns, 1>(width, body);
        choose_width<Share, Columns, 8>(width, body);
      };
      constexpr bool gpu = is_gpu<Exec>;
      if (task_.dim <= 32) return with_columns.template operator()<8, 4>();
      if (task_.dim <= 64) return with_columns.template operator()<gpu ? 16 : 8, gpu ? 4 : 8>();
      if (task_.dim <= 128) return with_columns.template operator()<gpu ? 32 : 8, gpu ? 4 : 16>();
      with_columns.template operator()<gpu ? 32 : 8, gpu ? 8 : 32>();
    }

    Task<T> task_;
    std::int64_t team_;
    int threads_ = 1;
    double steps_ = 0;
    Numbers sums_;
    Numbers largest_;
    Numbers total_;
  };
};

VariantRows split_sequence() { return rows<Attention, SplitSequence>(); }

}  // namespace tessera::attention
