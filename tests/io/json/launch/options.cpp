// SPDX-License-Identifier: MIT
#include <llmres/io/json/launch/options.hpp>

#include <doctest/doctest.h>

#include <llmres/answers/launch.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/jobs/knobs.hpp>
#include <llmres/runtimes/all.hpp>
#include <set>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

struct table {
    const char* runtime;
    detail::option_list options;
};
const table tables[] = {{"vllm", detail::option_rows::vllm},
                        {"sglang", detail::option_rows::sglang},
                        {"tensorrt-llm", detail::option_rows::tensorrt_llm},
                        {"llama.cpp", detail::option_rows::llama_cpp},
                        {"ollama", detail::option_rows::ollama}};

}  // namespace

TEST_CASE("no two rows of a table have a name in common") {
    for (const table& t : tables) {
        std::set<std::string> names;
        for (const detail::launch_option& o : t.options)
            for (std::string_view rest = o.names; !rest.empty();) {
                const std::string name{detail::taken_before(rest, " ")};
                CAPTURE(name);
                CHECK(name.starts_with("-"));
                CHECK(names.insert(name).second);
            }
    }
}

TEST_CASE("what an option says is a key of job documents, a knob of the runtime, or something that is combined") {
    for (const table& t : tables) {
        const auto runtime = find_runtime(t.runtime), fork = find_runtime("ik_llama.cpp");
        REQUIRE(runtime);
        for (const detail::launch_option& o : t.options) {
            if (o.use == detail::option_use::silent || o.use == detail::option_use::unmodelled) continue;
            CAPTURE(o.names);
            std::string_view rest = o.says;
            if (rest.starts_with(':') || rest == "model") continue;
            const std::size_t dot = rest.find('.');
            const std::string_view object = dot == std::string_view::npos ? "" : rest.substr(0, dot);
            const std::string_view key = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
            const bool is_field = find_job_field(object, key) != nullptr;
            const bool is_knob = object == "runtime" && (find_knob(runtime->identity.knobs, key) != nullptr ||
                                                         find_knob(fork->identity.knobs, key) != nullptr ||
                                                         runtime->cache.fraction_name == key);
            CHECK((is_field || is_knob));
        }
    }
}

TEST_CASE("the words of launch commands are options, which say something") {
    for (const table& t : tables) {
        const auto runtime = find_runtime(t.runtime);
        REQUIRE(runtime);
        if (runtime->identity.launcher == nullptr) continue;
        for (const launch_word& w : *runtime->identity.launcher) {
            CAPTURE(w.words);
            const std::string_view option = w.words.substr(0, w.words.find(' '));
            const detail::launch_option* row = t.options.find(option);
            // A switch is turned off by its name behind "no".
            if (row == nullptr && option.starts_with("--no-"))
                row = t.options.find("--" + std::string{option.substr(5)});
            REQUIRE(row != nullptr);
            CHECK(row->use > detail::option_use::unmodelled);
        }
    }
}

TEST_CASE("knobs of a runtime that are options of its program are read as themselves") {
    for (const char* option :
         {"--block-size", "--kv-cache-memory-bytes", "--num-gpu-blocks-override", "--enforce-eager",
          "--max-num-batched-tokens", "--enable-prefix-caching", "--async-scheduling"})
        CHECK(detail::option_list{detail::option_rows::vllm}.find(option)->says.starts_with("runtime."));
}

TEST_CASE("a name is found with dashes or underscores") {
    const detail::option_list vllm = detail::option_rows::vllm;
    CHECK(vllm.find("--max_model_len") == vllm.find("--max-model-len"));
    CHECK(vllm.find("-tp")->name() == "--tensor-parallel-size");
    CHECK(vllm.find("--max-modellen") == nullptr);
    CHECK(detail::option_list{detail::option_rows::tensorrt_llm}.find("--tp-size") != nullptr);
}
