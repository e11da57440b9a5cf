// SPDX-License-Identifier: MIT
#include <llmres/inventory/placement.hpp>

#include <doctest/doctest.h>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

using namespace llmres;

namespace {

/// Tells the weights of a model apart: place, role and shape.
using weight_key = std::tuple<weight_place, weight_role, std::int64_t, std::int64_t, std::int64_t, bool>;
using weight_tally = std::map<weight_key, std::int64_t>;

weight_key key_of(const weight& w, weight_place place) {
    return {place, w.role, w.rows, w.columns, w.copies, w.routed};
}

void count(weight_tally& found, const job& j, const placement& here) {
    for_each_weight(j, here, [&](const weight& w, std::int32_t times, weight_place place) {
        CHECK(times > 0);
        found[key_of(w, place)] += times;
    });
}

/// The weights of the model itself, each once.
weight_tally inventory(const model& m) {
    weight_tally all;
    for_each_input_weight(m, [&](const weight& w) { ++all[key_of(w, weight_place::input)]; });
    for (std::int32_t i = 0; i < m.layers.size; ++i)
        for_each_weight(m.layers[i], m.hidden, [&](const weight& w) { ++all[key_of(w, weight_place::layer)]; });
    for_each_output_weight(m, [&](const weight& w) { ++all[key_of(w, weight_place::output)]; });
    return all;
}

weight_key embedding_of(const model& m) {
    weight_key key;
    for_each_embedding_weight(m, [&](const weight& w) { key = key_of(w, weight_place::input); });
    return key;
}

job training(const model& m, const runtime& r = no_runtime) {
    return {.model = m, .task = task::pretraining, .sequence = tokens(2048), .runtime = r};
}
job serving(const model& m, const runtime& r = no_runtime) {
    return {.model = m, .context = tokens(4096), .runtime = r};
}

const std::array several{&models::llama_3_1_8b, &models::mixtral_8x7b, &models::deepseek_v3, &models::gemma_3_4b,
                         &models::gpt2_xl,      &models::t5_11b,       &models::qwen2_5_3b};

/// Ways to deal layers to stages: evenly, by chunks that interleave, unevenly, in a V.
std::vector<layout> pipelines_for(const model& m) {
    std::vector<layout> found;
    for (const std::int32_t stages : {1, 2, 3, 4, 7}) found.push_back({.pipeline = stages});
    found.push_back({.pipeline = 2, .virtual_pipeline = 2});
    found.push_back({.pipeline = 2, .first_stage_layers = m.layers.size - 1});
    found.push_back({.pipeline = 3, .embedding_as_layer = true, .loss_as_layer = true});
    if (m.layers.size % 4 == 0)
        found.push_back({.pipeline = 2, .virtual_pipeline = 2, .schedule = pipeline_schedule::zb_v});
    layout listed{.pipeline = 2, .virtual_pipeline = 2};
    listed.stages.chunks = 4;
    listed.stages.layers = {1, 2, 3, static_cast<std::uint8_t>(m.layers.size - 6)};
    found.push_back(listed);
    return found;
}

}  // namespace

TEST_CASE("every layer lies on exactly one stage, however layers are dealt") {
    for (const model* m : several)
        for (const runtime* r : {&no_runtime, &runtimes::huggingface})
            for (const layout& l : pipelines_for(*m)) {
                CAPTURE(std::string{m->name.view()});
                CAPTURE(std::string{r->identity.name.view()});
                CAPTURE(l.pipeline);
                CAPTURE(l.virtual_pipeline);
                kind_counts counts{};
                std::int32_t next = 0;
                for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
                    const placement here = placement_of(training(*m, *r), l, stage);
                    CHECK(here.stage == stage);
                    CHECK(here.layers.first == next);
                    CHECK(here.expert_counts == here.counts);
                    next = here.layers.last;
                    std::int32_t size = 0;
                    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += here.counts[k], size += here.counts[k];
                    CHECK(size == here.layers.size());
                }
                CHECK(next == m->layers.size);
                CHECK(counts == m->layers.counts());
            }
}

TEST_CASE("stages that train hold every weight of the model once, and a tied head a copy of the embedding") {
    for (const model* m : several)
        for (const layout& l : pipelines_for(*m)) {
            CAPTURE(std::string{m->name.view()});
            CAPTURE(l.pipeline);
            weight_tally held;
            for (std::int32_t stage = 0; stage < l.pipeline; ++stage)
                count(held, training(*m), placement_of(training(*m), l, stage));
            weight_tally expected = inventory(*m);
            if (m->tied_head && l.last_stage() != 0) ++expected[embedding_of(*m)];
            CHECK(held == expected);
        }
}

