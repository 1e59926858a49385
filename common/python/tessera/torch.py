"""Tessera's kernels as operations of PyTorch, with gradients, for eager code and torch.compile.

The functions are called like their namesakes of torch and torch.nn.functional. `torch.ops.tessera` has the operations
that they call. Arguments are float32 or float64, on the CPU or on a GPU that this build can use; others raise TypeError
or ValueError. Tensors that are not contiguous are copied, as PyTorch's own operations do.
"""

import math
from typing import Optional

import torch

from . import _tessera

__all__ = [
    "LayerNormLinear",
    "Softmax",
    "conv1d",
    "cumsum",
    "embedding",
    "layer_norm",
    "layernorm_linear",
    "scaled_dot_product_attention",
    "softmax",
]

_DTYPES = [dtype for dtype in (torch.float32, torch.float64) if str(dtype).split(".")[1] in _tessera.dtypes]
# PyTorch calls the GPUs of both makers cuda.
_DEVICES = ["cpu"] + ["cuda" for device in _tessera.devices if device != "host"]


# The current stream as a number: what inductor calls takes a tenth of the time that an object of it does.
_stream = getattr(torch._C, "_cuda_getCurrentRawStream", torch.cuda.current_stream)


# ----------------------------------------------------------------------------------------------------------------------
# What the operations share. Checks and shapes serve the kernel and its fake alike.
# ----------------------------------------------------------------------------------------------------------------------


def _require(operation, **tensors):
    """Raises TypeError or ValueError unless all tensors have one dtype and one device, which have kernels."""
    known = f"{' or '.join(str(dtype)[6:] for dtype in _DTYPES)} on {' or '.join(_DEVICES)}"
    first_name, first = next(iter(tensors.items()))
    for name, tensor in tensors.items():
        what = f"{name} is {str(tensor.dtype)[6:]} on {tensor.device}"
        if tensor.dtype not in _DTYPES:
            raise TypeError(f"{what} (tessera::{operation} takes {known}); convert it first")
        if tensor.device.type not in [*_DEVICES, "meta"]:
            raise ValueError(f"{what} (tessera::{operation} takes {known}); copy it to a device of these")
        if tensor.dtype != first.dtype or tensor.device != first.device:
            error = TypeError if tensor.dtype != first.dtype else ValueError
            raise error(f"{what} ({first_name} is {str(first.dtype)[6:]} on {first.device}); convert one of them first")


def _require_shape(name, tensor, shape, why):
    if tuple(tensor.shape) != tuple(shape):
        raise ValueError(f"{name} has shape {list(tensor.shape)}, not {list(shape)} ({why}); give such a tensor")


def _call(function, *arguments, **keywords):
    """Calls a function of Tessera, on the current stream if the first tensor is on a GPU."""
    device = arguments[0].device
    if device.type == "cuda":
        # PyTorch reuses memory in the order of its stream: tensors that die after the call are safe.
        keywords["stream"] = _stream(device.index)
    function(*arguments, **keywords)


def _plain(tensor):
    """Without strides and history: what Tessera can read."""
    return tensor.detach().contiguous()


def _dim_of(tensor, dim):
    dims = max(1, tensor.dim())
    if not -dims <= dim < dims:
        raise IndexError(f"dim is {dim} (the tensor has {tensor.dim()} dimensions); give one of them")
    return dim % dims


def _empty_along(tensor, dim):
    """A new tensor of the same shape in which the elements along `dim` are consecutive."""
    if tensor.dim() == 0:
        return torch.empty_like(tensor)
    moved = tensor.movedim(dim, -1)
    return torch.empty(moved.shape, dtype=tensor.dtype, device=tensor.device).movedim(-1, dim)


def _rows_along(tensor, dim):
    """The tensor as a matrix, a row for each stretch along `dim`. No copy if these lie one behind the other."""
    if tensor.dim() == 0:
        return tensor.detach().reshape(1, 1)
    moved = _plain(tensor.movedim(dim, -1))
    return moved.view(-1, moved.shape[-1])


# ----------------------------------------------------------------------------------------------------------------------
# softmax
# ----------------------------------------------------------------------------------------------------------------------


def _softmax_result(input, dim):
    _require("softmax", input=input)
    dim = _dim_of(input, dim)
    if dim == 0 and input.dim() > 1:
        return torch.empty(input.shape, dtype=input.dtype, device=input.device)
    return _empty_along(input, dim)


