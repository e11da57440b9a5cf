// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/io/json/launch/command.hpp>
#include <llmres/io/json/launch/serving.hpp>
#include <llmres/io/json/launch/words.hpp>
#include <llmres/values/error.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The command line that starts a job (`vllm serve MODEL --tensor-parallel-size 4 ...`, the arguments of a container),
/// read as a job document: the other direction of answers/launch.hpp. It is read as text: nothing is run, expanded or
/// opened.
namespace llmres::inline v0 {

/// What a command line asks for.
struct launch_line {
    nlohmann::json document{};  ///< a job document, which lacks what the line does not say: mostly the GPU
    /// Sentences on what of the line the document does not hold: options that change memory or speed and are not
    /// modelled, with their values.
    std::vector<std::string> notes{};
};

/// Reads a command line of vLLM, SGLang, TensorRT-LLM, llama.cpp or Ollama, with what people put before it (variables,
/// sudo, docker run IMAGE, ...). `gpus`: how many there are, which llama.cpp's split modes depend on; 0: unknown.
/// Options without a bearing on the job (addresses, logs, parsers of answers) are passed over. Refused: an option that
/// the program does not have, and a variable where its value matters.
inline result<launch_line> read_launch_line(std::string_view line, std::int64_t gpus = 0);

/// The same of words that a shell has split already.
inline result<launch_line> read_launch_line(const std::vector<std::string>& words, std::int64_t gpus = 0);

/// The commands of a text with their words, as they are split before they are read.
inline result<std::vector<std::vector<std::string>>> split_launch_line(std::string_view line);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

inline result<launch_line> read_launch(const std::vector<std::vector<shell_word>>& commands, std::int64_t gpus) {
    const auto command = launched_in(commands);
    if (!command) return command.error();
    auto job = job_served(*command, gpus);
    if (!job) return job.error();
    return launch_line{std::move(job->document), std::move(job->notes)};
}

}  // namespace detail

inline result<std::vector<std::vector<std::string>>> split_launch_line(std::string_view line) {
    const auto read = detail::shell_commands(line);
    if (!read) return read.error();
    std::vector<std::vector<std::string>> commands;
    for (const std::vector<detail::shell_word>& words : *read) {
        std::vector<std::string> command;
        command.reserve(words.size());
        for (const detail::shell_word& word : words) command.push_back(word.text);
        commands.push_back(std::move(command));
    }
    return commands;
}

inline result<launch_line> read_launch_line(std::string_view line, std::int64_t gpus) {
    const auto commands = detail::shell_commands(line);
    return commands ? detail::read_launch(*commands, gpus) : result<launch_line>{commands.error()};
}

inline result<launch_line> read_launch_line(const std::vector<std::string>& words, std::int64_t gpus) {
    if (words.size() > detail::most_launch_words)
        return refused(error_code::out_of_range, "line", "too many words", "at most 5,000");
    std::vector<detail::shell_word> command;
    command.reserve(words.size());
    for (const std::string& word : words) command.push_back({word, ""});
    if (command.empty()) return detail::read_launch({}, gpus);
    return detail::read_launch({command}, gpus);
}

}  // namespace llmres::inline v0
