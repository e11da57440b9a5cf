// SPDX-License-Identifier: MIT
// What a step of distillation holds while the teacher computes, and while a reference does (trl 1.16,
// experimental/gkd/gkd_trainer.py, compute_loss: the student first, then the teacher without gradients).
#include <llmres/memory/training/peak/teacher.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <llmres/runtimes/deepspeed.hpp>
#include <llmres/runtimes/huggingface.hpp>
#include <string>
#include <utility>
#include <vector>

#include "made_stage.hpp"

using stages::made_stage;
using namespace llmres;
using namespace llmres::detail;

namespace {

constexpr layout alone{};  // a folded job refers to its layout

constexpr std::int64_t n = made_stage::sequences * made_stage::length, words = made_stage::words,
                       h = made_stage::hidden;
constexpr byte_count scores = bytes(1) * (n * words);
const std::string saved = "activations: saved - not_at_loss + after_layers + loss.saved";
const std::string in_loss = "; communication: gathered_in_loss";

/// The points of a stage of which the job asks, in the order of the candidates.
std::vector<peak_point> points_of(const stage_step& in) {
    std::vector<peak_point> points;
    for_each_peak_candidate(in, [&](const peak_candidate& c) {
        if (phase_of(c.point) == phase::reference || c.point == peak_point::loss_forward) points.push_back(c.point);
        CHECK(c.kind >= 0);
    });
    return points;
}

job distilling(std::int32_t layers = 3) {
    job j = made_stage::job_of(1);
    j.preference = preference_method::gkd;
    j.beta = 0.5;
    model taught = j.model;
    taught.layers = {layers, taught.layers.kinds[0]};
    j.teacher = teacher_of(taught, bf16);
    return j;
}

}  // namespace

TEST_CASE("while a teacher computes there is all that the student saved, its logits, and earlier gradients") {
    made_stage m;
    const auto beside = [&] {
        return m.grows_with([&] {
            peak_candidate c;
            c.tensors = beside_teacher(m.in);
            return c;
        });
    };
    CHECK(beside() == saved + in_loss);
    m.in.accumulates = true;
    CHECK(beside() == "gradients: gradients; " + saved + in_loss);
    m.in.accumulates = false;
    m.in.held.weights = mib(7);
    CHECK(beside_teacher(m.in).weights == mib(7));
    // Logits of 1,024 positions and 1,000 words, in 16 bits; a cap saves them once more; under autocast they are fp32.
    CHECK(beside_teacher(m.in).logits == scores * 2);
    CHECK(returned_logits(m.in) == scores * 2);
    m.code.loss.caps_logits = true;
    CHECK(beside_teacher(m.in).logits == scores * 4);
    m.folded.context.autocast = true;
    CHECK(returned_logits(m.in) == scores * 4);
    CHECK(beside_teacher(m.in).logits == scores * (4 + 2));
    m.code.loss.caps_logits = false;
    CHECK(beside_teacher(m.in).logits == scores * 4);
    CHECK(logits_in(m.in, int8) == scores);
    m.cut.tensor = 4;
    const folded_job cut{m.asked, m.cut};
    const training_stage here = training_stage_of(cut, placement_of(m.asked, m.cut, 0));
    CHECK(logits_in(stage_step_of(cut, here), bf16) == bytes(2) * (n * words / 4));
}

TEST_CASE("a head makes its logits; they are cast or capped when the casts of weights are freed") {
    made_stage m;
    const auto made = [&](byte_count casts) {
        tensor_memory t;
        t.logits = bytes(5), t.activations = bytes(9);
        t = at_head(m.in, t, casts);
        return std::pair{t.logits - bytes(5), t.activations - bytes(9)};
    };
    using both = std::pair<byte_count, byte_count>;
    CHECK(made({}) == both{scores * 2, byte_count{}});
    CHECK(made(bytes(3)) == both{scores * 2, bytes(3)});
    m.code.loss.caps_logits = true;  // a tensor beside
    CHECK(made({}) == both{scores * 4, byte_count{}});
    CHECK(made(scores * 2) == both{scores * 2, scores * 2});
    CHECK(made(scores * 2 - bytes(1)) == both{scores * 4, byte_count{}});
    m.folded.context.autocast = true;  // fp32 beside 16 bits
    CHECK(made({}) == both{scores * 6, byte_count{}});
    CHECK(made(scores * 4 - bytes(1)) == both{scores * 6, byte_count{}});
    CHECK(made(scores * 4) == both{scores * 2, scores * 4});
}

