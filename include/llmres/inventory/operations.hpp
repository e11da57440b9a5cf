// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/collectives.hpp>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/activations.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/slot.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// The inventory of operations: what one forward pass of tokens through a layer computes, moves and exchanges. Matrix
/// products follow from the weights; times are folds over this.
namespace llmres::inline v0 {

/// What a kernel computes.
enum class operation_kind : std::uint8_t {
    projection,   ///< a matrix product with a weight
    experts,      ///< a matrix product of each routed expert with the tokens that chose it
    attention,    ///< queries with keys, probabilities with values
    elementwise,  ///< everything between them: norms, rotary embedding, activation functions, residual sums
};

/// What a product computes.
enum class product_pass : std::uint8_t {
    forward,           ///< outputs from inputs
    input_gradients,   ///< gradients of inputs from those of outputs
    weight_gradients,  ///< gradients of weights from inputs and gradients of outputs
};

/// One kind of kernel on one rank.
struct operation {
    operation_kind kind = operation_kind::projection;    ///< what it computes
    weight_role role = weight_role::q_proj;              ///< of a product
    product_pass pass = product_pass::forward;           ///< of a product or of attention
    arithmetic_kind arithmetic = arithmetic_kind::bf16;  ///< the arithmetic it is computed in
    flop_count flops{};                                  ///< a multiplication and an addition are two
    byte_count read{};                                   ///< weights or cache, and inputs
    byte_count written{};                                ///< outputs
    std::int64_t tokens = 0;                             ///< of a product: rows of its input, over all groups
    std::int64_t rows = 0;                               ///< of a product: output features of the weight
    std::int64_t columns = 0;                            ///< of a product: input features of the weight
    double groups = 1;    ///< of experts: those that a token chose, each a product of its own
    double blocks = 1;    ///< of attention: pairs of a head and 128 queries, which run side by side
    double counted = 1;   ///< the part of the FLOPs that the model needs: what is recomputed is not
    bool joined = false;  ///< of a product: it is one kernel with the product before it, whose input it shares
    bool packed = false;  ///< of a product: its weight is stored in integers or codebooks, and multiplied in 16 bits
    /// Of experts: kernels of a runtime that launches one for each expert and 256 tokens.
    double each = 0;
};

/// An exchange that the pass waits for.
struct exchange {
    /// The ranks that exchange.
    enum class group : std::uint8_t { tensor, expert, context };
    collective_kind kind = collective_kind::all_reduce;  ///< how they exchange
    group among = group::tensor;                         ///< which ranks do
    byte_count message{};                                ///< the whole tensor
};

/// Where attention scores of all pairs of tokens are.
enum class pair_scores : std::uint8_t {
    in_registers,   ///< of one kernel of attention
    fused_softmax,  ///< in memory (eager attention); one kernel scales and masks them and takes their softmax
    apart,          ///< in memory, and scaled, masked, made probabilities and cast by a kernel each
};

/// Tokens on their way through the layers.
struct token_pass {
    token_shape tokens{};     ///< on this rank; `keys` is what they attend to
    std::int64_t scored = 0;  ///< positions that pass the head
    std::int64_t cached = 0;  ///< of the keys of a sequence: those that were there before its prompt is computed
    bool decode = false;      ///< each token attends to the whole cache
    bool training = false;    ///< the pass is one of training: narrow weights are unpacked, and there is a loss
    bool backward = false;    ///< gradients pass from the last layer to the first
    pair_scores scores = pair_scores::in_registers;  ///< attention scores of all pairs of tokens
    bool dropout = false;                            ///< attention probabilities have dropout
    bool adds_gradients = false;  ///< gradients of weights are added to those of earlier micro-batches, by a kernel of
                                  ///< its own (PyTorch's AccumulateGrad)
    bool copies_cache = false;    ///< decoding: each step copies the cache, and again for every query head
    bool keeps_gathered =
        false;                  ///< the backward pass has the inputs that sequence parallelism gathered in the forward
    llmres::adapter adapter{};  ///< is trained beside frozen weights, which then have no gradients
};

/// Passes that are asked for together, as they share the layers' weights.
struct token_passes {
    static constexpr std::size_t most = 3;  ///< how many there may be

    std::array<detail::slot<token_pass>, most> storage;  ///< the first `count` are in use
    std::size_t count = 0;                               ///< passes in use

