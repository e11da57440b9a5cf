// SPDX-License-Identifier: MIT
#include <llmres/io/files.hpp>
#include <llmres/io/job_json.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>

using namespace llmres;
using nlohmann::json;

namespace {

// ---- how many fields an aggregate has: a field that JSON forgot makes a count below differ --------------------------

struct anything {
    template <class T>
    constexpr operator T() const;  // NOLINT(google-explicit-constructor)
};

template <class Aggregate, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires { Aggregate{(static_cast<void>(I), anything{})...}; };
}
template <class Aggregate, std::size_t Count = 64>
constexpr std::size_t field_count() {
    if constexpr (takes<Aggregate>(std::make_index_sequence<Count>{}))
        return Count;
    else
        return field_count<Aggregate, Count - 1>();
}
struct three {
    int a;
    double b;
    maybe<precision> c;
};
static_assert(field_count<three>() == 3);

std::size_t described(std::string_view object) {
    std::size_t count = 0;
    for (const job_field& f : job_fields) count += f.object == object ? 1 : 0;
    return count;
}

const std::string devices = LLMRES_SOURCE_DIR "/tests/data/devices/";
const std::string h100_file = devices + "synthetic-h100-sxm5-80gb.json";

std::string content_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

json minimal() { return {{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "rtx-4090"}}}}; }

plan_request read(const json& document) {
    CAPTURE(document.dump());
    const result<plan_request> made = read_job(document, std::filesystem::path{});
    INFO(std::string{made.error().field.view()} << ": " << std::string{made.error().expected.view()});
    REQUIRE(made);
    return *made;
}

/// A value other than the default for a field, and what it must have set.
struct example {
    json value;
    std::function<bool(const plan_request&)> seen;
};

