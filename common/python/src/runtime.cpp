#include "runtime.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

#include "kernels.hpp"

namespace tessera::python {

namespace {

#if defined(KOKKOS_ENABLE_CUDA)
namespace gpu {
using Event = cudaEvent_t;
using Stream = cudaStream_t;
constexpr auto ok = cudaSuccess;
constexpr auto not_ready = cudaErrorNotReady;
constexpr auto untimed = cudaEventDisableTiming;
constexpr auto& get_device = cudaGetDevice;
constexpr auto& set_device = cudaSetDevice;
constexpr auto& create_event = cudaEventCreateWithFlags;
constexpr auto& record_event = cudaEventRecord;
constexpr auto& query_event = cudaEventQuery;
constexpr auto& destroy_event = cudaEventDestroy;
constexpr auto& wait_for = cudaStreamSynchronize;
using Attributes = cudaPointerAttributes;
constexpr auto& attributes_of = cudaPointerGetAttributes;
}  // namespace gpu
#elif defined(KOKKOS_ENABLE_HIP)
namespace gpu {
using Event = hipEvent_t;
using Stream = hipStream_t;
constexpr auto ok = hipSuccess;
constexpr auto not_ready = hipErrorNotReady;
constexpr auto untimed = hipEventDisableTiming;
constexpr auto& get_device = hipGetDevice;
constexpr auto& set_device = hipSetDevice;
constexpr auto& create_event = hipEventCreateWithFlags;
constexpr auto& record_event = hipEventRecord;
constexpr auto& query_event = hipEventQuery;
constexpr auto& destroy_event = hipEventDestroy;
constexpr auto& wait_for = hipStreamSynchronize;
using Attributes = hipPointerAttribute_t;
constexpr auto& attributes_of = hipPointerGetAttributes;
}  // namespace gpu
#endif

std::mutex mutex;
std::atomic<pid_t> started_by = 0;  // 0: nobody
bool is_ours = false;               // whether this module has started Kokkos

}  // namespace

std::unique_lock<std::mutex> at_rest() {
  // Before the lock: a forked process may have inherited it from a thread that it does not have.
  if (started_by != 0 && started_by != ::getpid()) {
    throw std::runtime_error(
        "this process was forked after Tessera had started Kokkos (its threads are not here); start workers with "
        "multiprocessing's method 'spawn', or call Tessera only in the workers");
  }
  return std::unique_lock<std::mutex>(mutex);
}

std::unique_lock<std::mutex> running() {
  std::unique_lock<std::mutex> lock = at_rest();
  if (Kokkos::is_finalized()) {
    throw std::runtime_error("Kokkos has ended in this process (it cannot start again); call Tessera before that");
  }
  if (started_by == 0) {
    if (!Kokkos::is_initialized()) {
      Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
      is_ours = true;
    }
    Kokkos::push_finalize_hook(&forget_all);  // also if others end it
    started_by = ::getpid();
  }
  return lock;
}

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
namespace {

void require(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(std::string("the GPU's runtime refuses ") + what + "; see its messages");
}

}  // namespace

CallersDevice::CallersDevice() { require(gpu::get_device(&device_) == gpu::ok, "the current device"); }
CallersDevice::~CallersDevice() { (void)gpu::set_device(device_); }

Mark mark_of(Array const& array) {
  CallersDevice const callers;
  require(gpu::set_device(array.device) == gpu::ok, "the array's device");
  gpu::Event event = nullptr;
  require(gpu::create_event(&event, gpu::untimed) == gpu::ok, "an event");
  Mark mark(event, [](void const* one) { (void)gpu::destroy_event(static_cast<gpu::Event>(const_cast<void*>(one))); });
  require(gpu::record_event(event, reinterpret_cast<gpu::Stream>(array.stream.value())) == gpu::ok, "the stream");
  return mark;
}

void wait_for(std::uintptr_t stream) {
  require(gpu::wait_for(reinterpret_cast<gpu::Stream>(stream)) == gpu::ok, "the stream");
}

int device_of(void const* address) {
  gpu::Attributes attributes{};
  if (gpu::attributes_of(&attributes, address) != gpu::ok) return 0;
  return attributes.device;
}

bool is_reached(Mark const& mark) {
  return gpu::query_event(static_cast<gpu::Event>(const_cast<void*>(mark.get()))) != gpu::not_ready;
}
#else
CallersDevice::CallersDevice() = default;
CallersDevice::~CallersDevice() = default;
// Arrays on a host have no stream.
Mark mark_of(Array const&) { return nullptr; }
void wait_for(std::uintptr_t) {}
int device_of(void const*) { return 0; }
bool is_reached(Mark const&) { return true; }
#endif

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

void require_space(Array const& array) {
#if defined(KOKKOS_ENABLE_CUDA)
  constexpr Memory ours = Memory::cuda;
#elif defined(KOKKOS_ENABLE_HIP)
  constexpr Memory ours = Memory::hip;
#else
  constexpr Memory ours = Memory::host;
#endif
  if (array.memory == Memory::host || array.memory == ours) return;
  std::string const space = array.memory == Memory::cuda ? "CUDA" : "HIP";
  throw std::invalid_argument(array.name + " is on " + place_of(array) + " (this build of Tessera has no " + space +
                              "); copy it to the host, or build Tessera with a Kokkos for " + space);
}

void require_our_device(Array const& array) {
  int const ours = Kokkos::device_id();
  if (array.memory == Memory::host || array.device == ours) return;
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
