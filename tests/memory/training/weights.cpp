// SPDX-License-Identifier: MIT
// What training keeps of weights: of one (weights.hpp), of whole tensors on a rank (layer_wise_optimizer.hpp), and in
// DeepSpeed's buffers (deepspeed.hpp).
#include <llmres/inventory/placement.hpp>
#include <llmres/memory/training/weights.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>
#include <llmres/memory/training/deepspeed.hpp>
#include <llmres/memory/training/layer_wise_optimizer.hpp>
#include <llmres/models/encoders.hpp>
#include <llmres/models/gemma.hpp>
#include <llmres/models/gpt.hpp>
#include <llmres/models/mistral.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <llmres/runtimes/megatron.hpp>
#include <utility>

#include "../../training_jobs.hpp"

using namespace llmres::detail;

using namespace training_jobs;

namespace {

training_state state_of(const job& j, const layout& l, const weight& w, weight_place place = weight_place::layer) {
    const training_context context{j, l};
    return training_state_of(w, weight_training{j, l, context}, place);
}

job mixed(const optimizer& o = adamw_fused) {
    job j = full();
    j.task = task::pretraining;
    j.optimizer = o;
    return j;
}

constexpr weight matrix{.role = weight_role::up_proj, .rows = 75'000, .columns = 100'000, .quantised = true};
constexpr layout layout_of_one{};
constexpr std::int64_t values = 7'500'000'000;

}  // namespace

TEST_CASE("mixed-precision Adam keeps 2 + 2 + 12 bytes a parameter, and ZeRO shares them: arXiv 1910.02054, figure 1") {
    // 7.5 B parameters on 64 GPUs: 120, 31.4, 16.6 and 1.88 GB.
    const auto all = [](std::int32_t stage) {
        const training_state s = state_of(mixed(), {.data = 64, .zero = stage}, matrix);
        return s.weights + s.gradients.kept + s.optimizer.states;
    };
    CHECK(all(0) == bytes(16) * values);
    CHECK(all(1) == bytes(4) * values + div_up(bytes(12) * values, 64));
    CHECK(all(2) == bytes(2) * values + div_up(bytes(14) * values, 64));
    CHECK(all(3) == div_up(bytes(16) * values, 64));
    CHECK(all(1).in(gb) == doctest::Approx(31.4).epsilon(0.002));
    CHECK(all(2).in(gb) == doctest::Approx(16.6).epsilon(0.003));
    CHECK(all(3).in(gb) == doctest::Approx(1.88).epsilon(0.003));
    // Whole gradients are made first, and whole weights are gathered.
    CHECK(state_of(mixed(), {.data = 64, .zero = 3}, matrix).gradients.whole == bytes(2) * values);
    CHECK(state_of(mixed(), {.data = 64, .zero = 3}, matrix).gathered == bytes(2) * values);
}

TEST_CASE("16-bit gradients are widened before fp32 masters step: a rank's own part, which DeepSpeed flattens first") {
    job j = mixed();
    CHECK(state_of(j, {}, matrix).optimizer.temporaries == byte_count{});
    j.runtime = runtimes::megatron;
    CHECK(state_of(j, {}, matrix).optimizer.temporaries == byte_count{});  // they are fp32
    j.gradients = bf16;
    const layout sharded{.data = 64, .zero = 1};
    CHECK(state_of(j, {}, matrix).optimizer.temporaries == bytes(4) * values);
    CHECK(state_of(j, sharded, matrix).optimizer.temporaries == div_up(bytes(4) * values, 64));
    CHECK(state_of(j, sharded, matrix).gradients.kept == bytes(2) * values);
    j.runtime = runtimes::deepspeed;
    CHECK(state_of(j, {}, matrix).optimizer.temporaries == bytes(8) * values);
    CHECK(state_of(j, sharded, matrix).optimizer.temporaries == div_up(bytes(6) * values, 64));
}

TEST_CASE("what is trained in fp32 is its own master copy, and autocast casts matrices alone") {
    job j = mixed();
    j.weights = fp32;
    j.runtime.kernels.casts_weights = true;
    const training_state s = state_of(j, {}, matrix);
    CHECK(s.weights + s.gradients.kept == bytes(8) * values);
    CHECK(s.optimizer.states == bytes(8) * values);
    CHECK(s.casts.all == bytes(2) * values);
    CHECK(s.casts.feed_forward == s.casts.all);
    const training_state vector = state_of(j, {}, {.role = weight_role::norm, .columns = 4096});
    CHECK(vector.casts.all == byte_count{});
    CHECK(vector.optimizer.states == bytes(8) * 4096);
    CHECK(state_of(j, {}, matrix, weight_place::output).casts.all == byte_count{});  // the head's is the loss's own
}

