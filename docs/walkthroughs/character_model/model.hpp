#pragma once
/// \file
/// A character model: the next byte's probabilities from the bytes before it. Bytes are embedded, positions added,
/// blocks of a transformer follow, then a layernorm and a layer with one output per byte. Each step is a launch of a
/// kernel of Tessera, forward and backward; the gradient of the embeddings is a product with rows that select a byte.

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tessera/collective/random.hpp>
#include <tessera/kernels/bias_add.hpp>
#include <tessera/kernels/embedding.hpp>
#include <tessera/kernels/gemm.hpp>
#include <tessera/kernels/layer_norm.hpp>
#include <tessera/kernels/layer_norm_backward.hpp>
#include <tessera/kernels/linear.hpp>
#include <tessera/kernels/random.hpp>
#include <tessera/kernels/reduce.hpp>
#include <tessera/kernels/softmax.hpp>
#include <tessera/kernels/sum_columns.hpp>
#include <tessera/kernels/transform.hpp>
#include <tessera/kernels/transformer_block.hpp>
#include <tessera/kernels/transformer_block_backward.hpp>

namespace character_model {

using Exec = Kokkos::DefaultExecutionSpace;
namespace kernels = tessera::kernels;

constexpr std::size_t bytes = 256;  ///< different ones

struct Shape {
  std::size_t batch = 8;
  std::size_t sequence = 64;
  std::size_t d_model = 64;
  std::size_t heads = 4;
  std::size_t layers = 2;

  [[nodiscard]] std::size_t rows() const { return batch * sequence; }
  [[nodiscard]] kernels::BlockShape block() const {
    return {.heads = {.sequences = batch, .tokens = sequence, .heads = heads, .dim = d_model / heads},
            .d_ff = 4 * d_model};
  }
};

template <class T>
using Vector = Kokkos::View<T*, Exec::memory_space>;
template <class T>
using Matrix = Kokkos::View<T**, Kokkos::LayoutRight, Exec::memory_space>;

/// A parameter's place in the array of all parameters.
struct Place {
  std::string name;
  std::size_t begin;
  std::vector<std::size_t> extents;  ///< one or two
};

/// Cuts an array into vectors and matrices, one behind the other.
template <class T>
class Cutter {
 public:
  explicit Cutter(Vector<T> const& all) : all_(all) {}

  Vector<T> vector(std::string const& name, std::size_t n) { return Vector<T>(next(name, {n}), n); }
  Matrix<T> matrix(std::string const& name, std::size_t rows, std::size_t cols) {
    return Matrix<T>(next(name, {rows, cols}), rows, cols);
  }

  [[nodiscard]] std::vector<Place> const& places() const { return places_; }
  [[nodiscard]] std::size_t size() const { return end_; }

 private:
  T* next(std::string const& name, std::vector<std::size_t> const& extents) {
    std::size_t size = 1;
    for (std::size_t const extent : extents) size *= extent;
    places_.push_back({name, end_, extents});
    T* const begin = all_.size() > 0 ? all_.data() + end_ : nullptr;
    end_ += (size + 15) / 16 * 16;  // each begins at a whole pack
    return begin;
  }

  Vector<T> all_;
  std::vector<Place> places_;
  std::size_t end_ = 0;
};

/// All parameters, or all gradients: `Block` is BlockWeights or BlockGradients, whose members have the same order.
template <class T, class Block>
struct Parameters {
  Matrix<T> embedding;  ///< a row per byte
  Matrix<T> positions;
  std::vector<Block> blocks;
  Vector<T> gamma;
  Vector<T> beta;
  Matrix<T> w;  ///< a row per byte
  Vector<T> bias;

  Parameters(Shape const& of, Cutter<T>& cut)
      : embedding(cut.matrix("embedding", bytes, of.d_model)),
        positions(cut.matrix("positions", of.sequence, of.d_model)),
        blocks(all_blocks(of, cut)),
        gamma(cut.vector("gamma", of.d_model)),
        beta(cut.vector("beta", of.d_model)),
        w(cut.matrix("w", bytes, of.d_model)),
        bias(cut.vector("bias", bytes)) {}

