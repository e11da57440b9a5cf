// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/json/launch/command.hpp>
#include <llmres/io/json/launch/file_name.hpp>
#include <llmres/io/json/launch/given.hpp>
#include <llmres/io/json/launch/options.hpp>
#include <llmres/io/json/launch/words.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/models/model.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/text.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// From what the command line of a server says to the job that it serves.
namespace llmres::inline v0::detail {

/// A job, and what the command line says beside it.
struct served_job {
    nlohmann::json document = nlohmann::json::object();  ///< the job document
    std::vector<std::string> notes{};                    ///< sentences on what the document does not hold
};

/// The job that a command serves. `gpus`: how many there are, where that is known beside it; 0: it is not.
inline result<served_job> job_served(const launched_command& command, std::int64_t gpus);

// ---- detail ---------------------------------------------------------------------------------------------------------

/// The options of a program.
inline option_grammar grammar_of(launched_program program) {
    switch (program) {
        case launched_program::vllm: return {.options = option_rows::vllm, .abbreviates = true};
        case launched_program::sglang: return {.options = option_rows::sglang, .abbreviates = true};
        case launched_program::tensorrt_llm: return {.options = option_rows::tensorrt_llm, .takes_any_word = true};
        case launched_program::llama_cpp: return {.options = option_rows::llama_cpp, .takes_any_word = true};
        case launched_program::ollama: return {.options = option_rows::ollama, .takes_any_word = true};
    }
    return {};
}

/// The variables of an environment that stand for options, as arguments: LLAMA_ARG_CTX_SIZE, OLLAMA_CONTEXT_LENGTH.
inline std::vector<shell_word> options_of_environment(const launched_command& command) {
    std::vector<shell_word> arguments;
    const std::string_view prefix = command.program == launched_program::llama_cpp ? "LLAMA_ARG_"
                                    : command.program == launched_program::ollama  ? "OLLAMA_"
                                                                                   : "";
    if (prefix.empty()) return arguments;
    const option_list options = grammar_of(command.program).options;
    for (const auto& [name, value] : command.environment) {
        if (!name.starts_with(prefix)) continue;
        std::string option = "--";
        for (const char c :
             std::string_view{name}.substr(command.program == launched_program::ollama ? 0 : prefix.size()))
            option += c == '_' ? '-' : lower_case(c);
        if (options.find(option) == nullptr && option.starts_with("--n-")) option.erase(2, 2);  // LLAMA_ARG_N_PARALLEL
        const launch_option* row = options.find(option);
        if (row == nullptr) continue;
        if (row->takes == option_value::bare || row->takes == option_value::flag) {
            if (const maybe<bool> said = truth_of(value.text); said && *said) arguments.push_back({option, ""});
        } else {
            arguments.push_back({option, ""});
            arguments.push_back(value);
        }
    }
    return arguments;
}

/// Makes the document.
class job_writer {
public:
    job_writer(const launched_command& command, given_options given, std::int64_t gpus)
        : command_{command}, given_{std::move(given)}, gpus_{gpus} {}

    result<served_job> written() {
        for (const std::string& option : given_.unmodelled)
            note(option + " changes memory or speed, and is not modelled");
        for (const auto& [key, value] : given_.values)
            if (!key.starts_with(':') && !value.is_null()) put(key, value);
        if (document_.value("context", nlohmann::json{}) == "auto") {
            document_.erase("context");
            note("the longest context that fits is not looked for (--max-model-len auto); see limits");
        }
        if (const status named = name_model(); !named) return named.error();
        status rest = done{};
        switch (command_.program) {
            case launched_program::vllm: rest = vllm(); break;
            case launched_program::sglang: rest = sglang(); break;
            case launched_program::tensorrt_llm: rest = tensorrt_llm(); break;
            case launched_program::llama_cpp: rest = llama_cpp(); break;
            case launched_program::ollama: rest = ollama(); break;
        }
        if (!rest) return rest.error();
        return std::move(job_);
    }

private:
    void note(std::string sentence) { job_.notes.push_back(std::move(sentence)); }
    /// Puts a value at "object.key" or "key".
    void put(std::string_view path, nlohmann::json value) {
        nlohmann::json* at = &document_;
        if (const std::size_t dot = path.find('.'); dot != std::string_view::npos) {
            at = &document_[std::string{path.substr(0, dot)}];
            path.remove_prefix(dot + 1);
        }
        (*at)[std::string{path}] = std::move(value);
    }
    void switch_on(std::string_view path) {
        const bool on = true;
        put(path, on);
    }
    /// The text, or the whole number, of an object's key; empty, or 0, where it has another type or is absent.
    static std::string text_in(const nlohmann::json& object, const char* key) {
        const auto found = object.find(key);
        return found != object.end() && found->is_string() ? found->get<std::string>() : "";
    }
    static std::int64_t whole_in(const nlohmann::json& object, const char* key) {
        const auto found = object.find(key);
        return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
    }
    std::string lower(std::string text) const {
        for (char& c : text) c = lower_case(c);
        return text;
    }

