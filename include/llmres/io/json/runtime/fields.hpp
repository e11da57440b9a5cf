// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/runtimes/runtime.hpp>
#include <llmres/values/text.hpp>
#include <string_view>
#include <type_traits>

/// The fields of a runtime profile, each listed once with its meaning, for whoever reads, writes, compares or explains
/// profiles as data. A key is the name of the C++ field.
namespace llmres::inline v0::detail {

/// A field of a part of a profile.
struct profile_field {
    literal name{};
    literal means{};
    literal unit{};  ///< of a plain number; empty where the C++ type says it
};

/// The fields of a part, in their order; 0 for what is no part of a profile.
template <class Part>
inline constexpr int fields_of = 0;
template <>
inline constexpr auto fields_of<llmres::runtime_identity> = std::to_array<profile_field>(
    {{"name", "the runtime's name"},
     {"work", "what the runtime is for"},
     {"versions", "the versions that the constants were taken from, in words"},
     {"since", "the first version that the profile is meant for; null: any"},
     {"before", "the first version that the profile no longer holds for; null: none is known"},
     {"built", "year.month.day of the first build that the profile holds for, where builds have no number; null: none"},
     {"knobs", "the software's own names of what a caller may set, and what each sets"},
     {"launcher", "which of the library's launchers writes the command that starts the runtime; null: none does"}});
template <>
inline constexpr auto fields_of<llmres::runtime_launches> = std::to_array<profile_field>(
    {{"layer",
      "time in which the CPU issues the kernels of one layer's forward pass; 0: CUDA graphs or a compiled program"},
     {"eager_layer", "the same where CUDA graphs do not serve: prompts and long sequences; 0: as layer"},
     {"graph_context", "tokens beyond which sequences are decoded without CUDA graphs; 0: none are"},
     {"narrow_product", "what each product with a weight of fewer than 16 bits takes longer to issue"},
     {"looped_expert", "time in which the CPU issues one routed expert, where it loops over all of them"},
     {"step", "time of scheduler, sampler and Python between two steps of serving"},
     {"request", "time from a request to its first prompt token: tokenizer, queue, scheduler"},
     {"floors", "the part of kernels' shortest times that remains in a step", "part of one"},
     {"small_kernels", "elementwise kernels of a layer: norms, rotary embedding, activation, sums", "kernels"},
     {"attention", "whose kernels compute fused attention"},
     {"joined", "projections that share their input are one product"},
     {"overlaps_gradients", "gradients are exchanged while the backward pass goes on"},
     {"own_all_reduce", "all-reduces of one node are the runtime's own kernels, not NCCL's"},
     {"copies_cache",
      "each step of serving copies the cache, and keys and values once for every query head that shares them"},
     {"prompts", "time of prompts over what the constants of kernels say", "ratio"},
     {"stages", "what the stages of a pipeline compute at the same time when serving"},
     {"bytes_a_clock", "bytes that matrix-vector products read at most; 0: what the memory gives",
      "bytes a clock and multiprocessor"},
     {"packed", "whose kernels multiply by weights that are stored as integers"},
     {"joins_casts", "casts to 8-bit floats are part of the kernel before them"},
     {"experts", "whose kernels compute routed experts"}});
template <>
inline constexpr auto fields_of<llmres::runtime_process> = std::to_array<profile_field>(
    {{"context", "the CUDA context and loaded kernels"},
     {"workspace", "handles of libraries: cuBLAS, cublasLt, attention kernels"},
     {"stage_workspace", "the same on a stage of a pipeline; 0: the same"},
     {"expert_workspace", "workspaces of routed experts' grouped matrix products"},
     {"product_workspace", "workspace of matrix products, from PyTorch's allocator and therefore a part of its peak"},
     {"communicator", "NCCL, for each group of more than one rank; serving: of a pair, and as much for each doubling"},
     {"communicator_once", "communicator is the measured total, whatever the size of the group"},
     {"pipeline_groups", "communicators that pipeline stages have beside one for each way of parallelism",
      "communicators"},
     {"fused_all_reduce", "buffers of all-reduces that are fused with the norm behind them"},
     {"cuda_graphs", "CUDA graphs that are captured after start"},
     {"layer_graphs", "CUDA graphs of each layer, beside cuda_graphs"}});
template <>
inline constexpr auto fields_of<llmres::runtime_allocator> = std::to_array<profile_field>(
    {{"code", "who hands out the memory of tensors"},
     {"fragmentation", "reserved but not allocated, over what is allocated", "part of one"},
     {"expandable_fragmentation", "fragmentation with expandable segments", "part of one"},
     {"expandable_segments", "freed blocks are merged, whatever sizes they were allocated for"},
     {"activation_fragmentation", "training: reserved but not allocated, over activations", "part of one"},
     {"gaps_by_step", "training: gaps between activations follow from the step's tensors"},
     {"rounds_to_segments", "tensors of 10 MiB and more are segments of their own in steps of 2 MiB"},
     {"caches_freed_blocks", "freed blocks of one phase stay cached while the next phase allocates others"},
     {"splits_buffers", "the buffer of ggml's graph is several where it exceeds what the driver allocates at once"}});
template <>
inline constexpr auto fields_of<llmres::host_experts> = std::to_array<profile_field>(
    {{"copied", "in steps of 32 tokens and more, one stack of experts at a time is copied to the GPU"},
     {"copied_by_expert", "that limit is 32 tokens for each expert"},
     {"fused_gates", "gate and up are one operation: two stacks at a time, or none"}});
template <>
inline constexpr auto fields_of<llmres::mxfp4_experts> = std::to_array<profile_field>(
    {{"scales_again", "scales are kept beside those that were put into the kernels' order"},
     {"padded", "experts are padded to 128 inner and 256 outer features, where kernels ask for it"},
     {"pads_values", "values are padded to 128 inner and 64 outer features for kernels on Hopper"}});
template <>
inline constexpr auto fields_of<llmres::runtime_loading> = std::to_array<profile_field>(
    {{"formats", "families of formats that checkpoints may be in; 16 bits and more always"},
     {"rope", "tables of rotary positions that stay on the GPU"},
     {"embedding_on_host", "the token embedding is read from main memory"},
     {"maps_weights", "what stays on the host are pages of the file itself"},
     {"host_experts", "routed experts on the host"},
     {"head_again", "quantised checkpoints of models with tied embeddings may hold the head beside the embedding"},
     {"mxfp4", "routed experts in MXFP4"},
     {"projections", "tensors in which a layer's projections lie"},
     {"repacked", "the part of quantised weights that kernels may hold a second time", "part of one"},
     {"towers_everywhere", "each stage of a pipeline has vision and audio towers"},
     {"fits_memory", "layers and context that nobody set are chosen so that they fit free memory"},
     {"fetches_quantised", "weights whose format nobody names are fetched as a quantised GGUF file"},
     {"head_first", "of the layers on GPUs the head is the first; else it comes to a GPU when all layers are there"},
     {"own_library",
      "names of models are those of its own library, where one without a tag is that of the tag latest"}});
template <>
inline constexpr auto fields_of<llmres::runtime_cache> = std::to_array<profile_field>(
    {{"pool", "where the memory of the cache comes from"},
     {"fraction", "the fraction of the memory that the cache may take, as pool understands it; null: none or chosen",
      "part of one"},
     {"default_fraction", "how the runtime chooses its fraction where none is named; null: it does not"},
     {"fraction_name", "the software's own name of the fraction"},
     {"refuses_less", "does not start where less than the fraction of the whole device is free"},
     {"graphs_deducted", "CUDA graphs count into the fraction; else they come on top of it"},
     {"block", "tokens that a cache block holds; 0: caches grow token by token"},
     {"windows", "tokens that layers with sliding-window attention keep"},
     {"in_flight", "steps whose tokens windowed layers of a pool of groups have room for, beside their windows"},
     {"window_part",
      "tokens that a pool for layers with a window holds, over those that the others' holds; null: there is "
      "no such pool",
      "tokens over tokens"},
     {"expands_latent", "latent attention caches keys and values of every head, not the latent"},
     {"latent_values", "latent attention caches the values' part of the latent once more"},
     {"transposed_values",
      "without flash attention the values' part of the latent is cached once more, transposed, in 16 bits"},
     {"states", "formats of recurrent layers' states"},
     {"needs_state_blocks",
      "with CUDA graphs, it does not start where a step may have more sequences than the pool has blocks for states"},
     {"shares_prefixes", "sequences that begin with the same tokens have these in the cache once"},
     {"whole_batches", "all prompts are computed before the first token is generated"},
     {"copies", "copies of the whole cache that exist while a token is appended", "caches"},
     {"slots", "whose tokens have cells in a cache that is allotted at start"}});
template <>
inline constexpr auto fields_of<llmres::device_default> = std::to_array<profile_field>(
    {{"from", "the memory from which on devices are of this class; 0: there is no such class"},
     {"max_batched_tokens", "prompt tokens in one step on such devices; 0: as on smaller ones"},
     {"max_num_seqs", "sequences in one step on such devices; 0: as on smaller ones", "sequences"},
     {"context", "tokens of a sequence where nobody says how many, on such GPUs together; 0: as on smaller ones"}});
template <>
inline constexpr auto fields_of<llmres::serving_logits> = std::to_array<profile_field>(
    {{"rows", "tokens whose logits are computed"},
     {"bytes", "bytes that are alive for each logit, the sampler's sort included", "bytes a logit"},
     {"chunked_bytes", "bytes for each logit where the context passes chunked_beyond; 0: the same", "bytes a logit"},
     {"dense_bytes", "bytes for each logit of models without routed experts and recurrences; 0: the same",
      "bytes a logit"},
     {"few_rows_bytes", "further bytes for each logit where fewer than 128 rows are computed", "bytes a logit"},
     {"hidden_vectors", "vectors of the hidden width that are alive beside each row", "vectors"},
     {"filter_rows", "rows of fp32 logits that a kernel filters in, where 8 and more rows are computed", "rows"},
     {"filter_stack",
      "local memory of each thread of that kernel beyond 1 KiB, where the vocabulary is no multiple of four"},
     {"on_first_gpu", "GPUs that compute layers in turn return the logits, in fp32, to the first GPU"},
     {"to_host", "the logits of each new token are copied to main memory, where the CPU samples"}});
template <>
inline constexpr auto fields_of<llmres::serving_step> = std::to_array<profile_field>(
    {{"max_batched_tokens", "prompt tokens in one step; 0: a whole prompt"},
     {"max_num_seqs", "sequences in one step where the caller names no other number; 0: those of the job", "sequences"},
     {"context", "tokens that a sequence may reach where nobody says how many; 0: the model's longest"},
     {"larger_devices", "the defaults of these on devices from a size on, ascending"},
     {"a100_is_small", "larger_devices leaves the A100 out"},
     {"chunked_beyond", "contexts up to this length are computed whole; 0: always in chunks"},
     {"profiles", "the largest step is computed at start, and its peak reserved whatever the job is"},
     {"images", "images of that profiling run"},
     {"copies", "copies of inputs and masks where pipeline stages compute micro-batches in turn", "copies"},
     {"logits", "the logits of a step"}});
template <>
inline constexpr auto fields_of<llmres::latent_kernels> = std::to_array<profile_field>(
    {{"absorbed", "queries and outputs are made as wide as the latent, which is read as it is cached"},
     {"expanded", "keys and values of the whole context are expanded in groups of heads of at most this size; 0: not"},
     {"expands_all", "all groups are expanded before the first of them is read"},
     {"scores", "without flash attention scores are computed in groups of heads of at most this size; 0: of all heads"},
     {"copies_values", "without flash attention each layer makes a transposed copy of the latent's values"}});
template <>
inline constexpr auto fields_of<llmres::ggml_graphs> = std::to_array<profile_field>(
    {{"laid_out", "the buffer is laid out tensor by tensor; else the fuller half of a layer is its peak"},
     {"gated_apart", "a feed-forward's gate times its product is a tensor beside both"},
     {"value_rows", "without flash attention, values are written cell by cell, with an index of 8 bytes for each"},
     {"narrow_masks", "with flash attention, masks are 16-bit inputs; else fp32 ones that a layer casts"},
     {"rotates_quantised",
      "queries, keys, values and output are multiplied by a rotation where the cache is quantised"},
     {"all_states", "recurrent states of all slots pass the graph, else one's"},
     {"copies_states", "recurrent states are copied before they are read"},
     {"values_first", "values are made before keys, and queries in the latent's width before rotary ones"},
     {"inputs_of_embedding", "inputs of the hidden width beside the stream where the embedding is on this device",
      "vectors a token"}});
template <>
inline constexpr auto fields_of<llmres::serving_kernels> = std::to_array<profile_field>(
    {{"fp32_activations", "activations are fp32 whatever the format of weights"},
     {"written_in_place", "keys and values are written straight to the cache, and products over their factors"},
     {"graph", "how the buffers of ggml's graphs are laid out"},
     {"output_over_query", "attention's output takes the place of its queries"},
     {"attention_mask", "a mask of tokens x context: fp32, or 16 bits with flash attention"},
     {"flash_attention", "overrides the job's attention; null: as the job says"},
     {"latent", "multi-head latent attention"},
     {"more_hidden", "vectors of the hidden width beside the inventory's", "vectors a token"},
     {"dequantised_from", "rows from which on a product's weights are dequantised to a buffer first; null: never",
      "rows"},
     {"score_bytes", "bytes of each attention score, where attention is eager", "bytes a score"},
     {"feed_forward_under_logits", "a tensor of the last feed-forward may lie in the buffer while logits are computed"},
     {"keeps_expert_scratch", "buffers of routed experts stay allocated while logits are computed"},
     {"copies_int8", "the 8-bit copy of an int8 product's input is a tensor beside it"},
     {"without_bf16", "what it does with bf16 on a GPU that has no bf16 arithmetic"},
     {"widest_fused_head", "wider heads compute prompts' attention in scores that lie in memory; 0: none do",
      "features"}});
template <>
inline constexpr auto fields_of<llmres::training_loss> = std::to_array<profile_field>(
    {{"code", "how the loss is computed from the logits"},
     {"chunks", "chunked: in how many parts", "parts"},
     {"chunk_tokens", "chunked: tokens of each sequence in a part; 0: as many as chunks parts have", "tokens"},
     {"returns_logits", "the 16-bit logits stay beside the loss's fp32 copy of them"},
     {"narrow", "the loss is computed over the logits as they are, which stay until the step is done"},
     {"holds_logits", "the 16-bit logits stay while the loss is differentiated"},
     {"holds_outputs", "the training loop refers to what the model returned until the step is done"},
     {"returns_fp32", "chunked: the model returns fp32 copies of all logits, over which the loss is computed"},
     {"widens_head_gradient", "fused_linear: each part's gradient of the head is also an fp32 tensor"}});
template <>
inline constexpr auto fields_of<llmres::checkpointing> = std::to_array<profile_field>(
    {{"selective", "what selective recomputation recomputes"},
     {"recomputes_cudnn", "recomputation by product does not keep the output of cuDNN's attention"},
     {"reentrant", "full recomputation by torch's reentrant checkpoint, whose layers read a leaf each"},
     {"inside_units", "the checkpoint lies inside each unit of FSDP, and reads no leaf"},
     {"offloads_at_once", "each saved tensor is offloaded as it is made; else layers while others are computed"}});
template <>
inline constexpr auto fields_of<llmres::compilation> =
    std::to_array<profile_field>({{"layers", "each layer is compiled: norms and gates are one kernel each"},
                                  {"loss_with_layers", "which losses are compiled where layers are"},
                                  {"loss", "the loss is compiled, whatever the layers"}});
template <>
inline constexpr auto fields_of<llmres::fp8_training> = std::to_array<profile_field>(
    {{"recipe", "how 8-bit values are scaled"},
     {"param_gather", "the 8-bit copies are the weights: there are no wider ones but the optimizer's"}});
template <>
inline constexpr auto fields_of<llmres::training_kernels> = std::to_array<profile_field>(
    {{"norm", "how norms are computed"},
     {"gate", "how the activation of a gated feed-forward is computed"},
     {"loss", "the loss, from the logits to their gradient"},
     {"linear", "where the gradient of a linear layer's weight goes"},
     {"experts", "how routed experts are computed"},
     {"scan", "how Mamba 2's mixer is computed between its two projections"},
     {"latent_values", "what attention reads of the product that makes the values of latent attention"},
     {"use_fused_weighted_squared_relu", "experts without a gate weigh their activation in one kernel"},
     {"joined_heads", "whether one product makes queries, keys and values, and what attention reads of it"},
     {"shared_heads", "keys and values of grouped queries are read without a copy for every query head"},
     {"casts_weights", "narrower computation casts weights at each operation, not by a narrower copy"},
     {"keeps_gathered_inputs", "column-parallel products keep what they gathered of the sequence"},
     {"fp32_adapters", "adapters are fp32 beside a narrower base"},
     {"adapters", "how adapters are computed beside the frozen products of their layers"},
     {"fp32_stream", "embedding, norms and head are fp32 beside 4-bit weights under adapters"},
     {"four_bit_keeps_inputs", "4-bit products save their input, though the weight alone is needed"},
     {"modules", "whose code the model's modules are: transformers' compose some activations of several kernels"},
     {"compilation", "what torch.compile compiles"},
     {"fp8", "8-bit training by Transformer Engine"},
     {"checkpointing", "activations that are recomputed or offloaded"}});
template <>
inline constexpr auto fields_of<llmres::deepspeed_zero> = std::to_array<profile_field>(
    {{"reduce_bucket_size", "values of gradients that are exchanged at once", "values"},
     {"bucket_size_known", "the caller has said reduce_bucket_size"},
     {"overlap_comm", "gradients are exchanged on a stream of their own, ZeRO 1 and 2 with two buckets"},
     {"flattens_on_gpu", "ZeRO 1 and 2 join the weights beside the ones that were loaded, on the GPU"},
     {"sub_group_size", "values of a rank's own that ZeRO 3 steps at once", "values"}});
template <>
inline constexpr auto fields_of<llmres::training_sharding> = std::to_array<profile_field>(
    {{"code", "the implementation that shards what is trained"},
     {"keeps_gradients", "gradients lie in a buffer of their own, from the first step to the last"},
     {"gradient_as_bucket_view", "DDP's gradients are views of its buckets; else these are as large beside them"},
     {"sync_each_batch", "ZeRO 2 and 3: ranks share gradients of each micro-batch; else of the last, whole until then"},
     {"upcasts", "ZeRO 2 and 3: trained weights of 16 bits are widened to fp32, and gathered as they are computed"},
     {"adapted_layers", "FSDP1: which units the weights of a layer with adapters are"},
     {"reshards_after_forward", "ZeRO 3 frees gathered units after their forward pass"},
     {"separate_streams", "gathered weights and sharded gradients are allocated on streams of their own"},
     {"separate_ends", "FSDP2: the embedding is a unit, and the head is another; else both are the root unit's"},
     {"deepspeed", "what DeepSpeed's ZeRO is told"}});
template <>
inline constexpr auto fields_of<llmres::optimizer_step> = std::to_array<profile_field>(
    {{"foreach_tensors", "all tensors are stepped in one call, with a temporary for each; else one by one, or fused"},
     {"gradients", "the format of gradients; null: that of the weights"},
     {"steps_weights", "weights are stepped as they are loaded, without a wider copy"},
     {"fp32_beside_bf16", "bf16 gradients have fp32 accumulators beside them"},
     {"widens_gradients", "16-bit gradients are copied to fp32 before the step"},
     {"copies_master_weights", "ZeRO shards a master copy whatever the format"},
     {"layer_wise", "optimizers that treat matrices apart shard their states by whole tensors under ZeRO"},
     {"layer_wise_param_layout", "layer-wise sharding is of the layers' matrices alone, and of all else by the byte"}});
template <>
inline constexpr auto fields_of<llmres::training_pipeline> = std::to_array<profile_field>(
    {{"defer_embedding_wgrad_compute", "the head's weight gradient is computed when the pipeline drains"},
     {"wgrad_deferral_limit", "the logits' gradients stay of so many micro-batches; 0: of all", "micro-batches"},
     {"keeps_stage_outputs", "stages keep their outputs until their backward pass, beside the next stage's copy"},
     {"partitions_sends", "tensor ranks send a part each of what passes to the next stage"},
     {"layer_of_rank", "what each tensor rank adds to a layer's issue where stages lie in several nodes"},
     {"naive", "stages wait for each other, one micro-batch at a time"}});
template <>
inline constexpr auto fields_of<llmres::tensor_split> = std::to_array<profile_field>(
    {{"copies_kv_heads", "more tensor ranks than key-value heads, which are then copied"},
     {"pads_width", "the width of feed-forwards is padded to a multiple of the tensor ranks"},
     {"power_of_two", "tensor ranks are a power of two"},
     {"vocabulary_multiple", "the vocabulary is padded to a multiple of this before it is split; 0: of the ranks",
      "words"},
     {"refuses_uneven", "does not start where heads, widths or the vocabulary are not split evenly"},
     {"refuses_cut_blocks", "does not start where tensor ranks cut a block or group of weights that share a scale"}});
template <>
inline constexpr auto fields_of<llmres::untried_degrees> =
    std::to_array<profile_field>({{"tensor", "tensor ranks may run, and no run is known"},
                                  {"pipeline", "pipeline stages may run, and no run is known"},
                                  {"sequence_parallel", "training: sequence parallelism may run, and no run is known"},
                                  {"context_parallel", "context-parallel ranks may run, and no run is known"},
                                  {"expert", "expert ranks may run, and no run is known"}});
template <>
inline constexpr auto fields_of<llmres::layout_rules> = std::to_array<profile_field>(
    {{"tensor", "matrix products are split over ranks"},
     {"pipeline", "layers are split into stages"},
     {"virtual_pipeline", "training: a stage may hold several chunks of layers"},
     {"sequence_parallel", "training: norms and residuals are split over the tensor ranks too"},
     {"context_parallel", "sequences are split over ranks"},
     {"expert", "ranks have whole routed experts"},
     {"uneven_stages", "training: stages may have unequal numbers of layers"},
     {"split", "how matrix products are split over tensor ranks"},
     {"least_zero", "the lowest ZeRO stage that shards anything", "stage"},
     {"most_zero", "the highest ZeRO stage", "stage"},
     {"most_zero_with_pipeline", "the highest ZeRO stage that a search tries beside pipeline stages", "stage"},
     {"rows", "serving: what lies where if the GPUs of a pipeline share the rows of each matrix"},
     {"untried", "degrees that may run, of which no run is known"},
     {"source", "what these rules were read from, in the software's own files"}});
template <>
inline constexpr auto fields_of<llmres::compute_capability> = std::to_array<profile_field>(
    {{"major", "NVIDIA's generation: 9 is Hopper", "generation"}, {"minor", "the variant within it", "variant"}});
template <>
inline constexpr auto fields_of<llmres::runtime_devices> = std::to_array<profile_field>(
    {{"nvidia", "whether it starts on NVIDIA's GPUs"},
     {"amd", "whether it starts on AMD's GPUs"},
     {"intel", "whether it starts on Intel's Arc and Data Center GPU Max"},
     {"gaudi", "whether it starts on Intel's Gaudi"},
     {"google", "whether it starts on TPUs"},
     {"aws", "whether it starts on Trainium and Inferentia"},
     {"huawei", "whether it starts on Ascend"},
     {"apple", "whether it starts on Apple's GPUs"},
     {"cambricon", "whether it starts on Cambricon's MLUs"},
     {"hygon", "whether it starts on Hygon's DCUs"},
     {"moore_threads", "whether it starts on Moore Threads' GPUs"},
     {"least", "NVIDIA: it starts from this compute capability on; 0.0: on any"},
     {"fp8", "NVIDIA: the least compute capability with weights in fp8; 0.0: least"},
     {"nvfp4", "NVIDIA: the least compute capability with weights in NVFP4; 0.0: least"},
     {"awq", "NVIDIA: the least compute capability with AWQ's weights; 0.0: least"},
     {"fp8_cache", "NVIDIA: the least compute capability with a cache in fp8; 0.0: least"},
     {"nvfp4_cache", "NVIDIA: the least compute capability with a cache in NVFP4; 0.0: least"},
     {"nvfp4_cache_before", "NVIDIA: the first compute capability above it without such a cache; 0.0: none"},
     {"source", "what this was read from, in the software's own files"}});
template <>
inline constexpr auto fields_of<llmres::runtime_accuracy> = std::to_array<profile_field>(
    {{"activations", "measured activations over those that the inventory counts", "ratio"},
     {"undescribed", "training: activations of an architecture that is not described over those of Llama's modules",
      "ratio"},
     {"logits", "training: measured logits over counted ones; 0: as activations", "ratio"}});
template <>
inline constexpr auto fields_of<llmres::runtime> = std::to_array<profile_field>(
    {{"identity", "name, purpose and versions"},
     {"launches", "what the CPU takes while the GPU computes, and which kernels are joined"},
     {"process", "memory of the process beside its tensors"},
     {"allocator", "how memory is reserved"},
     {"accuracy", "measured over counted activations"},
     {"loading", "how weights are held once they are loaded"},
     {"cache", "how the KV cache is allocated"},
     {"step", "the largest step of serving"},
     {"serving_kernels", "what kernels keep alive when serving"},
     {"kernels", "how training computes a model's modules"},
     {"optimizer", "how the optimizer's step is taken"},
     {"sharding", "how training shards over data ranks"},
     {"pipeline", "how pipeline stages work together when training"},
     {"layouts", "the layouts that the runtime runs"},
     {"devices", "the devices that the runtime starts on"}});

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
    // clang-format off
    if constexpr (Count == 2) { auto& [a, b] = part; all(a, b); }
    else if constexpr (Count == 3) { auto& [a, b, c] = part; all(a, b, c); }
    else if constexpr (Count == 4) { auto& [a, b, c, d] = part; all(a, b, c, d); }
    else if constexpr (Count == 5) { auto& [a, b, c, d, e] = part; all(a, b, c, d, e); }
    else if constexpr (Count == 6) { auto& [a, b, c, d, e, f] = part; all(a, b, c, d, e, f); }
    else if constexpr (Count == 7) { auto& [a, b, c, d, e, f, g] = part; all(a, b, c, d, e, f, g); }
    else if constexpr (Count == 8) { auto& [a, b, c, d, e, f, g, h] = part; all(a, b, c, d, e, f, g, h); }
    else if constexpr (Count == 9) { auto& [a, b, c, d, e, f, g, h, i] = part; all(a, b, c, d, e, f, g, h, i); }
    else if constexpr (Count == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = part;
        all(a, b, c, d, e, f, g, h, i, j); }
    else if constexpr (Count == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = part;
        all(a, b, c, d, e, f, g, h, i, j, k); }
    else if constexpr (Count == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l); }
    else if constexpr (Count == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m); }
    else if constexpr (Count == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
    else if constexpr (Count == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); }
    else if constexpr (Count == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p); }
    else if constexpr (Count == 17) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q); }
    else if constexpr (Count == 18) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r); }
    else if constexpr (Count == 19) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s); }
    else if constexpr (Count == 20) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = part;
        all(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t); }
    // clang-format on
    else
        static_assert(Count == 0, "a part has more fields than are listed here");
}

/// Calls visit(profile_field, field) for each field of a part.
template <class Part, class Visit>
constexpr void each_field(Part& part, Visit&& visit) {
    constexpr const auto& fields = fields_of<std::remove_const_t<Part>>;
    std::size_t next = 0;
    each_member<fields.size()>(part, [&](auto& member) { visit(fields[next++], member); });
}

}  // namespace llmres::inline v0::detail