TEST_CASE("GPUs that serve and the host together hold every weight once, whatever is left to the host") {
    for (const model* m : several)
        for (const std::int32_t gpu_layers : {0, 1, 20, m->layers.size, m->layers.size + 1})
            for (const std::int32_t expert_layers : {-1, 0, 5, 1000})
                for (const std::int32_t stages : {1, 2, 4}) {
                    job j = serving(*m);
                    if (gpu_layers < 1000) j.options.gpu_layers = gpu_layers;
                    j.options.experts_on_host = expert_layers >= 0;
                    j.options.host_expert_layers = expert_layers > 0 ? expert_layers : 0;
                    CAPTURE(std::string{m->name.view()});
                    CAPTURE(gpu_layers);
                    CAPTURE(expert_layers);
                    CAPTURE(stages);
                    for (const bool embedding_on_host : {false, true}) {
                        j.runtime.loading.embedding_on_host = embedding_on_host;
                        weight_tally held;
                        for (std::int32_t stage = 0; stage < stages; ++stage)
                            count(held, j, placement_of(j, {.pipeline = stages}, stage));
                        count(held, j, placement_on_host(j));
                        weight_tally expected = inventory(*m);
                        const bool scores = gpu_layers > m->layers.size;
                        if (m->tied_head && scores && (stages > 1 || embedding_on_host)) ++expected[embedding_of(*m)];
                        CHECK(held == expected);
                    }
                }
}

TEST_CASE("the head counts as one more layer: as many GPU layers as the model has leave it on the host") {
    job j = serving(models::llama_3_1_8b);
    j.options.gpu_layers = 32;
    CHECK(placement_of(j, {}, 0).layers.size() == 32);
    CHECK_FALSE(placement_of(j, {}, 0).output);
    CHECK(placement_on_host(j).output);
    CHECK(placement_on_host(j).layers.size() == 0);
    j.options.gpu_layers = 33;
    CHECK(placement_of(j, {}, 0).output);
    CHECK_FALSE(placement_on_host(j).output);
    j.options.gpu_layers = 10;
    CHECK(placement_of(j, {}, 0).layers.first == 22);
    CHECK(placement_on_host(j).layers.last == 22);
    CHECK(placement_of(j, {.pipeline = 2}, 1).layers.first == 27);
}

TEST_CASE("where the head is loaded first, it is one of the layers on GPUs") {
    job j = serving(models::llama_3_1_8b);
    j.runtime.loading.head_first = true;
    for (const std::int32_t gpu_layers : {1, 10, 32, 33}) {
        j.options.gpu_layers = gpu_layers;
        CHECK(placement_of(j, {}, 0).output);
        CHECK(placement_of(j, {}, 0).layers.size() == gpu_layers - 1);
        CHECK_FALSE(placement_on_host(j).output);
        CHECK(placement_on_host(j).layers.last == 33 - gpu_layers);
    }
    j.options.gpu_layers = 0;
    CHECK_FALSE(placement_of(j, {}, 0).output);
    CHECK(placement_on_host(j).output);
    CHECK(placement_on_host(j).layers.last == 32);
    CHECK(runtimes::llama_cpp.loading.head_first);
    CHECK_FALSE(runtimes::llama_cpp_8671.loading.head_first);
}

TEST_CASE("routed experts of the first layers stay on the host, those of whole layers there with them") {
    job j = serving(models::mixtral_8x7b);
    j.options.experts_on_host = true;
    CHECK(placement_of(j, {}, 0).counts[0] == 32);
    CHECK(placement_of(j, {}, 0).expert_counts[0] == 0);
    j.options.host_expert_layers = 12;
    CHECK(placement_of(j, {}, 0).expert_counts[0] == 20);
    CHECK(placement_of(j, {.pipeline = 2}, 0).expert_counts[0] == 4);
    CHECK(placement_of(j, {.pipeline = 2}, 1).expert_counts[0] == 16);
    j.options.gpu_layers = 12;
    CHECK(placement_of(j, {}, 0).expert_counts[0] == 12);
    CHECK(placement_on_host(j).expert_counts[0] == 20);
}