    // ---- what the programs share ----

    status name_model() {
        std::string name = given_.text("model");
        const auto& words = given_.positional;
        const bool of_ollama = command_.program == launched_program::ollama;
        const bool by_place =
            command_.program != launched_program::sglang && command_.program != launched_program::llama_cpp;
        if (name.empty() && by_place && !words.empty()) {
            if (!words[0].variable.empty())
                return refused(error_code::unsupported, "model", words[0].variable,
                               "its name: variables are not expanded");
            name = words[0].text;
        } else if (!words.empty() && command_.program != launched_program::llama_cpp) {
            return refused(error_code::unknown, "argument", words[0].text, "an option, or nothing more");
        }
        if (by_place && !of_ollama && words.size() > 1 && name == words[0].text)
            return refused(error_code::unknown, "argument", words[1].text, "an option, or nothing more");
        for (const std::string_view hub :
             {"hf.co/", "huggingface.co/", "https://huggingface.co/", "registry.ollama.ai/library/"})
            if (std::string_view{name}.starts_with(hub)) name.erase(0, hub.size());
        if (const std::string repository = given_.text(":repository"); !repository.empty())
            name = with_file(repository, given_.text(":repository_file"));
        if (name.empty()) return refused(error_code::missing, "model", "absent", "a model in the line");
        put("model", name);
        if (const auto found = find_preset(name); found && !looks_like_a_path(name)) model_ = found->model;
        return done{};
    }
    /// A repository with the quantisation that the name of its file ends with: model-Q4_K_M.gguf.
    static std::string with_file(const std::string& repository, std::string_view file) {
        const std::string_view weights = format_in_file_name(file);
        return weights.empty() ? repository : repository.substr(0, repository.find(':')) + ":" + std::string{weights};
    }
    /// Weights that the program casts or packs as it loads them. A checkpoint that is quantised already keeps its own.
    void quantise() {
        const std::string method = lower(given_.text(":quantization"));
        if (method.empty() || method == "none" || method == "null" || method == "auto") return;
        const bool is_wide_model = model_ && is_wide(model_->weights);
        const std::string name = lower(document_["model"].get<std::string>());
        const bool says_fp8 = name.find("fp8") != std::string::npos;
        if (method == "fp8" && !(model_ ? !is_wide_model : says_fp8)) put("weights", "fp8");
        if (method == "bitsandbytes" && is_wide_model) put("weights", "nf4");
        for (const std::string_view packed : {"awq", "gptq", "awq_marlin", "gptq_marlin"})
            if (method == packed && is_wide_model) put("weights", packed.substr(0, packed.find('_')));
        if (!document_.contains("weights") && is_wide_model)
            note("--quantization " + method +
                 " is taken as the checkpoint's own format, which MODEL does not name; "
                 "--weights says another");
    }
    void precisions() {
        const std::string dtype = given_.text(":dtype");
        if (!dtype.empty() && dtype != "auto") put("compute", dtype);
        const std::string cache = lower(given_.text(":kv_cache"));
        if (!cache.empty() && cache != "auto") put("kv_cache", cache);
        quantise();
    }
    /// The head of a model that generates no tokens. (vLLM, config/model.py: RunnerOption, ConvertOption, and the tasks
    /// of before.)
    status head() {
        struct choice {
            const char* key;
            std::string_view option, values;
        };
        std::array<std::string, 3> said;
        constexpr std::array choices{
            choice{":runner", "--runner", "auto generate pooling draft"},
            choice{":convert", "--convert", "auto none embed classify reward"},
            choice{":task", "--task", "auto generate embed embedding classify score reward transcription draft"}};
        for (std::size_t i = 0; i < choices.size(); ++i) {
            said[i] = lower(given_.text(choices[i].key));
            bool known = said[i].empty();
            for (std::string_view rest = choices[i].values; !rest.empty();)
                known = taken_before(rest, " ") == said[i] || known;
            if (!known)
                return refused(error_code::unknown, choices[i].option, said[i],
                               "one of " + std::string{choices[i].values});
        }
        const auto& [runner, adapted, task] = said;
        if (adapted == "classify" || task == "classify")
            put("head", "classification");
        else if (task == "score" || task == "reward" || adapted == "reward" || given_.is(":reranks"))
            put("head", "reranking");
        else if (runner == "pooling" || adapted == "embed" || task.starts_with("embed") || given_.is(":embeds"))
            put("head", "embedding");
        return done{};
    }
    /// Adapters that may be resident; the engine's own defaults where a number is not given.
    void adapters(std::int64_t count, std::int64_t rank) {
        if (!given_.is(":lora")) return;
        put("runtime.max_loras", given_.whole(":max_loras", count));
        put("runtime.max_lora_rank", given_.whole(":max_lora_rank", rank));
    }
    /// An extended context, and layers that are left out.
    void overrides() {
        nlohmann::json said = given_.value(":overrides");
        if (given_.value(":rope_scaling").is_object()) said["rope_scaling"] = given_.value(":rope_scaling");
        if (!said.is_object()) return;
        if (const auto text = said.find("text_config"); text != said.end() && text->is_object()) {
            nlohmann::json inner = std::move(*text);
            said.erase("text_config");
            said.update(inner);
        }
        for (const auto& [key, value] : said.items()) {
            const bool is_rope = (key == "rope_scaling" || key == "rope_parameters") && value.is_object();
            if (is_rope && value.contains("factor") && value["factor"].is_number())
                put("runtime.rope_scaling", value["factor"]);
            else if (key == "num_hidden_layers" && value.is_number_integer())
                document_["model"] = {{"from", document_["model"]}, {"layers", value}};
            else if (!is_rope)
                note("the override of " + key.substr(0, 60) + " is not planned");
        }
    }
    bool routes() const { return !model_ || has_experts(*model_); }
    /// Layers of each stage, as a variable of the environment deals them: "40,41".
    void stages(const char* variable) {
        const auto set = command_.environment.find(variable);
        if (set == command_.environment.end() || !set->second.variable.empty()) return;
        std::string layers = set->second.text;
        std::ranges::replace(layers, ',', '|');
        put("layout.stages", layers);
    }
    /// Holds the GPUs that the layout takes against those that are seen, and spreads them over nodes.
    status spread(std::int64_t world) {
        std::int64_t nodes = 1;
        if (const status read = degree(":nodes", nodes); !read) return read;
        if (nodes > 1 && world % nodes == 0) put("cluster.gpus_per_node", world / nodes);
        if (command_.visible > 0 && world > command_.visible * nodes)
            return refused(error_code::inconsistent, "GPUs that are visible", command_.visible,
                           "as many as the options ask for, ", world);
        return done{};
    }
    /// A degree: what is given, or 1. Refused where no runtime could have it.
    status degree(const char* key, std::int64_t& number) const {
        number = given_.whole(key, 1);
        return in_range(key, number, 1, most::gpus);
    }

