#include "operations.hpp"

#include "arguments.hpp"
#include "kernels.hpp"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tessera::python {

namespace {

/// An array that the kernel writes: like `like`, of the given shape, apart from the inputs.
[[nodiscard]] Array to(std::string const& name, nb::handle object, Argument const& like, Shape const& shape,
                       std::initializer_list<Argument const*> inputs) {
  Array array = result(object, like, like.array.dtype, shape, inputs).array;  // the caller keeps it alive
  array.name = name;
  return array;
}

[[nodiscard]] Argument alike(std::string const& name, nb::handle object, Argument const& first) {
  Argument const argument = input(name, object, first);
  require_alike(first, argument);
  return argument;
}

/// As alike(), with a shape. `why`: what decides it.
[[nodiscard]] Argument shaped(std::string const& name, nb::handle object, Argument const& first, Shape const& shape,
                              std::string_view why) {
  Argument const argument = alike(name, object, first);
  require_shape(argument, shape, why);
  return argument;
}

void py_cumulative_sum_rows(nb::handle object, nb::handle out, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rank(x, 2, "a matrix [rows, cols]");
  Array const sums = to("out", out, x, x.shape(), {&x});
  nb::gil_scoped_release const released;
  cumulative_sum_rows(x.array, sums);
}

void py_layer_norm_backward(nb::handle object, nb::handle of_weight, nb::handle of_grad, double eps, nb::handle dx,
                            nb::handle dweight, nb::handle dbias, nb::handle stream) {
  Argument const x = input("x", object, stream);
  require_rank(x, 2, "a matrix [rows, cols]");
  Shape const cols{x.shape()[1]};
  Argument const weight = shaped("weight", of_weight, x, cols, "the last dimension of x has it");
  Argument const grad = shaped("grad", of_grad, x, x.shape(), "x has it");
  Array const to_x = to("dx", dx, x, x.shape(), {&x, &weight, &grad});
  Array const to_weight = to("dweight", dweight, x, cols, {&x, &weight, &grad});
  Array const to_bias = to("dbias", dbias, x, cols, {&x, &weight, &grad});
  nb::gil_scoped_release const released;
  layer_norm_backward(x.array, weight.array, grad.array, eps, to_x, to_weight, to_bias);
}

/// The arguments of a layer, which stay alive with it.
struct Layer {
  Argument x;
  Argument gamma;
  Argument beta;
  Argument weight;

  Layer(nb::handle of_x, nb::handle of_gamma, nb::handle of_beta, nb::handle of_weight, nb::handle stream)
      : x(input("x", of_x, stream)),
        gamma(alike("ln_weight", of_gamma, x)),
        beta(alike("ln_bias", of_beta, x)),
        weight(alike("weight", of_weight, x)) {
    require_rank(x, 2, "a matrix [rows, hidden]");
    require_rank(weight, 2, "a matrix [outputs, hidden]");
    require_shape(gamma, {hidden()}, "the last dimension of x has it");
    require_shape(beta, {hidden()}, "the last dimension of x has it");
    require_shape(weight, {outputs(), hidden()}, "its rows are as long as those of x");
  }

  [[nodiscard]] std::size_t rows() const { return x.shape()[0]; }
  [[nodiscard]] std::size_t hidden() const { return x.shape()[1]; }
  [[nodiscard]] std::size_t outputs() const { return weight.shape()[0]; }
  [[nodiscard]] LayerParameters parameters(double eps) const { return {gamma.array, beta.array, weight.array, eps}; }
};

void py_layernorm_linear(nb::handle of_x, nb::handle of_gamma, nb::handle of_beta, nb::handle of_weight,
                         nb::handle of_bias, double eps, nb::handle out, nb::handle stream) {
  Layer const layer(of_x, of_gamma, of_beta, of_weight, stream);
  Argument const bias = shaped("bias", of_bias, layer.x, {layer.outputs()}, "weight has as many rows");
  Array const y = to("out", out, layer.x, {layer.rows(), layer.outputs()},
                     {&layer.x, &layer.gamma, &layer.beta, &layer.weight, &bias});
  nb::gil_scoped_release const released;
  layernorm_linear(layer.x.array, layer.parameters(eps), bias.array, y);
}

void py_layernorm_linear_backward(nb::handle of_x, nb::handle of_gamma, nb::handle of_beta, nb::handle of_weight,
                                  nb::handle of_grad, double eps, nb::handle dx, nb::handle dgamma, nb::handle dbeta,
                                  nb::handle dweight, nb::handle dbias, nb::handle stream) {
  Layer const layer(of_x, of_gamma, of_beta, of_weight, stream);
  Argument const grad = shaped("grad", of_grad, layer.x, {layer.rows(), layer.outputs()}, "the result has it");
  auto const gradient = [&](std::string const& name, nb::handle object, Shape const& shape) {
    return to(name, object, layer.x, shape, {&layer.x, &layer.gamma, &layer.beta, &layer.weight, &grad});
  };
  LayerGradients const gradients{.x = gradient("dx", dx, layer.x.shape()),
                                 .gamma = gradient("dln_weight", dgamma, layer.gamma.shape()),
                                 .beta = gradient("dln_bias", dbeta, layer.beta.shape()),
                                 .weight = gradient("dweight", dweight, layer.weight.shape()),
                                 .bias = gradient("dbias", dbias, {layer.outputs()})};
  nb::gil_scoped_release const released;
  layernorm_linear_backward(layer.x.array, layer.parameters(eps), grad.array, gradients);
}

/// The arguments of a batch of attentions.
struct Attended {
  Argument query;
  Argument key;
  Argument value;

