// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <llmres/io/plan_json.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/precision.hpp>
#include <nlohmann/json.hpp>
#include <string>

using namespace llmres;

namespace {

nlohmann::json document(const std::string& runtime) {
    return {{"model", "llama-3.2-1b"},
            {"task", "finetuning"},
            {"runtime", runtime},
            {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 1}}}};
}

job job_of(const nlohmann::json& asked) {
    const result<plan_request> read = read_job(asked, job_sources{});
    REQUIRE_MESSAGE(read, asked.dump());
    return read->job;
}

}  // namespace

TEST_CASE("each stack is a runtime, whose defaults a job document may have") {
    for (const training_stack& one : training_stacks) {
        CAPTURE(one.name);
        CHECK(find_runtime(one.name));
        CHECK(find_runtime(one.also)->identity == find_runtime(one.name)->identity);
        const std::string profile{find_runtime(one.name)->identity.name.view()};
        nlohmann::json explicit_defaults = document(profile);
        explicit_defaults.update(nlohmann::json::parse(one.defaults));
        nlohmann::json of_runtime{{"name", profile + "@latest"}};
        of_runtime.update(nlohmann::json::parse(one.defaults).value("runtime", nlohmann::json::object()));
        explicit_defaults["runtime"] = of_runtime;
        const job by_name = job_of(document(std::string{one.name})), by_fields = job_of(explicit_defaults);
        CHECK(by_name.micro_batch == by_fields.micro_batch);
        CHECK(by_name.sequence == by_fields.sequence);
        CHECK(by_name.recompute == by_fields.recompute);
        CHECK(by_name.adapter == by_fields.adapter);
        CHECK(by_name.weights == by_fields.weights);
        CHECK(by_name.optimizer.name == by_fields.optimizer.name);
        CHECK(by_name.offload == by_fields.offload);
        CHECK(by_name.runtime.kernels.loss == by_fields.runtime.kernels.loss);
        CHECK(by_name.runtime.kernels.fp32_stream == by_fields.runtime.kernels.fp32_stream);
    }
}

TEST_CASE("TRL trains 8 sequences of 1,024 tokens at once, and recomputes layers, unless it is told otherwise") {
    const job plain = job_of(document("TRL"));
    CHECK(plain.micro_batch == 8);
    CHECK(plain.sequence == tokens(1024));
    CHECK(plain.recompute == recompute::full);
    nlohmann::json told = document("trl");
    told.update({{"micro_batch", 2}, {"sequence", 512}, {"recompute", "none"}});
    const job as_told = job_of(told);
    CHECK(as_told.micro_batch == 2);
    CHECK(as_told.sequence == tokens(512));
    CHECK(as_told.recompute == recompute::none);
}

TEST_CASE("LLaMA-Factory and ms-swift train adapters unless the document says which weights are trained") {
    for (const char* name : {"LLaMA-Factory", "ms-swift", "swift"}) {
        CAPTURE(name);
        CHECK(job_of(document(name)).adapter.rank == 8);
        nlohmann::json whole = document(name);
        whole["adapter"] = {{"kind", "none"}};
        CHECK_FALSE(job_of(whole).adapter.trains());
    }
}

TEST_CASE("weights are those of the stack's own code, unless the document names them") {
    const auto weights = [](const char* name, const nlohmann::json& more) {
        nlohmann::json asked = document(name);
        asked.update(more);
        const job read = job_of(asked);
        return precision{weights_of(read)};
    };
    const nlohmann::json whole{{"adapter", {{"kind", "none"}}}}, lora{{"adapter", {{"kind", "lora"}, {"rank", 8}}}};
    const nlohmann::json none = nlohmann::json::object();
    CHECK(weights("trl", none) == fp32);  // create_model_from_path(): dtype="float32"
    CHECK(weights("trl", lora) == fp32);
    CHECK(weights("trl", {{"weights", "nf4_double"}, {"adapter", lora["adapter"]}}) == nf4_double);
    CHECK(weights("llama-factory", none) == bf16);
    CHECK(weights("llama-factory", whole) == fp32);  // cast_trainable_params_to_fp32
    CHECK(weights("llama-factory", {{"weights", nullptr}, {"adapter", whole["adapter"]}}) == fp32);
    CHECK(weights("llama-factory", {{"optimizer", "galore"}}) == fp32);  // which trains whole matrices
    CHECK(weights("ms-swift", whole) == bf16);
    nlohmann::json pure = whole;
    pure["weights"] = "bf16";
    CHECK(weights("llama-factory", pure) == bf16);
}

