// A user-defined stencil over segments of an array, on the user's own Views.

#include "program.hpp"

#include <cstdint>

#include <tessera/kernels/stencil.hpp>

using Exec = Kokkos::DefaultExecutionSpace;
using Elements = Kokkos::View<std::int32_t*, Exec>;

// The sum of up to two following elements in the segment, minus twice the element.
struct Ahead {
  static constexpr int reach = 2;
  KOKKOS_FUNCTION std::int32_t operator()(std::int32_t const* window, int present) const {
    std::int32_t result = -2 * window[0];
    if (present > 1) result += window[1];
    if (present > 2) result += window[2];
    return result;
  }
};

// A user-defined tuning: fewer packs per lane in flight.
struct TwoRows : tessera::kernels::StencilTuning<Exec, std::int32_t> {
  static constexpr int rows = 2;
};

int check(Exec const& exec) {
  namespace kernels = tessera::kernels;
  int wrong = 0;
  for (std::size_t const n : {0, 1, 31, 4097, 1000003}) {
    for (std::size_t const segment : {0, 1, 7, 1000}) {
      Elements const in("in", n);
      Elements const out("out", n);
      auto const given = Kokkos::create_mirror_view(in);
      for (std::size_t i = 0; i < n; ++i) given(i) = static_cast<std::int32_t>(i * i % 1009);
      Kokkos::deep_copy(in, given);
      Kokkos::View<std::int32_t const*, Exec> const constant = in;

      auto const expect = [&](char const* what) {
        auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), out);
        for (std::size_t i = 0; i < n; ++i) {
          std::int32_t wanted = -2 * given(i);
          for (std::size_t next = i + 1; next < n && next < i + 3; ++next) {
            if (segment == 0 || next / segment == i / segment) wanted += given(next);
          }
          if (differs(what, i, found(i), wanted) != 0) return 1;
        }
        Kokkos::deep_copy(out, -1);
        return 0;
      };
      tessera::SegmentShape const shape{.n = n, .segment = segment};
      kernels::apply_stencil(exec, Ahead{}, segment, constant, out);
      wrong += expect("apply_stencil");
      kernels::LaneStencil<Exec, std::int32_t, Ahead> const by_lanes(exec, shape);
      by_lanes(exec, constant, out);
      wrong += expect("LaneStencil");
      kernels::LaneStencil<Exec, std::int32_t, Ahead, TwoRows> const tuned(exec,
                                                                           {.n = n, .segment = segment, .tile = 1000});
      tuned(exec, in, out);
      wrong += expect("LaneStencil of two rows");
      kernels::ScratchStencil<Exec, std::int32_t, Ahead> const by_scratch(exec,
                                                                          {.n = n, .segment = segment, .tile = 8});
      by_scratch(exec, in, out);
      wrong += expect("ScratchStencil");
    }
  }

  Kokkos::View<std::int32_t**, Kokkos::LayoutRight, Exec> const matrix("matrix", 4, 3);
  Elements const four("four", 4);
  Elements const five("five", 5);
  wrong += accepts("a strided column",
                   [&] { kernels::apply_stencil(exec, Ahead{}, 0, Kokkos::subview(matrix, Kokkos::ALL, 1), four); });
  wrong += accepts("a longer result", [&] { kernels::apply_stencil(exec, Ahead{}, 0, four, five); });
  return wrong;
}
