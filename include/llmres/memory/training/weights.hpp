// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/inventory/adapter_weights.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/optimizer.hpp>
#include <llmres/memory/training_state.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/runtimes/kernels.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// What training keeps of the weights of one place in the model, on one GPU: a fold over the parameter inventory.
namespace llmres::inline v0::detail {

/// How a job trains its weights: formats, and where they and their optimizer states lie. Made once a plan, the same for
/// all weights.
struct weight_training {
    const llmres::job& job;
    layer_split split;
    zero_split shards;
    const training_context& context;
    weight_format_view formats;
    const precision& gradients;
    maybe<precision> master;
    bool casts_matrices;      ///< what is stored in formats.matrices is computed in another format
    bool casts_rest;          ///< what is stored in formats.rest is computed in another format
    bool element_wise;        ///< optimizer states of a tensor depend on the number of its values, not on its shape
    bool stacks_experts;      ///< one tensor of three dimensions holds all experts
    const precision& states;  ///< of the optimizer, for the weights of the model
    const precision& adapter_states;  ///< of the optimizer, for an adapter
    /// FSDP's SHARD_GRAD_OP: beside its part of each weight a rank has what it gathered, in the format of computing.
    bool stays_gathered;
    prepared_divisor dense_ranks;   ///< that ZeRO shards weights over
    prepared_divisor expert_ranks;  ///< that ZeRO shards routed experts over
    prepared_divisor one_rank{1};   ///< of what each rank has whole

    constexpr weight_training(const llmres::job& j, const layer_split& cut, const zero_split& sharded,
                              const training_context& c)
        : job{j},
          split{cut},
          shards{sharded},
          context{c},
          formats{formats_of(j, c.formats.stream)},
          gradients{gradients_of(j)},
          master{sharded.zero > 0 && c.runtime.optimizer.copies_master_weights && !steps_in_backward(j.optimizer)
                     ? maybe<precision>{j.master_weights.value_or(fp32)}
                     : master_weights_of(j)},
          casts_matrices{is_cast(*formats.matrices, c)},
          casts_rest{is_cast(*formats.rest, c)},
          element_wise{is_element_wise(j.optimizer)},
          stacks_experts{stacks_weights(c.runtime.kernels.experts)},
          states{optimizer_states_of(j)},
          adapter_states{adapter_states_of(j)},
          stays_gathered{
              sharded.zero == 2 && sharded.dense_ranks > 1 && !c.autocast &&
              (c.runtime.sharding.code == sharding_code::fsdp1 || c.runtime.sharding.code == sharding_code::fsdp2)},
          dense_ranks{sharded.dense_ranks},
          expert_ranks{sharded.expert_ranks} {}
    /// In a layout.
    constexpr weight_training(const llmres::job& j, const layout& l, const training_context& c)
        : weight_training{j, l, l, c} {}

    /// Whether each rank has adapters whole, with gradients and states. fms-acceleration has FSDP ignore those of its
    /// fused functions, and averages gradients by hooks (fused-ops-and-kernels, utils.py,
    /// lora_adapters_switch_ddp_from_fsdp).
    constexpr bool replicates_adapters() const {
        const sharding_code code = context.runtime.sharding.code;
        return context.runtime.kernels.adapters == adapter_code::fused &&
               (code == sharding_code::fsdp1 || code == sharding_code::fsdp2);
    }

    /// Whether autocast keeps the cast of a trained weight for further products (autocast_mode.cpp, cached_cast): it
    /// has to be a leaf. A view of it is none, and neither is a parameter of FSDP1, a view of the unit's flat one
    /// (_flat_param.py, _use_unsharded_views).
    constexpr bool caches_casts() const {
        return !context.code.multiplies_views &&
               !(shards.zero >= 2 && context.runtime.sharding.code == sharding_code::fsdp1);
    }

    /// Whether matrices that are stored in one of `formats` are computed in another format.
    constexpr bool casts(const precision& stored) const {
        if (&stored == formats.matrices) return casts_matrices;
        return &stored == formats.rest ? casts_rest : is_cast(stored, context);
    }

