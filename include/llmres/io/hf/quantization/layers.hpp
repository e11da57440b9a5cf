// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <llmres/io/hf/quantization/patterns.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/visitor.hpp>
#include <map>
#include <set>
#include <string_view>
#include <vector>

/// The format of each projection of each layer, as a `quantization_config` gives them to modules by name.
namespace llmres::inline v0::detail::quantization {

/// The format of each projection of each layer: filled from the lists of a config.json, then given to the model.
class assignment {
public:
    /// At first nothing is quantised.
    explicit assignment(const model& m) : model_{m}, table_(static_cast<std::size_t>(m.layers.size) + 1) {}

    /// Puts every matrix of the layers into this format; lists that are read later make exceptions.
    void fill(const precision& format) {
        const std::uint8_t index = index_of(format);
        for (slot& of_layer : table_)
            for (auto& roles : of_layer) roles.fill(index);
    }
    void set_head(const maybe<precision>& format) { head_ = format; }

    /// Puts the modules that a name means into a format; no format: they are not quantised. False if the name is not
    /// understood.
    bool put(std::string_view name, const maybe<precision>& format) {
        bool understood = true;
        for_each_pattern(name, [&](const module_pattern& p) {
            understood = understood && p.understood;
            if (p.understood) put(p, format);
        });
        return understood;
    }

    /// Gives the model its formats. `field`: the list that an error names.
    status give(model& m, std::string_view field, const precision& stored) const;

private:
    static constexpr std::array sorts{quantised_part::mixers, quantised_part::dense, quantised_part::experts};
    /// The formats of a layer's matrices, by place and role: each an index into formats_, 0 for not quantised.
    using slot = std::array<std::array<std::uint8_t, names_of<weight_role>.size()>, layer_places>;

    /// Modules of a list that are read together. (Comparisons of tuples are templates.)
    struct module_group {
        std::int64_t layer = -1;  ///< of the model; below 0: all
        bool predicts = false;
        std::uint64_t roles = 0;
        unsigned places = 0;
        std::uint8_t format = 0;  ///< an index into formats_
        friend auto operator<=>(const module_group&, const module_group&) = default;
    };

    /// The format of one sort of weight in all layers.
    struct found_sort {
        std::uint8_t format = 0;
        bool two_formats = false;
    };

    std::uint8_t index_of(const precision& format) {
        for (std::size_t i = 1; i < formats_.size(); ++i)
            if (formats_[i] == format) return static_cast<std::uint8_t>(i);
        if (formats_.size() < 255) formats_.push_back(format);
        return static_cast<std::uint8_t>(formats_.size() - 1);
    }