TEST_CASE("adapters of TRL and ms-swift have dropout unless the document says otherwise") {
    const auto dropout = [](const char* name, const nlohmann::json& adapter) {
        nlohmann::json asked = document(name);
        asked["adapter"] = adapter;
        return job_of(asked).adapter.dropout;
    };
    const nlohmann::json lora{{"kind", "lora"}, {"rank", 8}}, without{{"kind", "lora"}, {"rank", 8}, {"dropout", 0}};
    for (const char* name : {"trl", "ms-swift"}) {  // trainer/model_config.py; arguments/tuner_args.py
        CHECK(dropout(name, lora) == 0.05);
        CHECK(dropout(name, without) == 0);
    }
    CHECK(dropout("llama-factory", lora) == 0);
    CHECK(job_of(document("ms-swift")).adapter.dropout == 0.05);
}

TEST_CASE("LLaMA-Factory loads a reference as the checkpoint is, and TRL as what it trains") {
    const auto keeps = [](const char* name, const nlohmann::json& more) {
        nlohmann::json asked = document(name);
        asked.update(more);
        return job_of(asked).runtime.loading.training.published_reference;
    };
    nlohmann::json whole{{"adapter", {{"kind", "none"}}}, {"task", "dpo"}};
    CHECK(keeps("llama-factory", whole));
    CHECK_FALSE(keeps("trl", whole));
    CHECK_FALSE(keeps("llama-factory", {{"task", "dpo"}}));  // its adapter is switched off
    whole["task"] = "orpo";
    CHECK_FALSE(keeps("llama-factory", whole));
    whole["task"] = "finetuning";
    CHECK_FALSE(keeps("llama-factory", whole));
}

TEST_CASE("fields of the runtime that a document names stay beside those of the stack") {
    nlohmann::json asked = document("trl");
    asked["runtime"] = {{"name", "trl"}, {"fp32_stream", true}};
    CHECK(job_of(asked).runtime.kernels.fp32_stream);
    asked["runtime"] = {{"name", "trl"}, {"loss", "fused_linear"}};
    CHECK(job_of(asked).runtime.kernels.loss.code == loss_code::fused_linear);
    CHECK_FALSE(job_of(asked).runtime.kernels.fp32_stream);
}

TEST_CASE("a document that names a stack and no task finetunes") {
    nlohmann::json asked = document("axolotl");
    asked.erase("task");
    CHECK(job_of(asked).task == task::finetuning);
    CHECK(answer_job(asked)->assumed["task"] == "finetuning");
    asked["task"] = nullptr;
    CHECK(job_of(asked).task == task::finetuning);
    asked["task"] = "serving";
    CHECK_FALSE(answer_job(asked));
}

TEST_CASE("a micro-batch that nobody named divides the global batch on all GPUs, or is one sequence") {
    const auto micro_batch = [](const nlohmann::json& global, int gpus, const nlohmann::json& layout = {}) {
        nlohmann::json asked = document("trl");
        asked["global_batch"] = global;
        asked["cluster"]["gpus"] = gpus;
        if (!layout.is_null()) asked["layout"] = layout;
        return job_of(asked).micro_batch;
    };
    CHECK(micro_batch(64, 1) == 8);
    CHECK(micro_batch(4, 1) == 1);
    CHECK(micro_batch(64, 8) == 8);
    CHECK(micro_batch(32, 8) == 1);
    CHECK(micro_batch(32, 8, {{"data", 4}, {"tensor", 1}}) == 8);
    CHECK(micro_batch(nullptr, 8) == 8);
}

TEST_CASE("null is unsaid, and what is half said keeps the other half") {
    nlohmann::json asked = document("llama-factory");
    asked.update({{"micro_batch", nullptr}, {"adapter", {{"rank", 64}}}});
    CHECK(job_of(asked).micro_batch == 8);
    CHECK(job_of(asked).adapter.rank == 64);
    CHECK(job_of(asked).adapter.low_rank());
    asked["adapter"] = nullptr;
    CHECK(job_of(asked).adapter.rank == 8);
    asked["adapter"] = {{"kind", nullptr}};
    CHECK(job_of(asked).adapter.rank == 8);
}