/// One for every job_field: a field without one fails below.
const std::map<std::string, example>& examples() {
    using r = const plan_request&;
    static const std::map<std::string, example> all{
        {".task", {"finetuning", [](r q) { return q.job.task == task::finetuning; }}},
        {".weights", {"fp8_e4m3", [](r q) { return q.job.weights == maybe<precision>{fp8_e4m3}; }}},
        {".compute", {"fp16", [](r q) { return q.job.compute == fp16; }}},
        {".attention", {"flash", [](r q) { return q.job.attention == attention_kernel::flash; }}},
        {".kv_cache", {"fp8_e5m2", [](r q) { return q.job.kv_cache == maybe<precision>{fp8_e5m2}; }}},
        {".kv_cache_values", {"q8_0", [](r q) { return q.job.kv_cache_values == maybe<precision>{q8_0}; }}},
        {".batch", {7, [](r q) { return q.job.batch == 7; }}},
        {".prompt", {7, [](r q) { return q.job.prompt == tokens(7); }}},
        {".output", {7, [](r q) { return q.job.output == tokens(7); }}},
        {".context", {7, [](r q) { return q.job.context == tokens(7); }}},
        {".max_batched_tokens", {7, [](r q) { return q.job.max_batched_tokens == tokens(7); }}},
        {"lengths.mean", {7, [](r q) { return q.lengths && q.lengths->mean == tokens(7); }}},
        {"lengths.longest", {7, [](r q) { return q.lengths && q.lengths->longest == tokens(7); }}},
        {".sequence", {7, [](r q) { return q.job.sequence == tokens(7); }}},
        {".micro_batch", {7, [](r q) { return q.job.micro_batch == 7; }}},
        {".global_batch", {7, [](r q) { return q.job.global_batch == 7; }}},
        {".optimizer", {"sgd", [](r q) { return q.job.optimizer == sgd; }}},
        {".optimizer_in_bwd", {true, [](r q) { return q.job.optimizer.in_backward; }}},
        {".gradients", {"fp32", [](r q) { return q.job.gradients == maybe<precision>{fp32}; }}},
        {".master_weights", {"bf16", [](r q) { return q.job.master_weights == maybe<precision>{bf16}; }}},
        {".optimizer_states", {"bf16", [](r q) { return q.job.optimizer_states == maybe<precision>{bf16}; }}},
        {".recompute", {"full", [](r q) { return q.job.recompute == recompute::full; }}},
        {".recompute_modules",
         {"layernorm,moe_act",
          [](r q) { return q.job.recompute_modules == layer_part_set{layer_part::layernorm, layer_part::moe_act}; }}},
        {".recompute_every", {2, [](r q) { return q.job.recompute_every == 2; }}},
        {".autocast", {false, [](r q) { return q.job.autocast == maybe<bool>{false}; }}},
        {".dropout", {true, [](r q) { return q.job.dropout; }}},
        {".varied_lengths", {true, [](r q) { return q.job.varied_lengths; }}},
        {".mean_length", {7, [](r q) { return q.job.mean_length == tokens(7); }}},
        {".expert_load", {1.5, [](r q) { return q.job.expert_load == 1.5; }}},
        {".ema", {true, [](r q) { return q.job.ema; }}},
        {".mtp_layers", {1, [](r q) { return q.job.mtp_layers == 1; }}},
        {".mtp_use_repeated_layer", {true, [](r q) { return q.job.mtp_use_repeated_layer; }}},
        {".steps", {1, [](r q) { return q.job.steps == 1; }}},
        {"adapter.kind", {"lora", [](r q) { return q.job.adapter.kind == adapter_kind::lora; }}},
        {"adapter.rank", {7, [](r q) { return q.job.adapter.rank == 7; }}},
        {"adapter.targets",
         {"q_proj,v_proj",
          [](r q) { return q.job.adapter.targets == role_set{weight_role::q_proj, weight_role::v_proj}; }}},
        {"adapter.experts", {true, [](r q) { return q.job.adapter.experts == maybe<bool>{true}; }}},
        {"adapter.dropout", {0.1, [](r q) { return q.job.adapter.dropout == 0.1; }}},
        {"offload.optimizer", {"host", [](r q) { return q.job.offload.optimizer == offload_place::host; }}},
        {"offload.parameters", {"nvme", [](r q) { return q.job.offload.parameters == offload_place::nvme; }}},
        {"offload.activations", {"host", [](r q) { return q.job.offload.activations == offload_place::host; }}},
        {"offload.modules",
         {"core_attn,expert_fc1",
          [](r q) { return q.job.offload.modules == layer_part_set{layer_part::core_attn, layer_part::expert_fc1}; }}},
        {"offload.pinned", {true, [](r q) { return q.job.offload.pinned; }}},
        {"layout.tensor", {2, [](r q) { return q.layout->tensor == 2; }}},
        {"layout.sequence_parallel", {true, [](r q) { return q.layout->sequence_parallel; }}},
        {"layout.pipeline", {2, [](r q) { return q.layout->pipeline == 2; }}},
        {"layout.virtual_pipeline", {2, [](r q) { return q.layout->virtual_pipeline == 2; }}},
        {"layout.data", {2, [](r q) { return q.layout->data == 2; }}},
        {"layout.context_parallel", {2, [](r q) { return q.layout->context_parallel == 2; }}},
        {"layout.expert", {2, [](r q) { return q.layout->expert == 2; }}},
        {"layout.expert_tensor", {2, [](r q) { return q.layout->expert_tensor == 2; }}},
        {"layout.zero", {3, [](r q) { return q.layout->zero == 3; }}},
        {"layout.shard_replicas", {2, [](r q) { return q.layout->shard_replicas == 2; }}},
        {"layout.micro_batch_group", {16, [](r q) { return q.layout->micro_batch_group == 16; }}},
        {"layout.schedule", {"zb_h1", [](r q) { return q.layout->schedule == pipeline_schedule::zb_h1; }}},
        {"layout.stages",
         {"20|12", [](r q) { return q.layout->stages.chunks == 2 && q.layout->stages.layers[0] == 20; }}},
        {"layout.first_stage_layers", {7, [](r q) { return q.layout->first_stage_layers == 7; }}},
        {"layout.last_stage_layers", {6, [](r q) { return q.layout->last_stage_layers == 6; }}},
        {"layout.embedding_as_layer", {true, [](r q) { return q.layout->embedding_as_layer; }}},
        {"layout.loss_as_layer", {true, [](r q) { return q.layout->loss_as_layer; }}},
        {"layout.cp_comm_type", {"a2a", [](r q) { return q.layout->cp_comm_type == cp_communication::a2a; }}},
        {"layout.replicas", {2, [](r q) { return q.layout->replicas == 2; }}},
        {"cluster.gpu", {"h100-sxm5-80gb", [](r q) { return q.cluster.gpu.id == "h100-sxm5-80gb"; }}},
        {"cluster.device",
         {h100_file, [](r q) { return q.device == h100_file && q.cluster.gpu.name == "NVIDIA H100 80GB HBM3"; }}},
        {"cluster.gpu_memory", {gib(20).in(bytes), [](r q) { return usable_memory(q.cluster.gpu) == gib(20); }}},
        {"cluster.gpu_bandwidth", {9e11, [](r q) { return q.cluster.gpu.memory.bandwidth == gb_per_s(900); }}},
        {"cluster.gpu_flops", {9e13, [](r q) { return q.cluster.gpu.rates.bf16 == tflops(90); }}},
        {".experts_down", {"iq5_ks", [](r q) { return q.job.model.mixed.experts_down == maybe<precision>{iq5_ks}; }}},
        {"cluster.gpus", {5, [](r q) { return q.cluster.gpus == 5; }}},
        {"cluster.gpus_per_node", {2, [](r q) { return q.cluster.gpus_per_node == 2; }}},
        {"cluster.scale_up", {"pcie-gen3-x16", [](r q) { return q.cluster.scale_up.id == "pcie-gen3-x16"; }}},
        {"cluster.scale_out", {"ib-hdr-200", [](r q) { return q.cluster.scale_out.id == "ib-hdr-200"; }}},
        {"cluster.power_limit", {400, [](r q) { return q.cluster.power_limit == maybe<power>{watts(400)}; }}},
        {"cluster.in_use", {1000, [](r q) { return q.cluster.in_use == bytes(1000); }}},
        {"host.memory", {1000, [](r q) { return q.cluster.host.memory == bytes(1000); }}},
        {"host.bandwidth", {2.5e11, [](r q) { return q.cluster.host.bandwidth == bytes_per_s(2.5e11); }}},
        {"host.link", {"pcie-gen3-x4", [](r q) { return q.cluster.host.link.id == "pcie-gen3-x4"; }}},
        {"host.cores", {3, [](r q) { return q.cluster.host.cores == 3; }}},
        {"runtime.runtime", {"vllm", [](r q) { return q.job.runtime.identity.name == "vllm"; }}},
        {"runtime.gpu_memory_utilization",
         {0.5, [](r q) { return q.job.runtime.cache.fraction == maybe<double>{0.5}; }}},
        {"runtime.kv_block", {128, [](r q) { return q.job.runtime.cache.block == tokens(128); }}},
        {"runtime.max_num_seqs", {7, [](r q) { return q.job.options.max_num_seqs == 7; }}},
        {"runtime.flash_attention",
         {false, [](r q) { return q.job.runtime.serving_kernels.flash_attention == maybe<bool>{false}; }}},
        {"runtime.gpu_layers", {7, [](r q) { return q.job.options.gpu_layers == maybe<std::int32_t>{7}; }}},
        {"runtime.embedding_on_host", {true, [](r q) { return q.job.runtime.loading.embedding_on_host; }}},
        {"runtime.experts_on_host", {true, [](r q) { return q.job.options.experts_on_host; }}},
        {"runtime.max_loras", {7, [](r q) { return q.job.options.max_loras == 7; }}},
        {"runtime.max_lora_rank", {7, [](r q) { return q.job.options.max_lora_rank == 7; }}},
        {"runtime.encoder_tokens", {7, [](r q) { return q.job.options.encoder_tokens == tokens(7); }}},
        {"runtime.rope_scaling", {4, [](r q) { return q.job.options.rope_scaling == 4; }}},
        {"runtime.loss",
         {"fused_linear", [](r q) { return q.job.runtime.kernels.loss.code == loss_code::fused_linear; }}},
        {"runtime.use_fused_weighted_squared_relu",
         {true, [](r q) { return q.job.runtime.kernels.use_fused_weighted_squared_relu; }}},
        {"runtime.scan", {"fused", [](r q) { return q.job.runtime.kernels.scan == scan_code::fused; }}},
        {"runtime.expandable_segments", {true, [](r q) { return q.job.runtime.allocator.expandable_segments; }}},
        {"runtime.compiled", {true, [](r q) { return q.job.runtime.kernels.compilation.layers; }}},
        {"runtime.compiled_loss", {true, [](r q) { return q.job.runtime.kernels.compilation.loss; }}},
        {"runtime.fused_norms", {true, [](r q) { return q.job.runtime.kernels.norm == norm_code::fused; }}},
        {"runtime.fused_gates", {true, [](r q) { return q.job.runtime.kernels.gate == gate_code::fused; }}},
        {"runtime.experts", {"batched", [](r q) { return q.job.runtime.kernels.experts == expert_code::batched; }}},
        {"runtime.selective",
         {"all_but_products",
          [](r q) { return q.job.runtime.kernels.checkpointing.selective == selective_code::all_but_products; }}},
        {"runtime.save_on_cpu", {true, [](r q) { return q.job.runtime.kernels.checkpointing.offloads_at_once; }}},
        {"runtime.narrow_loss", {true, [](r q) { return q.job.runtime.kernels.loss.narrow; }}},
        {"runtime.fp32_stream", {false, [](r q) { return !q.job.runtime.kernels.fp32_stream; }}},
        {"runtime.fp32_adapters", {false, [](r q) { return !q.job.runtime.kernels.fp32_adapters; }}},
        {"runtime.four_bit_keeps_inputs", {true, [](r q) { return q.job.runtime.kernels.four_bit_keeps_inputs; }}},
        {"runtime.use_reentrant", {true, [](r q) { return q.job.runtime.kernels.checkpointing.reentrant; }}},
        {"runtime.checkpoints_inside_units",
         {true, [](r q) { return q.job.runtime.kernels.checkpointing.inside_units; }}},
        {"runtime.gradient_accumulation_fusion",
         {false, [](r q) { return q.job.runtime.kernels.linear == linear_code::plain; }}},
        {"runtime.cuda", {11, [](r q) { return q.job.runtime.process.context.expected == mib(1823); }}},
        {"runtime.reshard_after_forward", {false, [](r q) { return !q.job.runtime.sharding.reshards_after_forward; }}},
        {"runtime.fp8_recipe",
         {"blockwise", [](r q) { return q.job.runtime.kernels.fp8.recipe == fp8_recipe::blockwise; }}},
        {"runtime.fp8_param_gather", {true, [](r q) { return q.job.runtime.kernels.fp8.param_gather; }}},
        {"runtime.layer_wise_param_layout",
         {false, [](r q) { return !q.job.runtime.optimizer.layer_wise_param_layout; }}},
        {"runtime.defer_embedding_wgrad_compute",
         {true, [](r q) { return q.job.runtime.pipeline.defer_embedding_wgrad_compute; }}},
        {"runtime.wgrad_deferral_limit", {2, [](r q) { return q.job.runtime.pipeline.wgrad_deferral_limit == 2; }}},
        {"runtime.reduce_bucket_size",
         {50000000, [](r q) { return q.job.runtime.sharding.reduce_bucket_size == 50000000; }}},
        {"runtime.sub_group_size", {500000000, [](r q) { return q.job.runtime.sharding.sub_group_size == 500000000; }}},
        {"runtime.draft", {"llama-3.2-1b", [](r q) { return q.job.options.draft_kv == bytes_a_token(32768); }}},
        {"runtime.speculates_ahead", {true, [](r q) { return q.job.options.speculates_ahead; }}},
    };
    return all;
}

