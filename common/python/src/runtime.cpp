#include "runtime.hpp"

#include <pthread.h>

#include <atomic>
#include <map>
#include <optional>
#include <stdexcept>
#include <vector>

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
constexpr std::uintptr_t default_stream = 1;  // cudaStreamLegacy
constexpr auto& get_device = cudaGetDevice;
constexpr auto& set_device = cudaSetDevice;
constexpr auto& clear_error = cudaGetLastError;
constexpr auto& record_event = cudaEventRecord;
constexpr auto& query_event = cudaEventQuery;
constexpr auto& wait_for_event = cudaEventSynchronize;
constexpr auto& wait_for_stream = cudaStreamSynchronize;
constexpr auto& wait_for_device = cudaDeviceSynchronize;
using CaptureStatus = cudaStreamCaptureStatus;
constexpr auto no_capture = cudaStreamCaptureStatusNone;
constexpr auto captured_by_another = cudaErrorStreamCaptureImplicit;  // the default stream, while another one captures
constexpr auto& is_capturing = cudaStreamIsCapturing;
[[nodiscard]] inline auto create_event(Event* event) { return cudaEventCreateWithFlags(event, untimed); }
[[nodiscard]] inline auto let_wait(Stream stream, Event event) { return cudaStreamWaitEvent(stream, event, 0); }
}  // namespace gpu
#elif defined(KOKKOS_ENABLE_HIP)
namespace gpu {
using Event = hipEvent_t;
using Stream = hipStream_t;
constexpr auto ok = hipSuccess;
constexpr auto not_ready = hipErrorNotReady;
constexpr auto untimed = hipEventDisableTiming;
constexpr std::uintptr_t default_stream = 0;
constexpr auto& get_device = hipGetDevice;
constexpr auto& set_device = hipSetDevice;
constexpr auto& clear_error = hipGetLastError;
constexpr auto& record_event = hipEventRecord;
constexpr auto& query_event = hipEventQuery;
constexpr auto& wait_for_event = hipEventSynchronize;
constexpr auto& wait_for_stream = hipStreamSynchronize;
constexpr auto& wait_for_device = hipDeviceSynchronize;
using CaptureStatus = hipStreamCaptureStatus;
constexpr auto no_capture = hipStreamCaptureStatusNone;
constexpr auto captured_by_another = hipErrorStreamCaptureImplicit;
constexpr auto& is_capturing = hipStreamIsCapturing;
[[nodiscard]] inline auto create_event(Event* event) { return hipEventCreateWithFlags(event, untimed); }
[[nodiscard]] inline auto let_wait(Stream stream, Event event) { return hipStreamWaitEvent(stream, event, 0); }
}  // namespace gpu
#endif

std::mutex mutex;
bool is_started = false;
bool is_ours = false;                 // whether this module has started Kokkos
std::atomic<bool> is_forked = false;  // whether this process was forked after that

}  // namespace

void require_own_process() {
  if (!is_forked) return;
  throw std::runtime_error(
      "this process was forked after Tessera had started Kokkos (its threads are not here); start workers with "
      "multiprocessing's method 'spawn', or call Tessera only in the workers");
}

std::unique_lock<std::mutex> at_rest() {
  // Before the lock: a forked process may have inherited it from a thread that it does not have.
  require_own_process();
  return std::unique_lock<std::mutex>(mutex);
}

std::unique_lock<std::mutex> running() {
  std::unique_lock<std::mutex> lock = at_rest();
  if (Kokkos::is_finalized()) {
    throw std::runtime_error("Kokkos has ended in this process (it cannot start again); call Tessera before that");
  }
  if (!is_started) {
    if (!Kokkos::is_initialized()) {
      Kokkos::initialize(Kokkos::InitializationSettings().set_disable_warnings(true));
      is_ours = true;
    }
    Kokkos::push_finalize_hook(&forget_all);  // also if others end it
    (void)pthread_atfork(nullptr, nullptr, [] { is_forked = true; });
    is_started = true;
  }
  return lock;
}

#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
namespace {

void require(bool holds, char const* what) {
  if (holds) return;
  (void)gpu::clear_error();  // otherwise the caller's library would find it at its next launch
  throw std::runtime_error(std::string("the GPU's runtime refuses ") + what + "; see its messages");
}

}  // namespace

CallersDevice::CallersDevice() { require(gpu::get_device(&device_) == gpu::ok, "the current device"); }
CallersDevice::~CallersDevice() {
  int now = device_;
  if (gpu::get_device(&now) != gpu::ok || now != device_) (void)gpu::set_device(device_);
}
void CallersDevice::enter(int device) {
  thread_local int entered = -1;  // to set the device gives a new thread its context
  if (device == device_ && device == entered) return;
  require(gpu::set_device(device) == gpu::ok, "the array's device");
  entered = device;
}

std::uintptr_t default_stream() { return gpu::default_stream; }

std::uint64_t number_of_stream(std::uintptr_t stream) {
#if defined(CUDART_VERSION) && CUDART_VERSION >= 12000
  unsigned long long number = 0;
  require(cudaStreamGetId(reinterpret_cast<cudaStream_t>(stream), &number) == cudaSuccess, "the stream");
  return number;
#else
  return stream;
#endif
}

