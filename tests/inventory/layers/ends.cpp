// SPDX-License-Identifier: MIT
// Outside the layers of the stack: its ends (outer.hpp), an encoder (encoder_memory.hpp), further tokens
// (prediction.hpp).
#include <llmres/inventory/layers/ends.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/memory/training/encoder.hpp>
#include <llmres/models/all.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../../training_jobs.hpp"
#include "../../validation/pytorch_runs.hpp"

using namespace llmres::detail;

using namespace training_jobs;

namespace {

/// What is kept outside the layers from forward to backward pass; but for what the first layer is seen to keep for all:
/// rotary tables, what an encoder put out.
byte_count outside_layers(const job& j) {
    const training_context context{j, {}};
    byte_count kept;
    const auto count = [&](const activation& a) { kept += local_bytes(a, {}); };
    for_each_input_activation(j.model, context, [&](const activation& a) {
        if (a.role != activation_role::query && a.role != activation_role::linear_input) count(a);
    });
    for_each_output_activation(j.model, context, count);
    for_each_loss_activation(j.model, context, [&](const activation& a, loss_point at) {
        if (at == loss_point::saved || at == loss_point::kept) count(a);
    });
    if (j.model.encoders[0].layers > 0) {
        const encoder& e = j.model.encoders[0];
        const layout alone;
        const weight_training how{j, alone, context};
        const detail::encoder_memory all = detail::encoder_memory_of(j, alone, context, how, {});
        // All layers but the first, and one more.
        kept += all.kept - all.behind - div_up(all.behind, e.layers - 1);
    }
    return kept;
}

}  // namespace

TEST_CASE(
    "outside the layers is kept what autograd was seen to keep there: embeddings, stems, last norms, heads and "
    "losses") {
    std::map<std::string, csv::row> runs;
    for (const csv::row& cells : pytorch_runs::rows()) {
        const pytorch_runs::row r{cells};
        if (r.text("family") != "t5" && r.text("method") == "full" && r.text("recompute") == "none" &&
            r.text("autocast_dtype").empty() && r.text("offload").empty() && r.text("kernels") != "liger" &&
            is_described(pytorch_runs::job_of(r).model))
            runs[r.text("run_id")] = cells;
    }
    std::map<std::string, std::int64_t> saved;
    for (const csv::row& cells : csv::read(LLMRES_SOURCE_DIR "/tests/validation/data/pytorch_saved.csv")) {
        const pytorch_runs::row r{cells};
        if (r.text("layer").empty() && runs.contains(r.text("run_id")))
            saved[r.text("run_id")] += r.number("bytes") * r.number("count");
    }
    CHECK(saved.size() >= 80);
    for (const auto& [run, size] : saved) {
        INFO(run);
        const job j = pytorch_runs::job_of(pytorch_runs::row{runs[run]});
        const std::int64_t ours = outside_layers(j).in(bytes);
        // Not counted: a thousand scores of an image; of a text, what its one token leaves behind the first product;
        // that TRL and LLaMA-Factory take no log-probability of a sequence's last position.
        const bool small = run.starts_with("vit") || run.starts_with("bert_classify");
        const bool lacks_last = run.find("-trl") != run.npos || run.find("-llamafactory") != run.npos;
        const double left_out = lacks_last ? 0.001 : small ? 0.003 : run.starts_with("roberta_classify") ? 0.006 : 2e-4;
        CHECK(static_cast<double>(ours) == doctest::Approx(static_cast<double>(size)).epsilon(left_out));
    }
}

TEST_CASE("tables of cosines and sines have the stream's format, and in OLMo's code stay fp32 (modeling_olmo2.py)") {
    const auto tables = [](std::string_view architecture) {
        job j = full();
        j.model.architecture = architecture;
        byte_count size;
        for_each_input_activation(j.model, training_context{j, {}}, [&](const activation& a) {
            if (a.role == activation_role::query) size += local_bytes(a, {});
        });
        return size;
    };
    CHECK(tables("llama") == bytes(2) * (2 * 4096 * 128));
    CHECK(tables("olmo") == bytes(4) * (2 * 4096 * 128));
    CHECK(tables("olmo2") == bytes(4) * (2 * 4096 * 128));
}

