// SPDX-License-Identifier: MIT
#include <llmres/inventory/frozen.hpp>

#include <doctest/doctest.h>

#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/models/all.hpp>

#include "../training_jobs.hpp"

using namespace training_jobs;

namespace {

job adapted(const role_set& targets, std::int64_t rank = 8) {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = rank, .targets = targets};
    return j;
}

byte_count saved(const layer& l, const job& j) {
    byte_count all;
    for_each_saved_activation(l, j.model.hidden, training_context{j, {}},
                              [&](const activation& a) { all += local_bytes(a, {}); });
    return all;
}
byte_count unsaved_by(const layer& l, const job& j) {
    return detail::unsaved_by(l, j, j.model.hidden, training_context{j, {}}, {});
}

/// The layer's token mixer without its feed-forward.
layer mixer_of(const layer& whole) {
    layer l = whole;
    l.feed_forward = no_feed_forward;
    l.norm_before_feed_forward = l.norm_after_feed_forward = false;
    return l;
}

layer feed_forward_of(const layer& whole) {
    layer l = whole;
    l.attention = no_attention;
    l.recurrent = {};
    l.norm_before_attention = l.norm_after_attention = false;
    return l;
}

const layer& block() { return models::llama_3_1_8b.layers.kinds[0]; }

constexpr std::int64_t n = 4096, h = 4096;
constexpr byte_count norm = bytes(4) * (n * h + n);  // fp32 input and statistic

}  // namespace

TEST_CASE("a layer is its mixer and its feed-forward: what each saves adds up, in every model") {
    for (const model* m : models::all) {
        job j = full();
        j.model = *m;
        j.sequence = tokens(64);
        if (!validate(j) || training_context{j, {}}.code.norms.one_input) continue;
        CAPTURE(m->name.view());
        for (std::int32_t k = 0; k < m->layers.kind_count; ++k) {
            const layer& l = m->layers.kinds[static_cast<std::size_t>(k)];
            if (l.feed_forward.kind != feed_forward_kind::none && !l.norm_before_feed_forward)
                continue;  // its norm is the mixer's
            CHECK(saved(mixer_of(l), j) + saved(feed_forward_of(l), j) == saved(l, j));
        }
    }
}

TEST_CASE("a first layer does not save what lies before its first adapter") {
    // Adapters of q and v: the norm before them has no gradient to pass on.
    CHECK(unsaved_by(block(), adapted({weight_role::q_proj, weight_role::v_proj})) == norm);
    // Of what the feed-forward reads first: all of attention, and both norms.
    const job late = adapted({weight_role::up_proj});
    CHECK(detail::unreached_layers(late.model, training_context{late, {}}) == 0);
    // The activation passes no gradient on to the gate; its product with `up` needs the activated gate for up's alone.
    CHECK(unsaved_by(block(), late) == saved(mixer_of(block()), late) + norm + bytes(2) * (2 * n * 14336));
    // Of its last product: all that the layer saves but what the adapter reads, in fp32, and its A's output.
    const job last = adapted({weight_role::down_proj});
    CHECK(saved(block(), last) - unsaved_by(block(), last) == bytes(4) * (n * 14336 + n * 8));
    // Of attention's last product: none of what attention saves.
    const job output = adapted({weight_role::o_proj});
    const byte_count mixing = unsaved_by(block(), output);
    CHECK(saved(mixer_of(block()), output) - mixing == bytes(4) * (n * h + n * 8));
}

TEST_CASE("a layer without adapters saves nothing, and the next may be the first") {
    layer plain = block();
    plain.feed_forward = no_feed_forward;
    plain.norm_before_feed_forward = false;
    const job j = adapted({weight_role::up_proj});
    const byte_count cut = unsaved_by(plain, j);
    CHECK(cut == saved(plain, j));

    // Three such layers before one that is adapted.
    job mixed = j;
    mixed.model.layers = {3, plain};
    mixed.model.layers.append(1, block());
    const training_context context{mixed, {}};
    CHECK(detail::cut_off(mixed, {}, context, {}) == cut * 3 + unsaved_by(block(), mixed));
    CHECK(detail::unreached_layers(mixed.model, context) == 3);
    // Layers that are computed again have the embedding's output ask for gradients.
    mixed.recompute = recompute::full;
    CHECK(detail::unreached_layers(mixed.model, training_context{mixed, {}}) == 0);
    CHECK(detail::cut_off(mixed, {}, training_context{mixed, {}}, {}) == byte_count{});
    job trained = full();
    CHECK(detail::cut_off(trained, {}, training_context{trained, {}}, {}) == byte_count{});
}

