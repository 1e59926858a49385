/// \file
/// A merge sort whose passes read and write whole tiles: a binary search divides the merge of two runs among the teams,
/// and another one divides a team's tile among its lanes. The kernel is kernels/merge_sort.hpp.

#include "../problem.hpp"

#include <optional>

#include <tessera/kernels/merge_sort.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::sort {

struct MergePath {
  static constexpr VariantInfo info{.name = "merge_path",
                                    .level = Level::team,
                                    .summary = "merge sort: tiles in scratch, then passes divided by merge paths"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Sort, Exec, T> const& input) {
      auto const make = [&](auto& sort) {
        sort.emplace(exec, input.keys.extent(0), input.has_values(), input.parameters.tile, input.parameters.team,
                     "tessera::sort::merge_path");
      };
      if (input.other_values.extent(0) > 0) {
        make(other_sort_);
      } else {
        make(sort_);
      }
    }

    void operator()(Exec const& exec, InputOn<Sort, Exec, T> const& in, OutputOn<Sort, Exec, T> const& out) const {
      auto const order = in.parameters.template order<T>();
      if (other_sort_) {
        (*other_sort_)(exec, order, in.keys, in.other_values, out.keys, out.other_values);
      } else {
        (*sort_)(exec, order, in.keys, in.values, out.keys, out.values);
      }
    }

   private:
    std::optional<kernels::MergeSort<Exec, T, ValueOf<T>>> sort_;
    std::optional<kernels::MergeSort<Exec, T, OtherValueOf<T>>> other_sort_;
  };
};

VariantRows merge_path() { return rows<Sort, MergePath>(); }

}  // namespace tessera::sort