/// A runtime that has the knob.
std::string runtime_with(const job_field& f) {
    return f.runtimes.empty() ? "vllm" : std::string{f.runtimes.substr(0, f.runtimes.find(','))};
}

json with(const job_field& f, const json& value) {
    json document = minimal();
    const std::string name{f.name};
    if (f.group == "Training" || f.group == "Adapter" || f.group == "Offload") document["task"] = "pretraining";
    if (f.object.empty() || name == "runtime")
        document[name] = value;
    else if (f.object == "host")
        document["cluster"]["host"][name] = value;
    else if (f.object == "runtime")
        document["runtime"] = {{"name", runtime_with(f)}, {name, value}};
    else
        document[std::string{f.object}][name] = value;
    if (name == "device") document["cluster"].erase("gpu");
    if (name == "experts_down") document["weights"] = "iq4_ks";
    if (f.object == "lengths" && name == "longest") document["lengths"]["mean"] = 1;
    if (f.object == "adapter")
        document["adapter"].emplace(name == "kind" ? "rank" : "kind", name == "kind" ? json(8) : json("lora"));
    if (f.object == "adapter" && name != "rank" && name != "kind") document["adapter"]["rank"] = 8;
    if (name == "recompute_modules") document["recompute"] = "selective";
    return document;
}

}  // namespace