TEST_CASE("an encoder reads its own tokens, and is gone through backwards after the decoder") {
    job j = full();
    const layer block{.attention = {.heads = 16, .kv_heads = 16, .head_dim = 64}, .feed_forward = {.width = 4096}};
    j.model.encoders[0] = {.hidden = 1024, .layers = 6, .block = block, .output = tokens(1500)};
    j.micro_batch = 2;
    const training_context context{j, {}};
    CHECK(detail::encoder_tokens(j.model.encoders[0], context).all() == 2 * 1500);
    const layout alone;
    const weight_training how{j, alone, context};
    const detail::encoder_memory six = detail::encoder_memory_of(j, alone, context, how, {});
    parameter_count each;
    for_each_weight(block, 1024, [&](const weight& w) { each += w.count(); });
    CHECK(six.gradients == bytes(2) * 6 * each.in(parameters));
    CHECK(six.first_gradients == bytes(2) * each.in(parameters));
    CHECK(six.output == bytes(2) * (2 * 1500 * 1024));
    CHECK(six.behind < six.kept);
    j.model.encoders[0].layers = 12;
    const detail::encoder_memory twelve = detail::encoder_memory_of(j, alone, context, how, {});
    CHECK(twelve.kept - six.kept == div_up(six.behind, 5) * 6);
    CHECK(twelve.above == six.above);
}

TEST_CASE(
    "each depth that predicts further tokens keeps its layer, three norms, the projection's input of two widths and "
    "the head's") {
    job j{.model = models::deepseek_v3,
          .task = task::pretraining,
          .weights = bf16,
          .sequence = tokens(2048),
          .attention = attention_kernel::flash};
    j.runtime.kernels.norm = norm_code::fused;
    j.mtp_layers = 1;
    const training_context context{j, {}};
    byte_count kept;
    detail::for_each_depth_activation(j.model, context, [&](const activation& a) { kept += local_bytes(a, {}); });
    const std::int64_t n = 2048, h = j.model.hidden;
    CHECK(kept == bytes(2) * (n * h * (3 + 2 + 1)) + bytes(4) * (3 * n));  // and a statistic a norm
    // Its own stage, or the last; stages behind it have as many micro-batches more in flight there.
    CHECK(detail::prediction_stage({.pipeline = 4}) == 3);
    CHECK(detail::prediction_stage({.pipeline = 4, .stages = read_stages("15|15|16m|15").value()}) == 2);
    CHECK(detail::predictions_in_flight({.pipeline = 4}, 32) == 1);
    CHECK(detail::predictions_in_flight({.pipeline = 4, .stages = read_stages("15|15|16m|15").value()}, 32) == 2);
}

TEST_CASE(
    "an adapter stands beside the transform of a classifier's token, and has copies under autocast; not beside "
    "scores") {
    job j{.model = find_model("bert-base").value(), .task = task::finetuning, .weights = fp32};
    j.model = classifier(j.model, 1000);
    j.sequence = tokens(197), j.micro_batch = 3, j.autocast = true;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::classifier, weight_role::q_proj}};
    j.runtime = runtimes::huggingface;
    const auto elements = [&](activation_role role) {
        const training_context context{j, {}};
        std::vector<std::int64_t> found;
        for_each_output_activation(j.model, context, [&](const activation& a) {
            if (a.role == role) found.push_back(a.elements);
        });
        return found;
    };
    // The pooler's 768 x 768, and of three texts one token each; none of the thousand classes.
    CHECK(elements(activation_role::weight) == std::vector<std::int64_t>{8 * (768 + 768)});
    const std::vector<std::int64_t> read = elements(activation_role::adapter);
    CHECK(std::find(read.begin(), read.end(), 3 * 768) != read.end());
    j.adapter.targets = {weight_role::q_proj};
    CHECK(elements(activation_role::weight).empty());
}
