// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/runtimes/layout_rules.hpp>
#include <string>
#include <string_view>

using namespace llmres;

TEST_CASE("a runtime says which layouts it runs") {
    CHECK(runtimes::vllm.layouts.split.vocabulary_multiple == 64);
    CHECK(runtimes::sglang.layouts.split.vocabulary_multiple == 64);
    CHECK_FALSE(runtimes::llama_cpp.layouts.tensor);
    CHECK_FALSE(runtimes::ollama.layouts.tensor);
    CHECK(runtimes::megatron.layouts.sequence_parallel);
    CHECK(runtimes::torchtitan.layouts.most_zero_with_pipeline == 2);
    CHECK_FALSE(runtimes::litgpt.layouts.pipeline);
    CHECK_FALSE(runtimes::torchtune.layouts.tensor);
}

TEST_CASE("ZeRO beside stages goes no further than without them, in every profile") {
    for (const runtime* r : runtimes::all) {
        CAPTURE(r->identity.name.view());
        CHECK(r->layouts.most_zero_with_pipeline <= r->layouts.most_zero);
        CHECK(r->layouts.least_zero >= 1);
        CHECK(r->layouts.least_zero <= r->layouts.most_zero);
        CHECK(r->layouts.most_zero <= 3);
        CHECK(r->layouts.split.vocabulary_multiple >= 0);
    }
}

TEST_CASE("serving profiles interleave no stages") {
    for (const runtime* r : runtimes::all)
        if (r->identity.work == runtime_work::serving) CHECK_FALSE(r->layouts.virtual_pipeline);
}

TEST_CASE("every profile of software names what its rules were read from; none calls what it runs untried") {
    for (const runtime* r : runtimes::all) {
        CAPTURE(r->identity.name.view());
        CAPTURE(r->identity.versions.view());
        const layout_rules& rules = r->layouts;
        CHECK(rules.source.empty() == (r->identity.work == runtime_work::any));
        CHECK_FALSE(rules.source.view().ends_with(".."));  // cut
        CHECK_FALSE((rules.tensor && rules.untried.tensor));
        CHECK_FALSE((rules.pipeline && rules.untried.pipeline));
        CHECK_FALSE((rules.sequence_parallel && rules.untried.sequence_parallel));
        CHECK_FALSE((rules.context_parallel && rules.untried.context_parallel));
        CHECK_FALSE((rules.expert && rules.untried.expert));
    }
}

namespace {

/// What the newest profile of each software runs of tensor, pipeline, context-parallel and expert ranks and the ZeRO
/// stages 1 to 3, said again beside the profiles: + runs, m may run and no run is known, - does not run. Sources:
/// the files that each profile's `layouts.source` names, read in August 2026.
struct engine {
    std::string_view name;
    std::string_view degrees;  ///< tensor, pipeline, context-parallel, expert
    std::string_view zero;     ///< stages 1, 2 and 3 where it trains
};
constexpr std::array engines{
    engine{"none", "++++", "+++"},         // a layout of ideal bytes: nothing is refused
    engine{"pytorch", "++++", "+++"},      // what a caller builds on torch.distributed
    engine{"vllm", "++m+", ""},            // prefill_context_parallel_size, by attention back end
    engine{"sglang", "++m+", ""},          // attn_cp_size, of DeepSeek's sparse attention
    engine{"tensorrt-llm", "++m+", ""},    // cp_size: star attention, Ulysses, Helix
    engine{"llama.cpp", "m+--", ""},       // --split-mode tensor is experimental
    engine{"ik_llama.cpp", "m+--", ""},    // --split-mode graph
    engine{"ollama", "-+--", ""},          //
    engine{"transformers", "m+-m", ""},    // tp_plan and expert plans of some models
    engine{"autoawq", "-+--", ""},         //
    engine{"lmdeploy", "+-mm", ""},        // cp and ep are later than the profile
    engine{"exllama", "m+--", ""},         // load_tp()
    engine{"exllamav2", "m+--", ""},       //
    engine{"exllamav3", "m+-m", ""},       //
    engine{"mlx", "mm--", ""},             // of models that have shard() or pipeline()
    engine{"tgi", "+---", ""},             //
    engine{"ctranslate2", "+---", ""},     // tensor_parallel=True under mpirun
    engine{"huggingface", "m+mm", "+++"},  // FSDP SHARD_GRAD_OP and FULL_SHARD, DeepSpeed's ZeRO 1
    engine{"unsloth", "m+mm", "+++"},      // as transformers' Trainer
    engine{"automodel", "++++", "-++"},    // FSDP2 alone, reshard_after_forward is false or true
    engine{"litgpt", "----", "--+"},       //
    engine{"torchtune", "m-m-", "-++"},    // reshard_after_forward is false or true
    engine{"torchtitan", "++++", "-++"},   //
    engine{"graph_trainer", "++++", "-++"},
    engine{"deepspeed", "++++", "+++"},
    engine{"megatron_deepspeed", "++-+", "+++"},
    engine{"megatron", "++++", "+++"},  // data-parallel-sharding-strategy optim, optim_grads, optim_grads_params
    engine{"nanotron", "++m+", "+--"},
};

char mark(const job& j, const layout& l) {
    const unrun_degree lacked = unrun_degree_of(j, l);
    return lacked.name.empty() ? '+' : lacked.untried ? 'm' : '-';
}

}  // namespace

