// The reference is the gradient: compared with central differences of a block of its own. The wrong variants are in
// tests/planted/transformer_block_backward_*.txt and multi_head_attention_backward.txt, inside the kernels.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "broken_rows.hpp"

#include "../../apps/transformer_block_backward/problem.hpp"

namespace tessera::transformer_block_backward {
namespace {

using Wide = long double;
using Field = std::vector<double>;

// sum(grad_y * y) of a block in long double.
class Loss {
 public:
  Loss(std::vector<Shape> const& shapes, std::size_t heads, bool causal, double eps)
      : batch_(shapes[0][0]), tokens_(shapes[0][1]), d_(shapes[0][2]), heads_(heads), causal_(causal), eps_(eps) {}

  [[nodiscard]] Wide operator()(std::vector<Field> const& f) const {
    std::vector<Wide> const x(f[0].begin(), f[0].end());
    std::vector<Wide> const ln = normalise(x, f[1], f[2]);
    std::vector<Wide> const q = layer(ln, f[3], f[4]);
    std::vector<Wide> const k = layer(ln, f[5], f[6]);
    std::vector<Wide> const v = layer(ln, f[7], f[8]);
    std::vector<Wide> a = layer(attend(q, k, v), f[9], f[10]);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += x[i];
    std::vector<Wide> units = layer(normalise(a, f[11], f[12]), f[13], f[14]);
    for (Wide& h : units) h = h / 2 * std::erfc(-h / std::sqrt(Wide(2)));
    std::vector<Wide> const y = layer(units, f[15], f[16]);
    Wide total = 0;
    for (std::size_t i = 0; i < a.size(); ++i) total += static_cast<Wide>(f[17][i]) * (a[i] + y[i]);
    return total;
  }

 private:
  [[nodiscard]] std::vector<Wide> normalise(std::vector<Wide> const& x, Field const& gamma, Field const& beta) const {
    std::vector<Wide> ln(x.size());
    for (std::size_t r = 0; r < x.size() / d_; ++r) {
      Wide mean = 0;
      Wide variance = 0;
      for (std::size_t c = 0; c < d_; ++c) mean += x[r * d_ + c] / static_cast<Wide>(d_);
      for (std::size_t c = 0; c < d_; ++c) variance += std::pow(x[r * d_ + c] - mean, 2) / static_cast<Wide>(d_);
      for (std::size_t c = 0; c < d_; ++c) {
        ln[r * d_ + c] = gamma[c] * (x[r * d_ + c] - mean) / std::sqrt(variance + eps_) + beta[c];
      }
    }
    return ln;
  }
  [[nodiscard]] static std::vector<Wide> layer(std::vector<Wide> const& b, Field const& w, Field const& bias) {
    std::size_t const outputs = bias.size();
    std::size_t const inputs = w.size() / outputs;
    std::vector<Wide> c(b.size() / inputs * outputs);
    for (std::size_t i = 0; i < c.size(); ++i) {
      c[i] = bias[i % outputs];
      for (std::size_t h = 0; h < inputs; ++h) c[i] += b[i / outputs * inputs + h] * w[i % outputs * inputs + h];
    }
    return c;
  }
  [[nodiscard]] std::vector<Wide> attend(std::vector<Wide> const& q, std::vector<Wide> const& k,
                                         std::vector<Wide> const& v) const {
    std::vector<Wide> mean(q.size());
    std::size_t const dim = d_ / heads_;
    for (std::size_t row = 0; row < batch_ * tokens_; ++row) {
      std::size_t const first = row / tokens_ * tokens_;
      std::size_t const end = causal_ ? row + 1 : first + tokens_;
      for (std::size_t col = 0; col < d_; col += dim) {
        Wide total = 0;
        for (std::size_t key = first; key < end; ++key) {
          Wide score = 0;
          for (std::size_t c = col; c < col + dim; ++c) score += q[row * d_ + c] * k[key * d_ + c];
          Wide const weight = std::exp(score / std::sqrt(static_cast<Wide>(dim)));
          total += weight;
          for (std::size_t c = col; c < col + dim; ++c) mean[row * d_ + c] += weight * v[key * d_ + c];
        }
        for (std::size_t c = col; c < col + dim; ++c) mean[row * d_ + c] /= total;
      }
    }
    return mean;
  }

  std::size_t batch_;
  std::size_t tokens_;
  std::size_t d_;
  std::size_t heads_;
  bool causal_;
  double eps_;
};

// The reference of the fields, in double.
std::vector<ExpectedField> reference(std::vector<Field> const& f, std::vector<Shape> const& s, std::size_t heads,
                                     bool causal, double eps) {
  using Input = TransformerBlockBackward::Input<double, Kokkos::HostSpace>;
  Input input{};
  std::size_t i = 0;
  auto const set = [&](auto& view) {
    using View = std::remove_reference_t<decltype(view)>;
    if constexpr (View::rank() == 1) {
      view = View(f[i].data(), s[i][0]);
    } else if constexpr (View::rank() == 2) {
      view = View(f[i].data(), s[i][0], s[i][1]);
    } else {
      view = View(f[i].data(), s[i][0], s[i][1], s[i][2]);
    }
    ++i;
  };
  std::apply([&](auto&... views) { (set(views), ...); }, Input::fields(input));
  input.parameters.heads = static_cast<std::int64_t>(heads);
  input.parameters.causal = causal;
  input.parameters.eps = eps;
  std::vector<ExpectedField> gradients;
  for_each_type(EnabledDTypes{}, [&]<class T>() {
    if constexpr (std::same_as<T, double>) gradients = TransformerBlockBackward::reference<T>(input);
  });
  return gradients;
}

void expect_gradient(std::size_t heads, bool causal) {
  double const eps = 1e-2;
  std::vector<Shape> shapes = TransformerBlockProblem::shapes(2, 4, 6, 5);
  shapes.push_back(shapes[0]);
  std::vector<Field> fields;
  for (std::size_t f = 0; f < shapes.size(); ++f) {
    fields.emplace_back(count_of(shapes[f]));
    for (std::size_t i = 0; i < fields[f].size(); ++i) fields[f][i] = random_value<double>(5, f, i);
  }
  std::vector<ExpectedField> const gradients = reference(fields, shapes, heads, causal, eps);
  if (gradients.empty()) GTEST_SKIP() << "this build has no double";
  ASSERT_EQ(gradients.size() + 1, fields.size());
  Loss const loss(shapes, heads, causal, eps);
  double const step = 1e-5;
  for (std::size_t f = 0; f < gradients.size(); ++f) {
    ASSERT_EQ(gradients[f].shape, shapes[f]);
    ASSERT_EQ(gradients[f].value.size(), fields[f].size());
    for (std::size_t i = 0; i < fields[f].size(); ++i) {
      double const value = fields[f][i];
      fields[f][i] = value + step;
      Wide const above = loss(fields);
      fields[f][i] = value - step;
      Wide const below = loss(fields);
      fields[f][i] = value;
      EXPECT_NEAR(gradients[f].value[i], static_cast<double>((above - below) / (2 * step)), 1e-7)
          << gradients[f].name << "[" << i << "]";
    }
  }
}

TEST(TransformerBlockBackward, ReferenceIsTheGradient) {
  expect_gradient(1, true);
  expect_gradient(3, true);
  expect_gradient(2, false);
}

}  // namespace
}  // namespace tessera::transformer_block_backward