 private:
  static std::vector<Block> all_blocks(Shape const& of, Cutter<T>& cut) {
    std::size_t const d = of.d_model;
    std::size_t const d_ff = of.block().d_ff;
    std::vector<Block> blocks;
    for (std::size_t layer = 0; layer < of.layers; ++layer) {
      auto const name = [&](char const* member) { return "block" + std::to_string(layer) + "_" + member; };
      auto const vector = [&](char const* member, std::size_t n) { return cut.vector(name(member), n); };
      auto const matrix = [&](char const* member, std::size_t rows, std::size_t cols) {
        return cut.matrix(name(member), rows, cols);
      };
      blocks.push_back(Block{vector("gamma1", d), vector("beta1", d), matrix("wq", d, d), vector("bq", d),
                             matrix("wk", d, d), vector("bk", d), matrix("wv", d, d), vector("bv", d),
                             matrix("wo", d, d), vector("bo", d), vector("gamma2", d), vector("beta2", d),
                             matrix("w1", d_ff, d), vector("b1", d_ff), matrix("w2", d, d_ff), vector("b2", d)});
    }
    return blocks;
  }
};

// The functions of Transform and SinglePassSum.

template <class T>
struct Times {
  T factor;
  KOKKOS_FUNCTION T operator()(T x) const { return factor * x; }
};
/// -log of the probability of the byte that follows; `is_next` is 1 for it, and 0 for all others. A probability that
/// underflows counts as the smallest normal number, so that the loss stays finite; NaN stays NaN.
template <class T>
struct Surprise {
  KOKKOS_FUNCTION T operator()(T is_next, T probability) const {
    constexpr T smallest = Kokkos::Experimental::norm_min_v<T>;
    return is_next == T(0) ? T(0) : -Kokkos::log(probability < smallest ? smallest : probability);
  }
};
/// The gradient of the mean surprise with respect to an input of the softmax.
template <class T>
struct SurpriseGradient {
  T inverse_rows;
  KOKKOS_FUNCTION T operator()(T probability, T is_next) const { return inverse_rows * (probability - is_next); }
};
template <class T>
struct MeanOfGradients {
  T keep;
  KOKKOS_FUNCTION T operator()(T mean, T gradient) const { return keep * mean + (1 - keep) * gradient; }
};
template <class T>
struct MeanOfSquares {
  T keep;
  KOKKOS_FUNCTION T operator()(T mean, T gradient) const { return keep * mean + (1 - keep) * gradient * gradient; }
};
/// The means begin at 0: they are divided by the sum of the weights that they hold.
template <class T>
struct Step {
  T rate;
  T weight_of_mean;
  T weight_of_squares;
  KOKKOS_FUNCTION T operator()(T mean, T squares) const {
    return rate * (mean / weight_of_mean) / (Kokkos::sqrt(squares / weight_of_squares) + T(1e-8));
  }
};
template <class T>
struct Minus {
  KOKKOS_FUNCTION T operator()(T a, T b) const { return a - b; }
};

/// Adam on one array of parameters.
///
/// Source: D. P. Kingma, J. Ba, Adam: a method for stochastic optimization (2015).
template <class T>
class Adam {
 public:
  Adam(std::size_t parameters, double rate)
      : rate_(rate), mean_("mean", parameters), squares_("squares", parameters), step_("step", parameters) {}

  void operator()(Exec const& exec, Vector<T> const& gradients, Vector<T> const& parameters) {
    keep_mean_ *= 0.9;
    keep_squares_ *= 0.999;
    kernels::Transform<Exec, T, MeanOfGradients<T>>({T(0.9)}, "adam::mean")(exec, mean_, gradients, mean_);
    kernels::Transform<Exec, T, MeanOfSquares<T>>({T(0.999)}, "adam::squares")(exec, squares_, gradients, squares_);
    Step<T> const step{T(rate_), T(1 - keep_mean_), T(1 - keep_squares_)};
    kernels::Transform<Exec, T, Step<T>>(step, "adam::step")(exec, mean_, squares_, step_);
    kernels::Transform<Exec, T, Minus<T>>({}, "adam::update")(exec, parameters, step_, parameters);
  }

