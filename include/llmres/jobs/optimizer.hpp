// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>

/// What an optimizer keeps for each tensor it trains.
namespace llmres::inline v0 {

struct optimizer {
    text<23> name{};
    std::int32_t moments = 0;          ///< running averages as large as the tensor
    std::int32_t matrix_moments = -1;  ///< the same for matrices inside the layers, if other than `moments`
    bool factored = false;             ///< and a second moment as one row and one column; a vector's is whole
    bool row_moment = false;           ///< and one value a row
    bool kronecker = false;            ///< and for each side of a matrix a statistic and its root or basis
    std::int64_t widest_side =
        0;                  ///< ... of at most so many values, in any matrix; 0: of any width, inside the layers only
    std::int32_t rank = 0;  ///< the moments of a layer's matrix are of its projection to this rank, which is kept too
    bool random_projection = false;  ///< drawn, not decomposed: of that rank also where a side is shorter
    std::int32_t block = 0;  ///< states are 8-bit, with one fp32 scale a block, in tensors of 4096 values and more
    std::int32_t quantising =
        0;               ///< bytes for each value of the tensor that is stepped, while its states are quantised anew
    bool paged = false;  ///< states may be evicted to the host
    bool in_backward = false;  ///< a tensor is updated as soon as its gradient is there, and the gradient freed
    std::int32_t tensor_temporaries = 0;  ///< tensors as large as the one that is stepped, where each is stepped alone
    bool carries = false;                 ///< ... and a loop lets go of one tensor's when it has the next one's
    bool widens = false;           ///< steps in fp32, as its states are: a narrower tensor and its gradient are copied
    std::int32_t temporaries = 0;  ///< tensors as large as all that is trained, while it steps in one call (foreach)