TEST_CASE("the points of a teacher: the student's head, the teacher's last layer, and its head") {
    made_stage m{distilling()};
    const teacher_pass pass{.layer = mib(3), .casts = mib(5), .head_cast = mib(7), .layers = 4, .gathered = mib(11)};
    const tensor_memory beside = beside_teacher(m.in);
    const peak_candidate student = at_student_head(m.in);
    CHECK(student.point == peak_point::loss_forward);
    CHECK(student.kind == 0);
    CHECK(student.tensors.logits == beside.logits - scores * 2 + scores * 2);
    CHECK(student.tensors.activations == beside.activations + loss_frames(m.in) + cached_casts(m.in));
    const peak_candidate layer = at_teacher_forward(m.in, pass);
    CHECK(layer.point == peak_point::reference_forward);
    CHECK(layer.kind == 0);
    CHECK(layer.tensors.activations == beside.activations + mib(3 + 5 * 3));  // three layers' casts beside the last
    CHECK(layer.tensors.communication == beside.communication + mib(11));
    CHECK(layer.tensors.logits == beside.logits);
    const peak_candidate head = at_teacher_head(m.in, pass);
    CHECK(head.point == peak_point::reference_loss);
    CHECK(head.kind == 0);
    CHECK(head.tensors.activations == beside.activations + mib(5 * 4 + 7));
    CHECK(head.tensors.communication == beside.communication + mib(11));
    CHECK(head.tensors.logits == beside.logits + scores * 2);
    // Frames of the student's loss, here the output of an encoder.
    m.folded.context.encoder_tokens = 128;
    m.asked.model.encoders[0].layers = 1;
    m.folded.context.autocast = true;
    m.folded.context.formats.fp32_stream = false;
    CHECK(loss_frames(m.in) > byte_count{});
    CHECK(at_student_head(m.in).tensors.activations ==
          beside_teacher(m.in).activations + loss_frames(m.in) +
              (cached_casts(m.in) >= scores * 4 ? cached_casts(m.in) : byte_count{}));
}

TEST_CASE("a stage with a teacher has these three points, one with a reference two, and others none") {
    using enum peak_point;
    const made_stage plain;
    CHECK(points_of(plain.in) == std::vector{loss_forward});
    const made_stage taught{distilling()};
    CHECK(points_of(taught.in) == std::vector{loss_forward, loss_forward, reference_forward, reference_loss});
    job j = made_stage::job_of(2);
    j.preference = preference_method::dpo;
    made_stage refers{j};
    CHECK(points_of(refers.in) == std::vector{reference_forward, reference_forward, loss_forward, reference_loss});
    refers.stage.last = false;
    CHECK(points_of(refers.in) == std::vector{reference_forward, reference_forward});
}

TEST_CASE("a teacher's layer is computed as the student's is without gradients: its input, and the fullest moment") {
    const job j = distilling(6);
    const folded_job f{j, alone};
    const teacher_pass pass = teacher_pass_of(f);
    CHECK(pass.layers == 6);
    CHECK(pass.casts == byte_count{});
    CHECK(pass.head_cast == byte_count{});
    CHECK(pass.gathered == byte_count{});
    // A feed-forward of 1,024 features: gate, the same activated, and up, in 16 bits, beside its input and the layer's.
    CHECK(pass.layer >= bytes(2) * (3 * n * 1024 + 2 * n * h));
    CHECK(pass.layer < bytes(2) * (3 * n * 1024 + 8 * n * h));
    job wide = j;
    model taught = j.model;
    taught.layers.kinds[0].feed_forward.width = 2048;
    wide.teacher = teacher_of(taught, bf16);
    CHECK(teacher_pass_of(folded_job{wide, {}}).layer == pass.layer + bytes(2) * (3 * n * 1024));
    // Of an fp32 teacher autocast keeps a 16-bit cast of each matrix of a layer, and of the head.
    job cast = j;
    cast.autocast = true;
    cast.weights = fp32;
    cast.compute = bf16;
    cast.teacher = teacher_of(j.model, fp32);
    const teacher_pass casts = teacher_pass_of(folded_job{cast, {}});
    CHECK(casts.casts == bytes(2) * (4 * h * h + 3 * h * 1024));
    CHECK(casts.head_cast == bytes(2) * (words * h));
    // ZeRO 3 of DeepSpeed gathers weights of the teacher as it does the student's: no more than all of them.
    job sharded = j;
    sharded.runtime = runtimes::deepspeed;
    const layout two{.data = 2, .zero = 3};
    const byte_count gathered = teacher_pass_of(folded_job{sharded, two}).gathered;
    CHECK(gathered > byte_count{});
    CHECK(gathered <= j.teacher.held);
}