TEST_CASE("what is no adapter, task or runtime is refused by its name, whatever the stack") {
    for (const nlohmann::json& wrong : {nlohmann::json{{"adapter", {{"kind", 7}}}},
                                        {{"adapter", 7}},
                                        {{"adapter", {{"kind", "loar"}}}},
                                        {{"task", 7}},
                                        {{"runtime", {{"name", "trl"}, {"loss", 7}}}},
                                        {{"cluster", 7}},
                                        {{"layout", 7}},
                                        {{"global_batch", "many"}},
                                        {{"global_batch", -3}},
                                        {{"layout", {{"data", -1}}}, {"global_batch", 8}},
                                        {{"optimizer", 7}},
                                        {{"micro_batch", "8"}}}) {
        nlohmann::json asked = document("llama-factory");
        asked.update(wrong);
        CAPTURE(wrong.dump());
        CHECK_FALSE(read_job(asked, job_sources{}));
    }
}

TEST_CASE("a sequence that nobody named is no longer than the model reads") {
    nlohmann::json asked = document("llama-factory");
    asked["model"] = "gpt2";
    CHECK(job_of(asked).sequence == tokens(1024));
    asked["sequence"] = 512;
    CHECK(job_of(asked).sequence == tokens(512));
}

TEST_CASE("what drives transformers' Trainer steps by one fused kernel, as its arguments have it under PyTorch 2.8") {
    for (const char* name : {"trl", "axolotl", "llama-factory", "ms-swift"}) {
        CAPTURE(name);
        CHECK(job_of(document(name)).optimizer.name == "adamw_fused");
        CHECK(answer_job(document(name))->assumed["optimizer"] == "adamw_fused");
        nlohmann::json told = document(name);
        told["optimizer"] = "adamw";
        CHECK(job_of(told).optimizer.name == "adamw");
    }
}

TEST_CASE("transformers' Trainer alone, with FSDP and with DeepSpeed trains 8 sequences by a fused step") {
    for (const char* name : {"trainer", "HF Trainer", "Trainer with FSDP", "trainer+fsdp", "Trainer with DeepSpeed"}) {
        CAPTURE(name);
        const job plain = job_of(document(name));
        CHECK(plain.micro_batch == 8);
        CHECK(plain.optimizer.name == "adamw_fused");
        CHECK(plain.recompute == recompute::none);
        CHECK_FALSE(plain.adapter.trains());
    }
    CHECK(job_of(document("trainer")).runtime.sharding.code == sharding_code::fsdp1);
    CHECK(job_of(document("trainer-deepspeed")).runtime.sharding.code == sharding_code::deepspeed);
    nlohmann::json sharded = document("trainer-fsdp");
    sharded.update({{"sequence", 512}, {"cluster", {{"gpu", "h100-sxm5-80gb"}, {"gpus", 4}}}});
    const result<job_answer> answer = answer_job(sharded);
    REQUIRE(answer);
    CHECK(answer->planned.plan.layout.zero == 3);
    CHECK(answer->planned.plan.layout.data == 4);
    CHECK(answer->request.job.runtime.sharding.code == sharding_code::fsdp2);
    CHECK(answer->assumed["fully_shard"] == true);
    CHECK(answer->assumed["zero"] == 3);
    CHECK(answer->assumed["weights"] == "fp32");
    sharded["layout"] = {{"zero", 2}};
    sharded["runtime"] = {{"name", "trainer-fsdp"}, {"fully_shard", false}};
    CHECK(answer_job(sharded)->planned.plan.layout.zero == 2);
    CHECK(answer_job(sharded)->request.job.runtime.sharding.code == sharding_code::fsdp1);
    CHECK(answer_job(document("trainer-fsdp")));
}

