// SPDX-License-Identifier: MIT
// What peak.hpp makes of the candidates of a stage whose sizes are set by hand.
#include <llmres/memory/training/peak.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <llmres/jobs/optimizer.hpp>
#include <string>
#include <vector>

#include "made_stage.hpp"

using stages::made_stage;
using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr std::int64_t n = made_stage::sequences * made_stage::length, h = made_stage::hidden;

/// Points and kinds of the candidates, in the order of the list of points.
std::string candidates(made_stage& m) {
    for (std::size_t k = 0; k < m.folded.kinds(); ++k) m.folded.layers.set(k, m.layers[k]);
    std::vector<std::vector<int>> found(16);
    for_each_peak_candidate(m.in, [&](const peak_candidate& c) { found[std::size_t(c.point)].push_back(c.kind); });
    const std::vector<std::string> names{
        "step",           "last",    "first", "decoder",  "encoder last", "encoder first", "embedding", "last adapters",
        "first adapters", "forward", "loss",  "gradient", "head",         "norm",          "head step", "logits"};
    std::string told;
    for (std::size_t p = 0; p < found.size(); ++p)
        for (const int kind : found[p]) told += (told.empty() ? "" : ", ") + names[p] + (kind > 0 ? " of second" : "");
    return told;
}
stage_peak found_peak(made_stage& m) {
    for (std::size_t k = 0; k < m.folded.kinds(); ++k) m.folded.layers.set(k, m.layers[k]);
    return peak_of(m.folded, m.stage);
}
/// What a stage's peak has as well where sizes are small: nothing.
void make_small(made_stage& m) {
    for (const auto& [name, size] : m.sizes()) *size = byte_count{};
}

const std::string layers = "step, last, last of second, first, first of second, embedding, ";

}  // namespace

TEST_CASE("the moments of a stage: of each kind of layer that it holds, of the loss on the last, of what a job has") {
    made_stage m;
    CHECK(candidates(m) == layers + "forward, loss, gradient, head, norm");
    m.folded.ends.norm_backward = byte_count{};  // in one kernel
    CHECK(candidates(m) == layers + "forward, loss, gradient, head");
    m.in.steps_in_backward = true;
    CHECK(candidates(m) == layers + "forward, loss, gradient, head, head step");
    m.asked.model.tied_head = true;
    CHECK(candidates(m) == layers + "forward, loss, gradient, head");
    // A naive pipeline's first GPU computes the loss, unless it is the last one, too.
    m.stage.naive_pipeline = true;
    CHECK(candidates(m) == layers + "forward, loss, gradient, head");
    m.stage.last = false;
    CHECK(candidates(m) == layers + "logits");
    m.stage.first = false;
    CHECK(candidates(m) + ", " == layers);
    m.stage.first = true;
    m.stage.naive_pipeline = false;
    CHECK(candidates(m) + ", " == layers);
    m.stage.holds.counts[0] = 0;
    CHECK(candidates(m) == "step, last of second, first of second, embedding");
    m.stage.encoder.kept = mib(1);
    CHECK(candidates(m) == "step, last of second, first of second, decoder, encoder last, encoder first, embedding");
    m.stage.encoder.kept = byte_count{};
    // Adapters' temporaries stand beside a layer's forward pass, or its recomputation.
    m.folded.context.adapter = {.kind = adapter_kind::lora, .rank = 8};
    m.folded.context.frozen = true;
    const std::string adapted = "step, last of second, first of second, embedding, ";
    CHECK(candidates(m) == adapted + "forward of second");
    m.folded.context.recomputes = true;
    CHECK(candidates(m) == adapted + "last adapters of second, first adapters of second, forward of second");
}

TEST_CASE("the forward pass is among the moments: behind all layers, and in a layer where that may be the fullest") {
    made_stage m;
    CHECK(candidates(m) == layers + "forward, loss, gradient, head, norm");  // when the last layer has been computed
    m.stage.last = false;
    const auto forward = [&] { return candidates(m).find("forward") != std::string::npos; };
    CHECK_FALSE(forward());
    m.asked.offload.activations = offload_place::host;  // what comes back one by one is made at once
    CHECK(forward());
    m.asked.offload.activations = offload_place::none;
    m.folded.context.autocast = true;  // casts of all weights are kept
    CHECK(forward());
    m.folded.context.autocast = false;
    m.folded.context.frozen = true;  // there are few gradients
    CHECK(candidates(m) == layers + "forward, forward of second");
    m.stage.encoder.kept = mib(1);
    CHECK(forward());
    m.folded.context.frozen = false;
    CHECK_FALSE(forward());
    m.folded.context.attention.kernel = attention_kernel::eager;  // scores and masks
    CHECK(forward());
}