    // ---- speculative decoding ----

    void drafts(std::int64_t tokens) {
        if (tokens > 0)
            note(std::to_string(tokens) + " tokens at most are drafted for each step: --draft_tokens " +
                 std::to_string(tokens) + " --acceptance X counts them in the times");
    }
    /// `method` in the words of vLLM: mtp, draft_model, ngram, eagle, ...
    void speculate(const std::string& method, const std::string& draft, std::int64_t tokens) {
        if (method.empty() && draft.empty()) return;
        if (method == "mtp" || method.ends_with("_mtp")) {
            switch_on("runtime.speculates_ahead");
        } else if (method == "draft_model") {
            put("runtime.draft", draft);
        } else if (method != "ngram" && method != "suffix") {
            note("a draft head (" + method.substr(0, 40) + (draft.empty() ? "" : ", ") + draft.substr(0, 80) +
                 ") takes memory that is not planned");
        }
        drafts(tokens);
    }

    // ---- the programs ----

    status vllm() {
        put("runtime.name", "vllm");
        std::int64_t tensor = 1, pipeline = 1, data = 1;
        for (const auto& [key, number] : {std::pair{"layout.tensor", &tensor}, std::pair{"layout.pipeline", &pipeline},
                                          std::pair{"layout.data", &data}}) {
            if (const status read = degree(key, *number); !read) return read;
            put(key, *number);
        }
        if (given_.is(":expert_parallel") && tensor * data > 1 && routes()) {
            put("layout.expert", tensor * data);
            put("layout.expert_tensor", 1);
        }
        stages("VLLM_PP_LAYER_PARTITION");
        precisions();
        if (const status read = head(); !read) return read;
        adapters(1, 16);
        overrides();
        nlohmann::json said = given_.value(":speculation");
        if (said.is_object()) {
            std::string method = lower(text_in(said, "method"));
            const std::string draft = text_in(said, "model");
            if (method.empty() && (draft == "ngram" || draft == "[ngram]")) method = "ngram";
            if (method.empty() && !draft.empty())
                method = lower(draft).find("eagle") != std::string::npos ? "eagle" : "draft_model";
            speculate(method, draft, whole_in(said, "num_speculative_tokens"));
        }
        return spread(tensor * pipeline * data);
    }