TEST_CASE("what drives transformers' Trainer is sharded by DeepSpeed where its name says so, with its own defaults") {
    for (const char* driver : {"trl", "axolotl", "llama-factory", "ms-swift", "trainer", "HF Trainer"})
        for (const char* by : {"+deepspeed", " with DeepSpeed", "-deepspeed", "_with_deepspeed"}) {
            const std::string name = std::string{driver} + by;
            CAPTURE(name);
            const job own = job_of(document(driver)), sharded = job_of(document(name.c_str()));
            CHECK(sharded.runtime == *find_runtime("deepspeed"));
            CHECK(sharded.micro_batch == own.micro_batch);
            CHECK(sharded.sequence == own.sequence);
            CHECK(sharded.recompute == own.recompute);
            CHECK(sharded.adapter.rank == own.adapter.rank);
            // runtime/engine.py, _configure_distributed_model: the whole module is cast to the format of the step.
            CHECK(precision{weights_of(sharded)} == bf16);
        }
    for (const char* other : {"vllm+deepspeed", "deepspeed with", "torchtitan-deepspeed", "pretrl-deepspeed"}) {
        CAPTURE(other);
        CHECK_FALSE(find_runtime(other));
    }
    CHECK(find_runtime("megatron-deepspeed")->identity.name == "megatron_deepspeed");
}

TEST_CASE("a LoRA has the rank and the kernels of its stack, where it names none") {
    nlohmann::json asked = document("trl");
    asked["adapter"] = {{"kind", "lora"}};
    CHECK(job_of(asked).adapter.rank == 16);  // trainer/model_config.py, lora_r
    CHECK(answer_job(asked)->assumed["adapter_rank"] == 16);
    asked["adapter"] = {{"kind", "dora"}, {"rank", 64}};
    CHECK(job_of(asked).adapter.rank == 64);
    asked["adapter"] = {{"kind", "ia3"}};
    CHECK(job_of(asked).adapter.rank == 0);

    nlohmann::json lora = document("axolotl");
    lora["adapter"] = {{"kind", "lora"}, {"rank", 16}};
    CHECK(job_of(lora).runtime.kernels.adapters == adapter_code::fused);
    CHECK(job_of(lora).runtime.kernels.gate == gate_code::in_place);
    CHECK(answer_job(lora)->assumed["fused_adapters"] == true);
    CHECK(answer_job(lora)->assumed["fused_gates"] == true);
    CHECK_FALSE(answer_job(document("axolotl"))->assumed.contains("fused_adapters"));
    CHECK(job_of(document("axolotl")).runtime.kernels.adapters == adapter_code::modules);
    lora["runtime"] = {{"name", "axolotl"}, {"fused_adapters", false}};
    CHECK(job_of(lora).runtime.kernels.adapters == adapter_code::modules);
    CHECK_FALSE(answer_job(lora)->assumed.contains("fused_adapters"));
}

TEST_CASE("Unsloth trains a LoRA of 4-bit weights, whose layers' inputs wait on the host") {
    const job plain = job_of(document("Unsloth"));
    CHECK(plain.runtime.identity.name == "unsloth");
    CHECK(plain.micro_batch == 4);
    CHECK(plain.sequence == tokens(2048));
    CHECK(plain.adapter.rank == 16);
    CHECK(precision{weights_of(plain)} == nf4_double);
    CHECK(plain.optimizer.name == "adamw_8bit");
    CHECK(plain.recompute == recompute::full);
    CHECK(plain.offload.activations == offload_place::host);
    CHECK(plain.runtime.kernels.loss.code == loss_code::fused_linear);
    CHECK(plain.runtime.kernels.adapters == adapter_code::fused);
    const result<job_answer> answer = answer_job(document("unsloth@2026.10.9"));
    REQUIRE(answer);
    CHECK(answer->assumed["defaults_of"] == "unsloth 2026.10.9");
    CHECK(answer->assumed["offload_activations"] == "host");
    CHECK(answer->assumed["weights"] == "nf4_double");
    CHECK(answer->assumed["optimizer"] == "adamw_8bit");
    CHECK(answer->assumed["adapter_rank"] == 16);
}