TEST_CASE("the most of the forward pass: of a layer that is held, of an encoder, or of all layers where the loss is") {
    made_stage m;
    const auto most = [&] { return m.grows_with([&] { return forward_peak(m.in); }); };
    // A layer's own beside the frames, and behind the last one what the norm and the loss save.
    const std::string frames = "masks + residual + gathered_in_loss";
    m.layers[1].in_forward = mib(8);
    CHECK(most() == "second.in_forward + saved + " + frames);
    m.layers[0].in_forward = mib(50);
    CHECK(most() == "first.in_forward - 3 second.kept + saved + " + frames);
    m.stage.holds.counts[0] = 0;
    CHECK(most() == "second.in_forward + saved + " + frames);
    m.layers[1].in_forward = byte_count{};
    CHECK(most() == "saved + after_layers + masks + loss.saved + 2 residual + gathered_in_loss");
    m.stage.last = false;
    CHECK(most() == "saved + " + frames);
    m.stage.encoder.kept = m.stage.encoder.forward = mib(60);
    CHECK(most() == "encoder.kept + encoder.forward + gathered_in_loss");
}

TEST_CASE("of candidates that take as much, the point that is named first is kept, and of one point the first kind") {
    const stage_peak peak{.point = peak_point::embedding_gradient, .kind = 1, .size = gib(2)};
    const auto candidate = [](peak_point point, std::int32_t kind) {
        return peak_candidate{.point = point, .kind = kind};
    };
    CHECK(exceeds(peak, candidate(peak_point::loss_forward, 0), gib(3)));
    CHECK_FALSE(exceeds(peak, candidate(peak_point::optimizer_step, 0), gib(1)));
    CHECK(exceeds(peak, candidate(peak_point::optimizer_step, 2), gib(2)));
    CHECK_FALSE(exceeds(peak, candidate(peak_point::loss_forward, 0), gib(2)));
    CHECK(exceeds(peak, candidate(peak_point::embedding_gradient, 0), gib(2)));
    CHECK_FALSE(exceeds(peak, candidate(peak_point::embedding_gradient, 1), gib(2)));
    CHECK_FALSE(exceeds(peak, candidate(peak_point::embedding_gradient, 2), gib(2)));
}

TEST_CASE("of two stages the most of each size is taken, whichever of them is the busier") {
    const stage_peak busy{.stage = 1, .size = gib(9)};
    for (byte_count stage_peak::* size :
         {&stage_peak::reserved, &stage_peak::transient, &stage_peak::logits, &stage_peak::activations,
          &stage_peak::cut, &stage_peak::flattened, &stage_peak::loaded, &stage_peak::wrapping}) {
        stage_peak other{.stage = 2, .size = gib(8)};
        other.*size = gib(1);
        for (const stage_peak& both : {busier(busy, other), busier(other, busy)}) {
            CHECK(both.stage == 1);
            CHECK(both.*size == gib(1));
            CHECK(both.size == gib(9));
        }
        stage_peak more = busy;
        more.*size = gib(2);
        CHECK(busier(more, other).*size == gib(2));
        CHECK(busier(other, more).*size == gib(2));
    }
}

TEST_CASE("a candidate raises the most of the logits and of the activations, be it the fullest or not") {
    stage_peak peak{.size = gib(5), .logits = mib(3), .activations = mib(3)};
    const peak_candidate c{.point = peak_point::loss_forward, .tensors = {.activations = mib(4), .logits = mib(5)}};
    consider(peak, c, mib(9));
    CHECK(peak.size == gib(5));
    CHECK(peak.logits == mib(5));
    CHECK(peak.activations == mib(4));
    consider(peak, {.tensors = {.activations = mib(1), .logits = mib(1)}}, mib(2));
    CHECK(peak.logits == mib(5));
    CHECK(peak.activations == mib(4));
}

