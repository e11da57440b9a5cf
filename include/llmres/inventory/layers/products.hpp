// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/inventory/operation.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>
#include <llmres/values/visitor.hpp>

/// The products of tokens with the matrices of a layer, which follow from its weights, and with the factors of an
/// adapter beside them: what each multiplies, reads and writes.
namespace llmres::inline v0::detail {

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
    /// `copies`; ranks that hold copies of the same tokens share the work. Where ranks have experts of their own, this
    /// one is the busiest (token_pass::expert_load).
    constexpr void with_tokens(std::int64_t here, std::int64_t copies, const layer_split& l, double expert_load) {
        tokens_ = here;
        if (whole_.routed) choose(here, copies, l, expert_load);
        inputs_ = size_of(compute_, tokens_, columns_);
        outputs_ = size_of(compute_, tokens_, rows_);
    }

    /// The tokens that pass: those of with_tokens(), or their choices of experts.
    constexpr std::int64_t tokens() const { return tokens_; }

    /// Calls visit for the kernels of one pass, with this matrix and those that are equal to it. A visitor with both()
    /// is shown no pass of training here.
    template <class Visit>
    constexpr void show(const token_pass& pass, arithmetic_kind arithmetic, bool trained, const equal_matrices& equal,
                        std::size_t index, Visit& visit) const {
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
    constexpr void show_both(const Passes& passes, arithmetic_kind arithmetic, bool trained,
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
                .chosen = chosen_,
                .joined = equal.joined(whole_.role),
                .each = each_};
    }
    /// The experts that so many tokens choose.
    constexpr void choose(std::int64_t here, std::int64_t copies, const layer_split& l, double expert_load) {
        tokens_ = ceil_quotient(here * whole_.active * l.expert_tensor, l.tensor);
        chosen_ = here > 0 ? static_cast<double>(tokens_) / static_cast<double>(here) : 1.0;
        std::int64_t met = ceil_quotient(here * l.expert * l.expert_tensor, l.tensor);
        if (met < here) met = here;
        if (const double load = expert_load < l.expert ? expert_load : l.expert; load > 1) {
            tokens_ = static_cast<std::int64_t>(static_cast<double>(tokens_) * load);
            met = static_cast<std::int64_t>(static_cast<double>(met) * load);
        }
        groups_ = experts_touched(whole_, copies, met);
        all_ = {scaled_up(one_.stored, groups_), scaled_up(one_.multiplied, groups_),
                scaled_up(one_.gradients, groups_)};
        each_ = static_cast<double>(product(copies, ceil_quotient(met, 256)));
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
    constexpr operation casts(const token_pass& pass, bool trained, weight_role role) const {
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
    double chosen_ = 1;     ///< as operation::chosen
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
constexpr operation beside_adapter(const weight_shape& part, std::int64_t n, const operation_formats& formats,
                                   const token_pass& pass) {
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
constexpr std::int64_t visit_matrix(const equal_matrices& equal, const weight_shape& part,
                                    const operation_formats& formats, const Passes& passes, const layer_split& l,
                                    projection_place place, Visit& visit) {
    const bool head = place == projection_place::head, added = place == projection_place::adapter;
    matrix_product product{equal.first, part, *equal.format, formats, passes[0].training, added};
    const bool trained = added || !passes[0].adapter.trains();
    const arithmetic_kind linear = head ? formats.compute.arithmetic : formats.linear_arithmetic();
    const arithmetic_kind arithmetic = added                ? formats.of_adapters().arithmetic
                                       : passes[0].training ? linear
                                                            : arithmetic_of(*equal.format, linear);
    const auto take_tokens = [&](const token_pass& pass) {
        product.with_tokens(head ? pass.scored : pass.tokens.all(), part.copies, l, pass.expert_load);
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
                           const layer_split& l, projection_place place, Visit& visit) {
    if (equal.first.rows == 1) return;  // vectors: norms and biases
    visit_matrix(equal, local_shape(equal.first, l), formats, passes, l, place, visit);
}

/// Calls visit for the products of all passes with the two factors of an adapter beside a weight.
template <class Passes, class Visit>
constexpr void visit_adapter(const equal_matrices& beside, const operation_formats& formats, const Passes& passes,
                             const layer_split& l, Visit& visit) {
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
                                const layer_split& l, projection_place place, Visit& visit) {
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
                                 const Passes& passes, const layer_split& over, Visit& visit) {
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

}  // namespace llmres::inline v0::detail
