// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/cluster_reader.hpp>
#include <llmres/io/json/device_file.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/io/json/runtime/profile_reader.hpp>
#include <llmres/io/json/runtime/reader.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/checks.hpp>
#include <llmres/jobs/find_names.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layer_parts.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/jobs/offload.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <optional>
#include <string>
#include <string_view>

/// Jobs as JSON: {"model", "task", ...job fields, "layout": {...}, "cluster": {...}, "runtime": NAME or {"name", ...}}.
/// A key is the name of the C++ field and of the command-line flag. Unknown keys and names are refused, with the
/// nearest known one. Nothing is opened here: io/files.hpp does that.
namespace llmres::inline v0 {

/// The GPUs that compute prompts, where others generate the output. Without a layout the planner chooses one.
struct pool_request {
    maybe<llmres::layout> layout{};  ///< its layout, if the document gives one
    llmres::cluster cluster{};       ///< its GPUs
};

/// What a job document asks for. Without a layout the planner chooses one.
struct plan_request {
    llmres::job job{};                     ///< what is asked
    maybe<llmres::layout> layout{};        ///< the layout, if the document gives one
    llmres::cluster cluster{};             ///< on which GPUs
    maybe<length_distribution> lengths{};  ///< lengths of sequences: the answer says how many such run at once
    /// The GPUs that compute prompts; then layout and cluster above are of those that generate the output
    /// (answers/disaggregated.hpp).
    maybe<pool_request> prefill{};
    std::string warning{};     ///< what a person should know of how the model was read; empty: nothing
    std::string model_name{};  ///< the model's name as the document has it; empty: it gives no name
    std::string device{};      ///< the device file that the cluster's GPU was read from; empty if it is from a table
    /// The runtime's profile, without the knobs that the job turns, and where its constants come from.
    runtime_profile profile{.runtime = no_runtime};
    /// The document gives a layout without its data ranks: they are with_data_ranks()'s.
    bool data_ranks_chosen = false;
    /// Layers on GPUs, experts on the host and context that the document does not give are fit_to_memory()'s.
    bool fitted = false;
};

/// The device_finder that opens no file: it refuses every path.
inline result<device_file> find_no_device(std::string_view path);

/// Turns what a job document names into values. By itself it opens no file and knows presets alone; sources_in() of
/// io/files.hpp opens what is named by a path, and a caller's own functions may look names up wherever they like.
struct job_sources {
    model_finder model = find_preset;                ///< reads "model", {"from": ...} and "draft"
    device_finder device = find_no_device;           ///< reads "cluster": {"device": ...}
    runtime_finder runtime = find_compiled_profile;  ///< reads "runtime"
};

/// Reads a document, parsed (programs set what flags say first) or as text. (io/files.hpp has read_job(document,
/// folder), which opens the files that it names.)
template <std::same_as<nlohmann::json> Json>
result<plan_request> read_job(const Json& document, const job_sources& sources = {});
/// Reads a document as text.
inline result<plan_request> read_job(std::string_view document, const job_sources& sources = {});

// ---- detail ---------------------------------------------------------------------------------------------------------

/// Software that trains with defaults of its own: fields of a job that nobody names, as its own default configuration
/// and its code have them.
struct training_stack {
    std::string_view name;                   ///< without letter case and marks between letters
    std::string_view also;                   ///< its other name, or the same
    std::string_view read_in;                ///< its version, and where the defaults were read
    std::string_view defaults;               ///< fields of a job document that finetunes, as JSON
    std::string_view of_whole_model = "{}";  ///< further ones where no adapter is trained, as JSON
    std::string_view of_low_rank = "{}";     ///< further ones where a low-rank adapter is trained, as JSON
    std::string_view of_sharded = "{}";      ///< further ones where `layout` has `zero` 2 or 3, as JSON
    /// Fields of a document that pre-trains, as JSON; empty: what finetunes alone.
    std::string_view of_pretraining{};
    /// `offload` is for layers that are recomputed whole, of sequences from this length on. Unit: tokens.
    std::int64_t offloads_from = 0;
};

/// All of them. A micro-batch of 8 and a fused optimizer are those of transformers' TrainingArguments (with PyTorch 2.8
/// and later), which the next four take over. DeepSpeed's own configuration says which ZeRO stage shards, and has none
/// of its own.
inline constexpr auto training_stacks = std::to_array<training_stack>({
    {.name = "trainer",
     .also = "hftrainer",
     .read_in = "transformers 5.24.0, training_args.py",
     .defaults = R"({"micro_batch": 8, "recompute": "none", "optimizer": "adamw_fused"})"},
    {.name = "trainerfsdp",
     .also = "trainerwithfsdp",
     .read_in = "transformers 5.24.0, training_args.py: _process_fsdp_args",
     .defaults = R"({"micro_batch": 8, "recompute": "none", "optimizer": "adamw_fused", "layout": {"zero": 3},
                     "runtime": {"fully_shard": true}})"},
    {.name = "trainerdeepspeed",
     .also = "trainerwithdeepspeed",
     .read_in = "transformers 5.24.0, training_args.py",
     .defaults = R"({"micro_batch": 8, "recompute": "none", "optimizer": "adamw_fused"})"},
    {.name = "trl",
     .also = "trl",
     .read_in = "trl 1.16.0, trainer/base_config.py, trainer/sft_config.py, trainer/model_config.py and "
                "trainer/utils.py: create_model_from_path",
     .defaults = R"({"micro_batch": 8, "sequence": 1024, "recompute": "full", "weights": "fp32",
                     "optimizer": "adamw_fused", "runtime": {"fp32_stream": false}})",
     .of_low_rank = R"({"adapter": {"rank": 16}})"},
    // Norms and embeddings are 16-bit again after peft's prepare_model_for_kbit_training (loaders/model.py,
    // should_convert_embedding_dtypes; not where FSDP shards 4-bit weights). Kernels of adapters are switched on unless
    // the configuration names one (utils/schemas/validation.py, lora_kernels_auto_enable; kernels/lora.py).
    {.name = "axolotl",
     .also = "axolotl",
     .read_in = "axolotl 0.21.0, utils/schemas/training.py, utils/schemas/config.py, utils/schemas/validation.py, "
                "loaders/model.py and kernels/lora.py",
     .defaults = R"({"micro_batch": 1, "sequence": 512, "recompute": "none", "optimizer": "adamw_fused",
                     "runtime": {"fp32_stream": false}})",
     .of_low_rank = R"({"runtime": {"fused_adapters": true, "fused_gates": true}})"},
    {.name = "llamafactory",
     .also = "llamafactory",
     .read_in = "llamafactory 0.9.5, hparams/data_args.py, hparams/finetuning_args.py, hparams/model_args.py and "
                "model/adapter.py",
     .defaults = R"({"micro_batch": 8, "sequence": 2048, "recompute": "full", "optimizer": "adamw_fused",
                     "adapter": {"kind": "lora", "rank": 8}, "runtime": {"fp32_stream": false}})",
     .of_whole_model = R"({"weights": "fp32"})"},
    {.name = "msswift",
     .also = "swift",
     .read_in = "ms-swift 4.6.0, trainers/arguments.py, arguments/base_args/base_args.py, arguments/tuner_args.py and "
                "pipelines/train/tuner.py",
     .defaults = R"({"micro_batch": 1, "recompute": "full", "optimizer": "adamw_fused",
                     "adapter": {"kind": "lora", "rank": 8}, "runtime": {"fp32_stream": false}})"},
    // A LoRA of 4-bit weights; full fine-tuning is in bf16 (models/vision.py, float32_mixed_precision). bitsandbytes'
    // 8-bit optimizers do not step FSDP2's shards (models/rl.py).
    {.name = "unsloth",
     .also = "unsloth",
     .read_in =
         "unsloth 2026.10.9, models/loader.py, models/llama.py: get_peft_model, models/rl.py and models/_utils.py: "
         "apply_unsloth_gradient_checkpointing",
     .defaults = R"({"micro_batch": 4, "sequence": 2048, "recompute": "full", "weights": "nf4_double",
                     "optimizer": "adamw_8bit", "adapter": {"kind": "lora", "rank": 16},
                     "offload": {"activations": "host"}})",
     .of_whole_model = R"({"weights": "bf16"})",
     .of_sharded = R"({"optimizer": "adamw_fused"})",
     .offloads_from = 512},
    // Its recipes leave the optimizer and the loss to a YAML file, whose examples name Adam and MaskedCrossEntropy.
    {.name = "automodel",
     .also = "nemoautomodel",
     .read_in = "nemo_automodel 0.7.0, recipes/llm/train_ft.py, components/distributed/config.py, "
                "components/_peft/lora.py and components/_peft/lora_mlp.py",
     .defaults = R"({"micro_batch": 1, "recompute": "none", "optimizer": "adamw"})",
     .of_low_rank = R"({"adapter": {"rank": 8}, "runtime": {"fused_gates": true}})",
     .of_pretraining = R"({"micro_batch": 1, "recompute": "none", "optimizer": "adamw"})"},
    // The recipes of single models start from these, and set layouts and lengths of their own. Of a 16-bit adapter, the
    // optimizer's fp32 copy, states and gradients are not described: 10 bytes a trained weight more.
    {.name = "megatronbridge",
     .also = "nemomegatronbridge",
     .read_in = "megatron_bridge 0.6.2, recipes/common.py and models/gpt_provider.py",
     .defaults = R"({"micro_batch": 1, "sequence": 2048, "recompute": "none",
                     "runtime": {"loss": "vocabulary_parallel_fused"}})",
     .of_low_rank = R"({"adapter": {"rank": 32}})",
     .of_pretraining = R"({"micro_batch": 2, "sequence": 4096, "recompute": "none",
                           "runtime": {"loss": "vocabulary_parallel_fused"}})"},
});

