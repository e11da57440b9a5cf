// SPDX-License-Identifier: MIT
// The commands of commands.txt, as a shell would part them: most answer, and the others are refused with the spelling
// that would have been right.
#include <doctest/doctest.h>

#include "../model_files.hpp"
#include "../run_program.hpp"

#include <fstream>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/qwen.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// The words of a line, with those in quotes whole.
std::vector<std::string> shell_words(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    char quote = '\0';
    bool open = false;
    for (const char c : line + " ") {
        if (quote != '\0' ? c == quote : c == '"' || c == '\'') {
            quote = quote != '\0' ? '\0' : c;
            open = true;
        } else if (c == ' ' && quote == '\0') {
            if (open || !word.empty()) words.push_back(word);
            word.clear();
            open = false;
        } else {
            word += c;
        }
    }
    return words;
}

struct command {
    std::string line;
    std::vector<std::string> refused;  ///< words of its refusal; empty: it answers
};

std::vector<command> commands_in(const std::string& path) {
    std::vector<command> all;
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("llmres ")) all.push_back({line, {}});
        if (line.starts_with("refused:")) all.back().refused = shell_words(line.substr(8));
    }
    return all;
}

/// The header of Qwen3-8B's file in that mix; what follows it takes no room on the disk.
void write_qwen3_8b(const run_program::scratch& files, const std::string& mix) {
    gguf_writer w;
    w.text("general.architecture", "qwen3");
    w.integer("general.file_type", mix == "Q8_0" ? 7 : 15);
    for (const auto& [key, value] : {std::pair{"embedding_length", 4096u},
                                     {"block_count", 36u},
                                     {"feed_forward_length", 12288u},
                                     {"context_length", 40960u},
                                     {"attention.head_count", 32u},
                                     {"attention.head_count_kv", 8u},
                                     {"attention.key_length", 128u}})
        w.integer(std::string{"qwen3."} + key, value);
    w.tensors_of(llmres::models::qwen3_8b, *llmres::find_gguf_mix("weights", mix));
    w.with_data = false;
    const std::string header = w.bytes();
    const std::string path = files.file("Qwen3-8B-" + mix + ".gguf", header);
    run_program::fs::resize_file(path, header.size() + (std::uintmax_t{10} << 30));
}

}  // namespace

TEST_CASE("commands are understood as people type them, or refused with the right spelling") {
    const run_program::scratch files;
    for (const char* mix : {"Q4_K_M", "Q8_0"}) write_qwen3_8b(files, mix);
    const std::vector<command> commands = commands_in(LLMRES_SOURCE_DIR "/tests/program/commands.txt");
    CHECK(commands.size() == 150);
    int answered = 0;
    for (const command& c : commands) {
        CAPTURE(c.line);
        std::vector<std::string> arguments = shell_words(c.line);
        arguments.erase(arguments.begin());
        const run_program::outcome o = run_program::run(arguments, files.path());
        CAPTURE(o.err);
        if (c.refused.empty()) {
            CHECK((o.exit == 0 || o.exit == 1));
            answered += o.exit == 0 || o.exit == 1;
            continue;
        }
        CHECK(o.exit == 2);
        for (const std::string& word : c.refused) CHECK(o.err.find(word) != std::string::npos);
    }
    CHECK(answered >= 140);
    MESSAGE(answered, " of ", commands.size(), " answer");
}