TEST_CASE("blocks that activations cannot use: gradients and what the optimizer makes, or buffers of other streams") {
    made_stage m;
    m.stage.zero = {.joined = mib(1), .in_pieces = mib(1)};
    m.in.gathered.buffers = mib(7);
    const auto blocks = [&] { return m.grows_with([&] { return blocks_of_other_phases(m.in); }); };
    m.asked.runtime.allocator = {};
    m.asked.runtime.sharding = {};
    CHECK(blocks().empty());
    CHECK(blocks_of_other_phases(m.in) == byte_count{});
    m.asked.runtime.allocator.caches_freed_blocks = true;
    CHECK(blocks() == "gradients + zero.joined + stepping + zero.in_pieces");
    m.in.shards_tensors = true;
    CHECK(blocks() == "gradients + zero.joined + stepping + zero.in_pieces");
    m.asked.offload.optimizer = offload_place::host;  // a bucket, which stands beside them
    CHECK(blocks() == "zero.joined + stepping + zero.in_pieces");
    m.in.shards_tensors = false;
    CHECK(blocks() == "gradients + zero.joined + stepping + zero.in_pieces");
    m.asked.runtime.allocator.caches_freed_blocks = false;
    m.asked.runtime.sharding.separate_streams = true;
    CHECK(blocks().empty());
    m.cut.zero = 2;
    CHECK(blocks() == "gradients");
    CHECK(blocks_of_other_phases(m.in) == mib(100) + mib(7));
}

TEST_CASE("a fused loss finds no freed block for what is wider than a layer's tensors: the head's gradient, and sums") {
    made_stage m;
    CHECK(blocks_of_loss(m.in, mib(9)) == mib(9));
    m.asked.runtime.kernels.loss.code = loss_code::fused_linear;
    // A layer's widest tensor is 1,024 tokens by 1,024 in 16 bits, 2 MiB.
    m.asked.model.vocabulary = 2048;  // a head of 1 MiB, and of 2 in fp32
    CHECK(blocks_of_loss(m.in, mib(9)) == byte_count{});
    m.asked.model.vocabulary = 2049;  // the fp32 product has no room: as two heads of 16 bits
    const byte_count over_one = bytes(2) * (2049 * h);
    CHECK(blocks_of_loss(m.in, mib(9)) == over_one * 2);
    CHECK(blocks_of_loss(m.in, mib(1)) == mib(1));  // no more than there is
    m.asked.model.vocabulary = 4096;                // as large as the layer's
    const byte_count two = mib(2);
    CHECK(blocks_of_loss(m.in, mib(90)) == two * 2);
    m.asked.model.vocabulary = 4097;  // gradient, product, and that in fp32
    const byte_count over_two = bytes(2) * (4097 * h);
    CHECK(blocks_of_loss(m.in, mib(90)) == over_two * 4);
    m.in.shards_tensors = true;  // ZeRO 3 gathers the head on the computation's own stream
    CHECK(blocks_of_loss(m.in, mib(90)) == over_two * 5);
    m.asked.model.vocabulary = 4096;
    CHECK(blocks_of_loss(m.in, mib(90)) == two * 2);
    // A tensor rank has a part of the head, and of the feed-forward, no less than the stream's 512 KiB.
    m.cut.tensor = 8;
    m.asked.model.vocabulary = 8200;  // 1025 rows each
    CHECK(blocks_of_loss(m.in, mib(90)) == bytes(2) * (1025 * h) * 5);
    m.stage.last = false;
    CHECK(blocks_of_loss(m.in, mib(9)) == mib(9));
}

TEST_CASE("checkpoints leave of a freed block of the feed-forward's width what no further one fits in") {
    made_stage m;
    for (std::size_t k = 0; k < 2; ++k) m.folded.layers.set(k, m.layers[k]);
    m.asked.model.layers.kinds[0].feed_forward.width = 5 * h / 2;  // two checkpoints and a half: a quarter of each
    m.asked.model.layers.kinds[1].feed_forward.width = 3 * h;      // three, and nothing is left
    m.asked.recompute = recompute::full;
    // Of the first kind's two layers, of a mebibyte each.
    CHECK(lost_beside_checkpoints(m.folded, m.stage) == kib(512));
    m.cut.tensor = 3;  // narrower than a checkpoint, and as wide
    CHECK(lost_beside_checkpoints(m.folded, m.stage) == byte_count{});
    m.cut.tensor = 1;
    m.asked.recompute = recompute::selective;
    CHECK(lost_beside_checkpoints(m.folded, m.stage) == byte_count{});
}