namespace {

/// CUDA's names for the default stream of the current device, as itself and for each thread.
[[nodiscard]] bool is_default(std::uintptr_t stream) { return stream <= 2; }

/// An event behind all that was enqueued on a stream of a device. Events are used again: to create and to destroy one
/// takes longer than to record it.
[[nodiscard]] Mark mark_on(std::uintptr_t stream, int device) {
  static auto& unused = *new std::map<int, std::vector<gpu::Event>>;  // a process may end without Kokkos
  std::vector<gpu::Event>& events = unused[device];
  std::optional<CallersDevice> callers;
  if (events.empty() || is_default(stream)) callers.emplace().enter(device);
  gpu::Event event = nullptr;
  if (events.empty()) {
    require(gpu::create_event(&event) == gpu::ok, "an event");
  } else {
    event = events.back();
    events.pop_back();
  }
  Mark mark(event, [&events](void* one) { events.push_back(static_cast<gpu::Event>(one)); });
  require(gpu::record_event(event, reinterpret_cast<gpu::Stream>(stream)) == gpu::ok, "the stream");
  return mark;
}

}  // namespace

Mark mark_of(Array const& array) { return mark_on(array.stream.value().address, array.device); }

void require_no_capture(std::uintptr_t address) {
  auto const stream = reinterpret_cast<gpu::Stream>(address);
  gpu::CaptureStatus status = gpu::no_capture;
  auto const answer = gpu::is_capturing(stream, &status);
  if (answer == gpu::ok && status == gpu::no_capture) return;
  if (answer != gpu::ok) (void)gpu::clear_error();
  if (answer != gpu::ok && answer != gpu::captured_by_another) {
    throw std::invalid_argument("stream is " + std::to_string(address) +
                                " (the GPU's runtime knows no such stream); give one that exists");
  }
  throw std::invalid_argument(
      "stream captures a graph (a call asks for events and may allocate, which a graph cannot hold); call it outside "
      "of the capture");
}

void order_behind(std::uintptr_t stream, std::uintptr_t other, int device) {
  auto const named = [](std::uintptr_t one) { return one == 0 ? gpu::default_stream : one; };
  if (named(stream) == named(other)) return;
  CallersDevice callers;
  callers.enter(device);  // whose default stream is meant
  require_no_capture(stream);
  require_no_capture(other);
  Mark const mark = mark_on(other, device);
  require(gpu::let_wait(reinterpret_cast<gpu::Stream>(stream), static_cast<gpu::Event>(mark.get())) == gpu::ok,
          "the stream");
}

void wait_for_stream_of(Array const& array) {
  if (array.memory == Memory::host) return;
  CallersDevice callers;
  callers.enter(array.device);
  auto const stream =
      reinterpret_cast<gpu::Stream>(array.stream ? array.stream->address : std::uintptr_t{gpu::default_stream});
  require(gpu::wait_for_stream(stream) == gpu::ok, "the stream");
}

bool is_reached(Mark const& mark) {
  auto const state = gpu::query_event(static_cast<gpu::Event>(mark.get()));
  if (state == gpu::not_ready) (void)gpu::clear_error();  // the next launch would find it, and take it for its own
  return state != gpu::not_ready;
}

void wait_for(Mark const& mark, int device) {
  if (mark) {
    (void)gpu::wait_for_event(static_cast<gpu::Event>(mark.get()));
    return;
  }
  CallersDevice callers;
  callers.enter(device);
  (void)gpu::wait_for_device();
}
#else
CallersDevice::CallersDevice() = default;
CallersDevice::~CallersDevice() = default;
// Arrays on a host have no stream.
void CallersDevice::enter(int) {}
std::uintptr_t default_stream() { return 0; }
std::uint64_t number_of_stream(std::uintptr_t) { return 0; }
void order_behind(std::uintptr_t, std::uintptr_t, int) {}
void wait_for_stream_of(Array const&) {}
void require_no_capture(std::uintptr_t) {}
Mark mark_of(Array const&) { return nullptr; }
bool is_reached(Mark const&) { return true; }
void wait_for(Mark const&, int) {}
#endif

double LaunchClock::take() {
  std::chrono::duration<double> const seconds = total_;
  total_ = {};
  return seconds.count();
}

double seconds_in_launches() {
  std::unique_lock<std::mutex> const lock = at_rest();
  return LaunchClock::take();
}

void find_device([[maybe_unused]] Array& array) {
#if defined(KOKKOS_ENABLE_CUDA)
  cudaPointerAttributes attributes{};
  bool const is_known = cudaPointerGetAttributes(&attributes, array.data) == cudaSuccess;
  if (!is_known) (void)cudaGetLastError();
  if (is_known && (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged)) {
    array.device = attributes.device;
  } else if (array.count() == 0) {
    require(cudaGetDevice(&array.device) == cudaSuccess, "the current device");
  } else {
    throw std::invalid_argument(array.name +
                                " is in no GPU's memory (its __cuda_array_interface__ says that it is); "
                                "give a valid array");
  }
#endif
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
  if (!is_ours || is_forked) return;
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

void require_device_of_stream(Array const& array, int device) {
  if (device == array.device) return;
  throw std::invalid_argument("stream is on GPU " + std::to_string(device) + " (" + array.name + " is on " +
                              place_of(array) + "); give a stream of the same GPU");
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
