// SPDX-License-Identifier: MIT
// What SGLang chooses when it starts. Answers in tables are those of its own releases, of the rows that
// tests/validation/sglang/arguments.py asks them for; the others are arithmetic of the rule in server_args.py.
#include <llmres/runtimes/sglang.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <string_view>

using namespace llmres;

#include <cstddef>
namespace {

/// Memory as nvidia-smi reports it, and the major part of the compute capability.
struct card {
    std::int64_t mebibytes;
    std::int32_t capability;
};
constexpr card rtx_4080{16376, 8}, rtx_4090{24564, 8}, rtx_5090{32607, 12}, a100_40gb{40960, 8}, l40s{46068, 8},
    a100_80gb{81920, 8}, h100{81559, 9}, h20{97871, 9}, h200{143771, 9}, b200{183359, 10}, b300{275040, 10};

/// What its rules ask of a model. Qwen's tower has 27 layers, which its config.json calls otherwise (`depth`).
struct family {
    std::string_view type;
    bool latent = false, routed = false, images = false;
    std::int64_t image_hidden = 0;
};
constexpr family llama{"llama"}, deepseek_v3{"deepseek_v3", true, true}, qwen3_moe{"qwen3_moe", false, true},
    gpt_oss{"gpt_oss", false, true}, qwen3_next{"qwen3_next", false, true}, gemma3{"gemma3", false, false, true, 1152},
    qwen3_vl{"qwen3_vl", false, false, true, 1152};

/// How many sizes of graphs there are, and their sum.
struct sizes {
    std::int64_t count = 0, sum = 0;
};

/// A release's answer. `chunk`: chunked_prefill_size of each rank that computes attention.
struct answer {
    const runtime* profile;
    family model;
    card gpu;
    std::int64_t chunk;
    start_facts asked;
    double fraction;
    sizes decode, prefill;
};

start_facts facts_of(family model, card gpu, std::int64_t chunk, start_facts asked = {}) {
    asked.device = mib(gpu.mebibytes);
    asked.capability = gpu.capability;
    asked.step = tokens(chunk * asked.attention_ranks);
    asked.architecture = model.type;
    asked.latent = model.latent;
    asked.routed = model.routed;
    asked.images = model.images;
    asked.image_hidden = model.image_hidden;
    return asked;
}

start_choices chosen(const runtime& profile, const start_facts& facts) { return profile.cache.default_fraction(facts); }

void check_sizes(const captured_sizes& found, sizes expected) {
    sizes listed;
    found.for_each([&](std::int64_t size) { ++listed.count, listed.sum += size; });
    CHECK(listed.count == expected.count);
    CHECK(listed.sum == expected.sum);
    CHECK(found.count() == expected.count);
}

void check(const answer& a) {
    CAPTURE(std::string{a.profile->identity.versions.view()});
    CAPTURE(std::string{a.model.type});
    CAPTURE(a.gpu.mebibytes);
    CAPTURE(a.asked.tensor);
    CAPTURE(a.chunk);
    const start_choices made = chosen(*a.profile, facts_of(a.model, a.gpu, a.chunk, a.asked));
    CHECK(*made.fraction == doctest::Approx(a.fraction).epsilon(1e-12));
    check_sizes(made.decode, a.decode);
    check_sizes(made.prefill, a.prefill);
}

template <std::size_t Size>
void check_all(const answer (&answers)[Size]) {
    for (const answer& a : answers) check(a);
}

}  // namespace

