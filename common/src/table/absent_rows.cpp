#include <type_traits>

#include <tessera/core/config.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera {

VariantRows absent_rows(VariantInfo const& info, bool integers, bool short_floats,
                        std::unique_ptr<RowRun> (*start)(Case&)) {
  VariantRows result{.info = info, .rows = {}};
  for (std::string const& space : enabled_spaces()) {
    if (!is_chosen_space(space)) continue;
    for_each_type(EnabledDTypes{}, [&]<class T>() {
      if ((std::is_integral_v<T> && !integers) || (ShortFloat<T> && !short_floats)) return;
      result.rows.push_back({.info = info, .space = space, .dtype = dtype_of<T>, .start = start});
    });
  }
  return result;
}

}  // namespace tessera
