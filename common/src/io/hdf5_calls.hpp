#pragma once
// For all sources that call HDF5: its header, and its failures as exceptions.

// A parallel HDF5 includes MPI; its C interface is enough. The macro names are from the MPI libraries.
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

/// Returns HDF5's most specific reason for the last failure, or an empty text.
[[nodiscard]] std::string reason();

/// Throws Error with `what` and HDF5's reason.
[[noreturn]] void fail(std::string const& what);

/// HDF5 returns a negative number if a call failed.
template <class Result>
Result checked(Result result, std::string const& what) {
  if (result < 0) fail(what);
  return result;
}

/// Returns the text from `get(buffer, size)`, an HDF5 function that returns the length.
template <class Get>
std::string text_of(std::string const& what, Get const& get) {
  std::string text(static_cast<std::size_t>(checked(get(nullptr, std::size_t{0}), what)), '\0');
  checked(get(text.data(), text.size() + 1), what);
  return text;
}

inline Handle opened(hid_t id, std::string const& what) { return Handle(checked(id, what)); }

}  // namespace tessera::hdf5