    status sglang() {
        put("runtime.name", "sglang");
        std::int64_t tensor = 1, pipeline = 1, data = 1, expert = 1, attention = 1;
        for (const auto& [key, number] :
             {std::pair{"layout.tensor", &tensor}, std::pair{"layout.pipeline", &pipeline},
              std::pair{"layout.data", &data}, std::pair{":expert", &expert}, std::pair{":attention_data", &attention}})
            if (const status read = degree(key, *number); !read) return read;
        const bool shares = given_.is(":dp_attention") || attention > 1;
        if (attention > 1) data = attention;
        const std::int64_t world = tensor * (shares ? 1 : data) * pipeline;
        if (tensor % expert != 0)
            return refused(error_code::inconsistent, "--ep-size", expert, "a divisor of --tp-size, ", tensor);
        if (shares && tensor % data != 0)
            return refused(error_code::inconsistent, "--dp-size", data, "a divisor of --tp-size, ", tensor);
        if (shares && data > 1 && !routes())
            note("attention on data ranks beside a dense feed-forward on tensor ranks is not planned");
        const bool deals = routes() && tensor > 1 && (expert > 1 || (shares && data > 1));
        if (deals) {
            put("layout.expert", expert);
            put("layout.expert_tensor", tensor / expert);
        }
        put("layout.tensor", shares && routes() ? tensor / data : tensor);
        put("layout.pipeline", pipeline);
        put("layout.data", shares && !routes() ? 1 : data);
        stages("SGLANG_PP_LAYER_PARTITION");
        precisions();
        if (const status read = head(); !read) return read;
        adapters(8, 16);
        overrides();
        const nlohmann::json said = given_.value(":speculation");
        if (said.is_object()) {
            std::string method = lower(text_in(said, "method"));
            const std::string draft = text_in(said, "model");
            const bool own = draft.empty() || lower(draft).find("nextn") != std::string::npos;
            if ((method == "eagle" || method == "nextn") && own) method = "mtp";
            if (method == "standalone") method = "draft_model";
            // One of the tokens that a step verifies is the model's own: of a chain they are its steps and one more
            // (arg_groups/speculative_hook.py: _handle_eagle_family).
            const std::int64_t verified = whole_in(said, "num_verified");
            speculate(method, draft, verified > 0 ? verified - 1 : whole_in(said, "num_steps"));
        }
        return spread(world);
    }

