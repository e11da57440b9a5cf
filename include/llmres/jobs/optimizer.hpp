// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>

/// What does an optimizer keep for each tensor that it trains, and what does it allocate while it steps?
namespace llmres::inline v0 {

/// Which tensors hold an optimizer's states.
enum class state_kind : std::uint8_t {
    torch,         ///< PyTorch's, in the format that the job says
    bitsandbytes,  ///< PyTorch's, in fp32 where they are not quantised (bitsandbytes, optim/optimizer.py, init_state)
    /// As bitsandbytes', and those of `paged_from` values and more in CUDA's managed memory (get_state_buffer), which
    /// the driver evicts to the host where other allocations need the GPU's.
    paged,
};

/// An optimizer, by the sizes of its states and of its temporaries.
struct optimizer {
    text<23> name{};                   ///< its name in a job: "adamw"
    std::int32_t moments = 0;          ///< running averages as large as the tensor
    std::int32_t matrix_moments = -1;  ///< running averages of matrices inside the layers; -1: as `moments`
    bool factored = false;             ///< a second moment of one row and one column; a vector's is whole
    bool row_moment = false;           ///< a second moment of one value for each row
    /// For each side of a matrix a statistic (a covariance) and its root or eigenbasis.
    bool kronecker = false;
    /// Sides with more values than this have no statistic. 0: every side has, but only of matrices inside the layers.
    std::int64_t widest_side = 0;
    /// The moments of a layer's matrix are of its projection to this rank, and the projection is kept too. 0: none.
    std::int32_t rank = 0;
    /// The projection is drawn, not decomposed: it has this rank even where a side is shorter.
    bool random_projection = false;
    /// States are 8-bit with one fp32 scale for each block of so many values, in tensors of 4096 values and more. 0:
    /// not.
    std::int32_t block = 0;
    /// Bytes allocated for each value of the tensor that is stepped, while its states are quantised.
    std::int32_t quantising = 0;
    state_kind states = state_kind::torch;  ///< which tensors hold them
    bool in_backward = false;  ///< a tensor is stepped as soon as its gradient is there, which is then freed
    /// Temporaries as large as the tensor that is stepped, where tensors are stepped one by one.
    std::int32_t tensor_temporaries = 0;
    /// A loop frees the temporaries of one tensor after those of the next are made: two sets overlap.
    bool carries = false;
    /// Steps in fp32, the format of its states: a 16-bit tensor and its gradient are copied to fp32 first.
    bool widens = false;
    /// Temporaries as large as all that is trained, where all tensors are stepped in one call (foreach).
    std::int32_t temporaries = 0;
    /// How often such a call reads or writes all that is trained, operation by operation. 0: what is read and written
    /// is so once.
    std::int32_t passes = 0;

