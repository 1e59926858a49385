#include "runtime.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

#include "kernels.hpp"

namespace tessera::python {

namespace {

std::mutex mutex;
std::atomic<pid_t> started_by = 0;  // 0: nobody
bool is_ours = false;               // whether this module has started Kokkos

}  // namespace

std::unique_lock<std::mutex> running() {
  // Before the lock: a forked process may have inherited it from a thread that it does not have.
  if (started_by != 0 && started_by != ::getpid()) {
    throw std::runtime_error(
        "this process was forked after Tessera had started Kokkos (its threads are not here); start workers with "
        "multiprocessing's method 'spawn', or call Tessera only in the workers");
  }
  std::unique_lock<std::mutex> lock(mutex);
  if (Kokkos::is_finalized()) {
    throw std::runtime_error("Kokkos has ended in this process (it cannot start again); call Tessera before that");
  }
  if (started_by == 0) {
    if (!Kokkos::is_initialized()) {
      Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
      is_ours = true;
    }
    started_by = ::getpid();
  }
  return lock;
}

std::vector<DType> built_dtypes() {
  std::vector<DType> dtypes;
  for_each_type(EnabledDTypes{}, [&]<class T>() { dtypes.push_back(dtype_of<T>); });
  return dtypes;
}

std::vector<std::string> built_devices() {
  std::vector<std::string> devices{"host"};
#if defined(KOKKOS_ENABLE_CUDA)
  devices.emplace_back("cuda");
#elif defined(KOKKOS_ENABLE_HIP)
  devices.emplace_back("hip");
#endif
  return devices;
}

void finish() {
  if (!is_ours || started_by != ::getpid()) return;
  std::scoped_lock const lock(mutex);
  if (!Kokkos::is_finalized()) Kokkos::finalize();
}

void refuse_memory(Array const& array) {
  std::string const space = array.memory == Memory::cuda ? "CUDA" : "HIP";
  throw std::invalid_argument(array.name + " is on " + place_of(array) + " (this build of Tessera has no " + space +
                              "); copy it to the host, or build Tessera with a Kokkos for " + space);
}

void refuse_device(Array const& array, int ours) {
  throw std::invalid_argument(array.name + " is on " + place_of(array) + " (Kokkos uses number " +
                              std::to_string(ours) + "); copy it there, or set KOKKOS_DEVICE_ID before the first call");
}

void refuse_dtype(Array const& array, std::string const& known) {
  std::string const has = numpy_name(array.dtype);
  if (known.empty()) {
    throw WrongType(array.name + " has dtype " + has +
                    " (this build has no dtype of this function); build with others " + "in TESSERA_DTYPES");
  }
  throw WrongType(array.name + " has dtype " + has + " (this function takes " + known + "); convert it first");
}

}  // namespace tessera::python
