// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/models/gemma.hpp>
#include <llmres/models/glm.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/hub_names.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/nvidia.hpp>
#include <llmres/models/others.hpp>
#include <llmres/models/phi.hpp>
#include <llmres/models/qwen.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/find_precision.hpp>
#include <llmres/values/joined.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// Which model is meant by a name? All models that come with the library, found by the names that people type. A caller
/// who needs one family includes that family's header alone.
namespace llmres::inline v0 {

namespace models {

/// Every model of every family.
inline constexpr auto all = joined(all_llama, all_qwen, all_deepseek, all_mistral, all_gemma, all_phi, all_gpt, all_glm,
                                   all_nvidia, all_others, all_encoders);

namespace detail {

/// The words of a name in lower case, parted at characters that are neither letters, digits nor dots. Words that say
/// how or when a model was tuned or packed, not what shape it has, are left out.
struct words {
    static constexpr std::size_t most = 12;
    text<63> lower{};
    std::array<std::string_view, most> list{};
    std::size_t count = 0;

    constexpr explicit words(std::string_view name) {
        const std::size_t slash = name.find_last_of('/');  // an organisation stands before it
        if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
        for (std::size_t i = 0; i < name.size() && i < 63; ++i)
            lower.characters[i] = llmres::detail::lower_case(name[i]);
        const std::string_view all_text = lower.view();
        std::size_t begin = 0;
        for (std::size_t i = 0; i <= all_text.size(); ++i) {
            const char c = i < all_text.size() ? all_text[i] : ' ';
            if (llmres::detail::is_lower_or_digit(c) || c == '.') continue;
            add(all_text.substr(begin, i - begin));
            begin = i + 1;
        }
    }
    words(const words&) = delete;  // the list points into the text
    words& operator=(const words&) = delete;

