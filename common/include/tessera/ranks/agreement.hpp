#pragma once
/// \file
/// Checks before processes run something together: whether a launcher started several of them, and whether all have the
/// same options and the same inputs.

#include <string>
#include <vector>

#include <tessera/ranks/ranks.hpp>

namespace tessera::ranks {

/// What the environment says about the launcher that is nearest to this process. A process inherits the variables of
/// all launchers around it: `mpirun -n 1` in a step of Slurm shows both.
struct Launch {
  int count = 1;              ///< number of processes that it started
  std::string rank;           ///< rank of this process; empty if the launcher does not say
  std::string variable = "";  ///< the variable that contains the count; empty: there is no launcher
};
[[nodiscard]] Launch launch();

/// True if this process may be one of several MPI ranks. Does not start MPI. Always false in a build without MPI.
[[nodiscard]] bool may_be_one_of_several();

/// For a process that must run alone: throws UserError if a launcher started several processes. Every process throws,
/// because the variables may come from the launcher of another program. Does not start MPI.
void check_alone(std::string const& why, std::string const& what_to_do);

/// During its lifetime world() is one rank, without MPI: for a process that runs alone. If MPI has started in it, it
/// cannot start ranks: mpirun of Open MPI 4.1 then ends at once, with exit code 1 and no output.
class Alone {
 public:
  Alone();
  ~Alone();  // NOLINT(performance-trivially-destructible): with MPI it is not
  Alone(Alone const&) = delete;
  Alone& operator=(Alone const&) = delete;
};

/// A value that must be the same on all ranks: "--samples", "20".
struct Fact {
  std::string what;
  std::string value;
};

/// Throws UserError on all ranks if a fact differs between ranks. The message names the first such fact, and which
/// ranks have which value. A fact that a rank lacks has the value "none". Must be called by all ranks.
void check_same(Ranks const& ranks, std::vector<Fact> const& facts);

}  // namespace tessera::ranks