// clang-format off
TEST_CASE("SGLang 0.5.23 chooses by the card and by its tensor ranks as its own code does") {
    const answer answers[] = {
        {&runtimes::sglang, llama, rtx_4080, 2048, {}, 0.752, {4, 15}, {42, 18528}},
        {&runtimes::sglang, llama, rtx_4080, 2048, {.tensor = 8}, 0.697, {4, 15}, {42, 18528}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {}, 0.704, {10, 187}, {50, 44128}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {.tensor = 2}, 0.698, {10, 187}, {50, 44128}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {.tensor = 4}, 0.679, {24, 1699}, {50, 44128}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {.tensor = 8}, 0.658, {24, 1699}, {50, 44128}},
        {&runtimes::sglang, llama, rtx_5090, 4096, {}, 0.777, {10, 187}, {50, 44128}},
        {&runtimes::sglang, llama, rtx_5090, 4096, {.tensor = 4}, 0.758, {24, 1699}, {50, 44128}},
        {&runtimes::sglang, llama, a100_40gb, 4096, {}, 0.823, {8, 99}, {50, 44128}},
        {&runtimes::sglang, llama, l40s, 4096, {}, 0.843, {8, 99}, {50, 44128}},
        {&runtimes::sglang, llama, l40s, 4096, {.tensor = 4}, 0.829, {24, 1699}, {50, 44128}},
        {&runtimes::sglang, llama, a100_80gb, 8192, {}, 0.83, {36, 4243}, {58, 95328}},
        {&runtimes::sglang, llama, a100_80gb, 8192, {.tensor = 8}, 0.813, {52, 10515}, {58, 95328}},
        {&runtimes::sglang, llama, h20, 8192, {.tensor = 4}, 0.849, {52, 10515}, {58, 95328}},
        {&runtimes::sglang, llama, h200, 8192, {}, 0.903, {36, 4243}, {58, 95328}},
        {&runtimes::sglang, llama, b200, 16384, {}, 0.854, {52, 10515}, {74, 296032}},
        {&runtimes::sglang, llama, b200, 16384, {.tensor = 8}, 0.849, {52, 10515}, {74, 296032}},
        {&runtimes::sglang, llama, b300, 16384, {.tensor = 2}, 0.902, {52, 10515}, {74, 296032}},
        {&runtimes::sglang, llama, h100, 8192, {.tensor = 2, .pipeline = 2}, 0.831, {36, 4243}, {}},
        {&runtimes::sglang, llama, b200, 16384, {.tensor = 2, .pipeline = 2}, 0.855, {52, 10515}, {}},
    };
    check_all(answers);
}

TEST_CASE("SGLang 0.5.23 chooses by what its caller names as its own code does") {
    const answer answers[] = {
        {&runtimes::sglang, llama, rtx_4090, 1024, {}, 0.833, {10, 187}, {38, 11872}},
        {&runtimes::sglang, llama, h100, 1024, {}, 0.874, {36, 4243}, {38, 11872}},  // 10 GiB, which it keeps at least
        {&runtimes::sglang, llama, rtx_4090, 16384, {}, -0.055, {10, 187}, {74, 296032}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {.cache = tokens(2000)}, 0.707, {10, 187}, {41, 16480}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {.sequences = 20}, 0.706, {7, 63}, {50, 44128}},
        {&runtimes::sglang, llama, b200, 16384, {.sequences = 20}, 0.859, {7, 63}, {74, 296032}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {.captures = false}, 0.724, {}, {}},
        {&runtimes::sglang, llama, rtx_4090, 4096, {.drafts = drafting::lookup}, 0.704, {23, 420}, {50, 44128}},
        {&runtimes::sglang, llama, l40s, 4096, {.drafts = drafting::lookup}, 0.843, {20, 288}, {50, 44128}},
        {&runtimes::sglang, llama, b200, 16384, {.drafts = drafting::lookup}, 0.854, {67, 10860}, {74, 296032}},
        {&runtimes::sglang, deepseek_v3, rtx_4090, 4096, {.tensor = 8, .drafts = drafting::layers}, 0.612, {39, 2044},
         {50, 44128}},
        {&runtimes::sglang, deepseek_v3, b200, 16384, {.tensor = 8, .drafts = drafting::layers}, 0.844, {67, 10860}, {}},
    };
    check_all(answers);
}

