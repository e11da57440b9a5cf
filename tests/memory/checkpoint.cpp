// SPDX-License-Identifier: MIT
#include <llmres/memory/checkpoint.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <llmres/models/all.hpp>
#include <llmres/runtimes/all.hpp>
#include <string>

using namespace llmres;

namespace {

/// Parameters by hand: of Llama 3.1 8B and 70B, as their repositories publish them.
constexpr std::int64_t of_8b = 8'030'261'248, of_70b = 70'553'706'496;

job finetuned(const model& m, const runtime& r) { return {.model = m, .task = task::finetuning, .runtime = r}; }
job full(const runtime& r) { return finetuned(models::llama_3_1_70b, r); }
/// On nodes of eight GPUs.
checkpoint_bytes saved(const job& j, const layout& l, const checkpoint_request& r = {}) {
    return checkpoint_of(r, j, l, cluster{.gpus = static_cast<std::int32_t>(l.gpus()), .gpus_per_node = 8}).value();
}
constexpr layout sixteen{.data = 16, .zero = 3}, eight{.data = 8, .zero = 3};

/// The bytes of so many ranks' equal parts, each rounded up.
byte_count parts(std::int64_t all, std::int64_t ranks, std::int64_t of) { return div_up(bytes(all), of) * ranks; }

job trained_by(const runtime& r) { return {.model = models::llama_3_1_8b, .task = task::finetuning, .runtime = r}; }
constexpr layout replicated{.data = 8};

error refusal_of(const checkpoint_request& r, const job& j, const layout& l = eight) {
    return validate(r, j, l).error();
}

}  // namespace

TEST_CASE("Trainer under FSDP gathers fp32 weights into two files, and two fp32 moments") {
    // 4 bytes of weights twice, 8 of moments: 16 a parameter, by rank 0, which holds the moments' 8 in main memory.
    const checkpoint_bytes c = saved(full(runtimes::huggingface), sixteen);
    CHECK(c.files == checkpoint_files::gathered);
    CHECK(c.weights == bytes(4 * of_70b));
    CHECK(c.again == bytes(4 * of_70b));
    CHECK(c.states == bytes(8 * of_70b));
    CHECK(c.total() == bytes(16 * of_70b));
    CHECK(c.node == c.total());
    CHECK(c.process == c.total());
    CHECK(c.host == bytes(8 * of_70b));
    CHECK(c.writers == 1);
}

TEST_CASE("sharded, each rank writes a sixteenth of 12 bytes a parameter, and copies weights or moments first") {
    const checkpoint_bytes c = saved(full(runtimes::huggingface), sixteen, {.files = checkpoint_files::sharded});
    CHECK(c.total() == bytes(12 * of_70b));
    CHECK(c.node == parts(12 * of_70b, 8, 16));
    CHECK(c.process == parts(12 * of_70b, 1, 16));
    CHECK(c.host == parts(8 * of_70b, 8, 16));
    CHECK(c.writers == 16);
}

TEST_CASE("save_only_model writes fp32 weights once") {
    const checkpoint_bytes c = saved(full(runtimes::huggingface), sixteen, {.weights_only = true});
    CHECK(c.total() == bytes(4 * of_70b));
    CHECK(c.host == bytes(4 * of_70b));
}

TEST_CASE("without sharding Trainer writes 16-bit weights and moments, and copies one file at a time") {
    const job j = finetuned(models::llama_3_1_8b, runtimes::huggingface);
    const checkpoint_bytes c = saved(j, {.data = 8});
    CHECK(c.weights == bytes(2 * of_8b));
    CHECK(c.states == bytes(4 * of_8b));
    CHECK(c.again == byte_count{});
    CHECK(c.host == bytes(2 * of_8b));  // one file: 16.1 GB are less than 50
    const checkpoint_bytes before = saved(finetuned(models::llama_3_1_8b, runtimes::huggingface_4_57), {.data = 8});
    CHECK(before.host == gb(5));
}

