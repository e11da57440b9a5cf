// SPDX-License-Identifier: MIT
// The commands of commands.txt, as a shell would part them: most answer, and the others are refused with the spelling
// that would have been right.
#include <doctest/doctest.h>

#include "../model_files.hpp"
#include "../run_program.hpp"
#include "shell_words.hpp"

#include <fstream>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/qwen.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

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

/// Qwen3-8B's file in that mix.
void write_qwen3_8b(const run_program::scratch& files, const std::string& mix) {
    const std::string path = files.file("Qwen3-8B-" + mix + ".gguf", "");
    model_files::write_with_room(
        path, model_files::qwen3_8b_gguf_header(*llmres::find_gguf_mix("weights", mix), mix == "Q8_0" ? 7 : 15));
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
