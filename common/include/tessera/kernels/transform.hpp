#pragma once
/// \file
/// An element-wise function of one or several arrays, in one launch. Each index handles 16 bytes of each array, the
/// widest access of a GPU thread. The remainder, and arrays that are not aligned to 16 bytes, are accessed element by
/// element. Reads every array once and writes one.
///
/// Example, f = a + b, packs of 4: (1 2 3 4 | 5) + (10 20 30 40 | 50) -> 11 22 33 44 | 55, with two indices.
///
/// Use:  transform(exec, in, out, f);  transform(exec, a, b, out, f);
/// or, enqueued many times:  Transform<Exec, float, F> add(f);  add(exec, a, b, out);

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <utility>

#include <tessera/collective/pack.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/kernels/detail/launch/for_each_pack.hpp>
#include <tessera/kernels/detail/launch/views.hpp>

namespace tessera::kernels {

/// Elements per index of Transform.
template <ExecutionSpace Exec, class T>
struct TransformTuning {
  static constexpr int pack = collective::pack_width<T>;  ///< elements: 16 bytes, the widest access
};

namespace detail {

template <class T, std::size_t Arrays, class Function>
struct TransformPack {
  T const* in[Arrays];
  T* out;
  Function f;

  template <int N>
  KOKKOS_FUNCTION void operator()(Width<N>, std::size_t begin) const {
    apply<N>(begin, std::make_index_sequence<Arrays>{});
  }

 private:
  template <int N, std::size_t... Array>
  KOKKOS_FUNCTION void apply(std::size_t begin, std::index_sequence<Array...>) const {
    collective::Pack<T, N> const values[] = {collective::pack_at<N>(in[Array] + begin)...};
    collective::Pack<T, N> result;
    for (int e = 0; e < N; ++e) result[e] = f(values[Array][e]...);
    collective::pack_at<N>(out + begin) = result;
  }
};

/// Returns the elements of an array of any rank. They must have the same order in memory as the elements of `out`,
/// without gaps.
template <class In, class Out>
[[nodiscard]] typename In::value_type* elements_beside(In const& in, Out const& out) {
  for (std::size_t r = 0; r < In::rank(); ++r) {
    if (in.extent(r) != out.extent(r)) {
      refuse(in.label(), "has other extents than '" + out.label() + "'", "this kernel goes element by element",
             "give both the same shape");
    }
    if (in.extent(r) > 1 && in.size() > 0 && in.stride(r) != out.stride(r)) {
      refuse(in.label(), "has other strides than '" + out.label() + "'", "this kernel goes through memory in order",
             "give both the same layout");
    }
  }
  if (!in.span_is_contiguous()) {
    refuse(in.label(), "has gaps between its elements", "this kernel goes through memory in order", "copy it first");
  }
  return in.data();
}

}  // namespace detail

/// out[i] = f(a[i], b[i], ...) for arrays of the same shape, any rank and any layout without gaps.
///
/// `Function` is a function object for device code, `T operator()(T const&...) const`, with one argument per array. An
/// input may be the output; otherwise they must not overlap. Calls share no memory and may run concurrently.
template <ExecutionSpace Exec, class T, class Function, class Tuning = TransformTuning<Exec, T>>
class Transform {
 public:
  /// \param label kernel name that Kokkos Tools reports
  explicit Transform(Function const& f = {}, std::string label = "tessera::transform")
      : f_(f), label_(std::move(label)) {}

  /// Enqueues out = f(in). Throws std::invalid_argument if the arrays differ in shape or layout, or have gaps.
  template <class In, class Out>
    requires Readable<In, Exec, T, Out::rank()> && Writable<Out, Exec, T, Out::rank()>
  void operator()(Exec const& exec, In const& in, Out const& out) const {
    enqueue(exec, out, detail::elements_beside(in, out));
  }

  /// Enqueues out = f(a, b).
  template <class A, class B, class Out>
    requires Readable<A, Exec, T, Out::rank()> && Readable<B, Exec, T, Out::rank()> &&
             Writable<Out, Exec, T, Out::rank()>
  void operator()(Exec const& exec, A const& a, B const& b, Out const& out) const {
    enqueue(exec, out, detail::elements_beside(a, out), detail::elements_beside(b, out));
  }

 private:
  template <class Out, class... In>
  void enqueue(Exec const& exec, Out const& out, In const*... in) const {
    constexpr int pack = Tuning::pack;
    T* const to = detail::elements_beside(out, out);
    for_each_pack<pack>(label_, exec, out.size(), collective::is_aligned_for_packs<pack>(to, in...),
                        detail::TransformPack<T, sizeof...(In), Function>{.in = {in...}, .out = to, .f = f_});
  }

  Function f_;
  std::string label_;
};

/// out[i] = f(in[i]). Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class In, class Out, class Function>
void transform(Exec const& exec, In const& in, Out const& out, Function const& f) {
  Transform<Exec, typename Out::non_const_value_type, Function> const kernel(f);
  kernel(exec, in, out);
  exec.fence("tessera: transform");
}

/// out[i] = f(a[i], b[i]). Convenience for a single call: enqueues and waits.
template <ExecutionSpace Exec, class A, class B, class Out, class Function>
void transform(Exec const& exec, A const& a, B const& b, Out const& out, Function const& f) {
  Transform<Exec, typename Out::non_const_value_type, Function> const kernel(f);
  kernel(exec, a, b, out);
  exec.fence("tessera: transform");
}

}  // namespace tessera::kernels