namespace detail {

inline result<adapter> read_adapter(const nlohmann::json& object) {
    if (const status s = known_keys(object, "adapter", {}); !s) return s.error();
    adapter a;
    job_reader read{object, "adapter"};
    if (!object.empty() && !read.fields().has("kind"))
        return refused(error_code::missing, "adapter.kind", "absent", "one of " + listed(names_of<adapter_kind>));
    read.value("kind", a.kind);
    if (a.low_rank()) a.rank = 8;  // PEFT's default (LoraConfig), as are litgpt's and torchtune's
    read.members(a);
    read.names("targets", a.targets, [&a](std::string_view names) {
        a.joined_heads = name_joined_heads(names);
        return find_roles(names);
    });
    if (const status s = read.checked(); !s) return s.error();
    return a;
}

/// The adapter of a folder: trained further, where the document names none; in serving one that is resident.
inline void take_adapter(const adapter& found, bool given, job& j) {
    if (trains(j)) {
        if (!given) j.adapter = found;
        return;
    }
    if (j.options.max_loras == 0) j.options.max_loras = 1;
    if (j.options.max_lora_rank < found.rank) j.options.max_lora_rank = found.rank;
}

inline result<length_distribution> read_lengths(const nlohmann::json& object) {
    if (const status s = known_keys(object, "lengths", {}); !s) return s.error();
    length_distribution lengths;
    job_reader read{object, "lengths"};
    if (!read.fields().has("mean"))
        return refused(error_code::missing, "lengths.mean", "absent", "the mean number of tokens of a sequence");
    read.value("mean", lengths.mean);
    read.value("longest", lengths.longest);
    if (const status s = read.checked(); !s) return s.error();
    return lengths;
}

inline result<offload> read_offload(const nlohmann::json& object) {
    if (const status s = known_keys(object, "offload", {}); !s) return s.error();
    offload o;
    job_reader read{object, "offload"};
    read.members(o);
    read.names("modules", o.modules,
               [](std::string_view names) { return find_layer_parts(names, offloaded_parts, "offload.modules"); });
    if (const status s = read.checked(); !s) return s.error();
    return o;
}

/// Splits the layers of a model by the ratios that a layout names, one for each stage.
inline void take_ratios(job_reader& read, std::int32_t layers, layout& l) {
    if (!read.fields().has("tensor_split")) return;
    if (l.stages.chunks > 0)
        return read.fields().fail(error_code::inconsistent, "tensor_split", "ratios, or the layers of each stage");
    read.named("tensor_split", l.stages, [&](std::string_view ratios) { return split_by_ratios(ratios, layers); });
    if (!read.fields().has("pipeline"))
        l.pipeline = (std::max)(1, std::int32_t{l.stages.chunks});
    else if (l.stages.chunks > 0 && l.pipeline != l.stages.chunks)
        read.fields().fail(error_code::inconsistent, "tensor_split", "as many ratios as the pipeline has stages");
}

/// `layers`: of the model.
inline result<layout> read_layout(const nlohmann::json& object, std::int32_t layers) {
    if (const status s = known_keys(object, "layout", {}); !s) return s.error();
    layout l;
    job_reader read{object, "layout"};
    read.members(l);
    read.named("stages", l.stages, [](std::string_view letters) { return read_stages(letters); });
    take_ratios(read, layers, l);
    // Megatron-Core, too, takes the number of virtual stages from the list of stages.
    if (!read.fields().has("virtual_pipeline") && l.stages.chunks > 0 && l.pipeline > 0 &&
        l.stages.chunks % l.pipeline == 0)
        l.virtual_pipeline = l.stages.chunks / l.pipeline;
    if (const status s = read.checked(); !s) return s.error();
    return l;
}

/// Reads the precision of the experts' way down: then the checkpoint mixes two precisions.
inline void read_experts_down(job_reader& read, job& j) {
    if (!read.fields().has("experts_down")) return;
    if (!j.weights) return read.fields().fail(error_code::inconsistent, "experts_down", "weights beside it");
    maybe<precision> down;
    read.value("experts_down", down);
    j.model.weights = *j.weights;
    j.model.mixed.experts_down = down;
    j.weights = {};
}

/// Reads a precision, or the mix of a GGUF file: then `weights` is the format of most of its matrices.
inline void read_weights(job_reader& read, job& j) {
    const maybe<gguf_mix> mix = trains(j) ? maybe<gguf_mix>{} : find_file_mix(read.fields().text_or("weights", ""));
    if (!mix) {
        read.value("weights", j.weights);
        return read_experts_down(read, j);
    }
    j.gguf = mix;
    // llama.cpp's quantiser refuses most IQ types without an importance matrix.
    if (read.fields().text_or("weights", "").find_first_of("iI") == 0) j.gguf.value.importance_matrix = true;
    j.weights = gguf::format_of(mix->quantisation);
}

/// Refuses fields that only the other kind of task has: no field is ignored.
inline status of_its_task(const nlohmann::json& document, const job& j) {
    const auto refuse = [&](std::string_view name) -> status {
        const auto given = document.find(name);
        if (given == document.end() || given->is_null()) return done{};
        return refused(error_code::inconsistent, name, shown(*given),
                       trains(j) ? "task serving: training has sequence, micro_batch and global_batch"
                                 : "task pretraining or finetuning");
    };
    const std::string_view others = trains(j) ? "Serving" : "Training";
    for (const job_field& f : job_fields)
        if (f.object.empty() && f.group == others)
            if (const status s = refuse(f.name); !s) return s;
    for (const std::string_view object : trains(j) ? std::array<std::string_view, 2>{"lengths", "prefill"}
                                                   : std::array<std::string_view, 2>{"adapter", "offload"})
        if (const status s = refuse(object); !s) return s;
    return done{};
}

/// Reads an object of the document into a field, where it is there.
template <class Into, class Read>
status read_part(job_reader& document, const char* name, Into& into, Read&& read) {
    const nlohmann::json* object = document.fields().object(name);
    if (const status s = document.checked(); !s) return s;
    if (object == nullptr) return done{};
    const auto found = read(*object);
    if (!found) return found.error();
    into = *found;
    return done{};
}

/// The GPUs that compute prompts, with the errors of their layout and cluster under `prefill`.
inline result<pool_request> read_pool(const nlohmann::json& value, std::int32_t layers, const device_finder& find) {
    if (const status s = known_keys(value, "prefill", {"layout", "cluster"}); !s) return s.error();
    job_reader read{value, "prefill"};
    if (!read.fields().has("cluster"))
        return refused(error_code::missing, "prefill.cluster", "absent", "an object with a gpu and the number of gpus");
    const auto of_prefill = [](auto found) {
        return found ? found : decltype(found){within("prefill", found.error())};
    };
    pool_request pool;
    if (const status s =
            read_part(read, "layout", pool.layout,
                      [&](const nlohmann::json& object) { return of_prefill(read_layout(object, layers)); });
        !s)
        return s.error();
    if (const status s = read_part(read, "cluster", pool.cluster,
                                   [&](const nlohmann::json& object) {
                                       return of_prefill(read_cluster(object, find, pool.layout.value_or(layout{})));
                                   });
        !s)
        return s.error();
    return pool;
}

/// Reads the fields of the job itself.
inline status read_own_fields(job_reader& read, job& j) {
    read_weights(read, j);
    read.members(j);
    read.named("gradients", j.gradients, [](std::string_view name) -> result<maybe<precision>> {
        if (name == bf16_and_fp32.name) return maybe<precision>{bf16_and_fp32};  // of gradients alone
        const result<precision> found = find_precision("gradients", name);
        if (!found) return found.error();
        return maybe<precision>{*found};
    });
    if (read.fields().text_or("master_weights", "") != "none") read.value("master_weights", j.master_weights);
    read.named("optimizer", j.optimizer, [](std::string_view name) { return find_optimizer(name); });
    const bool steps_in_backward = j.optimizer.in_backward;
    read.value("optimizer_in_bwd", j.optimizer.in_backward);
    if (steps_in_backward && !j.optimizer.in_backward)
        read.fields().fail(error_code::inconsistent, "optimizer_in_bwd", "true: this optimizer always does");
    if (j.optimizer.in_backward) j.optimizer.temporaries = 0;
    read.names("recompute_modules", j.recompute_modules,
               [](std::string_view names) { return find_layer_parts(names, recomputed_parts, "recompute_modules"); });
    if (read.fields().has("recompute_modules") && j.recompute != recompute::selective)
        read.fields().fail(error_code::inconsistent, "recompute_modules", "recompute to be selective");
    return read.checked();
}

/// A runtime as a training job means it.
inline nlohmann::json in_training(nlohmann::json named) {
    nlohmann::json& name = named.is_object() && named.contains("name") ? named["name"] : named;
    if (!name.is_string()) return named;
    const std::string said = name.get<std::string>();
    const std::size_t end = (std::min)(said.find('@'), said.size());
    for (const auto& [any, meant] : training_names)
        if (said.substr(0, end) == any) name = std::string{meant} + said.substr(end);
    return named;
}

/// The model of a document, or the one that it is made from; one without a tag as the library of the document's runtime
/// has it, if that has one.
inline nlohmann::json named_in_library(nlohmann::json model, const nlohmann::json& document,
                                       const job_sources& sources) {
    const auto named = document.find("runtime");
    nlohmann::json& name = model.is_object() && model.contains("from") ? model["from"] : model;
    if (!name.is_string() || named == document.end()) return model;
    const result<runtime_request> r =
        read_runtime(named->is_object() && named->contains("name") ? (*named)["name"] : *named, bf16, sources.model,
                     sources.runtime);
    if (!r || !r->runtime.loading.own_library) return model;
    name = with_latest_tag(name.get_ref<const std::string&>());
    return model;
}

/// The document's runtime with what the job asks of it, and the format that its files store a checkpoint in; where it
/// names none, the one whose `library` has the model that is served.
inline status take_runtime(job_reader& read, const nlohmann::json& document, std::string_view library,
                           const job_sources& sources, plan_request& request) {
    job& j = request.job;
    nlohmann::json named;
    if (const auto given = document.find("runtime"); given != document.end() && !given->is_null())
        named = trains(j) ? in_training(*given) : *given;
    else if (!trains(j) && !library.empty())
        named = std::string{library};
    if (!named.is_null()) {
        const result<runtime_request> r = read_runtime(named, kv_cache_of(j), sources.model, sources.runtime);
        if (!r) return r.error();
        if (trains(j) && r->options.draft_weights > byte_count{})
            return refused(error_code::inconsistent, "runtime.draft", shown(named["draft"]),
                           "no draft where task is not serving");
        request.profile = r->profile;
        j.runtime = r->runtime;
        j.options = r->options;
        request.fitted = r->fits;
    }
    if (!trains(j) && !j.gguf && !read.fields().has("weights") && j.runtime.loading.fetches_quantised)
        j.gguf = usual_mix(j.model, j.runtime.identity.name == ollama_library);
    return done{};
}

/// Whether a document says how long sequences are.
inline bool says_length(const job_reader& read) {
    return read.fields().has("context") || read.fields().has("prompt") || read.fields().has("output");
}

/// What software computes in where the GPU has no bf16 arithmetic: fp16, unless bf16 is asked for and converted.
inline status take_arithmetic(const job_reader& read, const cluster& c, job& j) {
    if (!(j.compute == bf16) || !prefers_fp16(c.gpu)) return done{};
    if (!read.fields().has("compute")) {
        j.compute = fp16;
        return done{};
    }
    if (trains(j) || j.runtime.serving_kernels.without_bf16 != bf16_code::refuses) return done{};
    text<191> expected{"fp16: "};
    expected.append(j.runtime.identity.name);
    expected.append(" does not start in bf16 on a GPU without bf16 arithmetic");
    return refused(error_code::unsupported, "compute", "bf16", expected);
}

/// The context of a runtime that does not take the model's longest where nobody says how long sequences are.
inline void take_usual_context(const job_reader& read, const cluster& c, job& j) {
    if (trains(j) || says_length(read)) return;
    const bool is_a100 = c.gpu.capability == compute_capability{8, 0};
    const token_count usual = step_on(j.runtime.step, c.gpu.memory.fitted * c.gpus, is_a100).context;
    if (usual > token_count{} && usual < j.model.max_context) j.context = usual;
}

/// Chooses what fits where the document asks for that; all GPUs share the layers unless it gives a layout.
inline status take_what_fits(const job_reader& read, plan_request& request) {
    if (!request.fitted) return done{};
    job& j = request.job;
    if (trains(j) || request.cluster.gpu.id == "cpu")
        return refused(error_code::unsupported, "runtime.fit", "true", "task serving on a GPU");
    if (!request.layout && request.cluster.gpus > 1) {
        const std::int64_t layers = j.model.layers.size;
        layout split;
        split.pipeline = static_cast<std::int32_t>(request.cluster.gpus < layers ? request.cluster.gpus : layers);
        request.layout = split;
    }
    const result<fitted_job> chosen =
        fit_to_memory(j, request.layout.value_or(layout{}), request.cluster, !says_length(read));
    if (!chosen) return chosen.error();
    j.options = chosen->options;
    if (!says_length(read)) j.context = chosen->context;
    return done{};
}

/// "none" as master weights: the optimizer steps the weights themselves.
inline status take_no_master_weights(job_reader& read, job& j) {
    if (!trains(j) || read.fields().text_or("master_weights", "") != "none") return done{};
    if (j.runtime.optimizer.copies_master_weights && master_weights_of(j))
        return refused(error_code::unsupported, "master_weights", "none",
                       "a precision: the runtime keeps a copy of its own");
    j.master_weights = weights_of(j);
    return done{};
}

/// As many data ranks as a layout has room for, where the document does not say how many.
inline void take_data_ranks(const nlohmann::json& document, plan_request& request) {
    if (!request.layout || document["layout"].contains("data")) return;
    const layout given = *request.layout;
    request.layout = with_data_ranks(given, request.job, request.cluster);
    request.data_ranks_chosen = request.layout->data != given.data;
}

/// The stack of that name, with a version behind it or without; null where it is none.
constexpr const training_stack* find_training_stack(std::string_view name) {
    const std::string_view software = name.substr(0, name.find('@'));
    for (const training_stack& one : training_stacks)
        if (same_name(one.name, software) || same_name(one.also, software)) return &one;
    return nullptr;
}

/// The stack that a document's runtime names, for a job that names no task or one that the stack has defaults for; null
/// where it names none.
inline const training_stack* stack_of(const nlohmann::json& document) {
    const auto named = document.find("runtime");
    if (named == document.end()) return nullptr;
    const auto name = named->is_object() ? named->find("name") : named;
    if ((named->is_object() && name == named->end()) || !name->is_string()) return nullptr;
    const training_stack* const stack = find_training_stack(name->get_ref<const std::string&>());
    const auto said = document.find("task");
    if (stack == nullptr || said == document.end() || said->is_null()) return stack;
    const bool pretrains = says(*said, name_of(task::pretraining)) && !stack->of_pretraining.empty();
    return pretrains || says(*said, name_of(task::finetuning)) ? stack : nullptr;
}

/// The whole number of an object's field, and another where it has none.
inline std::int64_t whole_or(const nlohmann::json& object, const char* key, std::int64_t otherwise) {
    const auto at = object.is_object() ? object.find(key) : object.end();
    return object.is_object() && at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : otherwise;
}

/// True if a micro-batch that nobody names divides the global batch of a document on all of its GPUs.
inline bool divides_global_batch(const nlohmann::json& document, std::int64_t micro_batch) {
    const std::int64_t batch = whole_or(document, "global_batch", 0);
    const std::int64_t gpus = whole_or(document.value("cluster", nlohmann::json{}), "gpus", 1);
    const std::int64_t ranks = whole_or(document.value("layout", nlohmann::json{}), "data", gpus);
    return batch <= 0 || ranks <= 0 || ranks > 1'000'000 || batch % (micro_batch * ranks) == 0;
}

/// The fields of an object, and those of another that it does not say.
inline nlohmann::json beside(nlohmann::json defaults, const nlohmann::json& said) {
    for (const auto& [key, value] : said.items())
        if (!value.is_null() || !defaults.contains(key)) defaults[key] = value;
    return defaults;
}

/// A document with the defaults of the stack that it names, where it leaves them unsaid or null; nothing where it names
/// none. A micro-batch that does not divide the global batch stays unsaid. Optimizers that project gradients train
/// whole matrices, so that no adapter is taken for them (LLaMA-Factory, finetuning_args.py, refuses one).
inline std::optional<nlohmann::json> with_defaults_of_stack(const nlohmann::json& document) {
    const training_stack* const stack = stack_of(document);
    if (stack == nullptr) return std::nullopt;
    nlohmann::json said = document;
    for (auto field = said.begin(); field != said.end();)
        field = field->is_null() ? said.erase(field) : std::next(field);
    if (said["runtime"].is_string()) said["runtime"] = {{"name", said["runtime"]}};
    const bool pretrains = said.contains("task") && says(said["task"], name_of(task::pretraining));
    nlohmann::json defaults = nlohmann::json::parse(pretrains ? stack->of_pretraining : stack->defaults);
    if (!pretrains) defaults["task"] = name_of(task::finetuning);
    if (!divides_global_batch(said, defaults["micro_batch"].get<std::int64_t>())) defaults.erase("micro_batch");
    const auto optimizer = said.find("optimizer");
    if (optimizer != said.end() && (says(*optimizer, "galore") || says(*optimizer, "apollo")))
        defaults.erase("adapter");
    const bool adapted = said.contains("adapter"), in_full = adapted && said["adapter"].is_object();
    nlohmann::json kind = in_full ? said["adapter"].value("kind", nlohmann::json{}) : nlohmann::json{};
    if (adapted && (!in_full || !kind.is_null())) defaults.erase("adapter");
    if (defaults.contains("adapter")) kind = defaults["adapter"]["kind"];
    if (says(kind, name_of(adapter_kind::none)) || (kind.is_null() && !adapted))
        defaults.merge_patch(nlohmann::json::parse(stack->of_whole_model));
    for (const adapter_kind low_rank : {adapter_kind::lora, adapter_kind::rslora, adapter_kind::dora})
        if (says(kind, name_of(low_rank))) defaults.merge_patch(nlohmann::json::parse(stack->of_low_rank));
    if (whole_or(said.value("layout", nlohmann::json{}), "zero", 0) >= 2)
        defaults.merge_patch(nlohmann::json::parse(stack->of_sharded));
    const bool recomputes = says(said.value("recompute", defaults["recompute"]), name_of(recompute::full));
    if (!recomputes || whole_or(said, "sequence", whole_or(defaults, "sequence", 0)) < stack->offloads_from)
        defaults.erase("offload");
    for (const auto& [key, value] : defaults.items())
        if (value.is_object() && said.contains(key) && said[key].is_object()) said[key] = beside(value, said[key]);
    return beside(defaults, said);
}

/// The document's adapter, and that of the model's own files.
inline status read_adapters(job_reader& read, const model_source& described, job& j) {
    if (const status s = read_part(read, "adapter", j.adapter, read_adapter); !s) return s.error();
    const bool given = read.fields().has("adapter");
    if (given)
        if (const status s = validate(j.adapter, j.model); !s) return s.error();
    if (described.adapter) take_adapter(*described.adapter, given, j);
    return done{};
}

}  // namespace detail