TEST_CASE("every field of a job, a layout, a cluster and a host has its JSON key") {
    // If one of these fails, a field was added to the C++ type: describe it in job_fields.hpp, read it in job_json.hpp,
    // and give it an example above; or count it here if a document gives it by other means.
    // Objects: model, adapter, offload, and runtime, under which the options stand, too. gguf is a kind of weights.
    // experts_down is a format of the model's, and optimizer_in_bwd is of the optimizer.
    CHECK(field_count<job>() + 2 == described("") + 5 + 1);
    CHECK(field_count<adapter>() == described("adapter"));
    CHECK(field_count<offload>() == described("offload"));
    CHECK(field_count<layout>() == described("layout"));
    // host is an object; device is a file that gives the gpu, and three fields describe it
    CHECK(field_count<cluster>() + 1 + 3 == described("cluster") + 1);
    CHECK(field_count<host>() == described("host"));
}

TEST_CASE("every job_field reaches the C++ field of its name") {
    for (const job_field& f : job_fields) {
        const std::string key = std::string{f.object} + "." + std::string{f.name};
        CAPTURE(key);
        const auto found = examples().find(key);
        REQUIRE(found != examples().end());
        const plan_request given = read(with(f, found->second.value));
        CHECK(found->second.seen(given));
        // The example differs from the default, or it would prove nothing.
        json plain = minimal();
        if (f.object == "layout") plain["layout"] = json::object();
        if (f.object == "runtime" && f.name != "runtime") plain["runtime"] = runtime_with(f);
        CHECK_FALSE(found->second.seen(read(plain)));
    }
    CHECK(examples().size() == job_fields.size());
}

