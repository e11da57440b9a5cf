// SPDX-License-Identifier: MIT
#include <llmres/memory/training/micro_batches.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/memory/training/peak.hpp>
#include <utility>
#include <vector>

#include "../../training_jobs.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

/// Passes of a pipeline, run by their dependencies: each stage does what its schedule says next as soon as what it
/// needs is there. Returns the most chunks of micro-batches that each stage holds at once. 1F1B as in arXiv 2104.04473,
/// figure 4: each stage lets `warm_up` passes go forward, then one forward and one backward in turn.
std::vector<std::int64_t> run(std::int64_t stages, std::int64_t chunks, std::int64_t batches,
                              const std::vector<std::int64_t>& warm_up) {
    const auto all = batches * chunks;
    const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    // Which virtual stage (chunk * stages + stage) and micro-batch the k-th pass of a stage is.
    const auto chunk_of = [&](std::int64_t k, bool forward) {
        const std::int64_t chunk = chunks == 1 ? 0 : k / stages % chunks;
        return forward ? chunk : chunks - 1 - chunk;
    };
    const auto batch_of = [&](std::int64_t k) { return chunks == 1 ? k : k / (stages * chunks) * stages + k % stages; };
    std::vector<std::vector<bool>> forward(at(stages * chunks), std::vector<bool>(at(batches))), backward = forward;
    std::vector<std::int64_t> ahead(at(stages)), back(at(stages)), most(at(stages));
    for (bool moved = true; moved;) {
        moved = false;
        for (std::int64_t s = 0; s < stages; ++s) {
            std::int64_t& f = ahead[at(s)];
            std::int64_t& b = back[at(s)];
            const bool goes_forward = f < all && f - b <= warm_up[at(s)];
            if (goes_forward) {
                const std::int64_t v = chunk_of(f, true) * stages + s, batch = batch_of(f);
                if (v == 0 || forward[at(v - 1)][at(batch)]) {
                    forward[at(v)][at(batch)] = moved = true;
                    ++f;
                }
            } else if (b < all) {
                const std::int64_t v = chunk_of(b, false) * stages + s, batch = batch_of(b);
                if (v == stages * chunks - 1 ? forward[at(v)][at(batch)] : backward[at(v + 1)][at(batch)]) {
                    backward[at(v)][at(batch)] = moved = true;
                    ++b;
                }
            }
            most[at(s)] = std::max(most[at(s)], f - b);
        }
    }
    for (const std::int64_t b : back) CHECK(b == all);  // no schedule waits for itself
    return most;
}

}  // namespace

TEST_CASE("1F1B: a pipeline that is run by its dependencies holds p - r micro-batches on stage r, or all there are") {
    for (const std::int32_t p : {1, 2, 4, 8})
        for (const std::int64_t batches : {1, 3, 8, 32}) {
            std::vector<std::int64_t> warm_up;
            for (std::int32_t r = 0; r < p; ++r) warm_up.push_back(p - r - 1);
            const auto held = run(p, 1, batches, warm_up);
            for (std::int32_t r = 0; r < p; ++r) {
                INFO("stage ", r, " of ", p, ", ", batches, " micro-batches");
                CHECK(detail::in_flight({.pipeline = p}, r, batches) ==
                      static_cast<double>(held[static_cast<std::size_t>(r)]));
            }
        }
}

TEST_CASE(
    "interleaved: 2 (p - r - 1) + (v - 1) p chunks go ahead, and the first stage holds 1 + (p - 1) / (p v) of a whole "
    "pipeline's") {
    for (const std::int32_t p : {2, 4, 8})
        for (const std::int32_t v : {2, 3, 4})
            for (const std::int64_t batches : {std::int64_t{p}, std::int64_t{4} * p}) {
                const layout l{.pipeline = p, .virtual_pipeline = v};
                std::vector<std::int64_t> warm_up;
                for (std::int32_t r = 0; r < p; ++r)
                    warm_up.push_back(std::min<std::int64_t>(2 * (p - r - 1) + (v - 1) * p, batches * v - 1));
                const auto held = run(p, v, batches, warm_up);
                INFO(p, " stages of ", v, " chunks, ", batches, " micro-batches");
                for (std::int32_t r = 0; r < p; ++r)
                    CHECK(detail::in_flight(l, r, batches) ==
                          doctest::Approx(static_cast<double>(held[static_cast<std::size_t>(r)]) / v));
                // arXiv 2205.05198, equation 5: activations of L (1 + (p - 1) / (p v)) layers.
                if (batches > p)
                    CHECK(detail::in_flight(l, 0, batches) / p == doctest::Approx(1 + (p - 1.0) / (p * v)));
            }
}

TEST_CASE("larger groups of one chunk let more go ahead; no schedule holds more than there are, nor less than one") {
    using enum pipeline_schedule;
    CHECK(detail::in_flight({.pipeline = 4, .virtual_pipeline = 2, .micro_batch_group = 8}, 0, 64) >
          detail::in_flight({.pipeline = 4, .virtual_pipeline = 2}, 0, 64));
    for (const pipeline_schedule s : {one_forward_one_backward, gpipe, zb_h1, zb_h2, zb_v})
        for (const std::int64_t batches : {1, 2, 5, 64})
            for (std::int32_t r = 0; r < 8; ++r) {
                const layout l{.pipeline = 8, .virtual_pipeline = s == zb_v ? 2 : 1, .schedule = s};
                const double held = detail::in_flight(l, r, batches);
                CHECK(held >= 1);
                CHECK(held <= static_cast<double>(batches));
                // What is put off comes beside it: every stage has as many in flight as the first.
                CHECK(held + detail::deferred_micro_batches(l, r, batches) <= detail::in_flight(l, 0, batches));
            }
}