TEST_CASE("experts' states are shared by the ranks that hold the same experts") {
    const weight experts{
        .role = weight_role::up_proj, .rows = 1000, .columns = 1000, .copies = 64, .routed = true, .quantised = true};
    const auto optimizer_of = [&](const layout& l) { return state_of(mixed(), l, experts).optimizer.states; };
    const byte_count one = bytes(12) * 1'000'000;
    CHECK(optimizer_of({.data = 8, .zero = 1}) == one * 8);
    CHECK(optimizer_of({.data = 8, .expert = 8, .zero = 1}) == one * 8);  // eight of them, by one rank
    CHECK(optimizer_of({.data = 8, .expert = 4, .zero = 1}) == one * 8);
    CHECK(optimizer_of({.data = 8, .expert = 8}) == one * 8);
    CHECK(optimizer_of({.data = 8}) == one * 64);
}

TEST_CASE("what is offloaded is in main memory, to the byte, and its gradient with the states") {
    job j = mixed();
    const auto sum = [](const training_state& s) { return s.weights + s.gradients.kept + s.optimizer.states; };
    j.offload.optimizer = offload_place::host;
    training_state s = state_of(j, {}, matrix);
    CHECK(s.host == bytes(12 + 2) * values);
    CHECK(sum(s) == bytes(2 + 2) * values);
    j.offload.parameters = offload_place::nvme;
    s = state_of(j, {}, matrix);
    CHECK(s.nvme == bytes(2) * values);
    CHECK(s.host == bytes(12 + 2) * values);
    CHECK(s.weights == byte_count{});
}

TEST_CASE("a frozen matrix trains r (rows + columns) values of LoRA, and nothing of its own") {
    job j = mixed();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8, .targets = {weight_role::up_proj}};
    const training_state s = state_of(j, {}, matrix);
    const std::int64_t added = 8 * (75'000 + 100'000);
    CHECK(s.weights == bytes(2) * values);
    CHECK(s.adapter == bytes(4) * added);
    CHECK(s.gradients.kept == bytes(4) * added);
    CHECK(s.optimizer.states == bytes(8) * added);  // fp32 adapters need no master copy
    const training_state other =
        state_of(j, {}, {.role = weight_role::q_proj, .rows = 100, .columns = 100, .quantised = true});
    CHECK(other.adapter + other.gradients.kept + other.optimizer.states == byte_count{});
}

TEST_CASE("LOMO keeps no master copy under ZeRO either: each tensor is widened as it is stepped") {
    job j = mixed(lomo);
    j.runtime = runtimes::deepspeed;
    for (const std::int32_t zero : {0, 1}) {
        const training_state s = state_of(j, {.data = 2, .zero = zero}, matrix);
        CHECK(s.optimizer.states == byte_count{});
        CHECK(s.weights == bytes(2) * values);
    }
}

TEST_CASE("of GPTQ's weights each rank has scales and the order of groups, which are buffers; words are shared") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.weights = gptq(4, 128);
    const auto weights = [&](const layout& l) { return training_state_of(j, l).weights; };
    const std::int64_t all = std::int64_t{32} * (4096 * (2 * 4096 + 2 * 1024) + 3 * 4096 * 14336);
    const byte_count scales = bytes(2) * (all / 128), order = bytes(4) * (std::int64_t{32} * (6 * 4096 + 14336));
    const byte_count buffers = scales + order;
    CHECK(weights({.data = 8, .zero = 3}) >= div_up(weights({}) - buffers, 8) + buffers);
    CHECK(weights({.data = 8, .zero = 3}) < div_up(weights({}) - buffers, 8) + buffers + mib(1));
    j.weights = gptq(4, 128, {.group_index = false});
    CHECK(weights({.data = 8, .zero = 3}) < div_up(weights({}) - scales, 8) + scales + mib(1));
}

TEST_CASE("FSDP's ZeRO 2 gathers no more of packed weights than there is of them, wherever routed experts lie") {
    // They stay as they are: kernels unpack them. What is not quantised is widened, shared and gathered in 16 bits.
    job j = full();
    j.adapter = {.kind = adapter_kind::prompt, .rank = 1};
    j.weights = nf4;
    for (const runtime& r : {runtimes::huggingface, runtimes::huggingface_4_57}) {
        j.runtime = r;
        const layout two{.data = 4, .zero = 2};
        CHECK(state_of(j, two, matrix).weights == size_of(nf4, matrix.rows, matrix.columns));
        CHECK(training_state_of(j, two).weights <= training_state_of(j, {.data = 4, .zero = 1}).weights);
    }
}

TEST_CASE("adapters of fused functions are whole on each rank of FSDP, with their gradients and states") {
    job j = full();
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.weights = nf4;
    j.runtime = runtimes::huggingface;
    const layout four{.data = 4, .zero = 3};
    const training_state one = training_state_of(j, {}), shared = training_state_of(j, four);
    CHECK(shared.adapter.in(mib) == doctest::Approx(one.adapter.in(mib) / 4).epsilon(1e-3));
    j.runtime.kernels.adapters = adapter_code::fused;
    const training_state whole = training_state_of(j, four);
    CHECK(whole.adapter == one.adapter);
    CHECK(whole.gradients.kept == one.gradients.kept);
    CHECK(whole.optimizer.states == one.optimizer.states);
    CHECK(whole.gathered == shared.gathered - one.adapter);  // and FSDP gathers none of them
    j.runtime.sharding.code = sharding_code::deepspeed;
    CHECK(training_state_of(j, four).adapter == shared.adapter);
}

