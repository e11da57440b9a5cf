// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/command_line.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "../job_documents.hpp"

using namespace llmres;

TEST_CASE("the bounds of a key are those of the number that has its object's name and its own") {
    struct bounded {
        const char* name;
        std::int64_t low, high;
    };
    const std::array<bounded, 5> numbers{{{"layout.tensor_split", 1, 2},
                                          {"runtime.tensor", 3, 4},
                                          {"layout.tensor", 5, 6},
                                          {"layout.tensor", 7, 8},
                                          {"tensor", 9, 10}}};
    const auto bounds_of = [&](const char* object, const char* name) {
        job_field f{.object = object, .group = {}, .name = name, .low = -1, .high = -2, .help = {}};
        const bool found = detail::job_field_rows::take_bounds(f, numbers);
        CHECK(found == (f.low != -1));
        return std::pair{f.low, f.high};
    };
    CHECK(bounds_of("layout", "tensor") == std::pair{5.0, 6.0});
    CHECK(bounds_of("runtime", "tensor") == std::pair{3.0, 4.0});
    CHECK(bounds_of("", "tensor") == std::pair{9.0, 10.0});
    CHECK(bounds_of("layout", "tensors") == std::pair{-1.0, -2.0});
    CHECK(bounds_of("cluster", "tensor") == std::pair{-1.0, -2.0});
    CHECK(bounds_of("", "split") == std::pair{-1.0, -2.0});
}

TEST_CASE("a key is listed once in its object, with a heading and a line of help") {
    std::set<std::string> keys;
    for (const job_field& field : job_fields) {
        CAPTURE(field.name);
        CHECK(keys.insert(std::string{field.object} + "." + std::string{field.name}).second);
        CHECK_FALSE(field.name.empty());
        CHECK_FALSE(field.group.empty());
        CHECK_FALSE(field.help.empty());
    }
}

TEST_CASE("bounds are those of numbers, and in order") {
    for (const job_field& field : job_fields) {
        CAPTURE(field.name);
        const bool number = field.type == field_type::integer || field.type == field_type::real;
        if (number)
            CHECK(field.low <= field.high);
        else
            CHECK(field.high == 0);
    }
}

TEST_CASE("a key is found in its object alone") {
    REQUIRE(find_job_field("layout", "tensor") != nullptr);
    CHECK(find_job_field("layout", "tensor")->low == 1);
    CHECK(find_job_field("", "tensor") == nullptr);
    CHECK(find_job_field("layout", "tensors") == nullptr);
}

namespace {

using nlohmann::json;

json object(std::initializer_list<std::pair<const char*, json>> entries) {
    json made = json::object();
    for (const auto& [key, value] : entries) made[key] = value;
    return made;
}

json training(const json& more = json::object()) {
    json document = {{"model", "llama-3.2-1b"},
                     {"task", "finetuning"},
                     {"sequence", 1024},
                     {"micro_batch", 2},
                     {"layout", json::object()},
                     {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 16}}},
                     {"runtime", {{"name", "huggingface"}}}};
    document.merge_patch(more);
    return document;
}

json serving(const json& more = json::object()) {
    json document = {{"model", "llama-3.2-1b"},
                     {"context", 4096},
                     {"batch", 4},
                     {"layout", json::object()},
                     {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 16}}},
                     {"runtime", {{"name", "vllm"}}}};
    document.merge_patch(more);
    return document;
}

json layout(const json& degrees) { return object({{"layout", degrees}}); }
json by(const char* runtime) { return object({{"runtime", object({{"name", runtime}})}}); }
json both(json first, const json& second) {
    first.merge_patch(second);
    return first;
}

/// Where an option is turned, and to what.
struct turn {
    json base;
    json value;
};

