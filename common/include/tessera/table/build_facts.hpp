#pragma once
/// \file
/// Describes how this library was built. Defined in a file that CMake writes.

namespace tessera::build {

extern char const* const version;
extern char const* const git_commit;  ///< "unknown" outside a git checkout; ends in "-dirty" if files were changed
extern char const* const type;        ///< "Release", "Debug", ...
extern char const* const compiler;
extern char const* const flags;

}  // namespace tessera::build
