#pragma once
/// \file
/// The ranks of a run. In a build without MPI there is one.

namespace tessera::ranks {

/// MPI from construction to destruction. A case is not spread over ranks yet: more than one rank would be as many
/// copies of the same run. So that is the user's mistake, said before anything runs.
class Session {
 public:
  /// Throws UserError if the program was started on more than one rank.
  Session(int& argc, char**& argv);
  // With MPI it has something to do.
  ~Session();  // NOLINT(performance-trivially-destructible)
  Session(Session const&) = delete;
  Session& operator=(Session const&) = delete;
};

}  // namespace tessera::ranks