    /// A rank's part of what ZeRO shards from this stage on.
    constexpr byte_count sharded(byte_count size, const prepared_divisor& ranks, int from_stage) const {
        return shards.zero >= from_stage ? div_up(size, ranks) : size;
    }

private:
    /// What is packed stays so: kernels unpack it as they multiply.
    static constexpr bool is_cast(const precision& stored, const training_context& c) {
        return !(stored == c.formats.compute) && !is_packed(stored);
    }
};

/// Whether a weight is one of a layer's: adapters may touch it, and optimizers for matrices treat it as a matrix.
constexpr bool is_in_layer(weight_place place) {
    return place == weight_place::layer || place == weight_place::prediction;
}

/// Linear layers, wherever they stand: an encoder's and a classifier are among them, embeddings and the head are not.
constexpr bool is_projection(weight_role role) {
    return (role >= weight_role::q_proj && role <= weight_role::router) || role == weight_role::classifier;
}

/// The part of a tensor that lies on a GPU.
struct counted_shape {
    weight_shape held;
    std::int64_t values;  ///< of one copy

    constexpr explicit counted_shape(const weight_shape& shape)
        : held{shape}, values{product(shape.rows, shape.columns)} {}

    /// Bytes of one copy.
    constexpr byte_count one(const precision& format) const { return size_of(format, held.rows, held.columns); }
    /// Bytes of all copies.
    constexpr byte_count all(const precision& format) const { return one(format) * held.copies; }
    constexpr bool is_matrix() const { return held.rows > 1 && held.columns > 1; }
};

/// What of a quantised weight is no parameter, so that every rank of ZeRO 3 has it whole: scales of four-bit weights,
/// which bitsandbytes keeps beside them; GPTQ's scales and its order of groups, which are buffers where its words have
/// been made parameters (fms-acceleration, autogptq_utils.py, PATCH_FOR_FSDP_TRITON_V2).
constexpr byte_count beside_parameters(const quantised_context& products, const precision& stored,
                                       const counted_shape& shape) {
    if (products.four_bit) return shape.all(stored) - shape.all(int4);
    if (!products.words) return {};
    const precision buffers{.parts = {stored.parts[1], stored.parts[3]}};
    return shape.all(buffers);
}

/// Weights of a teacher on one GPU. DeepSpeed's ZeRO 3 shards them (trl 1.16, models/utils.py, prepare_deepspeed; with
/// offloaded parameters they are in main memory); FSDP and DDP do not (accelerate, accelerator.py, prepare_model:
/// evaluation_mode).
constexpr byte_count teacher_beside(const job& j, const layout& l) {
    const bool shards = l.zero == 3 && j.runtime.sharding.code == sharding_code::deepspeed;
    if (shards && j.offload.parameters != offload_place::none) return {};
    return shards ? div_up(j.teacher.held, l.dense_shard_ranks()) : j.teacher.held;
}

/// Weights of a reference beside so many that are trained: as many, in reference_format_of(); or of a teacher.
constexpr byte_count reference_beside(const job& j, const layout& l, byte_count trained) {
    if (learns_from_teacher(j.preference)) return teacher_beside(j, l);
    if (!loads_reference(j)) return {};
    const precision &kept = reference_format_of(j), &widened = weights_of(j);
    return kept == widened ? trained : bytes(trained.in(bytes) / widened.element_bytes * kept.element_bytes);
}

/// A tensor that is trained: a weight of the model, or of an adapter beside one.
struct trained_tensor {
    weight_role role;
    const counted_shape& shape;
    const prepared_divisor& ranks;  ///< that ZeRO shards it over
    const precision& gradient;
    const precision& states;
    const precision* master;    ///< none: null
    byte_count whole_gradient;  ///< before ZeRO shards it
    bool in_layer;              ///< stands in a layer
    bool stacked;  ///< a tensor of three dimensions holds all experts, gate and up together (transformers): no matrix
                   ///< to optimizers that look for one. Transformer Engine's grouped layers hold a matrix for each.