TEST_CASE("several names are a list or a string with commas") {
    for (const char* field : {"recompute_modules", "modules", "targets"}) {
        CAPTURE(field);
        const auto f = std::find_if(job_fields.begin(), job_fields.end(),
                                    [&](const job_field& each) { return each.name == field; });
        const json names =
            field == std::string{"targets"} ? json::array({"q_proj", "v_proj"}) : json::array({"core_attn", "moe_act"});
        const result<plan_request> listed = read_job(with(*f, names));
        const result<plan_request> written =
            read_job(with(*f, names[0].get<std::string>() + "," + names[1].get<std::string>()));
        REQUIRE(listed);
        REQUIRE(written);
        CHECK(listed->job.adapter == written->job.adapter);
        CHECK(listed->job.recompute_modules == written->job.recompute_modules);
        CHECK(listed->job.offload.modules == written->job.offload.modules);
        for (const json& wrong :
             {json::array({"q_proj", 3}), json::array({"nonsense"}), json::array({json::array()})}) {
            const result<plan_request> refused = read_job(with(*f, wrong));
            REQUIRE_FALSE(refused);
            CHECK(std::string{refused.error().field.view()}.ends_with(field));
        }
    }
}

TEST_CASE("every number is refused outside its bounds, by its path") {
    for (const job_field& f : job_fields) {
        if (f.type != field_type::integer && f.type != field_type::real) continue;
        CAPTURE(std::string{f.name});
        for (const json& value : {json(-1), json(1e30), json("1"), json(true), json::array(), json(f.high * 2)}) {
            if (value.is_number() && f.object == "host" && f.name == "bandwidth" && value == 2e18) continue;
            CAPTURE(value.dump());
            const result<plan_request> made = read_job(with(f, value));
            REQUIRE_FALSE(made);
            CHECK(std::string{made.error().field.view()}.find(std::string{f.name}) != std::string::npos);
            CHECK_FALSE(made.error().expected.empty());
        }
    }
}

TEST_CASE("no two flags have one name, and each has help") {
    std::map<std::string, int> seen;
    for (const job_field& f : job_fields) {
        CAPTURE(std::string{f.name});
        CHECK(++seen[flag_of(f)] == 1);
        CHECK_FALSE(f.help.empty());
        CHECK_FALSE(f.group.empty());
        CHECK(find_job_field(f.object, f.name) == &f);
    }
    CHECK(find_job_field("layout", "batch") == nullptr);
}

TEST_CASE(
    "every key stands in a document of tests/data/jobs; each of these is planned, and listed among the documents") {
    const std::filesystem::path folder = LLMRES_SOURCE_DIR "/tests/data/jobs";
    const std::string documented = content_of(LLMRES_SOURCE_DIR "/docs/program.md");
    std::set<std::string> used;
    const auto use = [&](const std::string& object, const json& held) {
        for (const auto& [key, value] : held.items()) used.insert(object + "." + key);
    };
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        if (entry.path().extension() != ".json") continue;
        const std::string name = entry.path().filename().string();
        CAPTURE(name);
        CHECK(documented.find("`" + name + "`") != std::string::npos);
        const json document = json::parse(content_of(entry.path()));
        const result<plan_request> made = read_job(document, folder);
        INFO(std::string{made.error().field.view()} << " is " << std::string{made.error().value.view()} << ": "
                                                    << std::string{made.error().expected.view()});
        REQUIRE(made);
        const result<job_plan> planned =
            made->layout ? plan(made->job, *made->layout, made->cluster) : plan(made->job, made->cluster);
        INFO(std::string{planned.error().field.view()} << " is " << std::string{planned.error().value.view()} << ": "
                                                       << std::string{planned.error().expected.view()});
        REQUIRE(planned);
        use("", document);
        for (const char* object : {"lengths", "adapter", "offload", "layout", "cluster", "runtime"})
            if (document.contains(object) && document[object].is_object()) use(object, document[object]);
        if (document["cluster"].contains("host")) use("host", document["cluster"]["host"]);
    }
    used.insert("runtime.runtime");  // the whole object, or its name
    for (const job_field& f : job_fields) {
        CAPTURE(std::string{f.name});
        CHECK(used.contains(std::string{f.object} + "." + std::string{f.name}));
    }
    CHECK(used.contains(".prefill"));
}

TEST_CASE("every optimizer, loss and knob of a runtime has its name in the documents") {
    const std::string documented = content_of(LLMRES_SOURCE_DIR "/docs/program.md");
    const auto named = [&](std::string_view name) {
        return documented.find("`" + std::string{name} + "`") != std::string::npos;
    };
    for (const optimizer& each : optimizers) {
        CAPTURE(std::string{each.name.view()});
        CHECK(named(each.name.view()));
    }
    for (const knob& each : common_knobs) CHECK_MESSAGE(named(each.name), std::string{each.name});
    for (const runtime* each : runtimes::all)
        for (const knob& its : each->identity.knobs) CHECK_MESSAGE(named(its.name), std::string{its.name});
    for (const runtime* each : runtimes::all)
        if (takes_fraction(each->cache)) {
            CAPTURE(std::string{each->cache.fraction_name.view()});
            CHECK(named(each->cache.fraction_name.view()));
        }
    for (const std::string_view loss : loss_code_names) {
        CAPTURE(std::string{loss});
        CHECK(named(loss));
    }
}