TEST_CASE("autocast keeps casts of leaves: of no parameter of FSDP1, a view, and of no adapter that a function casts") {
    job j = full();
    j.weights = fp32;
    j.runtime = runtimes::huggingface;
    CHECK(training_state_of(j, {}).casts.cached > byte_count{});
    CHECK(training_state_of(j, {.data = 4}).casts.cached == training_state_of(j, {}).casts.cached);
    for (const std::int32_t zero : {2, 3})
        CHECK(training_state_of(j, {.data = 4, .zero = zero}).casts.cached == byte_count{});
    CHECK(training_state_of(j, {.data = 4, .zero = 3}).casts.all == training_state_of(j, {}).casts.all);
    j.runtime.sharding.code = sharding_code::fsdp2;
    CHECK(training_state_of(j, {.data = 4, .zero = 3}).casts.cached == training_state_of(j, {}).casts.cached);
    j = full();
    j.weights = nf4;
    j.autocast = true;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.runtime = runtimes::huggingface;
    CHECK(training_state_of(j, {}).casts.cached > byte_count{});
    j.runtime.kernels.adapters = adapter_code::fused;
    CHECK(training_state_of(j, {}).casts.cached == byte_count{});
}

TEST_CASE("a factored state is of each adapter's own matrix, whatever was trained before it") {
    job j = mixed(adafactor);
    j.task = task::finetuning;
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    j.adapter.experts = true;
    j.runtime.kernels.experts = expert_code::grouped;
    const weight up{.role = weight_role::up_proj, .rows = 1000, .columns = 500, .copies = 4, .routed = true};
    weight gate = up;
    gate.role = weight_role::gate_proj;
    const weight query{.role = weight_role::q_proj, .rows = 700, .columns = 500};
    const byte_count factors = bytes(4) * (4 * ((8 + 500) + (1000 + 8)));  // a row and a column of A and of B
    const byte_count of_query = bytes(4) * ((8 + 500) + (700 + 8));
    const auto states = [&](const role_set& targets, auto&&... weights) {
        j.adapter.targets = targets;
        const training_context context{j, {}};
        const weight_training how{j, layout_of_one, context};
        weight_fold fold{how, weight_place::layer};
        (fold(weights), ...);
        return fold.state().optimizer.states;
    };
    CHECK(states({weight_role::up_proj}, query, gate, up) == factors);
    CHECK(states({weight_role::q_proj, weight_role::up_proj}, query, gate, up) == of_query + factors);
    CHECK(states({weight_role::gate_proj, weight_role::up_proj}, query, gate, up) == factors * 2);
}

TEST_CASE("experts stacked without a gate continue no tensor, and with one gate and up are one tensor") {
    job j = mixed(adafactor);
    j.runtime.kernels.experts = expert_code::grouped;
    const weight router{.role = weight_role::router, .rows = 4, .columns = 500};
    const weight up{.role = weight_role::up_proj, .rows = 1000, .columns = 500, .copies = 4, .routed = true};
    weight gate = up;
    gate.role = weight_role::gate_proj;
    const auto states = [&](auto&&... weights) {
        const training_context context{j, {}};
        const weight_training how{j, layout_of_one, context};
        weight_fold fold{how, weight_place::layer};
        (fold(weights), ...);
        return fold.state().optimizer.states;
    };
    const byte_count masters = bytes(4) * (4 * 1000 * 500);
    const byte_count of_router = bytes(4) * (4 * 500 + 4 + 500);
    CHECK(states(router, up) == of_router + masters + bytes(4) * (4 * (1000 + 500)));
    CHECK(states(router, gate, up) == of_router + masters * 2 + bytes(4) * (4 * (2000 + 500)));
}

TEST_CASE("a fold of a layer is the sum of its weights, and no fold knows of another") {
    const job j = mixed();
    const training_context context{j, {}};
    const layout l{};
    const weight_training how{j, l, context};
    const layer& kind = j.model.layers.kinds[0];
    training_state sum;
    for_each_weight(kind, j.model.hidden,
                    [&](const weight& w) { sum.add(training_state_of(w, how, weight_place::layer), 1); });
    for (int times = 0; times < 2; ++times) {
        const training_state whole = training_state_of(kind, j.model.hidden, how);
        CHECK(whole.weights == sum.weights);
        CHECK(whole.gradients.kept == sum.gradients.kept);
        CHECK(whole.optimizer.states == sum.optimizer.states);
        CHECK(whole.largest == sum.largest);
    }
}

TEST_CASE("of a loop over tensors, the temporaries of one and the next overlap, from one place to the next") {
    job j = mixed(lion);  // one temporary as large as the tensor, freed after the next one's is made
    j.weights = j.optimizer_states = fp32;
    const layout l{};
    const training_context context{j, l};
    const weight_training how{j, l, context};
    weight_fold fold{how, weight_place::layer, mib(5)};
    const weight square{.role = weight_role::up_proj, .rows = 1024, .columns = 1024, .quantised = true};
    fold(square);
    CHECK(fold.state().optimizer.largest_step == mib(4) + mib(5));
    CHECK(fold.state().optimizer.last_step == mib(4));
    fold(square);
    CHECK(fold.state().optimizer.largest_step == mib(9));
    CHECK(weight_fold{how, weight_place::layer, mib(7)}.state().optimizer.last_step == mib(7));
}