TEST_CASE("towers are on the first stage, or on each where the engine has them there; the embedding is not") {
    job j = serving(models::gemma_3_4b);
    const layout l{.pipeline = 2};
    CHECK(placement_of(j, l, 0).beside_embedding);
    CHECK_FALSE(placement_of(j, l, 1).beside_embedding);
    j.runtime.loading.towers_everywhere = true;
    CHECK(placement_of(j, l, 1).beside_embedding);
    CHECK(placement_of(j, l, 1).embeddings == 1);  // the head is tied
    j.model.tied_head = false;
    CHECK(placement_of(j, l, 1).embeddings == 0);
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    CHECK_FALSE(placement_of(j, l, 1).beside_embedding);
}

TEST_CASE("an FP8 checkpoint of a tied model holds a head beside the embedding, where the engine keeps it") {
    job j = serving(models::qwen2_5_3b);
    REQUIRE(j.model.tied_head);
    j.weights = fp8_e4m3;
    CHECK(placement_of(j, {}, 0).embeddings == 1);
    j.runtime.loading.head_again = true;
    CHECK(placement_of(j, {}, 0).embeddings == 2);
    j.weights = bf16;
    CHECK(placement_of(j, {}, 0).embeddings == 1);
}

TEST_CASE("a GGUF file that stores a tied head needs no copy of the embedding where it is read on the host") {
    job j = serving(models::gemma_3_4b, runtimes::llama_cpp);
    j.gguf = find_gguf_mix("weights", "Q4_K_M").value();
    const auto tensors = [&](weight_role role) {
        int found = 0;
        for_each_gguf_end_tensor(j, placement_of(j, {}, 0), [&](const gguf_tensor& t) { found += t.role == role; });
        return found;
    };
    CHECK(tensors(weight_role::embed_tokens) == 1);
    CHECK(tensors(weight_role::lm_head) == 0);
    j.gguf.value.tied_head_stored = true;
    CHECK(tensors(weight_role::embed_tokens) == 0);
    CHECK(tensors(weight_role::lm_head) == 1);
}

TEST_CASE("depths of multi-token prediction lie on the last stage or on the one that is named, with an embedding") {
    job j = training(models::deepseek_v3);
    j.mtp_layers = 2;
    const layout even{.pipeline = 4};
    CHECK(placement_of(j, even, 3).predictions == 2);
    CHECK(placement_of(j, even, 3).embeddings == 1);
    CHECK(placement_of(j, even, 2).predictions == 0);
    j.mtp_use_repeated_layer = true;
    CHECK(placement_of(j, even, 3).predictions == 1);
    const layout named{.pipeline = 4, .stages = read_stages("15|15|16m|15").value()};
    CHECK(placement_of(j, named, 2).predictions == 1);
    CHECK(placement_of(j, named, 2).embeddings == 1);
    CHECK_FALSE(placement_of(j, named, 2).output);
    CHECK(placement_of(j, named, 3).embeddings == 0);
}

TEST_CASE("a served model's own prediction layers lie on the last stage where they are asked for") {
    job j = serving(models::deepseek_v3);
    CHECK(placement_of(j, {}, 0).predictions == 0);
    j.options.speculates_ahead = true;
    CHECK(placement_of(j, {.pipeline = 2}, 0).predictions == 0);
    CHECK(placement_of(j, {.pipeline = 2}, 1).predictions == j.model.prediction.layers);
    parameter_count predicted;
    for_each_weight(j, placement_of(j, {}, 0), [&](const weight& w, std::int32_t times, weight_place place) {
        if (place == weight_place::prediction) predicted += w.count() * times;
    });
    CHECK(predicted == count_prediction_parameters(j.model));
}

TEST_CASE("layers dealt by bytes are dealt in order; the first GPU has room left for the largest module") {
    for (const std::int32_t stages : {2, 3, 4, 7}) {
        CAPTURE(stages);
        const job j = training(models::llama_3_1_8b, runtimes::huggingface);
        const layout l{.pipeline = stages};
        REQUIRE(detail::is_naive_pipeline(j, l));
        CHECK(placement_of(j, l, 0).layers.size() < placement_of(j, l, 1).layers.size());
    }
    CHECK_FALSE(detail::is_naive_pipeline(training(models::llama_3_1_8b, runtimes::huggingface), {}));
    const job j = training(models::llama_3_1_8b);
    const layout l{.pipeline = 4};
    CHECK_FALSE(detail::is_naive_pipeline(j, l));
    for (std::int32_t s = 0; s < 4; ++s) CHECK(placement_of(j, l, s).counts[0] == 8);
}