    status tensorrt_llm() {
        put("runtime.name", "tensorrt-llm");
        std::int64_t tensor = 1, pipeline = 1, expert = 1;
        for (const auto& [key, number] : {std::pair{"layout.tensor", &tensor}, std::pair{"layout.pipeline", &pipeline},
                                          std::pair{":expert", &expert}})
            if (const status read = degree(key, *number); !read) return read;
        put("layout.tensor", tensor);
        put("layout.pipeline", pipeline);
        if (tensor % expert != 0)
            return refused(error_code::inconsistent, "--ep_size", expert, "a divisor of --tp_size, ", tensor);
        if (expert > 1 && routes()) {
            put("layout.expert", expert);
            put("layout.expert_tensor", tensor / expert);
        }
        return spread(tensor * pipeline);
    }

    /// The GPUs that llama.cpp uses: those that are seen or named; 0: nothing says how many.
    std::int64_t devices() const {
        const std::string named = given_.text(":devices");
        if (!named.empty()) return 1 + std::ranges::count(named, ',');
        if (given_.text(":split_mode") == "none") return 1;
        if (command_.visible > 0) return command_.visible;
        const std::string ratios = given_.text("layout.tensor_split");
        if (gpus_ == 0 && !ratios.empty())
            return 1 + std::ranges::count_if(ratios, [](char c) { return c == ',' || c == '/'; });
        return gpus_;
    }
    status split_over_gpus() {
        const std::string mode = given_.text(":split_mode");
        const std::int64_t count = devices();
        if (given_.text(":devices") == "none") {
            put("cluster.gpu", "cpu");
            return done{};
        }
        if (!mode.empty() && mode != "none" && mode != "layer" && mode != "row" && mode != "tensor")
            return refused(error_code::unknown, "--split-mode", mode, "none, layer, row or tensor");
        if (count == 0 && (mode == "row" || mode == "tensor"))
            note("--split-mode " + mode + " is not planned: nothing says how many GPUs there are (--gpus N before --)");
        if (mode == "tensor" && given_.values.contains("layout.tensor_split")) {
            document_["layout"].erase("tensor_split");
            note("parts of tensors that differ (--tensor-split) are not planned");
        }
        if (count <= 1) {
            document_.erase("layout");
            return done{};
        }
        put("cluster.gpus", count);
        put(mode == "tensor" ? "layout.tensor" : "layout.pipeline", count);
        if (mode == "row") switch_on("runtime.split_rows");
        return done{};
    }
    /// Whether a pattern of tensors names the experts of all layers: ".ffn_.*_exps.", "exps", and the like.
    static bool names_all_experts(std::string_view pattern) {
        std::string letters;
        for (const char c : pattern) {
            if (is_digit(c)) return false;
            if (is_lower_or_digit(lower_case(c))) letters += lower_case(c);
        }
        constexpr std::array known{"exps",
                                   "ffnexps",
                                   "blkffnexps",
                                   "expsweight",
                                   "ffnexpsweight",
                                   "blkffnexpsweight",
                                   "ffngateupdownexps",
                                   "ffnupdowngateexps",
                                   "blkffngateupdownexps"};
        return std::ranges::find(known, letters) != known.end();
    }
    void place_tensors() {
        for (const std::string& said : given_.tensors) {
            for (std::string_view rest = said; !rest.empty();) {
                const std::string_view one = taken_before(rest, ",");
                const std::size_t equals = one.rfind('=');
                const bool on_host = equals != std::string_view::npos && same_letters(one.substr(equals + 1), "cpu");
                if (on_host && names_all_experts(one.substr(0, equals)))
                    switch_on("runtime.cpu_moe");
                else
                    note("--override-tensor " + std::string{one.substr(0, 100)} + " is not planned");
            }
        }
    }
    /// What a slot has of the context that is given.
    enum class slot_context : std::uint8_t { divided, whole };
    /// Sequences in flight, and tokens of each: the context is divided among the slots, unless these share one cache.
    void slots(slot_context each) {
        const std::int64_t count = given_.whole(":slots", 1);
        const std::int64_t context = given_.whole(":context", given_.whole("context", 0));
        const bool apart = count > 1 && !given_.is(":unified");
        if (apart) put("batch", count);
        if (context > 0) put("context", apart && each == slot_context::divided ? context / count : context);
    }
    void flash_attention() {
        const std::string said = given_.text(":flash_attention");
        const bool is_bare = said.empty() && given_.values.contains(":flash_attention");
        const maybe<bool> on = truth_of(is_bare ? "on" : said);
        if (on) put("runtime.flash_attn", *on);
    }