inline result<device_file> find_no_device(std::string_view path) {
    return refused(error_code::unsupported, "device file", path, "a gpu of `llmres gpus`: no file is opened here");
}

namespace detail {

/// The job of a document in which nothing is left to a training stack.
inline result<plan_request> read_whole_job(const nlohmann::json& document, const job_sources& sources) {
    if (const status s = known_keys(
            document, "", {"model", "lengths", "adapter", "offload", "layout", "cluster", "prefill", "runtime"});
        !s)
        return s.error();

    plan_request request;
    job& j = request.job;
    const auto model_field = document.find("model");
    if (model_field == document.end())
        return refused(error_code::missing, "model", "absent", "a model of `llmres models`, or a config.json");
    const result<model_source> described =
        read_model_source(named_in_library(*model_field, document, sources), sources.model);
    if (!described) return described.error();
    if (model_field->is_string()) request.model_name = model_field->get<std::string>();
    request.warning = described->warning;
    j.model = described->model;

    job_reader read{document, ""};
    read.value("task", j.task);
    if (const status s = read.checked(); !s) return s.error();
    if (const status s = of_its_task(document, j); !s) return s.error();
    if (!trains(j) && !read.fields().has("weights")) j.gguf = described->gguf;
    if (trains(j) && described->gguf) j.model.weights = bf16;  // a GGUF file's weights are converted to be trained
    if (const status s = read_own_fields(read, j); !s) return s.error();
    const auto read_own_layout = [&](const nlohmann::json& object) { return read_layout(object, j.model.layers.size); };
    if (const status s = read_part(read, "layout", request.layout, read_own_layout); !s) return s.error();
    if (const status s = take_runtime(read, document, described->library, sources, request); !s) return s.error();
    if (const status s = read_part(read, "lengths", request.lengths, read_lengths); !s) return s.error();
    if (const status s = read_adapters(read, *described, j); !s) return s.error();
    if (const status s = read_part(read, "offload", j.offload, read_offload); !s) return s.error();
    if (const status s = take_no_master_weights(read, j); !s) return s.error();
    if (!read.fields().holds_object("cluster"))
        read.fields().fail(read.fields().has("cluster") ? error_code::malformed : error_code::missing, "cluster",
                           "an object with a gpu and the number of gpus (--gpu NAME --gpus N)");
    if (const status s = read.checked(); !s) return s.error();
    const auto read_gpus = [&](const nlohmann::json& object) -> result<cluster> {
        const result<std::string> device = device_path(object);
        if (!device) return device.error();
        request.device = *device;
        return read_cluster(object, sources.device, request.layout.value_or(layout{}));
    };
    if (const status s = read_part(read, "cluster", request.cluster, read_gpus); !s) return s.error();
    // A CPU alone has nothing to leave to the host.
    if (request.cluster.gpu.id == "cpu") j.runtime.loading.embedding_on_host = false;
    if (const status s = take_arithmetic(read, request.cluster, j); !s) return s.error();
    take_data_ranks(document, request);
    take_usual_context(read, request.cluster, j);
    if (const status s = take_what_fits(read, request); !s) return s.error();
    const auto read_prompts = [&](const nlohmann::json& object) {
        return read_pool(object, j.model.layers.size, sources.device);
    };
    if (const status s = read_part(read, "prefill", request.prefill, read_prompts); !s) return s.error();
    return request;
}

}  // namespace detail

template <std::same_as<nlohmann::json> Json>
result<plan_request> read_job(const Json& document, const job_sources& sources) {
    if (!document.is_object()) return refused(error_code::malformed, "job", document.type_name(), "a JSON object");
    const std::optional<nlohmann::json> completed = detail::with_defaults_of_stack(document);
    result<plan_request> read = detail::read_whole_job(completed ? *completed : document, sources);
    if (!read || !completed || (document.contains("sequence") && !document["sequence"].is_null())) return read;
    job& j = read->job;  // a default is no longer than the model reads
    if (j.model.max_context > token_count{} && j.sequence > j.model.max_context) j.sequence = j.model.max_context;
    return read;
}

inline result<plan_request> read_job(std::string_view document, const job_sources& sources) {
    const result<json_document> parsed = parse_json_object(document, no_numbers::refused);
    if (!parsed) return parsed.error();
    return read_job(parsed->root, sources);
}

}  // namespace llmres::inline v0