TEST_CASE("layers are dealt by the bytes that are loaded, not by those that a 4-bit model's norms are widened to") {
    // prepare_model_for_kbit_training widens after from_pretrained has dealt: embedding and head count as stored.
    job j = training(models::llama_3_1_8b, runtimes::huggingface);
    j.task = task::finetuning;
    j.weights = nf4;
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    const layout l{.pipeline = 2};
    const std::int32_t dealt = placement_of(j, l, 0).layers.size();
    j.runtime.kernels.fp32_stream = false;
    CHECK(placement_of(j, l, 0).layers.size() == dealt);
}

TEST_CASE("the parts that ranks hold cover each weight, and no rank holds more than its share of whole heads") {
    for (const model* m : several)
        for (const layout& l :
             {layout{}, layout{.tensor = 2}, layout{.tensor = 4}, layout{.tensor = 2, .data = 4, .expert = 8},
              layout{.tensor = 4, .data = 2, .expert = 2, .expert_tensor = 2}}) {
            CAPTURE(std::string{m->name.view()});
            CAPTURE(l.tensor);
            CAPTURE(l.expert);
            for_each_weight(*m, [&](const weight& w, std::int64_t) {
                const weight_shape part = local_shape(w, l);
                const std::int64_t ranks = w.routed ? l.expert_tensor_ranks() : l.tensor;
                const std::int64_t spread = w.routed ? l.expert : 1;
                const bool rows = w.split == weight_split::rows, columns = w.split == weight_split::columns;
                CHECK(part.rows * (rows ? ranks : 1) >= w.rows);
                CHECK(part.columns * (columns ? ranks : 1) >= w.columns);
                CHECK(part.copies * spread >= w.copies);
                if (w.copies % spread == 0) CHECK(part.copies * spread == w.copies);
                if (rows && w.rows / w.granule % ranks == 0) CHECK(part.rows * ranks == w.rows);
                if (columns && w.columns / w.granule % ranks == 0) CHECK(part.columns * ranks == w.columns);
                CHECK(local_part(w, l).count() == part.count());
            });
        }
}

TEST_CASE("what lies on a GPU is known at compile time") {
    static constexpr job j{.model = models::llama_3_1_8b, .context = tokens(4096)};
    static_assert(placement_of(j, {.pipeline = 2}, 1).layers.first == 16);
    static_assert(placement_of(j, {.pipeline = 2}, 1).output);
    static_assert(!placement_of(j, {.pipeline = 2}, 0).output);
}

TEST_CASE("as many experts of a rank are computed for a token as it has, and no more than a token goes to") {
    weight experts{.role = weight_role::up_proj, .rows = 8, .columns = 8, .copies = 16, .active = 4, .routed = true};
    CHECK(local_part(experts, layout{.data = 2, .expert = 2}).active == 4);
    CHECK(local_part(experts, layout{.data = 8, .expert = 8}).active == 2);
    CHECK(local_part(experts, layout{.data = 8, .expert = 8}).copies == 2);
    experts.split = weight_split::replicated;
    CHECK(local_part(experts, layout{.tensor = 2}).rows == 8);
}

TEST_CASE("a depth of prediction has the published layer, or one as the model's last") {
    model m = models::llama_3_1_8b;
    m.layers = layer_stack{}.then(1, m.layers.kinds[0]).then(1, models::mixtral_8x7b.layers.kinds[0]);
    CHECK(detail::prediction_block(m).feed_forward.routed());
    m.prediction.layers = 1;
    m.prediction.block = models::gpt2.layers.kinds[0];
    CHECK(detail::prediction_block(m).norm == norm_kind::layer);
    job j{.model = m};
    j.mtp_layers = 3;
    CHECK(detail::depths_held(j) == 3);
    j.mtp_use_repeated_layer = true;
    CHECK(detail::depths_held(j) == 1);
    j.mtp_layers = 0;
    CHECK(detail::depths_held(j) == 0);
}

