/// \file
/// A thread takes pieces of rows, holds its row's element of b in a register, and adds to it what its lanes read of a,
/// a 16-byte pack at a time. A team's tile is several short rows or a part of a long one, so that every shape fills
/// teams. A row may begin anywhere: the elements up to the first whole pack of the output and after the last one go one
/// by one.

#include <cstdint>

#include "../problem.hpp"

#include <tessera/collective/pack.hpp>
#include <tessera/collective/streaming_store.hpp>
#include <tessera/kernels/row_tiles.hpp>
#include <tessera/kernels/team_shape.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::broadcast_add {

namespace {

template <ExecutionSpace Exec, class T>
struct AddRows {
  static constexpr int width = collective::pack_width<T>;
  using Policy = Kokkos::TeamPolicy<Exec>;
  using Member = typename Policy::member_type;

  Operands<T> in;
  T* out;
  collective::MatrixTiles tiles;
  int piece;
  bool streams;

  KOKKOS_FUNCTION void operator()(Member const& team) const {
    auto const place = tiles.place(team.league_rank());
    kernels::for_each_row_piece(team, place, piece, [&](std::size_t row, std::size_t col, int count) {
      T const of_row = in.down[row];
      bool const past_caches = streams;
      T const* const from = in.along + col;
      T* const to = out + row * in.cols + col;
      int const past = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T) % width);
      // Up to the first whole pack; a piece may end before that, and has none.
      int const before = (width - past) % width;
      int const packs = count > before ? (count - before) / width : 0;
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, packs), [&](int p) {
        int const i = before + p * width;
        auto values = collective::load_pack<width>(from + i);
        for (int e = 0; e < width; ++e) values[e] = Add<T>{}(values[e], of_row);
        if (past_caches) {
          collective::streaming_store(to + i, values);
        } else {
          collective::pack_at<width>(to + i) = values;
        }
      });
      Kokkos::parallel_for(Kokkos::ThreadVectorRange(team, count - packs * width), [&](int k) {
        int const i = k < before ? k : k + packs * width;
        to[i] = Add<T>{}(from[i], of_row);
      });
      if (past_caches) collective::streaming_fence();
    });
  }
};

}  // namespace

struct TeamRows {
  static constexpr VariantInfo info{
      .name = "team_rows", .level = Level::team, .summary = "pieces of rows a thread, b[row] in a register"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    using Kernel = AddRows<Exec, T>;
    static constexpr int width = Kernel::width;
    // On a GPU two packs a lane, and a thread has two pieces; on a host as much as a team is worth starting for.
    static constexpr int piece = is_gpu<Exec> ? 2 * 32 * width : 2048;
    static constexpr int tile = is_gpu<Exec> ? 16 * piece : 4 * piece;

    Plan(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input)
        : Plan(exec, long_rows(input), input.parameters.team) {}

    void operator()(Exec const& exec, InputOn<BroadcastAdd, Exec, T> const& input,
                    OutputOn<BroadcastAdd, Exec, T> const& output) const {
      Kokkos::parallel_for("tessera::broadcast_add::team_rows::add",
                           typename Kernel::Policy(exec, league_, threads_, lanes_),
                           Kernel{.in = long_rows(input),
                                  .out = output.out.data(),
                                  .tiles = tiles_,
                                  .piece = piece,
                                  .streams = collective::streams<Exec>(output.out.size() * sizeof(T))});
    }

   private:
    Plan(Exec const& exec, Operands<T> const& in, std::int64_t team)
        : tiles_(kernels::row_tiles(in.rows, in.cols, tile)),
          lanes_(kernels::lanes_for<Exec>(in.cols / width)),
          threads_(kernels::team_size(exec, team, lanes_)),
          league_(tiles_.league_size()) {}

    collective::MatrixTiles tiles_;
    int lanes_;
    int threads_;
    int league_;
  };
};

VariantRows team_rows() { return rows<BroadcastAdd, TeamRows>(); }

}  // namespace tessera::broadcast_add