  Attended(nb::handle of_query, nb::handle of_key, nb::handle of_value, nb::handle stream)
      : query(input("query", of_query, stream)),
        key(alike("key", of_key, query)),
        value(alike("value", of_value, query)) {
    require_rank(query, 3, "[sequences, tokens, dim]");
    require_shape(key, query.shape(), "query has it");
    require_shape(value, query.shape(), "query has it");
  }

  [[nodiscard]] Batch batch(bool causal, double scale) const {
    return {query.shape()[0], query.shape()[1], query.shape()[2], causal, scale};
  }
};

void py_batched_attention(nb::handle of_query, nb::handle of_key, nb::handle of_value, bool causal, double scale,
                          nb::handle object, nb::handle stream) {
  Attended const of(of_query, of_key, of_value, stream);
  Array const out = to("out", object, of.query, of.query.shape(), {&of.query, &of.key, &of.value});
  nb::gil_scoped_release const released;
  batched_attention(of.query.array, of.key.array, of.value.array, of.batch(causal, scale), out);
}

void py_batched_attention_backward(nb::handle of_query, nb::handle of_key, nb::handle of_value, nb::handle of_out,
                                   nb::handle of_grad, bool causal, double scale, nb::handle dquery, nb::handle dkey,
                                   nb::handle dvalue, nb::handle stream) {
  Attended const of(of_query, of_key, of_value, stream);
  Shape const& shape = of.query.shape();
  Argument const out = shaped("out", of_out, of.query, shape, "query has it");
  Argument const grad = shaped("grad", of_grad, of.query, shape, "query has it");
  auto const gradient = [&](std::string const& name, nb::handle object) {
    return to(name, object, of.query, shape, {&of.query, &of.key, &of.value, &out, &grad});
  };
  Array const to_query = gradient("dquery", dquery);
  Array const to_key = gradient("dkey", dkey);
  Array const to_value = gradient("dvalue", dvalue);
  nb::gil_scoped_release const released;
  batched_attention_backward({of.query.array, of.key.array, of.value.array, out.array}, of.batch(causal, scale),
                             grad.array, to_query, to_key, to_value);
}

}  // namespace

void add_operations(nb::module_& m) {
  m.def("_cumulative_sum_rows", &py_cumulative_sum_rows, "x"_a.none(), "out"_a, "stream"_a = nb::none());
  m.def("_layer_norm_backward", &py_layer_norm_backward, "x"_a.none(), "weight"_a, "grad"_a, "eps"_a, "dx"_a,
        "dweight"_a, "dbias"_a, "stream"_a = nb::none());
  m.def("_layernorm_linear", &py_layernorm_linear, "x"_a.none(), "ln_weight"_a, "ln_bias"_a, "weight"_a, "bias"_a,
        "eps"_a, "out"_a, "stream"_a = nb::none());
  m.def("_layernorm_linear_backward", &py_layernorm_linear_backward, "x"_a.none(), "ln_weight"_a, "ln_bias"_a,
        "weight"_a, "grad"_a, "eps"_a, "dx"_a, "dln_weight"_a, "dln_bias"_a, "dweight"_a, "dbias"_a,
        "stream"_a = nb::none());
  m.def("_batched_attention", &py_batched_attention, "query"_a.none(), "key"_a, "value"_a, "causal"_a, "scale"_a,
        "out"_a, "stream"_a = nb::none());
  m.def("_batched_attention_backward", &py_batched_attention_backward, "query"_a.none(), "key"_a, "value"_a, "out"_a,
        "grad"_a, "causal"_a, "scale"_a, "dquery"_a, "dkey"_a, "dvalue"_a, "stream"_a = nb::none());
}

}  // namespace tessera::python
