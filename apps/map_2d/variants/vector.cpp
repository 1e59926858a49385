/// \file
/// A map has no use for rows and columns: the matrix is one array, and each index moves one 16-byte pack of it.

#include "../problem.hpp"

#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map_2d {

namespace {

template <class T>
struct AddToPacks {
  T const* a;
  T* out;
  AddConstant<T> add;

  template <int N>
  KOKKOS_FUNCTION void operator()(kernels::Width<N>, std::size_t begin) const {
    auto values = collective::pack_at<N>(a + begin);
    for (int e = 0; e < N; ++e) values[e] = add(values[e]);
    collective::pack_at<N>(out + begin) = values;
  }
};

}  // namespace

struct Vector {
  static constexpr VariantInfo info{
      .name = "vector", .level = Level::range, .summary = "16-byte packs of the flat array, remainder by element"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int width = collective::pack_width<T>;

    Plan(Exec const&, InputOn<Map2d, Exec, T> const& input) : add_{static_cast<T>(input.parameters.c)} {}

    void operator()(Exec const& exec, InputOn<Map2d, Exec, T> const& input,
                    OutputOn<Map2d, Exec, T> const& output) const {
      AddToPacks<T> const kernel{.a = input.a.data(), .out = output.out.data(), .add = add_};
      bool const aligned =
          collective::is_aligned_for_packs<width>(kernel.a) && collective::is_aligned_for_packs<width>(kernel.out);
      kernels::for_each_pack<width>("tessera::map_2d::vector::add", exec, input.a.size(), aligned, kernel);
    }

   private:
    AddConstant<T> add_;
  };
};

VariantRows vector() { return rows<Map2d, Vector>(); }

}  // namespace tessera::map_2d