TEST_CASE("while a reference is computed there is what the student saved, its log-probabilities, and logits in fp32") {
    made_stage m;
    const auto beside = [&] {
        return m.grows_with([&] {
            peak_candidate c;
            c.tensors = beside_reference(m.in);
            return c;
        });
    };
    CHECK(beside() == saved + "; logits: loss.kept" + in_loss);
    CHECK(beside_reference(m.in).logits == mib(1) + scores * 4);
    CHECK(whole_logits(m.in) == scores * 4);
    m.in.accumulates = true;
    CHECK(beside() == "gradients: gradients; " + saved + "; logits: loss.kept" + in_loss);
    m.in.accumulates = false;
    m.stage.last = false;
    CHECK(beside() == "activations: saved - not_at_loss" + in_loss);
    CHECK(beside_reference(m.in).logits == byte_count{});
    m.stage.last = true;
    m.in.held.logits = mib(3);  // of the caller's: they are the loss's here
    CHECK(beside_reference(m.in).logits == mib(1) + scores * 4);
    // Where logits are made in parts there are never all of them.
    m.asked.runtime.kernels.loss.code = loss_code::chunked;
    CHECK(whole_logits(m.in) == byte_count{});
    CHECK(beside_reference(m.in).logits == mib(1));
}

TEST_CASE("the reference's last layer of a kind, and its loss") {
    made_stage m;
    m.layers[0].unrecorded = mib(17);
    m.layers[1].unrecorded = mib(19);
    const auto forward = [&](std::size_t kind) { return m.now([&] { return at_reference_forward(m.in, kind); }); };
    const auto beside = [&] {
        return m.now([&] { return peak_candidate{.tensors = beside_reference(m.in)}; }).tensors;
    };
    const byte_count frames = model_frames(m.in, recorded::no);
    for (std::size_t kind = 0; kind < 2; ++kind) {
        CHECK(forward(kind).point == peak_point::reference_forward);
        CHECK(forward(kind).kind == static_cast<std::int32_t>(kind));
        CHECK(forward(kind).tensors.activations == beside().activations + frames + m.layers[kind].unrecorded);
    }
    const auto loss = [&] { return m.grows_with([&] { return at_reference_loss(m.in); }); };
    CHECK(at_reference_loss(m.in).point == peak_point::reference_loss);
    CHECK(loss() == saved + "; logits: 2 loss.kept" + in_loss);
    CHECK(at_reference_loss(m.in).tensors.logits == mib(2) + scores * 8);
    CHECK(at_reference_loss(m.in).tensors.activations == beside().activations + loss_frames(m.in));
    m.asked.runtime.kernels.loss.code = loss_code::chunked;
    CHECK(loss() == saved + "; logits: 2 loss.kept + loss.forward" + in_loss);
}

TEST_CASE("TRL's head in tiles: a reference's layers keep their casts to its end, those of trained weights at least") {
    job j = made_stage::job_of(2);
    j.weights = fp32;
    j.compute = bf16;
    j.autocast = true;
    j.preference = preference_method::dpo;
    j.runtime = runtimes::huggingface;
    j.runtime.kernels.loss.code = loss_code::fused_log_probabilities;
    made_stage m{j};
    REQUIRE(loads_reference(m.asked));
    const auto casts = [&](std::int32_t left_out) {
        return m.grows_with([&] { return reference_casts(m.in, left_out); });
    };
    CHECK(casts(0) == "2 first.casts + 3 second.casts");
    CHECK(casts(1) == "2 first.casts + 2 second.casts");
    CHECK(casts(4) == "first.casts");
    // The last layer of the first kind is the second of five: one layer before it has kept its casts.
    const auto forward = [&](std::size_t kind) {
        return m.grows_with([&] { return at_reference_forward(m.in, kind).tensors.activations; });
    };
    CHECK(forward(0).find("2 first.casts") == std::string::npos);
    CHECK(forward(0).starts_with("first.casts + "));
    CHECK(forward(1).starts_with("2 first.casts + 2 second.casts + "));
    CHECK(m.grows_with([&] {
               return at_reference_loss(m.in).tensors.activations;
           }).starts_with("2 first.casts + 3 second.casts + "));
    m.folded.context.frozen = true;  // all casts, of which these layers have none beyond
    CHECK(casts(0).empty());
    m.layers[0].state.casts.all = mib(2);
    m.layers[1].state.casts.all = mib(4);
    CHECK(m.now([&] { return peak_candidate{.free_unit = reference_casts(m.in)}; }).free_unit == mib(2 * 2 + 3 * 4));
    m.folded.context.frozen = false;
    m.asked.runtime.kernels.loss.code = loss_code::eager;
    CHECK(casts(0).empty());
    m.asked.runtime.kernels.loss.code = loss_code::fused_log_probabilities;
    m.folded.context.autocast = false;
    CHECK(casts(0).empty());
    m.folded.context.autocast = true;
    m.asked.preference = preference_method::none;
    CHECK(casts(0).empty());
}
