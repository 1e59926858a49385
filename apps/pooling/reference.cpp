/// \file
/// The serial oracle of pooling: sums in twice double precision, whatever the window in about two additions an element.
///
/// A window of w elements ends in one block of w and begins in the block before: its sum is the end of the one and the
/// begin of the other, and nothing is ever subtracted, so that NaN and infinities last no longer than they should and
/// nothing cancels.
///
/// Where all elements lie on one grid, and the sum of magnitudes of each window within the dtype's precision of it,
/// every sum is exact in any order (verify/grid.hpp), and a mean is the correctly rounded quotient of two exact numbers
/// (as long as the number of elements is one of the dtype): results must be equal, and there is no scale.
///
/// Error bound otherwise. A window of m elements is summed in a tree of at most m - 1 additions on the longest way, so
/// the error is at most ((1 + u)^(m-1) - 1) * sum |a[j]| (Higham, Accuracy and Stability of Numerical Algorithms, 4.2):
/// the scale is that sum, of the variant's order only the longest way matters. A mean is divided by m, which is one
/// rounding more (and another if m itself is rounded, from 2^24 on in float), so its scale is the sum of magnitudes
/// divided by m. A maximum is exact. Where terms of both signs exceed the dtype's range, a partial sum may overflow in
/// one order and not in another: nothing can be asked of a sum (scale infinity, verify/wide.hpp). A mean is within the
/// range, and variants must find it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "problem.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/table/references.hpp>
#include <tessera/verify/exact_sum.hpp>
#include <tessera/verify/grid.hpp>
#include <tessera/verify/wide.hpp>

namespace tessera::pooling {

/// Elements of a window's part, at places that are counted from the begin of a block: those before `lead` are not
/// there.
template <class T>
struct Placed {
  T const* a;
  std::size_t lead;

  [[nodiscard]] double at(std::size_t place) const { return static_cast<double>(a[place - lead]); }
};

namespace {

struct WideSum {
  verify::ExactSum sum;
  double magnitude = 0;

  void add(double value) {
    sum.add(value);
    if (std::isfinite(value)) magnitude += std::abs(value);
  }
  void add(WideSum const& other) {
    sum.merge(other.sum);
    magnitude += other.magnitude;
  }
};

struct WrappingSum {
  std::uint32_t sum = 0;

  void add(double value) { sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(value)); }
  void add(WrappingSum const& other) { sum += other.sum; }
};

struct Largest {
  double value = -std::numeric_limits<double>::infinity();

  void add(double other) {
    if (std::isnan(other) || other > value) value = other;  // once it is NaN, no comparison is true
  }
  void add(Largest const& other) { add(other.value); }
};

/// Calls emit(i, fold of the window that ends at element i) for the elements at places [from, to); `from` is a multiple
/// of the window. A window has no more elements than are there.
template <class Fold, class T, class Emit>
void for_each_window(Placed<T> const& a, std::size_t from, std::size_t to, std::size_t window, Emit const& emit) {
  std::vector<Fold> ends(window);  // ends[t]: the previous block from its element t on
  // Of the block that begins there.
  auto const fold_ends = [&](std::size_t begin) {
    Fold end;
    for (std::size_t t = window; t-- > 1;) {
      if (begin + t >= a.lead) end.add(a.at(begin + t));
      ends[t] = end;
    }
  };
  if (from > 0) fold_ends(from - window);
  for (std::size_t begin = from; begin < to; begin += window) {
    std::size_t const count = std::min(window, to - begin);
    Fold of_block;
    for (std::size_t t = a.lead > begin ? a.lead - begin : 0; t < count; ++t) {
      of_block.add(a.at(begin + t));
      Fold whole = of_block;
      if (begin > 0 && t + 1 < window) whole.add(ends[t + 1]);
      emit(begin + t - a.lead, whole);
    }
    if (begin + window < to) fold_ends(begin);
  }
}

}  // namespace

template <class T>
std::vector<ExpectedField> Pooling::reference(Input<T, Kokkos::HostSpace> const& input) {
  std::size_t const n = input.a.extent(0);
  std::size_t const window = std::min(static_cast<std::size_t>(input.parameters.window), std::max<std::size_t>(1, n));
  // Blocks of w begin at its multiples in the whole input, of which this may be a part: so sums do not depend on where
  // it begins.
  std::size_t const lead = input.parameters.first % window;
  Placed<T> const a{input.a.data(), lead};
  ExpectedField out = zero_field("out", {n});
  // Some blocks at a time have nothing to do with the others: each is a serial loop, several run side by side.
  std::size_t const part = blocks_in(1 << 16, window) * window;
  std::size_t const places = n == 0 ? 0 : lead + n;
  if (input.parameters.op == PoolingOp::max) {
    for_blocks(places, part, [&](std::size_t, std::size_t begin, std::size_t end) {
      for_each_window<Largest>(a, begin, end, window,
                               [&](std::size_t i, Largest const& max) { out.value[i] = max.value; });
    });
  } else if constexpr (std::is_integral_v<T>) {
    for_blocks(places, part, [&](std::size_t, std::size_t begin, std::size_t end) {
      for_each_window<WrappingSum>(a, begin, end, window, [&](std::size_t i, WrappingSum const& sum) {
        out.value[i] = static_cast<double>(static_cast<std::int32_t>(sum.sum));
      });
    });
  } else {
    struct OfPart {
      verify::Grid grid;
      double most = 0;
    };
    std::vector<OfPart> parts(blocks_in(places, part));
    bool const mean = input.parameters.op == PoolingOp::mean;
    // There is a scale in the second sweep, for those that need one.
    auto const sweep = [&] {
      for_blocks(places, part, [&](std::size_t p, std::size_t begin, std::size_t end) {
        for (std::size_t place = std::max(begin, lead); place < end; ++place) parts[p].grid.add(a.at(place));
        for_each_window<WideSum>(a, begin, end, window, [&](std::size_t i, WideSum const& sum) {
          std::size_t const count = std::min(i + 1, window);
          double const divisor = mean ? static_cast<double>(count) : 1.0;
          parts[p].most = std::max(parts[p].most, sum.magnitude);
          out.value[i] = sum.sum.value() / divisor;
          bool const past_double = mean && !std::isfinite(sum.magnitude);
          double scale = mean ? sum.magnitude / divisor : verify::scale_of_sum<T>(out.value[i], sum.magnitude);
          if (past_double) std::tie(out.value[i], scale) = verify::means_of_huge(a.a + i + 1 - count, count);
          if (!out.scale.empty()) out.scale[i] = scale;
        });
      });
    };
    sweep();
    OfPart all;
    for (OfPart const& one : parts) {
      all.grid.merge(one.grid);
      all.most = std::max(all.most, one.most);
    }
    bool const divisors_fit = !mean || static_cast<double>(window) <= 1 / unit_roundoff(dtype_of<T>);
    if (!divisors_fit || !all.grid.template holds<T>(all.most)) {
      out.scale.resize(n);
      sweep();
    }
  }
  return list_of(std::move(out));
}

}  // namespace tessera::pooling

template struct tessera::References<tessera::pooling::Pooling>;