/// Under which job an option is turned. For one that is not listed the first of these documents is taken in which it
/// moves a figure.
const std::map<std::string, turn>& turns() {
    const json moe = object({{"model", "mixtral-8x7b"}});
    const json lora = object({{"adapter", object({{"kind", "lora"}, {"rank", 8}})}});
    const json qlora = both(lora, object({{"weights", "nf4"}}));
    const json pipeline = layout({{"pipeline", 4}, {"data", 2}});
    const json many = both(both(by("megatron"), pipeline), object({{"global_batch", 64}, {"model", "llama-2-7b"}}));
    const json zero3 = layout({{"data", 8}, {"zero", 3}});
    const json full = object({{"recompute", "full"}});
    const json offloaded = both(zero3, object({{"offload", object({{"optimizer", "host"}, {"parameters", "host"}})}}));
    const json deferring = both(many, object({{"model", "llama-3.2-1b"}}));
    const json short_ones = object({{"model", "llama-2-7b"}, {"recompute", "full"}, {"sequence", 128}});
    const json draft = object({{"model", "llama-3.1-70b"}, {"layout", object({{"tensor", 8}})}});
    const json checks = object({{"runtime", object({{"name", "vllm"}, {"draft_tokens", 3}, {"acceptance", 0.5}})}});
    const json on_cpu = object({{"gpu", "cpu"}, {"host", object({{"memory", std::int64_t{64} << 30}, {"cores", 8}})}});
    const auto run = [](const json& of) { return training(object({{"run", of}})); };
    const auto cost = [](const json& of) { return serving(object({{"cost", of}})); };
    const json saved = training(both(zero3, object({{"checkpoint", json::object()}})));
    const json loaded = serving(object({{"storage", object({{"bandwidth", 1e9}})}}));
    const auto learning = [](const json& of) {
        const json on =
            object({{"gpu", "h100-sxm5-80gb"}, {"gpus", 8}, {"host", object({{"memory", std::int64_t{1} << 40}})}});
        return object({{"model", "llama-3.1-8b"},
                       {"task", "grpo"},
                       {"weights", "bf16"},
                       {"global_batch", 16},
                       {"layout", object({{"data", 8}, {"zero", 3}})},
                       {"cluster", on},
                       {"rollout", of}});
    };
    const json apart = learning(object({{"gpus", 4}}));
    const json rollouts = learning(json::object());
    const json interrupted = object({{"tokens", 1'000'000'000}, {"checkpoint", 30}, {"checkpoint_interval", 600}});
    const json taught = training(object(
        {{"model", "llama-3.2-1b"}, {"task", "finetuning"}, {"preference", "gkd"}, {"teacher", "llama-3.2-3b"}}));
    static const std::map<std::string, turn> all{
        {".task",
         {both(serving(), object({{"context", nullptr}, {"batch", nullptr}, {"runtime", nullptr}})), "pretraining"}},
        {".head", {serving(), "embedding"}},
        {".labels", {training(object({{"head", "classification"}})), 1000}},
        {".preference", {training(object({{"task", "finetuning"}})), "dpo"}},
        {".reference", {training(object({{"task", "finetuning"}, {"preference", "dpo"}})), "precomputed"}},
        {".teacher", {taught, object({{"from", "llama-3.2-1b"}, {"layers", 4}})}},
        {".teacher_weights", {taught, "fp32"}},
        {".beta", {taught, 0}},
        {".weights", {training(), "fp32"}},
        {".compute", {training(object({{"weights", "bf16"}})), "fp32"}},
        {".attention", {training(), "eager"}},
        {".kv_cache", {serving(), "fp8_e4m3"}},
        {".kv_cache_values", {serving(both(by("llama.cpp"), object({{"kv_cache", "q8_0"}}))), "q4_0"}},
        {".batch", {serving(), 64}},
        {".prompt", {serving(by("transformers")), 128}},
        {".output", {serving(), 1024}},
        {".context", {serving(), 8192}},
        {".prefix_hit_rate", {serving(), 0.5}},
        {".shared_prefix", {serving(), 64}},
        {".max_batched_tokens", {serving(), 16384}},
        {"lengths.mean", {serving(object({{"lengths", object({{"mean", 100}})}})), 2000}},
        {"lengths.longest", {serving(object({{"lengths", object({{"mean", 100}})}})), 4000}},
        {".sequence", {training(), 2048}},
        {".micro_batch", {training(), 4}},
        {".global_batch", {training(), 64}},
        {".image", {serving(object({{"model", "qwen2.5-vl-7b"}, {"prompt", 100}})), "640x480"}},
        {".images", {serving(object({{"model", "qwen2.5-vl-7b"}, {"image", "640x480"}})), 3}},
        {".image_patches", {serving(object({{"model", "qwen2.5-vl-7b"}, {"images", 2}, {"image", "640x480"}})), 4096}},
        {"prefill.gpus", {serving(object({{"output", 100}, {"prompt", 900}})), 4}},
        {"prefill.gpu",
         {serving(object({{"output", 100}, {"prompt", 900}, {"prefill", object({{"gpus", 2}})}})), "l40s-48gb"}},
        {"prefill.tensor",
         {serving(object({{"output", 100}, {"prompt", 900}, {"prefill", object({{"gpus", 4}})}})), 2}},
        {".optimizer", {training(), "adamw_8bit"}},
        {".optimizer_in_bwd", {training(), true}},
        {".gradients", {training(), "fp32"}},
        {".master_weights", {training(by("deepspeed")), "bf16"}},
        {".optimizer_states", {training(), "fp32"}},
        {".recompute", {training(), "full"}},
        {".recompute_modules", {training(both(by("megatron"), object({{"recompute", "selective"}}))), "mlp"}},
        {".recompute_every", {training(full), 4}},
        {".autocast", {training(object({{"weights", "fp32"}, {"compute", "bf16"}})), false}},
        {".dropout", {training(), true}},
        {".varied_lengths", {training(), true}},
        {".mean_length", {training(object({{"varied_lengths", true}})), 100}},
        {".expert_load", {training(both(moe, layout({{"data", 8}, {"expert", 8}}))), 2}},
        {".ema", {training(), true}},
        {".mtp_layers", {training(by("megatron")), 1}},
        {".mtp_use_repeated_layer", {training(both(by("megatron"), object({{"mtp_layers", 2}}))), true}},
        {".steps", {training(by("megatron")), 1}},
        {"adapter.kind", {training(lora), "dora"}},
        {"adapter.rank", {training(lora), 64}},
        {"adapter.targets", {training(lora), "q_proj"}},
        {"adapter.experts", {training(both(moe, lora)), true}},
        {"adapter.dropout", {training(lora), 0.1}},
        {"offload.optimizer", {training(), "host"}},
        {"offload.parameters", {training(zero3), "host"}},
        {"offload.activations", {training(full), "host"}},
        {"offload.modules", {training(by("megatron")), "core_attn"}},
        {"offload.pinned", {training(offloaded), true}},
        {"layout.tensor", {training(), 2}},
        {"layout.sequence_parallel", {training(layout({{"tensor", 2}})), true}},
        {"layout.pipeline", {training(), 2}},
        {"layout.virtual_pipeline", {training(many), 2}},
        {"layout.data", {training(layout({{"zero", 1}})), 8}},
        {"layout.context_parallel", {training(), 2}},
        {"layout.expert", {training(both(moe, layout({{"data", 8}}))), 8}},
        {"layout.expert_tensor", {training(both(moe, layout({{"tensor", 4}, {"data", 2}, {"expert", 2}}))), 1}},
        {"layout.zero", {training(layout({{"data", 8}})), 3}},
        {"layout.shard_replicas", {training(zero3), 2}},
        {"layout.micro_batch_group",
         {training(both(many, layout({{"pipeline", 4}, {"data", 2}, {"virtual_pipeline", 2}}))), 8}},
        {"layout.schedule", {training(many), "gpipe"}},
        {"layout.stages", {training(many), "5|9|9|9"}},
        {"layout.tensor_split", {training(many), "5,9,9,9"}},
        {"layout.first_stage_layers", {training(many), 5}},
        {"layout.last_stage_layers", {training(many), 5}},
        {"layout.embedding_as_layer",
         {training(both(object({{"model", "llama-2-7b"}}), layout({{"pipeline", 3}}))), true}},
        {"layout.loss_as_layer", {training(both(object({{"model", "llama-2-7b"}}), layout({{"pipeline", 3}}))), true}},
        {"layout.cp_comm_type",
         {training(
              both(by("megatron"), both(object({{"model", "llama-2-7b"}, {"sequence", 65536}, {"recompute", "full"}}),
                                        layout({{"context_parallel", 8}})))),
          "all_gather"}},
        {"layout.replicas", {training(layout({{"data", 1}})), 2}},
        {"cluster.gpu", {serving(), "l4"}},
        {"cluster.device",
         {serving(object({{"cluster", object({{"gpu", nullptr},
                                              {"device", job_documents::devices + "synthetic-rtx-4090.json"},
                                              {"gpus", 1}})}})),
          job_documents::h100_file}},
        {"cluster.gpu_memory", {training(), 1 << 30}},
        {"cluster.gpu_bandwidth", {training(), 9e11}},
        {"cluster.gpu_flops", {training(), 9e13}},
        {".experts_down", {serving(both(moe, object({{"weights", "q4_k"}}))), "q6_k"}},
        {"cluster.gpus", {serving(object({{"layout", nullptr}, {"model", "llama-3.1-70b"}})), 2}},
        {"cluster.gpus_per_node", {training(layout({{"tensor", 8}})), 2}},
        {"cluster.scale_up", {training(layout({{"tensor", 8}})), "pcie-gen3-x16"}},
        {"cluster.scale_out", {training(layout({{"data", 16}})), "ib-hdr-200"}},
        {"cluster.gpus_per_adapter", {training(layout({{"data", 16}})), 8}},
        {"cluster.power_limit", {training(), 100}},
        {"cluster.in_use", {training(), std::int64_t{70} << 30}},
        {"host.cores",
         {serving(both(by("llama.cpp"), object({{"cluster", both(on_cpu, object({{"gpus", 1}}))}}))), 64}},
        {"host.memory", {training(offloaded), 1 << 20}},
        {"host.bandwidth", {training(offloaded), 1e9}},
        {"host.link", {training(offloaded), "pcie-gen3-x4"}},
        {"runtime.runtime", {training(), "torchtune"}},
        {"runtime.gpu_memory_utilization", {serving(), 0.5}},
        {"runtime.kv_block", {serving(object({{"context", 4100}})), 1024}},
        {"runtime.max_num_seqs", {serving(), 2048}},
        {"runtime.flash_attention", {serving(by("llama.cpp")), false}},
        {"runtime.gpu_layers", {serving(by("llama.cpp")), 8}},
        {"runtime.fit",
         {serving(both(by("llama.cpp"), object({{"model", "llama-3.1-70b"}, {"weights", "bf16"}}))), true}},
        {"runtime.embedding_on_host", {serving(both(by("llama.cpp"), object({{"model", "llama-3.1-8b"}}))), false}},
        {"runtime.experts_on_host", {serving(both(by("llama.cpp"), moe)), true}},
        {"runtime.max_loras", {serving(), 8}},
        {"runtime.max_lora_rank", {serving(object({{"runtime", object({{"name", "vllm"}, {"max_loras", 8}})}})), 256}},
        {"runtime.encoder_tokens", {serving(object({{"model", "qwen2.5-vl-7b"}})), 16384}},
        {"runtime.speculates_ahead",
         {serving(object({{"model", "deepseek-v3"}, {"layout", object({{"tensor", 16}})}})), true}},
        {"runtime.split_rows", {serving(both(by("llama.cpp"), layout({{"pipeline", 4}}))), true}},
        {"runtime.ggml_backend",
         {serving(both(by("llama.cpp@b6000"), object({{"context", 131072}, {"batch", 1}}))), "vulkan"}},
        {"runtime.largest_buffer", {serving(by("llama.cpp@b6000")), 1 << 20}},
        {"runtime.draft_tokens", {serving(checks), 5}},
        {"runtime.acceptance", {serving(checks), 0.9}},
        {"runtime.rope_scaling", {serving(), 4}},
        {"runtime.draft", {serving(draft), "llama-3.2-1b"}},
        {"runtime.loss", {training(), "fused_linear"}},
        {"runtime.scan", {training(object({{"model", "mamba2-2.7b"}})), "fused"}},
        {"runtime.use_fused_weighted_squared_relu",
         {training(
              both(by("megatron"), object({{"model", json::parse(R"({"hidden": 1024, "vocabulary": 32000, "layers": 4,
                            "attention": {"heads": 8}, "feed_forward": {"kind": "plain", "experts":
                            {"count": 8, "per_token": 2, "width": 1024}}})")}}))),
          true}},
        {"runtime.expandable_segments", {training(), true}},
        {"runtime.compiled", {training(by("torchtitan")), true}},
        {"runtime.attention_kernels", {training(), "flash_1"}},
        {"runtime.compiled_loss", {training(), true}},
        {"runtime.fused_norms", {training(), true}},
        {"runtime.fused_gates", {training(), true}},
        {"runtime.holds_outputs", {training(by("huggingface@4.38")), true}},
        {"runtime.narrow_loss", {training(by("huggingface@4.48")), true}},
        {"runtime.experts", {training(both(moe, lora)), "loop"}},
        {"runtime.selective",
         {training(both(by("torchtitan"), object({{"recompute", "selective"}}))), "all_but_products"}},
        {"runtime.save_on_cpu", {training(object({{"offload", object({{"activations", "host"}})}})), true}},
        {"runtime.fp32_stream", {training(qlora), false}},
        {"runtime.fp32_adapters", {training(lora), false}},
        {"runtime.published_reference",
         {training(both(by("huggingface"), object({{"preference", "dpo"}, {"weights", "fp32"}}))), true}},
        {"runtime.fused_adapters", {training(lora), true}},
        {"runtime.four_bit_keeps_inputs", {training(qlora), true}},
        {"runtime.use_reentrant", {training(both(both(qlora, full), zero3)), true}},
        {"runtime.checkpoints_inside_units",
         {training(both(both(both(qlora, full), zero3), object({{"runtime", object({{"use_reentrant", true}})}}))),
          true}},
        {"runtime.fully_shard", {training(zero3), true}},
        {"runtime.gradient_accumulation_fusion", {training(by("megatron")), false}},
        {"runtime.cuda", {training(), 11}},
        {"runtime.reshard_after_forward", {training(both(by("torchtitan"), zero3)), false}},
        {"runtime.sync_each_batch", {training(both(zero3, object({{"global_batch", 64}}))), true}},
        {"runtime.gradient_as_bucket_view", {training(layout({{"data", 8}})), true}},
        {"runtime.fp8_recipe", {training(by("megatron")), "delayed"}},
        {"runtime.fp8_param_gather",
         {training(object({{"runtime", object({{"name", "megatron"}, {"fp8_recipe", "delayed"}})}})), true}},
        {"runtime.layer_wise_param_layout",
         {training(both(both(by("megatron"), object({{"optimizer", "muon"}})), layout({{"data", 8}, {"zero", 1}}))),
          false}},
        {"runtime.defer_embedding_wgrad_compute", {training(deferring), true}},
        {"runtime.wgrad_deferral_limit",
         {training(both(object({{"runtime", object({{"name", "megatron"}, {"defer_embedding_wgrad_compute", true}})}}),
                        deferring)),
          2}},
        {"runtime.reduce_bucket_size",
         {training(both(by("deepspeed"), both(short_ones, layout({{"data", 8}, {"zero", 2}})))), 1000}},
        {"runtime.overlap_comm", {training(both(by("deepspeed"), layout({{"data", 8}, {"zero", 2}}))), true}},
        {"runtime.sub_group_size",
         {training(both(by("deepspeed"), both(short_ones, layout({{"data", 2}, {"zero", 3}})))), 1000}},
        {"run.tokens", {run(object({{"tokens", 1'000'000'000}})), 2'000'000'000}},
        {"run.epochs", {run(object({{"samples", 1000}})), 3}},
        {"run.samples", {run(object({{"samples", 1000}})), 2000}},
        {"run.sample_tokens", {run(object({{"samples", 1000}})), 100}},
        {"run.mtbf", {run(interrupted), 10'000}},
        {"run.gpu_mtbf", {run(interrupted), 10'000}},
        {"run.checkpoint", {run(interrupted), 60}},
        {"storage.bandwidth", {loaded, 2e9}},
        {"storage.total_bandwidth", {loaded, 1e8}},
        {"checkpoint.files", {saved, "sharded"}},
        {"checkpoint.weights_only", {saved, true}},
        {"checkpoint.mode", {both(saved, by("torchtitan")), "async"}},
        {"checkpoint.keep", {saved, 5}},
        {"run.checkpoint_interval", {run(interrupted), 300}},
        {"run.restart", {run(both(interrupted, object({{"mtbf", 10'000}}))), 300}},
        {"rollout.engine", {rollouts, "sglang"}},
        {"rollout.generations", {rollouts, 4}},
        {"rollout.answers", {rollouts, 64}},
        {"rollout.prompt", {rollouts, 1024}},
        {"rollout.output", {rollouts, 1024}},
        {"rollout.mean_output", {rollouts, 100}},
        {"rollout.num_iterations", {rollouts, 2}},
        {"rollout.scores_again", {rollouts, false}},
        {"rollout.remove_padding", {learning(object({{"mean_output", 100}})), true}},
        {"rollout.weights", {rollouts, "fp8_e4m3"}},
        {"rollout.kv_cache", {rollouts, "fp8_e4m3"}},
        {"rollout.tensor", {rollouts, 2}},
        {"rollout.gpu_memory_utilization", {rollouts, 0.3}},
        {"rollout.max_num_seqs", {rollouts, 16}},
        {"rollout.max_num_batched_tokens", {rollouts, 4096}},
        {"rollout.sleep", {rollouts, "awake"}},
        {"rollout.trainer", {rollouts, "optimizer"}},
        {"rollout.gpus", {rollouts, 4}},
        {"rollout.gpu", {apart, "h200-sxm5-141gb"}},
        {"rollout.asynchronous", {apart, true}},
        {"rollout.reward", {both(rollouts, by("trl")), "qwen3-0.6b"}},
        {"cost.currency", {cost(object({{"gpu_hour", 2}})), "EUR"}},
        {"cost.gpu_hour", {cost(object({{"gpu_hour", 2}})), 3}},
        {"cost.gpu_price", {cost(object({{"gpu_hour", 2}})), 30'000}},
        {"cost.gpu_life", {cost(object({{"gpu_hour", 2}, {"gpu_price", 30'000}})), 4}},
        {"cost.electricity", {cost(object({{"gpu_price", 30'000}, {"gpu_life", 4}})), 0.2}},
        {"cost.pue", {cost(object({{"gpu_hour", 2}})), 1.5}},
        {"cost.gpu_power", {cost(object({{"gpu_hour", 2}})), 1275}},
        {"cost.carbon", {cost(object({{"gpu_hour", 2}})), 400}},
        {"cost.prices", {cost(object({{"gpu_hour", 2}})), object({{"h100-sxm5-80gb", 30'000}})}},
    };
    return all;
}

bool is_planned(const json& document) {
    const result<plan_request> asked = read_job(document);
    if (!asked) return false;
    if (asked->rollout) return static_cast<bool>(plan(*asked));
    return asked->layout ? static_cast<bool>(plan(asked->job, *asked->layout, asked->cluster))
                         : static_cast<bool>(plan(asked->job, asked->cluster));
}

/// All that is said of a plan but what repeats the document.
json figures(const json& document) {
    CAPTURE(document.dump());
    const plan_request asked = job_documents::read(document);
    json said = json::parse(
        to_json(job_documents::planned(asked), asked.job, asked.cluster, layout_choice_of(asked.layout), asked.lengths)
            .dump());
    json_value priced = json_value::object();
    if (const auto made = run_and_cost_of(asked.stored, asked.run, asked.cost, asked.job, job_documents::planned(asked),
                                          asked.cluster))
        add_to(priced, *made, asked.stored, asked.cost, asked.job);
    said.update(json::parse(priced.dump()));
    if (asked.rollout)
        said["reinforcement"] =
            json::parse(to_json(*job_documents::answered(plan(asked)).phases, *asked.rollout).dump());
    if (asked.prefill)
        said["disaggregated"] = json::parse(to_json(*job_documents::answered(plan(asked)).split, asked.prefill->cluster,
                                                    layout_choice_of(asked.prefill->layout))
                                                .dump());
    for (const char* repeated : {"job", "runtime", "cluster", "layout", "model", "buffers"}) said.erase(repeated);
    return said;
}

std::string key_of(const job_field& f) { return std::string{f.object} + "." + std::string{f.name}; }

/// The document with the option turned.
json turned_in(const turn& turned, const job_field& f) {
    json document = turned.base;
    if (f.object == "host")
        document["cluster"]["host"][f.name] = turned.value;
    else if (f.object.empty() || f.name == "runtime")
        document[f.name] = turned.value;
    else
        document[f.object][f.name] = turned.value;
    return document;
}

/// The turn of an option, or under the first of those documents in which it moves a figure.
const turn& turn_of(const job_field& f) {
    const auto listed = turns().find(key_of(f));
    if (listed != turns().end()) return listed->second;
    static std::map<std::string, turn> found;
    turn& tried = found[key_of(f)];
    if (!tried.base.is_null()) return tried;
    for (const auto& [key, other] : turns()) {
        tried = {other.base, job_documents::another_value(f)};
        const json document = turned_in(tried, f);
        if (is_planned(tried.base) && is_planned(document) && figures(document) != figures(tried.base)) break;
    }
    return tried;
}

}  // namespace

TEST_CASE("every option moves a figure of some plan when it is turned") {
    for (const job_field& f : job_fields) {
        const std::string key = key_of(f);
        CAPTURE(key);
        const turn& turned = turn_of(f);
        const bool moved = figures(turned_in(turned, f)) != figures(turned.base);
        CHECK(moved);
    }
    for (const auto& [key, turned] : turns()) {
        CAPTURE(key);
        CHECK(find_job_field(key.substr(0, key.find('.')), key.substr(key.find('.') + 1)) != nullptr);
    }
}

TEST_CASE("every knob that is turned is told with the answer, under its name") {
    for (const job_field& f : job_fields) {
        if (f.object != "runtime" || f.name == "runtime" || f.name == "draft" || f.name == "fit") continue;
        const std::string name{f.name};
        const turn& turned = turn_of(f);
        const json document = turned_in(turned, f);
        CAPTURE(document.dump());
        const json told = json::parse(runtime_to_json(job_documents::read(document)).dump());
        CHECK(told.value(name, json{}) == turned.value);
    }
}

TEST_CASE("every knob that software has under its own name moves a figure of some plan when it is turned") {
    using enum knob_setting;
    const std::map<knob_setting, json> values{
        {batched_tokens, 1024},   {sequences, 2},          {cache_block, 1024},       {cache_bytes, 1LL << 30},
        {cache_tokens, 2048},     {cache_blocks, 4096},    {window_part, 0.1},        {max_loras, 8},
        {max_lora_rank, 256},     {no_cuda_graphs, true},  {graph_context, 64},       {gpu_layers, 4},
        {flash_attention, false}, {whole_windows, true},   {experts_on_host, true},   {host_expert_layers, 2},
        {latent_part, 64},        {latent_use, 0},         {no_mapped_weights, true}, {repacks_on_host, true},
        {host_computes, true},    {overlaps_steps, false}, {shares_prefixes, false},
    };
    const json on_host = object({{"gpu_layers", 2}});
    const json adapters = object({{"max_loras", 4}});
    // Beside which other knobs, of which models.
    const std::initializer_list<std::pair<const char*, json>> jobs{
        {"llama-3.2-1b", json::object()},
        {"llama-3.2-1b", on_host},
        {"llama-3.2-1b", adapters},
        {"gemma-3-4b", json::object()},
        {"gpt-oss-20b", json::object()},
        {"gemma-3-4b", object({{"max_batched_tokens", 512}})},
        {"mixtral-8x7b", on_host},
        {"deepseek-v2-lite", json::object()},
        {"qwen3-next-80b-a3b", json::object()},
        {"mixtral-8x7b", object({{"experts_on_host", true}})},
    };
    std::set<std::string> software;
    for (const runtime* r : runtimes::all) {
        const std::string name{r->identity.name.view()};
        if (!software.insert(name).second) continue;  // all versions of one software have the same knobs
        for (const knob& k : r->identity.knobs) {
            CAPTURE(name);
            CAPTURE(std::string{k.name});
            bool moved = false;
            // What an older version alone does is set of it.
            const std::string version = k.setting == graph_context ? "@0.6" : "";
            for (const auto& [model, beside] : jobs) {
                json document = serving(object({{"model", model}, {"context", 4100}, {"output", 100}}));
                document["cluster"] = object({{"gpu", name == "mlx" ? "apple-m2-ultra" : "rtx-4090"}});
                document["runtime"] = both(object({{"name", name + version}}), beside);
                json turned = document;
                turned["runtime"][std::string{k.name}] = values.at(k.setting);
                moved = moved || (is_planned(document) && is_planned(turned) && figures(turned) != figures(document));
            }
            CHECK(moved);
        }
    }
    CHECK(software.size() >= 15);
}

TEST_CASE("a knob that only some runtimes have is refused under others, by its name") {
    std::size_t of_some = 0;
    for (const job_field& f : job_fields) {
        const std::string_view having = f.object == "runtime" ? runtimes_with(f.name) : "";
        if (having.empty()) continue;
        ++of_some;
        CAPTURE(f.name);
        json document = training(by("torchtitan"));
        document["runtime"][f.name] = turn_of(f).value;
        const result<plan_request> made = read_job(document);
        REQUIRE_FALSE(made);
        CHECK(made.error().code == error_code::unsupported);
        CHECK(made.error().field == "runtime." + std::string{f.name});
        CHECK(std::string{made.error().expected.view()}.find(having) != std::string::npos);
    }
    CHECK(of_some == keys_of_some.size());
}

TEST_CASE("nodes that a job gives are filled by its GPUs; of a standard cluster the last may be filled in part") {
    const auto asked = [](int gpus, int each) {
        json document = {{"model", "llama-3.2-1b"}, {"task", "serving"}};
        document["cluster"] = object({{"gpu", "h100-sxm5-80gb"}, {"gpus", gpus}, {"gpus_per_node", each}});
        return read_job(document);
    };
    for (const auto& [gpus, each] :
         std::initializer_list<std::pair<int, int>>{{12, 6}, {12, 4}, {12, 8}, {3, 5}, {16, 8}})
        CHECK(asked(gpus, each));
    for (const auto& [gpus, each] : std::initializer_list<std::pair<int, int>>{{12, 5}, {9, 4}, {16, 3}}) {
        const result<plan_request> made = asked(gpus, each);
        REQUIRE_FALSE(made);
        CHECK(made.error().field == "cluster.gpus_per_node");
        CHECK(made.error().expected == "nodes that the cluster's GPUs fill: a divisor of cluster.gpus");
    }
}