@torch.library.custom_op("tessera::softmax", mutates_args=())
def _softmax(input: torch.Tensor, dim: int) -> torch.Tensor:
    out = _softmax_result(input, dim)
    if out.numel() == 0:
        return out
    dim = _dim_of(input, dim)
    if dim == 0 and input.dim() > 1:
        x = _plain(input).view(input.shape[0], -1)
        _call(_tessera.softmax, x, 0, out=out.view(x.shape))
    else:
        _call(_tessera.softmax, _rows_along(input, dim), out=_rows_along(out, dim))
    return out


_softmax.register_fake(_softmax_result)


def _softmax_setup(ctx, inputs, output):
    ctx.save_for_backward(output)
    ctx.dim = inputs[1]


def _softmax_backward(ctx, grad):
    (y,) = ctx.saved_tensors
    product = grad * y
    return product - y * product.sum(ctx.dim, keepdim=True), None


_softmax.register_autograd(_softmax_backward, setup_context=_softmax_setup)


def softmax(input, dim):
    """Returns exp(x - max) / sum(exp(x - max)) along `dim`. Like torch.softmax."""
    return torch.ops.tessera.softmax(input, dim)


# ----------------------------------------------------------------------------------------------------------------------
# cumsum
# ----------------------------------------------------------------------------------------------------------------------


def _cumsum_result(input, dim):
    _require("cumsum", input=input)
    return _empty_along(input, _dim_of(input, dim))


@torch.library.custom_op("tessera::cumsum", mutates_args=())
def _cumsum(input: torch.Tensor, dim: int) -> torch.Tensor:
    out = _cumsum_result(input, dim)
    if out.numel() > 0:
        dim = _dim_of(input, dim)
        _call(_tessera._cumulative_sum_rows, _rows_along(input, dim), _rows_along(out, dim))
    return out


_cumsum.register_fake(_cumsum_result)


def _cumsum_setup(ctx, inputs, output):
    ctx.dim = inputs[1]


def _cumsum_backward(ctx, grad):
    if grad.dim() == 0:
        return grad, None
    return torch.ops.tessera.cumsum(grad.flip(ctx.dim), ctx.dim).flip(ctx.dim), None


_cumsum.register_autograd(_cumsum_backward, setup_context=_cumsum_setup)


def cumsum(input, dim):
    """Returns the sums of the first elements along `dim`. Like torch.cumsum."""
    return torch.ops.tessera.cumsum(input, dim)


# ----------------------------------------------------------------------------------------------------------------------
# layer_norm
# ----------------------------------------------------------------------------------------------------------------------


def _layer_norm_result(input, weight, bias, eps):
    _require("layer_norm", input=input, weight=weight, bias=bias)
    for name, tensor in (("weight", weight), ("bias", bias)):
        _require_shape(name, tensor, input.shape[-1:], "the last dimension of input has it")
    return torch.empty(input.shape, dtype=input.dtype, device=input.device)