TEST_CASE("Unsloth's defaults depend on what is trained, on the sequence and on the layout") {
    const auto told = [](const nlohmann::json& more) {
        nlohmann::json asked = document("unsloth");
        asked.update(more);
        return job_of(asked);
    };
    const job whole = told({{"adapter", {{"kind", "none"}}}});
    CHECK(precision{weights_of(whole)} == bf16);
    CHECK(whole.optimizer.name == "adamw_8bit");
    CHECK(told({{"sequence", 511}}).offload.activations == offload_place::none);
    CHECK(told({{"sequence", 512}}).offload.activations == offload_place::host);
    CHECK(told({{"recompute", "none"}}).offload.activations == offload_place::none);
    CHECK(told({{"recompute", nullptr}}).offload.activations == offload_place::host);
    CHECK(told({{"offload", {{"activations", "none"}}}}).offload.activations == offload_place::none);
    const job both = told({{"offload", {{"optimizer", "host"}}}, {"optimizer", "adamw"}});
    CHECK(both.offload.activations == offload_place::host);
    CHECK(both.offload.optimizer == offload_place::host);
    const nlohmann::json two{{"gpu", "h100-sxm5-80gb"}, {"gpus", 2}};
    CHECK(told({{"layout", {{"zero", 3}}}, {"cluster", two}}).optimizer.name == "adamw_fused");
    CHECK(told({{"layout", {{"data", 2}}}, {"cluster", two}}).optimizer.name == "adamw_8bit");
}

TEST_CASE("the longest contexts that Unsloth publishes take about what their GPUs have") {
    struct published {
        const char* model;
        int tokens;
        double gib;
    };
    // unslothai/unsloth, README.md, "Context length benchmarks": QLoRA of rank 32, one sequence; some extrapolated.
    for (const auto& [model, length, size] :
         {published{"llama-3-8b", 21848, 12}, published{"llama-3-8b", 153977, 40}, published{"llama-3-8b", 191728, 48},
          published{"llama-3-8b", 342733, 80}, published{"llama-3-70b", 12106, 48}}) {
        CAPTURE(length);
        nlohmann::json asked = document("unsloth");
        asked.update({{"model", model}, {"sequence", length}, {"micro_batch", 1}, {"adapter", {{"rank", 32}}}});
        asked["cluster"] = {{"gpu", "h200-sxm5-141gb"}, {"gpus", 1}};
        const interval<byte_count> held = answer_job(asked)->planned.plan.memory.total();
        const double low = held.low.in(mib) / 1024.0, expected = held.expected.in(mib) / 1024.0;
        CHECK(low < size * 1.01);
        CHECK(expected > size * 0.99);
        CHECK(expected < size * 1.16);
    }
}

TEST_CASE("NeMo AutoModel trains the model as it is stored, one sequence at a time, and pre-trains alike") {
    for (const char* name : {"automodel", "NeMo AutoModel", "nemo-automodel"}) {
        CAPTURE(name);
        const job plain = job_of(document(name));
        CHECK(plain.runtime.sharding.code == sharding_code::fsdp2);
        CHECK(plain.micro_batch == 1);
        CHECK(plain.recompute == recompute::none);
        CHECK(precision{weights_of(plain)} == bf16);
        CHECK_FALSE(plain.adapter.trains());
        CHECK_FALSE(master_weights_of(plain));
    }
    nlohmann::json asked = document("automodel");
    asked["adapter"] = {{"kind", "lora"}};
    CHECK(job_of(asked).adapter.rank == 8);
    CHECK(job_of(asked).runtime.kernels.gate == gate_code::in_place);
    CHECK(answer_job(asked)->assumed["fused_gates"] == true);
    asked = document("automodel");
    asked["task"] = "pretraining";
    CHECK(answer_job(asked)->assumed["defaults_of"] == "nemo_automodel 0.7.0");
}

TEST_CASE("Megatron-Bridge fine-tunes 2,048 tokens at once, and pre-trains two sequences of 4,096") {
    const job plain = job_of(document("Megatron-Bridge"));
    CHECK(plain.runtime.identity == runtimes::megatron.identity);
    CHECK(plain.micro_batch == 1);
    CHECK(plain.sequence == tokens(2048));
    CHECK(plain.recompute == recompute::none);
    CHECK(plain.runtime.kernels.loss.code == loss_code::vocabulary_parallel_fused);
    CHECK(answer_job(document("megatron-bridge"))->assumed["loss"] == "vocabulary_parallel_fused");
    nlohmann::json asked = document("megatron-bridge");
    asked["adapter"] = {{"kind", "lora"}};
    CHECK(job_of(asked).adapter.rank == 32);
    asked = document("megatron-bridge");
    asked["task"] = "pretraining";
    CHECK(job_of(asked).task == task::pretraining);
    CHECK(job_of(asked).micro_batch == 2);
    CHECK(job_of(asked).sequence == tokens(4096));
    CHECK(answer_job(asked)->assumed["defaults_of"] == "megatron_bridge 0.6.2");
    CHECK_FALSE(answer_job(document("megatron"))->assumed.contains("defaults_of"));
}