TEST_CASE("an input that asks for no gradient has no mask of its dropout") {
    job j = adapted({weight_role::q_proj, weight_role::v_proj});
    j.adapter.dropout = 0.1;
    CHECK(unsaved_by(block(), j) == norm + bytes(2) * (n * h));  // a byte a value, for each of the two
}

TEST_CASE("what recomputation has dropped already is not taken off once more") {
    job j = adapted({weight_role::o_proj});  // none of what attention saves
    j.attention = attention_kernel::eager;
    const byte_count all = unsaved_by(block(), j);
    j.recompute = recompute::selective;
    const training_context context{j, {}};
    const byte_count core = named_parts_of(block(), j, {}, context).recomputed;
    CHECK(core > byte_count{});
    CHECK(unsaved_by(block(), j) == all - core);
    // By product, what is stored is stored without gradients, too.
    j.runtime.kernels.checkpointing.selective = selective_code::all_but_products;
    CHECK(unsaved_by(block(), j) == byte_count{});
}

TEST_CASE("no layer leaves out more than it would save, whatever its adapters") {
    const role_set all_targets[] = {{weight_role::q_proj},
                                    {weight_role::o_proj},
                                    {weight_role::up_proj},
                                    {weight_role::down_proj},
                                    {weight_role::q_proj, weight_role::down_proj},
                                    all_linears};
    for (const model* m : models::all)
        for (const role_set& targets : all_targets)
            for (const adapter_kind kind : {adapter_kind::lora, adapter_kind::dora})
                for (const attention_kernel kernel : {attention_kernel::eager, attention_kernel::sdpa}) {
                    job j = adapted(targets);
                    j.model = *m;
                    j.adapter.kind = kind;
                    j.adapter.dropout = 0.05;
                    j.attention = kernel;
                    j.sequence = tokens(64);
                    if (!validate(j) || !validate_training(j, {}, gpus::h100_sxm5_80gb)) continue;
                    CAPTURE(m->name.view());
                    for (std::int32_t k = 0; k < m->layers.kind_count; ++k) {
                        const layer& l = m->layers.kinds[static_cast<std::size_t>(k)];
                        CHECK(unsaved_by(l, j) <= saved(l, j));
                    }
                }
}

TEST_CASE("autocast's copies of what lies before the first adapter pass no gradient on, and are not saved") {
    job j = adapted({weight_role::o_proj});
    j.runtime.kernels.fp32_adapters = true;
    const auto copies = [&](const role_set& targets) {
        j.adapter.targets = targets;
        return detail::unsaved_copies(block(), h, training_context{j, {}});
    };
    CHECK(copies({weight_role::o_proj}) == byte_count{});
    j.autocast = true;
    const std::int64_t kv = 1024, inner = 14336, rank = 8;
    // The weights are in the format of products already: copies are of the first adapters' A alone, o_proj's.
    CHECK(copies({weight_role::o_proj}) == bytes(2) * (rank * h));
    CHECK(copies({weight_role::q_proj, weight_role::v_proj}) == bytes(2) * (2 * rank * h));
    CHECK(copies({weight_role::down_proj}) == bytes(2) * (rank * inner));
    j.weights = fp32;
    // Queries, keys, values and the output's projection, and A of that; the feed-forward passes gradients on.
    CHECK(copies({weight_role::o_proj}) == bytes(2) * (h * (h + 2 * kv) + h * h) + bytes(2) * (rank * h));
    j.weights = nf4;  // packed: a product expands it
    CHECK(copies({weight_role::o_proj}) == bytes(2) * (rank * h));
    j.runtime.kernels.fp32_adapters = false;
    CHECK(copies({weight_role::o_proj}) == byte_count{});
}
