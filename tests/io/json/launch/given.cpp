// SPDX-License-Identifier: MIT
#include <llmres/io/json/launch/given.hpp>

#include <doctest/doctest.h>

#include <llmres/io/json/launch/words.hpp>
#include <string>

using namespace llmres;
using nlohmann::json;

namespace {

const detail::option_grammar of_vllm{detail::option_rows::vllm, true, false};
const detail::option_grammar of_llama_cpp{detail::option_rows::llama_cpp, false, true};

result<detail::given_options> read(std::string_view line, const detail::option_grammar& grammar = of_vllm) {
    const auto commands = detail::shell_commands(line);
    REQUIRE(commands);
    return detail::options_given(grammar, commands->empty() ? std::vector<detail::shell_word>{} : commands->front());
}
json value(std::string_view line, const std::string& key, const detail::option_grammar& grammar = of_vllm) {
    const auto given = read(line, grammar);
    INFO(line);
    REQUIRE(given);
    return given->value(key);
}
error refusal_of(std::string_view line, const detail::option_grammar& grammar = of_vllm) {
    return read(line, grammar).error();
}

}  // namespace

TEST_CASE("a value stands behind its option, behind an equals sign, or in one word with a short option") {
    for (const char* line : {"--tensor-parallel-size 4", "--tensor-parallel-size=4", "--tensor_parallel_size 4",
                             "-tp 4", "-tp=4", "-tp4", "--tensor-parallel 4"})
        CHECK(value(line, "layout.tensor") == 4);
    CHECK(value("-tp 2 -tp 8", "layout.tensor") == 8);
}

TEST_CASE("numbers as vLLM reads them") {
    CHECK(value("--max-model-len 32k", "context") == 32000);
    CHECK(value("--max-model-len 32K", "context") == 32768);
    CHECK(value("--max-model-len 25.6k", "context") == 25600);
    CHECK(value("--max-model-len 1M", "context") == 1048576);
    CHECK(value("--max-model-len auto", "context") == "auto");
    CHECK(value("--max-model-len -1", "context") == "auto");
    CHECK(refusal_of("--max-model-len 2.5K").field == "--max-model-len");
    CHECK(refusal_of("--max-model-len 1e30k").code == error_code::malformed);
    CHECK(refusal_of("-tp 4k").expected == "a whole number");
    CHECK(refusal_of("--gpu-memory-utilization nan").expected == "a number");
}

TEST_CASE("options without a value are asserted and denied") {
    CHECK(value("--enable-prefix-caching", "runtime.enable_prefix_caching") == true);
    CHECK(value("--no-enable-prefix-caching", "runtime.enable_prefix_caching") == false);
    CHECK(value("--disable-prefix-caching", "runtime.enable_prefix_caching") == false);
    CHECK(value("--no_enforce_eager", "runtime.enforce_eager") == false);
    CHECK(value("--enforce-eager true", "runtime.enforce_eager") == true);
    CHECK(value("--no-op-offload", ":op_offload", of_llama_cpp) == false);
    CHECK(refusal_of("--enforce-eager=maybe").expected == "true or false");
}

TEST_CASE("objects in one piece or key by key") {
    const json both{{"method", "mtp"}, {"num_speculative_tokens", 3}};
    CHECK(value(R"(--speculative-config '{"method": "mtp", "num_speculative_tokens": 3}')", ":speculation") == both);
    CHECK(value("--speculative-config.method mtp --speculative-config.num_speculative_tokens 3", ":speculation") ==
          both);
    CHECK(value("--spec-method mtp --spec-tokens 3", ":speculation") == both);
    CHECK(refusal_of("--speculative-config '{'").field.view().starts_with("--speculative-config"));
}

TEST_CASE("options that change memory or speed are named, unless they say what is so without them") {
    const auto given =
        read("--cpu-offload-gb 8 --enable-eplb --moe-backend auto -cc.mode=3 --no-enable-chunked-prefill");
    REQUIRE(given);
    CHECK(given->unmodelled ==
          std::vector<std::string>{"--cpu-offload-gb 8", "--enable-eplb", "-cc.mode 3", "--no-enable-chunked-prefill"});
    CHECK(read("--cpu-offload-gb 0")->unmodelled.empty());
    CHECK(read("--host 0.0.0.0 --port 8000 --api-key a b --served-model-name x y")->unmodelled.empty());
}

TEST_CASE("words that are no options are kept") {
    CHECK(read("model -tp 2")->positional.front().text == "model");
    CHECK(read("--api-key a b --port 1 model")->positional.size() == 1);
}

TEST_CASE("llama.cpp takes any word for a value, and its flash attention with or without one") {
    CHECK(value("-t -1 -c 4096", ":context", of_llama_cpp) == 4096);
    CHECK(value("-fa -c 1", ":flash_attention", of_llama_cpp).get<std::string>().empty());
    CHECK(value("-fa on", ":flash_attention", of_llama_cpp) == "on");
    CHECK(value("--ctx_size 8192", ":context", of_llama_cpp) == 8192);
    CHECK(read("-ot a=CPU -ot b=CPU", of_llama_cpp)->tensors.size() == 2);
    CHECK(value("--control-vector-layer-range 1 2 -c 3", ":context", of_llama_cpp) == 3);
}

TEST_CASE("what is wrong is named: the option, its value, what was expected") {
    CHECK(refusal_of("--max-modellen 1").value == "--max-modellen");
    CHECK(refusal_of("--max-modellen 1").expected.view().find("--max-model-len") != std::string_view::npos);
    CHECK(refusal_of("--max-model-len").code == error_code::missing);
    CHECK(refusal_of("--max-model-len --port 1").field == "--max-model-len");
    CHECK(refusal_of("--max-model-len $LENGTH").value == "$LENGTH");
    CHECK(read("--port $PORT --api-key ${KEY}"));
    CHECK(refusal_of("--control-vector-layer-range 1", of_llama_cpp).code == error_code::missing);
}

TEST_CASE("only an object has parts, a number is bounded both ways, and a long word is read in a step") {
    CHECK(value("--speculative-config.method mtp", ":speculation")["method"] == "mtp");
    CHECK(refusal_of("--tensor-parallel-size.x 3").code == error_code::unknown);
    CHECK(refusal_of("--max-model-len -1e300k").code == error_code::malformed);
    CHECK(refusal_of("-" + std::string(1'000'000, 'x')).code == error_code::unknown);
}
