// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/io/json/launch/words.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Which program does a command line start, behind the wrappers that people put before it, and with which arguments?
namespace llmres::inline v0::detail {

/// A program whose options are known.
enum class launched_program : std::uint8_t { vllm, sglang, tensorrt_llm, llama_cpp, ollama };

/// What a command line starts.
struct launched_command {
    launched_program program{};
    std::vector<shell_word> arguments{};              ///< behind the program and its subcommand
    std::map<std::string, shell_word> environment{};  ///< variables that are set for it
    std::int64_t visible = 0;                         ///< GPUs that it sees; 0: all
};

/// The program that one of these commands starts: the first whose options are known. Unwrapped: assignments and
/// `export`, sudo, env, numactl, srun, uv run, ... (options of theirs are passed over), `bash -c`, `docker run` with an
/// image of a known server, python with a module or a script of one.
inline result<launched_command> launched_in(const std::vector<std::vector<shell_word>>& commands);

// ---- detail ---------------------------------------------------------------------------------------------------------

/// A word that names a program, a module, a subcommand or a part of an image.
struct program_name {
    std::string_view name;
    launched_program program;
    std::string_view subcommands = "";  ///< one of which must follow, with blanks between them
};

// clang-format off
inline constexpr std::array program_names{
    program_name{"vllm", launched_program::vllm, "serve"},
    program_name{"sglang", launched_program::sglang, "serve"},
    program_name{"trtllm-serve", launched_program::tensorrt_llm},
    program_name{"llama-server", launched_program::llama_cpp},
    program_name{"llama-cli", launched_program::llama_cpp},
    program_name{"llama-mtmd-cli", launched_program::llama_cpp},
    program_name{"llama-completion", launched_program::llama_cpp},
    program_name{"llama", launched_program::llama_cpp, "serve server cli run"},
    program_name{"ollama", launched_program::ollama, "run"}};
/// Python's modules, and the scripts of the same name.
inline constexpr std::array module_names{
    program_name{"vllm.entrypoints.openai.api_server", launched_program::vllm},
    program_name{"vllm.entrypoints.cli.main", launched_program::vllm, "serve"},
    program_name{"sglang.launch_server", launched_program::sglang},
    program_name{"sglang.cli.main", launched_program::sglang, "serve"},
    program_name{"tensorrt_llm.commands.serve", launched_program::tensorrt_llm}};
/// Images whose entry point is the server.
inline constexpr std::array image_names{
    program_name{"vllm-openai", launched_program::vllm},
    program_name{"vllm", launched_program::vllm},
    program_name{"llama.cpp", launched_program::llama_cpp}};
inline constexpr std::array<std::string_view, 34> wrapper_names{
    "sudo", "env", "export", "nohup", "time", "exec", "command", "stdbuf", "nice", "ionice", "chrt", "numactl",
    "taskset", "setsid", "unbuffer", "caffeinate", "uv", "uvx", "poetry", "pipenv", "pixi", "hatch", "conda", "mamba",
    "micromamba", "mpirun", "mpiexec", "srun", "trtllm-llmapi-launch", "apptainer", "singularity", "screen", "nsys",
    "systemd-run"};
// clang-format on

template <std::size_t Size>
constexpr const program_name* find_program(const std::array<program_name, Size>& names, std::string_view name) {
    for (const program_name& p : names)
        if (p.name == name) return &p;
    return nullptr;
}
/// The name of a program without its folder and ending.
constexpr std::string_view base_name(std::string_view word) {
    if (const std::size_t slash = word.find_last_of("/\\"); slash != std::string_view::npos)
        word.remove_prefix(slash + 1);
    return word.ends_with(".exe") ? word.substr(0, word.size() - 4) : word;
}
constexpr bool is_python(std::string_view name) {
    return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}
constexpr bool is_shell(std::string_view name) { return name == "bash" || name == "sh" || name == "zsh"; }
constexpr bool is_container_engine(std::string_view name) {
    return name == "docker" || name == "podman" || name == "nerdctl";
}
constexpr bool is_wrapper(std::string_view name) {
    for (const std::string_view w : wrapper_names)
        if (w == name) return true;
    return false;
}
/// Where the name of a variable that a word assigns ends; 0 where it assigns none.
constexpr std::size_t assigned_name(std::string_view word) {
    std::size_t end = 0;
    while (end < word.size() && (is_lower_or_digit(lower_case(word[end])) || word[end] == '_')) ++end;
    return end > 0 && end < word.size() && word[end] == '=' && !is_digit(word[0]) ? end : 0;
}

/// Finds what commands start.
class launch_finder {
public:
    result<launched_command> found(const std::vector<std::vector<shell_word>>& commands) {
        if (const status read = first_of(commands); !read) return read.error();
        if (is_found_) return std::move(found_);
        const std::string first = commands.empty() ? "empty" : commands.front().front().text;
        return refused(error_code::unknown, "line", first,
                       "a command with vllm serve, sglang serve, trtllm-serve, llama-server, llama-cli or ollama run");
    }

private:
    using words_of = std::vector<shell_word>;

