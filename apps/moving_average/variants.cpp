/// \file
/// The table of moving_average's variants, in the order that --list shows.

#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::moving_average {

VariantRows direct();
VariantRows scratch();
VariantRows lane_shift();
VariantRows distributed();

App app() { return make_app<MovingAverage>({direct(), scratch(), lane_shift(), distributed()}); }

}  // namespace tessera::moving_average