    friend constexpr bool operator==(const optimizer&, const optimizer&) = default;
};

inline constexpr optimizer sgd{.name = "sgd"};
inline constexpr optimizer sgd_momentum{.name = "sgd_momentum", .moments = 1};
/// arXiv 1412.6980: first and second moment. torch.optim: `foreach` takes "~ sizeof(params) more peak memory".
inline constexpr optimizer adam{.name = "adam", .moments = 2, .temporaries = 1};
inline constexpr optimizer adamw{
    .name = "adamw", .moments = 2, .temporaries = 1};                         ///< arXiv 1711.05101: the same states
inline constexpr optimizer adamw_fused{.name = "adamw_fused", .moments = 2};  ///< in one kernel
inline constexpr optimizer paged_adamw{.name = "paged_adamw", .moments = 2, .paged = true};
/// bitsandbytes: blocks of 256 values since 0.44 (optim/optimizer.py; 2048 before), `min_8bit_size` 4096.
inline constexpr optimizer adamw_8bit{.name = "adamw_8bit", .moments = 2, .block = 256};
inline constexpr optimizer paged_adamw_8bit{.name = "paged_adamw_8bit", .moments = 2, .block = 256, .paged = true};
/// torchao (low_bit_optim/quant_utils.py, quantize_8bit_with_qmap): normalised values in fp32, their codes in 64 bits,
/// and in 8.
inline constexpr optimizer adamw_8bit_torchao{
    .name = "adamw_8bit_torchao", .moments = 2, .block = 256, .quantising = 4 + 8 + 1};
inline constexpr optimizer adafactor{.name = "adafactor",
                                     .factored = true,
                                     .tensor_temporaries = 1,
                                     .carries = true};  ///< arXiv 1804.04235, without momentum
/// transformers' own (optimization.py, Adafactor): the square of the gradient, and the update.
inline constexpr optimizer adafactor_hf{
    .name = "adafactor_hf", .factored = true, .tensor_temporaries = 2, .widens = true};
inline constexpr optimizer nadam{.name = "nadam", .moments = 2, .temporaries = 1};
inline constexpr optimizer radam{.name = "radam", .moments = 2, .temporaries = 1};
inline constexpr optimizer adagrad{.name = "adagrad", .moments = 1, .temporaries = 2};
inline constexpr optimizer lion{
    .name = "lion", .moments = 1, .tensor_temporaries = 1, .carries = true};  ///< arXiv 2302.06675
inline constexpr optimizer lion_8bit{.name = "lion_8bit", .moments = 1, .block = 256};
inline constexpr optimizer rmsprop{.name = "rmsprop", .moments = 1, .temporaries = 1};
inline constexpr optimizer adamw_loop{
    .name = "adamw_loop", .moments = 2, .tensor_temporaries = 2};  ///< tensor by tensor (foreach = false)
inline constexpr optimizer lamb{.name = "lamb", .moments = 2, .temporaries = 1};  ///< arXiv 1904.00962
inline constexpr optimizer muon{
    .name = "muon", .moments = 2, .matrix_moments = 1, .temporaries = 1};  ///< AdamW for all but the layers' matrices
/// arXiv 1802.09568. Embeddings, head and vectors have the momentum alone.
inline constexpr optimizer shampoo{.name = "shampoo", .moments = 1, .kronecker = true, .tensor_temporaries = 1};
/// arXiv 2409.11321. The projected gradient, its root, the projected momentum, their quotient and the update; wider
/// sides than `max_precond_dim` have no basis.
inline constexpr optimizer soap{
    .name = "soap", .moments = 2, .kronecker = true, .widest_side = 10000, .tensor_temporaries = 5};
inline constexpr optimizer adam_mini{
    .name = "adam_mini", .moments = 1, .row_moment = true, .tensor_temporaries = 2};  ///< arXiv 2406.16793
inline constexpr optimizer galore{
    .name = "galore", .moments = 2, .rank = 128, .tensor_temporaries = 2, .carries = true};  ///< arXiv 2403.03507
inline constexpr optimizer apollo{.name = "apollo",
                                  .moments = 2,
                                  .rank = 256,
                                  .random_projection = true,
                                  .tensor_temporaries = 2,
                                  .carries = true};  ///< arXiv 2412.05270
/// arXiv 2306.09782: steps in fp32, each tensor when the next one's gradient comes.
inline constexpr optimizer lomo{.name = "lomo", .in_backward = true, .widens = true};
inline constexpr optimizer schedule_free{
    .name = "schedule_free", .moments = 2, .temporaries = 1};  ///< arXiv 2405.15682

inline constexpr std::array optimizers{sgd,
                                       sgd_momentum,
                                       adam,
                                       adamw,
                                       adamw_fused,
                                       paged_adamw,
                                       adamw_8bit,
                                       paged_adamw_8bit,
                                       adamw_8bit_torchao,
                                       adafactor,
                                       adafactor_hf,
                                       nadam,
                                       radam,
                                       adagrad,
                                       lion,
                                       lion_8bit,
                                       rmsprop,
                                       adamw_loop,
                                       lamb,
                                       muon,
                                       shampoo,
                                       soap,
                                       adam_mini,
                                       galore,
                                       apollo,
                                       lomo,
                                       schedule_free};

/// The optimizer of that name; an `unknown` error names those nearest to it.
constexpr result<optimizer> find_optimizer(std::string_view name, std::string_view field = "optimizer") {
    for (const optimizer& o : optimizers)
        if (o.name == name) return o;
    std::array<std::string_view, optimizers.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = optimizers[i].name.view();
    return refused(error_code::unknown, field, name, such_as("an optimizer", nearest(name, names)));
}

/// The width of a side, if it has a statistic.
constexpr std::int64_t preconditioned(const optimizer& o, std::int64_t side) {
    return o.kronecker && (o.widest_side == 0 || side <= o.widest_side) ? side : 0;
}

/// The statistics of a matrix's sides, and their roots or bases; `inner` as below.
constexpr byte_count side_bytes(const optimizer& o, const precision& states, std::int64_t rows, std::int64_t columns,
                                bool inner) {
    if (rows <= 1 || columns <= 1 || !(inner || o.widest_side > 0)) return {};
    const std::int64_t first = preconditioned(o, rows);
    const std::int64_t second = preconditioned(o, columns);
    return (size_of(states, first, first) + size_of(states, second, second)) * 2;
}

/// States of a rows x columns tensor; `inner` means a matrix inside the layers, which some optimizers treat apart.
constexpr byte_count state_bytes(const optimizer& o, const precision& format, std::int64_t rows, std::int64_t columns,
                                 bool inner = true) {
    const precision& states = o.widens ? fp32 : format;
    const std::int64_t count = detail::product(rows, columns);
    const bool matrix = inner && rows > 1 && columns > 1;
    const std::int32_t moments = matrix && o.matrix_moments >= 0 ? o.matrix_moments : o.moments;
    if (o.block > 0 && count >= 4096)
        return (bytes(count) + bytes(4) * detail::ceil_quotient(count, o.block)) * moments;
    if (o.rank > 0 && matrix) {  // the longer side stays
        const std::int64_t shorter = rows < columns ? rows : columns;
        const std::int64_t rank = o.random_projection || o.rank < shorter ? o.rank : shorter;
        // Of a decomposition in the gradient's own format a view is kept, and so all of it (galore_projector.py).
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

/// What it makes while it steps one tensor, but for tensors as large as that one: decompositions. `inner` as above.
constexpr byte_count scratch_bytes(const optimizer& o, const precision& states, std::int64_t rows, std::int64_t columns,
                                   bool inner = true) {
    if (rows <= 1 || columns <= 1 || !(inner || o.widest_side > 0)) return {};
    const auto square = [](const precision& format, std::int64_t side) { return size_of(format, side, side); };
    const bool narrow = !(states == fp32);
    if (o.rank > 0) {
        const std::int64_t longer = rows > columns ? rows : columns;
        const std::int64_t shorter = rows > columns ? columns : rows;
        const byte_count wide = narrow ? size_of(fp32, rows, columns) : byte_count{};  // the gradient
        // random_projector.py: drawn and scaled. galore_projector.py: both sides' vectors, their first few scaled, and
        // cast.
        if (o.random_projection) return wide + size_of(fp32, o.rank, shorter) * 2;
        return wide + size_of(fp32, longer, shorter) + square(fp32, shorter) + size_of(fp32, longer, o.rank) +
               (narrow ? size_of(states, shorter, o.rank) : byte_count{});
    }
    if (!o.kronecker) return {};
    const std::int64_t first = preconditioned(o, rows);
    const std::int64_t second = preconditioned(o, columns);
    // A root (pytorch_optimizer, compute_power_svd): vectors, those scaled, and the product.
    if (o.widest_side == 0) return square(fp32, first > second ? first : second) * 4;
    // A basis (soap.py, get_orthogonal_matrix_qr): the last statistic's update; the product with the last basis,
    // sorted, wide, and its two factors; the bases found so far.
    const auto found = [&](std::int64_t side) {
        return square(states, side) * 2 + square(fp32, side) * (narrow ? 3 : 2);
    };
    const byte_count last = square(states, first) + found(second);
    return square(states, second) + (found(first) > last ? found(first) : last);
}

}  // namespace llmres::inline v0