    constexpr token_passes() {}  ///< none

    /// How many there are.
    constexpr std::size_t size() const { return count; }
    /// One of them.
    constexpr const token_pass& operator[](std::size_t i) const { return storage[i].value; }
    /// Adds one.
    constexpr void push(const token_pass& p) { storage[count++] = detail::slot<token_pass>{p}; }
};

/// In which formats they pass.
struct operation_formats {
    precision compute = bf16;            ///< activations
    precision kv_cache = bf16;           ///< keys in the cache
    weight_format_view weights{};        ///< weights
    maybe<precision> kv_cache_values{};  ///< where values are not stored as keys are
    maybe<arithmetic_kind> linear{};  ///< what the layers' products with weights compute in, where it is not `compute`:
                                      ///< those of training in 8 bits
    maybe<precision> adapters{};      ///< what adapters' factors are stored and multiplied in, where not in `compute`
    bool fused_adapters = false;      ///< adapters' products are part of their layers' (else modules of their own)
    precision gradients = bf16;       ///< gradients of weights
    bool joined = false;              ///< projections that share their input are one product
    bool casts_weights = true;        ///< training in 8 bits: in each pass, not once for all micro-batches of a step
    bool fused_loss = false;          ///< the loss reads and writes the logits once
    bool autocast = false;  ///< training: wider weights are cast for their products, and their gradients back again

    /// The arithmetic of the layers' products with weights.
    constexpr arithmetic_kind linear_arithmetic() const { return linear ? *linear : compute.arithmetic; }
    /// The format of adapters' factors.
    constexpr const precision& of_adapters() const { return adapters ? *adapters : compute; }
};

namespace detail {

/// Narrow floats multiply in their own units; integers and codebooks are unpacked to the compute format first.
constexpr arithmetic_kind arithmetic_of(const precision& stored, arithmetic_kind compute) {
    switch (stored.arithmetic) {
        case arithmetic_kind::fp8:
        case arithmetic_kind::fp6:
        case arithmetic_kind::fp4: return stored.arithmetic;
        default: return compute;
    }
}

/// Experts of this rank that at least one of n tokens is routed to, if they choose evenly: E (1 - (1 - k/E)^n).
constexpr double experts_touched(const weight& w, std::int64_t local_copies, std::int64_t n) {
    const double chance = 1.0 - static_cast<double>(w.active) / static_cast<double>(w.copies);
    double missed = 1.0;
    for (double factor = chance; n > 0; n /= 2, factor *= factor)
        if (n % 2 == 1) missed *= factor;
    return static_cast<double>(local_copies) * (1.0 - missed);
}

/// Whether the projection before this one has the same input, so that runtimes join both.
constexpr bool follows_its_twin(weight_role role) {
    constexpr auto bit = [](weight_role one) { return std::uint64_t{1} << static_cast<unsigned>(one); };
    constexpr std::uint64_t twins = bit(weight_role::k_proj) | bit(weight_role::v_proj) | bit(weight_role::up_proj);
    return (twins & bit(role)) != 0;
}

/// Matrices of a layer, one behind the other, that only their roles tell apart: those of keys and of values, gate and
/// up.
struct equal_matrices {
    weight first{};
    const precision* format = nullptr;   ///< of all of them; null: there is none yet
    bool joins = false;                  ///< those that share their input are one product
    std::array<weight_role, 3> roles{};  ///< of those behind the first; `count` are in use
    std::size_t count = 0;

