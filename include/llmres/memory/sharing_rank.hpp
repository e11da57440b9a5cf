// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

/// The ranks that share the weights of a training job.
namespace llmres::inline v0 {

/// Which of the ranks that share weights. The first one of a node has what is loaded, and sends it to the others.
enum class sharing_rank : std::uint8_t {
    first,
    other,
};

}  // namespace llmres::inline v0
