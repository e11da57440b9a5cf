// SPDX-License-Identifier: MIT
// The jobs of Megatron-LM, whose command lines describe the model by its shape.
#include "commands.hpp"
#include "job_options.hpp"
#include "trainers.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <llmres/io/json/launch/given.hpp>
#include <llmres/models/all.hpp>
#include <llmres/values/text.hpp>
#include <optional>

namespace program {
namespace {

// clang-format off
using enum setting_use;
constexpr auto megatron_settings = std::to_array<trainer_setting>({
#include "trainers/megatron.inc"
});
// clang-format on
constexpr trainer megatron_trainer{"Megatron-LM", megatron_settings};

/// A rate that is said, and Megatron's own where it is not.
bool drops(const told_settings& told, const char* name) {
    double rate = 0;
    return !llmres::detail::real_number(told.text(name), rate) || rate > 0;  // 0.1 unasked
}

/// Rows of the embedding: those of the tokenizer, padded so that each tensor-parallel rank has a multiple of 128
/// (training/arguments.py: make_vocab_size_divisible_by).
std::int64_t vocabulary_of(const told_settings& told, const given_settings& given, std::int64_t tensor,
                           std::vector<std::string>& notes) {
    if (const std::int64_t padded = told.number("padded_vocabulary", 0); padded > 0) return padded;
    std::int64_t words = told.number("vocabulary", 0);
    const std::string tokenizer = told.text("tokenizer"), model = told.text("tokenizer_model");
    if (words == 0 && (tokenizer == "GPT2BPETokenizer" || (tokenizer.empty() && given.contains("merge_file"))))
        words = 50257;
    if (words == 0 && tokenizer == "Llama2Tokenizer") words = 32000;
    if (words == 0 && !model.empty())
        if (const auto preset = llmres::find_preset(model)) {
            words = preset->model.vocabulary;
            notes.push_back(fmt::format("the vocabulary is taken to be that of {} (--tokenizer-model)", model));
        }
    if (words == 0)
        throw refusal{llmres::refused(llmres::error_code::missing, "--vocab-size", "absent",
                                      "the tokenizer's number of words: its file is not opened")};
    const std::int64_t part =
        job_options::in_range(told.number("divisible", 128), "--make-vocab-size-divisible-by") * tensor;
    return (words + part - 1) / part * part;
}

nlohmann::json attention_of(const told_settings& told, std::int64_t hidden) {
    const std::int64_t heads = job_options::in_range(told.number("heads", 0), "--num-attention-heads");
    nlohmann::json attention{{"heads", heads}};
    if (told.is("latent_attention")) {
        attention["kv_rank"] = told.number("kv_rank", 32);
        if (const std::int64_t rank = told.number("q_rank", 0); rank > 0) attention["q_rank"] = rank;
        attention["head_dim"] = told.number("nope_dim", 128);
        attention["rope_dim"] = told.number("rope_dim", 64);
        attention["value_dim"] = told.number("value_dim", 128);
    } else {
        attention["kv_heads"] = told.is("grouped") ? told.number("kv_heads", 1) : heads;
        attention["head_dim"] = told.number("head_dim", std::max<std::int64_t>(hidden / heads, 1));
        if (told.is("qk_norm")) attention["qk_norm"] = "shared";
    }
    if (const bool bias = told.text("bias") != "false"; bias || told.is("qkv_bias")) {
        attention["qkv_bias"] = true;
        if (bias) attention["output_bias"] = true;
    }
    return attention;
}

nlohmann::json feed_forward_of(const told_settings& told, std::int64_t hidden) {
    const bool gated = told.is("gated");
    const std::int64_t width = told.number("width", gated ? hidden * 8 / 3 / 64 * 64 : 4 * hidden);
    nlohmann::json made{{"kind", gated ? "gated" : "plain"}, {"width", width}};
    if (told.text("bias") != "false") made["bias"] = true;
    if (const std::int64_t experts = told.number("experts", 0); experts > 0) {
        made["experts"] = {{"count", experts},
                           {"per_token", told.number("per_token", 2)},
                           {"width", told.number("expert_width", width)}};
        if (const std::int64_t shared = told.number("shared_width", 0); shared > 0)
            made["experts"]["shared_width"] = shared;
        if (told.is("shared_gate")) made["experts"]["shared_gate"] = true;
        if (const std::int64_t latent = told.number("latent", 0); latent > 0) made["experts"]["latent"] = latent;
    }
    return made;
}

/// The first layers without experts: Megatron's list of layers, ([0]*3+[1]*58). Nothing where others have none.
std::optional<std::int64_t> dense_layers(const std::string& pattern, std::int64_t layers) {
    if (pattern.empty() || pattern == "1") return 0;
    std::string_view rest = pattern;
    const auto takes = [&](std::string_view part) {
        const bool begins = rest.starts_with(part);
        if (begins) rest.remove_prefix(part.size());
        return begins;
    };
    if (!takes("([0]*")) return {};
    const std::int64_t dense = llmres::detail::taken_number(rest);
    if (!takes("+[1]*")) return {};
    const std::int64_t routed = llmres::detail::taken_number(rest);
    const bool are_all = dense >= 0 && routed >= 0 && dense + routed == layers && rest == ")";
    return are_all ? std::optional{dense} : std::nullopt;
}

nlohmann::json shape_of(const told_settings& told, const given_settings& given, std::int64_t tensor,
                        std::vector<std::string>& notes) {
    for (const auto& [kept, option] :
         {std::pair{"hidden", "--hidden-size"}, std::pair{"heads", "--num-attention-heads"}})
        if (told.text(kept).empty())
            throw refusal{llmres::refused(llmres::error_code::missing, option, "absent", "it, of Megatron's options")};
    const std::int64_t hidden = job_options::in_range(told.number("hidden", 0), "--hidden-size");
    nlohmann::json model{{"hidden", hidden}, {"vocabulary", vocabulary_of(told, given, tensor, notes)}};
    model["attention"] = attention_of(told, hidden);
    model["feed_forward"] = feed_forward_of(told, hidden);
    const std::string norm = told.text("norm");
    model["norm"] = norm.empty() ? "layer" : norm;
    model["tied_head"] = !told.is("untied");
    const std::int64_t context = told.number("max_context", 0);
    if (context > 0) model["max_context"] = context;
    const std::string positions = told.text("positions");
    if (context > 0 && (positions.empty() || positions == "learned")) model["positions"] = context;
    const std::int64_t layers = told.number("layers", 0);
    if (const std::string pattern = told.text("pattern"); !pattern.empty()) {
        std::string letters = pattern.substr(0, pattern.find('/'));
        std::erase(letters, '|');
        model["layers"] = letters;
        if (letters.size() < pattern.size())
            model["prediction"] = {{"layers", std::ranges::count(pattern, '/')},
                                   {"block", pattern.substr(pattern.find_last_of('/') + 1)}};
        const std::int64_t head_dim = job_options::in_range(told.number("mamba_head_dim", 64), "--mamba-head-dim");
        model["recurrent"] = {{"heads", told.number("mamba_heads", 2 * hidden / head_dim)},
                              {"head_dim", head_dim},
                              {"key_heads", told.number("mamba_groups", 8)},
                              {"state", told.number("state", 128)},
                              {"chunk", 128}};
        return model;
    }
    if (layers == 0)
        throw refusal{
            llmres::refused(llmres::error_code::missing, "--num-layers", "absent", "it, or --hybrid-layer-pattern")};
    model["layers"] = layers;
    if (told.number("experts", 0) > 0) {
        const std::optional<std::int64_t> dense = dense_layers(told.text("expert_layers"), layers);
        if (!dense)
            throw refusal{llmres::refused(llmres::error_code::unsupported, "--moe-layer-freq",
                                          told.text("expert_layers"),
                                          fmt::format("1, or ([0]*N+[1]*M) with N + M = {} layers", layers))};
        if (*dense > 0) model["dense_layers"] = *dense;
    }
    return model;
}

}  // namespace

trained_job job_of_megatron(const given_settings& given, const launched_processes& by) {
    job_options job{told_by(megatron_trainer, given), by};
    const told_settings& told = job.told();
    job.set("task", "pretraining");
    job.set("runtime", "megatron");
    const std::int64_t data = job.lay_out(1);
    const std::int64_t micro_batch = job_options::in_range(told.number("micro_batch", 1), "--micro-batch-size");
    job.set("micro_batch", micro_batch);
    const std::int64_t sequences = told.number("global_batch", micro_batch * data);
    job.set("global_batch", sequences);
    if (const std::int64_t samples = told.number("samples", 0); samples > 0) {
        job.set("samples", samples);
        job.set("epochs", "1");
    } else if (told.number("steps", 0) > 0) {
        job.trained(sequences, "1");
    }
    const std::int64_t tensor = told.number("tensor", 1), stages = told.number("pipeline", 1);
    if (told.is("sequence_parallel") && tensor > 1) job.set("sequence_parallel", "true");
    if (told.number("expert", 1) > 1) job.set_kept("expert_tensor", "expert_tensor");
    if (const std::int64_t chunk = told.number("virtual_layers", 0); chunk > 0 && stages > 1) {
        const std::int64_t chunks = told.number("layers", 0) / stages / chunk;
        if (chunks > 1) job.set("virtual_pipeline", chunks);
    }
    job.set_kept("virtual_pipeline", "virtual_stages");
    const bool fsdp = told.is("fsdp");
    const std::string strategy = told.text("strategy");
    if (fsdp || told.is("torch_fsdp"))
        job.set("zero", !fsdp ? "3" : strategy.empty() ? "0" : strategy);
    else if (told.is("shards_optimizer"))
        job.set("zero", "1");
    if (told.number("instances", 1) > 1) job.set_kept("shard_replicas", "instances");
    if (!given.contains("bf16") && !given.contains("fp16")) {
        job.set("compute", "fp32");
        job.set("weights", "fp32");
    }
    if (!told.text("fp8").empty()) {
        const std::string recipe = told.text("fp8_recipe");
        job.set("fp8_recipe", recipe.empty() ? "delayed" : recipe);
    }
    if (drops(told, "hidden_dropout") || drops(told, "attention_dropout")) job.set("dropout", "true");
    if (const std::string modules = told.text("recompute_modules"); !modules.empty())
        job.set("recompute_modules", modules);
    const bool of_old = given.contains("activations_checkpoint_method");
    if (of_old) job.set("recompute", "full");
    const std::int64_t recomputed = told.number("recompute_layers", 1);
    if (told.text("recompute_method") == "block" || recomputed > 1)
        job.note(
            fmt::format("full recomputation is planned of every layer by itself, not by --recompute-method {} of {}",
                        told.text("recompute_method"), recomputed));
    job.set_kept("offload_modules", "offload_modules");
    if (const std::string loss = told.text("loss"); told.is("fuses_loss"))
        job.set("loss", loss.empty() ? "vocabulary_parallel_fused" : loss);
    if (told.number("experts", 0) > 0) job.set("experts", told.is("groups_experts") ? "grouped" : "sequential");
    if (const std::int64_t predicted = told.number("predicted", 0); predicted > 0) job.set("mtp_layers", predicted);
    trained_job written = job.finished();
    written.model = shape_of(told, given, tensor, written.notes);
    return written;
}

}  // namespace program