TEST_CASE("where chunks are alike, counting each is counting all") {
    std::array<double, stage_list::max_chunks> alike{};
    alike.fill(3.5);
    for (const std::int32_t p : {2, 4})
        for (std::int32_t r = 0; r < p; ++r)
            for (const std::int64_t batches : {4, 16}) {
                const layout l{.pipeline = p, .virtual_pipeline = 3};
                const detail::held_micro_batches held = detail::in_flight_unevenly(l, r, batches, alike);
                CHECK(held.most == doctest::Approx(detail::in_flight(l, r, batches)));
                // Where all micro-batches go ahead of the first backward pass, the loss sees the last of them, too.
                CHECK(held.at_loss == held.most);
            }
}

TEST_CASE("the loss is computed while the stage holds a last chunk, not one of those that have more layers") {
    // Two stages of two chunks, the loss counted as a layer: 7 layers are 2, 2, 2 and 1, so that the last stage has
    // chunks of 2 layers and of 1. It holds two micro-batches of its first chunk and one of its last at the loss,
    // three of its first when the next group's first has been computed.
    const layout l{.pipeline = 2, .virtual_pipeline = 2, .loss_as_layer = true};
    for (const double unit : {1.0, 1.0 / 1024}) {  // whatever it is
        const detail::held_micro_batches held = detail::in_flight_unevenly(l, 1, 8, {2.0 * unit, 1.0 * unit});
        CHECK(held.most == doctest::Approx(6.0 / 3));
        CHECK(held.at_loss == doctest::Approx(5.0 / 3));
    }
    // Chunks that keep nothing are counted as they come.
    CHECK(detail::in_flight_unevenly(l, 1, 8, {}).most == detail::in_flight(l, 1, 8));
    // The plan's loss holds a layer less; what its last layer's backward pass holds is unchanged.
    job j = training_jobs::full();
    j.model.layers = j.model.layers.first(7);
    j.global_batch = 8;
    const detail::folded_job f{j, l};
    const detail::training_stage s = detail::training_stage_of(f, placement_of(j, l, 1));
    CHECK(s.saved.not_at_loss.in(mib) == doctest::Approx(f.layers[0].kept.in(mib)));
    const detail::stage_step in = detail::stage_step_of(f, s);
    const detail::loss_memory loss = detail::loss_memory_of(j.model, f.context, l);
    CHECK(detail::at_loss(in, detail::peak_point::loss_gradient).tensors.activations ==
          s.saved.all - s.saved.not_at_loss + loss.saved);
    CHECK(detail::at_layer_backward(in, detail::peak_point::last_layer_backward, 0).tensors.activations > s.saved.all);
}

TEST_CASE("zero-bubble schedules hold p - i micro-batches, 2 (p - i) - 1 or p, and defer what the first has beyond") {
    // arXiv 2401.10241, sections 2.1, 2.2 and 4: of four stages and twenty micro-batches.
    layout l{.pipeline = 4};
    const auto held = [&](std::int32_t stage, std::int64_t rounds = 20) {
        return std::pair{in_flight(l, stage, rounds), deferred_micro_batches(l, stage, rounds)};
    };
    l.schedule = pipeline_schedule::zb_h1;
    CHECK(held(0) == std::pair{4.0, 0.0});
    CHECK(held(1) == std::pair{3.0, 1.0});
    CHECK(held(3) == std::pair{1.0, 3.0});
    CHECK(held(0, 2) == std::pair{2.0, 0.0});
    l.schedule = pipeline_schedule::zb_h2;
    CHECK(held(0) == std::pair{7.0, 0.0});
    CHECK(held(1) == std::pair{5.0, 2.0});
    CHECK(held(3) == std::pair{1.0, 6.0});
    l.schedule = pipeline_schedule::zb_v;
    CHECK(held(0) == std::pair{4.0, 0.0});
    CHECK(held(3) == std::pair{4.0, 0.0});
    CHECK(held(3, 3) == std::pair{3.0, 0.0});
    l.schedule = pipeline_schedule::gpipe;
    CHECK(held(2) == std::pair{20.0, 0.0});
    // Interleaved, groups of micro-batches as large as the caller says.
    l = {.pipeline = 4, .virtual_pipeline = 2};
    CHECK(interleaved_chunks(l, 0) == 2 * 3 + 4 + 1);
    l.micro_batch_group = 1;
    CHECK(interleaved_chunks(l, 1) == 2 * 2 + 1 + 1);
}

TEST_CASE("a schedule that puts off no gradients of weights has none deferred") {
    for (const pipeline_schedule s : {pipeline_schedule::one_forward_one_backward, pipeline_schedule::gpipe})
        for (std::int32_t stage = 0; stage < 4; ++stage)
            CHECK(detail::deferred_micro_batches({.pipeline = 4, .schedule = s}, stage, 8) == 0);
}