TEST_CASE("before an optimizer's first step there are its master weights alone") {
    const job j = mixed();
    const byte_count all = bytes(4) * count_parameters(j.model).in(parameters);
    CHECK(detail::states_before_first_step(j, {}, placement_of(j, {}, 0)) == all);
    CHECK(detail::states_before_first_step(j, {.data = 8, .zero = 1}, placement_of(j, {}, 0)) >= div_up(all, 8));
    CHECK(detail::states_before_first_step(j, {.data = 8, .zero = 1}, placement_of(j, {}, 0)) <
          div_up(all, 8) + mib(1));
    job plain = j;
    plain.weights = fp32;
    CHECK(detail::states_before_first_step(plain, {}, placement_of(plain, {}, 0)) == byte_count{});
}

TEST_CASE("whole tensors go round the ranks, and the fullest rank has one more") {
    job j = mixed(muon);
    j.runtime.optimizer.layer_wise = true;
    const auto fullest = [&](std::int32_t ranks, std::int64_t layers) {
        const layout l{.data = ranks, .zero = 1};
        const training_context context{j, l};
        REQUIRE(detail::shards_whole_tensors(j, l));
        const layout unsharded{.data = ranks};
        const weight_training how{j, unsharded, context};
        detail::tensor_shards shards{how, l};
        shards.add({.role = weight_role::up_proj, .rows = 100, .columns = 300, .quantised = true}, weight_place::layer,
                   layers);
        return shards.fullest();
    };
    const byte_count one = bytes(4 + 4) * (100 * 300);  // master weights and Muon's one moment
    CHECK(fullest(1, 10) == one * 10);
    CHECK(fullest(2, 3) == one * 2);  // whole, and not a half of three
    CHECK(fullest(4, 8) == one * 2);
    CHECK(fullest(4, 10) == one * 3);
    CHECK(fullest(64, 10) == one);
    job by_value = mixed();
    CHECK_FALSE(detail::shards_whole_tensors(by_value, {.data = 4, .zero = 1}));
    CHECK_FALSE(detail::shards_whole_tensors(j, {.data = 4}));
}

TEST_CASE("of tensors that are left over, the fullest rank has the largest, or its part of them all") {
    job j = mixed(muon);
    j.runtime.optimizer.layer_wise = true;
    const layout l{.data = 4, .expert = 2, .zero = 2};
    const layout unsharded{.data = 4, .expert = 2};
    const training_context context{j, l};
    const weight_training how{j, unsharded, context};
    const auto square = [](std::int64_t side) {
        return weight{.role = weight_role::up_proj, .rows = side, .columns = side, .quantised = true};
    };
    const auto fullest = [&](std::initializer_list<std::pair<weight, std::int64_t>> tensors,
                             weight_place place = weight_place::layer) {
        detail::tensor_shards shards{how, l};
        for (const auto& [w, times] : tensors) shards.add(w, place, times);
        return shards.fullest();
    };
    const byte_count small = bytes(8 * 100 * 100), large = bytes(8 * 200 * 200);  // master weights and a moment
    CHECK(fullest({{square(100), 4}}) == small);
    CHECK(fullest({{square(100), 6}}) == small * 2);
    CHECK(fullest({{square(100), 5}, {square(200), 9}}) == small + large * 2 + large);
    // Three of each size are left: their sum, dealt to four ranks, is more than the largest.
    CHECK(fullest({{square(200), 3}, {square(190), 3}}) == div_up(large * 3, 4) + div_up(bytes(8 * 190 * 190) * 3, 4));
    CHECK(fullest({{square(100), 0}}) == byte_count{});
    // Vectors go by the byte, with both of Muon's other moments; so does what stands beside the layers.
    const weight vector{.role = weight_role::norm, .columns = 1000};
    CHECK(fullest({{vector, 1}}) == bytes(12 * 1000 / 4));
    const weight column{.role = weight_role::up_proj, .rows = 1000, .columns = 1};
    CHECK(fullest({{column, 1}}) == bytes(12 * 1000 / 4));
    const weight pairs{.role = weight_role::up_proj, .rows = 1000, .columns = 2, .quantised = true};
    CHECK(fullest({{pairs, 1}}) == bytes(8 * 2000));
    weight table = square(100);
    table.role = weight_role::embed_tokens;
    CHECK(fullest({{table, 1}}, weight_place::input) == bytes(12 * 100 * 100 / 4));
    j.runtime.optimizer.layer_wise_param_layout = false;
    CHECK(fullest({{table, 1}}, weight_place::input) == bytes(12 * 100 * 100));
    // Experts go round the ranks that hold the same ones: two of them.
    weight experts = square(100);
    experts.copies = 4, experts.routed = true;
    CHECK(fullest({{experts, 3}}) == small * 3);
    CHECK_FALSE(detail::shards_whole_tensors(j, {.data = 4, .zero = 3}));
    CHECK(detail::shards_whole_tensors(j, {.data = 4, .zero = 2}));
    j.adapter = {.kind = adapter_kind::lora, .rank = 8};
    CHECK_FALSE(detail::shards_whole_tensors(j, {.data = 4, .zero = 2}));
}

