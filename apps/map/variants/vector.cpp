/// \file
/// 16-byte accesses: each index moves one pack of elements, so a quarter of the loads and stores for float and a
/// quarter of the index arithmetic. What the packs leave over, and arrays that are not aligned for them, go element by
/// element.

#include "../problem.hpp"

#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::map {

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
      .name = "vector", .level = Level::range, .summary = "16-byte accesses, remainder element by element"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    static constexpr int width = collective::pack_width<T>;

    Plan(Exec const&, InputOn<Map, Exec, T> const& input) : add_{static_cast<T>(input.parameters.c)} {}

    void operator()(Exec const& exec, InputOn<Map, Exec, T> const& input, OutputOn<Map, Exec, T> const& output) const {
      AddToPacks<T> const kernel{.a = input.a.data(), .out = output.out.data(), .add = add_};
      bool const aligned =
          collective::is_aligned_for_packs<width>(kernel.a) && collective::is_aligned_for_packs<width>(kernel.out);
      kernels::for_each_pack<width>("tessera::map::vector::add", exec, input.a.extent(0), aligned, kernel);
    }

   private:
    AddConstant<T> add_;
  };
};

VariantRows vector() { return rows<Map, Vector>(); }

}  // namespace tessera::map
