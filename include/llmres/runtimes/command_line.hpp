// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The names on a software's command line: of what a caller may set of it (jobs/knobs.hpp sets them), and of what
/// starts it in a layout (answers/launch.hpp writes the command). The tables stand beside the profiles,
/// runtimes/NAME.hpp.
namespace llmres::inline v0 {

/// What a knob sets.
enum class knob_setting : std::uint8_t {
    batched_tokens,      ///< prompt tokens in one step, whatever the device
    sequences,           ///< sequences in one step
    cache_block,         ///< tokens that a cache block holds
    cache_bytes,         ///< bytes of a GPU that the pool of caches takes, whatever the fraction
    cache_tokens,        ///< tokens that the pool of caches holds at most
    cache_blocks,        ///< blocks of the pool of caches
    window_part,         ///< tokens of windowed layers, over those of the others, that the pool holds
    max_loras,           ///< adapters that are resident at once
    max_lora_rank,       ///< the largest rank of an adapter
    no_cuda_graphs,      ///< other than zero: no CUDA graphs are captured
    graph_context,       ///< tokens of the longest sequence that CUDA graphs decode
    gpu_layers,          ///< the last layers, and the head as one more, that are on GPUs
    flash_attention,     ///< other than zero: attention by flash attention
    whole_windows,       ///< other than zero: windowed layers keep the whole context
    experts_on_host,     ///< other than zero: routed experts of all layers are computed by the CPU
    host_expert_layers,  ///< routed experts of that many first layers are computed by the CPU
    latent_part,         ///< MiB of latent attention's keys and values that are expanded at once
    latent_use,          ///< below 2: keys and values of latent attention are not expanded (ik_llama.cpp: -mla)
    no_mapped_weights,   ///< other than zero: what stays on the host is copied into memory of the process
    repacks_on_host,     ///< other than zero: what stays on the host is repacked for the CPU, which computes it
    overlaps_steps,      ///< other than zero: a step is scheduled while the one before it runs
    shares_prefixes,     ///< other than zero: sequences that begin with the same tokens share these, states included
    host_computes,       ///< other than zero: experts on the host are computed there, whatever the step's tokens
};

/// True of settings that are whole numbers: of tokens, sequences, bytes, layers. The others are switches, and a part.
constexpr bool is_whole(knob_setting setting) {
    using enum knob_setting;
    switch (setting) {
        case batched_tokens:
        case sequences:
        case cache_block:
        case cache_bytes:
        case cache_tokens:
        case cache_blocks:
        case max_loras:
        case max_lora_rank:
        case graph_context:
        case gpu_layers:
        case host_expert_layers:
        case latent_part:
        case latent_use: return true;
        case window_part:
        case no_cuda_graphs:
        case flash_attention:
        case whole_windows:
        case experts_on_host:
        case no_mapped_weights:
        case repacks_on_host:
        case overlaps_steps:
        case shares_prefixes:
        case host_computes: return false;
    }
    return false;
}

/// A knob under the software's own name, as its command line spells it without the dashes.
struct knob {
    std::string_view name{};  ///< the software's own name
    knob_setting setting{};   ///< what it sets
};

/// A table of knobs that has static storage: `inline constexpr std::array some_knobs{knob{...}, ...}`.
struct knob_list {
    const knob* first = nullptr;  ///< the first knob
    std::size_t size = 0;         ///< how many there are

    constexpr knob_list() = default;  ///< no knobs
    /// The knobs of a table.
    template <std::size_t Size>
    constexpr explicit(false) knob_list(const std::array<knob, Size>& table) : first{table.data()}, size{Size} {}