    /// Whether optimizers for matrices treat it as one.
    constexpr bool has_matrix_optimizer() const { return !stacked && (in_layer || is_projection(role)); }
};

/// What an optimizer keeps of a tensor.
struct state_size {
    byte_count each{};    ///< of each copy
    byte_count shared{};  ///< of all copies together
};

/// Adds up what training keeps of the weights that it is called with: those of one place, in the order of the model's
/// parameters. A tensor that several roles share (q, k and v; gate and up) is followed from role to role.
class weight_fold {
public:
    /// `last_step`: temporaries of the tensor that is updated before the first of these.
    constexpr weight_fold(const weight_training& how, weight_place place, byte_count last_step = {})
        : how_{how}, place_{place}, state_{.optimizer = {.last_step = last_step}} {}

    constexpr const training_state& state() const { return state_; }

    constexpr void operator()(const weight& whole) { add(whole, place_); }
    /// What training keeps of the next weight alone: the sum begins anew, the tensor that roles share goes on.
    constexpr const training_state& next(const weight& whole, weight_place place) {
        state_ = {.optimizer = {.last_step = state_.optimizer.last_step}};
        add(whole, place);
        return state_;
    }
    /// No tensor of the next layer goes on from one of the last.
    constexpr void begin_layer() { joined_rows_ = magnitude_rows_ = 0; }
    constexpr void add(const weight& whole, weight_place place);
    /// Trained tokens before each sequence.
    constexpr void add_prompt(std::int64_t hidden);

private:
    /// What an adapter trains beside a frozen weight.
    constexpr void add_adapters(const weight& whole, const counted_shape& shape, const prepared_divisor& ranks,
                                bool in_layer);
    constexpr void add_adapter(const weight& added, const prepared_divisor& ranks, bool in_layer);
    constexpr void hold(const weight& whole, const counted_shape& shape, const prepared_divisor& ranks, bool in_layer);
    constexpr void train(const trained_tensor& t);
    constexpr void keep_gradient(const trained_tensor& t);
    constexpr state_size states_of(const trained_tensor& t, std::int64_t rows_before) const;
    constexpr void step(const trained_tensor& t, std::int64_t rows);
    constexpr void step_alone(const trained_tensor& t, std::int64_t rows);
    constexpr void normalise(const weight_shape& shape, weight_role role);

    constexpr byte_count& offloaded(offload_place to) { return to == offload_place::nvme ? state_.nvme : state_.host; }
    constexpr void cast(byte_count size, weight_role role, bool trained) {
        state_.casts.all += size;
        if (trained && how_.caches_casts()) state_.casts.cached += size;
        if (is_feed_forward(role)) state_.casts.feed_forward += size;
        if (role == weight_role::down_proj) state_.casts.down += size;
    }
    constexpr void step_needs(byte_count size) {
        if (size > state_.optimizer.largest_step) state_.optimizer.largest_step = size;
    }
    /// Whether a role's weight is one tensor with that of the role trained before it: q, k and v, or gate and up. The
    /// factors of an adapter beside stacked experts are tensors of their own.
    constexpr bool joins(const trained_tensor& t) const {
        const bool shares = shares_input_matrix(t.role, how_.context.adapter, how_.context.code) ||
                            (t.stacked && !how_.context.frozen && t.role == weight_role::up_proj);
        return shares && static_cast<int>(t.role) == static_cast<int>(joined_role_) + 1;
    }