    /// Takes another one, if it is equal.
    constexpr bool take(const weight& w, const precision& stored) {
        const bool equal = w.rows == first.rows && w.columns == first.columns && w.copies == first.copies &&
                           w.active == first.active && w.split == first.split && w.granule == first.granule &&
                           w.routed == first.routed && &stored == format;
        if (!equal || count == roles.size()) return false;
        roles[count++] = w.role;
        return true;
    }
    /// Whether the product with a matrix of this role is one kernel with that before it.
    constexpr bool joined(weight_role role) const { return joins && follows_its_twin(role); }
};

/// A visitor that takes products with equal matrices together, and a forward product of training with the gradients of
/// its inputs, which multiply and move as much: what times are made of.
template <class Visit>
concept TakesBoth = requires(Visit& visit, const operation& o, const equal_matrices& equal) {
    visit.products(o, equal, std::size_t{});
    visit.both(o, equal);
    visit.gradients(o, equal);
};

/// The products of tokens with one matrix on one GPU: a weight's part, or the experts that they chose, or a factor of
/// an adapter beside it.
class matrix_product {
public:
    /// `training`: the passes are such. `added`: an adapter's, which is stored as it is multiplied.
    constexpr matrix_product(const weight& weight, const weight_shape& part, const precision& stored,
                             const operation_formats& formats, bool training, bool added)
        : whole_{weight},
          compute_{added ? formats.of_adapters() : formats.compute},
          rows_{part.rows},
          columns_{part.columns},
          narrow_{!added && !is_wide(stored)},
          casts_weights_{formats.casts_weights} {
        const std::int64_t together = weight.routed ? 1 : part.copies;
        const auto size = [&](const precision& format) { return size_of(format, part.rows, part.columns) * together; };
        one_.stored = size(added ? compute_ : stored);
        if (training) {
            one_.multiplied = is_wide(stored) && !formats.autocast ? one_.stored : size(compute_);
            one_.gradients = size(added ? compute_ : formats.gradients);
        }
        all_ = one_;
    }

    /// From here on with so many tokens. Routed tokens of all ranks meet at their experts, of which this rank has
    /// `copies`; ranks that hold copies of the same tokens share the work.
    [[gnu::always_inline]] constexpr void with_tokens(std::int64_t here, std::int64_t copies, const layout& l) {
        tokens_ = here;
        if (whole_.routed) choose(here, copies, l);
        inputs_ = inlined_size_of(compute_, tokens_, columns_);
        outputs_ = inlined_size_of(compute_, tokens_, rows_);
    }

    /// The tokens that pass: those of with_tokens(), or their choices of experts.
    constexpr std::int64_t tokens() const { return tokens_; }

