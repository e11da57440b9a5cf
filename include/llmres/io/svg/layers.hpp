// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/placement.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/io/svg/drawing.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <string>
#include <string_view>
#include <utility>

/// A layout as a picture: which GPUs hold which layers and which routed experts.
namespace llmres::inline v0 {

/// The layers, embedding and head of each pipeline stage with the GPUs that share them, and the routed experts of each
/// rank that shares them. Beyond 16 stages or ranks the first 15 and the last are drawn.
inline std::string layers_to_svg(const job& j, const layout& l, std::string_view title);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Rows and boxes that a picture has at most; of more, the last but one says how many are left out.
inline constexpr std::int32_t most_drawn = 16;

/// Calls draw(i) for the first 15 of many and the last, and skip(n) between them for those left out.
template <class Draw, class Skip>
void for_each_drawn(std::int32_t count, const Draw& draw, const Skip& skip) {
    const bool all = count <= most_drawn;
    for (std::int32_t i = 0; i < (all ? count : most_drawn - 1); ++i) draw(i);
    if (all) return;
    skip(count - most_drawn);
    draw(count - 1);
}

/// "GPU 3", or "GPUs 4 to 7".
inline std::string gpus_text(std::int64_t first, std::int64_t count) {
    return count == 1 ? detail::filled("GPU {}", first) : detail::filled("GPUs {} to {}", first, first + count - 1);
}

/// Layers of a model that have routed experts, and those of the first of them.
struct routed_layers {
    std::int32_t layers = 0;
    std::int64_t experts = 0;

    routed_layers(const model& m, const kind_counts& counts) {
        for (std::size_t k = 0; k < m.layers.distinct().size(); ++k) {
            const feed_forward& f = m.layers.kinds[k].feed_forward;
            if (!f.routed()) continue;
            layers += counts[k];
            if (experts == 0) experts = f.experts.count;
        }
    }
};

/// A stage of a pipeline as a row.
inline void draw_stage(drawing& into, double y, const job& j, const layout& l, std::int32_t stage, double layer_width) {
    const placement lies = placement_of(j, l, stage);
    const std::int32_t layers = lies.layers.size();
    const std::int64_t ranks = std::int64_t{l.tensor} * l.data * l.context_parallel;
    into.text(drawing::left, y + 19, detail::filled("stage {}: {}", stage, gpus_text(stage * ranks, ranks)));
    double x = drawing::left + 220;
    const auto part = [&](double wide, memory_term colour) {
        into.box(x, y, wide - 1, 26, colour_of(colour));
        x += wide;
    };
    if (lies.embeddings > 0) part(8, memory_term::kv_cache);
    const std::int32_t dense = layers - routed_layers{j.model, lies.counts}.layers;
    for (std::int32_t i = 0; i < layers; ++i)
        part(layer_width, i < dense ? memory_term::weights : memory_term::adapter);
    if (lies.output) part(8, memory_term::activations);
    into.text(x + 8, y + 19, detail::filled("{} layers", layers), "soft");
}

/// The routed experts of a layer by the ranks that share them, eight in a row; returns where the next thing starts.
inline double draw_experts(drawing& into, double y, const routed_layers& routed, const layout& l) {
    constexpr std::int32_t in_row = 8;
    constexpr double row = 50;
    constexpr double wide = (drawing::right - drawing::left) / in_row;
    const std::int64_t each = ceil_quotient(routed.experts, std::int64_t{l.expert});
    into.text(drawing::left, y + 14,
              detail::filled("Routed experts, {} in each of {} layers: {} on each of {} ranks of a stage",
                             routed.experts, routed.layers, each, l.expert),
              "soft");
    std::int32_t drawn = 0;
    double below = 0;
    const auto rows_of = [](std::int32_t boxes) { return static_cast<double>(ceil_quotient(boxes, in_row)); };
    const auto at = [&] {
        return std::pair{drawing::left + wide * (drawn % in_row), y - 24 + row * rows_of(drawn + 1)};
    };
    for_each_drawn(
        l.expert,
        [&](std::int32_t rank) {
            const auto [x, top] = at();
            const std::int64_t last = (std::min)((rank + 1) * each, routed.experts) - 1;
            into.box(x, top, wide - 4, 6, colour_of(memory_term::adapter));
            into.text(x, top + 22,
                      last == rank * each ? detail::filled("{}", last) : detail::filled("{}-{}", rank * each, last));
            const std::int32_t ranks = l.expert_tensor_ranks();
            into.text(x, top + 38,
                      ranks == 1 ? detail::filled("GPU {}", rank)
                                 : detail::filled("GPU {}-{}", rank * ranks, (rank + 1) * ranks - 1),
                      "soft");
            ++drawn;
        },
        [&](std::int32_t ranks) {
            into.text(drawing::left, y + 92 + row, detail::filled("{} more ranks before the last", ranks), "soft");
            below = 20;
        });
    return y + 30 + row * rows_of(drawn) + below;
}

}  // namespace detail

inline std::string layers_to_svg(const job& j, const layout& l, std::string_view title) {
    using detail::drawing;
    drawing into{title, "Layers over " + to_text(l)};
    std::int32_t longest = 1;
    for (std::int32_t s = 0; s < l.pipeline; ++s) longest = (std::max)(longest, placement_of(j, l, s).layers.size());
    const double layer_width = (std::min)(16.0, 280.0 / longest);
    double y = 68;
    detail::for_each_drawn(
        l.pipeline,
        [&](std::int32_t stage) {
            detail::draw_stage(into, y, j, l, stage, layer_width);
            y += 34;
        },
        [&](std::int32_t stages) {
            into.text(drawing::left, y + 19, detail::filled("{} more stages", stages), "soft");
            y += 34;
        });
    double x = drawing::left;
    const auto legend = [&](std::string_view name, memory_term colour, double wide) {
        into.box(x, y + 6, 13, 13, detail::colour_of(colour));
        into.text(x + 20, y + 18, name);
        x += wide;
    };
    const detail::routed_layers routed{j.model, j.model.layers.counts()};
    legend("embedding", memory_term::kv_cache, 115);
    if (routed.layers < j.model.layers.size) legend("a layer", memory_term::weights, 90);
    if (routed.layers > 0) legend("a layer with experts", memory_term::adapter, 175);
    legend("norm and head", memory_term::activations, 145);
    y += 32;
    if (l.expert > 1 && routed.layers > 0) y = detail::draw_experts(into, y + 8, routed, l);
    return into.finished(y);
}

}  // namespace llmres::inline v0
