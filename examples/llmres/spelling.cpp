// SPDX-License-Identifier: MIT
// How other tools spell the options and words of `llmres plan`; units.cpp reads their units.
#include "spelling.hpp"

#include "aliases.hpp"
#include "commands.hpp"
#include "deepspeed_config.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/json/document.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/values/nearest.hpp>
#include <optional>
#include <set>
#include <utility>

namespace program {
namespace {

/// Options that are no fields, and stand for what the words behind them do.
struct word_option {
    std::string_view name;
    std::string_view words;      ///< those that are known
    std::string_view bare = "";  ///< what the option means without a word
};
constexpr std::array word_options{
    word_option{"method", "full, lora or qlora"},
    word_option{"deepspeed", "zero1, zero2, zero3 or a DeepSpeed configuration: FILE.json"},
    word_option{"fsdp", "full_shard (zero 3) or shard_grad_op (zero 2), with auto_wrap and offload behind it",
                "zero=3"},
    word_option{"quantization_bit", "4 or 8"},
    word_option{"modules_to_save", "no modules: layers that are trained whole beside an adapter are not planned"},
    word_option{"recipe", "full_finetune or lora_finetune, each _single_device or _distributed"},
    word_option{"split_mode", "layer, row, tensor or none"},
    word_option{"gradient_accumulation_steps", "global_batch: micro_batch x data ranks x these steps"},
};
constexpr const word_option* find_word_option(std::string_view name) {
    for (const word_option& o : word_options)
        if (o.name == name) return &o;
    return nullptr;
}

/// A name with underscores in place of dashes, in lower case.
std::string normal(std::string_view typed) {
    std::string name{typed};
    for (char& c : name) c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name;
}

bool is_flag(std::string_view name) {
    return name == "json" || name == "svg" || name == "pictures" || name == "help" ||
           std::any_of(llmres::job_fields.begin(), llmres::job_fields.end(),
                       [&](const llmres::job_field& f) { return llmres::flag_of(f) == name; });
}
bool is_switch(std::string_view name) {
    return std::any_of(llmres::job_fields.begin(), llmres::job_fields.end(), [&](const llmres::job_field& f) {
        return f.type == llmres::field_type::flag && llmres::flag_of(f) == name;
    });
}
/// Whether some runtime has a knob of that name.
bool is_knob(std::string_view name) {
    for (const llmres::runtime* r : llmres::runtimes::all)
        if (llmres::find_knob(r->identity.knobs, name) != nullptr || r->cache.fraction_name == name) return true;
    return false;
}

/// The value of an option, by its names, wherever it stands.
std::string_view typed_value(const std::vector<std::string>& typed, std::initializer_list<std::string_view> names) {
    for (std::size_t i = 0; i < typed.size(); ++i)
        for (const std::string_view name : names) {
            if (typed[i] == name && i + 1 < typed.size()) return typed[i + 1];
            if (typed[i].starts_with(name) && typed[i].size() > name.size() && typed[i][name.size()] == '=')
                return std::string_view{typed[i]}.substr(name.size() + 1);
        }
    return {};
}

/// The runtime that is named, wherever it stands.
std::string_view runtime_named(const std::vector<std::string>& typed) {
    return typed_value(typed, {"--runtime", "--engine", "--backend", "--framework"});
}

/// Whether an option sizes the pool of caches of the runtime that is named: SGLang's max_total_tokens, which is the
/// longest request in TGI's words.
bool sizes_pool(const std::vector<std::string>& typed, std::string_view name) {
    const auto r = llmres::find_runtime(runtime_named(typed));
    const llmres::knob* own = r ? llmres::find_knob(r->identity.knobs, name) : nullptr;
    return own != nullptr && own->setting == llmres::knob_setting::cache_tokens;
}

/// Whether a text says yes or no in one of the ways of llama.cpp and of Python.
std::optional<std::string> truth(const std::string& typed) {
    const std::string word = normal(typed);
    if (word == "on" || word == "true" || word == "1" || word == "yes") return "true";
    if (word == "off" || word == "false" || word == "0" || word == "no") return "false";
    return {};
}

/// The task of the job document that the arguments name, if they name one that has a task.
std::optional<std::string> task_of_document(const std::vector<std::string>& typed) {
    for (const std::string& argument : typed) {
        if (!argument.ends_with(".json") || argument.starts_with('-')) continue;
        const auto content = llmres::read_job_text(argument);
        if (!content) continue;  // whatever reads it says why not
        const auto read = llmres::parse_json_object(*content);
        if (!read) continue;
        const nlohmann::json document = llmres::document_in(read->root);
        if (document.contains("task")) return document["task"].is_string() ? document["task"].get<std::string>() : "";
    }
    return std::nullopt;
}

/// Whether an argument is an option that makes an adapter: --lora, --adapter_kind and the like.
bool makes_adapter(const std::string& argument) {
    if (!argument.starts_with("--")) return false;
    const std::string name = normal(argument.substr(2, argument.find('=') - 2));
    return name == "adapter_kind" || std::any_of(option_aliases.begin(), option_aliases.end(), [&](const auto& alias) {
               return alias.typed == name && alias.means.find("adapter_kind") != std::string_view::npos;
           });
}

/// Whether an argument is an option that says what is trained: --finetuning_type and the like.
bool names_method(const std::string& argument) {
    if (!argument.starts_with("--")) return false;
    const std::string name = normal(argument.substr(2, argument.find('=') - 2));
    return std::any_of(option_aliases.begin(), option_aliases.end(),
                       [&](const auto& alias) { return alias.typed == name && alias.means == "method"; });
}

/// Whether the runtime that is named drives another's training loop.
bool names_stack(const std::vector<std::string>& typed) {
    return llmres::detail::find_training_stack(runtime_named(typed)) != nullptr;
}

/// Whether a task is serving, by its name or by a word for it.
bool is_served(const std::string& task) {
    if (task.starts_with("serv")) return true;
    return std::any_of(word_rows.begin(), word_rows.end(), [&](const word_alias& alias) {
        const std::string words = "|" + std::string{alias.typed} + "|";
        return alias.flag == "task" && alias.means.starts_with("task=serving") &&
               words.find("|" + task + "|") != std::string::npos;
    });
}

/// Whether the arguments ask for training, by the task or the adapter they name or that of the job document they name.
bool asks_for_training(const std::vector<std::string>& typed) {
    for (std::size_t i = 0; i < typed.size(); ++i) {
        const bool joined = typed[i].starts_with("--task=");
        if (joined || (typed[i] == "--task" && i + 1 < typed.size())) {
            const std::string task = normal(joined ? typed[i].substr(7) : typed[i + 1]);
            return !is_served(task);
        }
        if (names_method(typed[i]) || makes_adapter(typed[i])) return true;
    }
    if (names_stack(typed) && !task_of_document(typed)) return true;
    const std::optional<std::string> task = task_of_document(typed);
    return task && !is_served(normal(*task));
}

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}
bool are_digits(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// GPUs of one kind, and how many; without a number where none is said.
struct gpus_of_kind {
    std::string name;
    std::string count{};
};
/// "8xH100", "8 x H100", "H100 x8" and "h100:8" are eight GPUs of a kind; "7900xtx" is a kind itself.
gpus_of_kind with_count(const std::string& value) {
    if (llmres::find_gpu(value)) return {value};
    if (const std::size_t colon = value.find(':'); colon != std::string::npos) {
        // "h100:1g.10gb" is a part of one, as "H100 MIG 1g.10gb" is.
        if (value.find("g.", colon) != std::string::npos)
            return {fmt::format("{} MIG {}", value.substr(0, colon), value.substr(colon + 1))};
        return {value.substr(0, colon), value.substr(colon + 1)};
    }
    for (const std::size_t times : {value.find_first_of("xX"), value.find_last_of("xX")}) {
        if (times == std::string::npos) break;
        const std::string before = trimmed(value.substr(0, times)), behind = trimmed(value.substr(times + 1));
        if (are_digits(behind) && llmres::find_gpu(before)) return {before, behind};
        if (are_digits(before) && !behind.empty()) return {behind, before};
    }
    return {value};
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) words.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

/// Reads arguments one by one and writes them in the program's own words.
class speller {
public:
    speller(const std::vector<std::string>& typed, const std::vector<std::string>& flags,
            std::vector<std::string>& notes)
        : typed_{typed}, flags_{flags}, notes_{notes} {}
    /// The first so many words are of a line or file that somebody else wrote.
    speller& of_line(std::size_t words) { return line_words_ = words, *this; }

    std::vector<std::string> spelled() {
        for (at_ = 0; at_ < typed_.size(); ++at_) {
            if (at_ == line_words_) end_line();
            const std::string& argument = typed_[at_];
            if (argument.size() > 1 && argument[0] == '-' && !(argument[1] >= '0' && argument[1] <= '9'))
                option(argument);
            else
                own_.push_back(argument);
        }
        overrule_line();
        // An adapter is trained, and a preference learned, unless a task or a document says otherwise.
        const bool implies_adapter =
            std::any_of(implied_.begin(), implied_.end(), [](const auto& set) { return set.flag == "adapter_kind"; });
        const bool trains = implies_adapter || said_.contains("adapter_kind") || said_.contains("preference");
        if (trains && !task_of_document(typed_)) implied_.push_back({"task", "finetuning"});
        if (names_stack(typed_) && !task_of_document(typed_)) implied_.push_back({"task", "finetuning"});
        if (const auto said = value_of("gpus"); !count_.empty() && said && *said != count_)
            throw refusal{llmres::refused(llmres::error_code::malformed, "gpus", *said,
                                          count_ + ", as --gpu says, or one of both")};
        const std::string runtime = normal(runtime_named(typed_));
        const bool is_sharded = !llmres::detail::sharded_by_deepspeed(runtime + "+deepspeed").empty();
        for (std::string& argument : own_)
            if (of_deepspeed_ && is_sharded && argument.starts_with("--runtime=")) argument += "+deepspeed";
        if (of_deepspeed_ && !is_sharded && !runtime.empty() && runtime.find("deepspeed") == std::string::npos)
            throw refusal{
                llmres::refused(llmres::error_code::malformed, "runtime", runtime,
                                "deepspeed or what drives transformers' Trainer, as --deepspeed says, or one of both")};
        // What an alias only implies gives way to what is said.
        const std::string gpus = value_of("gpus").value_or(count_.empty() ? "1" : count_);
        const std::int64_t stages = std::max<std::int64_t>(1, number_in(value_of("pipeline").value_or("1")));
        const std::int64_t said_ranks =
            number_in(value_of("tensor").value_or("1")) * number_in(value_of("data").value_or("1"));
        const std::int64_t ranks = std::max<std::int64_t>(said_ranks, number_in(gpus) / stages);
        if (!accumulation_.empty()) accumulate(gpus == "1" && !task_of_document(typed_));
        for (const auto& [flag, value, by] : implied_)
            if (!said_.contains(flag) && said_.insert(flag).second)
                own_.push_back(fmt::format("--{}={}", flag,
                                           value == "gpus"    ? gpus
                                           : value == "ranks" ? std::to_string(ranks)
                                                              : value));
        return own_;
    }

private:
    /// Sets aside what the words of a line said and implied: words behind them have their say first.
    void end_line() {
        std::swap(implied_, line_implied_);
        std::swap(said_, line_said_);
        method_.reset();
        line_own_ = own_.size();
    }
    /// What was typed beside a line takes the place of what the line says of the same flags; a method by which answers
    /// are learned, and a task that is no fine-tuning, of all that the line's own task stands for.
    void overrule_line() {
        if (method_ && value_of("preference", line_own_).value_or(*method_) != *method_)
            throw refusal{llmres::refused(llmres::error_code::inconsistent, "preference",
                                          *value_of("preference", line_own_),
                                          *method_ + ", as --task says, or one of both")};
        if (line_own_ > 0 && !accumulation_.empty() && !said_.contains("global_batch")) accumulate_anew();
        const auto is_typed = [&](const std::string& flag) {
            return said_.contains(flag) ||
                   std::ranges::any_of(implied_, [&](const auto& set) { return set.flag == flag; });
        };
        const bool is_other_task =
            is_typed("preference") || (said_.contains("task") && value_of("task", line_own_) != "finetuning");
        std::vector<std::string> kept;
        for (std::size_t i = 0; i < own_.size(); ++i)
            if (i >= line_own_ || !own_[i].starts_with("--") || !is_typed(own_[i].substr(2, own_[i].find('=') - 2)))
                kept.push_back(own_[i]);
        for (const std::string& flag : line_said_)
            if (!is_typed(flag)) said_.insert(flag);
        for (const implied_flag& set : line_implied_)
            if (set.by != "task" || set.flag == "task" || !is_other_task) implied_.push_back(set);
        own_ = std::move(kept);
    }
    /// Micro-batches that are accumulated, where a line says how many GPUs have which of them.
    void accumulate_anew() {
        const auto number = [&](std::string_view name) {
            return number_in(value_of(name, line_own_).value_or(value_of(name).value_or("1")));
        };
        const std::int64_t stages = std::max<std::int64_t>(1, number("pipeline") * number("tensor"));
        const std::int64_t ranks = value_of("data") ? number("data") : number("gpus") / stages;
        // A line that says no micro-batch is of transformers' Trainer (training_args.py: 8 a device).
        const std::int64_t micro_batch = value_of("micro_batch") ? number("micro_batch") : 8;
        implied_.push_back({"global_batch", std::to_string(micro_batch * number_in(accumulation_) * ranks)});
        accumulation_.clear();
    }
    void option(const std::string& argument) {
        const std::size_t equals = argument.find('=');
        value_ = equals == std::string::npos ? std::nullopt : std::optional{argument.substr(equals + 1)};
        const std::string written = argument.substr(0, equals);
        const std::string name = normal(written.substr(written.starts_with("--") ? 2 : 0));
        const std::string one_dash = written.starts_with("--") ? "" : "-" + normal(written.substr(1));
        if (sizes_pool(typed_, name)) return knob(name);
        for (const option_alias& alias : option_aliases) {
            if (alias.typed != (alias.typed.starts_with('-') ? std::string_view{one_dash} : std::string_view{name}))
                continue;
            if ((is_flag(name) || is_own(name)) && alias.in_training.empty()) break;  // the program's own word
            if (!runtime_named(typed_).starts_with(alias.of_runtime))
                throw refusal{llmres::refused(
                    llmres::error_code::unknown, name, taken_value(written),
                    fmt::format("{}, or --runtime {}, whose word it is", alias.means, alias.of_runtime))};
            return meaning(written,
                           alias.in_training.empty() || !asks_for_training(typed_) ? alias.means : alias.in_training);
        }
        if (is_flag(name)) return flag(name);
        if (written.starts_with("--") && is_own(name)) return own(name, written);
        if (is_knob(name)) return knob(name);
        own_.push_back(argument);
    }
    bool is_own(const std::string& name) const { return std::find(flags_.begin(), flags_.end(), name) != flags_.end(); }
    /// An option of the command alone, whose value follows as it is, but for times with their unit.
    void own(const std::string& name, const std::string& written) {
        const bool is_time = name == "max_time_to_first_token" || name == "max_time_per_token" || name == "think_time";
        if (!is_time) return own_.push_back("--" + name + (value_ ? "=" + *value_ : ""));
        const std::string typed = taken_value(written);
        const nlohmann::json seconds = value_in_own_unit(name, typed);
        own_.push_back("--" + name + "=" + (seconds.is_string() ? typed : seconds.dump()));
    }
    /// Writes what an option or a word stands for.
    void meaning(const std::string& written, std::string_view means) {
        if (means.empty()) {
            if (!value_ && next_is_value()) ++at_;
            notes_.push_back(written + " has no bearing on a plan");
            return;
        }
        const std::vector<std::string_view> words = words_of(means);
        const bool takes_value = std::any_of(words.begin(), words.end(), [](const std::string_view word) {
            return word.find('=') == std::string_view::npos;
        });
        for (const std::string_view word : words) {
            const std::size_t equals = word.find('=');
            const std::string name{word.substr(0, equals)};
            if (word == "*")
                own_.push_back(taken_value(written));
            else if (word == "n_batch")
                prompt_batch(written);
            else if (equals == std::string_view::npos && is_own(name) && !is_flag(name))
                own(name, written);
            else if (equals == std::string_view::npos && !is_flag(name) && find_word_option(name) == nullptr &&
                     !is_knob(name))
                throw refusal{llmres::refused(llmres::error_code::unknown, name, taken_value(written),
                                              "this option with llmres search or llmres replicas")};
            else if (equals == std::string_view::npos)
                is_flag(name) || find_word_option(name) != nullptr ? flag(name, written) : knob(name);
            else
                implied(name, std::string{word.substr(equals + 1)}, takes_value);
        }
    }
    /// What an alias sets, unless a word behind it says otherwise: no, or another word for the same flag. What follows
    /// an alias that takes a value for another flag is that value.
    void implied(const std::string& name, const std::string& value, bool takes_value) {
        if (takes_value) return implied_.push_back({name, value}), void();
        const std::string said = value_.value_or(next_is_value() ? typed_[at_ + 1] : "");
        const bool is_auto = value == "true" && normal(said) == "auto";
        const std::optional<std::string> known = truth(said);
        const word_alias* word = known ? nullptr : find_word(name, normal(said));
        if (!value_ && (known || is_auto || word != nullptr)) ++at_, value_ = said;
        if (word != nullptr) return take(word->means, name);
        if (known == "false" && has_none(name)) return implied_.push_back({name, "none"}), void();
        if (is_auto || (known == "false" && value != "true")) return;
        // Double quantisation is said beside 4 bits, which do without.
        const auto at = value == "nf4_double" ? implied_.begin() : implied_.end();
        implied_.insert(at, {name, value == "true" ? known.value_or(value) : value});
    }
    /// Whether "no" to an option that sets the flag is a value of it: a runtime may do unasked what is denied here.
    static bool has_none(std::string_view flag) { return flag == "recompute" || flag.starts_with("offload_"); }
    static const word_alias* find_word(std::string_view flag, std::string_view word) {
        for (const word_alias& alias : word_aliases)
            if (alias.flag == flag && alias.typed == word && !alias.means.starts_with('?')) return &alias;
        return nullptr;
    }
    /// Takes what a word behind a flag stands for: `flag=value`, with spaces between them.
    void take(std::string_view means, const std::string& by) {
        for (const std::string_view meant : words_of(means)) {
            const std::size_t equals = meant.find('=');
            implied_.push_back({std::string{meant.substr(0, equals)}, std::string{meant.substr(equals + 1)}, by});
            if (by != "task" || implied_.back().flag != "preference") continue;
            if (method_ && *method_ != implied_.back().value)
                throw refusal{llmres::refused(llmres::error_code::inconsistent, by, implied_.back().value,
                                              *method_ + ", as --task says before, or one of both")};
            method_ = implied_.back().value;
        }
    }
    /// The number that a text is; 0 for any other text.
    static std::int64_t number_in(const std::string& text) {
        std::int64_t number = 0;
        const char* end = text.data() + text.size();
        const auto read = std::from_chars(text.data(), end, number);
        return read.ec == std::errc{} && read.ptr == end ? number : 0;
    }
    /// On one GPU an optimizer step has the micro-batches that are accumulated; on several the layout has its say.
    void accumulate(bool one_gpu) {
        const std::int64_t micro_batch = number_in(value_of("micro_batch").value_or("1"));
        constexpr std::int64_t most = std::int64_t{1} << 24;
        if (!one_gpu || micro_batch > most || number_in(accumulation_) > most)
            throw refusal{llmres::refused(llmres::error_code::unknown, "gradient_accumulation_steps", accumulation_,
                                          find_word_option("gradient_accumulation_steps")->words)};
        implied_.push_back({"global_batch", std::to_string(micro_batch * number_in(accumulation_))});
    }
    /// llama.cpp computes a prompt in pieces of the smaller of `--batch-size` and `--ubatch-size` (default 512).
    void prompt_batch(const std::string& written) {
        const std::string size = taken_value(written);
        if (const std::int64_t number = number_in(size); number > 0 && number < 512)
            implied_.push_back({"max_batched_tokens", size});
        else
            notes_.push_back(written + " " + size +
                             " does not change what a step computes at once (--ubatch-size does)");
    }
    void flag(std::string name, const std::string& written = {}) {
        if (is_switch(name)) {
            if (!value_ && next_is_value() && truth(typed_[at_ + 1])) value_ = typed_[++at_];
            const std::string said = value_ ? truth(*value_).value_or(*value_) : "true";
            said_.insert(name);
            own_.push_back("--" + name + "=" + said);
            return;
        }
        if (name == "json" || name == "help") return own_.push_back("--" + name);
        const word_option* option_of_words = find_word_option(name);
        if (option_of_words != nullptr && !option_of_words->bare.empty() && !value_ && !next_is_value())
            return take(option_of_words->bare, name);
        std::string value = taken_value(written.empty() ? "--" + name : written);
        // "--gpus 8xH100" names a kind of GPU.
        const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
        if (name == "gpus" && digits > 0 && value.substr(digits).find_first_of("xX") == 0) name = "gpu";
        if (name == "gpu") value = without_count(with_words_of_gpu(value));
        const std::string word = normal(value);
        const std::string option = written.starts_with("--") || written.empty()
                                       ? normal(written.substr(std::min<std::size_t>(2, written.size())))
                                       : "-" + normal(written.substr(1));
        if (name == "weights" && (word.starts_with("ud_") || word.ends_with("_xl")))
            throw refusal{llmres::refused(llmres::error_code::unsupported, name, value,
                                          "the .gguf file as MODEL, whose publisher chose each tensor's type; or a mix "
                                          "of llama.cpp's quantiser, such as q4_k_m")};
        if (name == "gradient_accumulation_steps" && number_in(value) > 0) return void(accumulation_ = value);
        of_deepspeed_ = of_deepspeed_ || name == "deepspeed";
        if (name == "deepspeed" && word.ends_with(".json")) return take(flags_of_deepspeed_config(value), name);
        for (const word_alias& alias : word_aliases) {
            if (alias.flag != name || alias.typed != word) continue;
            if (!alias.option.empty() && alias.option != option) continue;
            if (alias.means.starts_with('?'))
                throw refusal{llmres::refused(llmres::error_code::unknown, name, value, alias.means.substr(1))};
            return take(alias.means, name);
        }
        if (option_of_words != nullptr)
            throw refusal{llmres::refused(llmres::error_code::unknown, name, value, option_of_words->words)};
        said_.insert(name);
        put(name, name == "optimizer" || name == "adapter_kind" ? word : value);
    }
    /// The value of --gpu with the words behind it that belong to its name: `--gpu RTX 3060 12GB`.
    std::string with_words_of_gpu(const std::string& first) {
        std::string all = first, value = first;
        std::size_t end = at_ + 1;
        for (std::size_t i = end; i < typed_.size() && !typed_[i].starts_with('-'); ++i) {
            all += " " + typed_[i];
            if (!names_gpus(all)) continue;
            value = all;
            end = i + 1;
        }
        at_ = end - 1;
        return value;
    }
    /// The GPU that is named, whose count is kept. Several kinds stay as they are: run_mixed() and compare read them.
    std::string without_count(const std::string& value) {
        if (value.find(',') != std::string::npos) return value;
        const gpus_of_kind said = with_count(value);
        if (said.count.empty()) return said.name;
        count_ = said.count;
        implied_.push_back({"gpus", count_});
        return said.name;
    }
    /// The value of a flag that was said, behind so many words.
    std::optional<std::string> value_of(std::string_view name, std::size_t behind = 0) const {
        const std::string flag = fmt::format("--{}=", name);
        for (std::size_t i = behind; i < own_.size(); ++i)
            if (own_[i].starts_with(flag)) return own_[i].substr(flag.size());
        return std::nullopt;
    }
    /// A knob under the runtime's own name; one without a value is switched on.
    void knob(const std::string& name) {
        const std::string value = value_ ? *value_ : next_is_value() ? typed_[++at_] : "true";
        const bool is_number = value == "0" || value == "1";  // of a switch it is true or false all the same
        own_.push_back("--knob=" + name + "=" + (is_number ? value : truth(value).value_or(value)));
    }
    void put(const std::string& name, const std::string& value) {
        if (!value.empty()) return own_.push_back("--" + name + "=" + value);
        own_.push_back("--" + name);
        own_.emplace_back();
    }
    std::string taken_value(const std::string& written) {
        if (value_) return *value_;
        if (at_ + 1 >= typed_.size())
            throw refusal{llmres::refused(llmres::error_code::missing, written, "absent", "a value behind it")};
        return typed_[++at_];
    }
    bool next_is_value() const { return at_ + 1 < typed_.size() && !typed_[at_ + 1].starts_with('-'); }

    const std::vector<std::string>& typed_;
    const std::vector<std::string>& flags_;
    std::vector<std::string>& notes_;
    std::size_t at_ = 0;
    std::optional<std::string> value_{};  ///< what stands behind the equals sign of the current option
    std::vector<std::string> own_{};
    /// What an alias or a word sets: a flag, its value, and the flag behind which the word stands.
    struct implied_flag {
        std::string flag;
        std::string value;
        std::string by{};
    };
    std::vector<implied_flag> implied_{}, line_implied_{};
    std::set<std::string> said_{}, line_said_{};
    std::size_t line_words_ = 0, line_own_ = 0;
    std::optional<std::string> method_{};  ///< the preference that the task names which is typed beside a line
    std::string count_{};                  ///< how many GPUs the kind of GPU is written with
    std::string accumulation_{};           ///< micro-batches in an optimizer step
    bool of_deepspeed_ = false;            ///< --deepspeed is said, which names the runtime
};

}  // namespace

bool names_gpus(const std::string& words) {
    for (std::size_t begin = 0; begin <= words.size();) {
        const std::size_t end = std::min(words.find(',', begin), words.size());
        // What is known to be no card in the tables is a name as well: its refusal says what to ask instead.
        const auto card = llmres::find_gpu(with_count(trimmed(words.substr(begin, end - begin))).name);
        if (!card && card.error().expected.view().starts_with("a GPU")) return false;
        begin = end + 1;
    }
    return true;
}

std::vector<std::string> own_spelling(const std::vector<std::string>& typed, const std::vector<std::string>& flags,
                                      std::vector<std::string>& notes, std::size_t of_line) {
    return speller{typed, flags, notes}.of_line(of_line).spelled();
}

std::vector<std::pair<std::string, std::string>> all_option_aliases() {
    std::vector<std::pair<std::string, std::string>> all;
    all.reserve(std::size(option_aliases));
    for (const option_alias& alias : option_aliases)
        all.emplace_back(alias.typed.starts_with('-') ? std::string{alias.typed} : "--" + std::string{alias.typed},
                         std::string{alias.means});
    return all;
}

}  // namespace program
