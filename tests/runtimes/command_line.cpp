// SPDX-License-Identifier: MIT
#include <llmres/runtimes/command_line.hpp>

#include <doctest/doctest.h>

#include <array>
#include <llmres/runtimes/all.hpp>
#include <string>

using namespace llmres;

TEST_CASE("a knob is found in the software's own table or among those that every runtime has") {
    static_assert(find_knob(runtimes::vllm.identity.knobs, "block_size")->setting == knob_setting::cache_block);
    static_assert(find_knob(runtimes::vllm.identity.knobs, "page_size") == nullptr);
    static_assert(find_knob({}, "max_num_seqs")->setting == knob_setting::sequences);
    CHECK(find_knob(runtimes::ollama.identity.knobs, "num_gpu")->setting == knob_setting::gpu_layers);
    CHECK(find_knob(runtimes::ik_llama_cpp.identity.knobs, "n_cpu_moe")->setting == knob_setting::host_expert_layers);
    CHECK(find_knob(runtimes::llama_cpp.identity.knobs, "attn_max_batch") == nullptr);
}

TEST_CASE("a setting is named as the software names it") {
    CHECK(knob_name(runtimes::vllm.identity.knobs, knob_setting::no_cuda_graphs) == "enforce_eager");
    CHECK(knob_name(runtimes::sglang.identity.knobs, knob_setting::no_cuda_graphs) == "disable_cuda_graph");
    CHECK(knob_name(runtimes::megatron.identity.knobs, knob_setting::no_cuda_graphs).empty());
}

TEST_CASE("no table lists a knob twice, and all versions of one software have the same knobs") {
    for (const runtime* a : runtimes::all) {
        CAPTURE(std::string{a->identity.name.view()});
        for (const knob& k : a->identity.knobs) CHECK(find_knob(a->identity.knobs, k.name) == &k);
        for (const runtime* b : runtimes::all)
            if (a->identity.name == b->identity.name) CHECK(a->identity.knobs.begin() == b->identity.knobs.begin());
    }
}

TEST_CASE("launchers are told apart by their names, and every word says something else") {
    for (const runtime* a : runtimes::all) {
        if (a->identity.launcher == nullptr) continue;
        CAPTURE(std::string{a->identity.name.view()});
        for (const runtime* b : runtimes::all)
            if (b->identity.launcher != nullptr && b->identity.launcher->name == a->identity.launcher->name)
                CHECK(a->identity.launcher == b->identity.launcher);
        for (const launch_word& w : *a->identity.launcher)
            for (const launch_word& other : *a->identity.launcher) CHECK((&w == &other || w.words != other.words));
    }
}

TEST_CASE("only a launcher whose words say the layers of each GPU takes such shares") {
    static_assert(runtimes::llama_cpp.identity.launcher->takes_layers_of_gpus());
    static_assert(!runtimes::vllm.identity.launcher->takes_layers_of_gpus());
    CHECK(runtimes::huggingface.identity.launcher == nullptr);
}

TEST_CASE("further knobs stand behind those of a table, in their order; no table has none") {
    const std::array<knob, 1> table{knob{"a", knob_setting::sequences}};
    const auto more = with_knobs(table, knob{"b", knob_setting::cache_block}, knob{"c", knob_setting::cache_bytes});
    REQUIRE(more.size() == 3);
    CHECK(more[0].name == "a");
    CHECK(more[1].name == "b");
    CHECK(more[1].setting == knob_setting::cache_block);
    CHECK(more[2].name == "c");
    const knob_list none;
    CHECK(none.begin() == none.end());
}