TEST_CASE(
    "DeepSpeed's buckets hold 5e8 values: beside the backward pass, or from first to last under ZeRO 3, which joins "
    "them on another stream") {
    // runtime/zero/config.py: reduce_bucket_size 500 000 000, sub_group_size 1 000 000 000.
    job j = mixed();
    j.runtime = runtimes::deepspeed;
    training_state s;
    s.gradients.whole = gb(16), s.gradients.kept = gb(16), s.largest = gb(1), s.optimizer.temporaries = gb(64);
    const auto buffers = [&](const layout& l) { return detail::zero_buffers_of(j, l, training_context{j, l}, s); };
    const byte_count bucket = gb(1);
    CHECK(buffers({.data = 8}).backward == byte_count{});
    CHECK(buffers({.data = 8, .zero = 2}).backward == bucket);
    CHECK(buffers({.data = 8, .zero = 2}).joined == bucket);  // flattened (stage_1_and_2.py, allreduce_bucket)
    CHECK(buffers({.data = 8, .zero = 1}).joined == byte_count{});
    j.runtime.sharding.deepspeed.overlap_comm = true;  // setup_buckets: "Use double buffers"
    CHECK(buffers({.data = 8, .zero = 2}).backward == bucket * 2);
    CHECK(buffers({.data = 8, .zero = 1}).joined == bucket);
    CHECK(buffers({.data = 8, .zero = 3}).throughout == bucket);
    j.runtime.sharding.deepspeed.overlap_comm = false;
    CHECK(buffers({.data = 8, .zero = 2}).throughout == byte_count{});
    // Behind a pipeline all gradients are there first, and ZeRO 1 joins its own part of them (stage_1_and_2.py,
    // copy_grads_in_partition).
    CHECK(buffers({.pipeline = 2, .data = 8, .zero = 1}).backward == byte_count{});
    CHECK(buffers({.pipeline = 2, .data = 8, .zero = 1}).in_pieces == bucket + gb(2));
    // Norms are made in double precision, tensor by tensor (get_grad_norm_direct): where no wider gradients take that
    // place.
    s.optimizer.temporaries = gb(3);
    CHECK(buffers({.data = 8, .zero = 2}).in_pieces == gb(1));
    const detail::zero_buffers three = buffers({.data = 8, .zero = 3});
    CHECK(three.throughout == bucket);
    CHECK(three.joined == bucket);
    CHECK(three.stepping == gb(2) * 3);               // of a sub-group, in 16 bits and in 32
    s.gradients.whole = s.gradients.kept = mib(100);  // less than a bucket
    CHECK(buffers({.data = 8, .zero = 3}).joined == mib(100));
    CHECK(buffers({.data = 8, .zero = 3}).stepping == mib(300));
    j.offload.optimizer = offload_place::host;
    CHECK(buffers({.data = 8, .zero = 3}).stepping == byte_count{});
    CHECK(buffers({.data = 8, .zero = 3}).in_pieces == div_up(gb(1), 8) * 5);  // a rank's part in 16 bits, and in fp64
    CHECK(buffers({.data = 8, .zero = 2}).backward == byte_count{});
}

TEST_CASE("DeepSpeed's ZeRO 3 gathers ahead until 1e9 values are there") {
    job j = mixed();
    j.runtime = runtimes::deepspeed;
    const training_context context{j, layout{.data = 8, .zero = 3}};
    const auto live = [&](byte_count whole, byte_count unit) {
        return detail::live_weights_of(context, whole, unit, gb(1));
    };
    CHECK(live(gb(16), mib(400)).now == gb(2));
    CHECK(live(gb(16), gb(3)).now == gb(3));    // one layer is more than that
    CHECK(live(gb(1), mib(400)).now == gb(1));  // there are no more
    CHECK(live(gb(16), mib(400)).more == gb(2));
    // Gradients of a rank lie in one buffer from the first step to the last: at the end of the forward pass, too.
    const layout eight{.data = 8, .zero = 3};
    const byte_count with = training_passes_of(j, eight).forward;
    j.offload.optimizer = offload_place::host;
    const byte_count states = bytes(12) * count_parameters(j.model).in(parameters);
    CHECK(with - training_passes_of(j, eight).forward > div_up(states, 8) + gb(1));
}