TEST_CASE("SGLang 0.5.23 chooses by the model as its own code does") {
    const answer answers[] = {
        {&runtimes::sglang, deepseek_v3, rtx_4090, 4096, {}, 0.657, {10, 187}, {50, 44128}},
        {&runtimes::sglang, deepseek_v3, l40s, 16384, {}, 0.418, {8, 99}, {58, 95328}},
        {&runtimes::sglang, deepseek_v3, b200, 16384, {}, 0.849, {52, 10515}, {}},
        {&runtimes::sglang, qwen3_moe, b200, 16384, {}, 0.854, {52, 10515}, {74, 296032}},
        {&runtimes::sglang, gpt_oss, b200, 16384, {}, 0.854, {52, 10515}, {74, 296032}},
        {&runtimes::sglang, qwen3_next, l40s, 4096, {}, 0.843, {8, 99}, {50, 44128}},
        {&runtimes::sglang, gemma3, l40s, 4096, {}, 0.843, {8, 99}, {50, 44128}},
        {&runtimes::sglang, qwen3_vl, l40s, 4096, {}, 0.7869755468749999, {8, 99}, {}},
        {&runtimes::sglang, qwen3_vl, rtx_4090, 4096, {.tensor = 8}, 0.62329203125, {24, 1699}, {}},
        // Ranks that compute attention apart: chunks are divided over them.
        {&runtimes::sglang, deepseek_v3, rtx_4080, 256, {.tensor = 8, .attention_ranks = 8}, 0.612, {4, 15}, {22, 2272}},
        {&runtimes::sglang, deepseek_v3, rtx_4090, 512, {.tensor = 8, .attention_ranks = 8}, 0.455, {24, 1699},
         {30, 5472}},
        {&runtimes::sglang, deepseek_v3, h100, 1024, {.tensor = 8, .attention_ranks = 8}, 0.573, {52, 10515},
         {38, 11872}},
        {&runtimes::sglang, deepseek_v3, b300, 2048, {.tensor = 8, .attention_ranks = 8}, 0.829, {52, 10515}, {}},
        {&runtimes::sglang, qwen3_moe, b200, 2048, {.tensor = 8, .attention_ranks = 8}, 0.748, {52, 10515}, {42, 18528}},
    };
    check_all(answers);
}

TEST_CASE("releases of SGLang since 0.5.13 differ from the next one as their own code does") {
    const answer answers[] = {
        {&runtimes::sglang_0_5_22, deepseek_v3, rtx_4090, 4096, {}, 0.657, {10, 187}, {42, 18528}},
        {&runtimes::sglang_0_5_22, llama, l40s, 4096, {.sequences = 20}, 0.843, {7, 63}, {50, 44128}},
        {&runtimes::sglang_0_5_21, llama, l40s, 4096, {.sequences = 20}, 0.843, {8, 99}, {50, 44128}},
        {&runtimes::sglang_0_5_21, llama, rtx_4090, 4096, {}, 0.704, {10, 187}, {50, 44128}},
        {&runtimes::sglang_0_5_19, llama, rtx_4090, 2048, {}, 0.833, {7, 67}, {42, 18528}},
        {&runtimes::sglang_0_5_19, llama, rtx_4090, 2048, {.tensor = 2, .pipeline = 2}, 0.831, {7, 67}, {}},
        {&runtimes::sglang_0_5_19, deepseek_v3, h100, 1024, {}, 0.874, {36, 4243}, {42, 18528}},
        {&runtimes::sglang_0_5_18, deepseek_v3, h100, 1024, {}, 0.874, {36, 4243}, {}},
        {&runtimes::sglang_0_5_18, deepseek_v3, b200, 16384, {}, 0.857, {52, 10515}, {}},
        {&runtimes::sglang_0_5_18, llama, rtx_4090, 2048, {.tensor = 2, .pipeline = 2}, 0.818, {7, 67}, {42, 18528}},
        {&runtimes::sglang_0_5_18, llama, l40s, 4096, {.context = tokens(3000)}, 0.843, {8, 99}, {50, 44128}},
        {&runtimes::sglang_0_5_18, qwen3_moe, h100, 1024, {.tensor = 8, .attention_ranks = 8}, 0.586, {52, 10515},
         {38, 11872}},
        {&runtimes::sglang_0_5_16, qwen3_moe, h100, 1024, {.tensor = 8, .attention_ranks = 8}, 0.592, {52, 10515}, {}},
        {&runtimes::sglang_0_5_16, llama, l40s, 4096, {.context = tokens(3000)}, 0.844, {8, 99}, {45, 26208}},
        {&runtimes::sglang_0_5_16, llama, rtx_4090, 2048, {.captures = false}, 0.849, {}, {}},
        {&runtimes::sglang_0_5_16, qwen3_next, h100, 8192, {}, 0.83, {36, 4243}, {58, 95328}},
        {&runtimes::sglang_0_5_14, qwen3_next, h100, 8192, {}, 0.835, {36, 4243}, {}},
        {&runtimes::sglang_0_5_14, llama, rtx_4090, 2048, {.captures = false}, 0.847, {}, {}},
        {&runtimes::sglang_0_5_14, llama, rtx_4090, 2048, {.tensor = 2, .pipeline = 2}, 0.831, {7, 67}, {}},
        {&runtimes::sglang_0_5_14, deepseek_v3, rtx_4090, 2048, {.tensor = 8, .drafts = drafting::layers}, 0.743,
         {29, 804}, {42, 18528}},
        {&runtimes::sglang_0_5_13, deepseek_v3, rtx_4090, 2048, {.tensor = 8, .drafts = drafting::layers}, 0.577,
         {29, 804}, {42, 18528}},
        {&runtimes::sglang_0_5_13, llama, rtx_4090, 2048, {.captures = false}, 0.833, {}, {42, 18528}},
        {&runtimes::sglang_0_5_13, deepseek_v3, b200, 16384, {}, 0.849, {52, 10515}, {42, 18528}},
    };
    check_all(answers);
}

