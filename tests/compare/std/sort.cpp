/// \file
/// std::sort of keys alone, by one thread. It sorts in place: the timed call copies the keys first.

#include <algorithm>

#include "../../../apps/sort/problem.hpp"
#include "../peers.hpp"
#include "../sort_of_keys.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using sort::Sort;

struct Std {
  static constexpr VariantInfo info{.name = "std", .level = Level::library, .summary = "std::sort, one thread"};

  template <ExecutionSpace Exec, class T>
    requires(!is_gpu<Exec>)
  struct Plan : SortOfKeys {
    Plan(Exec const&, InputOn<Sort, Exec, T> const& input) : SortOfKeys(input) {}

    void operator()(Exec const&, InputOn<Sort, Exec, T> const& input, OutputOn<Sort, Exec, T> const& output) const {
      T* const keys = output.keys.data();
      std::copy_n(input.keys.data(), input.keys.extent(0), keys);
      std::sort(keys, keys + input.keys.extent(0));
    }
  };
};

}  // namespace

Peer std_sort() { return {"sort", {rows<Sort, Std>()}}; }

}  // namespace tessera::compare
