// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/model.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/memo.hpp>
#include <llmres/values/units.hpp>

/// The passes through a model's layers and its head, priced: what steps of serving and of training are made of.
namespace llmres::inline v0::detail {

/// What a step is priced with.
struct pricing {
    const cluster& on;
    const gpu& sheet;  ///< whose peaks mfu refers to
    const efficiency& reach;
};

/// The passes of a step through one layer, or through the head.
using priced_passes = std::array<priced_pass, token_passes::most>;

/// Key of the passes through a part of a model, a kind of layer or, behind the last, the head: all that they depend on.
struct passes_fold {
    exchange_split split;
    std::int32_t part = 0;
    std::int64_t sequences = 0;
    std::int64_t together = 0;  ///< sequences whose prompts pass together, in the last pass
    bool adds_gradients = false;

    constexpr std::uint64_t mix() const {
        return mixed(split.mix(), split.same_tokens, part, sequences, 2 * together + adds_gradients);
    }
    friend constexpr bool operator==(const passes_fold&, const passes_fold&) = default;
};

/// Key of the products of a part with its weights in one pass: all that they depend on. Ranks that share experts cut no
/// other weight.
struct products_fold {
    std::int32_t part = 0;
    bool decode = false;
    std::int32_t tensor = 1;
    std::int32_t expert = 1;
    std::int32_t expert_tensor = 1;
    std::int64_t tokens = 0;

    constexpr std::uint64_t mix() const { return mixed(2 * part + decode, tensor, expert, expert_tensor, tokens); }
    friend constexpr bool operator==(const products_fold&, const products_fold&) = default;
};

/// Passes that were priced for other layouts of the same job on the same GPUs.
using remembered_passes = memo<passes_fold, priced_passes>;

/// The products of one pass with the weights of a layer, or of the head: others with as many tokens have the same.
using remembered_products = memo<products_fold, priced_pass, 256>;

/// Prices the passes through the parts of a model in one layout.
class model_pricer {
public:
    constexpr model_pricer(const job& j, const layout& l, const pricing& with, const operation_formats& formats,
                           const token_passes& passes, remembered_passes& priced, remembered_products& products)
        : job_{j},
          formats_{formats},
          passes_{passes},
          priced_{priced},
          price_{pricer_of(j, l, with, passes)},
          products_{products} {
        price_.mixers.kept = j.model.layers.kind_count > 1;
    }

    /// Through the output head.
    constexpr priced_passes head() { return priced(layer_stack::max_kinds); }
    /// Through one layer of a kind.
    constexpr priced_passes layer(std::size_t kind) { return priced(static_cast<std::int32_t>(kind)); }
    /// What prices kernels one by one.
    static constexpr pricer pricer_of(const job& j, const layout& l, const pricing& with, const token_passes& passes) {
        pricer made{l, with.on, with.sheet, with.reach, j.runtime.launches, run_long(passes)};
        if (splits_rows(j)) made.parts = l.pipeline;
        return made;
    }

private:
    /// Decoding leaves the arithmetic idle, and the board cool.
    static constexpr std::array<bool, token_passes::most> run_long(const token_passes& passes) {
        std::array<bool, token_passes::most> all{};
        for (std::size_t p = 0; p < passes.size(); ++p) all[p] = !passes[p].decode;
        return all;
    }
    static constexpr bool is_head(std::int32_t part) { return part == layer_stack::max_kinds; }
    constexpr const llmres::layer& kind_of(std::int32_t part) const {
        return job_.model.layers.kinds[static_cast<std::size_t>(part)];
    }