TEST_CASE("weights that ZeRO 3 released and gradients that it copied wait for the GPU, a layer where the host does") {
    job j = mixed();
    j.runtime = runtimes::deepspeed;
    const layout eight{.data = 8, .zero = 3};
    const auto weights = [&](byte_count whole, byte_count unit) {
        return detail::late_weights_of(j, eight, training_context{j, eight}, whole, unit);
    };
    const auto gradients = [&](byte_count all) {
        return detail::late_gradients_of(j, training_context{j, eight}, all, mib(400));
    };
    j.micro_batch = 2;
    CHECK(weights(gb(16), mib(400)).expected == gb(3));  // max_param_reduce_events, and one more
    // Nothing waits in the forward pass, whose blocks wait while the backward pass gathers weights anew.
    CHECK(weights(gb(16), gb(1)).high == gb(14) + gb(3));
    CHECK(weights(gb(3), mib(400)).expected == gb(1));
    CHECK(weights(gb(1), mib(400)).high == byte_count{});
    CHECK(gradients(gb(16)) == gb(3));
    CHECK(gradients(gb(1)) == gb(1));
    // transformers asks the GPU in each attention whether one row is several samples; no other kernel of it does.
    j.micro_batch = 1;
    j.attention = attention_kernel::sdpa;
    CHECK(gradients(gb(16)) == gb(3));
    j.attention = attention_kernel::flash;
    CHECK(gradients(gb(16)) == mib(400));
    CHECK(gradients(mib(100)) == mib(100));
    const byte_count table = detail::gathered_embedding(j, eight, training_context{j, eight});
    CHECK(table == bytes(2) * j.model.vocabulary * j.model.hidden);
    CHECK(weights(gb(16), table - bytes(1)).low == table);
    CHECK(weights(gb(16), table - bytes(1)).high == table * 2);  // gathered once more for its backward pass
    CHECK(weights(gb(16), table).expected == table);
    // Megatron's modules ask nothing.
    CHECK(detail::waits_in_attention(j, training_context{j, eight}));
    j.runtime = runtimes::megatron_deepspeed;
    CHECK_FALSE(detail::waits_in_attention(j, training_context{j, eight}));
    CHECK(weights(gb(16), table).expected == gb(3));
    j.runtime = runtimes::deepspeed;
    // A host that waits for nothing is as far ahead as one that waits, however small the buckets are.
    const byte_count waiting = weights(gb(16), gb(5)).expected, waiting_gradients = gradients(gb(16));
    CHECK(waiting == gb(5));
    j.micro_batch = 2;
    CHECK(weights(gb(16), gb(5)).expected == waiting);
    j.runtime.sharding.deepspeed.reduce_bucket_size = 1'000'000;
    CHECK(weights(gb(16), gb(5)).expected == waiting);
    CHECK(gradients(gb(16)) == waiting_gradients);
}

TEST_CASE("where the host never waits, weights of ZeRO 3 wait of as many layers as a stream holds kernels of") {
    job j{.model = models::llama_2_70b, .task = task::finetuning, .weights = bf16, .compute = bf16};
    j.micro_batch = 2;
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::deepspeed;
    const layout l{.data = 32, .zero = 3};
    const auto high = [&](byte_count unit) {
        return detail::late_weights_of(j, l, training_context{j, l}, unit * 80, unit).high;
    };
    // Seven products and as many freed weights, two norms of seven operations, attention, rotation, two operations of
    // the gate, and two sums.
    CHECK(detail::least_launched(j.model.layers.kinds[0], 8192, training_context{j, l}) == 34);
    CHECK(detail::most_layers_launched(j.model, training_context{j, l}) == 1024 / 34 + 2);
    const byte_count tables = detail::gathered_embedding(j, l, training_context{j, l}) * 2;
    CHECK(high(gb(2)) == gb(2) * 32 + tables);
    CHECK(high(mib(20)) == byte_count{});  // all weights may be live
    j.runtime.kernels.norm = norm_code::fused;
    j.runtime.kernels.gate = gate_code::fused;
    CHECK(detail::least_launched(j.model.layers.kinds[0], 8192, training_context{j, l}) == 21);
    layer without = j.model.layers.kinds[0];
    without.feed_forward = {.kind = feed_forward_kind::none};  // three products less, and no gate
    without.norm_before_feed_forward = false;
    CHECK(detail::least_launched(without, 8192, training_context{j, l}) == 21 - 6 - 1 - 1);
    CHECK(high(gb(2)) == gb(2) * 50 + tables);
    // What is planned of the 129 GiB of weights.
    j.runtime = runtimes::deepspeed;
    j.sequence = tokens(4096);
    j.recompute = recompute::full;
    j.global_batch = 64;
    const interval<byte_count> reserved = training_memory(j, l).reserved;
    CHECK(reserved.high - reserved.expected < gib(60));
}

