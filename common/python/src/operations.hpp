#pragma once
/// \file
/// What tessera.torch needs besides the public functions: operations on batches, and gradients.

#include <nanobind/nanobind.h>

namespace tessera::python {

/// Adds the functions `_cumulative_sum_rows` and so on to the module `_tessera`. They write results into arrays of the
/// caller.
void add_operations(nanobind::module_& m);

}  // namespace tessera::python
