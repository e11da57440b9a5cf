// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>

/// What a layer does to ggml's buffer, step by step: it is written once, and repeated by each layer of its kind.
namespace llmres::inline v0::detail {

enum class step_action : std::uint8_t {
    add,
    free,
    replace,  ///< by another tensor, which is made before the first is freed
};

/// What must hold of a layer, or of a mask, for a step to be one of it: a set.
enum class step_condition : std::uint8_t {
    always = 0,
    last = 1,             ///< the GPU's last layer
    last_of_mask = 2,     ///< no later layer reads the same mask
    computes_logits = 4,  ///< the model's last layer
    wide_mask = 8,        ///< no layer has made the mask 16-bit
    wide_window_mask = 16,
};
constexpr step_condition operator|(step_condition a, step_condition b) {
    return static_cast<step_condition>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr step_condition operator&(step_condition a, step_condition b) {
    return static_cast<step_condition>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
constexpr step_condition operator~(step_condition a) {
    return static_cast<step_condition>(~static_cast<unsigned>(a) & 31U);
}
/// Of a layer.
constexpr step_condition conditions_of(bool last, bool last_of_mask, bool computes_logits) {
    return static_cast<step_condition>(unsigned{last} | 2U * last_of_mask | 4U * computes_logits);
}

struct graph_step {
    step_action does = step_action::add;
    step_condition when = step_condition::always;
    bool of_rows = false;      ///< the size is a width, of as many rows as tokens pass
    std::uint16_t number = 0;  ///< of the tensor
    std::int64_t size = 0;     ///< its bytes
};

/// The steps of a layer.
struct layer_steps {
    static constexpr std::size_t most = 128;
    slot<graph_step> steps[most];  ///< the first `count` are set
    std::size_t count = 0;
    bool whole = false;        ///< all steps of the layer are there
    std::uint16_t stream = 0;  ///< the number of the tensor that the next layer reads
    byte_count added{};        ///< no less than all tensors that are added take, whether they live together or not

    constexpr layer_steps() {}  // steps beyond the count stay as they are
};

}  // namespace llmres::inline v0::detail