    /// Reads commands until one starts a program. A command that names a program without starting it (`uv pip install
    /// vllm`) is refused where no other does.
    status first_of(const std::vector<words_of>& commands) {
        status refusal = done{};
        for (const words_of& words : commands) {
            const status read = command(words);
            if (is_found_) return read;
            if (refusal) refusal = read;
        }
        return refusal;
    }

    status command(const words_of& words, std::size_t at = 0) {
        wrapped_ = false;
        for (; at < words.size(); ++at) {
            const std::string& text = words[at].text;
            if (const std::size_t name = assigned_name(text); name > 0) {
                assign(text.substr(0, name), {text.substr(name + 1), words[at].variable});
                continue;
            }
            const std::string_view name = base_name(text);
            if (const program_name* p = find_program(program_names, name)) return program(*p, words, at + 1);
            if (is_python(name)) return python(words, at + 1);
            if (is_shell(name)) return shell(words, at + 1);
            if (is_container_engine(name)) return container(words, at + 1);
            wrapped_ = wrapped_ || is_wrapper(name);
            if (!wrapped_ && text != "$" && text != "%" && text != ">") return done{};  // another command
        }
        return done{};
    }
    void assign(const std::string& name, shell_word value) { found_.environment[name] = std::move(value); }
    status program(const program_name& p, const words_of& words, std::size_t at) {
        if (!p.subcommands.empty()) {
            const std::string next = at < words.size() ? words[at].text : "absent";
            std::string_view rest = p.subcommands;
            bool known = false;
            while (!rest.empty()) known = taken_before(rest, " ") == next || known;
            if (!known)
                return refused(
                    error_code::unsupported, p.name, next,
                    std::string{p.subcommands.substr(0, p.subcommands.find(' '))} + ", the command that loads a model");
            ++at;
        } else if (p.program == launched_program::tensorrt_llm && at < words.size() && words[at].text == "serve") {
            ++at;
        }
        return take(p.program, words, at);
    }
    status take(launched_program program, const words_of& words, std::size_t at) {
        found_.program = program;
        found_.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>((std::min)(at, words.size())), words.end());
        is_found_ = true;
        return see_devices();
    }
    status python(const words_of& words, std::size_t at) {
        for (; at < words.size(); ++at) {
            const std::string& text = words[at].text;
            if (text == "-m" && at + 1 < words.size()) {
                const program_name* p = find_program(module_names, words[at + 1].text);
                return p != nullptr ? program(*p, words, at + 2) : done{};
            }
            if (text == "-X" || text == "-W") ++at;
            if (text.starts_with('-')) continue;
            // A script, by its path as a module's name.
            std::string module = text;
            for (char& c : module) c = c == '/' ? '.' : c;
            for (const program_name& p : module_names)
                if (module.ends_with(std::string{p.name} + ".py")) return program(p, words, at + 1);
            if (const program_name* p = find_program(program_names, base_name(text))) return program(*p, words, at + 1);
            return done{};
        }
        return done{};
    }
    /// `bash -c "LINE"`.
    status shell(const words_of& words, std::size_t at) {
        for (; at + 1 < words.size(); ++at)
            if (words[at].text.starts_with('-') && words[at].text.ends_with('c')) return inner(words[at + 1].text);
        return done{};
    }
    status enter() {
        if (++depth_ <= 4) return done{};
        return refused(error_code::malformed, "line", "commands in commands", "at most 4 of bash -c and docker run");
    }
    status inner(const std::string& line) {
        if (const status entered = enter(); !entered) return entered;
        const auto commands = shell_commands(line);
        return commands ? first_of(*commands) : status{commands.error()};
    }
    /// Options of `docker run` that take no value.
    static bool is_bare(std::string_view option) {
        for (const std::string_view bare :
             {"--rm", "--privileged", "--init", "--interactive", "--tty", "--detach", "--read-only", "--publish-all",
              "--no-healthcheck", "--sig-proxy", "--oom-kill-disable", "--disable-content-trust", "--quiet", "-it",
              "--replace"})
            if (option == bare) return true;
        return !option.starts_with("--") && option.find_first_not_of("-ditPq") == std::string_view::npos;
    }
    status container(const words_of& words, std::size_t at) {
        if (const status entered = enter(); !entered) return entered;
        while (at < words.size() && words[at].text != "run" && words[at].text != "exec") ++at;
        const bool runs_inside = at < words.size() && words[at].text == "exec";
        std::string entry;
        for (++at; at < words.size() && words[at].text.starts_with('-'); ++at) {
            const std::string& option = words[at].text;
            const std::size_t equals = option.find('=');
            const bool is_long = option.starts_with("--");
            std::string name = option.substr(0, is_long ? equals : 2);
            shell_word value{"", words[at].variable};
            if (is_long && equals != std::string::npos) {
                value.text = option.substr(equals + 1);
            } else if (is_bare(option)) {
                continue;
            } else if (!is_long && option.size() > 2 && option.find_first_not_of("ditPq", 1) != option.size() - 1) {
                value.text = option.substr(2);  // -p8000:80
            } else if (at + 1 < words.size()) {
                if (!is_long) name = std::string{"-"} + option.back();  // -itv FOLDER
                value = words[++at];
            }
            if (name == "--entrypoint") entry = value.text;
            if (name == "-e" || name == "--env") {
                const std::size_t assigned = assigned_name(value.text);
                if (assigned > 0)
                    assign(value.text.substr(0, assigned), {value.text.substr(assigned + 1), value.variable});
            }
            if (name == "--gpus") gpus_of_container(value.text);
        }
        if (at >= words.size()) return done{};
        return runs_inside ? command(words, at + 1) : image(entry, words, at);
    }
    /// The number of GPUs behind `--gpus`: `all`, 2, `device=0,1` or `"device=0,1"`.
    void gpus_of_container(std::string text) {
        std::erase(text, '"');
        std::string_view rest = text;
        if (taken(rest, "device=")) assign("CUDA_VISIBLE_DEVICES", {std::string{rest}, ""});
        const std::int32_t count = taken_number(rest);
        if (count > 0 && rest.empty() && text.find("device=") == std::string::npos) found_.visible = count;
    }
    status image(const std::string& entry, const words_of& words, std::size_t at) {
        const std::string_view path = std::string_view{words[at].text}.substr(0, words[at].text.find('@'));
        const std::size_t slash = path.rfind('/');
        const std::string_view last = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
        const std::string_view name = last.substr(0, last.find(':'));
        const words_of inside{words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()};
        if (!entry.empty()) {
            words_of with_entry{{entry, ""}};
            with_entry.insert(with_entry.end(), inside.begin(), inside.end());
            return command(with_entry);
        }
        if (!inside.empty() && starts_something(inside.front().text)) return command(inside);
        for (const program_name& p : image_names) {
            if (!name.starts_with(p.name)) continue;
            // llama.cpp's full image takes the program as an option.
            const bool names_tool = !inside.empty() && (inside[0].text == "--server" || inside[0].text == "--run" ||
                                                        inside[0].text == "-s" || inside[0].text == "-r");
            return take(p.program, inside, p.program == launched_program::llama_cpp && names_tool ? 1 : 0);
        }
        return done{};
    }
    static bool starts_something(std::string_view word) {
        const std::string_view name = base_name(word);
        return find_program(program_names, name) != nullptr || is_python(name) || is_shell(name) || is_wrapper(name) ||
               assigned_name(word) > 0;
    }
    /// How many GPUs the program sees by the variables that are set.
    status see_devices() {
        for (const char* name :
             {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}) {
            const auto set = found_.environment.find(name);
            if (set == found_.environment.end() || set->second.text.empty() || set->second.text == "all") continue;
            if (!set->second.variable.empty())
                return refused(error_code::unsupported, name, set->second.variable,
                               "the numbers of the GPUs; variables are not expanded");
            std::int64_t count = 0;
            for (std::string_view rest = set->second.text; !rest.empty();) {
                const std::string_view one = taken_before(rest, ", ");
                if (one == "-1" || one == "none" || one == "void") break;  // what stands behind is hidden
                count += !one.empty();
            }
            if (count == 0)
                return refused(error_code::out_of_range, name, set->second.text, "a GPU that the program sees");
            found_.visible = count;
        }
        return done{};
    }

    launched_command found_{};
    bool is_found_ = false;
    bool wrapped_ = false;
    int depth_ = 0;
};

inline result<launched_command> launched_in(const std::vector<std::vector<shell_word>>& commands) {
    return launch_finder{}.found(commands);
}

}  // namespace llmres::inline v0::detail