TEST_CASE("each engine runs the degrees that its own code has") {
    std::size_t asked = 0;
    const runtime* before = nullptr;
    for (const runtime* r : runtimes::all) {
        const bool newest = before == nullptr || before->identity.name != r->identity.name;
        before = r;
        if (!newest) continue;
        CAPTURE(r->identity.name.view());
        const engine* its = nullptr;
        for (const engine& e : engines)
            if (r->identity.name == e.name) its = &e;
        REQUIRE(its != nullptr);
        job j{.runtime = *r};
        if (r->identity.work == runtime_work::training) j.task = task::pretraining;
        std::string degrees;
        for (const layout& l : {layout{.tensor = 2}, layout{.pipeline = 2}, layout{.context_parallel = 2},
                                layout{.data = 2, .expert = 2}})
            degrees += mark(j, l);
        CHECK(degrees == its->degrees);
        j.task = task::pretraining;
        std::string stages;
        for (std::int32_t zero = 1; zero <= 3; ++zero) stages += mark(j, {.data = 8, .zero = zero});
        if (r->identity.work != runtime_work::serving) CHECK(stages == its->zero);
        ++asked;
    }
    CHECK(asked == engines.size());
}

TEST_CASE("older releases lack what came later") {
    const auto asked = [](const runtime& r, const layout& l) { return mark(job{.runtime = r}, l); };
    CHECK(asked(runtimes::vllm_v0_2, {.pipeline = 2}) == '-');
    CHECK(asked(runtimes::vllm_v0_3, {.pipeline = 2}) == '+');
    CHECK(asked(runtimes::vllm_v1_9, {.context_parallel = 2}) == '-');
    CHECK(asked(runtimes::llama_cpp_8671, {.tensor = 2}) == '-');
    CHECK(asked(runtimes::llama_cpp_9479, {.tensor = 2}) == 'm');
    CHECK(asked(runtimes::transformers_4_44, {.tensor = 2}) == '-');
    CHECK(asked(runtimes::exllama_v1, {.tensor = 2}) == '-');
}

TEST_CASE("what is absent is named before what is untried, and ranks that share nothing are processes of their own") {
    const job served{.runtime = runtimes::mlx};
    CHECK(unrun_degree_of(served, {.tensor = 2, .context_parallel = 4}).name == "context_parallel");
    CHECK(unrun_degree_of(served, {.tensor = 2, .context_parallel = 4}).degree == 4);
    CHECK_FALSE(unrun_degree_of(served, {.tensor = 2, .context_parallel = 4}).untried);
    CHECK(unrun_degree_of(served, {.tensor = 2}).untried);
    for (const runtime* r : runtimes::all)
        if (r->identity.work != runtime_work::training)
            CHECK(mark(job{.runtime = *r}, {.data = 2, .replicas = 2}) == '+');
    job trained{.runtime = runtimes::deepspeed};
    trained.task = task::pretraining;
    CHECK(unrun_degree_of(trained, {.tensor = 2, .sequence_parallel = true}).name == "sequence_parallel");
}
