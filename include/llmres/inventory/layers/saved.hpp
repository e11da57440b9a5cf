// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/activation.hpp>
#include <llmres/inventory/context.hpp>
#include <llmres/inventory/layers/operations.hpp>
#include <llmres/jobs/adapter.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/modeling.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/visitor.hpp>

/// What norms and linear layers save for their backward pass, by autograd's rules.
namespace llmres::inline v0::detail {

/// Whether what a layer reads requires a gradient.
enum class input_gradient : bool { none, required };

/// Which of a layer's tensors require a gradient. Those of a model that is trained do, all of them; in a frozen one,
/// those after the first adapters do, and an operation saves nothing for the gradient of a tensor that requires none.
class gradient_flow {
public:
    constexpr explicit gradient_flow(input_gradient input)
        : bits_{input == input_gradient::required ? ~std::uint32_t{0} : bit(operand_name::encoded)} {}

    constexpr bool reaches(operand_name name) const { return (bits_ & bit(name)) != 0; }
    constexpr bool reaches_any(const std::array<operand, 3>& tensors) const {
        if (reaches_all()) return true;
        for (const operand& each : tensors)
            if (each.width > 0 && reaches(each.name)) return true;
        return false;
    }
    constexpr bool reaches_all() const { return bits_ == ~std::uint32_t{0}; }

    /// The outputs of an operation require a gradient if an input does, or an adapter stands beside its weight.
    constexpr void pass(const layer_operation& o, const adapter& beside) {
        if (reaches_all()) return;
        const bool input = reaches_any(o.reads);
        for (std::size_t i = 0; i < o.writes.size() && o.writes[i].width > 0; ++i) {
            const bool trained = o.products() > 0 && beside.touches(o.weights[i], o.routed);
            // The shared experts' output is added to the routed ones'.
            const bool before = o.shared && reaches(operand_name::fed) && o.writes[i].name == operand_name::fed;
            set(o.writes[i].name, input || trained || before);
        }
        if (o.products() > 0 && o.weights[0] == weight_role::kv_b_proj)
            set(operand_name::value, reaches(operand_name::key));
    }

private:
    static constexpr std::uint32_t bit(operand_name name) { return std::uint32_t{1} << static_cast<unsigned>(name); }
    constexpr void set(operand_name name, bool reached) { bits_ = reached ? bits_ | bit(name) : bits_ & ~bit(name); }

    std::uint32_t bits_;
};

/// Whether the products of an operation are one in the model's code.
constexpr bool is_joined(const layer_operation& o, const training_context& context) {
    if (o.weights[0] == weight_role::q_proj) return o.products() == 3 && context.attention.joined_heads;
    return o.weights[0] == weight_role::gate_proj && context.code.feed_forward.joined;
}

/// Whether what a norm's weight multiplies is fp32.
constexpr bool multiplies_in_fp32(norm_form form) {
    return form == norm_form::wide_weight || form == norm_form::wide_product || form == norm_form::wide_mean;
}

/// Receives activations.
using activation_visitor = visitor<activation>;

/// Writes the entries of one operation.
struct layer_writer {
    const training_context& context;
    const activation_visitor& visit;
    operation_parts parts{};
    bool routed = false;
    bool input_requires_grad = true;

    /// A tensor that the operation makes for itself.
    constexpr void put(activation_role role, std::int64_t elements, const precision& format, activation_split split,
                       backward_point until) const {
        if (elements > 0) visit(activation{role, elements, format, split, until, parts.input_of, parts.inside, routed});
    }
    /// A tensor that the operation reads.
    constexpr void put_input(activation_role role, std::int64_t elements, const precision& format,
                             activation_split split, backward_point until) const {
        if (elements > 0)
            visit(activation{role, elements, format, split, until, parts.input_of, parts.input_made_by, routed});
    }

    /// A norm over `width` features of each of n positions. What its weight multiplies is needed for the weight's own
    /// gradient; the fp32 input serves the rest. torch.nn.LayerNorm is one kernel in every runtime. `saves_input`:
    /// nothing else has saved what it reads. `of_output`: it reads a linear layer's output, to whose format it returns.
    constexpr void norm(std::int64_t n, std::int64_t width, norm_kind kind, activation_split split,
                        backward_point until, backward_point weight_until, bool saves_input = true,
                        bool of_output = false) const {
        if (kind == norm_kind::none && context.code.norms.form != norm_form::wide_kernel) return;
        const bool rms = kind == norm_kind::rms;
        const norm_form form = context.code.norms.form;
        const bool means = form == norm_form::wide_mean && !context.runtime.kernels.fuses_norms();
        const bool one_kernel = context.runtime.kernels.fuses_norms() || (!rms && !means);
        const bool copies = !one_kernel || form == norm_form::wide_kernel;
        if (saves_input || copies)
            put(activation_role::norm_input, n * width * (means ? 2 : 1), copies ? fp32 : context.normed(kind), split,
                until);
        put(activation_role::norm_statistics, rms ? n : 2 * n, fp32, split, until);
        if (context.widens_stream(kind)) put(activation_role::weight, 2 * width, fp32, activation_split::whole, until);
        if (one_kernel) return;
        if (form == norm_form::wide_weight || means)
            put(activation_role::weight, width, fp32, activation_split::whole, until);
        if (form == norm_form::narrow_scale && !context.formats.fp32_stream)
            put(activation_role::norm_input, n * width, context.formats.stream, split, until);
        if (!context.frozen || context.adapter.kind == adapter_kind::llama_adapter_v2)
            put(activation_role::normalised, n * width,
                multiplies_in_fp32(form) ? fp32
                : of_output              ? context.formats.outputs
                                         : context.formats.stream,
                split, weight_until);
    }