    void put(const module_pattern& p, const maybe<precision>& format) {
        if (p.places == nowhere) return;
        const unsigned places = places_of(p);
        if (p.places == head_place) {
            head_ = format;
            return;
        }
        const std::uint8_t index = format ? index_of(*format) : std::uint8_t{0};
        // Names that give the same format may come in any order, and twice.
        if (index != last_index_) said_.clear();
        last_index_ = index;
        const module_group group{.layer = p.layer, .predicts = p.prediction, .roles = p.roles};
        if (p.layer < 0 && p.expert < 0) {
            module_group anywhere = group;
            anywhere.places = places;
            if (!said_.insert(anywhere).second) return;
        }
        // Lists name thousands of experts, one by one: a layer's experts are in a format when all of them are named.
        if (p.expert >= 0) {
            module_group of_experts = group;
            of_experts.format = index;
            auto& named = experts_named_[of_experts];
            named.insert(p.expert);
            if (static_cast<std::int64_t>(named.size()) != experts_in(p.layer, p.prediction)) return;
        }
        const std::size_t layers = table_.size() - 1;
        for (std::size_t s = 0; s < table_.size(); ++s) {
            const bool predicts = s == layers;
            if (p.prediction ? !predicts : p.layer >= 0 && !matches(p, s, predicts)) continue;
            for (unsigned place = 0; place < layer_places; ++place) {
                if ((places >> place & 1) == 0) continue;
                for (std::size_t role = 0; role < names_of<weight_role>.size(); ++role)
                    if (p.roles == 0 || (p.roles >> role & 1) != 0) table_[s][place][role] = index;
            }
        }
    }
    /// The places that a name means in this model. Gemma 4's experts stand beside the mlp (`layers.0.experts`), not in
    /// it; Kimi's delta attention is called `self_attn`, as its other attention is.
    unsigned places_of(const module_pattern& p) const {
        if (p.places == attention_place)
            for (const layer& kind : model_.layers.distinct())
                if (kind.recurrent.kind == recurrent_kind::delta_net && kind.recurrent.rank > 0)
                    return attention_place | recurrence;
        const bool apart = model_.architecture.view().starts_with("gemma4");
        return apart && (p.places == experts_block || p.places == dense) ? dense | shared : p.places;
    }
    /// Whether a pattern with a layer means this one. Files number the layers of multi-token prediction after the
    /// others.
    static bool matches(const module_pattern& p, std::size_t slot_index, bool predicts) {
        const auto index = static_cast<std::int64_t>(slot_index);
        if (predicts) return p.layer >= index;
        if (p.layer_begins)
            for (std::int64_t rest = index; rest > 0; rest /= 10)
                if (rest == p.layer) return true;
        return index == p.layer;
    }
    std::int64_t experts_in(std::int64_t layer, bool predicts) const {
        const std::int64_t layers = model_.layers.size;
        if (predicts || layer >= layers) return model_.prediction.block.feed_forward.experts.count;
        return model_.layers[static_cast<int>(layer < 0 ? layers - 1 : layer)].feed_forward.experts.count;
    }

    /// Calls visit(sort, role, format) for the matrices of a layer that a checkpoint may quantise.
    template <class Visit>
    void for_each_matrix(const layer& l, const slot& formats, Visit visit) const {
        const auto from = [&formats, &visit](std::size_t place, std::size_t sort) {
            return [&formats, &visit, place, sort](const weight& w) {
                constexpr std::size_t experts_place = 4;
                constexpr std::size_t experts_sort = 2;
                if (w.quantised)
                    visit(w.routed ? experts_sort : sort, w.role,
                          formats[w.routed ? experts_place : place][static_cast<std::size_t>(w.role)]);
            };
        };
        auto mixing = from(0, 0);
        auto recurring = from(1, 0);
        auto feeding = from(l.feed_forward.routed() ? 3 : 2, 1);
        list_attention({visiting<weight>(mixing), model_.hidden}, l.attention, l.cross_width);
        list_recurrence({visiting<weight>(recurring), model_.hidden}, l.recurrent);
        const auto visitor = visiting<weight>(feeding);
        list_feed_forward({visitor, model_.hidden}, {visitor, model_.hidden}, l.feed_forward);
    }
    /// The sorts of the layer's matrices that are quantised; writes their formats into `found`.
    quantised_part part_of(const layer& l, const slot& formats, std::array<found_sort, sorts.size()>& found) const {
        quantised_part part = quantised_part::none;
        std::array<bool, sorts.size()> seen{};
        for_each_matrix(l, formats, [&](std::size_t sort, weight_role, std::uint8_t format) {
            seen[sort] = true;
            if (format == 0) return;
            part = part | sorts[sort];
            if (found[sort].format != 0 && found[sort].format != format) found[sort].two_formats = true;
            found[sort].format = format;
        });
        // A sort that the layer does not have counts as quantised.
        bool all = true;
        for (std::size_t sort = 0; sort < sorts.size(); ++sort)
            all = all && (!seen[sort] || quantises(part, sorts[sort]));
        return all ? quantised_part::matrices : part;
    }

    /// Refuses lists that name some of a layer's experts only.
    status names_whole_layers(std::string_view field) const;
    /// The roles of projections that are not quantised within a sort that is, one bit each. Refuses those of some
    /// layers only.
    result<std::uint64_t> wide_roles(const layer_stack& layers, const prediction& ahead, std::string_view field) const;