TEST_CASE("what only the other kind of task has is refused, and what hangs on a field that is not there") {
    const auto refused = [](const json& more, std::string_view field) {
        json document = minimal();
        document.merge_patch(more);
        CAPTURE(document.dump());
        const result<plan_request> made = read_job(document);
        const error e =
            made ? (made->layout ? plan(made->job, *made->layout, made->cluster) : plan(made->job, made->cluster))
                       .error()
                 : made.error();
        CHECK(e.field == field);
        CHECK_FALSE(e.expected.empty());
    };
    for (const job_field& f : job_fields) {
        const bool training = f.group == "Training" || f.group == "Adapter" || f.group == "Offload";
        if (!training && f.group != "Serving") continue;
        json document = with(f, examples().at(std::string{f.object} + "." + std::string{f.name}).value);
        document["task"] = training ? "serving" : "finetuning";
        CAPTURE(document.dump());
        const result<plan_request> made = read_job(document);
        REQUIRE_FALSE(made);
        CHECK(made.error().code == error_code::inconsistent);
        CHECK((made.error().field == f.name || made.error().field == f.object || made.error().field == "recompute"));
    }
    refused({{"task", "finetuning"}, {"adapter", {{"rank", 8}}}}, "adapter.kind");
    refused({{"task", "finetuning"}, {"mean_length", 100}}, "mean_length");
    refused({{"task", "finetuning"}, {"recompute_every", 2}}, "recompute_every");
    refused({{"task", "finetuning"}, {"mtp_use_repeated_layer", true}}, "mtp_use_repeated_layer");
    refused({{"task", "finetuning"}, {"recompute", "full"}, {"recompute_modules", "core_attn"}}, "recompute_modules");
    refused({{"task", "finetuning"}, {"runtime", {{"name", "megatron"}, {"fp8_param_gather", true}}}},
            "runtime.fp8_param_gather");
    refused({{"cluster", {{"gpus", 2}}}, {"layout", {{"data", 2}, {"expert", 2}}}}, "layout.expert");
    json null_fields = minimal();
    null_fields["micro_batch"] = nullptr;  // absent
    CHECK(read_job(null_fields));
}

TEST_CASE("by itself a document opens no file: what it names by a path is refused, and says what may stand there") {
    const auto refusal = [](const json& more) {
        json document = minimal();
        document.merge_patch(more);
        return read_job(document).error();
    };
    CHECK(refusal({{"model", "./config.json"}}).field == "model");
    CHECK(refusal({{"model", "./config.json"}}).code == error_code::unsupported);
    CHECK(refusal({{"runtime", {{"name", "vllm"}, {"draft", "draft.gguf"}}}}).field == "runtime.draft");
    const error device = refusal({{"cluster", {{"gpu", nullptr}, {"device", "here.json"}}}});
    CHECK(device.field == "cluster.device");
    CHECK(device.value == "here.json");
    CHECK(device.code == error_code::unsupported);
}

TEST_CASE("a caller's own functions look up what a document names") {
    const result<device_file> file = parse_device_file(content_of(devices + "synthetic-rtx-4090.json"));
    REQUIRE(file);
    const job_sources sources{
        .model = [](std::string_view name) { return name == "mine" ? find_preset("qwen2.5-7b") : find_preset(name); },
        .device = [&](std::string_view path) { return path == "node-7" ? file : find_no_device(path); }};
    const json document{{"model", "mine"}, {"cluster", {{"device", "node-7"}}}};
    const result<plan_request> made = read_job(document, sources);
    INFO(std::string{made.error().field.view()} << ": " << std::string{made.error().expected.view()});
    REQUIRE(made);
    CHECK(made->job.model.name == "qwen2.5-7b");
    CHECK(made->device == "node-7");
    CHECK(made->cluster.gpu.id == "rtx-4090");
    CHECK(read_job(json{{"model", "mine"}, {"cluster", {{"device", "node-8"}}}}, sources).error().value == "node-8");
}

TEST_CASE("the GPUs of prompts may be read from a device file, too") {
    json document = minimal();
    document["prefill"] = {{"cluster", {{"device", h100_file}, {"gpus", 2}}}};
    const plan_request q = read(document);
    CHECK(q.prefill->cluster.gpu.id == "h100-sxm5-80gb");
    CHECK(q.prefill->cluster.gpus == 2);
    CHECK(q.cluster.gpu.id == "rtx-4090");
    CHECK(q.device.empty());
    document["prefill"]["cluster"]["gpu"] = "rtx-4090";
    CHECK(read_job(document).error().field == "prefill.cluster.device");
    document["prefill"] = {{"cluster", {{"device", "/no/such/file.json"}}}};
    CHECK(read_job(document, std::filesystem::path{}).error().field == "prefill.cluster.device");
}

