// SPDX-License-Identifier: MIT
#include <llmres/runtimes/sharding.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>

using namespace llmres;

TEST_CASE("each framework shards in its own way") {
    CHECK(runtimes::huggingface.sharding.code == sharding_code::fsdp1);
    CHECK(runtimes::torchtitan.sharding.code == sharding_code::fsdp2);
    CHECK(runtimes::deepspeed.sharding.code == sharding_code::deepspeed);
    CHECK(runtimes::megatron.sharding.code == sharding_code::buckets);
}

TEST_CASE(
    "transformers' Trainer, AutoModel and lit-gpt share the last micro-batch's gradients alone, and no other does") {
    for (const runtime* r : runtimes::all) {
        CAPTURE(r->identity.name.view());
        const std::string_view name = r->identity.name.view();
        const bool last = name == "huggingface" || name == "unsloth" || name == "automodel" || name == "litgpt";
        CHECK(r->sharding.sync_each_batch == !last);
        CHECK(r->sharding.gradient_as_bucket_view == !(last || name == "pytorch"));
    }
}

TEST_CASE("DeepSpeed has buckets and sub-groups, and no other profile has") {
    for (const runtime* r : runtimes::all) {
        const bool deepspeed = r->sharding.code == sharding_code::deepspeed;
        CHECK((r->sharding.deepspeed.reduce_bucket_size > 0) == deepspeed);
        CHECK((r->sharding.deepspeed.sub_group_size > 0) == deepspeed);
    }
}

TEST_CASE("DeepSpeed flattens weights on the GPU from 0.19.0 on, and no other profile does") {
    for (const runtime* r : runtimes::all) {
        CAPTURE(r->identity.name.view());
        CHECK(r->sharding.deepspeed.flattens_on_gpu == (r == &runtimes::deepspeed));
    }
    CHECK(find_runtime("deepspeed", "0.18.9", "runtime")->identity == runtimes::deepspeed_0_18.identity);
    CHECK(find_runtime("deepspeed", "0.19.2", "runtime")->identity == runtimes::deepspeed.identity);
}

TEST_CASE(
    "transformers' Trainer pipelines naively, also under Unsloth, and DeepSpeed's engines alone keep what their stages "
    "put out") {
    for (const runtime* r : runtimes::all) {
        const std::string_view name = r->identity.name.view();
        CHECK(r->pipeline.naive == (name == "huggingface" || name == "unsloth"));
        CHECK(r->pipeline.keeps_stage_outputs == (name == "deepspeed" || name == "megatron_deepspeed"));
    }
}

TEST_CASE("a runtime of which nothing is said writes shards, waits for the storage, and can gather") {
    constexpr runtime_checkpoints nothing_said;
    CHECK(nothing_said.files == checkpoint_files::sharded);
    CHECK(nothing_said.last_mode == checkpoint_mode::sync);
    CHECK(nothing_said.shares_replicas);
    CHECK_FALSE(nothing_said.copies_unshared);
    CHECK_FALSE(nothing_said.optimizer_in_ranks);
    CHECK_FALSE(nothing_said.weights_twice);
    CHECK_FALSE(nothing_said.tied_head_again);
    CHECK_FALSE(nothing_said.master_alone);
    CHECK_FALSE(nothing_said.model_with_adapter);
    CHECK(nothing_said.largest_file == byte_count{});
    CHECK(writes(nothing_said, checkpoint_files::gathered));
}

TEST_CASE("a runtime writes its usual files, and others where it has both") {
    CHECK(writes(runtimes::huggingface.checkpoints, checkpoint_files::gathered));
    CHECK(writes(runtimes::huggingface.checkpoints, checkpoint_files::sharded));
    CHECK_FALSE(writes(runtimes::litgpt.checkpoints, checkpoint_files::sharded));
    CHECK_FALSE(writes(runtimes::megatron.checkpoints, checkpoint_files::gathered));
    CHECK_FALSE(writes(runtimes::torchtitan.checkpoints, checkpoint_files::gathered));
}

TEST_CASE("before transformers 5.0 a file of weights had 5 GB at most") {
    CHECK(runtimes::huggingface.checkpoints.largest_file == gb(50));
    CHECK(runtimes::huggingface_4_57.checkpoints.largest_file == gb(5));
}