    const weight_training& how_;
    weight_place place_;
    training_state state_;
    weight_role joined_role_{};        ///< the last role of the tensor that several roles share
    std::int64_t joined_rows_ = 0;     ///< of the tensor that several roles share, as far as its roles were seen
    bool stepped_ = false;             ///< the optimizer has updated a tensor alone
    std::int64_t magnitude_rows_ = 0;  ///< of the layer that DoRA scales, as far as its roles were seen
};

constexpr void weight_fold::add_adapters(const weight& whole, const counted_shape& shape, const prepared_divisor& ranks,
                                         bool in_layer) {
    const training_context& c = how_.context;
    if (!in_layer && !c.adapter.adapts(whole.role)) return;
    if (c.adapter.kind == adapter_kind::dora && c.adapter.adapts(whole.role, whole.routed))
        normalise(shape.held, whole.role);
    for_each_adapter_weight(c.adapter, c.code, whole,
                            [&](const weight& added) { add_adapter(added, ranks, in_layer); });
}

constexpr void weight_fold::add_adapter(const weight& added, const prepared_divisor& ranks, bool in_layer) {
    const training_context& c = how_.context;
    const bool replicated = how_.replicates_adapters();
    const prepared_divisor& trained_ranks = replicated ? how_.one_rank : ranks;
    const counted_shape local{local_shape(added, how_.split)};
    const byte_count size = local.all(c.formats.adapters);
    state_.adapter += how_.sharded(size, trained_ranks, 3);
    if (!replicated) state_.gathered += size;
    // Fused functions cast adapters themselves.
    if (c.autocast && local.held.columns > 1 && !(c.formats.adapters == c.formats.compute))
        cast(local.all(c.formats.compute), added.role, c.runtime.kernels.adapters != adapter_code::fused);
    train({.role = added.role,
           .shape = local,
           .ranks = trained_ranks,
           .gradient = c.formats.adapters,
           .states = how_.adapter_states,
           .master = nullptr,
           .whole_gradient = size,
           .in_layer = in_layer,
           .stacked = added.routed && how_.stacks_experts});
}

constexpr void weight_fold::add_prompt(std::int64_t hidden) {
    const training_context& c = how_.context;
    const counted_shape shape{{c.adapter.rank, hidden, 1}};
    const prepared_divisor& ranks = how_.dense_ranks;
    const byte_count size = shape.all(c.formats.adapters);
    state_.adapter += how_.sharded(size, ranks, 3);
    state_.gathered += size;
    train({.role = weight_role::embed_tokens,
           .shape = shape,
           .ranks = ranks,
           .gradient = c.formats.adapters,
           .states = how_.adapter_states,
           .master = nullptr,
           .whole_gradient = size,
           .in_layer = false,
           .stacked = false});
}

/// The weight as it is stored, and what is made of it to compute with.
constexpr void weight_fold::hold(const weight& whole, const counted_shape& shape, const prepared_divisor& ranks,
                                 bool in_layer) {
    const training_context& c = how_.context;
    const precision& stored = how_.formats.of(whole);
    const byte_count size = shape.all(stored);
    const bool matrix = shape.is_matrix();
    const bool casts = matrix && how_.casts(stored);
    const bool has_scales = whole.quantised && how_.shards.zero >= 3;
    const byte_count scales = has_scales ? beside_parameters(c.quantised, stored, shape) : byte_count{};
    const offload_place place = how_.job.offload.parameters;
    const bool sharded_from_two = how_.stays_gathered && casts;
    state_.weights += scales;
    (place == offload_place::none ? state_.weights : offloaded(place)) +=
        how_.sharded(size - scales, ranks, sharded_from_two ? 2 : 3);
    // Two copies of 8 bits, as the matrix is and transposed.
    if (c.narrows() && in_layer && matrix && whole.role != weight_role::router && !c.runtime.kernels.fp8.param_gather)
        state_.weights += shape.one(c.formats.inputs) * (2 * shape.held.copies);
    const byte_count one = shape.one(c.formats.compute);
    const byte_count computed = one * shape.held.copies;
    if (sharded_from_two) state_.weights += computed;
    state_.gathered += casts && !c.autocast ? computed : size - scales;  // FSDP's MixedPrecision gathers what it cast
    if (!matrix) return;
    if (one > state_.largest) state_.largest = one;
    // Grouped products write gradients in place, and the router's is no product of Transformer Engine.
    if (in_layer && !whole.routed && whole.role != weight_role::router) state_.dummies += computed;
    if (c.autocast && casts && in_layer && !(c.quantised.four_bit && whole.quantised) &&
        !(whole.routed && computes_together(c.runtime.kernels.experts)))
        cast(computed, whole.role, !c.frozen);
}

constexpr void weight_fold::keep_gradient(const trained_tensor& t) {
    state_.gradients.whole += t.whole_gradient;
    if (how_.job.optimizer.in_backward) return;
    const byte_count kept = how_.sharded(t.whole_gradient, t.ranks, 2);
    state_.gradients.kept += kept;
    if (!t.in_layer || !is_feed_forward(t.role)) return;
    state_.gradients.feed_forward += kept;
    if (t.role == weight_role::down_proj) state_.gradients.down += kept;
}

/// Optimizer states of a tensor, or of what a role adds to a tensor of which `rows_before` rows were seen.
constexpr state_size weight_fold::states_of(const trained_tensor& t, std::int64_t rows_before) const {
    const optimizer& o = how_.job.optimizer;
    if (how_.element_wise) return {.each = t.shape.one(o.widens ? fp32 : t.states) * o.moments};
    const std::int64_t columns = t.shape.held.columns;
    const bool alone = t.has_matrix_optimizer();
    state_size size{.each = state_bytes(o, t.states, t.shape.held.rows, columns, alone)};
    if (!t.shape.is_matrix() || !(o.factored || o.rank > 0 || o.kronecker)) return size;
    const std::int64_t rows = rows_before + t.shape.held.rows;
    if (rows_before > 0)
        size.each =
            state_bytes(o, t.states, rows, columns, alone) - state_bytes(o, t.states, rows_before, columns, alone);
    if (o.kronecker && t.stacked) {
        size.shared =
            side_bytes(o, t.states, rows, columns, alone) - side_bytes(o, t.states, rows_before, columns, alone);
        size.each -= size.shared;
        if (rows_before == 0)
            size.shared += size_of(t.states, preconditioned(o, t.shape.held.copies), t.shape.held.copies) * 2;
    }
    return size;
}

constexpr void weight_fold::train(const trained_tensor& t) {
    const job& j = how_.job;
    const optimizer& o = j.optimizer;
    keep_gradient(t);
    if (j.ema) state_.optimizer.states += how_.sharded(t.shape.all(fp32), t.ranks, 1);
    const bool by_shape = (o.factored || o.rank > 0 || o.kronecker);
    const std::int64_t rows_before = by_shape && joins(t) ? joined_rows_ : 0;
    const std::int64_t rows = rows_before + t.shape.held.rows;
    if (by_shape && t.shape.is_matrix()) joined_rows_ = rows, joined_role_ = t.role;
    state_size size = states_of(t, rows_before);
    if (t.master) size.each += t.shape.one(*t.master);
    const byte_count states = size.each * t.shape.held.copies + size.shared;
    if (j.offload.optimizer != offload_place::none) {  // the host steps, and needs the gradients
        offloaded(j.offload.optimizer) += how_.sharded(states + t.whole_gradient, t.ranks, 1);
        return;
    }
    state_.optimizer.states += how_.sharded(states, t.ranks, 1);
    if (o.states == state_kind::paged) {
        const byte_count paged = paged_bytes(o, t.states, t.shape.held.rows, t.shape.held.columns);
        state_.optimizer.paged += how_.sharded(paged * t.shape.held.copies, t.ranks, 1);
    }
    step(t, rows);
}

/// What the optimizer makes while it updates a tensor, of which `rows` rows were seen.
constexpr void weight_fold::step(const trained_tensor& t, std::int64_t rows) {
    const optimizer& o = how_.job.optimizer;
    const llmres::runtime& runtime = how_.context.runtime;
    // Gradients of 16 bits are copied to fp32 for fp32 master weights; DeepSpeed flattens them first, and without ZeRO
    // has the flat ones in both formats.
    if (runtime.optimizer.widens_gradients && t.master && how_.shards.zero < 3 &&
        t.whole_gradient * 2 == t.shape.all(fp32)) {
        const int copies = runtime.sharding.code != sharding_code::deepspeed ? 2 : how_.shards.zero > 0 ? 3 : 4;
        state_.optimizer.temporaries += how_.sharded(t.whole_gradient * copies, t.ranks, 1);
    }
    if (steps_in_backward(o)) {
        const byte_count one =
            t.stacked ? t.whole_gradient * (t.role == weight_role::down_proj ? 1 : 2) : t.shape.one(t.gradient);
        step_needs(one * (t.gradient == fp32 ? 1 : 2 * fp32.element_bytes / t.gradient.element_bytes));
    } else if (o.quantising > 0) {
        step_needs(how_.sharded(bytes(o.quantising) * t.shape.values, t.ranks, 1) +
                   (o.in_backward ? t.whole_gradient : byte_count{}));
    } else if (o.tensor_temporaries > 0) {
        step_alone(t, t.stacked ? t.shape.held.rows : rows);
    }
    const bool in_one_call = o.matrix_moments < 0 || !t.has_matrix_optimizer() || !t.shape.is_matrix();
    if (runtime.optimizer.foreach_tensors && o.temporaries > 0 && !o.in_backward && in_one_call)
        state_.optimizer.temporaries += how_.sharded(t.shape.all(t.states), t.ranks, 1) * o.temporaries;
}

/// What a loop over tensors makes at one of them: some optimizers free a tensor's temporaries after the next one's are
/// made, so that two sets overlap.
constexpr byte_count beside_last_step(const optimizer& o, byte_count one, byte_count last) {
    if (!o.carries) return one;
    if (o.tensor_temporaries == 1) return one + last;
    return one > last ? one + div_up(last, 2) : div_up(one, 2) + last;
}

/// What updating one tensor makes, where a loop updates them one by one: of the tensor as far as its roles were seen.
constexpr void weight_fold::step_alone(const trained_tensor& t, std::int64_t rows) {
    const optimizer& o = how_.job.optimizer;
    const std::int64_t columns = t.shape.held.columns;
    const bool alone = t.has_matrix_optimizer();
    if (o.kronecker && o.widest_side == 0 && !alone) return;
    const byte_count scratch = scratch_bytes(o, t.states, t.stacked ? joined_rows_ : rows, columns, alone);
    if (o.rank > 0 && scratch > byte_count{}) {
        // After all that is not projected, and beside the last matrix's update.
        if (state_.optimizer.first_projection == byte_count{})
            state_.optimizer.first_projection = how_.sharded(scratch, t.ranks, 1);
        step_needs(how_.sharded(scratch + size_of(t.states, rows, columns), t.ranks, 1));
        return;
    }
    byte_count one = size_of(o.widens ? fp32 : t.states, rows, columns) * o.tensor_temporaries;
    if (o.widens && !(t.states == fp32)) one += size_of(fp32, rows, columns) * 2;
    const bool gated = t.stacked && !how_.context.frozen && t.role != weight_role::down_proj;
    if (t.stacked) one = one * (t.shape.held.copies * (gated ? 2 : 1));
    one = how_.sharded(one + scratch, t.ranks, 1);
    const bool same_tensor = gated && t.role == weight_role::up_proj;
    step_needs(same_tensor ? one : beside_last_step(o, one, state_.optimizer.last_step));
    state_.optimizer.last_step = one;
    const bool norms_first = t.in_layer && how_.context.code.norms.registered_first;
    if (!stepped_ && !norms_first) state_.optimizer.first_step = one;
    stepped_ = true;
}

/// DoRA's norm of an adapted weight (peft/tuners/lora/dora.py): B A is computed as B(A(identity)), an identity of the
/// input's width squared; then the identity, the weight, the scaled B A and their sum are alive, all in the format of
/// the adapter's input. The identity stays for A's gradient.
constexpr void weight_fold::normalise(const weight_shape& shape, weight_role role) {
    const training_context& c = how_.context;
    const precision& adapter = c.formats.adapters;
    const precision& compute = c.formats.compute;
    magnitude_rows_ = shares_input_matrix(role, c.adapter, c.code) ? magnitude_rows_ + shape.rows : shape.rows;
    const bool casts = c.autocast && !(adapter == compute);
    const byte_count identity = size_of(adapter, shape.columns, shape.columns);
    const byte_count cast = casts ? size_of(compute, shape.columns, shape.columns) : byte_count{};
    const byte_count applied = identity + cast + size_of(compute, magnitude_rows_, shape.columns);
    const byte_count summed = (casts ? cast : identity) +
                              size_of(adapter, magnitude_rows_, shape.columns) * (c.copies_adapter_inputs ? 4 : 3);
    const byte_count both = applied > summed ? applied : summed;
    magnitude_memory& m = state_.magnitudes;
    if (role == weight_role::down_proj) {
        if (both > m.down) m.down = both;
        return;
    }
    const byte_count with_output = both + size_of(compute, c.tokens.all(), magnitude_rows_);
    if (with_output > m.other) m.other = with_output;
}

constexpr void weight_fold::add(const weight& whole, weight_place place) {
    const training_context& c = how_.context;
    const counted_shape shape{local_shape(whole, how_.split)};
    const prepared_divisor& ranks = whole.routed ? how_.expert_ranks : how_.dense_ranks;
    const bool in_layer = is_in_layer(place);
    hold(whole, shape, ranks, in_layer);
    if (whole.buffer) return;
    if (!in_layer && c.code.fixed_positions && whole.role == weight_role::positions && whole.rows == c.encoder_tokens)
        return;
    if (c.frozen) return add_adapters(whole, shape, ranks, in_layer);
    const trained_tensor t{.role = whole.role,
                           .shape = shape,
                           .ranks = ranks,
                           .gradient = how_.gradients,
                           .states = how_.states,
                           .master = how_.master ? &*how_.master : nullptr,
                           .whole_gradient = shape.all(how_.gradients),
                           .in_layer = in_layer,
                           .stacked = whole.routed && how_.stacks_experts};
    train(t);
}

// ---- the weights of one place ---------------------------------------------------------------------------------------

/// What training keeps of the weights that list(visitor) shows, and of a trained prompt behind them.
constexpr training_state folded_weights(const weight_training& how, weight_place place, byte_count last_step,
                                        const visitor<weight_visitor>& list, bool prompt = false) {
    weight_fold fold{how, place, last_step};
    list(visiting<weight>(fold));
    if (prompt) fold.add_prompt(how.job.model.hidden);
    return fold.state();
}

/// What training keeps of one weight.
constexpr training_state training_state_of(const weight& w, const weight_training& how, weight_place place) {
    weight_fold fold{how, place};
    fold(w);
    return fold.state();
}

/// What training keeps of the weights of a layer. `last_step`: temporaries of the tensor that is updated before.
constexpr training_state training_state_of(const layer& kind, std::int64_t hidden, const weight_training& how,
                                           byte_count last_step = {}, weight_place place = weight_place::layer) {
    const auto list = [&](const weight_visitor& visit) { list_layer(kind, hidden, visit); };
    return folded_weights(how, place, last_step, visiting<weight_visitor>(list));
}

/// A trained prompt that stands before the tokens here.
constexpr bool trains_prompt(const weight_training& how, const placement& here) {
    return here.beside_embedding && how.context.adapter.kind == adapter_kind::prompt;
}
constexpr training_state prompt_state(const weight_training& how, const placement& here) {
    weight_fold fold{how, weight_place::input};
    if (trains_prompt(how, here)) fold.add_prompt(how.job.model.hidden);
    return fold.state();
}

/// What a class token has of gradients beside its own: of one image, its gradient is a view of the whole sequence's,
/// which stays with it.
constexpr byte_count class_token_gradient(const weight_training& how, const placement& here) {
    const training_context& c = how.context;
    if (!here.beside_embedding || !c.code.class_token || c.tokens.sequences > 1 || c.frozen) return {};
    return size_of(how.gradients, c.tokens.all() - 1, how.job.model.hidden);
}

/// What training keeps of the weights before the layers, as far as they lie here.
constexpr training_state state_before_layers(const weight_training& how, const placement& here) {
    const auto list = [&](const weight_visitor& visit) { list_placed_input(how.job.model, here, visit); };
    training_state state =
        folded_weights(how, weight_place::input, {}, visiting<weight_visitor>(list), trains_prompt(how, here));
    state.gradients.kept += class_token_gradient(how, here);
    return state;
}

/// The gradient of the embedding's table alone, as far as it lies here.
constexpr byte_count table_gradient(const weight_training& how, const placement& here) {
    weight_fold fold{how, weight_place::input};
    for_each_placed_input_weight(how.job.model, here, [&](const weight& w) {
        if (w.role == weight_role::embed_tokens) fold(w);
    });
    return fold.state().gradients.kept;
}

/// What training keeps of the weights after the layers, as far as they lie here.
constexpr training_state state_after_layers(const weight_training& how, const placement& here, byte_count last_step) {
    const auto list = [&](const weight_visitor& visit) {
        if (here.output) list_output(how.job.model, visit);
    };
    return folded_weights(how, weight_place::output, last_step, visiting<weight_visitor>(list));
}

}  // namespace llmres::inline v0::detail
