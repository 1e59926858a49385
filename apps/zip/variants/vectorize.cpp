/// \file
/// The width comes from the range: as many indices as there are packs, each with one 16-byte access to a, b and out,
/// and the remainder element by element in the same launch. Neighbouring threads touch neighbouring packs.

#include "../problem.hpp"

#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::zip {

namespace {

template <class T>
struct AddPacks {
  T const* a;
  T const* b;
  T* out;

  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    auto x = collective::pack_at<N>(a + begin);
    auto const y = collective::pack_at<N>(b + begin);
    for (int e = 0; e < N; ++e) x[e] = Add<T>{}(x[e], y[e]);
    collective::pack_at<N>(out + begin) = x;
  }
};

}  // namespace

struct Vectorize {
  static constexpr VariantInfo info{
      .name = "vectorize", .level = Level::range, .summary = "one 16-byte pack an index, remainder element by element"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int width = collective::pack_width<T>;

    Plan(Exec const&, InputOn<Zip, Exec, T> const&) {}

    void operator()(Exec const& exec, InputOn<Zip, Exec, T> const& input, OutputOn<Zip, Exec, T> const& output) const {
      AddPacks<T> const add{.a = input.a.data(), .b = input.b.data(), .out = output.out.data()};
      bool const aligned = collective::is_aligned_for_packs<width>(add.a) &&
                           collective::is_aligned_for_packs<width>(add.b) &&
                           collective::is_aligned_for_packs<width>(add.out);
      kernels::for_each_pack<width>("tessera::zip::vectorize::add", exec, input.a.extent(0), aligned, add);
    }
  };
};

VariantRows vectorize() { return rows<Zip, Vectorize>(); }

}  // namespace tessera::zip
