#pragma once
/// \file
/// The chains of a case: where their chunks lie, their kernels as functors for graphs, and the time of each by itself.

#include <cstddef>
#include <cstdint>
#include <string>

#include "parts.hpp"
#include "problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::concurrent {

/// A chain's chunk of the array.
struct Chunk {
  std::size_t begin;
  std::size_t size;
};

/// Number, length and chunks of the chains.
struct Chains {
  std::size_t n;
  std::int64_t count;
  std::int64_t kernels;

  [[nodiscard]] Chunk chunk(std::int64_t chain) const {
    std::size_t const begin = chunk_begin(n, count, chain);
    return {begin, chunk_begin(n, count, chain + 1) - begin};
  }
};

/// Where the arrays of a call lie. A graph is built before its first call, so its kernels read this from memory.
template <class T>
struct Ends {
  T const* in;
  T* out;
};

/// Writes the Ends of a call.
template <class T>
struct SetEnds {
  Ends<T>* to;
  Ends<T> ends;
  KOKKOS_FUNCTION void operator()(std::size_t) const { *to = ends; }
};

/// One kernel of a chain.
template <class T>
struct ChainKernel {
  T const* from;        ///< null: the input of the call
  T* to;                ///< null: the output of the call
  Ends<T> const* ends;  ///< not read if both are given
  std::size_t begin;    ///< of the chunk
  Step step;

  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    T const* const source = from != nullptr ? from : ends->in;
    T* const target = to != nullptr ? to : ends->out;
    target[begin + i] = step(source[begin + i]);
  }
};

/// The base of all Plans: the chains, and the prediction of the time.
template <ExecutionSpace Exec, class T>
class OfChains {
 public:
  OfChains(Exec const& exec, InputOn<Concurrent, Exec, T> const& input)
      : exec_(exec), chains_{input.in.extent(0), input.parameters.chains, input.parameters.kernels} {}

  /// Times each chain by itself, on an array of its own, all of them within about 0.1 s. Waits.
  [[nodiscard]] Prediction prediction() const {
    Prediction result{.bytes = 2.0 * static_cast<double>(chains_.n * sizeof(T) * chains_.kernels),
                      .longest_seconds = 0,
                      .sum_seconds = 0};
    ArrayOn<T*, Exec> const array("tessera::concurrent::parts", chains_.n);
    for (std::int64_t chain = 0; chain < chains_.count; ++chain) {
      add_part(result, seconds_alone(exec_, chains_.count, [&] {
                 for (std::int64_t kernel = 0; kernel < chains_.kernels; ++kernel) {
                   Chunk const chunk = chains_.chunk(chain);
                   Kokkos::parallel_for(
                       "tessera::concurrent::parts::step", over(exec_, chunk.size),
                       ChainKernel<T>{array.data(), array.data(), nullptr, chunk.begin, step_of(chain, kernel)});
                 }
               }));
    }
    return result;
  }

 protected:
  [[nodiscard]] Chains const& chains() const { return chains_; }

 private:
  Exec exec_;
  Chains chains_;
};

/// Chains whose kernels are fixed before the first call: the first kernel of a chain reads the input of the call, the
/// last one writes its output, and those between work in memory of the Plan.
template <ExecutionSpace Exec, class T>
class FixedChains : public OfChains<Exec, T> {
 public:
  FixedChains(Exec const& exec, InputOn<Concurrent, Exec, T> const& input)
      : FixedChains::OfChains(exec, input),
        between_(unset("tessera::concurrent::between"), input.in.extent(0)),
        ends_("tessera::concurrent::ends") {}

 protected:
  [[nodiscard]] ChainKernel<T> kernel(std::int64_t chain, std::int64_t kernel) const {
    return {kernel == 0 ? nullptr : between_.data(), kernel == this->chains().kernels - 1 ? nullptr : between_.data(),
            ends_.data(), this->chains().chunk(chain).begin, step_of(chain, kernel)};
  }

  /// Tells the kernels where the arrays of this call lie. Enqueues one small kernel with this label.
  void set_ends(std::string const& label, Exec const& exec, T const* in, T* out) const {
    Kokkos::parallel_for(label, over(exec, 1), SetEnds<T>{ends_.data(), {in, out}});
  }

  /// Returns the memory between the kernels of the chains [n].
  [[nodiscard]] T* between() const { return between_.data(); }

 private:
  ArrayOn<T*, Exec> between_;
  Kokkos::View<Ends<T>, typename Exec::memory_space> ends_;
};

}  // namespace tessera::concurrent