    /// Calls visit for the kernels of one pass, with this matrix and those that are equal to it. A visitor with both()
    /// is shown no pass of training here.
    template <class Visit>
    [[gnu::always_inline]] constexpr void show(const token_pass& pass, arithmetic_kind arithmetic, bool trained,
                                               const equal_matrices& equal, std::size_t index, Visit& visit) const {
        operation o = kernel(arithmetic, equal);
        if constexpr (TakesBoth<Visit>) {
            o.packed = narrow_ && arithmetic == compute_.arithmetic;
            o.read = all_.stored + inputs_;
            o.written = outputs_;
            visit.products(o, equal, index);
        } else {
            const byte_count weights = pass.training ? all_.multiplied : all_.stored;
            if (weights != all_.stored)
                visit(operation{.kind = operation_kind::elementwise, .read = all_.stored, .written = weights}, index);
            if (pass.training && arithmetic != compute_.arithmetic) visit(casts(pass, trained, whole_.role), index);
            o.packed = narrow_ && !pass.training && arithmetic == compute_.arithmetic;
            if (pass.backward) o.pass = product_pass::input_gradients;
            o.read = weights + (pass.backward ? outputs_ : inputs_);
            o.written = pass.backward ? inputs_ : outputs_;
            visit(o, index);
            for (std::size_t i = 0; i < equal.count; ++i) {
                o.role = equal.roles[i];
                o.joined = equal.joined(o.role);
                visit(o, index);
            }
            if (!pass.backward || !trained) return;
            make_weight_gradients(o, pass);
            visit(o, index);
            if (pass.adds_gradients) visit(added_gradients(), index);
        }
    }
    /// Calls visit for the kernels of a forward pass and of the backward pass behind it, which are the two passes of
    /// training, with this matrix and those that are equal to it.
    template <class Passes, class Visit>
    [[gnu::always_inline]] constexpr void show_both(const Passes& passes, arithmetic_kind arithmetic, bool trained,
                                                    const equal_matrices& equal, Visit& visit) const {
        operation o = kernel(arithmetic, equal);
        o.read = all_.multiplied + inputs_;
        o.written = outputs_;
        visit.both(o, equal);
        const bool adds = trained && passes[1].adds_gradients;
        if (trained) {
            make_weight_gradients(o, passes[1]);
            visit.gradients(o, equal);
        }
        const bool unpacks = all_.multiplied != all_.stored, casts_inputs = arithmetic != compute_.arithmetic;
        if (!adds && !unpacks && !casts_inputs) return;
        for (std::size_t i = 0; i <= equal.count; ++i) {
            if (adds) visit(added_gradients(), 1);
            for (std::size_t p = 0; p < 2; ++p) {
                if (unpacks)
                    visit(
                        operation{.kind = operation_kind::elementwise, .read = all_.stored, .written = all_.multiplied},
                        p);
                if (casts_inputs) visit(casts(passes[p], trained, i == 0 ? whole_.role : equal.roles[i - 1]), p);
            }
        }
    }

private:
    /// The product with the tokens, but for what it reads and writes.
    constexpr operation kernel(arithmetic_kind arithmetic, const equal_matrices& equal) const {
        return {.kind = whole_.routed ? operation_kind::experts : operation_kind::projection,
                .role = whole_.role,
                .arithmetic = arithmetic,
                .flops = flops(2.0 * static_cast<double>(rows_) * static_cast<double>(columns_) *
                               static_cast<double>(tokens_)),
                .tokens = tokens_,
                .rows = rows_,
                .columns = columns_,
                .groups = groups_,
                .joined = equal.joined(whole_.role),
                .each = each_};
    }
    /// The experts that so many tokens choose.
    [[gnu::noinline]] constexpr void choose(std::int64_t here, std::int64_t copies, const layout& l) {
        tokens_ = ceil_quotient(here * whole_.active * l.expert_tensor_ranks(), l.tensor);
        const std::int64_t met = ceil_quotient(here * l.expert * l.expert_tensor_ranks(), l.tensor);
        groups_ = experts_touched(whole_, copies, met > here ? met : here);
        all_ = {scaled_up(one_.stored, groups_), scaled_up(one_.multiplied, groups_),
                scaled_up(one_.gradients, groups_)};
        each_ = static_cast<double>(product(copies, ceil_quotient(met > here ? met : here, 256)));
    }
    /// Makes of a product of a pass the one that makes gradients of the weights.
    constexpr void make_weight_gradients(operation& o, const token_pass& pass) const {
        o.pass = product_pass::weight_gradients;
        o.read = inputs_ + outputs_;
        o.written = pass.adds_gradients ? all_.multiplied : all_.gradients;  // the former: as activations are stored
        if (!pass.adds_gradients) o.read += all_.gradients;  // the product adds to what earlier micro-batches left
    }
    /// The sum of a micro-batch's gradients of the weights and those of earlier ones.
    constexpr operation added_gradients() const {
        return {
            .kind = operation_kind::elementwise, .read = all_.multiplied + all_.gradients, .written = all_.gradients};
    }
    /// Casts of what a product in fewer bits multiplies: each tensor is read for its largest value, read again and
    /// written in half the bytes, anew in the backward pass (torchao's float8_linear.py: hp_tensor_to_float8_dynamic of
    /// input and weight, which are saved in 16 bits, and of the outputs' gradients); Transformer Engine casts weights
    /// once a step (is_first_microbatch). The product of weights' gradients takes those transposed, as 8-bit products
    /// contract the last dimension of both sides.
    [[gnu::noinline]] constexpr operation casts(const token_pass& pass, bool trained, weight_role role) const {
        const bool shared = follows_its_twin(role) || (pass.backward && !trained);
        const byte_count gradients = pass.backward ? outputs_ : byte_count{};
        const byte_count weights = casts_weights_ ? all_.multiplied : byte_count{};
        const byte_count cast = (shared ? byte_count{} : inputs_) + weights + gradients;
        const byte_count turned = trained ? div_up(gradients, 2) : byte_count{};
        return {.kind = operation_kind::elementwise, .read = cast * 2 + turned, .written = div_up(cast, 2) + turned};
    }
    struct weight_bytes {
        byte_count stored{};
        byte_count multiplied{};  ///< as training multiplies them: unpacked to 16 bits
        byte_count gradients{};   ///< as they are kept
    };

