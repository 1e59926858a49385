#pragma once
/// \file
/// The product of two matrices, c = a b, tiled in registers, scratch and teams. One launch, or two if k is split over
/// teams. On a GPU a team computes a tile of c from factors in scratch. If the GPU can copy to scratch asynchronously
/// and elements have 4 bytes, a lane has up to 128 sums (product_stream.hpp). Otherwise it has up to 64, and scratch is
/// a double buffer (product_tile.hpp). On a host a thread keeps as many vectors of sums as there are registers, and
/// copies its factors into panels that stay in the caches (product_panel.hpp).
///
/// Traffic, with tiles of M x N: m n k (1 / M + 1 / N) elements read, m n written.
///
/// A ProductForm (product_form.hpp) describes further operations of the kernel: it reads an operand that is stored
/// transposed, changes elements of a as they are loaded, or adds a bias.
///
/// Example: a = [0 1; 2 3], b = [0 2; 4 6] -> c = [4 6; 12 22].
///
/// Use:  gemm(exec, a, b, c);  gemm(exec, a, b, c, TransposedB{});
/// or, enqueued many times:  Gemm<Exec, float> gemm(exec, m, n, k);  gemm(exec, a, b, c);
/// Sources: see the headers of the two kernels.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <tessera/collective/accumulator.hpp>
#include <tessera/collective/async_copy.hpp>
#include <tessera/collective/matrix_tiles.hpp>
#include <tessera/collective/pack.hpp>
#include <tessera/core/scratch.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/tiles.hpp>
#include <tessera/kernels/detail/gemm/product_panel.hpp>
#include <tessera/kernels/detail/gemm/product_stream.hpp>
#include <tessera/kernels/detail/gemm/product_tile.hpp>
#include <tessera/kernels/detail/launch/chunks.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/detail/launch/team_shape.hpp>
#include <tessera/kernels/detail/launch/views.hpp>
#include <tessera/kernels/product_form.hpp>

namespace tessera::kernels {

/// The tiles of c and k on a host, whose threads copy factors into panels.
template <ExecutionSpace Exec, class T>
struct GemmTuning {
  static constexpr bool in_panels = true;
  /// Sums fill all vector registers. Steps along k are so short that a strip of a stays in the first-level cache, and a
  /// tile's panels of b in the second-level cache.
  using Panel = PanelShape<vector_rows, 256>;
  static constexpr int most_strips = 16;  ///< strips per tile of c, `vector_rows` high; they share the copy of b
  static constexpr int least_strips = 4;  ///< strips per tile that is halved to give every team two tiles
  static constexpr int most_panels = 8;   ///< panels per tile of c, each two vectors wide
  static constexpr std::size_t least_part =
      256;  ///< shortest part of k: adding up shorter parts costs more than it gains
};

/// The tiles of c and k on a GPU, whose teams load factors to scratch.
template <ExecutionSpace Exec, class T>
  requires is_gpu<Exec>
struct GemmTuning<Exec, T> {
  static constexpr bool in_panels = false;
  /// If there is enough work: 64 sums per lane (32 of 8 bytes). Larger tiles move less data.
  using Large = std::conditional_t<sizeof(T) <= 4, TileShape<128, 128, 8, 8, 8, 2>, TileShape<128, 64, 8, 8, 4, 2>>;
  /// Otherwise: a quarter or half of that, so that more teams have work.
  using Small = TileShape<64, 64, 16, 4, 4, sizeof(T) <= 4 ? 3 : 2>;
  /// The tiles with asynchronous copies of factors, with three slices in scratch. A multiprocessor computes one large
  /// tile at a time, or one middle tile with 256 lanes in two groups, or up to three small tiles.
  using LargeStream = StreamShape<128, 256, 8, 8, 16, 3, 1, 1, true>;
  using MiddleStream = StreamShape<64, 128, 16, 8, 8, 3, 2, 1>;
  using SmallStream = StreamShape<64, 64, 16, 8, 8, 3, 2, 3>;
  /// The time that a multiprocessor takes per element in middle and small tiles, relative to large ones. On an H200,
  /// for 4096^3, large tiles reach 50.5 TFLOP/s, middle ones 45.3, and small ones 47.3 if each multiprocessor has three
  /// of them. If it has fewer, cost_of_few_small applies.
  static constexpr double cost_of_middle = 1.11;
  static constexpr double cost_of_small = 1.07;
  static constexpr double cost_of_few_small = 1.17;
  static constexpr std::size_t lanes_of_multiprocessor = 2048;
  static constexpr std::size_t least_part = 256;
};

namespace detail {

/// Adds up `count` matrices of n elements, in order.
template <class T>
struct AddParts {
  T const* parts;
  T* sum;
  std::size_t n;
  int count;