TEST_CASE("FSDP1's wrapping leaves three copies of the root unit and of a layer, as they are stored or gathered") {
    made_stage m;
    m.asked.runtime.allocator.caches_freed_blocks = true;
    m.asked.runtime.sharding = {.code = sharding_code::fsdp1};
    m.cut = {.data = 4, .zero = 3};
    m.in.shards_weights = true;
    m.stage.weights.ends.weights = mib(1);  // a shard of four
    m.stage.weights.ends.gathered = mib(3);
    m.folded.widest.weights = mib(1);
    m.folded.widest.gathered = mib(5);
    CHECK(blocks_of_wrapping(m.in) == mib(3 * 4) + mib(3 * 5));
    m.folded.context.quantised.four_bit = true;  // no weight of a format is as wide as its tensor
    CHECK(blocks_of_wrapping(m.in) == mib(3 * 3) + mib(3 * 5));
    const auto none = [&](bool& setting) {
        setting = !setting;
        CHECK(blocks_of_wrapping(m.in) == byte_count{});
        setting = !setting;
    };
    none(m.in.shards_weights);
    none(m.asked.runtime.allocator.caches_freed_blocks);
    m.asked.runtime.sharding.code = sharding_code::fsdp2;
    CHECK(blocks_of_wrapping(m.in) == byte_count{});
}

TEST_CASE("ZeRO 1 and 2 copy loaded weights into one tensor, on the GPU where the software does so") {
    made_stage m;
    m.stage.weights.all.weights = mib(6);
    m.asked.runtime.sharding.deepspeed.flattens_on_gpu = true;
    const auto copied = [&] { return weights_flattened_on_gpu(m.folded, m.stage); };
    CHECK(copied() == byte_count{});
    for (const std::int32_t zero : {1, 2}) {
        m.cut.zero = zero;
        CHECK(copied() == mib(6));
    }
    m.folded.context.frozen = true;
    CHECK(copied() == byte_count{});
    m.folded.context.frozen = false;
    m.asked.offload.parameters = offload_place::host;
    CHECK(copied() == byte_count{});
    m.asked.offload.parameters = offload_place::none;
    m.asked.runtime.sharding.deepspeed.flattens_on_gpu = false;
    CHECK(copied() == byte_count{});
    m.asked.runtime.sharding.deepspeed.flattens_on_gpu = true;
    m.cut.zero = 3;
    CHECK(copied() == byte_count{});
}

TEST_CASE("activations and gradients use the blocks of loaded weights, other tensors do not fit in") {
    const tensor_memory t{.weights = mib(1), .gradients = mib(2), .optimizer = mib(4), .activations = mib(8)};
    CHECK(size_beside_loaded(t, byte_count{}) == byte_count{});
    CHECK(size_beside_loaded(t, mib(7)) == mib(15));
    CHECK(size_beside_loaded(t, mib(10)) == mib(15));
    CHECK(size_beside_loaded(t, mib(13)) == mib(15 + 3));
}

