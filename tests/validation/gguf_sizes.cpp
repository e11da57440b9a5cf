// SPDX-License-Identifier: MIT
// Published GGUF files against the bytes that their model's config.json predicts.
//
// A file is its header and its tensors, and only the tensors are predicted: the header holds the tokenizer. But all
// quantisations of one repository carry the same tokenizer. So the check is: file - predicted tensors, which should be the
// header, is the same for every file of a repository. It may differ by the few keys that the quantiser writes into some of
// them (`quantize.imatrix.*`, `general.quantization_version`, `split.*`): by no more than 512 bytes, while one matrix in
// another type, where that changes a size at all, is thousands. What the check cannot see is what every file of a
// repository shares and the prediction lacks; a constant vector would be that, a matrix would not, since its type changes with
// the quantisation. A repository with one file has nothing to be held against but headers of the same vocabulary.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <llmres/gguf_mix.hpp>
#include <llmres/io/gguf_model.hpp>
#include <llmres/io/hf_config.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../csv.hpp"

using namespace llmres;

namespace {

const std::string data = LLMRES_SHARED_DATA "/models/";

/// The config of each model of the table; models without one are left out.
const std::map<std::string, std::string> configs{
    {"Llama-3.1-8B", "configs/meta-llama__Meta-Llama-3.1-8B.json"},
    {"Qwen3-4B", "configs_derived/Qwen__Qwen3-4B.json"},
    {"Qwen3-8B", "configs/Qwen__Qwen3-8B.json"},
    {"Qwen2.5-7B", "configs/kqi__Qwen2_5_7B.json"},
    {"Qwen2.5-1.5B", "configs/kqi__Qwen2_5_1_5B.json"},
    {"Qwen2.5-3B", "configs/lc__qwen__qwen2_5_3b_instruct.json"},
    {"Llama-3.2-1B", "configs/lc__meta__llama3_2_1b_instruct.json"},
    {"Phi-3.5-mini", "configs/lc__microsoft__phi3_5_mini_instruct.json"},
    {"gemma-2-2b", "configs/kqi__gemma_2_2b.json"},
    {"Qwen3-0.6B", "configs/Qwen__Qwen3-0.6B.json"},
    {"Qwen3-32B", "configs/Qwen__Qwen3-32B.json"},
    {"DeepSeek-R1-0528-Qwen3-8B", "configs/Qwen__Qwen3-8B.json"},
    {"Qwen3-Coder-30B-A3B", "configs/Qwen__Qwen3-30B-A3B.json"},
    {"gpt-oss-20b", "configs/openai__gpt-oss-20b.json"},
    {"Qwen2-7B", "configs/mlc__qwen2_7b.json"},
    {"Llama-3-8B", "configs/kqi__Meta_Llama_3_8B.json"},
    {"Phi-3-mini-4k", "configs/lc__microsoft__phi3_mini4k_instruct.json"},
    {"gemma-3-4b-text", "configs/google__gemma-3-4b-it.json"},
    {"Llama-2-7B", "configs/kqi__Llama_2_7b_hf.json"},
    {"Mistral-7B-Instruct-v0.3", "configs/lc__mistral__mistral7b_instruct_v0_3.json"},
    {"Mistral-Small-24B-Instruct-2501", "configs/lc__mistral__mistral_small24b_instruct_2501.json"},
    {"Mistral-Small-Instruct-2409", "configs/lc__mistral__mistral_small_instruct_2409.json"},
    {"stablelm-2-12b-chat", "configs/lc__stabilityai__stablelm_2_12b_chat.json"},
    {"Qwen2.5-7B-Instruct", "configs/lc__qwen__qwen2_5_7b_instruct.json"},
    {"Qwen2.5-3B-Instruct", "configs/lc__qwen__qwen2_5_3b_instruct.json"},
    {"SuperNova-Medius", "configs/lc__arcee_ai__supernova_medius.json"},
    {"Llama-3_1-Nemotron-51B-Instruct", "configs/lc__nvidia__llama3_1_51b_nemotron_instruct.json"},
    {"Mistral-NeMo-Minitron-8B-Instruct", "configs/lc__nvidia__mistral_nemo_minitron_8b_instruct.json"},
    {"Phi-3.5-MoE-instruct", "configs/lc__microsoft__phi3_5_moe_instruct.json"}};

/// How a publisher runs converter and quantiser, as far as it shows in sizes.
gguf_mix as_published(gguf_mix mix, const std::string& repository, const model& m) {
    const auto by = [&](const char* publisher) { return repository.starts_with(publisher); };
    mix.importance_matrix = by("bartowski/") || by("unsloth/") || by("MaziyarPanahi/");
    // The official small Qwen2.5 files repeat the tied embedding as an output.
    mix.tied_head_stored = by("Qwen/Qwen2.5-") && m.tied_head;
    // Made in 2023.
    mix.before_2024 = by("TheBloke/");
    // unsloth asks for a Q4_K embedding with IQ4_XS, where it is not the output as well.
    if (by("unsloth/") && mix.quantisation == gguf_quantisation::IQ4_XS && !m.tied_head)
        mix.embedding = gguf_type::Q4_K;
    return mix;
}

struct file_row {
    std::string quantisation;
    std::int64_t vocabulary = 0;
    std::int64_t size = 0;
    std::int64_t header = 0;  ///< what the prediction leaves
};

struct table {
    std::map<std::string, std::vector<file_row>> repositories;
    std::vector<std::string> without_config;
    std::vector<std::string> unread;
};

table predicted() {
    table made;
    for (auto& row : csv::read(data + "gguf_sizes.csv")) {
        const std::string name = row["hf_repo"] + " " + row["quant"];
        const auto config = configs.find(row["model"]);
        if (config == configs.end()) {
            made.without_config.push_back(name);
            continue;
        }
        std::ifstream file{data + config->second};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        const auto m = read_hf_config(text);
        const auto mix = find_gguf_mix("quant", row["quant"]);
        if (!m || !mix) {
            made.unread.push_back(name + " (" + std::string{(m ? mix.error() : m.error()).value.view()} + ")");
            continue;
        }
        const gguf_mix used = with_rope_factors(as_published(*mix, row["hf_repo"], *m), nlohmann::json::parse(text));
        const std::int64_t size = std::stoll(row["file_bytes"]);
        made.repositories[row["hf_repo"]].push_back(
            {row["quant"], m->vocabulary, size, size - gguf_tensor_bytes(*m, used).in(bytes)});
    }
    return made;
}

/// The header that most files of a repository leave.
std::int64_t common_header(const std::vector<file_row>& files) {
    std::map<std::int64_t, int> votes;
    for (const file_row& file : files) ++votes[file.header];
    std::int64_t common = 0;
    int most = 0;
    for (const auto& [header, count] : votes)
        if (count > most) most = count, common = header;
    return common;
}

}  // namespace