TEST_CASE("accelerate gives each GPU an equal part and a layer and a quarter, the first less the largest module") {
    // Ten layers of 256 x 256 x 4 + 3 x 256 x 1000 values in 16 bits, 2 MB each.
    const layer block{.attention = {.heads = 4, .kv_heads = 4, .head_dim = 64}, .feed_forward = {.width = 1000}};
    job j{.model = {.vocabulary = 100, .hidden = 256, .layers = {10, block}},
          .task = task::finetuning,
          .weights = bf16,
          .runtime = runtimes::huggingface};
    j.runtime.pipeline.naive = true;
    const std::int64_t each = 2 * (4 * 256 * 256 + 3 * 256 * 1000 + 2 * 256);
    const auto dealt = [&](std::int32_t stages) {
        std::vector<std::int32_t> layers;
        for (std::int32_t s = 0; s < stages; ++s)
            layers.push_back(detail::layers_by_bytes(j, {.pipeline = stages}, s).size());
        return layers;
    };
    // Little beside the layers: room for 5 and 1.25 of them, of which the first GPU leaves one free.
    CHECK(dealt(2) == std::vector<std::int32_t>{5, 5});
    // Of three: 10/3 + 1.25 is 4.6.
    CHECK(dealt(3) == std::vector<std::int32_t>{3, 4, 3});
    // Embedding and head of two layers' size each: room for 7 + 1.25; the first has the embedding, and leaves as much.
    j.model.vocabulary = each * 2 / (2 * 256);
    CHECK(dealt(2) == std::vector<std::int32_t>{4, 6});
    // A tied head is no module of its own: room for 6 + 1.25.
    j.model.tied_head = true;
    CHECK(dealt(2) == std::vector<std::int32_t>{3, 7});
    // Of three layers' size each: room for 8 + 1.25, of which the embedding and what is left take 6.
    j.model.tied_head = false;
    j.model.vocabulary = each * 3 / (2 * 256);
    CHECK(dealt(2) == std::vector<std::int32_t>{3, 7});
}

TEST_CASE("a training job leaves nothing on the host, whatever its serving options say") {
    job j{.model = models::llama_3_1_8b, .task = task::pretraining};
    j.options.gpu_layers = 1;
    j.options.experts_on_host = true;
    j.runtime.loading.embedding_on_host = true;
    const placement host = placement_on_host(j);
    CHECK(host.layers.size() == 0);
    CHECK(host.expert_layers.size() == 0);
    CHECK(host.embeddings == 0);
    CHECK_FALSE(host.output);
}

TEST_CASE("the experts of so many first layers are on the host as are named, at most those of all") {
    job j{.model = models::mixtral_8x7b};
    const auto on_host = [&](std::int32_t named, bool asked = true) {
        j.options.experts_on_host = asked;
        j.options.host_expert_layers = named;
        return placement_on_host(j).expert_layers.size();
    };
    CHECK(on_host(0) == 32);
    CHECK(on_host(1) == 1);
    CHECK(on_host(5) == 5);
    CHECK(on_host(32) == 32);
    CHECK(on_host(40) == 32);
    CHECK(on_host(5, false) == 0);
}

TEST_CASE("further tokens are predicted on the last stage, unless a list names another, be it the first") {
    const auto stage = [](std::string_view list) {
        return detail::prediction_stage({.pipeline = 4, .stages = read_stages(list).value()});
    };
    CHECK(stage("Et*8m|t*8|t*8|t*8L") == 0);
    CHECK(stage("Et*8|t*8m|t*8|t*8L") == 1);
    CHECK(stage("Et*8|t*8|t*8|t*8mL") == 3);
    CHECK(detail::prediction_stage({.pipeline = 4}) == 3);
}

TEST_CASE("a place of which nothing is said is the first stage, and holds nothing") {
    const placement none{};
    CHECK(none.stage == 0);
    CHECK(none.layers.size() == 0);
    CHECK_FALSE(none.beside_embedding);
    CHECK_FALSE(none.output);
    CHECK(weight_shape{}.count() == parameters(1));
}

TEST_CASE("a depth that predicts has a layer, three norms, and what joins its two inputs") {
    const model m = find_model("deepseek-v3").value();
    std::vector<weight> shown;
    detail::for_each_depth_weight(m, [&](const weight& w) { shown.push_back(w); });
    parameter_count all, of_layer;
    for (const weight& w : shown) all += w.count();
    for_each_weight(detail::prediction_block(m), m.hidden, [&](const weight& w) { of_layer += w.count(); });
    CHECK(all == of_layer + parameters(7168 * (2 * 7168) + 3 * 7168));
}