TEST_CASE("text that is no JSON, and numbers that JSON has not, are refused with their line") {
    const auto wrong = [](std::string_view text) {
        const result<plan_request> made = read_job(text);
        REQUIRE_FALSE(made);
        CHECK(made.error().field == "JSON");
        return std::string{made.error().value.view()};
    };
    CHECK(wrong("{\"model\": \"llama-3.1-8b\",\n \"batch\": }") == "line 2: }");
    CHECK(wrong("{\"model\": \"llama-3.1-8b\"") == "line 1: the end");
    CHECK(wrong("{\n\n\"expert_load\": NaN}") == "line 3: NaN}");
    CHECK(wrong("{\"expert_load\": -Infinity}") == "line 1: -Infinity}");
}

TEST_CASE("a document without a layout leaves it to the planner") {
    CHECK_FALSE(read(minimal()).layout);
    json document = minimal();
    document["layout"] = json::object();
    CHECK(read(document).layout == maybe<layout>{layout{}});
}

TEST_CASE("a draft model is a MODEL, in serving") {
    json document = minimal();
    document["runtime"] = {{"name", "vllm"}, {"draft", "llama-3.2-1b"}};
    CHECK(read(document).job.options.draft_weights == bytes(2'471'628'800));  // 1,235,814,400 in bf16
    document["runtime"]["draft"] = "llama-3.2-1bb";
    CHECK(read_job(document).error().field == "runtime.draft");
    CHECK(read_job(document).error().expected.view().find("llama-3.2-1b") != std::string_view::npos);
    document["runtime"]["draft"] = "llama-3.2-1b";
    document["task"] = "pretraining";
    CHECK(read_job(document).error().field == "runtime.draft");
}

TEST_CASE("lengths are of serving, and have a mean") {
    json document = minimal();
    document["lengths"] = {{"longest", 4096}};
    CHECK(read_job(document).error().field == "lengths.mean");
    document["lengths"] = {{"mean", 512}};
    document["task"] = "pretraining";
    CHECK(read_job(document).error().field == "lengths");
}

TEST_CASE("weights may be a GGUF mix, in serving") {
    json document = minimal();
    for (const char* name : {"q4_k_m", "Q4_K_M"}) {
        document["weights"] = name;
        const plan_request q = read(document);
        REQUIRE(q.job.gguf);
        CHECK(q.job.gguf->quantisation == gguf_quantisation::Q4_K_M);
        CHECK(weights_of(q.job) == q4_k);
    }
    document["weights"] = "q8_0";  // a format and a file type
    CHECK(read(document).job.gguf);
    document["weights"] = "bf16";
    CHECK_FALSE(read(document).job.gguf);
    document["weights"] = "q4_k_m";
    document["task"] = "pretraining";
    CHECK(read_job(document).error().field == "weights");
}

TEST_CASE("mxfp4 is a precision of the experts; the GGUF mix of that type is mxfp4_moe") {
    json document = minimal();
    document["model"] = "gpt-oss-20b";
    document["weights"] = "mxfp4";
    const plan_request precise = read(document);
    CHECK_FALSE(precise.job.gguf);
    CHECK(weights_of(precise.job) == mxfp4);
    document["weights"] = "mxfp4_moe";
    CHECK(read(document).job.gguf);
}

TEST_CASE("files of IQ types were made with an importance matrix") {
    json document = minimal();
    document["weights"] = "iq3_m";
    CHECK(read(document).job.gguf->importance_matrix);
    document["weights"] = "q4_k_m";
    CHECK_FALSE(read(document).job.gguf->importance_matrix);
}

TEST_CASE("experts_down names a format beside that of weights") {
    json document = minimal();
    document["model"] = "qwen3-235b-a22b";
    document["weights"] = "iq4_ks";
    document["experts_down"] = "iq5_ks";
    const plan_request q = read(document);
    CHECK(weights_of(q.job) == iq4_ks);
    CHECK(formats_of(q.job, bf16).experts_down == maybe<precision>{iq5_ks});
    document.erase("weights");
    CHECK(read_job(document).error().field == "experts_down");
}

TEST_CASE("a document describes a GPU that no table has, or corrects the table") {
    json document = minimal();
    document["cluster"] = {{"gpu_memory", gib(48).in(bytes)}, {"gpu_bandwidth", 1e12}, {"gpu_flops", 2e14}};
    const plan_request own = read(document);
    CHECK(usable_memory(own.cluster.gpu) == gib(48));
    CHECK(plan(own.job, own.cluster));
    document["cluster"].erase("gpu_bandwidth");
    CHECK(read_job(document).error().field == "cluster.gpu.memory.bandwidth");
    document["cluster"] = {{"gpu", "rtx-4090"}, {"gpu_memory", gib(48).in(bytes)}};  // rebuilt with twice the chips
    CHECK(usable_memory(read(document).cluster.gpu) == gib(48));
    document["cluster"] = {{"gpu", "apple-m1-max"}, {"gpu_memory", gib(32).in(bytes)}};  // Metal's working set
    CHECK(usable_memory(read(document).cluster.gpu) == div_down(gib(32) * 2, 3));
    document["cluster"] = {{"gpu", "rtx-4090"}, {"gpu_memory", 0}};
    CHECK(read_job(document).error().field == "cluster.gpu_memory");
}

TEST_CASE("what of the experts the CPU computes is told by the runtime's own options") {
    json document = minimal();
    document["runtime"] = {{"name", "llama.cpp"}, {"cpu_moe", true}, {"no_op_offload", true}};
    CHECK_FALSE(read(document).job.runtime.loading.host_experts.copied);
    document["runtime"] = {{"name", "ik_llama.cpp"}, {"run_time_repack", false}, {"mla_use", 1}};
    CHECK(read(document).job.runtime.loading.host_experts.copied);
    CHECK(read(document).job.runtime.serving_kernels.latent.expanded == byte_count{});
}

TEST_CASE("an engine's knobs go by the engine's names for them, too") {
    json document = minimal();
    document["runtime"] = {{"name", "sglang"}, {"mem_fraction_static", 0.7}};
    CHECK(read(document).job.runtime.cache.fraction == maybe<double>{0.7});
    document["runtime"] = {{"name", "vllm"}, {"mem_fraction_static", 0.7}};
    CHECK(read_job(document).error().field == "runtime.mem_fraction_static");
    document["runtime"] = {{"name", "llama.cpp"}, {"n_gpu_layers", 20}};
    CHECK(read(document).job.options.gpu_layers == maybe<std::int32_t>{20});
    for (const json& value : {json(-1), json(1e30), json("20"), json::array()}) {
        document["runtime"]["n_gpu_layers"] = value;
        CHECK(read_job(document).error().field == "runtime.n_gpu_layers");
    }
}

TEST_CASE("an engine's knob is turned once: what it limits stays as far as it may") {
    json document = minimal();
    document["runtime"] = {{"name", "vllm@0.7"}, {"max_num_batched_tokens", 4096}};
    runtime turned = find_runtime("vllm@0.7").value();
    serving_options asked;
    REQUIRE(set_knob(turned, asked, "max_num_batched_tokens", 4096));
    CHECK(turned.step.chunked_beyond == tokens(4096));
    CHECK(read(document).job.runtime.step.chunked_beyond == turned.step.chunked_beyond);
}

TEST_CASE("null is as good as absent") {
    json document = minimal();
    document["batch"] = nullptr;
    document["layout"] = {{"tensor", nullptr}};
    CHECK(read(document).job.batch == 1);
}

TEST_CASE("a text that is no job is refused, never thrown at") {
    for (const char* text :
         {"", "{", "[]", "1", "{\"model\": 1}", "{\"model\": \"llama-3.1-8b\"}", "{\"cluster\": {}}"}) {
        CAPTURE(text);
        const result<plan_request> made = read_job(std::string_view{text});
        CHECK_FALSE(made);
        CHECK_FALSE(made.error().expected.empty());
    }
}

TEST_CASE("a layout without data ranks is completed from the GPUs, and says so") {
    const auto given = [](std::string_view layout) {
        return read_job(std::string{R"({"model": "llama-3.1-8b", "task": "pretraining", "sequence": 4096, )"} +
                        R"("cluster": {"gpu": "h100-sxm5-80gb", "gpus": 8}, "layout": )" + std::string{layout} + "}")
            .value();
    };
    const plan_request completed = given(R"({"zero": 3})");
    CHECK(completed.layout->data == 8);
    CHECK(completed.data_ranks_chosen);
    CHECK(given(R"({"zero": 3, "data": 1})").layout->data == 1);
    CHECK_FALSE(given(R"({"zero": 3, "data": 1})").data_ranks_chosen);
    CHECK_FALSE(given(R"({"tensor": 8})").data_ranks_chosen);
}

TEST_CASE("a processor alone is a device with the host's memory") {
    json document = minimal();
    document["cluster"] = {{"gpu", "cpu"}};
    CHECK(read_job(document).error().field == "cluster.host.memory");
    document["cluster"]["host"] = {{"memory", std::int64_t{32} << 30}};
    const gpu cpu = read(document).cluster.gpu;
    CHECK(cpu.id == "cpu");
    CHECK(usable_memory(cpu) == gib(32));
    CHECK(cpu.memory.bandwidth == gb_per_s(60));
}

TEST_CASE("a checkpoint published in MXFP4 is a GGUF file of that mix where the runtime loads nothing else") {
    json document = minimal();
    document["model"] = "gpt-oss-20b";
    document["runtime"] = "llama.cpp";
    REQUIRE(read(document).job.gguf);
    CHECK(read(document).job.gguf->quantisation == gguf_quantisation::MXFP4_MOE);
    document["runtime"] = "vllm";
    CHECK_FALSE(read(document).job.gguf);
}
