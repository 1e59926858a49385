// A tool for Kokkos' profiling interface that writes one line per callback to the file $TESSERA_PROFILE_LOG:
//   push NAME | pop | for NAME | reduce NAME | scan NAME
// KOKKOS_TOOLS_LIBS names the library.

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::FILE* log_file = nullptr;

void write(char const* what, char const* name) {
  if (log_file != nullptr) (void)std::fprintf(log_file, "%s %s\n", what, name);
}

}  // namespace

extern "C" {

void kokkosp_init_library(int, std::uint64_t, std::uint32_t, void*) {
  char const* const path = std::getenv("TESSERA_PROFILE_LOG");  // NOLINT(concurrency-mt-unsafe)
  if (path != nullptr) log_file = std::fopen(path, "w");
}
void kokkosp_finalize_library() {
  if (log_file != nullptr) (void)std::fclose(log_file);
  log_file = nullptr;
}
void kokkosp_push_profile_region(char const* name) { write("push", name); }
void kokkosp_pop_profile_region() { write("pop", ""); }
void kokkosp_begin_parallel_for(char const* name, std::uint32_t, std::uint64_t* id) {
  *id = 0;
  write("for", name);
}
void kokkosp_end_parallel_for(std::uint64_t) {}
void kokkosp_begin_parallel_reduce(char const* name, std::uint32_t, std::uint64_t* id) {
  *id = 0;
  write("reduce", name);
}
void kokkosp_end_parallel_reduce(std::uint64_t) {}
void kokkosp_begin_parallel_scan(char const* name, std::uint32_t, std::uint64_t* id) {
  *id = 0;
  write("scan", name);
}
void kokkosp_end_parallel_scan(std::uint64_t) {}
}