    /// Through a layer of a kind or, behind the last kind, the head; as another layout left it, if one did.
    constexpr priced_passes priced(std::int32_t part) {
        if (price_.parts > 1) return priced_anew(part);
        passes_fold fold{.split = price_.degrees,
                         .part = part,
                         .sequences = passes_[0].tokens.sequences,
                         .together = passes_[passes_.size() - 1].tokens.sequences,
                         .adds_gradients = passes_[0].adds_gradients};
        fold.split.has_stages = false;
        return priced_.get(fold, [&] { return priced_anew(part); });
    }
    constexpr priced_passes priced_anew(std::int32_t part) {
        if (products_.keeps() && price_.parts == 1)
            take_products(part);
        else
            price_.start_over(), add_products(part, passes_);
        if (!is_head(part)) price_between_projections(price_, kind_of(part), job_.model.hidden, formats_, passes_);
        return price_.sum;
    }
    constexpr void add_products(std::int32_t part, const token_passes& passes) {
        if (is_head(part))
            for_each_head_operation(job_.model, formats_, passes, price_.degrees, price_);
        else
            visit_projections(kind_of(part), job_.model.hidden, formats_, passes, price_.degrees, price_);
    }
    /// The products of a part as other passes or layouts left them, and those that none did priced together.
    constexpr void take_products(std::int32_t part) {
        std::size_t missing = 0;  // passes, a bit each
        for (std::size_t p = 0; p < passes_.size(); ++p) {
            if (const priced_pass* const left = products_.find(fold_of_products(part, passes_[p])))
                price_.sum[p] = *left;
            else
                missing |= std::size_t{1} << p;
        }
        if (missing != 0) price_products(part, missing);
    }
    /// Prices the products of some passes, a bit each, beside the sums of the others.
    constexpr void price_products(std::int32_t part, std::size_t missing) {
        if (missing != missed_before_) price_.mixers.kind = nullptr;  // those of other passes
        missed_before_ = missing;
        priced_passes all = price_.sum;
        token_passes anew;
        std::array<std::size_t, token_passes::most> at{};
        for (std::size_t p = 0; p < passes_.size(); ++p)
            if ((missing >> p & 1) != 0) at[anew.size()] = p, anew.push(passes_[p]);
        price_.start_over();
        price_.sustained = run_long(anew);
        add_products(part, anew);
        price_.sustained = run_long(passes_);
        for (std::size_t i = 0; i < anew.size(); ++i) {
            const auto sum = [&] { return price_.sum[i]; };
            all[at[i]] = products_.get(fold_of_products(part, anew[i]), sum);
        }
        price_.sum = all;
    }
    constexpr products_fold fold_of_products(std::int32_t part, const token_pass& pass) const {
        const exchange_split& l = price_.degrees;
        products_fold fold{.part = part,
                           .decode = pass.decode,
                           .tensor = l.tensor,
                           .tokens = is_head(part) ? pass.scored : pass.tokens.all()};
        if (!is_head(part) && kind_of(part).feed_forward.routed()) {
            fold.expert = l.expert;
            fold.expert_tensor = l.expert_tensor;
        }
        return fold;
    }

    const job& job_;
    const operation_formats& formats_;
    const token_passes& passes_;
    remembered_passes& priced_;
    pricer price_;
    remembered_products& products_;
    std::size_t missed_before_ = 0;  ///< passes, a bit each, whose products were priced last
};

/// The time of a message to the next pipeline stage.
constexpr interval<duration> send_time(byte_count message, const layout& l, const pricing& with) {
    const std::int64_t stride = std::int64_t{l.tensor} * l.data * l.context_parallel;
    const rank_group pair = group_of(with.on, 2, stride);
    return at(time_of(collective_kind::send, message, pair, with.on.scale_up, with.on.scale_out), with.reach.link);
}

/// The time in which tensor ranks gather a tensor of which each has a part.
constexpr interval<duration> gather_time(byte_count message, const layout& l, const pricing& with) {
    const rank_group ranks = group_of(with.on, l.tensor, 1);
    return at(time_of(collective_kind::all_gather, message, ranks, with.on.scale_up, with.on.scale_out),
              with.reach.link);
}

/// The time of a transfer between a GPU and its host.
constexpr interval<duration> over_host_link(byte_count size, const pricing& with) {
    const byte_rate rate = with.on.host.link.bandwidth();
    return rate > byte_rate{} ? at(size / rate, with.reach.link) : interval<duration>{};
}

}  // namespace llmres::inline v0::detail