    /// The first knob.
    constexpr const knob* begin() const { return first; }
    /// Behind the last knob.
    constexpr const knob* end() const { return first + size; }
};

/// A table with further knobs.
template <std::size_t Size, class... More>
constexpr std::array<knob, Size + sizeof...(More)> with_knobs(const std::array<knob, Size>& table, More... more) {
    std::array<knob, Size + sizeof...(More)> all{};
    std::size_t next = 0;
    for (const knob& k : table) all[next++] = k;
    ((all[next++] = more), ...);
    return all;
}

/// The knobs that every runtime has, under this library's names.
inline constexpr std::array common_knobs{
    knob{"max_batched_tokens", knob_setting::batched_tokens},
    knob{"max_num_seqs", knob_setting::sequences},
};

/// The knob of that name, among those of the table and those that every runtime has; null where there is none.
constexpr const knob* find_knob(const knob_list& table, std::string_view name) {
    for (const knob_list& list : {table, knob_list{common_knobs}})
        for (const knob& k : list)
            if (k.name == name) return &k;
    return nullptr;
}

/// The software's own name of a setting; empty where it has none.
constexpr std::string_view knob_name(const knob_list& table, knob_setting setting) {
    for (const knob& k : table)
        if (k.setting == setting) return k.name;
    return {};
}

/// A figure of a job or of its layout that a command says.
enum class launch_figure : std::uint8_t {
    tensor_ranks,             ///< ranks that share each layer
    tensor_ranks_and_shared,  ///< the same, with the data ranks that share experts
    pipeline_stages,          ///< stages of the pipeline
    virtual_stages,           ///< chunks of layers on each stage
    data_ranks,               ///< replicas, whichever way weights are sharded over them
    data_shares_experts,      ///< 1 where data ranks share experts
    data_ranks_sharded,       ///< data ranks, where they shard weights, gradients or states
    data_ranks_replicated,    ///< data ranks, where each holds all of them
    expert_ranks,             ///< ranks over which routed experts are dealt
    deals_experts,            ///< 1 where there is more than one of these
    expert_tensor_ranks,      ///< ranks that share each expert, where experts are dealt
    context_ranks,            ///< ranks that share each sequence
    sequence_parallel,        ///< 1 where norms and residuals are split over the tensor ranks
    sharded_optimizer,        ///< 1 where data ranks shard the optimizer's states
    sharded_gradients,        ///< 1 where they shard the gradients, too, and not the weights
    sharded_weights,          ///< 1 where they shard all
    first_stage_layers,       ///< layers of the first stage, where they are named
    last_stage_layers,        ///< layers of the last stage, where they are named
    embedding_as_layer,       ///< 1 where the embedding counts as a layer of its stage
    loss_as_layer,            ///< 1 where the loss counts as a layer of its stage
    context,                  ///< tokens that a sequence may reach
    context_of_all,           ///< tokens of all sequences of a rank
    sequences_of_rank,        ///< sequences at once on a data rank
    training_sequence,        ///< tokens of a sequence that is trained on
    micro_batch,              ///< sequences in a micro-batch
    global_batch,             ///< sequences in an optimizer step
    full_recomputation,       ///< 1 where layers are recomputed whole
    selective_recomputation,  ///< 1 where a part of each layer is recomputed
    no_recomputation,         ///< 1 where nothing is recomputed
    compiled_layers,          ///< 1 where layers are compiled
    weights_cast_to_fp8,      ///< 1 where a checkpoint of another format is loaded as fp8
    cache_format,             ///< 1 where the KV cache is in another format than it would be in unasked
    gpu_layers,               ///< layers on GPUs, the head as one more
    host_expert_layers,       ///< first layers whose routed experts are on the host
    all_experts_on_host,      ///< 1 where the routed experts of all layers are
    split_by_layers,          ///< 1 where GPUs compute layers in turn
    split_by_rows,            ///< 1 where GPUs share the rows of each matrix
    head_on_gpu,              ///< 1 where the head is on a GPU
    // What a job sets of its engine; 0 where that is as in the engine's profile.
    cache_fraction,      ///< millionths of a GPU that the engine takes
    batched_tokens,      ///< prompt tokens in one step
    batch_of_steps,      ///< the same, where it is more than llama.cpp's batch, which it divides into steps
    cache_block,         ///< tokens of a cache block
    cache_bytes,         ///< bytes of the pool of caches
    cache_tokens,        ///< tokens of the pool of caches
    cache_blocks,        ///< blocks of the pool of caches
    resident_adapters,   ///< LoRA adapters that are resident at once
    adapter_rank,        ///< the largest rank of these
    eager,               ///< 1 where no CUDA graphs are captured
    whole_prompts,       ///< 1 where sequences share no prefixes, which the engine has them share
    shared_prefixes,     ///< 1 where they do, which the engine does not
    flash_attention,     ///< 1 where attention is flash attention
    no_flash_attention,  ///< 1 where it is not
    whole_windows,       ///< 1 where windowed layers keep the whole context
    copied_weights,      ///< 1 where what stays on the host is not mapped from its file
    sequences_set,       ///< sequences of a step
    key_type,            ///< 1 where cached keys are in another format than the engine's own
    value_type,          ///< 1 where cached values are
    optimizer_copies,    ///< groups of data ranks, of which each shards the optimizer's states
    bf16_weights,        ///< 1 where weights are trained in bf16
    fp16_weights,        ///< 1 where they are in fp16
    one_gpu_of_several,  ///< 1 where the job takes one of the GPUs that are there
    pools,               ///< 1 where the model embeds or scores whole inputs
    classifies,          ///< the classes that it scores
    reranks,             ///< 1 where it gives one score
    rope_factor,         ///< millionths of the factor by which the context is extended; 0 where it is not
    draft_model,         ///< 1 where a draft model is loaded
    own_predictions,     ///< 1 where the model's own prediction layers draft
    drafted_tokens,      ///< tokens that a draft model drafts for a step of a sequence
    looked_up_tokens,    ///< tokens that are looked up in the text in place of a model's
    drafting_steps,      ///< tokens that a model drafts for a step, be it a draft model or its own layers
    verified_tokens,     ///< tokens of a sequence that a step verifies: those that are drafted, and one of its own
    speculation,         ///< 1 where tokens are drafted, whatever drafts them
};

/// In which form a command says a figure.
enum class launch_form : std::uint8_t {
    words,   ///< the words alone, where the figure is not 0
    number,  ///< the words and the figure
    some,    ///< the words and the figure, where it is not 0
    degree,  ///< the words and the figure, where it is more than 1, which launchers take it to be
    part,    ///< the words and the figure over a million, where it is not 0
    format,  ///< the words and the name of the KV cache's format, where the figure is not 0
    /// The words, and the layers of each stage with commas between them, of which the last has the figure more; where
    /// stages differ.
    layers_of_stages,
    vllm_object,  ///< the words, and vLLM's object of what drafts how many tokens, where the figure is not 0
};

/// Words of a command, and what they say.
struct launch_word {
    std::string_view words{};                ///< "--tensor-parallel-size"
    launch_figure figure{};                  ///< what they say
    launch_form form = launch_form::number;  ///< in which form
};

/// What runs the processes of a command.
enum class process_starter : std::uint8_t {
    itself,    ///< the program
    torchrun,  ///< PyTorch's torchrun, on each node
};

/// How software is started in a layout: `inline constexpr launcher some_launcher{"some", "program MODEL", some_words}`.
/// MODEL, and for a training script all that is not about size, is the caller's.
struct launcher {
    std::string_view name{};     ///< "vllm"; a version whose words differ has a launcher of another name
    std::string_view program{};  ///< "vllm serve MODEL"
    process_starter started_by = process_starter::itself;  ///< what runs its processes
    std::string_view stage_variable{};   ///< the environment variable with the layers of each stage, where they differ
    const launch_word* first = nullptr;  ///< the first of its words
    std::size_t size = 0;                ///< how many there are

    /// The launcher of a program, its words a table that has static storage.
    template <std::size_t Size>
    constexpr launcher(std::string_view its_name, std::string_view its_program,
                       const std::array<launch_word, Size>& table, process_starter starter = process_starter::itself,
                       std::string_view variable = {})
        : name{its_name},
          program{its_program},
          started_by{starter},
          stage_variable{variable},
          first{table.data()},
          size{Size} {}

    /// The first of its words.
    constexpr const launch_word* begin() const { return first; }
    /// Behind its last words.
    constexpr const launch_word* end() const { return first + size; }
    /// Whether any of its words say that figure.
    constexpr bool says(launch_figure figure) const {
        for (const launch_word& w : *this)
            if (w.figure == figure) return true;
        return false;
    }
    /// Whether words say how many layers each GPU has, whatever the GPU.
    constexpr bool takes_layers_of_gpus() const {
        for (const launch_word& w : *this)
            if (w.form == launch_form::layers_of_stages) return true;
        return false;
    }
};

}  // namespace llmres::inline v0