TEST_CASE(
    "DeepSpeed 0.19 flattens weights beside the ones that were loaded, whose blocks no tensor of a step fits in") {
    CHECK(detail::left_beside(mib(112), mib(64)) == mib(48));
    CHECK(detail::left_beside(mib(32), mib(64)) == mib(32));
    CHECK(detail::left_beside(mib(128), mib(64)) == byte_count{});
    job j = mixed();
    j.runtime = runtimes::deepspeed;
    const auto left = [&](const layout& l) {
        const byte_count stream = mib(1'000'000);  // larger than any weight
        return detail::left_by_flattening(j, l, training_context{j, l}, placement_of(j, l, 0), stream);
    };
    const byte_count matrices = left({.data = 8, .zero = 2});
    const byte_count weights = bytes(2) * count_parameters(j.model).in(parameters);
    CHECK(matrices <= weights);
    CHECK(matrices > weights - mib(10));  // norms have no segment of their own
    CHECK(left({.data = 8, .zero = 1}) == matrices);
    CHECK(left({.data = 8, .zero = 3}) == byte_count{});
    CHECK(left({.data = 8}) == byte_count{});
    const layout two{.data = 8, .zero = 2};
    const auto reserved = [&] { return training_memory(j, two).reserved.expected; };
    const byte_count now = reserved();
    j.runtime = runtimes::deepspeed_0_18;  // joined in main memory
    CHECK(left(two) == byte_count{});
    CHECK(reserved() < now);
}

TEST_CASE("DeepSpeed 0.19 holds the loaded weights beside the flattened ones, which offloading does not take away") {
    job j{.model = models::llama_3_1_8b, .task = task::finetuning, .weights = bf16, .compute = bf16};
    j.sequence = tokens(1024);
    j.recompute = recompute::full;
    j.attention = attention_kernel::flash;
    j.runtime = runtimes::deepspeed;
    const byte_count weights = bytes(2) * count_parameters(j.model).in(parameters);
    const auto reserved = [&](std::int32_t zero) { return training_memory(j, {.data = 8, .zero = zero}).reserved; };
    const byte_count sharded = reserved(3).expected;
    CHECK(reserved(1).expected > weights * 3);  // 12 / 8 bytes of states beside, and the step's gradients
    CHECK(reserved(2).expected > weights * 3);
    j.offload.optimizer = offload_place::host;
    const interval<byte_count> offloaded = reserved(2);
    CHECK(offloaded.expected >= weights * 2);
    CHECK(offloaded.low < weights * 2);  // a GPU without room for both has the copy made in main memory
    CHECK(reserved(3).expected < sharded);
    j.runtime = runtimes::deepspeed_0_18;  // always there
    CHECK(reserved(2).expected * 2 < weights * 3);
    // Frozen weights are no part of the optimizer's.
    j.runtime = runtimes::deepspeed;
    j.adapter = {.kind = adapter_kind::lora, .rank = 16};
    CHECK(reserved(2).expected * 2 < weights * 3);
}

TEST_CASE("checkpoints lose what a block of the feed-forward's width leaves beside those that fit in it") {
    layer l{};
    l.feed_forward.width = 14336;
    CHECK(detail::lost_beside_checkpoints(l, 4096, {}) == doctest::Approx(3.5 / 3 - 1));
    CHECK(detail::lost_beside_checkpoints(l, 4096, {.tensor = 2}) == doctest::Approx(0.75));
    CHECK(detail::lost_beside_checkpoints(l, 4096, {.tensor = 4}) == 0.0);  // none fits
    CHECK(detail::lost_beside_checkpoints(l, 3584, {}) == 0.0);
}

TEST_CASE("a block is left whole where no tensor is cut from it, else what the last one leaves") {
    CHECK(detail::left_beside(mib(10), byte_count{}) == mib(10));
    CHECK(detail::left_beside(mib(10), mib(11)) == mib(10));
    CHECK(detail::left_beside(mib(10), mib(3)) == mib(1));
    CHECK(detail::left_beside(mib(10), mib(5)) == byte_count{});
}

TEST_CASE("FSDP's SHARD_GRAD_OP: beside its part of a weight a rank has the 16-bit one that it gathered") {
    job j = mixed();
    j.weights = fp32;
    j.compute = bf16;
    j.runtime = runtimes::huggingface;
    j.autocast = false;  // FSDP's MixedPrecision casts
    for (const sharding_code code : {sharding_code::fsdp1, sharding_code::fsdp2}) {
        j.runtime.sharding.code = code;
        const auto weights_of_rank = [&](const layout& l) { return state_of(j, l, matrix).weights; };

        CHECK(weights_of_rank({.data = 2, .zero = 2}) == bytes(2 + 2) * values);
        CHECK(weights_of_rank({.data = 4, .zero = 2}) == bytes(1 + 2) * values);
        CHECK(weights_of_rank({.data = 4, .zero = 3}) == bytes(1) * values);
        CHECK(weights_of_rank({.data = 4, .zero = 1}) == bytes(4) * values);
        CHECK(weights_of_rank({.data = 1, .zero = 2}) == bytes(4) * values);
    }
    j.runtime.sharding.code = sharding_code::deepspeed;
    CHECK(state_of(j, {.data = 4, .zero = 2}, matrix).weights == bytes(4) * values);
}

