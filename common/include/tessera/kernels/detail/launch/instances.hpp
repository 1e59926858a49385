#pragma once
/// \file
/// Execution space instances that work side by side, and their order without a host that waits. On a GPU an instance is
/// a stream, and an event makes one stream wait for another. On hosts a launch returns when its kernel has ended, so
/// there is nothing to wait for.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tessera/core/spaces.hpp>

namespace tessera::kernels {

/// A point in an instance's work that other instances can wait for. Calls only enqueue. An Event may be recorded again.
template <ExecutionSpace Exec>
class Event {
  static_assert(!is_gpu<Exec>, "Tessera: an instance of this space needs an event of its library");

 public:
  /// Marks the work that `earlier` has so far.
  void record(Exec const&) const {}
  /// Work that `later` gets from now on waits for the marked work.
  void hold(Exec const&) const {}
};

#ifdef KOKKOS_ENABLE_CUDA
/// Throws std::runtime_error, naming the call, if a CUDA call failed.
inline void check_cuda(cudaError_t error, char const* call) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();  // otherwise the next call that asks for it, of anybody, would find it
  throw std::runtime_error(std::string(call) + " failed (" + cudaGetErrorString(error) + "); see the CUDA log");
}

template <>
class Event<Kokkos::Cuda> {
 public:
  Event() {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    event_.reset(event);
  }
  void record(Kokkos::Cuda const& earlier) const {
    check_cuda(cudaEventRecord(event_.get(), earlier.cuda_stream()), "cudaEventRecord");
  }
  void hold(Kokkos::Cuda const& later) const {
    check_cuda(cudaStreamWaitEvent(later.cuda_stream(), event_.get(), 0), "cudaStreamWaitEvent");
  }

 private:
  struct Destroy {
    using pointer = cudaEvent_t;
    void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
  };
  std::unique_ptr<cudaEvent_t, Destroy> event_;
};
#endif

#ifdef KOKKOS_ENABLE_HIP
/// Throws std::runtime_error, naming the call, if a HIP call failed.
inline void check_hip(hipError_t error, char const* call) {
  if (error == hipSuccess) return;
  throw std::runtime_error(std::string(call) + " failed (" + hipGetErrorString(error) + "); see the HIP log");
}

template <>
class Event<Kokkos::HIP> {
 public:
  Event() {
    hipEvent_t event = nullptr;
    check_hip(hipEventCreateWithFlags(&event, hipEventDisableTiming), "hipEventCreate");
    event_.reset(event);
  }
  void record(Kokkos::HIP const& earlier) const {
    check_hip(hipEventRecord(event_.get(), earlier.hip_stream()), "hipEventRecord");
  }
  void hold(Kokkos::HIP const& later) const {
    check_hip(hipStreamWaitEvent(later.hip_stream(), event_.get(), 0), "hipStreamWaitEvent");
  }

 private:
  struct Destroy {
    using pointer = hipEvent_t;
    void operator()(hipEvent_t event) const { (void)hipEventDestroy(event); }
  };
  std::unique_ptr<hipEvent_t, Destroy> event_;
};
#endif

/// Instances from Kokkos::Experimental::partition_space: streams on a GPU. OpenMP with nested parallelism divides its
/// threads, if there is one for each instance; other hosts share them. The constructor allocates; the calls only
/// enqueue.
///
/// Example: fork(exec); a kernel on each [i]; join(exec); a kernel on exec that reads their results.
template <ExecutionSpace Exec>
class Instances {
 public:
  Instances(Exec const& exec, std::size_t count) : parts_(parts_of(exec, count)), done_(count) {}

  [[nodiscard]] std::size_t size() const { return parts_.size(); }
  [[nodiscard]] Exec const& operator[](std::size_t i) const { return parts_[i]; }

  /// Later work of the instances waits for the work that `exec` has so far.
  void fork(Exec const& exec) const {
    start_.record(exec);
    for (Exec const& part : parts_) start_.hold(part);
  }
  /// Later work of `exec` waits for the work that the instances have so far.
  void join(Exec const& exec) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      done_[i].record(parts_[i]);
      done_[i].hold(exec);
    }
  }

 private:
  // Kokkos 4 aborts if the share of an instance of OpenMP is less than one thread, which it computes as here.
  static std::vector<Exec> parts_of(Exec const& exec, std::size_t count) {
    if constexpr (!is_gpu<Exec>) {
      double const threads = 1.0 / static_cast<double>(count) * exec.concurrency();
      if (threads < 1) return std::vector<Exec>(count, exec);
    }
    return Kokkos::Experimental::partition_space(exec, std::vector<int>(count, 1));
  }

  std::vector<Exec> parts_;
  Event<Exec> start_;
  std::vector<Event<Exec>> done_;
};

}  // namespace tessera::kernels