TEST_CASE("DeepSpeed's ZeRO 1 and 2 write 16-bit weights on the first rank, 12 bytes a parameter in partitions") {
    for (const std::int32_t stage : {1, 2}) {
        const checkpoint_bytes c = saved(full(runtimes::deepspeed), {.data = 16, .zero = stage});
        CHECK(c.weights == bytes(2 * of_70b));
        CHECK(c.states == bytes(12 * of_70b));
        CHECK(c.node == bytes(2 * of_70b) + parts(12 * of_70b, 8, 16));
        CHECK(c.process == bytes(2 * of_70b) + parts(12 * of_70b, 1, 16));
        CHECK(c.host == parts(4 * of_70b, 8, 16));  // a flat partition of fp32 weights on each rank of the node
    }
}

TEST_CASE("DeepSpeed's ZeRO 3 writes no 16-bit weights unless they are asked for") {
    const checkpoint_bytes c = saved(full(runtimes::deepspeed), sixteen);
    CHECK(c.weights == byte_count{});
    CHECK(c.total() == bytes(12 * of_70b));
    CHECK(c.host == bytes(8 * 4'000'000'000));  // sub-groups of 1e9 fp32 values
    const checkpoint_bytes gathered = saved(full(runtimes::deepspeed), sixteen, {.files = checkpoint_files::gathered});
    CHECK(gathered.total() == bytes(14 * of_70b));
    CHECK(gathered.node == bytes(2 * of_70b) + parts(12 * of_70b, 8, 16));
    CHECK(gathered.host == bytes(2 * of_70b));
    const checkpoint_bytes alone = saved(full(runtimes::deepspeed), sixteen, {.weights_only = true});
    CHECK(alone.total() == bytes(2 * of_70b));
    CHECK(alone.writers == 1);
    const checkpoint_bytes first = saved(full(runtimes::deepspeed), {.data = 16, .zero = 2}, {.weights_only = true});
    CHECK(first.total() == bytes(2 * of_70b));
    CHECK(first.host == bytes(std::int64_t{4} * 128256 * 8192));  // the largest tensor
}

TEST_CASE("DeepSpeed without ZeRO writes one file of 14 bytes a parameter") {
    const checkpoint_bytes c = saved(finetuned(models::llama_3_1_8b, runtimes::deepspeed), {.data = 8});
    CHECK(c.total() == bytes(14 * of_8b));
    CHECK(c.writers == 1);
    CHECK(c.host == bytes(std::int64_t{4} * 128256 * 4096));  // its largest tensor, in fp32
}

TEST_CASE("Megatron-Core writes 14 bytes a parameter, and copies a node's part first, asynchronous or not") {
    const checkpoint_bytes c = saved(full(runtimes::megatron), {.tensor = 8, .data = 2, .zero = 1});
    CHECK(c.weights == bytes(2 * of_70b));
    CHECK(c.states == bytes(12 * of_70b));
    CHECK(c.node == parts(14 * of_70b, 8, 16));
    CHECK(c.host == c.node);
    CHECK(saved(full(runtimes::megatron), {.tensor = 8, .data = 2, .zero = 1}, {.mode = checkpoint_mode::async}).host ==
          c.host);
}

TEST_CASE("torchtitan writes fp32 parameters and moments, no 16-bit copies") {
    const checkpoint_bytes c = saved(full(runtimes::torchtitan), sixteen);
    CHECK(c.weights == bytes(4 * of_70b));
    CHECK(c.states == bytes(8 * of_70b));
    CHECK(c.host < gb(3));  // tensor by tensor
    const checkpoint_bytes pinned =
        saved(full(runtimes::torchtitan), sixteen, {.mode = checkpoint_mode::async_with_pinned_mem});
    CHECK(pinned.total() == c.total());
    CHECK(pinned.host == parts(12 * of_70b, 8, 16));  // all that the node writes
    const checkpoint_bytes weights = saved(full(runtimes::torchtitan), sixteen, {.weights_only = true});
    CHECK(weights.total() == bytes(4 * of_70b));
}

TEST_CASE("torchtune and litgpt gather weights and moments before they save: both are in main memory") {
    for (const runtime& r : {runtimes::torchtune, runtimes::litgpt}) {
        const checkpoint_bytes c = saved(full(r), sixteen);
        CHECK(c.total() == bytes(6 * of_70b));  // bf16 weights and moments
        CHECK(c.host == bytes(6 * of_70b));
        CHECK(c.writers == 1);
    }
    // Also on one GPU under torchtune; litgpt saves tensor by tensor there.
    CHECK(saved(finetuned(models::llama_3_1_8b, runtimes::torchtune), {}).host == bytes(6 * of_8b));
    CHECK(saved(finetuned(models::llama_3_1_8b, runtimes::litgpt), {}).host < gb(3));
}

TEST_CASE("nanotron's first data ranks write weights, each rank its states") {
    const layout l{.tensor = 8, .data = 2, .zero = 1};
    const checkpoint_bytes c = saved(full(runtimes::nanotron), l);
    CHECK(c.weights == bytes(2 * of_70b));
    CHECK(c.states == bytes(12 * of_70b));
    CHECK(c.node == bytes(2 * of_70b) + parts(12 * of_70b, 8, 16));
    CHECK(c.process == div_up(bytes(2 * of_70b), 8) + div_up(bytes(12 * of_70b), 16));
    CHECK(saved(full(runtimes::nanotron), {.tensor = 8, .data = 2}).writers == 8);
}

TEST_CASE("stages of a pipeline in nodes of their own write their own weights") {
    const layout l{.tensor = 8, .pipeline = 4, .data = 1, .zero = 1};
    CHECK(saved(full(runtimes::nanotron), l).node == parts(2 * of_70b, 1, 4) + parts(12 * of_70b, 8, 32));
}

TEST_CASE("an adapter's checkpoint is the adapter and its moments") {
    // LoRA of rank 16 on q and v of 80 layers: 80 x 16 x (2 x 8192 + 8192 + 1024) parameters in fp32.
    job j = full(runtimes::huggingface);
    j.adapter = {.kind = adapter_kind::lora, .rank = 16, .targets = {weight_role::q_proj, weight_role::v_proj}};
    constexpr std::int64_t trained = std::int64_t{80} * 16 * (2 * 8192 + 8192 + 1024);
    const checkpoint_bytes c = saved(j, eight);
    CHECK(c.weights == bytes(4 * trained));
    CHECK(c.states == bytes(8 * trained));
    CHECK(c.again == byte_count{});
    j.runtime = runtimes::torchtune;  // writes the merged model beside it
    CHECK(saved(j, eight).weights == bytes(2 * of_70b + 2 * trained));
}

TEST_CASE("optimizers differ: none, one or two moments, 8 bits") {
    job j = finetuned(models::llama_3_1_8b, runtimes::torchtitan);
    j.optimizer = sgd;
    CHECK(saved(j, eight).total() == bytes(4 * of_8b));
    j.optimizer = lion;
    CHECK(saved(j, eight).total() == bytes(8 * of_8b));
    j.ema = true;
    CHECK(saved(j, eight).total() == bytes(12 * of_8b));
    j.ema = false, j.optimizer = adamw_8bit;
    const byte_count states = saved(j, eight).states;
    CHECK(states > bytes(2 * of_8b));  // a byte a value and moment, and a scale for each 256 of them
    CHECK(states < bytes(2 * of_8b + of_8b / 20));
}

TEST_CASE("offloaded states are written as those on GPUs are") {
    job j = full(runtimes::deepspeed);
    const checkpoint_bytes on_gpus = saved(j, sixteen);
    j.offload = {.optimizer = offload_place::host, .parameters = offload_place::host};
    CHECK(saved(j, sixteen).total() == on_gpus.total());
}

TEST_CASE("FSDP's state dict has a tied head beside the embedding, model.safetensors has it not") {
    const job j = finetuned(models::llama_3_2_1b, runtimes::huggingface);
    constexpr std::int64_t of_1b = 1'235'814'400, table = std::int64_t{128256} * 2048;
    const checkpoint_bytes c = saved(j, eight);
    CHECK(c.weights == bytes(4 * of_1b));
    CHECK(c.again == bytes(4 * of_1b + 4 * table));
    CHECK(saved(j, {.data = 8}).again == byte_count{});
    CHECK(saved(j, eight, {.files = checkpoint_files::sharded}).again == bytes(4 * table));
    CHECK(saved(finetuned(models::llama_3_2_1b, runtimes::megatron), {.data = 8, .zero = 1}).again == byte_count{});
}

TEST_CASE("routed experts are counted all, whatever ranks hold them") {
    const job j{.model = models::mixtral_8x7b, .task = task::pretraining, .runtime = runtimes::megatron};
    const std::int64_t all = count_parameters(j.model).in(parameters);
    CHECK(saved(j, {.data = 8, .expert = 8, .zero = 1}).total() == bytes(14 * all));
}

TEST_CASE("a checkpoint is known in a constant expression") {
    static constexpr job j{.model = models::llama_3_1_8b, .task = task::finetuning, .runtime = runtimes::huggingface};
    static_assert(checkpoint_of({}, j, eight, cluster{.gpus = 8})->states == bytes(8 * of_8b));
}

TEST_CASE("files are those of the runtime, and of one process where ranks share nothing") {
    CHECK(files_of({}, trained_by(runtimes::huggingface), eight) == checkpoint_files::gathered);
    CHECK(files_of({}, trained_by(runtimes::torchtitan), eight) == checkpoint_files::sharded);
    CHECK(files_of({}, trained_by(runtimes::deepspeed), eight) == checkpoint_files::sharded);
    CHECK(files_of({}, trained_by(runtimes::deepspeed), replicated) == checkpoint_files::gathered);
    CHECK(files_of({.weights_only = true}, trained_by(runtimes::deepspeed), eight) == checkpoint_files::gathered);
    CHECK(files_of({}, trained_by(runtimes::megatron), replicated) == checkpoint_files::sharded);
    CHECK(files_of({.files = checkpoint_files::sharded}, trained_by(runtimes::huggingface), eight) ==
          checkpoint_files::sharded);
    CHECK(files_of({.mode = checkpoint_mode::async}, trained_by(runtimes::torchtune), eight) ==
          checkpoint_files::sharded);
}

TEST_CASE("a stage of DeepSpeed's ZeRO shares the optimizer's states from 1 on, one of FSDP from 2 on") {
    CHECK(shares_weights(trained_by(runtimes::deepspeed), {.data = 8, .zero = 1}));
    CHECK_FALSE(shares_weights(trained_by(runtimes::huggingface), {.data = 8, .zero = 1}));
    CHECK(shares_weights(trained_by(runtimes::huggingface), {.data = 8, .zero = 2}));
    CHECK(shares_weights(trained_by(runtimes::megatron), {.tensor = 2}));
    CHECK(shares_weights(trained_by(runtimes::megatron), {.pipeline = 2}));
    CHECK_FALSE(shares_weights(trained_by(runtimes::huggingface), {.pipeline = 2}));  // device_map: one process
}

TEST_CASE("what a runtime does not write is refused, with its name and what it does") {
    const error gathered = refusal_of({.files = checkpoint_files::gathered}, trained_by(runtimes::torchtitan));
    CHECK(gathered.field == "checkpoint.files");
    CHECK(gathered.value == "gathered");
    CHECK(std::string{gathered.expected.view()} == "sharded: no process gathers the weights under torchtitan");
    CHECK(refusal_of({.files = checkpoint_files::sharded}, trained_by(runtimes::litgpt)).expected ==
          "gathered: one process writes whole tensors under litgpt");
    CHECK(refusal_of({.files = checkpoint_files::sharded}, trained_by(runtimes::huggingface), replicated).expected ==
          "gathered, or a layout in which ranks share the weights (zero 3) under huggingface");
    const error waits = refusal_of({.mode = checkpoint_mode::async}, trained_by(runtimes::huggingface));
    CHECK(waits.field == "checkpoint.mode");
    CHECK(waits.expected == "sync: huggingface waits until a checkpoint is written");
    CHECK(refusal_of({.mode = checkpoint_mode::async_with_pinned_mem}, trained_by(runtimes::megatron)).expected ==
          "sync or async: megatron has no page-locked copy");
    CHECK(refusal_of({.files = checkpoint_files::gathered, .mode = checkpoint_mode::async},
                     trained_by(runtimes::torchtune))
              .field == "checkpoint.files");
    CHECK(refusal_of({.files = checkpoint_files::sharded, .weights_only = true}, trained_by(runtimes::huggingface))
              .field == "checkpoint.weights_only");
    CHECK(refusal_of({.keep = -1}, trained_by(runtimes::pytorch)).field == "checkpoint.keep");
    CHECK(refusal_of({}, job{.model = models::llama_3_1_8b}).field == "checkpoint");
}

TEST_CASE("what it writes is accepted") {
    CHECK(validate({}, trained_by(runtimes::huggingface), eight));
    CHECK(validate({.mode = checkpoint_mode::async_with_pinned_mem}, trained_by(runtimes::torchtitan), eight));
    CHECK(validate({.mode = checkpoint_mode::async}, trained_by(runtimes::megatron), {.tensor = 8}));
    CHECK(validate({.weights_only = true}, trained_by(runtimes::huggingface), eight));
    CHECK(validate({.files = checkpoint_files::gathered, .keep = 5}, trained_by(runtimes::pytorch), eight));
}

TEST_CASE("nanotron's node writes the weights of the stages that it has, and a part of the states") {
    // Sixteen GPUs on two nodes: two stages of four on each.
    const job j{.model = models::llama_3_1_8b, .task = task::pretraining, .runtime = runtimes::nanotron};
    const layout l{.tensor = 4, .pipeline = 4};
    const checkpoint_bytes c = saved(j, l, {.files = checkpoint_files::sharded});
    REQUIRE(j.runtime.checkpoints.optimizer_in_ranks);
    CHECK(c.node == div_up(c.weights, 4) * 2 + div_up(c.states, 4) * 2);
    CHECK(c.process == div_up(c.weights, 16) + div_up(c.states, 16));
    CHECK(c.writers == 16);
    // Of two stages of two ranks, each with four data ranks, one of these writes; under ZeRO all write states.
    const layout data{.tensor = 2, .pipeline = 2, .data = 4}, shards{.tensor = 2, .pipeline = 2, .data = 4, .zero = 1};
    const checkpoint_bytes plain = saved(j, data, {.files = checkpoint_files::sharded});
    CHECK(plain.writers == 4);
    CHECK(plain.node == div_up(plain.weights, 2) + div_up(plain.states, 2));  // a stage on each node
    const checkpoint_bytes shared = saved(j, shards, {.files = checkpoint_files::sharded});
    CHECK(shared.writers == 16);
    CHECK(shared.node == div_up(shared.weights, 2) + div_up(shared.states, 16) * 8);
    CHECK(shared.process == div_up(shared.weights, 4) + div_up(shared.states, 16));
    // One stage is all of it on each node.
    const checkpoint_bytes one = saved(j, {.tensor = 8}, {.files = checkpoint_files::sharded});
    CHECK(one.node == one.weights + one.states);
}

TEST_CASE("a part of a whole: as many equal parts, rounded up, or all") {
    CHECK(detail::part_of(bytes(10), 1, 4) == bytes(3));
    CHECK(detail::part_of(bytes(10), 3, 4) == bytes(9));
    CHECK(detail::part_of(bytes(10), 4, 4) == bytes(10));
    CHECK(detail::part_of(bytes(10), 5, 4) == bytes(10));
}

TEST_CASE("processes share weights under tensor, expert and pipeline ranks, and under ZeRO as far as it shards them") {
    job j = trained_by(runtimes::huggingface);
    CHECK_FALSE(shares_weights(j, {}));
    CHECK_FALSE(shares_weights(j, {.data = 8}));
    CHECK_FALSE(shares_weights(j, {.data = 8, .zero = 1}));
    CHECK(shares_weights(j, {.data = 8, .zero = 2}));
    CHECK(shares_weights(j, {.tensor = 2}));
    for (const std::int32_t expert : {2, 4}) CHECK(shares_weights(j, {.data = 4, .expert = expert}));
    j.runtime.pipeline.naive = true;
    CHECK_FALSE(shares_weights(j, {.pipeline = 2}));
    j.runtime.pipeline.naive = false;
    CHECK(shares_weights(j, {.pipeline = 2}));
    j.runtime.sharding.code = sharding_code::deepspeed;
    CHECK(shares_weights(j, {.data = 8, .zero = 1}));
}
