#pragma once
// A mini-app with hand-written rows for `out[i] = a[i] + c`, good and bad ones, without Kokkos.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::fake {

/// The variants that fake_app knows:
/// good            right, same bits
/// wrong_middle    the middle element is off by one
/// wrong_later     right at the first launch only
/// works_once      writes at the first launch only
/// nan             writes a NaN
/// nothing         writes nothing
/// stale           writes nothing at the first launch, into memory that holds the right result already
/// throws_start, throws_later, throws_odd   throws while it is constructed, in a launch, something that is no exception
/// skips           Skip
/// small_tiles     Skip where --tile is above 100
/// past_end        writes past the end (fetch throws)
/// lying           claims determinism, and the last bit toggles
/// honest          the same, and says so
/// float_only      has rows only for float
/// openmp_only     has rows only on openmp
/// absent          is listed, but has no row
/// interrupts      raises SIGINT in its sixth launch
/// first_half      writes the first half of out, and says so: as many elements as the field `half` holds
/// past_half, short_of_half   say the same, and write one more, one less
/// vague           right, and claims a chain so long that nothing could be wrong
/// vague_at_random  so long that even bounds of random data, where errors cancel, see nothing
/// miscounts       counts by a field that is no count
///
/// The output field `half` is always right; only first_half and its like say that they write it.
struct FakeOptions {
  std::string name = "fake";
  std::vector<std::string> variants{"good"};
};

/// Names are kept until the program ends, as for real apps.
[[nodiscard]] App fake_app(FakeOptions const& options = {});

/// Counters of the rows' actions since the last reset.
struct Counts {
  int cases = 0;       ///< built
  int alive = 0;       ///< rows alive now
  int most_alive = 0;  ///< largest number at one time
  int launches = 0;
  int evictions = 0;
  int releases = 0;              ///< released device inputs
  bool without_runtime = false;  ///< something ran although Kokkos was not running
};
Counts& counts();

/// Called at these points of a run: "generate", "reference", "sample", "launch", "fetch". Empty functions are not
/// called.
std::map<std::string, std::function<void()>>& hooks();

/// Functions that change a reference when it is made, and a row's results when they are fetched. Empty ones are not
/// called.
struct Changes {
  std::function<void(std::vector<ExpectedField>&)> reference;
  std::function<void(std::vector<HostField>&)> results;
};
Changes& changes();

/// Number of elements at the end of `out` that the reference leaves unchecked; if it covers all of `out`, `half` is
/// unchecked, too.
std::size_t& unchecked();

/// True: a case can compute a sample of its reference without the rest.
bool& refers_to_samples();

/// True: `a` and `out` are matrices [1, n], which a file may hold as vectors.
bool& as_matrix();

}  // namespace tessera::fake