TEST_CASE("a GGUF file's tensors are predicted to the byte from the config of its model" *
          doctest::skip(std::string_view{LLMRES_SHARED_DATA}.empty())) {
    const table found = predicted();
    constexpr std::int64_t keys = 512;  // what the quantiser writes into some headers and not into others
    std::size_t rows = 0;
    std::size_t same = 0;
    std::size_t but_for_keys = 0;
    std::vector<std::string> alone;
    std::vector<std::string> within;
    std::vector<std::string> off;
    for (const auto& [repository, files] : found.repositories) {
        const std::int64_t common = common_header(files);
        // A vocabulary's entry takes 20 to 70 bytes, whatever else the header says.
        CAPTURE(repository);
        CAPTURE(common);
        CHECK(common > 15 * files[0].vocabulary);
        CHECK(common < 90 * files[0].vocabulary);
        for (const file_row& file : files) {
            ++rows;
            const std::int64_t rest = file.header - common;
            const std::string name = repository + " " + file.quantisation + " " + std::to_string(rest);
            if (files.size() == 1)
                alone.push_back(repository + " " + file.quantisation);
            else if (rest == 0)
                ++same;
            else if (std::abs(rest) <= keys)
                ++but_for_keys;
            else if (std::abs(rest) * 1000 <= file.size)
                within.push_back(name);
            else
                off.push_back(name);
        }
    }
    MESSAGE(rows << " files with a config: " << same << " equal, " << but_for_keys
                 << " equal but for at most 512 bytes of keys, " << alone.size() << " alone in their repository, "
                 << within.size() << " within 0.1 %, " << off.size() << " off; " << found.without_config.size()
                 << " without a config, " << found.unread.size() << " with one that is not read yet");
    for (const std::string& name : alone) MESSAGE("alone: " << name);
    for (const std::string& name : within) MESSAGE("within 0.1 %: " << name);
    for (const std::string& name : off) MESSAGE("off: " << name);
    for (const std::string& name : found.unread) MESSAGE("not read yet: " << name);
    CHECK(rows > 150);
    CHECK(off.empty());
    CHECK((same + but_for_keys + alone.size()) * 100 >= rows * 95);

    // A file alone: its header against those of the same vocabulary, whose metadata (a chat template) differ by kilobytes.
    for (const auto& [repository, files] : found.repositories) {
        if (files.size() > 1) continue;
        for (const auto& [other, others] : found.repositories) {
            if (others.size() == 1 || std::abs(others[0].vocabulary - files[0].vocabulary) > 1024) continue;
            CAPTURE(repository);
            CAPTURE(other);
            CHECK(std::abs(common_header(others) - files[0].header) < 64 * 1024);
        }
    }
}
