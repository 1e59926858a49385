#include <string>

#include <tessera/core/types.hpp>
#include <tessera/ranks/session.hpp>

#ifdef TESSERA_HAVE_MPI
#include <mpi.h>
#endif

namespace tessera::ranks {

#ifdef TESSERA_HAVE_MPI

Session::Session(int& argc, char**& argv) {
  MPI_Init(&argc, &argv);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) {
    MPI_Finalize();  // the destructor will not run
    throw UserError("started on " + std::to_string(ranks) + " ranks (this version runs on one); start one process");
  }
}

Session::~Session() { MPI_Finalize(); }

#else

Session::Session(int&, char**&) {}
Session::~Session() = default;

#endif

}  // namespace tessera::ranks
