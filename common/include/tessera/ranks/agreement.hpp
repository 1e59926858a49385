#pragma once
/// \file
/// What processes find out before they run something together: whether a launcher started several of them, and whether
/// all of them were asked for the same and found the same.

#include <string>
#include <vector>

#include <tessera/ranks/ranks.hpp>

namespace tessera::ranks {

/// What the environment says of the launcher that is nearest to this process. A process inherits the variables of all
/// launchers around it: `mpirun -n 1` in a step of Slurm shows both.
struct Launch {
  int count = 1;              ///< processes that it started
  std::string rank;           ///< which of them this one is; empty if the launcher does not say
  std::string variable = "";  ///< that says how many there are; empty: there is no launcher
};
[[nodiscard]] Launch launch();

/// True if this process may be one of several ranks that MPI would show. Starts no MPI. Always false in a build without MPI.
[[nodiscard]] bool may_be_one_of_several();

/// For a process that is to be alone: throws UserError if a launcher started several like it. Each of them says so, because
/// the variables may be left from a launcher that started another program. Starts no MPI.
void check_alone(std::string const& why, std::string const& what_to_do);

/// What must be the same on all ranks: "--samples", "20".
struct Fact {
  std::string what;
  std::string value;
};

/// Throws UserError, on all ranks, if a fact is not the same on all of them: it names the first such fact, and which ranks
/// have which value. A fact that a rank does not have is "none". Must be called by all ranks.
void check_same(Ranks const& ranks, std::vector<Fact> const& facts);

}  // namespace tessera::ranks