 private:
  double rate_;
  double keep_mean_ = 1;
  double keep_squares_ = 1;
  Vector<T> mean_;
  Vector<T> squares_;
  Vector<T> step_;
};

/// The model and its gradients.
template <class T>
class Model {
  using Weights = Parameters<T, kernels::BlockWeights<Vector<T>, Matrix<T>>>;
  using Gradients = Parameters<T, kernels::BlockGradients<Vector<T>, Matrix<T>>>;

 public:
  using Tokens = Kokkos::View<std::int32_t const*, Exec::memory_space>;

  Model(Exec const& exec, Shape const& of, std::uint64_t seed)
      : of_(of),
        places_(places_of(of)),
        parameters_("parameters", places_.size()),
        gradients_("gradients", places_.size()),
        w_(cut<Weights>(parameters_)),
        g_(cut<Gradients>(gradients_)),
        selects_byte_("selects_byte", bytes, bytes),
        look_up_(exec, of.rows(), w_.embedding),
        select_(exec, of.rows(), selects_byte_),
        add_positions_(exec, of.batch, of.sequence * of.d_model),
        block_(exec, of.block()),
        normalise_(exec, of.rows(), of.d_model, of.block().eps),
        out_(exec, of.rows(), bytes, of.d_model),
        softmax_(exec, of.rows(), bytes),
        sum_(exec, of.rows() * bytes),
        out_backward_(exec, of.rows(), bytes, of.d_model),
        normalise_backward_(exec, of.rows(), of.d_model, of.block().eps),
        block_backward_(exec, of.block()),
        sum_batch_(exec, of.batch, of.sequence * of.d_model),
        sum_bytes_(exec, bytes, of.d_model, of.rows(), 0, "sum_bytes", kernels::SplitK::where_it_helps),
        ln_("ln", of.rows(), of.d_model),
        dln_("dln", of.rows(), of.d_model),
        dx_("dx", of.rows(), of.d_model),
        dx_before_("dx_before", of.rows(), of.d_model),
        probabilities_("probabilities", of.rows(), bytes),
        dlogits_("dlogits", of.rows(), bytes),
        selection_("selection", of.rows(), bytes),
        loss_("loss") {
    for (std::size_t i = 0; i <= of.layers; ++i) x_.push_back(Matrix<T>("x", of.rows(), of.d_model));
    for (std::size_t i = 0; i < of.layers; ++i) stages_.emplace_back(of.block());
    auto const host = Kokkos::create_mirror_view(selects_byte_);
    for (std::size_t i = 0; i < bytes; ++i) host(i, i) = 1;
    Kokkos::deep_copy(selects_byte_, host);
    initialise(exec, seed);
  }

  /// Returns the mean surprise of `next` [batch * sequence], the bytes behind `tokens`, in natural units; leaves the
  /// gradients of all parameters.
  double loss(Exec const& exec, Tokens const& tokens, Tokens const& next) {
    look_up_(exec, tokens, w_.embedding, x_[0]);
    add_positions_(exec, as_sequences(x_[0]), flat(w_.positions), as_sequences(x_[0]));
    for (std::size_t i = 0; i < of_.layers; ++i) block_(exec, x_[i], w_.blocks[i], stages_[i], x_[i + 1]);
    normalise_(exec, x_.back(), w_.gamma, w_.beta, ln_);
    out_(exec, ln_, w_.w, w_.bias, probabilities_);
    softmax_(exec, probabilities_, probabilities_);
    select_(exec, next, selects_byte_, selection_);
    sum_(exec, flat(selection_), flat(probabilities_), loss_);

    T const inverse_rows = T(1) / static_cast<T>(of_.rows());
    kernels::Transform<Exec, T, SurpriseGradient<T>>({inverse_rows})(exec, probabilities_, selection_, dlogits_);
    out_backward_.weights(exec, dlogits_, ln_, g_.w, g_.bias);
    out_backward_.rows(exec, dlogits_, w_.w, dln_);
    normalise_backward_(exec, x_.back(), w_.gamma, dln_, dx_, g_.gamma, g_.beta);
    for (std::size_t i = of_.layers; i-- > 0;) {
      block_backward_(exec, x_[i], w_.blocks[i], stages_[i], dx_, dx_before_, g_.blocks[i]);
      std::swap(dx_, dx_before_);
    }
    sum_batch_(exec, as_sequences(dx_), flat(g_.positions));
    select_(exec, tokens, selects_byte_, selection_);
    sum_bytes_(exec, selection_, dx_, g_.embedding);

    T sum = 0;
    Kokkos::deep_copy(exec, sum, loss_);
    exec.fence();
    return static_cast<double>(sum) / static_cast<double>(of_.rows());
  }