TEST_CASE("releases of SGLang from 0.5.3 to 0.5.12 differ from the next one as their own code does") {
    const answer answers[] = {
        {&runtimes::sglang_0_5_12, llama, l40s, 4096, {.context = tokens(3000)}, 0.843, {8, 99}, {50, 44128}},
        {&runtimes::sglang_0_5_12, llama, rtx_4090, 2048, {.drafts = drafting::lookup}, 0.833, {16, 172}, {42, 18528}},
        {&runtimes::sglang_0_5_12, deepseek_v3, b200, 16384, {.tensor = 8, .drafts = drafting::layers}, 0.821,
         {67, 10860}, {}},
        {&runtimes::sglang_0_5_12, gpt_oss, b200, 16384, {}, 0.854, {52, 10515}, {74, 296032}},
        {&runtimes::sglang_0_5_12, qwen3_moe, b200, 16384, {}, 0.854, {52, 10515}, {}},
        {&runtimes::sglang_0_5_10, llama, rtx_4080, 2048, {}, 0.752, {4, 15}, {42, 18528}},
        {&runtimes::sglang_0_5_10, llama, rtx_4090, 2048, {.drafts = drafting::lookup}, 0.847, {16, 172}, {}},
        {&runtimes::sglang_0_5_10, deepseek_v3, b200, 16384, {.tensor = 8, .drafts = drafting::layers}, 0.83,
         {67, 10860}, {}},
        {&runtimes::sglang_0_5_9, llama, rtx_4080, 2048, {}, 0.772, {4, 15}, {}},
        {&runtimes::sglang_0_5_9, deepseek_v3, b200, 16384, {}, 0.857, {52, 10515}, {}},
        {&runtimes::sglang_0_5_7, llama, rtx_4090, 2048, {}, 0.847, {7, 67}, {}},
        {&runtimes::sglang_0_5_7, llama, rtx_4090, 2048, {.captures = false}, 0.847, {}, {}},
        {&runtimes::sglang_0_5_4, llama, rtx_4090, 2048, {}, 0.848, {6, 43}, {}},
        {&runtimes::sglang_0_5_4, llama, rtx_5090, 2048, {}, 0.885, {6, 43}, {}},
    };
    check_all(answers);
}
// clang-format on

TEST_CASE("a card of exactly 20, 35, 60 or 160 GiB is of the larger class, whose graphs hold more sequences") {
    // server_args.py: "if gpu_mem < 20 * 1024", and so on
    const auto largest = [](byte_count device, std::int32_t tensor) {
        start_facts facts = facts_of(llama, h100, 2048, {.tensor = tensor});
        facts.device = device;
        return chosen(runtimes::sglang, facts).decode.largest;
    };
    CHECK(largest(gib(20) - mib(1), 4) == 8);
    CHECK(largest(gib(20), 3) == 48);
    CHECK(largest(gib(20), 4) == 160);
    CHECK(largest(gib(35) - mib(1), 3) == 48);
    CHECK(largest(gib(35), 3) == 32);
    CHECK(largest(gib(60) - mib(1), 4) == 160);
    CHECK(largest(gib(60), 3) == 256);
    CHECK(largest(gib(60), 4) == 512);
    CHECK(largest(gib(160) - mib(1), 1) == 256);
    CHECK(largest(gib(160), 1) == 512);
}

