// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <llmres/jobs/serving_options.hpp>
#include <llmres/runtimes/command_line.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// Sets what a caller wishes of a runtime by the names that its software has.
namespace llmres::inline v0 {

namespace detail {

/// The integer part, saturated: what is too much is still too much when it is validated.
template <class Integer>
constexpr Integer whole_part(double number) {
    constexpr auto least = (std::numeric_limits<Integer>::min)(), most = (std::numeric_limits<Integer>::max)();
    if (!(number < static_cast<double>(most))) return most;
    return number > static_cast<double>(least) ? static_cast<Integer>(number) : least;
}

/// Sets what a job wishes of its runtime; returns whether the setting is one of these.
constexpr bool set_option(serving_options& asked, knob_setting setting, double value) {
    const std::int64_t whole = whole_part<std::int64_t>(value);
    const std::int32_t narrow = whole_part<std::int32_t>(value);
    switch (setting) {
        case knob_setting::sequences: asked.max_num_seqs = whole; return true;
        case knob_setting::cache_bytes: asked.cache_bytes = bytes(whole); return true;
        case knob_setting::cache_tokens: asked.cache_tokens = tokens(whole); return true;
        case knob_setting::cache_blocks: asked.cache_blocks = whole; return true;
        case knob_setting::max_loras: asked.max_loras = whole; return true;
        case knob_setting::max_lora_rank: asked.max_lora_rank = whole; return true;
        case knob_setting::gpu_layers: asked.gpu_layers = narrow; return true;
        case knob_setting::experts_on_host:
            asked.experts_on_host = value != 0;
            asked.host_expert_layers = 0;
            return true;
        case knob_setting::host_expert_layers:
            asked.host_expert_layers = narrow;
            asked.experts_on_host = narrow > 0;
            return true;
        default: return false;
    }
}

/// Sets what the runtime does.
constexpr void set_behaviour(runtime& r, knob_setting setting, double value) {
    const std::int64_t whole = whole_part<std::int64_t>(value);
    switch (setting) {
        case knob_setting::batched_tokens: return set_batched_tokens(r.step, tokens(whole));
        case knob_setting::cache_block: r.cache.block = tokens(whole); return;
        case knob_setting::window_part: r.cache.window_part = value; return;
        case knob_setting::no_cuda_graphs:
            if (value == 0) return;
            r.process.cuda_graphs = r.process.layer_graphs = {};
            r.launches.graph_context = tokens(1);
            return;
        case knob_setting::graph_context: r.launches.graph_context = tokens(whole); return;
        case knob_setting::flash_attention: r.serving_kernels.flash_attention = value != 0; return;
        case knob_setting::whole_windows:
            if (value != 0) r.cache.windows = window_cells::whole;
            return;
        case knob_setting::latent_part:
            if (whole <= 0) return;
            if (r.serving_kernels.latent.expanded > byte_count{}) r.serving_kernels.latent.expanded = mib(whole);
            r.serving_kernels.latent.scores = mib(whole);
            return;
        case knob_setting::latent_use:
            if (whole >= 2) return;
            r.serving_kernels.latent.expanded = {};
            r.serving_kernels.latent.copies_values = false;
            r.cache.transposed_values = true;
            return;
        case knob_setting::no_mapped_weights: r.loading.maps_weights = value == 0; return;
        case knob_setting::repacks_on_host:
            r.loading.host_experts.copied = value == 0;
            if (value != 0) r.loading.maps_weights = false;
            return;
        case knob_setting::overlaps_steps:
            if (r.cache.in_flight == steps_in_flight::one) return;
            r.cache.in_flight = value != 0 ? steps_in_flight::stages_ahead : steps_in_flight::stages;
            return;
        case knob_setting::shares_prefixes:
            r.cache.shares_prefixes = value != 0;
            if (value == 0) r.cache.kept = kept_states::one;
            if (value != 0 && r.cache.kept == kept_states::one) r.cache.kept = kept_states::each_block;
            return;
        case knob_setting::host_computes: r.loading.host_experts.copied = value == 0; return;
        default: return;
    }
}

constexpr void set(runtime& r, serving_options& asked, knob_setting setting, double value) {
    if (!set_option(asked, setting, value)) set_behaviour(r, setting, value);
}

}  // namespace detail

/// Sets a knob under the software's own name, as its command line spells it without the dashes. Refuses a name that the
/// software does not have. (validate() says what the value may be.)
constexpr status set_knob(runtime& r, serving_options& asked, std::string_view name, double value) {
    const bool has_fraction = takes_fraction(r.cache);
    if (has_fraction && name == r.cache.fraction_name.view()) {
        r.cache.fraction = value;
        return done{};
    }
    if (const knob* found = find_knob(r.identity.knobs, name)) {
        detail::set(r, asked, found->setting, value);
        return done{};
    }
    text<63> field{"runtime."};
    field.append(name);
    text<191> expected{"a knob of "};
    expected.append(r.identity.name);
    if (has_fraction) {
        expected.append(", such as ");
        expected.append(r.cache.fraction_name);
    }
    return refused(error_code::unknown, field, name, expected);
}

}  // namespace llmres::inline v0