  template <int N>
  KOKKOS_FUNCTION void operator()(Width<N>, std::size_t begin) const {
    auto total = collective::pack_at<N>(parts + begin);
    for (int part = 1; part < count; ++part) {
      auto const next = collective::pack_at<N>(parts + part * n + begin);
      for (int e = 0; e < N; ++e) total[e] += next[e];
    }
    collective::pack_at<N>(sum + begin) = total;
  }
};

}  // namespace detail

/// How teams share a product's k. `never`: each team sums over all of k. `where_it_helps`: if c has too few elements to
/// fill the machine, k is split into as many parts as fill it.
enum class SplitK { never, where_it_helps };

/// c = a b for a [m, k], b [k, n] and c [m, n]. Depending on the form, a is given as [k, m] or b as [n, k]. Integers
/// wrap.
///
/// The constructor chooses tiles and teams and, if k is split, allocates a matrix of sums per part. Calls only enqueue:
/// one launch, or none if c is empty. If k is split, a second launch adds the parts' sums, always in the same order;
/// calls of one object must not run concurrently then, because they share these sums. If k is 0, c becomes zeros,
/// changed as the form says; a form that adds leaves c unchanged. The bits of the result depend only on the extents,
/// the alignment of the memory and the machine.
template <ExecutionSpace Exec, class T, class Form = PlainProduct, class Tuning = GemmTuning<Exec, T>>
class Gemm {
 public:
  using Sum = collective::Accumulator<T>;

  /// \param team threads per team; 0: chosen automatically. Throws Skip if the space does not allow that many. On a GPU
  ///   the tile determines the number.
  /// \param label the name shown by Kokkos' tools
  /// \param split whether k may be split. Throws Skip if it may and the form changes sums or adds them to c.
  /// \param parts number of parts of k; 0: chosen automatically
  Gemm(Exec const& exec, std::size_t m, std::size_t n, std::size_t k, std::int64_t team = 0,
       std::string label = "tessera::gemm", SplitK split = SplitK::never, std::size_t parts = 0)
      : label_(std::move(label)), m_(m), n_(n), k_{.n = k, .size = k} {
    bool const may_split = split != SplitK::never && m > 0 && n > 0;
    auto const concurrency = static_cast<std::size_t>(exec.concurrency());
    if constexpr (!Tuning::in_panels) {
      using Large = typename Tuning::Large;
      using Small = typename Tuning::Small;
      constexpr std::size_t lanes = Tuning::lanes_of_multiprocessor;
      require_team_of_tile(team, Large::lanes);
      // Large tiles move less data, but there must be enough of them for two on each multiprocessor.
      std::size_t const multiprocessors = std::max<std::size_t>(1, concurrency / lanes);
      std::size_t const tiles = tiles_of(m, Large::rows) * tiles_of(n, Large::cols);
      std::size_t const small_tiles = tiles_of(m, Small::rows) * tiles_of(n, Small::cols);
      if (may_split) split_k(parts > 0 ? parts : multiprocessors * Large::teams / tiles, Large::depth);
      large_ = tiles * k_.count * 2 * lanes >= 3 * concurrency;
      if (may_split && !large_) {
        split_k(parts > 0 ? parts : multiprocessors * Small::teams / small_tiles, Small::depth);
      }
      (void)league_of(small_tiles * k_.count);
      stream_ = best_stream(multiprocessors);
    } else {
      threads_ = team_size(exec, team);
      std::size_t const teams = concurrency / threads_;
      host_tiles_ = host_tiles(m, n, teams);
      std::size_t const tiles = host_tiles_.across() * host_tiles_.down();
      if (may_split) split_k(parts > 0 ? parts : teams / tiles, Panel<>::depth);
      (void)league_of(tiles * k_.count);
    }
    if (k_.count > 1) {
      sums_ = Kokkos::View<Sum*, typename Exec::memory_space>(
          Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label_ + "::parts"), k_.count * m * n);
    }
  }