    const weight& whole_;
    const precision& compute_;
    std::int64_t rows_;
    std::int64_t columns_;
    bool narrow_;         ///< stored in fewer than 16 bits
    bool casts_weights_;  ///< as operation_formats::casts_weights
    weight_bytes one_{};  ///< of all copies, or of one expert
    weight_bytes all_{};  ///< of those that tokens pass
    std::int64_t tokens_ = 0;
    double groups_ = 1;     ///< as operation::groups
    double each_ = 0;       ///< as operation::each
    byte_count inputs_{};   ///< of all tokens
    byte_count outputs_{};  ///< of all tokens
};

/// Whether these are a forward pass of training and the backward pass behind it.
template <class Passes>
constexpr bool trains_both(const Passes& passes) {
    return passes[0].training && passes.size() == 2;
}

/// What passes memory beside an adapter's two products, where it is a module of its own (PEFT, tuners/lora/layer.py,
/// Linear.forward): its input is copied to its format and dropped out, its output scaled, and the layer's output and
/// this one added, in the wider of both formats; the backward pass does as much with gradients, and adds those of the
/// input. `part`: the weight's on this GPU, which `n` tokens pass.
[[gnu::cold]] constexpr operation beside_adapter(const weight_shape& part, std::int64_t n,
                                                 const operation_formats& formats, const token_pass& pass) {
    const precision& own = formats.of_adapters();
    const byte_count inputs = size_of(formats.compute, n, part.columns), own_inputs = size_of(own, n, part.columns);
    const byte_count outputs = size_of(formats.compute, n, part.rows), own_outputs = size_of(own, n, part.rows);
    operation all{.kind = operation_kind::elementwise, .arithmetic = own.arithmetic};
    const auto moves = [&](byte_count read, byte_count written) { all.read += read, all.written += written; };
    moves(own_outputs, own_outputs);  // scaled
    if (pass.adapter.dropout > 0) {
        const byte_count mask = bytes(product(n, part.columns));
        pass.backward ? moves(own_inputs + mask, own_inputs) : moves(own_inputs, own_inputs + mask);
    }
    const bool copies = !(own == formats.compute);
    if (pass.backward) {
        if (copies) moves(outputs + own_inputs, own_outputs + inputs);
        moves(inputs * 2, inputs);
    } else {
        if (copies) moves(inputs + own_outputs, own_inputs + outputs);
        moves(outputs + own_outputs, own_outputs);
    }
    return all;
}

/// Where a matrix stands: in a layer, in the head, which the scored positions alone pass, or beside a weight, as a
/// factor of an adapter.
enum class projection_place : std::uint8_t { before_head, head, adapter };

/// Calls visit for the products of all passes with a matrix and those that are equal to it: `part` of a weight that a
/// GPU holds, or a factor of an adapter beside it. Returns the tokens of the last pass.
template <class Passes, class Visit>
[[gnu::noinline]] constexpr std::int64_t visit_matrix(const equal_matrices& equal, const weight_shape& part,
                                                      const operation_formats& formats, const Passes& passes,
                                                      const layout& l, projection_place place, Visit& visit) {
    const bool head = place == projection_place::head, added = place == projection_place::adapter;
    matrix_product product{equal.first, part, *equal.format, formats, passes[0].training, added};
    const bool trained = added || !passes[0].adapter.trains();
    const arithmetic_kind linear = head ? formats.compute.arithmetic : formats.linear_arithmetic();
    const arithmetic_kind arithmetic = added                ? formats.of_adapters().arithmetic
                                       : passes[0].training ? linear
                                                            : arithmetic_of(*equal.format, linear);
    const auto take_tokens = [&](const token_pass& pass) {
        product.with_tokens(head ? pass.scored : pass.tokens.all(), part.copies, l);
    };
    if constexpr (TakesBoth<Visit>)
        if (trains_both(passes)) {
            take_tokens(passes[0]);
            product.show_both(passes, arithmetic, trained, equal, visit);
            return product.tokens();
        }
    for (std::size_t i = 0; i < passes.size(); ++i) {
        take_tokens(passes[i]);
        product.show(passes[i], arithmetic, trained, equal, i, visit);
    }
    return product.tokens();
}

/// Calls visit for the products of all passes with equal weights, but for adapters beside them.
template <class Passes, class Visit>
constexpr void visit_equal(const equal_matrices& equal, const operation_formats& formats, const Passes& passes,
                           const layout& l, projection_place place, Visit& visit) {
    if (equal.first.rows == 1) return;  // vectors: norms and biases
    visit_matrix(equal, local_shape(equal.first, l), formats, passes, l, place, visit);
}

/// Calls visit for the products of all passes with the two factors of an adapter beside a weight.
template <class Passes, class Visit>
[[gnu::cold, gnu::noinline]] constexpr void visit_adapter(const equal_matrices& beside,
                                                          const operation_formats& formats, const Passes& passes,
                                                          const layout& l, Visit& visit) {
    const weight_shape part = local_shape(beside.first, l);
    weight_shape down = part, up = part;
    down.rows = up.columns = passes[0].adapter.rank;
    visit_matrix(beside, down, formats, passes, l, projection_place::adapter, visit);
    const std::int64_t n = visit_matrix(beside, up, formats, passes, l, projection_place::adapter, visit);
    if (!passes[0].training || formats.fused_adapters) return;
    for (std::size_t i = 0; i < passes.size(); ++i) visit(beside_adapter(part, n, formats, passes[i]), i);
}

/// Calls visit for the products of all passes with a weight, and with the two factors of an adapter beside it, which is
/// the same in all passes.
template <class Passes, class Visit>
constexpr void visit_projection(const weight& whole, const operation_formats& formats, const Passes& passes,
                                const layout& l, projection_place place, Visit& visit) {
    if (whole.rows == 1) return;
    const equal_matrices alone{.first = whole, .format = &formats.weights.of(whole), .joins = formats.joined};
    visit_equal(alone, formats, passes, l, place, visit);
    const bool adapted = passes[0].adapter.adapts(whole.role, whole.routed);
    if (adapted && place == projection_place::before_head) visit_adapter(alone, formats, passes, l, visit);
}

/// Calls visit for the products of all passes with the weights of a layer. Equal matrices are shown together where
/// nothing is trained, or where no adapter is and the visitor takes both passes of training together. Then a visitor
/// may also keep what it made of the mixers for other kinds of layers that have the same: with those of their matrices
/// that are yet to be shown.
template <class Passes, class Visit>
constexpr void visit_projections(const layer& l, std::int64_t hidden, const operation_formats& formats,
                                 const Passes& passes, const layout& over, Visit& visit) {
    constexpr auto place = projection_place::before_head;
    if (passes[0].adapter.trains() || (passes[0].training && (!TakesBoth<Visit> || !trains_both(passes))))
        return for_each_weight(l, hidden,
                               [&](const weight& w) { visit_projection(w, formats, passes, over, place, visit); });
    equal_matrices equal{.joins = formats.joined};
    const auto show = [&] { visit_equal(equal, formats, passes, over, place, visit); };
    const auto each = [&](const weight& w) {
        if (w.rows == 1) return;
        const precision& format = formats.weights.of(w);
        if (equal.take(w, format)) return;
        show();
        equal.first = w;
        equal.format = &format;
        equal.count = 0;
    };
    const auto visitor = visiting<weight>(each);
    if constexpr (requires { visit.keep_mixers(l, equal); }) {
        if (!visit.take_mixers(l, equal)) {
            list_mixers(l, hidden, visitor);
            visit.keep_mixers(l, equal);
        }
    } else {
        list_mixers(l, hidden, visitor);
    }
    list_behind_mixers(l, hidden, visitor);
    show();
}

/// How often the scores of all pairs of tokens pass memory where they are tensors, in units of their format: written,
/// read and written by the softmax, read; with dropout once more, and a mask of a byte. The backward pass moves them
/// twice as often. Kernels of their own besides read and write them to scale and to mask them, write the softmax in
/// fp32, and read that to cast it: 12 in all. Back: the probabilities' gradients are written, cast to fp32, and read
/// with the softmax to write those of the scores, which are cast, scaled, and read by two products, while a third reads
/// the probabilities: 18 (transformers: models/llama/modeling_llama.py, eager_attention_forward).
constexpr double score_traffic(const token_pass& pass) {
    const double with_dropout = pass.dropout ? 2.5 : 0.0;
    if (pass.scores == pair_scores::apart)
        return (pass.backward ? 18.0 : 12.0) + with_dropout * (pass.backward ? 2.0 : 1.0);
    return (4.0 + with_dropout) * (pass.backward ? 2.0 : 1.0);
}

template <class Visit>
constexpr void visit_attention_core(const attention& a, const operation_formats& formats, const token_pass& pass,
                                    std::size_t index, const layout& l, Visit& visit) {
    const std::int64_t n = pass.tokens.all();
    const token_count kept = kept_tokens(a, tokens(pass.tokens.keys));
    // A prompt's token sees on average half of what comes before the prompt's end, and all that was cached. Scores
    // that are written out are those of all pairs.
    const bool writes_scores = pass.scores != pair_scores::in_registers;
    const bool every_pair = pass.decode || writes_scores;
    const std::int64_t keys = kept.in(tokens), before = pass.cached < keys ? pass.cached : keys;
    const double seen = static_cast<double>(every_pair ? 2 * keys : keys + before) / 2.0;
    const std::int64_t heads = ceil_quotient(a.heads, l.tensor);
    // Decoding latent attention works on the compressed vector itself (DeepSeek-V2 section 2.1.3).
    const bool absorbed = pass.decode && a.kind == attention_kind::latent;
    const std::int64_t query = heads * (absorbed ? a.kv_rank + a.rope_dim : a.query_width());
    const std::int64_t value = heads * (absorbed ? a.kv_rank : a.value_width());
    const bytes_per_token cached = formats.kv_cache_values
                                       ? kv_bytes_per_token(a, formats.kv_cache, *formats.kv_cache_values, l.tensor)
                                       : kv_bytes_per_token(a, formats.kv_cache, l.tensor);
    // Fused attention recomputes the scores in its backward pass: five products for two (arXiv 2205.14135 appendix B).
    const double products = !pass.backward ? 1.0 : writes_scores ? 2.0 : 2.5;
    const double pairs = static_cast<double>(n) * seen;
    operation o{
        .kind = operation_kind::attention,
        .arithmetic = formats.compute.arithmetic,
        .flops = flops(2.0 * products * pairs * static_cast<double>(query + value)),
        .read = cached * kept * pass.tokens.sequences + size_of(formats.compute, n, query),
        .written = size_of(formats.compute, n, value),
        .tokens = n,
        // Few queries of many keys: the keys are split over the GPU (flash-decoding; FlashInfer's
        // BatchPrefillWithPagedKVCache and FlashAttention 3 do so for prompts that are cached in part).
        .blocks = pass.decode || pass.cached > 0 ? 1e9 : static_cast<double>(heads) * static_cast<double>(n) / 128.0};
    if (pass.backward) o.counted = 2.0 / products, o.pass = product_pass::input_gradients;
    if (pass.backward) o.read += o.read, o.written += o.written;
    if (pass.copies_cache) {
        const std::int64_t shared = a.kv_heads > 0 ? ceil_quotient(a.heads, a.kv_heads) : 1;
        const byte_count all = cached * kept * pass.tokens.sequences;
        visit(operation{.kind = operation_kind::elementwise, .read = all * 2, .written = all * (1 + shared)}, index);
        o.read += all * (shared - 1);
        o.blocks = static_cast<double>(heads) * static_cast<double>(pass.tokens.sequences);  // keys are not split
    }
    if (writes_scores) o.read += scaled_up(size_of(formats.compute, n, heads * kept.in(tokens)), score_traffic(pass));
    visit(o, index);
}

/// Calls visit(operation, p) for what a layer computes beside its products with weights.
template <class Passes, class Visit>
constexpr void visit_between_projections(const layer& l, std::int64_t hidden, const operation_formats& formats,
                                         const Passes& passes, const layout& over, Visit& visit) {
    // Every tensor between the products is written once and read once, and is as large as there are tokens.
    byte_count a_token;
    for_each_live_activation(l, hidden, token_shape{}, attention_kernel::flash, formats.compute,
                             [&](const activation& a, layer_half) { a_token += local_bytes(a, over); });
    for (std::size_t p = 0; p < passes.size(); ++p) {
        if (l.attention.kind != attention_kind::none)
            visit_attention_core(l.attention, formats, passes[p], p, over, visit);
        // The backward pass reads what was saved and gradients of outputs, and writes gradients of inputs.
        const byte_count between = a_token * (passes[p].tokens.all() * (passes[p].backward ? 2 : 1));
        visit(operation{.kind = operation_kind::elementwise,
                        .arithmetic = formats.compute.arithmetic,
                        .read = between,
                        .written = between},
              p);
    }
}

}  // namespace detail

/// Calls visit(operation, p) for everything one layer computes, forward, on one rank, p being the pass it belongs to.
/// `passes`: token_passes, or an array of token_pass. They share the layer's weights, so that asking for several at
/// once is little more than for one.
template <class Passes, class Visit>
constexpr void for_each_operation(const layer& l, std::int64_t hidden, const operation_formats& formats,
                                  const Passes& passes, const layout& over, Visit&& visit) {
    detail::visit_projections(l, hidden, formats, passes, over, visit);
    detail::visit_between_projections(l, hidden, formats, passes, over, visit);
}

/// Calls visit(operation, p) for the head, which is as wide as the embedding. (Looking up embeddings computes nothing.)
template <class Passes, class Visit>
constexpr void for_each_head_operation(const model& m, const operation_formats& formats, const Passes& passes,
                                       const layout& over, Visit&& visit) {
    const weight head{.role = weight_role::lm_head,
                      .rows = m.vocabulary,
                      .columns = embedding_width_of(m),
                      .split = weight_split::rows};
    detail::visit_projection(head, formats, passes, over, detail::projection_place::head, visit);
    for (std::size_t p = 0; p < passes.size(); ++p) {
        if (!passes[p].training) continue;
        // The loss in fp32: a copy, its softmax and the sum read and write the logits about six times, a fused loss
        // twice; and so does the backward pass.
        const byte_count logits = size_of(fp32, passes[p].scored, detail::ceil_quotient(m.vocabulary, over.tensor));
        visit(operation{.kind = operation_kind::elementwise,
                        .read = formats.fused_loss ? div_up(logits, 2) : logits * 2,
                        .written = formats.fused_loss ? div_up(logits, 2) : logits},
              p);
    }
}

/// Whether every rank that shares the experts has the same tokens.
constexpr bool expert_ranks_share_tokens(const layout& over) {
    return over.data * over.context_parallel * over.replicas == 1 && !over.sequence_parallel;
}

/// Calls visit(exchange) for what the ranks of one layer send each other while the tokens pass forward. Tensor
/// parallelism sums partial results before each residual sum (arXiv 1909.08053 section 3), or scatters the sum and
/// gathers it again under sequence parallelism (arXiv 2205.05198), which moves as much; expert parallelism sends tokens
/// to their experts and back, and needs no sum then; context parallelism exchanges keys and values, or under `a2a` the
/// sequence for heads before attention and back behind it. The backward pass has as many.
template <class Visit>
constexpr void for_each_exchange(const layer& l, std::int64_t hidden, const precision& compute, const token_shape& s,
                                 const layout& over, Visit&& visit) {
    // Where every expert rank has the same tokens, each computes what its experts add and the sum is one all-reduce, as
    // without expert parallelism (vLLM's fused_moe/layer.py, TensorRT-LLM's fused_moe: no all-to-all without attention
    // data parallelism).
    const bool spread = l.feed_forward.routed() && over.expert > 1 && !expert_ranks_share_tokens(over);
    if (over.context_parallel > 1 && l.attention.kind != attention_kind::none) {
        const std::int64_t width = detail::ceil_quotient(l.attention.kv_heads, over.tensor) *
                                   (l.attention.query_width() + l.attention.value_width());
        if (over.cp_comm_type == cp_communication::a2a) {
            const std::int64_t heads = detail::ceil_quotient(l.attention.heads, over.tensor);
            const std::int64_t all = width + heads * (l.attention.query_width() + l.attention.value_width());
            visit(exchange{collective_kind::all_to_all, exchange::group::context, size_of(compute, s.all(), all)});
        } else {
            visit(exchange{collective_kind::all_gather, exchange::group::context,
                           size_of(compute, s.all() * over.context_parallel, width)});
        }
    }
    if (over.tensor == 1 && !spread) return;
    const int fed = l.feed_forward.kind != feed_forward_kind::none && !spread;
    for (int sums = over.tensor > 1 ? detail::mixing_sums(l) + fed : 0; sums > 0; --sums)
        visit(exchange{collective_kind::all_reduce, exchange::group::tensor, size_of(compute, s.all(), hidden)});
    if (!spread) return;
    const experts& e = l.feed_forward.experts;
    const byte_count routed = size_of(compute, s.all(), e.features(hidden)) * e.per_token;
    for (int i = 0; i < 2; ++i) visit(exchange{collective_kind::all_to_all, exchange::group::expert, routed});
}

}  // namespace llmres::inline v0
