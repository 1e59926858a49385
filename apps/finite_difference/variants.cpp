/// \file
/// The table of finite_difference's variants, in the order that --list shows.

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::finite_difference {

VariantRows direct();
VariantRows scratch();
VariantRows lane_shift();
VariantRows distributed();

App app() { return make_app<FiniteDifference>({direct(), scratch(), lane_shift(), distributed()}); }

}  // namespace tessera::finite_difference