  /// Enqueues the product. All matrices must be row-major; c must not overlap a or b. Throws std::invalid_argument for
  /// other extents or strides.
  template <Readable<Exec, T, 2> A, Readable<Exec, T, 2> B, Writable<Exec, T, 2> C>
  void operator()(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) const {
    require_apart(c, a, b);
    Sum* const result = as_sums(row_major(c, m_, n_));
    Matrices const of{
        .a = as_sums(Form::a_transposed ? row_major(a, k_.n, m_) : row_major(a, m_, k_.n)),
        .b = as_sums(Form::b_transposed ? row_major(b, n_, k_.n) : row_major(b, k_.n, n_)),
        .c = k_.count > 1 ? sums_.data() : result,
    };
    if (m_ == 0 || n_ == 0) return;
    if constexpr (!Tuning::in_panels) {
      if (large_) {
        enqueue_by_tiles<typename Tuning::Large>(exec, of, form);
      } else {
        enqueue_by_tiles<typename Tuning::Small>(exec, of, form);
      }
    } else {
      Panel<> const kernel(of.a, of.b, of.c, k_, host_tiles_, form);
      typename Panel<>::Policy policy(exec, kernel.league_size(), threads_, 1);
      policy.set_scratch_size(1, Kokkos::PerTeam(static_cast<int>(kernel.team_bytes())),
                              Kokkos::PerThread(static_cast<int>(Panel<>::thread_bytes())));
      Kokkos::parallel_for(label_, policy, kernel);
    }
    if (k_.count > 1) {
      constexpr int width = natural_pack<Exec, Sum>;
      std::size_t const n = m_ * n_;
      bool const aligned = n % width == 0 && collective::is_aligned_for_packs<width>(of.c, result);
      for_each_pack<width>(label_ + "::add_parts", exec, n, aligned, detail::AddParts<Sum>{of.c, result, n, k_.count});
    }
  }

  /// Returns the longest chain of roundings of an element, without the form's roundings.
  [[nodiscard]] double rounding_steps() const {
    double of_part = static_cast<double>(k_.size);
    if constexpr (Tuning::in_panels) of_part = Panel<>::rounding_steps(k_.size);
    return of_part + (k_.count - 1);
  }
  /// Returns the number of parts of k.
  [[nodiscard]] int parts() const { return k_.count; }

  /// Returns the threads that the user asks for if the tuning leaves the choice; otherwise 0.
  [[nodiscard]] static constexpr std::int64_t team_if_open(std::int64_t team) { return Tuning::in_panels ? team : 0; }

 private:
  // The matrices as the kernels use them: elements have the accumulator's type.
  struct Matrices {
    Sum const* a;
    Sum const* b;
    Sum* c;
  };
  [[nodiscard]] static Sum const* as_sums(T const* elements) { return reinterpret_cast<Sum const*>(elements); }
  [[nodiscard]] static Sum* as_sums(T* elements) { return reinterpret_cast<Sum*>(elements); }

  // A template, because a GPU's tuning has no Panel.
  template <class Cut = Tuning>
  using Panel = detail::ProductPanel<Exec, Sum, typename Cut::Panel, Form>;

  // Splits k into at most `parts` parts of whole steps. Parts are equally long and long enough to pay; the last one may
  // be shorter.
  void split_k(std::size_t parts, int step) {
    if constexpr (!Form::Store::changes && !Form::Store::adds) {
      std::size_t const most = std::max<std::size_t>(1, std::min(parts, k_.n / Tuning::least_part));
      k_ = most == 1 ? Chunks{.n = k_.n, .size = k_.n} : split(k_.n, step, most);
    } else {
      throw Skip("parts of k (the form changes sums or adds them to c, so each sum must be complete)");
    }
  }

  template <class Shape>
  void enqueue_by_tiles(Exec const& exec, Matrices const& of, Form const& form) const {
    constexpr int width = collective::pack_width<Sum>;
    std::size_t const contiguous_a = Form::a_transposed ? m_ : k_.n;
    std::size_t const contiguous_b = Form::b_transposed ? k_.n : n_;
    bool const aligned = contiguous_a % width == 0 && contiguous_b % width == 0 && n_ % width == 0 &&
                         collective::is_aligned_for_packs<width>(of.a, of.b, of.c) &&
                         form.load.template is_aligned<width>();
    if (!aligned) {
      enqueue_kernel<Shape, detail::ProductTile<Exec, Sum, Shape, 1, Form>>(exec, of, form);
    } else if constexpr (streams) {
      switch (stream_) {
        case Stream::large: enqueue_stream<typename Tuning::LargeStream>(exec, of, form); break;
        case Stream::middle: enqueue_stream<typename Tuning::MiddleStream>(exec, of, form); break;
        case Stream::small: enqueue_stream<typename Tuning::SmallStream>(exec, of, form); break;
      }
    } else {
      enqueue_kernel<Shape, detail::ProductTile<Exec, Sum, Shape, width, Form>>(exec, of, form);
    }
  }

