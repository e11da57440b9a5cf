// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// The streams that a training step allocates on.
namespace llmres::inline v0 {

/// Who allocates. PyTorch's allocator keeps the freed blocks of each stream for that stream.
enum class tensor_stream : std::uint8_t {
    computation,
    gathering,  ///< weights that FSDP or ZeRO gathers
    reduction,  ///< what ranks keep of gradients under FSDP1 (torch/distributed/fsdp/_runtime_utils.py, _reduce_grad)
};

}  // namespace llmres::inline v0