@torch.library.custom_op("tessera::layer_norm", mutates_args=())
def _layer_norm(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    out = _layer_norm_result(input, weight, bias, eps)
    if out.numel() > 0:
        _call(_tessera.layer_norm, _plain(input), _plain(weight), _plain(bias), eps, out=out)
    return out


_layer_norm.register_fake(_layer_norm_result)


def _layer_norm_gradients(input, weight, grad, eps):
    _require("layer_norm_backward", input=input, weight=weight, grad=grad)
    return tuple(torch.empty(like.shape, dtype=like.dtype, device=like.device) for like in (input, weight, weight))


@torch.library.custom_op("tessera::layer_norm_backward", mutates_args=())
def _layer_norm_backward(
    input: torch.Tensor, weight: torch.Tensor, grad: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    dx, dweight, dbias = gradients = _layer_norm_gradients(input, weight, grad, eps)
    if dx.numel() > 0:
        x, g = (_plain(rows).view(-1, rows.shape[-1]) for rows in (input, grad))
        _call(_tessera._layer_norm_backward, x, _plain(weight), g, eps, dx.view(x.shape), dweight, dbias)
    else:
        dweight.zero_(), dbias.zero_()
    return gradients


_layer_norm_backward.register_fake(_layer_norm_gradients)


def _layer_norm_setup(ctx, inputs, output):
    input, weight, _, ctx.eps = inputs
    ctx.save_for_backward(input, weight)


def _layer_norm_autograd(ctx, grad):
    return *torch.ops.tessera.layer_norm_backward(*ctx.saved_tensors, grad, ctx.eps), None


_layer_norm.register_autograd(_layer_norm_autograd, setup_context=_layer_norm_setup)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Returns (x - mean) / sqrt(variance + eps) * weight + bias, of the elements of the last dimensions. Like
    torch.nn.functional.layer_norm."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    lead = input.dim() - len(shape)
    if not shape or lead < 0 or list(input.shape[lead:]) != shape:
        raise ValueError(f"input has shape {list(input.shape)} (it does not end in {shape}); give its last dimensions")
    count = math.prod(shape)
    if weight is None:
        weight = torch.ones(shape, dtype=input.dtype, device=input.device)
    if bias is None:
        bias = torch.zeros(shape, dtype=input.dtype, device=input.device)
    _require_shape("weight", weight, shape, "normalized_shape says so")
    _require_shape("bias", bias, shape, "normalized_shape says so")
    rows = input.reshape(*input.shape[:lead], count)
    return torch.ops.tessera.layer_norm(rows, weight.reshape(count), bias.reshape(count), eps).reshape(input.shape)


# ----------------------------------------------------------------------------------------------------------------------
# layernorm_linear
# ----------------------------------------------------------------------------------------------------------------------


def _layernorm_linear_result(input, ln_weight, ln_bias, weight, bias, eps):
    _require("layernorm_linear", input=input, ln_weight=ln_weight, ln_bias=ln_bias, weight=weight, bias=bias)
    for name, tensor in (("ln_weight", ln_weight), ("ln_bias", ln_bias)):
        _require_shape(name, tensor, input.shape[-1:], "the last dimension of input has it")
    _require_shape("bias", bias, weight.shape[:1], "weight has as many rows")
    _require_shape("weight", weight, (bias.shape[0], input.shape[-1]), "its rows are as long as those of input")
    return torch.empty((*input.shape[:-1], weight.shape[0]), dtype=input.dtype, device=input.device)


@torch.library.custom_op("tessera::layernorm_linear", mutates_args=())
def _layernorm_linear(
    input: torch.Tensor,
    ln_weight: torch.Tensor,
    ln_bias: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    eps: float,
) -> torch.Tensor:
    out = _layernorm_linear_result(input, ln_weight, ln_bias, weight, bias, eps)
    if input.numel() == 0:
        return out.copy_(bias)  # rows of no columns, or no rows
    if out.numel() > 0:
        x = _plain(input).view(-1, input.shape[-1])
        parameters = [_plain(tensor) for tensor in (ln_weight, ln_bias, weight, bias)]
        _call(_tessera._layernorm_linear, x, *parameters, eps, out.view(-1, out.shape[-1]))
    return out


_layernorm_linear.register_fake(_layernorm_linear_result)


def _layernorm_linear_gradients(input, ln_weight, ln_bias, weight, grad, eps):
    _require("layernorm_linear_backward", input=input, ln_weight=ln_weight, ln_bias=ln_bias, weight=weight, grad=grad)
    shapes = (input.shape, ln_weight.shape, ln_bias.shape, weight.shape, weight.shape[:1])
    return tuple(torch.empty(shape, dtype=input.dtype, device=input.device) for shape in shapes)


@torch.library.custom_op("tessera::layernorm_linear_backward", mutates_args=())
def _layernorm_linear_backward(
    input: torch.Tensor,
    ln_weight: torch.Tensor,
    ln_bias: torch.Tensor,
    weight: torch.Tensor,
    grad: torch.Tensor,
    eps: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    gradients = _layernorm_linear_gradients(input, ln_weight, ln_bias, weight, grad, eps)
    if grad.numel() == 0 or input.numel() == 0:
        for gradient in gradients[:-1]:
            gradient.zero_()
        gradients[-1].copy_(grad.reshape(math.prod(grad.shape[:-1]), grad.shape[-1]).sum(0))
        return gradients
    x, g = (_plain(rows).view(-1, rows.shape[-1]) for rows in (input, grad))
    parameters = [_plain(tensor) for tensor in (ln_weight, ln_bias, weight)]
    _call(_tessera._layernorm_linear_backward, x, *parameters, g, eps, gradients[0].view(x.shape), *gradients[1:])
    return gradients


_layernorm_linear_backward.register_fake(_layernorm_linear_gradients)


def _layernorm_linear_setup(ctx, inputs, output):
    *tensors, _, ctx.eps = inputs
    ctx.save_for_backward(*tensors)


def _layernorm_linear_autograd(ctx, grad):
    return *torch.ops.tessera.layernorm_linear_backward(*ctx.saved_tensors, grad, ctx.eps), None


_layernorm_linear.register_autograd(_layernorm_linear_autograd, setup_context=_layernorm_linear_setup)


def layernorm_linear(input, ln_weight, ln_bias, weight, bias=None, eps=1e-5):
    """Returns linear(layer_norm(input, ln_weight, ln_bias, eps), weight, bias), of rows of the last dimension.

    ln_weight, ln_bias [hidden], weight [outputs, hidden], bias [outputs].
    """
    if bias is None:
        bias = torch.zeros(weight.shape[0], dtype=weight.dtype, device=weight.device)
    return torch.ops.tessera.layernorm_linear(input, ln_weight, ln_bias, weight, bias, eps)


# ----------------------------------------------------------------------------------------------------------------------
# scaled_dot_product_attention
# ----------------------------------------------------------------------------------------------------------------------


def _attention_result(query, key, value, is_causal, scale):
    _require("scaled_dot_product_attention", query=query, key=key, value=value)
    for name, tensor in (("query", query), ("key", key)):
        if tensor.dim() < 2:
            raise ValueError(f"{name} has {tensor.dim()} dimensions (matrices [..., tokens, dim] have two); reshape it")
    _require_shape("key", key, (*query.shape[:-2], key.shape[-2], query.shape[-1]), "query decides all but its tokens")
    _require_shape("value", value, key.shape, "key has it")
    return torch.empty(query.shape, dtype=query.dtype, device=query.device)


def _scale_of(query, scale):
    return scale if scale is not None else 1 / math.sqrt(max(1, query.shape[-1]))


def _sequences(tensor):
    """[..., tokens, dim] as [sequences, tokens, dim]."""
    tensor = _plain(tensor)
    return tensor.unsqueeze(0) if tensor.dim() == 2 else tensor.flatten(0, -3)


@torch.library.custom_op("tessera::scaled_dot_product_attention", mutates_args=())
def _attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, is_causal: bool, scale: Optional[float]
) -> torch.Tensor:
    out = _attention_result(query, key, value, is_causal, scale)
    if out.numel() == 0:
        return out
    factor = _scale_of(query, scale)
    q, k, v, y = (_sequences(tensor) for tensor in (query, key, value, out))
    if q.shape == k.shape:
        _call(_tessera._batched_attention, q, k, v, is_causal, factor, y)
    else:
        _call(_tessera.scaled_dot_product_attention, q, k, v, is_causal=is_causal, scale=factor, out=y)
    return out


_attention.register_fake(_attention_result)


def _attention_gradients(grad, query, key, value, out, is_causal, scale):
    _require("attention_backward", query=query, key=key, value=value, out=out, grad=grad)
    return tuple(torch.empty(like.shape, dtype=like.dtype, device=like.device) for like in (query, key, value))


@torch.library.custom_op("tessera::attention_backward", mutates_args=())
def _attention_backward(
    grad: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    is_causal: bool,
    scale: Optional[float],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    gradients = _attention_gradients(grad, query, key, value, out, is_causal, scale)
    if query.numel() > 0:
        inputs = [_sequences(tensor) for tensor in (query, key, value, out, grad)]
        to = [_sequences(gradient) for gradient in gradients]
        _call(_tessera._batched_attention_backward, *inputs, is_causal, _scale_of(query, scale), *to)
    return gradients


_attention_backward.register_fake(_attention_gradients)


def _attention_setup(ctx, inputs, output):
    query, key, value, ctx.is_causal, ctx.scale = inputs
    ctx.save_for_backward(query, key, value, output)


def _attention_autograd(ctx, grad):
    query, key, value, out = ctx.saved_tensors
    if query.shape[-2] == key.shape[-2]:
        gradients = torch.ops.tessera.attention_backward(grad, query, key, value, out, ctx.is_causal, ctx.scale)
        return *gradients, None, None
    scale = _scale_of(query, ctx.scale)
    scores = query @ key.mT * scale
    if ctx.is_causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    weights = torch.softmax(scores, -1)
    dscores = weights * (grad @ value.mT - (grad * out).sum(-1, keepdim=True)) * scale
    return dscores @ key, dscores.mT @ query, weights.mT @ grad, None, None


_attention.register_autograd(_attention_autograd, setup_context=_attention_setup)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """Returns softmax(scale * query key^T) value, for tensors [..., tokens, dim] with the same leading dimensions. Like
    torch.nn.functional.scaled_dot_product_attention. Raises ValueError for masks, dropout and enable_gqa.

    dim is at most 256. If is_causal, a query sees the keys up to its own place.
    """
    if attn_mask is not None:
        raise ValueError("attn_mask is given (is_causal=True is the only mask: a query sees the keys up to its own "
                         "place); leave it out")  # fmt: skip
    if dropout_p != 0:
        raise ValueError(f"dropout_p is {dropout_p} (the kernel drops nothing); leave it out")
    if enable_gqa:
        raise ValueError("enable_gqa is True (key and value need as many heads as query); repeat their heads")
    return torch.ops.tessera.scaled_dot_product_attention(query, key, value, is_causal, scale)


# ----------------------------------------------------------------------------------------------------------------------
# conv1d
# ----------------------------------------------------------------------------------------------------------------------


def _conv1d_result(input, weight, padding):
    _require("conv1d", input=input, weight=weight)
    for name, tensor, what in (("input", input, "[batch, channels, n]"), ("weight", weight, "[out, channels, taps]")):
        if tensor.dim() != 3:
            raise ValueError(f"{name} has {tensor.dim()} dimensions (it is {what}); reshape it")
    _require_shape("weight", weight, (weight.shape[0], input.shape[1], weight.shape[2]), "input has as many channels")
    count = input.shape[2] + 2 * padding - weight.shape[2] + 1
    if count < 1 or padding < 0:
        raise ValueError(f"weight has {weight.shape[2]} taps (input has {input.shape[2]} elements per channel, and "
                         f"padding is {padding}); give fewer taps or more elements")  # fmt: skip
    return torch.empty((input.shape[0], weight.shape[0], count), dtype=input.dtype, device=input.device)


@torch.library.custom_op("tessera::conv1d", mutates_args=())
def _conv1d(input: torch.Tensor, weight: torch.Tensor, padding: int) -> torch.Tensor:
    out = _conv1d_result(input, weight, padding)
    if out.numel() == 0 or weight.numel() == 0:
        return out.zero_()
    # All rows of a channel are one array: an output that is kept reads no element of the next row.
    channels = torch.nn.functional.pad(input.detach(), (padding, padding)).transpose(0, 1).contiguous()
    taps = _plain(weight)
    sums, term = torch.empty_like(channels[0]), torch.empty_like(channels[0])
    for number, of_output in enumerate(taps):
        for channel, of_channel in enumerate(of_output):
            to = sums if channel == 0 else term
            _call(_tessera.conv1d, channels[channel].view(-1), of_channel, out=to.view(-1))
            if channel > 0:
                sums += term
        out[:, number] = sums[:, : out.shape[2]]
    return out


_conv1d.register_fake(_conv1d_result)


def _conv1d_setup(ctx, inputs, output):
    input, weight, ctx.padding = inputs
    ctx.save_for_backward(input, weight)


def _conv1d_backward(ctx, grad):
    input, weight = ctx.saved_tensors
    taps, count, padding = weight.shape[2], grad.shape[2], ctx.padding
    dinput = dweight = None
    if ctx.needs_input_grad[0]:
        padded = torch.ops.tessera.conv1d(grad, weight.transpose(0, 1).flip(2), taps - 1)
        dinput = padded[:, :, padding : padding + input.shape[2]]
    if ctx.needs_input_grad[1]:
        padded = torch.nn.functional.pad(input, (padding, padding))
        of_taps = [torch.einsum("bon,bcn->oc", grad, padded[:, :, k : k + count]) for k in range(taps)]
        dweight = torch.stack(of_taps, 2)
    return dinput, dweight, None


_conv1d.register_autograd(_conv1d_backward, setup_context=_conv1d_setup)


def conv1d(input, weight, bias=None, padding=0):
    """Returns the correlation of input [batch, channels, n] or [channels, n] with weight [out, channels, taps]. Like
    torch.nn.functional.conv1d with a stride, a dilation and a group of 1.

    One launch per pair of channels.
    """
    is_one = input.dim() == 2
    out = torch.ops.tessera.conv1d(input.unsqueeze(0) if is_one else input, weight, padding)
    if bias is not None:
        _require("conv1d", input=input, bias=bias)
        _require_shape("bias", bias, weight.shape[:1], "weight has as many output channels")
        out = out + bias.unsqueeze(1)
    return out.squeeze(0) if is_one else out


# ----------------------------------------------------------------------------------------------------------------------
# embedding
# ----------------------------------------------------------------------------------------------------------------------


def _embedding_result(indices, weight, padding_idx):
    _require("embedding", weight=weight)
    if indices.dtype not in (torch.int32, torch.int64) or indices.device != weight.device:
        error = ValueError if indices.device != weight.device else TypeError
        raise error(f"input is {str(indices.dtype)[6:]} on {indices.device} (weight is on {weight.device}, and indices "
                    "are int32 or int64); convert it first")  # fmt: skip
    if weight.dim() != 2:
        raise ValueError(f"weight has {weight.dim()} dimensions (it is a matrix [rows, cols]); reshape it")
    return torch.empty((*indices.shape, weight.shape[1]), dtype=weight.dtype, device=weight.device)


@torch.library.custom_op("tessera::embedding", mutates_args=())
def _embedding(indices: torch.Tensor, weight: torch.Tensor, padding_idx: Optional[int]) -> torch.Tensor:
    out = _embedding_result(indices, weight, padding_idx)
    if out.numel() == 0:
        return out
    least, most = torch.aminmax(indices)
    if least < 0 or most >= min(weight.shape[0], 1 << 31):  # before int32 hides it
        wrong = int(least if least < 0 else most)
        raise IndexError(f"input has the index {wrong} (weight has {weight.shape[0]} rows); give indices of rows")
    rows = _plain(indices).view(-1).to(torch.int32)
    _call(_tessera.embedding, rows, _plain(weight), out=out.view(-1, out.shape[-1]))
    return out


_embedding.register_fake(_embedding_result)


def _embedding_setup(ctx, inputs, output):
    indices, weight, ctx.padding_idx = inputs
    ctx.save_for_backward(indices)
    ctx.rows = weight.shape[0]


def _embedding_backward(ctx, grad):
    (indices,) = ctx.saved_tensors
    if ctx.padding_idx is not None:
        grad = grad.masked_fill((indices == ctx.padding_idx).unsqueeze(-1), 0)
    cols = grad.shape[-1]
    dweight = grad.new_zeros(ctx.rows, cols).index_add(0, indices.reshape(-1), grad.reshape(indices.numel(), cols))
    return None, dweight, None


_embedding.register_autograd(_embedding_backward, setup_context=_embedding_setup)


def embedding(input, weight, padding_idx=None):
    """Returns the rows weight[input[i], :] for indices of any shape, int32 or int64. Like
    torch.nn.functional.embedding.

    Row padding_idx, which counts from the end if it is negative, gets no gradient. Raises IndexError if an index is no
    row.
    """
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise ValueError(f"padding_idx is {padding_idx} (weight has {rows} rows); give one of them")
        padding_idx %= rows
    return torch.ops.tessera.embedding(input, weight, padding_idx)


# ----------------------------------------------------------------------------------------------------------------------
# Modules
# ----------------------------------------------------------------------------------------------------------------------


class Softmax(torch.nn.Softmax):
    """torch.nn.Softmax by Tessera's kernel. `dim` must be given."""

    def __init__(self, dim):
        super().__init__(dim)

    def forward(self, input):
        return softmax(input, self.dim)


class LayerNormLinear(torch.nn.Sequential):
    """torch.nn.Sequential(LayerNorm, Linear) as one operation: the same parameters, initial values and state_dict."""

    def __init__(self, in_features, out_features, bias=True, eps=1e-5, device=None, dtype=None):
        norm = torch.nn.LayerNorm(in_features, eps=eps, device=device, dtype=dtype)
        super().__init__(norm, torch.nn.Linear(in_features, out_features, bias=bias, device=device, dtype=dtype))

    @classmethod
    def of(cls, norm, linear):
        """Returns a module with the parameters of a LayerNorm and a Linear, which stay theirs, too. Raises ValueError
        if the norm has no weight and bias, or other dimensions."""
        if tuple(norm.normalized_shape) != (linear.in_features,) or norm.weight is None or norm.bias is None:
            raise ValueError(f"the norm is {norm} (it needs weight, bias and the dimension {linear.in_features}); give "
                             "another one")  # fmt: skip
        module = cls.__new__(cls)
        torch.nn.Sequential.__init__(module, norm, linear)
        return module

    def forward(self, input):
        norm, linear = self
        return layernorm_linear(input, norm.weight, norm.bias, linear.weight, linear.bias, norm.eps)