  template <class Shape>
  void enqueue_stream(Exec const& exec, Matrices const& of, Form const& form) const {
    enqueue_kernel<Shape, detail::ProductStream<Exec, Sum, Shape, Form>>(exec, of, form);
  }

  template <class Shape, class Kernel>
  void enqueue_kernel(Exec const& exec, Matrices const& of, Form const& form) const {
    Kernel const kernel(of.a, of.b, of.c, m_, n_, k_, form);
    typename Kernel::Policy const policy(exec, kernel.league_size(), Shape::lanes, 1);
    Kokkos::parallel_for(label_, with_scratch(policy, Kernel::scratch_bytes()), kernel);
  }

  // Which tiles with asynchronous copies are used: the ones that finish first if each multiprocessor computes its tiles
  // one after the other.
  enum class Stream : std::uint8_t { large, middle, small };
  static constexpr bool streams =
      collective::is_built_for_async_copies<Exec> && sizeof(Sum) == 4 && !Form::Load::changes;

  [[nodiscard]] Stream best_stream(std::size_t multiprocessors) const {
    using Small = typename Tuning::SmallStream;
    // The number of tiles per multiprocessor.
    auto const rounds = [&]<class Shape>(Shape) {
      std::size_t const tiles = tiles_of(m_, Shape::rows) * tiles_of(n_, Shape::cols);
      return tiles_of(tiles * k_.count, multiprocessors);
    };
    auto const time = [&]<class Shape>(Shape shape, double cost) {
      return static_cast<double>(rounds(shape)) * (Shape::rows * Shape::cols * cost);
    };
    bool const few = rounds(Small{}) < static_cast<std::size_t>(Small::teams);
    double const large = time(typename Tuning::LargeStream{}, 1);
    double const middle = time(typename Tuning::MiddleStream{}, Tuning::cost_of_middle);
    double const small = time(Small{}, few ? Tuning::cost_of_few_small : Tuning::cost_of_small);
    if (large <= middle && large <= small) return Stream::large;
    return middle <= small ? Stream::middle : Stream::small;
  }

  // Tiles as large as possible, because large tiles reuse their copies most, but at least two per team if c has so
  // many.
  [[nodiscard]] static collective::MatrixTiles host_tiles(std::size_t m, std::size_t n, std::size_t teams) {
    constexpr int rows = Panel<>::rows;
    constexpr int cols = Panel<>::cols;
    collective::MatrixTiles tiles{
        .rows = m, .cols = n, .tile_rows = Tuning::most_strips * rows, .tile_cols = Tuning::most_panels * cols};
    while (tiles.across() * tiles.down() < 2 * teams && tiles.tile_cols > cols) {
      if (tiles.tile_rows > Tuning::least_strips * rows) {
        tiles.tile_rows /= 2;
      } else {
        tiles.tile_cols /= 2;
      }
    }
    return tiles;
  }

  std::string label_;
  std::size_t m_;
  std::size_t n_;
  Chunks k_;
  bool large_ = true;
  Stream stream_ = Stream::large;
  int threads_ = 1;
  collective::MatrixTiles host_tiles_;
  Kokkos::View<Sum*, typename Exec::memory_space> sums_;
};

/// c = a b (see Gemm); all matrices are row-major, and c must not overlap a or b. For a single use: it allocates,
/// enqueues, and waits.
template <ExecutionSpace Exec, class A, class B, class C, class Form = PlainProduct>
void gemm(Exec const& exec, A const& a, B const& b, C const& c, Form const& form = {}) {
  std::size_t const k = a.extent(Form::a_transposed ? 0 : 1);
  constexpr SplitK split = Form::Store::changes || Form::Store::adds ? SplitK::never : SplitK::where_it_helps;
  Gemm<Exec, typename A::non_const_value_type, Form> const product(exec, c.extent(0), c.extent(1), k, 0,
                                                                   "tessera::gemm", split);
  product(exec, a, b, c, form);
  exec.fence("tessera: gemm");  // the parts' memory is freed at the end of this call
}

}  // namespace tessera::kernels
