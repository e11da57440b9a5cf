// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <llmres/answers/capacity.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/json/cluster/reader.hpp>
#include <llmres/io/json/fields.hpp>
#include <llmres/io/json/job/cost_reader.hpp>
#include <llmres/io/json/job/images_reader.hpp>
#include <llmres/io/json/job/plan_request.hpp>
#include <llmres/io/json/job/rollout_reader.hpp>
#include <llmres/io/json/job/training_stacks.hpp>
#include <llmres/io/json/job_reader.hpp>
#include <llmres/io/json/model_head.hpp>
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
#include <llmres/time/storage_times.hpp>
#include <llmres/time/tariff.hpp>
#include <llmres/time/training_run.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <optional>
#include <string>
#include <string_view>

/// Jobs as JSON: {"model", "task", ...job fields, "layout": {...}, "cluster": {...}, "runtime": NAME or {"name", ...},
/// "storage": {...}, "checkpoint": {...}, "run": {...}, "cost": {...}}.
/// A key is the name of the C++ field and of the command-line flag. Unknown keys and names are refused, with the
/// nearest known one. Nothing is opened here: io/files.hpp does that.
namespace llmres::inline v0 {

/// Reads a document, parsed (programs set what flags say first) or as text. (io/files.hpp has read_job(document,
/// folder), which opens the files that it names.)
template <std::same_as<nlohmann::json> Json>
result<plan_request> read_job(const Json& document, const job_sources& sources = {});
/// Reads a document as text.
inline result<plan_request> read_job(std::string_view document, const job_sources& sources = {});

/// Refuses a request with several phases, where one job alone is answered for.
inline status in_one_phase(const plan_request& r);

// ---- detail ---------------------------------------------------------------------------------------------------------

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
    if (trains(j)) return done{};
    if (const status s = refuse("checkpoint"); !s) return s;
    return refuse("run");
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

/// The GPUs that compute prompts as a cluster and a layout, where a document has them by number and kind: others are
/// as in the job's own cluster.
inline result<nlohmann::json> whole_pool(const nlohmann::json& value, const nlohmann::json& own_cluster,
                                         std::int64_t own_gpus) {
    const bool is_short = value.contains("gpus") || value.contains("gpu") || value.contains("tensor");
    if (!is_short || !own_cluster.is_object()) return value;
    if (value.contains("cluster") || value.contains("layout"))
        return refused(error_code::inconsistent, "prefill", "gpus, gpu or tensor beside cluster or layout",
                       "one of both: numbers, or a cluster and its layout");
    job_reader read{value, "prefill"};
    const std::int64_t asked = read.fields().number_or("gpus", 0, 0, most::gpus);
    const std::int64_t tensor = read.fields().number_or("tensor", 0, 1, most::gpus);
    if (const status s = read.checked(); !s) return s.error();
    const std::int64_t gpus = asked > 0 ? asked : own_gpus;
    nlohmann::json pool{{"cluster", own_cluster}};
    pool["cluster"]["gpus"] = gpus;
    if (const auto kind = value.find("gpu"); kind != value.end() && !kind->is_null()) {
        for (const char* of_other : {"device", "gpu_memory", "gpu_bandwidth", "gpu_flops", "scale_up", "in_use"})
            pool["cluster"].erase(of_other);
        pool["cluster"]["gpu"] = *kind;
    }
    if (tensor == 0) return pool;
    if (gpus % tensor != 0)
        return refused(error_code::inconsistent, "prefill.tensor", tensor, "a divisor of its GPUs, ", gpus);
    pool["layout"] = {{"tensor", tensor}, {"data", gpus / tensor}};
    return pool;
}

/// The GPUs that compute prompts, with the errors of their layout and cluster under `prefill`.
inline result<pool_request> read_pool(const nlohmann::json& given, const nlohmann::json& document,
                                      const plan_request& request, const device_finder& find) {
    if (const status s = known_keys(given, "prefill", {"layout", "cluster"}); !s) return s.error();
    const result<nlohmann::json> whole = whole_pool(given, document.at("cluster"), request.cluster.gpus);
    if (!whole) return whole.error();
    const nlohmann::json& value = *whole;
    job_reader read{value, "prefill"};
    if (!read.fields().has("cluster"))
        return refused(error_code::missing, "prefill.cluster", "absent", "an object with a gpu and the number of gpus");
    const auto of_prefill = [](auto found) {
        return found ? found : decltype(found){within("prefill", found.error())};
    };
    pool_request pool;
    if (const status s = read_part(read, "layout", pool.layout,
                                   [&](const nlohmann::json& object) {
                                       return of_prefill(read_layout(object, request.job.model.layers.size));
                                   });
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

/// The format that training computes in where nobody asks for mixed precision and the software does not turn it on by
/// itself: that of fp32 weights, as transformers' Trainer without `bf16` or `fp16`.
inline void take_unmixed_arithmetic(const job_reader& read, const training_stack* stack, job& j) {
    const bool mixes_unasked = j.runtime.optimizer.mixes_unasked || (stack != nullptr && stack->mixes);
    const bool asked =
        read.fields().has("compute") || j.autocast.value_or(false) || j.runtime.kernels.fp8.recipe != fp8_recipe::none;
    if (trains(j) && !mixes_unasked && !asked && weights_of(j) == fp32) j.compute = fp32;
}

/// Mixed precision of software that distils, which decides the format of the logits of both models, whatever that of
/// their weights (accelerate, convert_outputs_to_fp32). DeepSpeed casts the weights instead.
inline void take_mixed_outputs(const training_stack* stack, job& j) {
    const bool by_deepspeed = j.runtime.sharding.code == sharding_code::deepspeed;
    if (learns_from_teacher(j.preference) && stack != nullptr && stack->mixes && !by_deepspeed && !j.autocast.known &&
        is_wide(j.compute) && !(j.compute == fp32))
        j.autocast = true;
}

/// The format that software loads the weights in which it fine-tunes, where nobody names one and its version does not
/// take that of the checkpoint.
inline void take_loaded_format(const job_reader& read, const training_stack* stack, job& j) {
    const precision& published = j.model.weights;
    const bool of_16_bits = published == bf16 || published == fp16;
    const bool loads_itself = stack != nullptr && stack->mixes;  // TRL, LLaMA-Factory and the like name a dtype
    if (j.task == task::finetuning && j.runtime.loading.training.fp32_unasked && of_16_bits && !loads_itself &&
        !read.fields().has("weights"))
        j.weights = fp32;
}

/// Refuses a step in which the longest text of an encoder has no room: vLLM does not start (config/scheduler.py,
/// verify_max_model_len), and llama.cpp's server refuses the text.
inline status holds_longest_text(const job& j) {
    if (!passes_whole(j) || j.max_batched_tokens == token_count{} || j.max_batched_tokens >= context_of(j))
        return done{};
    return refused(error_code::inconsistent, "max_batched_tokens", j.max_batched_tokens.in(tokens),
                   "as many as the longest text, which an encoder computes whole: ", context_of(j).in(tokens));
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

/// The document's adapter, and that of the model's own files.
inline status read_adapters(job_reader& read, const model_source& described, job& j) {
    if (const status s = read_part(read, "adapter", j.adapter, read_adapter); !s) return s.error();
    const bool given = read.fields().has("adapter");
    if (given)
        if (const status s = validate(j.adapter, j.model); !s) return s.error();
    if (described.adapter) take_adapter(*described.adapter, given, j);
    return done{};
}

/// A head that serves a task, and the names that a document may have for the task.
struct task_head {
    std::string_view head;
    std::string_view names;  ///< with blanks between them
};
inline constexpr std::array task_heads{task_head{"embedding", "embedding embeddings embed"},
                                       task_head{"reranking", "reranking rerank score"},
                                       task_head{"classification", "classification classify"}};

/// The task, and what the model is for. A document may name a task by the head that serves it ("embedding"), or by the
/// preferences that are learned ("dpo"); a reward model has one score.
inline status read_task(job_reader& read, job& j) {
    std::string_view usual;
    maybe<preference_method> learned;
    if (read.fields().holds_text("task")) {
        const std::string_view said = read.fields().text_or("task", "");
        for (const task_head& known : task_heads)
            for (std::string_view names = known.names; !names.empty();)
                if (taken_before(names, " ") == said) usual = known.head;
        learned = preference_of(said);
    }
    if (learned) {
        const std::string_view other = read.fields().text_or("preference", name_of(*learned));
        if (other != name_of(*learned))
            return refused(error_code::inconsistent, read.fields().label("preference"), other,
                           "what the task says, or one of both");
        j.task = task::finetuning;
        j.preference = *learned;
        if (*learned == preference_method::reward) usual = "reranking";
    } else if (!read.fields().has("task") && read.fields().holds_text("preference") &&
               read.fields().text_or("preference", "") != name_of(preference_method::none)) {
        return refused(error_code::missing, read.fields().label("task"), "absent",
                       "finetuning, or the method as a task: a preference is learned in training");
    } else if (usual.empty()) {
        read.value("task", j.task);
        if (!read.checked() && read.fields().holds_text("task"))
            return refused(
                error_code::unknown, read.fields().label("task"), read.fields().text_or("task", ""),
                "serving, pretraining or finetuning; embedding, reranking or classification; gkd, dpo, kto, orpo, "
                "simpo, cpo or reward");
    }
    if (const status s = read.checked(); !s) return s;
    if (j.task == task::pretraining) j.model = with_pretraining_head(j.model);
    return take_head(read.fields(), j.model, usual);
}

/// Reads what a document asks beside the plan: checkpoints, loading, a run and its cost.
inline status read_beside_plan(job_reader& read, plan_request& request) {
    if (const status s = read_part(read, "storage", request.stored.storage, read_storage); !s) return s;
    if (const status s = read_part(read, "checkpoint", request.stored.checkpoint, read_checkpoint); !s) return s;
    const auto read_own_run = [&](const nlohmann::json& object) {
        return read_run(object, request.stored.storage ? checkpoint_seconds::of_storage : checkpoint_seconds::given);
    };
    if (const status s = read_part(read, "run", request.run, read_own_run); !s) return s;
    if (request.run && request.rollout) {  // of a policy's data: prompts
        const std::int64_t group = request.rollout->rollout.generations;
        constexpr auto most = static_cast<std::int64_t>(job_field_rows::most_trained);
        if (const status s = in_range("run.samples", request.run->samples, 0, most / group); !s) return s;
        request.run.value.samples *= group;
    }
    const auto read_cost = [&](const nlohmann::json& object) { return read_tariff(object, request.cluster); };
    if (const status s = read_part(read, "cost", request.cost, read_cost); !s) return s;
    if (request.cost && request.prefill)
        return refused(error_code::unsupported, "cost", "given", "one cluster: prompts have GPUs of their own");
    return done{};
}

/// Takes what a training stack decides of a job whose fields are read. Refuses what it trains that is not planned.
inline status take_stack(job_reader& read, const nlohmann::json& document, job& j) {
    const training_stack* const stack = stack_of(document);
    if (stack != nullptr && !learns_by(*stack, j.preference))
        return refused(error_code::unsupported, "task", name_of(j.preference),
                       "a trainer that is planned with it: " + stacks_that_learn_by(j.preference));
    take_loaded_format(read, stack, j);
    take_unmixed_arithmetic(read, stack, j);
    take_mixed_outputs(stack, j);
    return done{};
}

/// The teacher of a document, named as its model is, and the format that its weights are loaded in.
inline status read_teacher(job_reader& read, const nlohmann::json& document, const job_sources& sources, job& j) {
    const auto named = document.find("teacher");
    maybe<precision> weights;
    read.named("teacher_weights", weights, [](std::string_view name) -> result<maybe<precision>> {
        const result<precision> found = find_precision("teacher_weights", name);
        if (!found) return found.error();
        return maybe<precision>{*found};
    });
    if (const status s = read.checked(); !s) return s;
    if (named == document.end() || named->is_null()) {
        if (!weights) return done{};
        return refused(error_code::inconsistent, "teacher_weights", weights->name, "a teacher");
    }
    const result<model_source> described = read_model_source(*named, sources.model);
    if (!described) {
        const error& e = described.error();
        return refused(e.code, e.field == "model" ? "teacher" : "teacher: " + std::string{e.field.view()},
                       e.value.view(), e.expected.view());
    }
    j.teacher = teacher_of(described->model, weights);
    return done{};
}

/// The job of a document in which nothing is left to a training stack.
inline result<plan_request> read_whole_job(const nlohmann::json& document, const job_sources& sources) {
    if (const status s = known_keys(document, "",
                                    {"model", "lengths", "adapter", "offload", "layout", "cluster", "prefill",
                                     "runtime", "rollout", "storage", "checkpoint", "run", "cost"});
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
    if (const status s = read_task(read, j); !s) return s.error();
    if (const status s = of_its_task(document, j); !s) return s.error();
    if (!trains(j) && !read.fields().has("weights")) j.gguf = described->gguf;
    if (trains(j) && described->gguf) j.model.weights = bf16;  // a GGUF file's weights are converted to be trained
    if (const status s = read_own_fields(read, j); !s) return s.error();
    const auto read_own_layout = [&](const nlohmann::json& object) { return read_layout(object, j.model.layers.size); };
    if (const status s = read_part(read, "layout", request.layout, read_own_layout); !s) return s.error();
    if (const status s = take_runtime(read, document, described->library, sources, request); !s) return s.error();
    if (const status s = read_part(read, "lengths", request.lengths, read_lengths); !s) return s.error();
    if (const status s = read_images(read, j); !s) return s.error();
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
    if (const status s = take_stack(read, document, j); !s) return s.error();
    if (const status s = read_teacher(read, document, sources, j); !s) return s.error();
    if (const status s = take_arithmetic(read, request.cluster, j); !s) return s.error();
    take_data_ranks(document, request);
    take_usual_context(read, request.cluster, j);
    if (const status s = holds_longest_text(j); !s) return s.error();
    if (const status s = take_what_fits(read, request); !s) return s.error();
    const auto read_prompts = [&](const nlohmann::json& object) {
        return read_pool(object, document, request, sources.device);
    };
    if (const status s = read_part(read, "prefill", request.prefill, read_prompts); !s) return s.error();
    if (const status s = read_rollout(document, sources, request, read_whole_job); !s) return s.error();
    if (const status s = read_beside_plan(read, request); !s) return s.error();
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

inline status in_one_phase(const plan_request& r) {
    const char* const several = r.rollout ? "rollout" : r.prefill ? "prefill" : nullptr;
    if (several == nullptr) return done{};
    return refused(error_code::unsupported, several, "given",
                   "one job on one kind of GPUs: plan(plan_request) and `llmres plan` answer for several phases");
}

inline result<plan_request> read_job(std::string_view document, const job_sources& sources) {
    const result<json_document> parsed = parse_json_object(document, no_numbers::refused);
    if (!parsed) return parsed.error();
    return read_job(parsed->root, sources);
}

}  // namespace llmres::inline v0