    friend constexpr bool operator==(const optimizer&, const optimizer&) = default;
};

/// Gradient descent without states.
inline constexpr optimizer sgd{.name = "sgd"};
/// Gradient descent with momentum.
inline constexpr optimizer sgd_momentum{.name = "sgd_momentum", .moments = 1};
/// First and second moment (arXiv 1412.6980). torch.optim: `foreach` takes "~ sizeof(params) more peak memory", and is
/// seven operations (adam.py, _multi_tensor_adam: lerp, mul, addcmul, sqrt, div, add, addcdiv).
inline constexpr optimizer adam{.name = "adam", .moments = 2, .temporaries = 1, .passes = 18};
/// The states of Adam (arXiv 1711.05101); `foreach` multiplies the weights, too.
inline constexpr optimizer adamw{.name = "adamw", .moments = 2, .temporaries = 1, .passes = 20};
/// AdamW in one kernel, without temporaries (torch.optim: fused = true).
inline constexpr optimizer adamw_fused{.name = "adamw_fused", .moments = 2};
/// AdamW whose states may be evicted to the host (bitsandbytes).
inline constexpr optimizer paged_adamw{.name = "paged_adamw", .moments = 2, .states = state_kind::paged};
/// bitsandbytes: blocks of 256 values since 0.44 (optim/optimizer.py; 2048 before), `min_8bit_size` 4096.
inline constexpr optimizer adamw_8bit{
    .name = "adamw_8bit", .moments = 2, .block = 256, .states = state_kind::bitsandbytes};
/// adamw_8bit whose states may be evicted to the host (bitsandbytes).
inline constexpr optimizer paged_adamw_8bit{
    .name = "paged_adamw_8bit", .moments = 2, .block = 256, .states = state_kind::paged};
/// torchao (low_bit_optim/quant_utils.py, quantize_8bit_with_qmap): while a tensor's states are quantised, their
/// normalised values are there in fp32, and their codes in 64 bits and in 8.
inline constexpr optimizer adamw_8bit_torchao{
    .name = "adamw_8bit_torchao", .moments = 2, .block = 256, .quantising = 4 + 8 + 1};
/// arXiv 1804.04235, without momentum.
inline constexpr optimizer adafactor{.name = "adafactor", .factored = true, .tensor_temporaries = 1, .carries = true};
/// transformers' own (optimization.py, Adafactor): the square of the gradient, and the update, are temporaries.
inline constexpr optimizer adafactor_hf{
    .name = "adafactor_hf", .factored = true, .tensor_temporaries = 2, .widens = true};
/// The states of Adam, in torch.optim's foreach implementation.
inline constexpr optimizer nadam{.name = "nadam", .moments = 2, .temporaries = 1};
/// The states of Adam, in torch.optim's foreach implementation.
inline constexpr optimizer radam{.name = "radam", .moments = 2, .temporaries = 1};
/// The sum of squared gradients, in torch.optim's foreach implementation.
inline constexpr optimizer adagrad{.name = "adagrad", .moments = 1, .temporaries = 2};
/// Momentum alone (arXiv 2302.06675).
inline constexpr optimizer lion{.name = "lion", .moments = 1, .tensor_temporaries = 1, .carries = true};
/// Lion with 8-bit states (bitsandbytes).
inline constexpr optimizer lion_8bit{
    .name = "lion_8bit", .moments = 1, .block = 256, .states = state_kind::bitsandbytes};
/// Lion (bitsandbytes) whose states may be evicted to the host.
inline constexpr optimizer paged_lion{.name = "paged_lion", .moments = 1, .states = state_kind::paged};
/// lion_8bit whose states may be evicted to the host.
inline constexpr optimizer paged_lion_8bit{
    .name = "paged_lion_8bit", .moments = 1, .block = 256, .states = state_kind::paged};
/// The average of squared gradients, in torch.optim's foreach implementation.
inline constexpr optimizer rmsprop{.name = "rmsprop", .moments = 1, .temporaries = 1};
/// AdamW tensor by tensor (torch.optim: foreach = false).
inline constexpr optimizer adamw_loop{.name = "adamw_loop", .moments = 2, .tensor_temporaries = 2};
/// arXiv 1904.00962.
inline constexpr optimizer lamb{.name = "lamb", .moments = 2, .temporaries = 1};
/// Momentum alone for the matrices inside the layers, AdamW for the rest.
inline constexpr optimizer muon{.name = "muon", .moments = 2, .matrix_moments = 1, .temporaries = 1};
/// arXiv 1802.09568. Embeddings, head and vectors have the momentum alone.
inline constexpr optimizer shampoo{.name = "shampoo", .moments = 1, .kronecker = true, .tensor_temporaries = 1};
/// arXiv 2409.11321. Temporaries: the projected gradient, its root, the projected momentum, their quotient and the
/// update. Sides wider than `max_precond_dim` have no basis.
inline constexpr optimizer soap{
    .name = "soap", .moments = 2, .kronecker = true, .widest_side = 10000, .tensor_temporaries = 5};
/// arXiv 2406.16793.
inline constexpr optimizer adam_mini{.name = "adam_mini", .moments = 1, .row_moment = true, .tensor_temporaries = 2};
/// arXiv 2403.03507.
inline constexpr optimizer galore{
    .name = "galore", .moments = 2, .rank = 128, .tensor_temporaries = 2, .carries = true};
/// arXiv 2412.05270.
inline constexpr optimizer apollo{
    .name = "apollo", .moments = 2, .rank = 256, .random_projection = true, .tensor_temporaries = 2, .carries = true};
/// arXiv 2306.09782: steps in fp32, each tensor when the gradient of the next one is there.
inline constexpr optimizer lomo{.name = "lomo", .in_backward = true, .widens = true};
/// arXiv 2405.15682.
inline constexpr optimizer schedule_free{.name = "schedule_free", .moments = 2, .temporaries = 1};

/// Whether tensors are stepped in fp32 as soon as their gradients exist, so that no fp32 copy of them is kept (LOMO).
constexpr bool steps_in_backward(const optimizer& o) { return o.in_backward && o.widens; }

/// Whether an optimizer keeps as many states for each value of any tensor.
constexpr bool is_element_wise(const optimizer& o) {
    return o.matrix_moments < 0 && !o.factored && !o.row_moment && !o.kronecker && o.rank == 0 && o.block == 0;
}

/// The width of a side of a matrix if it has a statistic; else 0.
constexpr std::int64_t preconditioned(const optimizer& o, std::int64_t side) {
    return o.kronecker && (o.widest_side == 0 || side <= o.widest_side) ? side : 0;
}

/// Bytes of the statistics of a matrix's sides, and of their roots or bases. `inner`: the matrix is inside a layer.
constexpr byte_count side_bytes(const optimizer& o, const precision& states, std::int64_t rows, std::int64_t columns,
                                bool inner) {
    if (rows <= 1 || columns <= 1 || !(inner || o.widest_side > 0)) return {};
    const std::int64_t first = preconditioned(o, rows);
    const std::int64_t second = preconditioned(o, columns);
    return (size_of(states, first, first) + size_of(states, second, second)) * 2;
}

/// Bytes of the states of a rows x columns tensor, in `format` unless the optimizer has a format of its own. `inner`:
/// the tensor is inside a layer, whose matrices some optimizers treat differently.
constexpr byte_count state_bytes(const optimizer& o, const precision& format, std::int64_t rows, std::int64_t columns,
                                 bool inner = true) {
    const precision& states = o.widens ? fp32 : format;
    const std::int64_t count = detail::product(rows, columns);
    const bool matrix = inner && rows > 1 && columns > 1;
    const std::int32_t moments = matrix && o.matrix_moments >= 0 ? o.matrix_moments : o.moments;
    if (o.block > 0 && count >= 4096)
        return (bytes(count) + bytes(4) * detail::ceil_quotient(count, o.block)) * moments;
    if (o.rank > 0 && matrix) {  // only the shorter side is projected
        const std::int64_t shorter = rows < columns ? rows : columns;
        const std::int64_t rank = o.random_projection || o.rank < shorter ? o.rank : shorter;
        // Of a decomposition in the gradient's own format a view is kept, which keeps all of it (galore_projector.py).
        const std::int64_t kept = !o.random_projection && states == fp32 ? shorter : rank;
        return size_of(states, rank, count / shorter) * moments + size_of(states, kept, shorter);
    }
    byte_count total = size_of(states, rows, columns) * moments;
    if (o.factored)
        total += rows > 1 && columns > 1 ? size_of(states, 1, rows) + size_of(states, 1, columns)
                                         : size_of(states, 1, count);
    if (o.row_moment) total += size_of(states, 1, rows > 1 ? rows : columns);
    if (o.kronecker) total += side_bytes(o, states, rows, columns, inner);
    return total;
}

/// Values from which on a tensor's states are paged, where an optimizer pages any (bitsandbytes, optim/optimizer.py,
/// get_state_buffer).
inline constexpr std::int64_t paged_from = 100'000;

/// Of state_bytes(), what the driver may evict to the host: not the scales of 8-bit states.
constexpr byte_count paged_bytes(const optimizer& o, const precision& states, std::int64_t rows, std::int64_t columns) {
    if (o.states != state_kind::paged || detail::product(rows, columns) < paged_from) return {};
    return size_of(o.block > 0 ? int8 : states, rows, columns) * o.moments;
}

/// Bytes of the decompositions that are computed while one tensor is stepped. Not counted: temporaries as large as the
/// tensor. `inner`: the tensor is inside a layer.
constexpr byte_count scratch_bytes(const optimizer& o, const precision& states, std::int64_t rows, std::int64_t columns,
                                   bool inner = true) {
    if (rows <= 1 || columns <= 1 || !(inner || o.widest_side > 0)) return {};
    const auto square = [](const precision& format, std::int64_t side) { return size_of(format, side, side); };
    const bool narrow = !(states == fp32);
    if (o.rank > 0) {
        const std::int64_t longer = rows > columns ? rows : columns;
        const std::int64_t shorter = rows > columns ? columns : rows;
        const byte_count wide = narrow ? size_of(fp32, rows, columns) : byte_count{};  // the gradient
        // random_projector.py: the projection, drawn and scaled. galore_projector.py: the singular vectors of both
        // sides, the first `rank` of them scaled, and cast.
        if (o.random_projection) return wide + size_of(fp32, o.rank, shorter) * 2;
        return wide + size_of(fp32, longer, shorter) + square(fp32, shorter) + size_of(fp32, longer, o.rank) +
               (narrow ? size_of(states, shorter, o.rank) : byte_count{});
    }
    if (!o.kronecker) return {};
    const std::int64_t first = preconditioned(o, rows);
    const std::int64_t second = preconditioned(o, columns);
    // A root (pytorch_optimizer, compute_power_svd): the singular vectors, the scaled ones, and their product.
    if (o.widest_side == 0) return square(fp32, first > second ? first : second) * 4;
    // A basis (soap.py, get_orthogonal_matrix_qr): the update of the last statistic; its product with the last basis,
    // sorted, in fp32, and the two factors of that product; the bases found so far.
    const auto found = [&](std::int64_t side) {
        return square(states, side) * 2 + square(fp32, side) * (narrow ? 3 : 2);
    };
    const byte_count last = square(states, first) + found(second);
    return square(states, second) + (found(first) > last ? found(first) : last);
}

}  // namespace llmres::inline v0