    constexpr bool has(std::string_view word) const {
        for (std::size_t i = 0; i < count; ++i)
            if (list[i] == word) return true;
        return false;
    }
    /// All words as one, so that "llama3.1 8b" equals "llama-3.1-8b".
    constexpr text<63> joined_up() const {
        text<63> all_words{};
        for (std::size_t i = 0; i < count; ++i) all_words.append(list[i]);
        return all_words;
    }

private:
    /// A release's year and month or month and day: Mistral-Small-24B-Instruct-2501, DeepSeek-R1-0528.
    static constexpr bool is_date(std::string_view word) {
        bool digits = word.size() == 4;
        for (const char c : word) digits = digits && llmres::detail::is_digit(c);
        return digits;
    }
    constexpr void add(std::string_view word) {
        constexpr std::array<std::string_view, 10> no_shape{"",     "instruct", "chat", "it",   "hf",
                                                            "base", "meta",     "bf16", "fp16", "model"};
        for (const std::string_view other : no_shape)
            if (word == other) return;
        if (is_date(word)) return;
        if (count < most) list[count++] = word;
    }
};

}  // namespace detail

}  // namespace models

/// The model that a name means: its id ("llama-3.1-8b"); a repository of models::hub_names, with or without its
/// organisation ("Qwen/Qwen3-8B-FP8", which is that model with other weights); the id in other spelling ("Llama 3.1
/// 8B", with an organisation before it or "Instruct" behind it); a quantised copy by its publisher's ending
/// ("mlx-community/Qwen3-30B-A3B-4bit"); or some of its words if no other model has them all
/// ("falcon 180b"). A model without one of the words is not meant: "llama 3.1 9b" is unknown. A distilled model is
/// meant only if the name says so: "qwen 14b" is no "deepseek-r1-distill-qwen-14b". Where no id has all of its words,
/// the repository that has them and the fewest others ("qwen3-coder:30b"), if no organisation is named. A name that
/// means no model, or more than one, is an `unknown` error on `field`, which lists up to three that it might mean.
constexpr result<model> find_model(std::string_view name, std::string_view field = "model");

/// Up to three ids that a name might mean: those with all of its words, the shortest first; without any, the ids of
/// nearest spelling.
constexpr nearest_names search_models(std::string_view name);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace models::detail {

/// How many words the id has beyond those asked for; -1 if it lacks one of them.
constexpr int words_beyond(const words& asked, std::string_view id) {
    const words own{id};
    for (std::size_t i = 0; i < asked.count; ++i)
        if (!own.has(asked.list[i])) return -1;
    return static_cast<int>(own.count) - static_cast<int>(asked.count);
}

/// The same of a model that may be meant: a distilled one is where the name says so.
constexpr int words_beyond_if_meant(const words& asked, std::string_view id) {
    const int beyond = words_beyond(asked, id);
    return beyond > 0 && words{id}.has("distill") && !asked.has("distill") ? -1 : beyond;
}

}  // namespace models::detail

namespace models::detail {

/// Up to three of the names that a name might mean: those with all of its words, the shortest first; without any, those
/// of nearest spelling.
template <class Names>
constexpr nearest_names search_names(std::string_view name, const Names& names) {
    const words asked{name};
    llmres::detail::nearest_found with_all_words;
    for (const std::string_view id : names) {
        const int beyond = asked.count == 0 ? -1 : words_beyond(asked, id);
        if (beyond >= 0) with_all_words.offer(id, static_cast<std::size_t>(beyond));
    }
    if (!with_all_words.names.empty()) return with_all_words.names;
    nearest_names found = nearest(name, names);
    if (!found.empty()) return found;
    // "Llama-3.1-405B-Instruct-FP8" has no near spelling, but an id that has all of its words but one.
    std::size_t most = 1;
    for (const std::string_view id : names) {
        const words own{id};
        std::size_t shared = 0;
        for (std::size_t i = 0; i < asked.count; ++i) shared += own.has(asked.list[i]) ? 1 : 0;
        if (shared < most || 2 * shared < asked.count) continue;
        if (shared > most) found = {};
        most = shared;
        if (found.count < found.names.size()) found.names[found.count++] = id;
    }
    return found;
}

}  // namespace models::detail

constexpr nearest_names search_models(std::string_view name) {
    std::array<std::string_view, models::all.size()> ids{};
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = models::all[i]->name.view();
    return models::detail::search_names(name, ids);
}

namespace models::detail {

/// The model in a repository, in the repository's format and with its context.
constexpr model held_by(const hub_name& row) {
    model held{};
    for (const model* m : all)
        if (m->name == row.id) held = *m;
    if (row.context > 0) held.max_context = tokens(row.context);
    if (row.width > 0) {
        for (layer& kind : held.layers.kinds)
            if (kind.feed_forward.width > 0) kind.feed_forward.width = row.width;
        held.published = {};
    }
    if (!row.weights.empty()) {
        held.weights = *find_precision("weights", row.weights);
        held.mixed = {};
    }
    if (row.context > 0 || !row.weights.empty()) {
        text<63> name{row.repository.substr(row.repository.find('/') + 1)};
        for (char& c : name.characters) c = llmres::detail::lower_case(c);
        held.name = name;
    }
    return held;
}

/// The row of a repository that is named whole, or without its organisation; null if there is none.
constexpr const hub_name* find_hub_name(std::string_view name) {
    for (const hub_name& row : hub_names)
        if (llmres::detail::same_letters(row.repository, name)) return &row;
    for (const hub_name& row : hub_names)
        if (llmres::detail::same_letters(row.repository.substr(row.repository.find('/') + 1), name)) return &row;
    return nullptr;
}

/// The model with its linear layers in another format.
constexpr model in_format(model m, const precision& format, quantised_part quantised, maybe<precision> head) {
    m.weights = format;
    m.mixed = {};
    if (!m.tied_head) m.mixed.head = head;
    if (quantised == quantised_part::matrices) return m;
    for (layer& kind : m.layers.kinds) kind.quantised = kind.feed_forward.routed() ? quantised : quantised_part::none;
    m.prediction.block.quantised = quantised_part::none;
    return m;
}

/// The model of a name without an organisation, in the format that its publisher gives it.
constexpr maybe<model> published_as(std::string_view name) {
    if (const hub_name* row = find_hub_name(name); row && row->weights.empty()) return held_by(*row);
    for (const model* m : all)
        if (llmres::detail::same_letters(m->name, name)) return *m;
    return {};
}

/// The model that turboderp's and others' files for ExLlama are named by, "Qwen3-32B-exl3:4.0bpw": so many bits, and 6
/// of the head (exllamav3's and exllamav2's convert.py: head_bits).
template <class BaseOf>
constexpr maybe<model> exllama_copy(std::string_view repository, const BaseOf& base_of) {
    const std::size_t end = repository.size() > 3 ? repository.size() - 3 : 0;
    if (!llmres::detail::same_letters(repository.substr(end), "bpw")) return {};
    std::size_t number = end;
    while (number > 0 && (llmres::detail::is_digit(repository[number - 1]) || repository[number - 1] == '.')) --number;
    constexpr std::size_t mark = 6;  // "-exl3:"
    if (number <= mark) return {};
    const std::string_view tool = repository.substr(number - mark, mark - 1);
    const bool is_exl3 = llmres::detail::same_letters(tool, "-exl3");
    if (!is_exl3 && !llmres::detail::same_letters(tool, "-exl2")) return {};
    text<63> format{is_exl3 ? "exl3_" : "exl2_"};
    format.append(repository.substr(number));
    const result<precision> weights = find_precision("weights", format.view());
    const maybe<model> base = base_of(repository.substr(0, number - mark));
    if (!weights || !base) return {};
    return in_format(*base, *weights, quantised_part::matrices,
                     *find_precision("weights", is_exl3 ? "exl3_6bpw" : "exl2_6bpw"));
}

/// The model that a publisher of quantised copies names by models::hub_endings; nothing if the name has no such ending,
/// or none before it that is known.
template <class BaseOf>
constexpr maybe<model> copy_by_ending(std::string_view organisation, std::string_view repository,
                                      const BaseOf& base_of) {
    for (const hub_ending& e : hub_endings) {
        if (!e.organisation.empty() && !llmres::detail::same_letters(e.organisation, organisation)) continue;
        if (repository.size() <= e.ending.size()) continue;
        const std::size_t before = repository.size() - e.ending.size();
        if (!llmres::detail::same_letters(repository.substr(before), e.ending)) continue;
        const maybe<model> base = base_of(repository.substr(0, before));
        if (!base || (e.quantised == quantised_part::experts && !has_experts(*base))) continue;
        const precision format = *find_precision("weights", e.weights);
        return in_format(*base, format, e.quantised,
                         e.head == copied_head::quantised ? maybe<precision>{format} : maybe<precision>{});
    }
    return {};
}

/// The copy that a publisher of quantised models holds under that name: the model `base_of(name before the ending)`
/// with other weights, by the name of the repository.
template <class BaseOf>
constexpr maybe<model> quantised_copy(std::string_view name, const BaseOf& base_of) {
    const std::size_t slash = name.find('/');
    const std::string_view organisation = slash == std::string_view::npos ? std::string_view{} : name.substr(0, slash);
    const std::string_view repository = slash == std::string_view::npos ? name : name.substr(slash + 1);
    maybe<model> copy = exllama_copy(repository, base_of);
    if (!copy) copy = copy_by_ending(organisation, repository, base_of);
    if (!copy) return {};
    text<63> whole{repository};
    for (char& c : whole.characters) c = llmres::detail::lower_case(c);
    return renamed(*copy, whole.view());
}

/// The row of the repository that has all of the words and the fewest others; null if there is none, or if several have
/// as few that hold something else.
constexpr const hub_name* find_hub_name(const words& asked) {
    const hub_name* nearest = nullptr;
    int fewest = 0;
    bool several = false;
    for (const hub_name& row : hub_names) {
        const int beyond = words_beyond_if_meant(asked, row.repository);
        if (beyond < 0 || (nearest && beyond > fewest)) continue;
        const bool as_near = nearest && beyond == fewest;
        if (as_near && nearest->id == row.id && nearest->weights == row.weights && nearest->context == row.context)
            continue;
        several = as_near;
        nearest = &row;
        fewest = beyond;
    }
    return several ? nullptr : nearest;
}

}  // namespace models::detail

constexpr result<model> find_model(std::string_view name, std::string_view field) {
    for (const model* m : models::all)
        if (m->name == name) return *m;
    if (const models::hub_name* row = models::detail::find_hub_name(name)) return models::detail::held_by(*row);
    if (const maybe<model> copy = models::detail::quantised_copy(name, models::detail::published_as)) return *copy;
    const models::detail::words asked{name};
    const model* only = nullptr;
    int found = 0;
    for (const model* m : models::all) {
        if (asked.count == 0) break;
        if (models::detail::words{m->name}.joined_up() == asked.joined_up()) return *m;
        const int beyond = models::detail::words_beyond_if_meant(asked, m->name);
        if (beyond == 0) return *m;
        if (beyond < 0) continue;
        only = m;
        ++found;
    }
    if (found == 1) return *only;
    const bool any_organisation = name.find('/') == std::string_view::npos;
    if (found == 0 && asked.count > 0 && any_organisation)
        if (const models::hub_name* row = models::detail::find_hub_name(asked)) return models::detail::held_by(*row);
    return refused(error_code::unknown, field, name, such_as("a model", search_models(name)));
}

}  // namespace llmres::inline v0