    const model& model_;
    std::vector<slot> table_;  ///< one for each layer, and one for all of multi-token prediction
    std::vector<precision> formats_{precision{}};
    maybe<precision> head_{};
    std::uint8_t last_index_ = 0;
    std::set<module_group> said_{};
    std::map<module_group, std::set<std::int64_t>> experts_named_{};
};

inline status assignment::names_whole_layers(std::string_view field) const {
    for (const auto& [group, named] : experts_named_) {
        const std::int64_t count = experts_in(group.layer, group.predicts);
        if (count > 0 && static_cast<std::int64_t>(named.size()) < count)
            return refused(error_code::unsupported, field, "some of a layer's experts",
                           "all experts of a layer, or none");
    }
    return done{};
}

inline result<std::uint64_t> assignment::wide_roles(const layer_stack& layers, const prediction& ahead,
                                                    std::string_view field) const {
    std::uint64_t wide = 0;
    std::uint64_t low = 0;
    const auto sort_out = [&](const layer& l, const slot& formats) {
        for_each_matrix(l, formats, [&](std::size_t sort, weight_role role, std::uint8_t format) {
            if (quantises(l.quantised, sorts[sort])) (format == 0 ? wide : low) |= bit(role);
        });
    };
    for (std::int32_t i = 0; i < layers.size; ++i) sort_out(layers[i], table_[static_cast<std::size_t>(i)]);
    if (ahead.layers > 0) sort_out(ahead.block, table_.back());
    for (std::size_t role = 0; role < names_of<weight_role>.size(); ++role)
        if ((wide & low) >> role & 1) {
            text<95> which{name_of(static_cast<weight_role>(role))};
            which.append(" of some layers only");
            return refused(error_code::unsupported, field, which, "the same projections in all layers");
        }
    return wide;
}

inline status assignment::give(model& m, std::string_view field, const precision& stored) const {
    if (const status s = names_whole_layers(field); !s) return s;
    std::array<found_sort, sorts.size()> found{};
    layer_stack stack;
    prediction ahead = m.prediction;
    for (std::int32_t i = 0; i < m.layers.size; ++i) {
        layer l = m.layers[i];
        l.quantised = part_of(l, table_[static_cast<std::size_t>(i)], found);
        if (!stack.append(1, l))
            return refused(error_code::unsupported, field, "too many sorts of layer",
                           "at most 12 different kinds of layer");
    }
    if (ahead.layers > 0) ahead.block.quantised = part_of(ahead.block, table_.back(), found);
    for (const found_sort& sort : found)
        if (sort.two_formats)
            return refused(error_code::unsupported, field, "two formats for one sort of weight",
                           "one format for each of attention, dense feed-forwards and experts");
    const result<std::uint64_t> wide = wide_roles(stack, ahead, field);
    if (!wide) return wide.error();
    const auto format_of = [&](std::size_t sort) {
        return found[sort].format == 0 ? maybe<precision>{} : maybe<precision>{formats_[found[sort].format]};
    };
    const maybe<precision> mixers = format_of(0);
    const maybe<precision> dense_ones = format_of(1);
    const maybe<precision> experts = format_of(2);
    const maybe<precision> most = experts ? experts : dense_ones ? dense_ones : mixers;
    m.layers = stack;
    m.prediction = ahead;
    m.weights = most.value_or(stored);
    m.mixed = {};
    if (mixers && !(*mixers == m.weights)) m.mixed.attention = mixers;
    if (dense_ones && !(*dense_ones == m.weights)) m.mixed.feed_forward = dense_ones;
    if (!m.tied_head) m.mixed.head = head_;
    if (size_of(stored, 1, 1) != bytes(2)) m.mixed.rest = stored;
    m.mixed.wide_roles = *wide;
    return done{};
}

}  // namespace llmres::inline v0::detail::quantization