    /// An RMS norm of a linear layer's output, over heads of `group` features (0: over all of them).
    constexpr void head_norm(std::int64_t n, const layer_operation& o) const {
        const std::int64_t values = n * o.reads[0].width;
        const activation_split split = o.reads[0].split;
        const bool one_kernel = context.runtime.kernels.fuses_norms();
        put(activation_role::norm_input, values, one_kernel ? context.formats.outputs : fp32, split, o.at);
        put(activation_role::norm_statistics, o.group > 0 ? values / o.group : n, fp32, split, o.at);
        if (!one_kernel && context.code.norms.form == norm_form::wide_weight)
            put(activation_role::weight, o.group > 0 ? o.group : o.reads[0].width, fp32, activation_split::whole, o.at);
        const bool wide = multiplies_in_fp32(context.code.norms.form);
        if (!one_kernel && !context.frozen)
            put(activation_role::normalised, values, wide ? fp32 : context.formats.outputs, split, o.at);
    }

    /// What linear layers save that read one tensor, of `elements` values at n positions.
    struct input_tensor {
        std::int64_t elements;
        std::int64_t n;
        bool casts = false;   ///< autocast finds it wider than products multiply, so each layer casts it for itself
        bool joined = false;  ///< the layers are one
        bool kept = false;    ///< something else saves it as it is
    };

    /// A frozen weight needs no input for its gradient; each adapter has a copy in its own format, or after its own
    /// dropout. True if the input is saved as it is.
    constexpr bool products(const layer_operation& o, const input_tensor& in) const {
        activation_split split = o.reads[0].split;
        if (context.runtime.kernels.keeps_gathered_inputs && split == activation_split::sequence)
            split = activation_split::whole;
        const std::size_t count = o.products();
        bool saved = context.quantised.keeps_inputs || (!context.frozen && !in.casts);
        if (in.casts && !context.frozen)
            put_input(activation_role::linear_input, in.elements * (in.joined ? 1 : static_cast<std::int64_t>(count)),
                      context.formats.inputs, split, o.at);
        if (context.frozen && in.joined)
            saved = joined_adapters(o, in, split) || saved;
        else if (context.frozen)
            for (std::size_t i = 0; i < count; ++i)
                if (context.adapter.adapts(o.weights[i], o.routed))
                    saved = adapts(in, o.writes[i].width, split, o.at) || saved;
        if (saved && !in.kept)
            put_input(activation_role::linear_input, in.elements, context.formats.inputs, split, o.at);
        if (context.quantised.saves_weights && context.frozen && input_requires_grad && !o.routed)
            for (std::size_t i = 0; i < count; ++i)
                put(activation_role::weight, product(o.reads[0].width, o.writes[i].width), context.formats.compute,
                    activation_split::tensor, o.at);
        // What its scale multiplies.
        if (context.adapter.kind == adapter_kind::llama_adapter_v2)
            for (std::size_t i = 0; i < count; ++i)
                put(activation_role::adapter, in.n * o.writes[i].width, context.formats.compute, split, o.at);
        return saved;
    }

private:
    /// One adapter beside one product of several roles: it is as wide as they are together.
    constexpr bool joined_adapters(const layer_operation& o, const input_tensor& in, activation_split split) const {
        std::int64_t width = 0, adapted = 0;
        for (std::size_t i = 0; i < o.products(); ++i) {
            width += o.writes[i].width;
            adapted += context.adapter.adapts(o.weights[i], o.routed) ? o.writes[i].width : 0;
        }
        const bool saved = context.adapter.adapts(o.weights[0], o.routed) && adapts(in, width, split, o.at);
        if (context.runtime.kernels.joined_heads != joined_heads_code::by_model)
            put(activation_role::adapter, in.n * adapted, context.formats.compute, split, o.at);
        return saved;
    }

    /// What one adapter saves; true if it reads its layer's input as it is. PEFT widens that input to the adapter's
    /// format, beside 4-bit layers only without autocast (tuners/lora/bnb.py), which `casts` it back. Fused adapters
    /// save their layer's input too. What dropout left of it says where it left nothing, and the product of A is made
    /// again.
    constexpr bool adapts(const input_tensor& in, std::int64_t width, activation_split split,
                          backward_point until) const {
        const bool drops = context.adapter.dropout > 0;
        const precision& copied = context.autocast ? context.formats.compute : context.formats.adapters;
        const bool fused = context.runtime.kernels.adapters == adapter_code::fused;
        const bool copies =
            drops ||
            (!fused && (context.quantised.four_bit && context.autocast ? in.casts : context.copies_adapter_inputs));
        if (copies) put(activation_role::adapter, in.elements, copied, split, until);
        if (drops && input_requires_grad && !fused) put(activation_role::mask, in.elements, int8, split, until);
        // Its magnitude over the norm scales the adapter's output, and less one the weight's (dora.py).
        if (context.adapter.kind == adapter_kind::dora) {
            put(activation_role::adapter, 2 * in.n * width, context.formats.compute, split, until);
            put(activation_role::adapter, (input_requires_grad ? 3 : 2) * width, context.formats.adapters, split,
                until);
        }
        if (!fused) put(activation_role::adapter, in.n * context.adapter.rank, copied, activation_split::whole, until);
        return !copies || fused;
    }
};

}  // namespace llmres::inline v0::detail
