# SPDX-License-Identifier: MIT
"""``scaled_dot_product_attention`` for fake CUDA tensors: the choice of kernel, without a GPU to ask.

PyTorch chooses the kernel from the properties of the GPU, which are not there. This module applies the same
rules (PyTorch 2.11, CUDA 13) for a given compute capability and then calls the very operators that PyTorch
would call, so autograd saves what it would save. It is not used with ``--device cuda`` or ``cpu``.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)


def choose_kernel(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None,
                  dropout: float, causal: bool, enable_gqa: bool, capability: tuple[int, int]) -> str:
    """``cudnn``, ``flash``, ``efficient`` or ``math``, in the order in which PyTorch tries them."""
    half = query.dtype in HALF
    head_dims = (query.shape[-1], key.shape[-1], value.shape[-1])
    same_heads = query.shape[1] == key.shape[1] == value.shape[1]
    ordered = mask is None or mask.stride(-1) == 1  # sdp_utils_cpp.h, check_last_dim_stride_equals_1_dense: no kernel takes another
    differentiated = mask is not None and mask.requires_grad  # check_attn_mask_shape: cuDNN takes none
    if capability[0] in (9, 10) and half and ordered and not differentiated:  # preferred there when cuDNN is newer than 9.15
        limit = 192 if head_dims[0] == 192 and head_dims[2] == 128 else 128
        dropout_ok = dropout * 16 == math.floor(dropout * 16)
        if max(head_dims) <= limit and all(d % 8 == 0 for d in head_dims) and dropout_ok \
                and (same_heads or enable_gqa):
            return "cudnn"
    if half and mask is None and len(set(head_dims)) == 1 and head_dims[0] <= 256 \
            and (not causal or query.shape[-2] == key.shape[-2]) and (same_heads or enable_gqa):
        return "flash"
    alignment = 8 if half else 4
    if head_dims[0] == head_dims[1] and all(d % alignment == 0 for d in head_dims) and same_heads and ordered:
        return "efficient"
    return "math"


def _additive(mask: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor | None:
    """A boolean mask as the additive mask that the kernels take."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.where(mask, torch.zeros((), dtype=dtype, device=mask.device), -math.inf).to(dtype)


def _expanded(mask: torch.Tensor | None, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor | None:
    """The mask as the memory-efficient kernel takes it: expanded, rows padded to a multiple of 16 elements."""
    if mask is None:
        return None
    columns = mask.shape[-1]
    if columns % 16:
        mask = F.pad(mask, (0, 16 - columns % 16))[..., :columns]
    return mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])


def _padded(tensor: torch.Tensor) -> torch.Tensor:
    """The head dimension padded to a multiple of 8, as the flash kernel takes it."""
    extra = -tensor.shape[-1] % 8
    return F.pad(tensor, (0, extra)) if extra else tensor


def attention_for(capability: tuple[int, int]):
    """A stand-in for ``torch.nn.functional.scaled_dot_product_attention`` on a GPU of ``capability``."""

    def attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        if torch.is_autocast_enabled("cuda"):
            dtype = torch.get_autocast_dtype("cuda")
            query, key, value = query.to(dtype), key.to(dtype), value.to(dtype)
            if attn_mask is not None and attn_mask.dtype != torch.bool:
                attn_mask = attn_mask.to(dtype)
        with torch.autocast("cuda", enabled=False):
            return run(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)

    def run(query, key, value, mask, dropout, causal, scale, enable_gqa):
        kernel = choose_kernel(query, key, value, mask, dropout, causal, enable_gqa, capability)
        mask = _additive(mask, query.dtype)
        needs_grad = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        if kernel == "cudnn":
            return aten._scaled_dot_product_cudnn_attention(
                query, key, value, mask, needs_grad, dropout, causal, False, scale=scale)[0]
        if kernel == "flash":
            size = query.shape[-1]
            scale = scale if scale is not None else 1 / math.sqrt(size)
            out = aten._scaled_dot_product_flash_attention(
                _padded(query), _padded(key), _padded(value), dropout, causal, False, scale=scale)[0]
            return out[..., :size] if size % 8 else out
        if kernel == "efficient":
            return aten._scaled_dot_product_efficient_attention(
                query, key, value, _expanded(mask, query, key), needs_grad, dropout, causal, scale=scale)[0]
        return aten._scaled_dot_product_attention_math(
            query, key, value, mask, dropout, causal, None, scale=scale, enable_gqa=enable_gqa)[0]

    return attend


def install(capability: tuple[int, int]) -> None:
    """Replaces ``torch.nn.functional.scaled_dot_product_attention`` in this process."""
    F.scaled_dot_product_attention = attention_for(capability)


KERNELS = {
    "aten::_scaled_dot_product_flash_attention": "flash",
    "aten::_scaled_dot_product_cudnn_attention": "cudnn",
    "aten::_scaled_dot_product_efficient_attention": "efficient",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "flash_cpu",
}


def kernels_seen(operators: set[str]) -> str:
    """The attention kernels among the ``operators`` that ran; ``matmul`` when there is none."""
    seen = sorted({kernel for name, kernel in KERNELS.items() if name in operators})
    return "+".join(seen) if seen else "matmul"
