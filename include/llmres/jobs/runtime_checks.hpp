// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/jobs/serving_options.hpp>
#include <llmres/models/format_families.hpp>
#include <llmres/runtimes/command_line.hpp>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <string_view>

/// Refuses what a runtime cannot load, and what a caller wishes of it out of bounds.
namespace llmres::inline v0 {

namespace detail {

/// Refuses a fraction of the device above one, or below the thousandth to which SGLang rounds its own.
constexpr status validate_fraction(const runtime_cache& cache) {
    if (!cache.fraction || (*cache.fraction >= 0.001 && *cache.fraction <= 1.0)) return done{};
    const double percent = *cache.fraction * 100.0;
    text<95> value = percent > -1e9 && percent < 1e9 ? digits(static_cast<std::int64_t>(percent)) : text<95>{"?"};
    value.append(" %");
    text<63> field{"runtime."};
    field.append(cache.fraction_name);
    return refused(error_code::out_of_range, field, value, "a part of the memory: from 0.001 to 1");
}

/// The numbers that a caller sets of a runtime that may be fractional, with their bounds.
constexpr std::array<bounded_real, 2> reals_of(const serving_options& asked) {
    return {{{"runtime.acceptance", asked.acceptance.value_or(0), 0, 1,
              "the part of the drafted tokens that is accepted, 0 to 1"},
             {"runtime.rope_scaling", asked.rope_scaling, 1, 1024, "a factor from 1 to 1024"}}};
}

/// The whole numbers that a caller sets of a runtime with their bounds, for those who check, read and describe them.
constexpr std::array<bounded_field, 9> numbers_of(const runtime& r, const serving_options& asked) {
    return {{{"runtime.max_batched_tokens", r.step.max_batched_tokens.in(tokens), 0, most::tokens},
             {"runtime.max_num_seqs", asked.max_num_seqs, 0, most::sequences},
             {"runtime.max_loras", asked.max_loras, 0, 1 << 16},
             {"runtime.max_lora_rank", asked.max_lora_rank, 1, 1 << 16},
             {"runtime.kv_block", r.cache.block.in(tokens), 0, most::sequences},
             {"runtime.gpu_layers", asked.gpu_layers.value_or(0), 0, 1 << 16},
             {"runtime.n_cpu_moe", asked.host_expert_layers, 0, 1 << 16},
             {"runtime.encoder_tokens", asked.encoder_tokens.in(tokens), 0, most::tokens},
             {"runtime.draft_tokens", asked.draft_tokens, 0, 1024}}};
}

/// Refuses drafted tokens without the part of them that is accepted, and that part without them.
constexpr status validate_speculation(const serving_options& asked) {
    if (asked.draft_tokens > 0 && !asked.acceptance)
        return refused(error_code::missing, "runtime.acceptance", "absent", reals_of(asked)[0].expected);
    if (asked.acceptance && asked.draft_tokens == 0)
        return refused(error_code::missing, "runtime.draft_tokens", "0 or absent",
                       "the tokens that are drafted for a step, 1 to 1024, with runtime.acceptance");
    return done{};
}

/// Refuses a format that the runtime cannot load.
constexpr status validate_format(const runtime& r, const stored_format& weights) {
    if (loads(r.loading, weights.family)) return done{};
    text<191> expected{"a format that "};
    expected.append(r.identity.name);
    expected.append(" loads");
    expected.append(", such as ");
    expected.append(examples_of(r.loading.formats));
    return refused(error_code::unsupported, "weights", weights.name.view(), expected);
}

/// Refuses a format that the runtime's cache cannot be in. `field`: what names it in a document.
constexpr status validate_cache_format(const runtime& r, std::string_view field, const precision& format) {
    if (caches_in(r.loading, format)) return done{};
    text<191> expected{"what "};
    for (const std::string_view part : {r.identity.name.view(), std::string_view{" caches in: "}})
        expected.append(part);
    expected.append(cache_examples_of(r.loading));
    return refused(error_code::unsupported, field, format.name, expected);
}

/// Refuses what sizes the pool of caches where it is out of bounds, by the software's own name of it.
constexpr status validate_pool(const runtime& r, const serving_options& asked) {
    struct size {
        knob_setting setting;
        std::int64_t said, most;
    };
    const auto own_name = [&](knob_setting setting) {
        text<63> field{"runtime."};
        field.append(knob_name(r.identity.knobs, setting));
        return field;
    };
    for (const size& s : {size{knob_setting::cache_bytes, asked.cache_bytes.in(bytes), std::int64_t{1} << 50},
                          size{knob_setting::cache_tokens, asked.cache_tokens.in(tokens), std::int64_t{1} << 40},
                          size{knob_setting::cache_blocks, asked.cache_blocks, std::int64_t{1} << 32}})
        if (s.said < 0 || s.said > s.most) return outside(own_name(s.setting), s.said, 0, s.most);
    if (!r.cache.window_part || (*r.cache.window_part > 0 && *r.cache.window_part <= 1)) return done{};
    return refused(error_code::out_of_range, own_name(knob_setting::window_part),
                   *r.cache.window_part > 1 ? "above 1" : "0, or no number", "a part: above 0, at most 1");
}

}  // namespace detail

/// Refuses a format of weights that the runtime cannot load, a fraction of the device above one or none at all, and
/// options out of bounds.
constexpr status validate(const runtime& r, const serving_options& asked, const stored_format& weights) {
    if (const status s = detail::validate_format(r, weights); !s) return s;
    if (const status s = detail::validate_fraction(r.cache); !s) return s;
    if (const status s = detail::all_in_range(detail::numbers_of(r, asked)); !s) return s;
    if (const status s = detail::all_in_range(detail::reals_of(asked)); !s) return s;
    if (const status s = detail::validate_speculation(asked); !s) return s;
    return detail::validate_pool(r, asked);
}

}  // namespace llmres::inline v0
