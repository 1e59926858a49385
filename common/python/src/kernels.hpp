#pragma once
/// \file
/// The kernels that Python calls, each compiled in its own file of kernels/. Arrays have been checked: extents fit, all
/// are in the memory of one device, and results overlap no input unless the kernel works in place.
///
/// Each function starts Kokkos if need be. It returns when the results are there; if the first array has a stream, it
/// enqueues there and returns. Calls from several threads run one after the other. Throws WrongType if the kernel or
/// this build does not have the dtype, std::invalid_argument if it does not have the device, and Skip if the kernel
/// cannot run the size.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "array.hpp"

namespace tessera::python {

/// out[i] = x[0] + ... + x[i]; may work in place.
void cumulative_sum(Array const& x, Array const& out);
/// out = the sum of all elements.
void sum(Array const& x, Array const& out);
/// out[r] = the sum of row r of x [rows, cols].
void sum_rows(Array const& x, Array const& out);
/// out[c] = the sum of column c of x [rows, cols].
void sum_columns(Array const& x, Array const& out);
/// out = a[0] * b[0] + a[1] * b[1] + ...
void vecdot(Array const& a, Array const& b, Array const& out);
/// out [m, n] = a [m, k] b [k, n]
void matmul(Array const& a, Array const& b, Array const& out);
/// out [cols, rows] = the transpose of x [rows, cols]
void matrix_transpose(Array const& x, Array const& out);
/// The softmax of each row; may work in place.
void softmax_rows(Array const& x, Array const& out);
/// The softmax of each column; may work in place.
void softmax_columns(Array const& x, Array const& out);
/// The layer normalisation of each row; may work in place.
void layer_norm(Array const& x, Array const& weight, Array const& bias, double eps, Array const& out);
/// counts [bins] of the equal bins over [lo, hi), and the number of elements in no bin; both int64.
void histogram(Array const& x, double lo, double hi, Array const& counts, Array const& outside);
/// x in order, NaN last.
void sort(Array const& x, bool descending, Array const& out);
/// The places of x in order, int64; equal elements in the order of their places.
void argsort(Array const& x, bool descending, Array const& out);
/// The k largest of each row of x [rows, n], largest first, and their places in the row, int64; of equal ones the first
/// places. k is the last extent of the results.
void topk(Array const& x, Array const& values, Array const& indices);
/// The different elements of x in order, NaN last and each for itself, and how often each occurs, int64. The results
/// have as many elements as x. Waits, and returns how many are written.
std::int64_t unique_counts(Array const& x, Array const& values, Array const& counts);
/// out[i, ...] = x[indices[i], ...]; indices of int32 or int64, negative ones from the end; zeros if an index is
/// outside. Returns how many are, or 0 if x has a stream: then nobody waits for the number.
std::int64_t take(Array const& x, Array const& indices, Array const& out);
/// out [rows, outputs] = x [rows, inputs] weight^T [inputs, outputs] + bias [outputs], which may be nullptr.
void linear(Array const& x, Array const& weight, Array const* bias, Array const& out);
/// out[i, :] = weight[indices[i], :]; indices of int32; zeros if an index is outside.
void embedding(Array const& indices, Array const& weight, Array const& out);
/// First the elements below `below`, then all others, both in their order. Returns the number of the first.
std::int64_t partition(Array const& x, double below, Array const& out);
/// out[i] = x[i] * weight[0] + x[i + 1] * weight[1] + ..., for terms inside x.
void conv1d(Array const& x, Array const& weight, Array const& out);
/// out[y, x] = the sum of x[y + i, x + j] * weight[i, j], for terms inside x [rows, cols].
void conv2d(Array const& x, Array const& weight, Array const& out);
/// out = softmax(scale * query key^T) value, for each matrix [tokens, dim] of the last two dimensions. If `causal`,
/// a query sees the keys up to its own place.
void scaled_dot_product_attention(Array const& query, Array const& key, Array const& value, bool causal, double scale,
                                  Array const& out);

// For tessera.torch (operations.cpp): each result has memory of its own.

/// Like cumulative_sum, for each row of the last dimension.
void cumulative_sum_rows(Array const& x, Array const& out);

/// The gradients of layer_norm, given that of its result.
void layer_norm_backward(Array const& x, Array const& weight, Array const& grad, double eps, Array const& dx,
                         Array const& dweight, Array const& dbias);

/// The parameters of a layer normalisation and a product: gamma, beta [hidden], weight [outputs, hidden].
struct LayerParameters {
  Array gamma;
  Array beta;
  Array weight;
  double eps;
};

/// out [rows, outputs] = layer_norm(x [rows, hidden]) weight^T + bias [outputs]
void layernorm_linear(Array const& x, LayerParameters const& layer, Array const& bias, Array const& out);

/// Where the gradients of layernorm_linear go.
struct LayerGradients {
  Array x;
  Array gamma;
  Array beta;
  Array weight;
  Array bias;
};

/// The gradients of layernorm_linear, given that of its result.
void layernorm_linear_backward(Array const& x, LayerParameters const& layer, Array const& grad,
                               LayerGradients const& to);

/// A batch of attentions with as many keys as queries. Arrays are [sequences, tokens, dim].
struct Batch {
  std::size_t sequences;
  std::size_t tokens;
  std::size_t dim;
  bool causal;  ///< a query sees the keys up to its own place
  double scale;
};

/// scaled_dot_product_attention of each sequence.
void batched_attention(Array const& query, Array const& key, Array const& value, Batch const& batch, Array const& out);

/// Arguments and result of a batched_attention.
struct AttentionForward {
  Array query;
  Array key;
  Array value;
  Array out;
};

/// The gradients of batched_attention, given that of its result.
void batched_attention_backward(AttentionForward const& of, Batch const& batch, Array const& grad, Array const& dquery,
                                Array const& dkey, Array const& dvalue);

/// Returns the dtypes that this build has kernels for.
[[nodiscard]] std::vector<DType> built_dtypes();

/// Returns where the arrays of this build can be: "host", and "cuda" or "hip".
[[nodiscard]] std::vector<std::string> built_devices();

/// The kernel objects that are kept between calls.
struct Workspaces {
  std::size_t objects;
  std::size_t bytes;
  std::size_t limit;  ///< in bytes
};
[[nodiscard]] Workspaces workspaces();
/// Keeps at most that many bytes from now on.
void limit_workspaces(std::size_t bytes);
/// Destroys all kept objects, after the work that uses them.
void clear_workspaces();

/// Restores the calling thread's device, of CUDA or HIP, which Kokkos and a call of enter() change. Sets a device only
/// if another one is current.
class CallersDevice {
 public:
  CallersDevice();
  ~CallersDevice();
  CallersDevice(CallersDevice const&) = delete;
  CallersDevice& operator=(CallersDevice const&) = delete;