TEST_CASE("no stack leaves norms, embedding and head in fp32 beside 4-bit weights, and each says so") {
    for (const char* name : {"trl", "axolotl", "llama-factory", "ms-swift"}) {
        CAPTURE(name);
        nlohmann::json asked = document(name);
        asked.update({{"weights", "nf4"}, {"adapter", {{"kind", "lora"}, {"rank", 8}}}});
        CHECK_FALSE(job_of(asked).runtime.kernels.fp32_stream);
        CHECK(answer_job(asked)->assumed["fp32_stream"] == false);
    }
}

TEST_CASE("software without a loop of its own has no defaults, and neither has a job that does not finetune") {
    CHECK(job_of(document("huggingface")).recompute == recompute::none);
    nlohmann::json pretrained = document("trl");
    pretrained["task"] = "pretraining";
    CHECK(job_of(pretrained).recompute == recompute::none);
    CHECK(detail::stack_of({{"runtime", 7}}) == nullptr);
    CHECK(detail::stack_of({{"runtime", {{"versions", "1"}}}}) == nullptr);
    CHECK(detail::stack_of({{"runtime", {{"name", "Axolotl"}}}}) != nullptr);
}

TEST_CASE("the answer says what was assumed of a stack, and of which version") {
    const result<job_answer> answer = answer_job(document("ms-swift"));
    REQUIRE(answer);
    CHECK(answer->assumed["defaults_of"] == "ms-swift 4.6.0");
    CHECK(answer->assumed["recompute"] == "full");
    CHECK(answer->assumed["adapter_kind"] == "lora");
    CHECK(answer->assumed["adapter_rank"] == 8);
    CHECK_FALSE(answer_job(document("huggingface"))->assumed.contains("defaults_of"));
}

TEST_CASE("a batch is divided by what its ranks compute at once, where there are ranks and a batch") {
    const auto divides = [](std::int64_t batch, std::int64_t ranks, std::int64_t micro_batch) {
        return detail::divides_global_batch({{"global_batch", batch}, {"layout", {{"data", ranks}}}}, micro_batch);
    };
    CHECK(divides(32, 4, 8));
    CHECK_FALSE(divides(32, 4, 3));
    CHECK_FALSE(divides(1, 2, 1));
    CHECK(divides(1, 1, 1));
    CHECK(divides(0, 4, 8));
    CHECK(divides(32, 0, 8));
    CHECK_FALSE(divides(7, 1'000'000, 1));
    CHECK(divides(7, 1'000'001, 1));  // more ranks than there may be are refused elsewhere
}

TEST_CASE("a task may be a preference that is learned, for any stack") {
    const auto has_stack = [](const char* task) {
        return detail::stack_of({{"runtime", "trl"}, {"task", task}}) != nullptr;
    };
    CHECK(has_stack("dpo"));
    CHECK(has_stack("finetuning"));
    CHECK_FALSE(has_stack("serving"));
}

TEST_CASE("DeepSpeed keeps those settings of a stack that it has, and decides on the format of weights") {
    REQUIRE(has_key(runtimes::deepspeed, "reduce_bucket_size"));
    REQUIRE_FALSE(has_key(runtimes::deepspeed, "fully_shard"));
    nlohmann::json defaults{{"weights", "fp32"}, {"runtime", {{"reduce_bucket_size", 1}, {"fully_shard", 2}}}};
    detail::leave_to_deepspeed(defaults);
    CHECK(defaults == nlohmann::json{{"runtime", {{"reduce_bucket_size", 1}}}});
    nlohmann::json none{{"micro_batch", 2}, {"runtime", {{"fully_shard", 2}}}};
    detail::leave_to_deepspeed(none);
    CHECK(none == nlohmann::json{{"micro_batch", 2}});
}