TEST_CASE("devices of more than 60 GiB leave 10 GiB at least, those of 60 what the step takes") {
    const auto left = [](std::int64_t mebibytes) {
        const double part = *chosen(runtimes::sglang, facts_of(llama, {mebibytes, 9}, 1024)).fraction;
        return (1.0 - part) * static_cast<double>(mebibytes);
    };
    // 512 + 1.5 x 2048 tokens, 128 of a GPU, 2 x 256 sequences, and 8 for each of 38 graphs of up to 1,024 tokens
    const double of_step = 512 + 3072 + 128 + 512 + 38 * 8;
    CHECK(left(61440) == doctest::Approx(of_step).epsilon(0.01));
    CHECK(left(61441) == doctest::Approx(10240).epsilon(0.01));
    CHECK(left(62000) == doctest::Approx(10240).epsilon(0.01));
    CHECK(*chosen(runtimes::sglang, facts_of(llama, {61502, 9}, 1024)).fraction ==
          0.834);  // 1 - 10,240 / 61,502 = 0.83350
}

TEST_CASE("chunks of fewer than 2,048 tokens leave as much as those of 2,048") {
    // Without graphs 512, 128 of a GPU, and 1.5 x 2,048: 3,712 of 3,715 MiB.
    for (const std::int64_t chunk : {1, 1024, 2048})
        CHECK(*chosen(runtimes::sglang, facts_of(llama, {3715, 8}, chunk, {.captures = false})).fraction == 0.001);
    CHECK(*chosen(runtimes::sglang, facts_of(llama, {3715, 8}, 2052, {.captures = false})).fraction == -0.001);
}

TEST_CASE("two ranks that compute attention apart are as more of them are, but for their number") {
    // 512 + 1.5 x 8,192 + 2 x 128; 2 for each of 256 sequences, and 3 on each rank; since 0.5.17 8 for each of 58
    // graphs
    const start_facts facts = facts_of(qwen3_moe, h100, 4096, {.tensor = 2, .attention_ranks = 2});
    const start_choices made = chosen(runtimes::sglang, facts);
    CHECK(*made.fraction == doctest::Approx(0.809));  // 1 - 15,568 / 81,559
    check_sizes(made.prefill, {50, 44128});           // chunks of 4,096
    const start_choices before = chosen(runtimes::sglang_0_5_16, facts);
    CHECK(*before.fraction == doctest::Approx(0.815));  // 1 - 15,104 / 81,559
    check_sizes(before.prefill, {});
}

TEST_CASE("fractions are rounded to three places, small ones and those below zero, too") {
    // Without graphs 512, 128 of a GPU, and 1.5 x 16,384: 25,216 MiB.
    const auto part = [](std::int64_t mebibytes) {
        return *chosen(runtimes::sglang, facts_of(llama, {mebibytes, 9}, 16384, {.captures = false})).fraction;
    };
    CHECK(part(25216) == 0.0);
    CHECK(part(25231) == 0.001);   // 15 / 25,231 = 0.00059
    CHECK(part(25226) == 0.0);     // 10 / 25,226 = 0.00040
    CHECK(part(25201) == -0.001);  // -15 / 25,201
}

TEST_CASE("since SGLang 0.5.22 one sequence at most has one graph; 300 take less of apart attention than 301") {
    // 512 + 1.5 x 4,096 + 128, 2 for the sequence, 8 for each of 50 graphs of prompts
    const start_choices one = chosen(runtimes::sglang, facts_of(llama, rtx_4090, 4096, {.sequences = 1}));
    check_sizes(one.decode, {1, 1});
    CHECK(*one.fraction == doctest::Approx(0.707));  // 1 - 7,188 / 24,564
    // 512 + 1.5 x 8,192 + 8 x 128, 8 for each of 58 graphs of prompts; 2 for each sequence, and 3 or 4.5 on each rank
    const auto part = [](std::int64_t sequences) {
        const start_facts asked{.tensor = 8, .attention_ranks = 8, .sequences = sequences};
        return *chosen(runtimes::sglang, facts_of(qwen3_moe, h100, 1024, asked)).fraction;
    };
    CHECK(part(300) == doctest::Approx(0.729));  // 1 - (14,288 + 600 + 7,200) / 81,559
    CHECK(part(301) == doctest::Approx(0.685));  // 1 - (14,288 + 602 + 10,836) / 81,559
}