  void enter(int device);

 private:
  int device_ = 0;
};

/// Returns the seconds that calls have spent in launches of kept kernel objects, without the search for them, since it
/// was called last. On a host a launch lasts as long as its kernel.
double seconds_in_launches();

/// The stream that CUDA's protocols name 1. It has no such name with HIP.
[[nodiscard]] std::uintptr_t default_stream();
/// Throws std::invalid_argument if the stream captures a graph.
void require_no_capture(std::uintptr_t stream);
/// Returns a number that no other stream of this process has, also if the other one was destroyed and had the same
/// address. (HIP, and CUDA before 12: the address.)
[[nodiscard]] std::uint64_t number_of_stream(std::uintptr_t stream);
/// Lets a stream of a GPU wait for all that was enqueued on another one. Does not wait itself. Throws
/// std::invalid_argument if one of them captures a graph, which the wait would end.
void order_behind(std::uintptr_t stream, std::uintptr_t other, int device);
/// Waits for the array's stream, or for the default stream of its GPU. Arrays on a host have none.
void wait_for_stream_of(Array const& array);

/// A point in the stream of an array, behind all that was enqueued. Marks are made and destroyed with Python's lock.
using Mark = std::shared_ptr<void>;
[[nodiscard]] Mark mark_of(Array const& array);
/// True if the stream has reached it.
[[nodiscard]] bool is_reached(Mark const& mark);
/// Waits until the stream has reached it; without a mark, for all work of that GPU.
void wait_for(Mark const& mark, int device);

/// Finds the GPU of an address, for `device`. Throws std::invalid_argument if it is not in a GPU's memory. A build
/// without GPUs knows none: 0.
void find_device(Array& array);

/// Ends Kokkos, if this module has started it in this process.
void finish();

}  // namespace tessera::python