TEST_CASE("a teacher lies on each GPU, but for DeepSpeed's ZeRO 3, which shards it or has it in main memory") {
    job j = full();
    j.preference = preference_method::gkd;
    j.teacher = teacher_of(j.model, bf16);
    const byte_count whole = j.teacher.held;
    REQUIRE(whole > byte_count{});
    const layout three{.data = 4, .zero = 3}, two{.data = 4, .zero = 2};
    j.runtime = runtimes::huggingface;
    CHECK(teacher_beside(j, three) == whole);
    CHECK(reference_beside(j, three, bytes(7)) == whole);
    j.runtime = runtimes::deepspeed;
    CHECK(teacher_beside(j, three) == div_up(whole, 4));
    CHECK(teacher_beside(j, two) == whole);
    CHECK(teacher_beside(j, {}) == whole);
    j.offload.parameters = offload_place::host;
    CHECK(teacher_beside(j, three) == byte_count{});
    CHECK(teacher_beside(j, two) == whole);
    j.runtime = runtimes::huggingface;
    CHECK(teacher_beside(j, three) == whole);
}

TEST_CASE("a reference is as large as what is trained, or in the published format where the runtime loads it so") {
    job j = full();
    j.runtime = runtimes::huggingface;
    CHECK(reference_beside(j, {}, bytes(600)) == byte_count{});
    j.preference = preference_method::dpo;
    REQUIRE(loads_reference(j));
    CHECK(reference_beside(j, {}, bytes(600)) == bytes(600));
    j.weights = fp32;
    j.model.weights = bf16;
    j.runtime.loading.training.published_reference = false;
    CHECK(reference_beside(j, {}, bytes(600)) == bytes(600));
    j.runtime.loading.training.published_reference = true;  // 150 values, of 2 bytes instead of 4
    CHECK(reference_beside(j, {}, bytes(600)) == bytes(300));
}

TEST_CASE("of a layer's casts those of its feed-forward are told apart, and copies are counted each") {
    job j = mixed();
    j.weights = fp32;
    j.compute = bf16;
    j.autocast = true;
    const training_context context{j, layout_of_one};
    const weight_training how{j, layout_of_one, context};
    const layer kind{.attention = {.heads = 4, .kv_heads = 2, .head_dim = 16}, .feed_forward = {.width = 160}};
    const training_state s = training_state_of(kind, 64, how);
    CHECK(s.casts.feed_forward == bytes(2) * (3 * 160 * 64));
    CHECK(s.casts.all == s.casts.feed_forward + bytes(2) * (2 * 64 * 64 + 2 * 32 * 64));
    CHECK(s.casts.down == bytes(2) * (160 * 64));
}

TEST_CASE("states of paged optimizers are paged, of each copy; others have none") {
    const weight three{.role = weight_role::up_proj, .rows = 3000, .columns = 1000, .copies = 3};
    CHECK(state_of(mixed(), {}, three).optimizer.paged == byte_count{});
    const training_state s = state_of(mixed(paged_adamw_8bit), {}, three);
    weight one = three;
    one.copies = 1;
    CHECK(s.optimizer.paged == state_of(mixed(paged_adamw_8bit), {}, one).optimizer.paged * 3);
    // Two moments of a byte a value.
    CHECK(s.optimizer.paged >= bytes(2) * 9'000'000);
    CHECK(s.optimizer.paged <= scaled_up(bytes(2) * 9'000'000, 1.05));
}

TEST_CASE("temporaries of a foreach optimizer are as many as it says, of a loop those of the largest tensor") {
    job j = mixed(adamw);
    j.weights = fp32;
    j.runtime.optimizer.foreach_tensors = true;
    for (const int many : {1, 2, 3}) {
        j.optimizer.temporaries = many;
        CHECK(state_of(j, {}, matrix).optimizer.temporaries == bytes(4 * many) * values);
    }
    j.runtime.optimizer.foreach_tensors = false;
    CHECK(state_of(j, {}, matrix).optimizer.temporaries == byte_count{});
    const weight three{.role = weight_role::up_proj, .rows = 3000, .columns = 1000, .copies = 3};
    j.optimizer.tensor_temporaries = 2;
    CHECK(state_of(j, {}, three).optimizer.largest_step == bytes(2 * 4) * 3'000'000);
}

TEST_CASE("the gradient of the embedding's table is that of no other weight before the layers") {
    job j = mixed();
    j.model = models::gpt2;
    const training_context context{j, layout_of_one};
    const weight_training how{j, layout_of_one, context};
    const placement here = placement_of(j, layout_of_one, 0);
    CHECK(table_gradient(how, here) == bytes(2) * (50257 * 768));
    CHECK(state_before_layers(how, here).gradients.kept == bytes(2) * ((50257 + 1024) * 768));
}

TEST_CASE("8-bit products keep two copies of each matrix, as it is and transposed, in all of its copies") {
    job j = mixed();
    j.runtime = runtimes::megatron;
    j.runtime.kernels.fp8 = {.recipe = fp8_recipe::tensorwise};
    const training_context context{j, layout_of_one};
    REQUIRE(context.narrows());
    REQUIRE_FALSE(context.runtime.kernels.fp8.param_gather);
    const weight three{.role = weight_role::up_proj, .rows = 3000, .columns = 1000, .copies = 3};
    CHECK(state_of(j, {}, three).weights == bytes(2 + 2) * 9'000'000);
    CHECK(state_of(j, {}, three, weight_place::output).weights == bytes(2) * 9'000'000);
}
