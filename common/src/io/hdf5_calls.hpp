#pragma once
// What every source that calls HDF5 needs: its header, and its failures as exceptions.

// A parallel HDF5 includes MPI, of which the interface for C is enough. The names are those MPIs'.
// NOLINTBEGIN(readability-identifier-naming)
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#endif
// NOLINTEND(readability-identifier-naming)
#include <hdf5.h>

#include <string>

#include <tessera/io/hdf5.hpp>

namespace tessera::hdf5 {

/// HDF5's most specific reason for the last failure, or nothing.
[[nodiscard]] std::string reason();

/// Throws Error: `what`, and HDF5's reason.
[[noreturn]] void fail(std::string const& what);

/// HDF5 answers with a negative number when something failed.
template <class Result>
Result checked(Result result, std::string const& what) {
  if (result < 0) fail(what);
  return result;
}

inline Handle opened(hid_t id, std::string const& what) { return Handle(checked(id, what)); }

}  // namespace tessera::hdf5