  [[nodiscard]] Vector<T> const& parameters() const { return parameters_; }
  [[nodiscard]] Vector<T> const& gradients() const { return gradients_; }
  [[nodiscard]] std::vector<Place> const& places() const { return places_.places(); }

 private:
  // The array that `cut` cuts need not exist to count what it holds.
  static Cutter<T> places_of(Shape const& of) {
    Cutter<T> cutter{Vector<T>()};
    Weights const weights(of, cutter);
    return cutter;
  }
  template <class Parts>
  Parts cut(Vector<T> const& all) const {
    Cutter<T> cutter(all);
    return Parts(of_, cutter);
  }

  /// Matrices are normal, with a standard deviation of 1 / sqrt(columns); gammas are 1, other vectors 0. Each
  /// parameter has a stream of its own.
  void initialise(Exec const& exec, std::uint64_t seed) {
    std::uint32_t stream = 0;
    for (Place const& place : places()) {
      ++stream;
      std::size_t const size = place.extents[0] * (place.extents.size() == 2 ? place.extents[1] : 1);
      Vector<T> const values(parameters_.data() + place.begin, size);
      if (place.extents.size() == 2) {
        kernels::FillRandom<Exec, T, tessera::collective::Normal<T>> const fill(seed, stream);
        fill(exec, values);
        T const factor = static_cast<T>(1 / std::sqrt(static_cast<double>(place.extents[1])));
        kernels::Transform<Exec, T, Times<T>>({factor})(exec, values, values);
      } else if (place.name.find("gamma") != std::string::npos) {
        Kokkos::deep_copy(exec, values, T(1));
      }
    }
    exec.fence();
  }

  [[nodiscard]] Matrix<T> as_sequences(Matrix<T> const& rows) const {
    return Matrix<T>(rows.data(), of_.batch, of_.sequence * of_.d_model);
  }
  [[nodiscard]] static Vector<T> flat(Matrix<T> const& matrix) { return Vector<T>(matrix.data(), matrix.size()); }

  Shape of_;
  Cutter<T> places_;
  Vector<T> parameters_;
  Vector<T> gradients_;
  Weights w_;
  Gradients g_;
  Matrix<T> selects_byte_;  // row i selects byte i
  kernels::Embedding<Exec, T> look_up_;
  kernels::Embedding<Exec, T> select_;
  kernels::BiasAdd<Exec, T> add_positions_;
  kernels::TransformerBlock<Exec, T> block_;
  kernels::LayerNorm<Exec, T> normalise_;
  kernels::Linear<Exec, T> out_;
  kernels::RowSoftmax<Exec, T> softmax_;
  kernels::SinglePassSum<Exec, T, 2, Surprise<T>> sum_;
  kernels::LinearBackward<Exec, T> out_backward_;
  kernels::LayerNormBackward<Exec, T> normalise_backward_;
  kernels::TransformerBlockBackward<Exec, T> block_backward_;
  kernels::SumColumns<Exec, T> sum_batch_;
  kernels::Gemm<Exec, T, kernels::TransposedA> sum_bytes_;
  std::vector<Matrix<T>> x_;  // before each block, and after the last one
  std::vector<kernels::BlockStages<Exec, T>> stages_;
  Matrix<T> ln_, dln_, dx_, dx_before_, probabilities_, dlogits_, selection_;
  Kokkos::View<T, Exec::memory_space> loss_;
};

}  // namespace character_model
