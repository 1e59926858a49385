/// \file
/// std::sort with the parallel policy, of keys alone, on all processors by oneTBB. It sorts in place: the timed call
/// copies the keys first.

#include <algorithm>
#include <execution>

#include "../../../apps/sort/problem.hpp"
#include "../peers.hpp"
#include "../sort_of_keys.hpp"

#include <tessera/table/make_app.hpp>

// libstdc++ sorts on one processor if it did not see TBB's headers when it was included first.
#if defined(__GLIBCXX__) && !defined(_PSTL_PAR_BACKEND_TBB)
#error "std::execution::par does not use TBB"
#endif

namespace tessera::compare {
namespace {

using sort::Sort;

struct Tbb {
  static constexpr VariantInfo info{
      .name = "tbb", .level = Level::library, .summary = "std::sort(std::execution::par)"};

  template <ExecutionSpace Exec, class T>
    requires(!is_gpu<Exec>)
  struct Plan : SortOfKeys {
    Plan(Exec const&, InputOn<Sort, Exec, T> const& input) : SortOfKeys(input) {}

    void operator()(Exec const&, InputOn<Sort, Exec, T> const& input, OutputOn<Sort, Exec, T> const& output) const {
      T* const keys = output.keys.data();
      std::copy_n(input.keys.data(), input.keys.extent(0), keys);
      std::sort(std::execution::par, keys, keys + input.keys.extent(0));
    }
  };
};

}  // namespace

Peer tbb_sort() { return {"sort", {rows<Sort, Tbb>()}}; }

}  // namespace tessera::compare
