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

TEST_CASE("whole numbers, with vLLM's multipliers where they are allowed") {
    struct row {
        std::string_view text;
        std::int64_t plain, multiplied;  ///< -1: refused
    };
    const row rows[] = {{"0", 0, 0},
                        {"7", 7, 7},
                        {"-7", -7, -7},
                        {"", -1, -1},
                        {"k", -1, -1},
                        {"7k", -1, 7'000},
                        {"7m", -1, 7'000'000},
                        {"7g", -1, 7'000'000'000},
                        {"7t", -1, 7'000'000'000'000},
                        {"7K", -1, 7'168},
                        {"7M", -1, 7'340'032},
                        {"7G", -1, 7'516'192'768},
                        {"7T", -1, 7'696'581'394'432},
                        {"2.5k", -1, 2'500},
                        {"2.5K", -1, -1},
                        {"2.0K", -1, 2'048},
                        {"2.5", -1, -1},
                        {"7x", -1, -1},
                        {"7kk", -1, -1},
                        {"x7k", -1, -1},
                        {"8999t", -1, 8'999'000'000'000'000},
                        {"9000t", -1, -1},
                        {"9223372036854775807", INT64_MAX, INT64_MAX},
                        {"9223372036854775808", -1, -1}};
    for (const row& r : rows) {
        CAPTURE(r.text);
        std::int64_t plain = -1, multiplied = -1;
        const bool reads_plain = detail::whole_number(r.text, detail::multipliers::none, plain);
        CHECK(reads_plain == (r.plain != -1));
        CHECK((reads_plain ? plain : -1) == r.plain);
        const bool reads = detail::whole_number(r.text, detail::multipliers::of_vllm, multiplied);
        CHECK(reads == (r.multiplied != -1));
        CHECK((reads ? multiplied : -1) == r.multiplied);
    }
    std::int64_t below = 0;
    CHECK(detail::whole_number("-2k", detail::multipliers::of_vllm, below));
    CHECK(below == -2'000);
    for (const char* text : {"", "x", "1x", "inf", "nan", "1e999"}) {
        double number = 0;
        CHECK_FALSE(detail::real_number(text, number));
    }
    double real = 0;
    CHECK(detail::real_number("-2.5e1", real));
    CHECK(real == -25);
    for (const char* no : {"off", "FALSE", "0", "No", "disabled"}) CHECK_FALSE(*detail::truth_of(no));
    for (const char* yes : {"on", "True", "1", "YES", "enabled"}) CHECK(*detail::truth_of(yes));
    for (const char* other : {"", "2", "o", "onn", "auto"}) CHECK_FALSE(detail::truth_of(other));
}

TEST_CASE("what a key holds is read by its type alone") {
    detail::given_options given;
    given.values = {{"n", 3}, {"w", "text"}, {"y", true}, {"d", false}};
    for (const char* key : {"n", "w", "y", "d", "none"}) {
        const std::string k{key};
        CHECK(given.whole(k, 9) == (k == "n" ? 3 : 9));
        CHECK(given.text(k) == (k == "w" ? "text" : ""));
        CHECK(given.is(k) == (k == "y"));
        CHECK(given.denies(k) == (k == "d"));
        CHECK(given.value(k).is_null() == (k == "none"));
    }
}

TEST_CASE("which words are options, their values, and words of their own") {
    struct row {
        std::string_view line, positional;
    };
    const row rows[] = {{"a b", "a b"},
                        {"a -- b", "a b"},
                        {"- a", "- a"},
                        {"-1 -2.5", "-1 -2.5"},
                        {"-tp 2 a -pp 2 b", "a b"},
                        {"-tp=2 a", "a"},
                        {"-tp2 a", "a"},
                        {"--enforce-eager a", "a"},
                        {"--enforce-eager true a", "a"},
                        {"--enforce-eager False a", "a"},
                        {"--enforce-eager=true false", "false"},
                        {"--enforce-eager yes", "yes"},
                        {"--api-key a b c -tp 2 d", "d"},
                        {"--api-key -1 -.5 -tp 2 d", "d"},
                        {"--api-key=a b", "b"}};
    for (const row& r : rows) {
        CAPTURE(r.line);
        const auto given = read(r.line);
        REQUIRE(given);
        std::string words;
        for (const detail::shell_word& word : given->positional) words += (words.empty() ? "" : " ") + word.text;
        CHECK(words == r.positional);
    }
    CHECK(value("--max-model-len -1", "context") == "auto");
    CHECK(refusal_of("--max-model-len -tp").code == error_code::missing);
    CHECK(refusal_of("--max-model-len -tp").expected == "a value behind it");
    CHECK(refusal_of("--max-model-len -tp").value == "absent");
    CHECK(value("--dtype '-x y'", ":dtype") == "-x y");
    CHECK(refusal_of("--gpu-memory-utilization -.5 -tp").field == "-tp");
    CHECK(value("--model -tp", "model", of_llama_cpp) == "-tp");
    CHECK(value("-fa -1", ":flash_attention", of_llama_cpp) == "-1");
    CHECK(value("-fa=off on", ":flash_attention", of_llama_cpp) == "off");
    CHECK(read("--control-vector-layer-range 1 2 a", of_llama_cpp)->positional.front().text == "a");
    CHECK(read("--control-vector-layer-range=1 2 a", of_llama_cpp)->positional.front().text == "a");
    CHECK(refusal_of("--control-vector-layer-range", of_llama_cpp).field == "--control-vector-layer-range");
}

TEST_CASE("a name is an option's own, denied, joined with its value, or the beginning of one alone") {
    CHECK(value("-tp16", "layout.tensor") == 16);
    CHECK(value("-ngl99", ":gpu_layers", of_llama_cpp) == "99");
    CHECK(refusal_of("-tpx").expected == "a whole number");
    CHECK(refusal_of("-zz2").code == error_code::unknown);
    CHECK(refusal_of("--tp16").code == error_code::unknown);
    CHECK(value("--tensor-parallel 2", "layout.tensor") == 2);
    CHECK(value("--tensor_par 2", "layout.tensor") == 2);
    CHECK(value("--tens 2", "layout.tensor") == 2);
    CHECK(refusal_of("--t 2").code == error_code::unknown);
    CHECK(refusal_of("--max-n 2").code == error_code::unknown);  // of several
    CHECK(refusal_of("--max-model-lenx 2").code == error_code::unknown);
    CHECK(refusal_of("--ctx-siz 2", of_llama_cpp).code == error_code::unknown);
    CHECK(value("--enforce-eag", "runtime.enforce_eager") == true);
    CHECK(value("--enforce-eager False", "runtime.enforce_eager") == false);
    CHECK(value("--dtype -", ":dtype") == "-");
    CHECK(value("--no-enforce-eager", "runtime.enforce_eager") == false);
    CHECK(value("--no-enforce-eager=false", "runtime.enforce_eager") == true);
    CHECK(value("--no-enforce-eager=true", "runtime.enforce_eager") == false);
    CHECK(value("--enforce-eager=off", "runtime.enforce_eager") == false);
    CHECK(refusal_of("--no-max-model-len 3").code == error_code::unknown);
    CHECK(refusal_of("--enforce-eager=x").value == "x");
    CHECK(refusal_of("--enforce-eager=x").field == "--enforce-eager");
    CHECK(refusal_of("--enforce-eager=x").code == error_code::malformed);
}

TEST_CASE("a part of an option's object is a number, a fraction or a word, at any path") {
    const json said = value("-sc.a 3 -sc.b 2k -sc.c 0.5 -sc.d x -sc.e.f.g 1 -sc.e.h 2", ":speculation");
    CHECK(said == json{{"a", 3}, {"b", 2000}, {"c", 0.5}, {"d", "x"}, {"e", {{"f", {{"g", 1}}}, {"h", 2}}}});
    CHECK(value("-sc.a 3 -sc.a.b 4", ":speculation") == json{{"a", {{"b", 4}}}});
    CHECK(value(R"(-sc '{"a": 1, "b": 2}' -sc '{"b": 3}' -sc.c 4)", ":speculation") ==
          json{{"a", 1}, {"b", 3}, {"c", 4}});
    CHECK(value(R"(-sc.a 1 -sc '{"b": 3}')", ":speculation") == json{{"a", 1}, {"b", 3}});
    std::string deep = "-sc";
    for (int i = 0; i < 40; ++i) deep += ".a";
    const json at = value(deep + " 1", ":speculation");
    int depth = 0;
    for (const json* in = &at; in->is_object(); in = &(*in)["a"]) ++depth;
    CHECK(depth == 32);
    CHECK(value("-sc.a 1 --spec-method mtp", ":speculation") == json{{"a", 1}, {"method", "mtp"}});
    CHECK(refusal_of("-sc x").code == error_code::malformed);
    CHECK(refusal_of("-sc '[1]'").field.view().starts_with("-sc"));
}

TEST_CASE("variables are refused where their value says something, and kept where it does not") {
    CHECK(refusal_of("--dtype $A").code == error_code::unsupported);
    CHECK(refusal_of("--dtype $A").field == "--dtype");
    CHECK(refusal_of("--dtype=x${A}y").value == "${A}");
    CHECK(refusal_of("-tp$A").value == "$A");
    CHECK(refusal_of("--dtype `cat a`").value == "`cat a`");
    CHECK(read("--host $A --port=$B"));
    CHECK(read("$A")->positional.front().variable == "$A");
    const auto moe = read("--moe-backend $A --moe-backend x --cpu-offload-gb 0.0");
    REQUIRE(moe);
    CHECK(moe->unmodelled == std::vector<std::string>{"--moe-backend $A", "--moe-backend x", "--cpu-offload-gb 0.0"});
}

TEST_CASE("each option of each program is read as its row says, and where it lacks a value refused as that") {
    for (const auto& [options, abbreviates] : {std::pair{detail::option_list{detail::option_rows::vllm}, true},
                                               std::pair{detail::option_list{detail::option_rows::sglang}, true},
                                               std::pair{detail::option_list{detail::option_rows::llama_cpp}, false}}) {
        const detail::option_grammar grammar{options, abbreviates, false};
        for (const detail::launch_option& o : options) {
            const std::string name{o.name()};
            CAPTURE(name);
            const bool bare = o.takes == detail::option_value::flag || o.takes == detail::option_value::bare;
            const bool needs = o.takes == detail::option_value::value || o.takes == detail::option_value::two;
            const auto alone = detail::options_given(grammar, {{name, ""}});
            if (needs) {
                REQUIRE_FALSE(alone);
                CHECK(alone.error().code == error_code::missing);
                CHECK(alone.error().field == name);
            }
            if (bare) REQUIRE(alone);
            if (o.use == detail::option_use::silent) {
                const auto said = detail::options_given(grammar, {{name, ""}, {"1", ""}, {"1", ""}});
                REQUIRE(said);
                CHECK(said->values.empty());
                CHECK(said->unmodelled.empty());
                const bool many = o.takes == detail::option_value::many || o.takes == detail::option_value::two;
                CHECK(said->positional.size() == (bare ? 2U : many ? 0U : 1U));
            } else if (o.use == detail::option_use::unmodelled && bare && o.says != "true") {
                CHECK(alone->unmodelled == std::vector<std::string>{name});
            } else if (o.use == detail::option_use::yes && bare) {
                CHECK(alone->values.size() == 1);
            }
        }
    }
}