TEST_CASE("a cache or a context with room for more tokens than a chunk takes no graph away") {
    const auto sum = [](const runtime& profile, const start_facts& asked) {
        std::int64_t all = 0;
        chosen(profile, facts_of(llama, l40s, 4096, asked)).prefill.for_each([&](std::int64_t size) { all += size; });
        return all;
    };
    CHECK(sum(runtimes::sglang, {.cache = tokens(100'000)}) == sum(runtimes::sglang, {}));
    CHECK(sum(runtimes::sglang_0_5_16, {.context = tokens(100'000)}) == sum(runtimes::sglang_0_5_16, {}));
    CHECK(sum(runtimes::sglang_0_5_16, {.context = tokens(1'000)}) < sum(runtimes::sglang_0_5_16, {}));
}

TEST_CASE("up to SGLang 0.5.13 a draft model takes 6 GiB, and EAGLE's layers 2 or 4; later ones come out of the pool") {
    const auto part = [](const runtime& profile, drafting drafts) {
        return *chosen(profile, facts_of(llama, rtx_4090, 2048, {.captures = false, .drafts = drafts})).fraction;
    };
    // 0.5.4: 512 + 1.5 x 2,048 + 128, and 2 for each of 16 sequences, though nothing is captured
    CHECK(part(runtimes::sglang_0_5_4, drafting::none) == doctest::Approx(0.848));    // 1 - 3,744 / 24,564
    CHECK(part(runtimes::sglang_0_5_4, drafting::lookup) == doctest::Approx(0.848));  // NGRAM
    CHECK(part(runtimes::sglang_0_5_4, drafting::layers) == doctest::Approx(0.764));  // 1 - 5,792 / 24,564
    CHECK(part(runtimes::sglang_0_5_4, drafting::model) == doctest::Approx(0.597));   // 1 - 9,888 / 24,564
    const start_facts small = facts_of(llama, {19764, 8}, 2048, {.captures = false, .drafts = drafting::model});
    CHECK(*chosen(runtimes::sglang_0_5_4, small).fraction == 0.501);  // eight sequences: 1 - 9,872 / 19,764 = 0.50051
    CHECK(part(runtimes::sglang_0_5_14, drafting::model) == part(runtimes::sglang_0_5_14, drafting::none));
}

TEST_CASE("SGLang 0.5.4 captured no 64 sequences where tokens are drafted, and later releases do") {
    // list(range(1, 9)) + list(range(10, 33, 2)) + list(range(40, 64, 4)) + list(range(72, 257, 8)); then range(40, 65,
    // 4)
    const auto decode = [](const runtime& profile) {
        return chosen(profile, facts_of(llama, h100, 8192, {.drafts = drafting::lookup})).decode;
    };
    check_sizes(decode(runtimes::sglang_0_5_4), {50, 4524});
    check_sizes(decode(runtimes::sglang_0_5_7), {51, 4588});
}

TEST_CASE("a vision tower leaves 0.95 of the fraction beside ViT-L/14, and 0.76 to 0.9975 beside others") {
    // adjust_mem_fraction_for_vlm(): 10 % less for each time layers x width^2 is that of 24 layers of 1,024
    const auto part = [](std::int32_t layers, std::int64_t width) {
        start_facts facts = facts_of({"internvl", false, false, true, width}, l40s, 4096);
        facts.image_layers = layers;
        const double with =
            *chosen(runtimes::sglang_0_5_9, facts).fraction;  // no graphs of prompts, which towers forbid
        facts.images = false;
        return with / *chosen(runtimes::sglang_0_5_9, facts).fraction;
    };
    CHECK(part(24, 1024) == doctest::Approx(0.95));
    CHECK(part(0, 1024) == doctest::Approx(0.95));
    CHECK(part(48, 1024) == doctest::Approx(0.95 * 0.9));
    CHECK(part(12, 1024) == doctest::Approx(0.95 * 1.05));
    CHECK(part(1, 4096) == doctest::Approx(0.95 * (1 + 0.1 / 3)));  // two thirds of it
    CHECK(part(1, 256) == doctest::Approx(0.95 * 1.05));
    CHECK(part(45, 3200) == doctest::Approx(0.95 * 0.8));  // InternViT-6B
}

TEST_CASE("Gemma 3, Llama 4 and Step 3 are served without their towers") {
    const auto fraction = [](std::string_view type, bool images) {
        return *chosen(runtimes::sglang, facts_of({type, false, false, images, 1024}, l40s, 4096)).fraction;
    };
    // configs/model_config.py: mm_disabled_models
    for (const std::string_view type : {"gemma3", "llama4", "step3_vl"})
        CHECK(fraction(type, true) == fraction(type, false));
    CHECK(fraction("qwen3_vl", true) < fraction("qwen3_vl", false));
}

namespace {

bool keeps_whole_windows(const runtime& profile, std::string_view type) {
    return chosen(profile, facts_of({type}, l40s, 4096)).whole_windows;
}

}  // namespace

TEST_CASE("windows of models that SGLang knows as hybrid have a pool of their own, and others are the whole context") {
    // configs/model_config.py: is_hybrid_swa_model()
    for (const std::string_view type : {"llama4", "gpt_oss", "mimo_v2_flash", "step3p5", "gemma4_text", "laguna"})
        CHECK_FALSE(keeps_whole_windows(runtimes::sglang, type));
    for (const std::string_view type : {"gemma3", "gemma2", "mistral", "oss_gpt_oss"})
        CHECK(keeps_whole_windows(runtimes::sglang, type));
}

TEST_CASE("windows have a pool since SGLang 0.5.8, those of more models since 0.5.11") {
    for (const std::string_view type : {"llama4", "gpt_oss", "mimo_v2_flash", "step3p5"}) {
        CHECK(keeps_whole_windows(runtimes::sglang_0_5_7, type));
        CHECK_FALSE(keeps_whole_windows(runtimes::sglang_0_5_9, type));
    }
    for (const std::string_view type : {"gemma4_text", "laguna"}) {
        CHECK(keeps_whole_windows(runtimes::sglang_0_5_10, type));
        CHECK_FALSE(keeps_whole_windows(runtimes::sglang_0_5_12, type));
    }
}

TEST_CASE("SGLang 0.5.2 leaves GiB by the size of a device, and more with each GPU up to 160 GiB") {
    // 0.4.8 to 0.5.2, server_args.py: reserved_mem = (2.8 + parallel_size / 10) * 1024 below 35 GiB,
    // (9.5 + parallel_size / 2) * 1024 below 90, (12 + parallel_size / 2) * 1024 below 160, else 32 * 1024
    const auto part = [](std::int64_t mebibytes, std::int32_t tensor, std::int32_t pipeline) {
        const start_facts asked{.tensor = tensor, .pipeline = pipeline};
        const start_choices made = chosen(runtimes::sglang_0_5_2, facts_of(llama, {mebibytes, 9}, 8192, asked));
        CHECK(made.whole_windows);
        return *made.fraction;
    };
    CHECK(part(24564, 1, 1) == doctest::Approx(0.879));   // 1 - 2,969.6 / 24,564
    CHECK(part(24564, 8, 1) == doctest::Approx(0.85));    // 1 - 3,686.4 / 24,564
    CHECK(part(35840, 1, 1) == doctest::Approx(0.714));   // 1 - 10,240 / 35,840
    CHECK(part(81559, 1, 1) == doctest::Approx(0.874));   // 1 - 10,240 / 81,559
    CHECK(part(81559, 2, 2) == doctest::Approx(0.856));   // 1 - 11,776 / 81,559
    CHECK(part(92160, 1, 1) == doctest::Approx(0.861));   // 1 - 12,800 / 92,160
    CHECK(part(143771, 8, 1) == doctest::Approx(0.886));  // 1 - 16,384 / 143,771
    CHECK(part(163840, 8, 1) == doctest::Approx(0.8));
    CHECK(part(183359, 1, 1) == doctest::Approx(0.821));  // 1 - 32,768 / 183,359
}

TEST_CASE("SGLang's fraction of early 2025 is by the number of GPUs alone") {
    // 0.4, server_args.py: 0.79 from 16 on, 0.81 from 8, 0.85 from 4, 0.87 from 2, else 0.88
    const auto part = [](std::int32_t tensor, std::int32_t pipeline) {
        const start_facts asked{.tensor = tensor, .pipeline = pipeline};
        const start_choices made = chosen(runtimes::sglang_0_4, facts_of(llama, h100, 8192, asked));
        CHECK(made.whole_windows);
        return made.fraction;
    };
    CHECK(part(1, 1) == 0.88);
    CHECK(part(2, 1) == 0.87);
    CHECK(part(3, 1) == 0.87);
    CHECK(part(4, 1) == 0.85);
    CHECK(part(7, 1) == 0.85);
    CHECK(part(2, 4) == 0.81);
    CHECK(part(15, 1) == 0.81);
    CHECK(part(8, 2) == 0.79);
}

// clang-format off
TEST_CASE("SGLang of the middle of 2025 chooses by GPUs, size, drafts and attention apart as its own code does") {
    // The lines of each release's server_args.py that choose the fraction, run with these arguments.
    const start_facts eight{.tensor = 8}, split{.tensor = 2, .pipeline = 2}, eagle{.drafts = drafting::layers},
        draft_model{.drafts = drafting::model}, apart{.tensor = 8, .attention_ranks = 8};
    const struct { const runtime* profile; card gpu; start_facts asked; double fraction; } answers[] = {
        {&runtimes::sglang_0_4_7, rtx_4090, {}, 0.88}, {&runtimes::sglang_0_4_7, rtx_4090, eagle, 0.836},
        {&runtimes::sglang_0_4_7, h100, eight, 0.81}, {&runtimes::sglang_0_4_7, a100_80gb, split, 0.85},
        {&runtimes::sglang_0_4_7, h20, eight, 0.88}, {&runtimes::sglang_0_4_7, h20, eagle, 0.836},
        {&runtimes::sglang_0_4_7, h200, eight, 0.8717961202189594},
        {&runtimes::sglang_0_4_7, h200, eagle, 0.8575512446877326},
        {&runtimes::sglang_0_4_7, h200, apart, 0.8717961202189594}, {&runtimes::sglang_0_4_7, b200, {}, 0.79},
        {&runtimes::sglang_0_4_7, b200, eagle, 0.79},
        {&runtimes::sglang_0_4_9, rtx_4090, eagle, 0.796}, {&runtimes::sglang_0_4_9, rtx_4090, apart, 0.683},
        {&runtimes::sglang_0_4_9, h100, eagle, 0.849}, {&runtimes::sglang_0_4_9, h100, apart, 0.78},
        {&runtimes::sglang_0_4_9, h20, split, 0.854}, {&runtimes::sglang_0_4_9, b200, apart, 0.799},
        {&runtimes::sglang_0_5_2, rtx_4090, eagle, 0.796}, {&runtimes::sglang_0_5_2, rtx_4090, draft_model, 0.629},
        {&runtimes::sglang_0_5_2, h200, draft_model, 0.868}, {&runtimes::sglang_0_5_2, h200, apart, 0.858},
        {&runtimes::sglang_0_5_2, b200, draft_model, 0.788},
    };
    for (const auto& a : answers) {
        CAPTURE(std::string{a.profile->identity.versions.view()});
        CAPTURE(a.gpu.mebibytes);
        CAPTURE(a.asked.tensor);
        CHECK(*chosen(*a.profile, facts_of(llama, a.gpu, 8192, a.asked)).fraction ==
              doctest::Approx(a.fraction).epsilon(1e-12));
    }
}
// clang-format on

TEST_CASE("SGLang of 2025 leaves a tenth of its fraction to a tower, and by the tower's size from 0.4.10 on") {
    const auto fraction = [](const runtime& profile, family model) {
        return *chosen(profile, facts_of(model, l40s, 8192)).fraction;
    };
    for (const runtime* profile : {&runtimes::sglang_0_4, &runtimes::sglang_0_4_7, &runtimes::sglang_0_4_9}) {
        CHECK(fraction(*profile, qwen3_vl) == doctest::Approx(0.9 * fraction(*profile, llama)));
        CHECK(fraction(*profile, gemma3) == fraction(*profile, llama));  // mm_disabled_models
    }
    // 24 layers of 1,152 features are 1.265625 times ViT-L/14: 0.95 x (1 - 0.1 x 0.265625)
    CHECK(fraction(runtimes::sglang_0_5_2, qwen3_vl) ==
          doctest::Approx(0.95 * 0.9734375 * fraction(runtimes::sglang_0_5_2, llama)));
}