    status llama_cpp() {
        // Options that ik_llama.cpp alone has.
        const bool is_fork = given_.values.contains("runtime.mla_use") ||
                             given_.values.contains("runtime.attn_max_batch") ||
                             given_.values.contains("runtime.run_time_repack");
        put("runtime.name", is_fork ? "ik_llama.cpp" : "llama.cpp");
        if (const status read = head(); !read) return read;
        slots(slot_context::divided);
        flash_attention();
        // Each of both has its own default, f16.
        if (document_.contains("kv_cache") && !document_.contains("kv_cache_values")) put("kv_cache_values", "f16");
        if (const std::int64_t batch = given_.whole(":batch", 2048); batch < given_.whole("runtime.ubatch_size", 512))
            put("runtime.ubatch_size", batch);
        const std::string layers = given_.text(":gpu_layers");
        std::int64_t count = 0;
        if (whole_number(layers, multipliers::none, count) && count >= 0)
            put("runtime.gpu_layers", count);
        else if (!layers.empty() && layers != "auto" && layers != "all" && layers != "-1" && layers != "-2")
            return refused(error_code::malformed, "--n-gpu-layers", layers, "a whole number, auto or all");
        if (const maybe<bool> fit = truth_of(given_.text(":fit")); !is_fork && (!fit || *fit)) switch_on("runtime.fit");
        if (given_.denies(":op_offload")) switch_on("runtime.no_op_offload");
        if (given_.text(":load_mode") == "none") switch_on("runtime.no_mmap");
        const nlohmann::json rope = given_.value(":rope");
        if (rope.is_object() && rope.contains("factor")) put("runtime.rope_scaling", rope["factor"]);
        place_tensors();
        const nlohmann::json said = given_.value(":speculation");
        if (said.is_object()) {
            const std::string method = text_in(said, "method");
            const std::string draft = text_in(said, "model");
            const bool own = said.contains("mtp") || method.find("mtp") != std::string::npos ||
                             lower(draft).find("mtp") != std::string::npos;
            const bool looks_up = method.starts_with("ngram") && draft.empty();
            speculate(own                ? "mtp"
                      : looks_up         ? "ngram"
                      : !draft.empty()   ? "draft_model"
                      : method == "none" ? ""
                                         : method,
                      draft, whole_in(said, "num_speculative_tokens"));
        }
        return split_over_gpus();
    }

    status ollama() {
        put("runtime.name", "ollama");
        slots(slot_context::whole);
        const nlohmann::json said = given_.value(":speculation");
        if (said.is_object()) put("runtime.draft", text_in(said, "model"));
        flash_attention();
        return done{};
    }

    const launched_command& command_;
    given_options given_;
    std::int64_t gpus_ = 0;
    served_job job_{};
    nlohmann::json& document_ = job_.document;
    maybe<model> model_{};
};

inline result<served_job> job_served(const launched_command& command, std::int64_t gpus) {
    std::vector<shell_word> arguments = options_of_environment(command);
    arguments.insert(arguments.end(), command.arguments.begin(), command.arguments.end());
    const auto given = options_given(grammar_of(command.program), arguments);
    if (!given) return given.error();
    return job_writer{command, *given, gpus}.written();
}

}  // namespace llmres::inline v0::detail