TEST_CASE("the allocator holds for the backward pass all but gradients, and the blocks of other phases beside") {
    made_stage m;
    make_small(m);
    m.asked.runtime.allocator = {.caches_freed_blocks = true};
    m.asked.runtime.sharding = {};
    m.asked.optimizer = adamw_fused;
    m.stage.weights.all.weights = mib(10);
    m.stage.weights.all.optimizer.states = mib(20);
    m.stage.weights.all.gradients.kept = mib(5);
    m.stage.stepping = mib(1);
    m.stage.saved.all = mib(40);
    m.folded.ends.loss = {.kept = mib(1), .forward = mib(6), .gradient = mib(7), .held = mib(0)};
    const byte_count tensors = m.stage.weights.all.weights + m.stage.weights.all.optimizer.states;
    const stage_peak peak = found_peak(m);
    // The loss's gradient is the fullest: no gradient of a weight is there yet, but for its forward pass's frames.
    CHECK(peak.point == peak_point::loss_gradient);
    CHECK(peak.size == tensors + mib(40 + 8));
    // Gradients of logits do not use the blocks of the forward pass: its 7 MiB of logits, and 8 of the backward pass.
    CHECK(peak.reserved == tensors + mib(40 + 7 + 8));
    CHECK(peak.transient == mib(40 + 8));
    CHECK(peak.logits == mib(8));
    CHECK(peak.activations == at_layers_forward(stage_step_of(m.folded, m.stage)).tensors.activations);
    CHECK(peak.stage == 0);
    CHECK(peak.cut == byte_count{});
    CHECK(peak.loaded == byte_count{});
    m.stage.stepping = mib(4);  // gradients and temporaries are more than the forward pass's logits
    CHECK(found_peak(m).reserved == tensors + mib(40 + 8 + 5 + 4));
    // DeepSpeed's gaps: the forward pass, the logits and those blocks do not use one another's.
    m.asked.runtime.allocator.gaps_by_step = true;
    CHECK(found_peak(m).reserved == forward_peak(stage_step_of(m.folded, m.stage)) + mib(8 + 5 + 4));
    CHECK(found_peak(m).reserved > tensors + mib(40 + 8 + 5 + 4));
    m.asked.runtime.allocator.gaps_by_step = false;
    m.asked.runtime.allocator.caches_freed_blocks = false;
    CHECK(found_peak(m).reserved == tensors + mib(40 + 8));
    // What the caller holds after the loss stands beside the optimizer's step.
    m.folded.ends.loss.held = mib(3);
    m.stage.stepping = mib(90);
    const stage_peak step = found_peak(m);
    CHECK(step.point == peak_point::optimizer_step);
    CHECK(step.size == tensors + mib(5 + 90 + 3));
    CHECK(step.tensors.logits == mib(3));
    CHECK(step.reserved == tensors + mib(40 + 8 + 3));  // of the passes alone
}

TEST_CASE("what FSDP1's wrapping leaves serves no unit that is gathered, nor adapters' small tensors") {
    made_stage m;
    make_small(m);
    m.asked.runtime.allocator = {.caches_freed_blocks = true};
    m.asked.runtime.sharding = {.code = sharding_code::fsdp1};
    m.cut = {.data = 4, .zero = 3};
    m.stage.weights.all.weights = mib(10);
    m.stage.weights.all.adapter = mib(1);
    m.stage.weights.all.optimizer.states = mib(2);
    m.stage.weights.all.gradients.kept = mib(3);
    m.stage.stepping = mib(4);
    m.stage.weights.ends.weights = m.folded.widest.weights = byte_count{};
    m.stage.weights.ends.gathered = mib(20);
    m.folded.widest.gathered = mib(30);
    const byte_count left = mib(3 * 20 + 3 * 30), gathered = mib(20 + 2 * 30);
    CHECK(found_peak(m).wrapping == left);
    CHECK(found_peak(m).reserved == mib(10 + 1) + left + gathered);
    m.folded.context.frozen = true;
    CHECK(found_peak(m).reserved == mib(10 + 1 + 2 + 3 + 4) + left + gathered);
}

TEST_CASE("the passes of a step are the most of their moments; one that steps in the backward pass has no step") {
    made_stage m;
    make_small(m);
    m.asked.runtime.sharding = {};
    m.asked.optimizer = adamw_fused;
    m.stage.weights.all.weights = mib(10);
    m.stage.weights.all.gradients.kept = mib(5);
    m.stage.stepping = mib(70);
    m.stage.saved.all = mib(40);
    m.layers[0].in_forward = m.layers[1].in_forward = mib(3);
    m.folded.ends.masks = mib(1);
    m.folded.ends.loss = {.forward = mib(6), .gradient = mib(7), .held = mib(2)};
    for (std::size_t k = 0; k < 2; ++k) m.folded.layers.set(k, m.layers[k]);
    const llmres::training_passes passes = passes_of(m.folded, m.stage);
    const byte_count stream = bytes(2) * (n * h);
    CHECK(passes.forward == mib(10 + 40 + 3 + 1) + stream);  // a layer beside the stream and the masks: no logits yet
    CHECK(passes.loss == mib(10 + 40 + 6));
    CHECK(passes.backward == mib(10 + 40 + 7 + 2));
    CHECK(passes.step == mib(10 + 5 + 70 + 2));
    m.asked.optimizer.in_backward = true;
    const llmres::training_passes fused = passes_of(m.folded, m.stage);
    CHECK(fused.step == mib(10 + 2));
    CHECK(fused.backward == passes.step);  // each tensor is updated when its gradient is there
}
