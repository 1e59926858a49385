#include "all_apps.hpp"

#include <tessera/core/host_threads.hpp>
#include <tessera/study/run_suite.hpp>

namespace {

// The loader calls this function before the constructors of libraries. OpenMP's constructor binds this thread to one
// processor if OMP_PROC_BIND is set, and the launches of a study would inherit the binding.
void note_processors() { (void)tessera::host_processors(); }

__attribute__((section(".preinit_array"), used)) void (*first_of_all)() = note_processors;

}  // namespace

int main(int argc, char** argv) { return tessera::run_suite(tessera::all_apps(), argc, argv); }
