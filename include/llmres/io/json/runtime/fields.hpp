// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/all.hpp>
#include <string_view>
#include <type_traits>

/// The fields of a runtime profile, each listed once with its meaning, for whoever reads, writes, compares or explains
/// profiles as data. A key is the name of the C++ field.
namespace llmres::inline v0::detail {

/// A field of a part of a profile.
struct profile_field {
    std::string_view name{};
    std::string_view means{};
    std::string_view unit{};  ///< of a plain number; empty where the C++ type says it
};

/// The fields of a part, in their order; 0 for what is no part of a profile.
template <class Part>
inline constexpr int fields_of = 0;
template <>
inline constexpr auto fields_of<llmres::runtime_identity> = std::array{
    profile_field{"name", "the runtime's name"},
    profile_field{"work", "what the runtime is for"},
    profile_field{"versions", "the versions that the constants were taken from, in words"},
    profile_field{"since", "the first version that the profile is meant for; null: any"},
    profile_field{"before", "the first version that the profile no longer holds for; null: none is known"},
    profile_field{
        "built",
        "year.month.day of the first build that the profile holds for, where builds have no number; null: none"},
    profile_field{"knobs", "the software's own names of what a caller may set, and what each sets"}};
template <>
inline constexpr auto fields_of<llmres::runtime_launches> = std::array{
    profile_field{
        "layer",
        "time in which the CPU issues the kernels of one layer's forward pass; 0: CUDA graphs or a compiled program"},
    profile_field{"eager_layer", "the same where CUDA graphs do not serve: prompts and long sequences; 0: as layer"},
    profile_field{"graph_context", "tokens beyond which sequences are decoded without CUDA graphs; 0: none are"},
    profile_field{"narrow_product", "what each product with a weight of fewer than 16 bits takes longer to issue"},
    profile_field{"looped_expert", "time in which the CPU issues one routed expert, where it loops over all of them"},
    profile_field{"step", "time of scheduler, sampler and Python between two steps of serving"},
    profile_field{"request", "time from a request to its first prompt token: tokenizer, queue, scheduler"},
    profile_field{"floors", "the part of kernels' shortest times that remains in a step", "part of one"},
    profile_field{"small_kernels", "elementwise kernels of a layer: norms, rotary embedding, activation, sums",
                  "kernels"},
    profile_field{"attention", "whose kernels compute fused attention"},
    profile_field{"joined", "projections that share their input are one product"},
    profile_field{"overlaps_gradients", "gradients are exchanged while the backward pass goes on"},
    profile_field{"own_all_reduce", "all-reduces of one node are the runtime's own kernels, not NCCL's"},
    profile_field{
        "copies_cache",
        "each step of serving copies the cache, and keys and values once for every query head that shares them"},
    profile_field{"prompts", "time of prompts over what the constants of kernels say", "ratio"},
    profile_field{"pipelines_chunks", "stages of a pipeline compute chunks of one prompt at the same time"},
    profile_field{"bytes_a_clock", "bytes that matrix-vector products read at most; 0: what the memory gives",
                  "bytes a clock and multiprocessor"},
    profile_field{"packed", "whose kernels multiply by weights that are stored as integers"},
    profile_field{"joins_casts", "casts to 8-bit floats are part of the kernel before them"},
    profile_field{"experts", "whose kernels compute routed experts"}};
template <>
inline constexpr auto fields_of<llmres::runtime_process> = std::array{
    profile_field{"context", "the CUDA context and loaded kernels"},
    profile_field{"workspace", "handles of libraries: cuBLAS, cublasLt, attention kernels"},
    profile_field{"stage_workspace", "the same on a stage of a pipeline; 0: the same"},
    profile_field{"expert_workspace", "workspaces of routed experts' grouped matrix products"},
    profile_field{"product_workspace",
                  "workspace of matrix products, from PyTorch's allocator and therefore a part of its peak"},
    profile_field{"communicator",
                  "NCCL, for each group of more than one rank; serving: of a pair, and as much for each doubling"},
    profile_field{"communicator_once", "communicator is the measured total, whatever the size of the group"},
    profile_field{"pipeline_groups", "communicators that pipeline stages have beside one for each way of parallelism",
                  "communicators"},
    profile_field{"fused_all_reduce", "buffers of all-reduces that are fused with the norm behind them"},
    profile_field{"cuda_graphs", "CUDA graphs that are captured after start"},
    profile_field{"layer_graphs", "CUDA graphs of each layer, beside cuda_graphs"}};
template <>
inline constexpr auto fields_of<llmres::runtime_allocator> = std::array{
    profile_field{"code", "who hands out the memory of tensors"},
    profile_field{"fragmentation", "reserved but not allocated, over what is allocated", "part of one"},
    profile_field{"expandable_fragmentation", "fragmentation with expandable segments", "part of one"},
    profile_field{"expandable_segments", "freed blocks are merged, whatever sizes they were allocated for"},
    profile_field{"activation_fragmentation", "training: reserved but not allocated, over activations", "part of one"},
    profile_field{"gaps_by_step", "training: gaps between activations follow from the step's tensors"},
    profile_field{"rounds_to_segments", "tensors of 10 MiB and more are segments of their own in steps of 2 MiB"},
    profile_field{"caches_freed_blocks",
                  "freed blocks of one phase stay cached while the next phase allocates others"}};
template <>
inline constexpr auto fields_of<llmres::host_experts> = std::array{
    profile_field{"copied", "in steps of 32 tokens and more, one stack of experts at a time is copied to the GPU"},
    profile_field{"copied_by_expert", "that limit is 32 tokens for each expert"},
    profile_field{"fused_gates", "gate and up are one operation: two stacks at a time, or none"}};
template <>
inline constexpr auto fields_of<llmres::mxfp4_experts> = std::array{
    profile_field{"scales_again", "scales are kept beside those that were put into the kernels' order"},
    profile_field{"padded", "experts are padded to 128 inner and 256 outer features, where kernels ask for it"},
    profile_field{"pads_values", "values are padded to 128 inner and 64 outer features for kernels on Hopper"}};
template <>
inline constexpr auto fields_of<llmres::runtime_loading> = std::array{
    profile_field{"formats", "families of formats that checkpoints may be in; 16 bits and more always"},
    profile_field{"rope", "tables of rotary positions that stay on the GPU"},
    profile_field{"embedding_on_host", "the token embedding is read from main memory"},
    profile_field{"maps_weights", "what stays on the host are pages of the file itself"},
    profile_field{"host_experts", "routed experts on the host"},
    profile_field{"head_again",
                  "quantised checkpoints of models with tied embeddings may hold the head beside the embedding"},
    profile_field{"mxfp4", "routed experts in MXFP4"},
    profile_field{"projections", "tensors in which a layer's projections lie"},
    profile_field{"repacked", "the part of quantised weights that kernels may hold a second time", "part of one"},
    profile_field{"towers_everywhere", "each stage of a pipeline has vision and audio towers"},
    profile_field{"fits_memory", "layers and context that nobody set are chosen so that they fit free memory"},
    profile_field{"head_first",
                  "of the layers on GPUs the head is the first; else it comes to a GPU when all layers are there"}};
template <>
inline constexpr auto fields_of<llmres::runtime_cache> = std::array{
    profile_field{"pool", "where the memory of the cache comes from"},
    profile_field{"fraction",
                  "the fraction of the memory that the cache may take, as pool understands it; null: none or chosen",
                  "part of one"},
    profile_field{"default_fraction", "how the runtime chooses its fraction where none is named; null: it does not"},
    profile_field{"fraction_name", "the software's own name of the fraction"},
    profile_field{"refuses_less", "does not start where less than the fraction of the whole device is free"},
    profile_field{"graphs_deducted", "CUDA graphs count into the fraction; else they come on top of it"},
    profile_field{"block", "tokens that a cache block holds; 0: caches grow token by token"},
    profile_field{"windows", "tokens that layers with sliding-window attention keep"},
    profile_field{
        "window_part",
        "tokens that a pool for layers with a window holds, over those that the others' holds; null: there is "
        "no such pool",
        "tokens over tokens"},
    profile_field{"expands_latent", "latent attention caches keys and values of every head, not the latent"},
    profile_field{"latent_values", "latent attention caches the values' part of the latent once more"},
    profile_field{
        "fp32_states",
        "all of a recurrent layer's state is fp32; else the convolution's part is in the activations' format"},
    profile_field{"whole_batches", "all prompts are computed before the first token is generated"},
    profile_field{"copies", "copies of the whole cache that exist while a token is appended", "caches"}};
template <>
inline constexpr auto fields_of<llmres::device_default> = std::array{
    profile_field{"from", "the memory from which on devices are of this class; 0: there is no such class"},
    profile_field{"max_batched_tokens", "prompt tokens in one step on such devices; 0: as on smaller ones"},
    profile_field{"max_num_seqs", "sequences in one step on such devices; 0: as on smaller ones", "sequences"}};
template <>
inline constexpr auto fields_of<llmres::serving_logits> = std::array{
    profile_field{"rows", "tokens whose logits are computed"},
    profile_field{"bytes", "bytes that are alive for each logit, the sampler's sort included", "bytes a logit"},
    profile_field{"chunked_bytes", "bytes for each logit where the context passes chunked_beyond; 0: the same",
                  "bytes a logit"},
    profile_field{"dense_bytes", "bytes for each logit of models without routed experts and recurrences; 0: the same",
                  "bytes a logit"},
    profile_field{"few_rows_bytes", "further bytes for each logit where fewer than 128 rows are computed",
                  "bytes a logit"},
    profile_field{"hidden_vectors", "vectors of the hidden width that are alive beside each row", "vectors"},
    profile_field{"filter_rows", "rows of fp32 logits that a kernel filters in, where 8 and more rows are computed",
                  "rows"},
    profile_field{
        "filter_stack",
        "local memory of each thread of that kernel beyond 1 KiB, where the vocabulary is no multiple of four"},
    profile_field{"on_first_gpu", "GPUs that compute layers in turn return the logits, in fp32, to the first GPU"}};
template <>
inline constexpr auto fields_of<llmres::serving_step> = std::array{
    profile_field{"max_batched_tokens", "prompt tokens in one step; 0: a whole prompt"},
    profile_field{"max_num_seqs", "sequences in one step where the caller names no other number; 0: those of the job",
                  "sequences"},
    profile_field{"larger_devices", "the defaults of both on devices from a size on, ascending"},
    profile_field{"a100_is_small", "larger_devices leaves the A100 out"},
    profile_field{"chunked_beyond", "contexts up to this length are computed whole; 0: always in chunks"},
    profile_field{"profiles", "the largest step is computed at start, and its peak reserved whatever the job is"},
    profile_field{"images", "images of that profiling run"},
    profile_field{"copies", "copies of inputs and masks where pipeline stages compute micro-batches in turn", "copies"},
    profile_field{"logits", "the logits of a step"}};
template <>
inline constexpr auto fields_of<llmres::latent_kernels> = std::array{
    profile_field{"absorbed", "queries and outputs are made as wide as the latent, which is read as it is cached"},
    profile_field{"expanded",
                  "keys and values of the whole context are expanded in groups of heads of at most this size; 0: not"},
    profile_field{"expands_all", "all groups are expanded before the first of them is read"}};
template <>
inline constexpr auto fields_of<llmres::ggml_graphs> = std::array{
    profile_field{"laid_out", "the buffer is laid out tensor by tensor; else the fuller half of a layer is its peak"},
    profile_field{"gated_apart", "a feed-forward's gate times its product is a tensor beside both"},
    profile_field{"value_rows",
                  "without flash attention, values are written cell by cell, with an index of 8 bytes for each"},
    profile_field{"narrow_masks", "with flash attention, masks are 16-bit inputs; else fp32 ones that a layer casts"},
    profile_field{"rotates_quantised",
                  "queries, keys, values and output are multiplied by a rotation where the cache is quantised"},
    profile_field{"all_states", "recurrent states of all slots pass the graph, else one's"},
    profile_field{"copies_states", "recurrent states are copied before they are read"},
    profile_field{"values_first", "values are made before keys, and queries in the latent's width before rotary ones"},
    profile_field{"inputs_of_embedding",
                  "inputs of the hidden width beside the stream where the embedding is on this device",
                  "vectors a token"}};
template <>
inline constexpr auto fields_of<llmres::serving_kernels> = std::array{
    profile_field{"fp32_activations", "activations are fp32 whatever the format of weights"},
    profile_field{"written_in_place",
                  "keys and values are written straight to the cache, and products over their factors"},
    profile_field{"graph", "how the buffers of ggml's graphs are laid out"},
    profile_field{"output_over_query", "attention's output takes the place of its queries"},
    profile_field{"attention_mask", "a mask of tokens x context: fp32, or 16 bits with flash attention"},
    profile_field{"flash_attention", "overrides the job's attention; null: as the job says"},
    profile_field{"latent", "multi-head latent attention"},
    profile_field{"more_hidden", "vectors of the hidden width beside the inventory's", "vectors a token"},
    profile_field{"dequantised_from",
                  "rows from which on a product's weights are dequantised to a buffer first; null: never", "rows"},
    profile_field{"score_bytes", "bytes of each attention score, where attention is eager", "bytes a score"},
    profile_field{"feed_forward_under_logits",
                  "a tensor of the last feed-forward may lie in the buffer while logits are computed"},
    profile_field{"keeps_expert_scratch", "buffers of routed experts stay allocated while logits are computed"},
    profile_field{"copies_int8", "the 8-bit copy of an int8 product's input is a tensor beside it"}};
template <>
inline constexpr auto fields_of<llmres::training_loss> = std::array{
    profile_field{"code", "how the loss is computed from the logits"},
    profile_field{"chunks", "chunked: in how many parts", "parts"},
    profile_field{"chunk_tokens", "chunked: tokens of each sequence in a part; 0: as many as chunks parts have",
                  "tokens"},
    profile_field{"returns_logits", "the 16-bit logits stay beside the loss's fp32 copy of them"},
    profile_field{"narrow", "the loss is computed over the logits as they are, which stay until the step is done"},
    profile_field{"holds_logits", "the 16-bit logits stay while the loss is differentiated"},
    profile_field{"holds_outputs", "the training loop refers to what the model returned until the step is done"},
    profile_field{"returns_fp32",
                  "chunked: the model returns fp32 copies of all logits, over which the loss is computed"},
    profile_field{"widens_head_gradient", "fused_linear: each part's gradient of the head is also an fp32 tensor"}};
template <>
inline constexpr auto fields_of<llmres::checkpointing> = std::array{
    profile_field{"selective", "what selective recomputation recomputes"},
    profile_field{"recomputes_cudnn", "recomputation by product does not keep the output of cuDNN's attention"},
    profile_field{"reentrant", "full recomputation by torch's reentrant checkpoint, whose layers read a leaf each"},
    profile_field{"inside_units", "the checkpoint lies inside each unit of FSDP, and reads no leaf"},
    profile_field{"offloads_at_once",
                  "each saved tensor is offloaded as it is made; else layers while others are computed"}};
template <>
inline constexpr auto fields_of<llmres::compilation> =
    std::array{profile_field{"layers", "each layer is compiled: norms and gates are one kernel each"},
               profile_field{"loss_with_layers", "which losses are compiled where layers are"},
               profile_field{"loss", "the loss is compiled, whatever the layers"}};
template <>
inline constexpr auto fields_of<llmres::fp8_training> = std::array{
    profile_field{"recipe", "how 8-bit values are scaled"},
    profile_field{"param_gather", "the 8-bit copies are the weights: there are no wider ones but the optimizer's"}};
template <>
inline constexpr auto fields_of<llmres::training_kernels> = std::array{
    profile_field{"norm", "how norms are computed"},
    profile_field{"gate", "how the activation of a gated feed-forward is computed"},
    profile_field{"loss", "the loss, from the logits to their gradient"},
    profile_field{"linear", "where the gradient of a linear layer's weight goes"},
    profile_field{"experts", "how routed experts are computed"},
    profile_field{"scan", "how Mamba 2's mixer is computed between its two projections"},
    profile_field{"latent_values", "what attention reads of the product that makes the values of latent attention"},
    profile_field{"use_fused_weighted_squared_relu", "experts without a gate weigh their activation in one kernel"},
    profile_field{"joined_heads", "whether one product makes queries, keys and values, and what attention reads of it"},
    profile_field{"shared_heads", "keys and values of grouped queries are read without a copy for every query head"},
    profile_field{"casts_weights", "narrower computation casts weights at each operation, not by a narrower copy"},
    profile_field{"keeps_gathered_inputs", "column-parallel products keep what they gathered of the sequence"},
    profile_field{"fp32_adapters", "adapters are fp32 beside a narrower base"},
    profile_field{"adapters", "how adapters are computed beside the frozen products of their layers"},
    profile_field{"fp32_stream", "embedding, norms and head are fp32 beside 4-bit weights under adapters"},
    profile_field{"four_bit_keeps_inputs", "4-bit products save their input, though the weight alone is needed"},
    profile_field{"asks_for_samples",
                  "flash attention of one row waits for the GPU to say whether it is several samples"},
    profile_field{"compilation", "what torch.compile compiles"},
    profile_field{"fp8", "8-bit training by Transformer Engine"},
    profile_field{"checkpointing", "activations that are recomputed or offloaded"}};
template <>
inline constexpr auto fields_of<llmres::training_sharding> = std::array{
    profile_field{"code", "the implementation that shards what is trained"},
    profile_field{"keeps_gradients", "gradients lie in a buffer of their own, from the first step to the last"},
    profile_field{"adapted_layers", "FSDP1: which units the weights of a layer with adapters are"},
    profile_field{"reshards_after_forward", "ZeRO 3 frees gathered units after their forward pass"},
    profile_field{"separate_streams", "gathered weights and sharded gradients are allocated on streams of their own"},
    profile_field{"separate_ends",
                  "FSDP2: the embedding is a unit, and the head is another; else both are the root unit's"},
    profile_field{"reduce_bucket_size", "DeepSpeed: values of gradients that are exchanged at once", "values"},
    profile_field{"bucket_size_known", "DeepSpeed: the caller has said reduce_bucket_size"},
    profile_field{"overlap_comm",
                  "DeepSpeed: gradients are exchanged on a stream of their own, ZeRO 1 and 2 with two buckets"},
    profile_field{"flattens_on_gpu",
                  "DeepSpeed: ZeRO 1 and 2 join the weights beside the ones that were loaded, on the GPU"},
    profile_field{"sub_group_size", "DeepSpeed: values of a rank's own that ZeRO 3 steps at once", "values"}};
template <>
inline constexpr auto fields_of<llmres::optimizer_step> = std::array{
    profile_field{"foreach_tensors",
                  "all tensors are stepped in one call, with a temporary for each; else one by one, or fused"},
    profile_field{"gradients", "the format of gradients; null: that of the weights"},
    profile_field{"steps_weights", "weights are stepped as they are loaded, without a wider copy"},
    profile_field{"fp32_beside_bf16", "bf16 gradients have fp32 accumulators beside them"},
    profile_field{"widens_gradients", "16-bit gradients are copied to fp32 before the step"},
    profile_field{"copies_master_weights", "ZeRO shards a master copy whatever the format"},
    profile_field{"layer_wise", "optimizers that treat matrices apart shard their states by whole tensors under ZeRO"},
    profile_field{"layer_wise_param_layout",
                  "layer-wise sharding is of the layers' matrices alone, and of all else by the byte"}};
template <>
inline constexpr auto fields_of<llmres::training_pipeline> = std::array{
    profile_field{"defer_embedding_wgrad_compute", "the head's weight gradient is computed when the pipeline drains"},
    profile_field{"wgrad_deferral_limit", "the logits' gradients stay of so many micro-batches; 0: of all",
                  "micro-batches"},
    profile_field{"keeps_stage_outputs",
                  "stages keep their outputs until their backward pass, beside the next stage's copy"},
    profile_field{"partitions_sends", "tensor ranks send a part each of what passes to the next stage"},
    profile_field{"layer_of_rank", "what each tensor rank adds to a layer's issue where stages lie in several nodes"},
    profile_field{"naive", "stages wait for each other, one micro-batch at a time"}};
template <>
inline constexpr auto fields_of<llmres::tensor_split> = std::array{
    profile_field{"copies_kv_heads", "more tensor ranks than key-value heads, which are then copied"},
    profile_field{"pads_width", "the width of feed-forwards is padded to a multiple of the tensor ranks"},
    profile_field{"power_of_two", "tensor ranks are a power of two"},
    profile_field{"vocabulary_multiple",
                  "the vocabulary is padded to a multiple of this before it is split; 0: of the ranks", "words"},
    profile_field{"refuses_uneven", "does not start where heads, widths or the vocabulary are not split evenly"}};
template <>
inline constexpr auto fields_of<llmres::layout_rules> =
    std::array{profile_field{"tensor", "matrix products are split over ranks"},
               profile_field{"pipeline", "layers are split into stages"},
               profile_field{"virtual_pipeline", "training: a stage may hold several chunks of layers"},
               profile_field{"sequence_parallel", "training: norms and residuals are split over the tensor ranks too"},
               profile_field{"context_parallel", "sequences are split over ranks"},
               profile_field{"expert", "ranks have whole routed experts"},
               profile_field{"uneven_stages", "training: stages may have unequal numbers of layers"},
               profile_field{"split", "how matrix products are split over tensor ranks"},
               profile_field{"most_zero", "the highest ZeRO stage", "stage"},
               profile_field{"most_zero_with_pipeline", "the highest ZeRO stage beside pipeline stages", "stage"}};
template <>
inline constexpr auto fields_of<llmres::runtime_accuracy> = std::array{
    profile_field{"activations", "measured activations over those that the inventory counts", "ratio"},
    profile_field{"undescribed",
                  "training: activations of an architecture that is not described over those of Llama's modules",
                  "ratio"},
    profile_field{"logits", "training: measured logits over counted ones; 0: as activations", "ratio"}};
template <>
inline constexpr auto fields_of<llmres::runtime> =
    std::array{profile_field{"identity", "name, purpose and versions"},
               profile_field{"launches", "what the CPU takes while the GPU computes, and which kernels are joined"},
               profile_field{"process", "memory of the process beside its tensors"},
               profile_field{"allocator", "how memory is reserved"},
               profile_field{"accuracy", "measured over counted activations"},
               profile_field{"loading", "how weights are held once they are loaded"},
               profile_field{"cache", "how the KV cache is allocated"},
               profile_field{"step", "the largest step of serving"},
               profile_field{"serving_kernels", "what kernels keep alive when serving"},
               profile_field{"kernels", "how training computes a model's modules"},
               profile_field{"optimizer", "how the optimizer's step is taken"},
               profile_field{"sharding", "how training shards over data ranks"},
               profile_field{"pipeline", "how pipeline stages work together when training"},
               profile_field{"layouts", "the layouts that the runtime runs"}};

/// Whether a type is a part of a profile, which holds fields.
template <class Part>
inline constexpr bool is_part = !std::is_same_v<decltype(fields_of<Part>), const int>;

/// The names of a part's fields, in their order.
template <class Part>
constexpr auto profile_field_names() {
    std::array<std::string_view, fields_of<Part>.size()> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = fields_of<Part>[i].name;
    return names;
}

/// Calls visit(field) for each of a struct's first-to-last fields. A number of names other than the struct's number of
/// fields does not compile.
template <std::size_t Count, class Part, class Visit>
constexpr void each_member(Part& part, Visit&& visit) {
    const auto all = [&](auto&... member) { (visit(member), ...); };
    if constexpr (Count == 2) {
        auto& [a, b] = part;
        all(a, b);
    } else if constexpr (Count == 3) {
        auto& [a, b, c] = part;
        all(a, b, c);
    } else if constexpr (Count == 4) {
        auto& [a, b, c, d] = part;
        all(a, b, c, d);
    } else if constexpr (Count == 5) {
        auto& [a, b, c, d, e] = part;
        all(a, b, c, d, e);
    } else if constexpr (Count == 6) {
        auto& [a, b, c, d, e, f] = part;
        all(a, b, c, d, e, f);
    } else if constexpr (Count == 7) {
        auto& [a, b, c, d, e, f, g] = part;
        all(a, b, c, d, e, f, g);
    } else if constexpr (Count == 8) {
        auto& [a, b, c, d, e, f, g, h] = part;
        all(a, b, c, d, e, f, g, h);
    } else if constexpr (Count == 9) {
        auto& [a, b, c, d, e, f, g, h, i] = part;
        all(a, b, c, d, e, f, g, h, i);
    } else if constexpr (Count == 10) {
        auto& [a, b, c, d, e, f, g, h, i, j] = part;
        all(a, b, c, d, e, f, g, h, i, j);
    } else if constexpr (Count == 11) {
        auto& [a, b, c, d, e, f, g, h, i, j, k] = part;
        all(a, b, c, d, e, f, g, h, i, j, k);
    } else if constexpr (Count == 12) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l);
    } else if constexpr (Count == 13) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m);
    } else if constexpr (Count == 14) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
    } else if constexpr (Count == 17) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
    } else if constexpr (Count == 18) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
    } else if constexpr (Count == 19) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
    } else if constexpr (Count == 20) {
        auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
    } else {
        static_assert(Count == 0, "a part has more fields than are listed here");
    }
}

/// Calls visit(profile_field, field) for each field of a part.
template <class Part, class Visit>
constexpr void each_field(Part& part, Visit&& visit) {
    constexpr const auto& fields = fields_of<std::remove_const_t<Part>>;
    std::size_t next = 0;
    each_member<fields.size()>(part, [&](auto& member) { visit(fields[next++], member); });
}

}  // namespace llmres::inline v0::detail
