// SPDX-License-Identifier: MIT
// What observed jobs say of a profile: which constant, which value, and how sure that is.
#include <llmres/answers/observe.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/llama.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <llmres/runtimes/pytorch.hpp>
#include <llmres/runtimes/vllm.hpp>
#include <vector>

#include "properties.hpp"

using namespace llmres;

namespace {

const cluster one_h100{.gpu = gpus::h100_sxm5_80gb};
constexpr layout alone{};

job chat() { return {.model = models::llama_3_1_8b, .context = tokens(8192), .runtime = runtimes::vllm_v1_18}; }

interval<byte_count> of(observed_figure what, const job& j, const layout& l = alone) {
    const auto said = predicted(what, j, l, one_h100);
    REQUIRE(bool{said});
    return *said;
}

}  // namespace

TEST_CASE("a figure that is as predicted leaves its constant where it was") {
    const job j = chat();
    const byte_count pool = of(observed_figure::pool, j).expected;
    const observed_profile p = observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::pool, pool, {}});
    CHECK(p[learnt_constant::workspace].count == 1);
    CHECK(p[learnt_constant::workspace].mean ==
          doctest::Approx(static_cast<double>(j.runtime.process.workspace.expected.in(bytes))));
}

TEST_CASE("a profile learnt from one log predicts that log, whichever constant is behind the figure") {
    const layout two_ranks{.tensor = 2};
    const layout two_stages{.pipeline = 2};
    const layout ranks_of_stages{.tensor = 2, .pipeline = 2};
    job llama_cpp = chat();
    llama_cpp.runtime = runtimes::llama_cpp;
    job older = chat();
    older.runtime = runtimes::vllm_v1;
    job newest = chat();
    newest.runtime = runtimes::vllm;
    const job trained{.model = models::llama_3_2_1b,
                      .task = task::finetuning,
                      .sequence = tokens(2048),
                      .micro_batch = 8,
                      .runtime = runtimes::pytorch};
    struct sample {
        observed_figure what;
        learnt_constant behind;
        job asked;
        double times;
        layout placed{};
    };
    using figure = observed_figure;
    using constant = learnt_constant;
    for (const auto& [what, behind, asked, times, placed] :
         {sample{figure::pool, constant::workspace, chat(), 0.97},
          sample{figure::beside_tensors, constant::workspace, chat(), 2.0},
          sample{figure::beside_tensors, constant::communicator, chat(), 1.5, two_ranks},
          // Stages have created their communicators when vLLM 0.11.1 and later look at what is free.
          sample{figure::beside_tensors, constant::stage_workspace, chat(), 1.5, two_stages},
          sample{figure::beside_tensors, constant::communicator, chat(), 1.5, ranks_of_stages},
          sample{figure::beside_tensors, constant::communicator, older, 1.5, two_stages},
          sample{figure::beside_tensors, constant::workspace, older, 1.5},
          sample{figure::pool, constant::stage_workspace, chat(), 0.97, two_stages},
          sample{figure::pool, constant::communicator, older, 0.97, two_stages},
          sample{figure::cuda_graphs, constant::cuda_graphs, chat(), 0.5},
          sample{figure::cuda_graphs, constant::layer_graphs, newest, 1.2},
          sample{figure::compute_buffer, constant::activations, llama_cpp, 1.3},
          sample{figure::allocated, constant::activations, trained, 1.05},
          sample{figure::reserved, constant::fragmentation, trained, 1.05},
          sample{figure::device_used, constant::context, trained, 1.004}}) {
        CAPTURE(name_of(what));
        CAPTURE(name_of(behind));
        const cluster c = *standard_cluster(gpus::h100_sxm5_80gb, static_cast<std::int32_t>(placed.gpus()));
        const auto said = [&](const job& j) {
            const auto known = predicted(what, j, placed, c);
            REQUIRE(bool{known});
            return known->expected;
        };
        const byte_count seen = bytes(static_cast<std::int64_t>(times * static_cast<double>(said(asked).in(bytes))));
        const observed_profile p = observe({asked.runtime, {}}, asked, placed, c, {what, seen, {}});
        CHECK(p[behind].count == 1);
        job again = asked;
        again.runtime = with_learnt(again.runtime, p, prior_weight::none);
        CHECK(std::fabs(static_cast<double>((said(again) - seen).in(bytes))) <
              0.005 * static_cast<double>(seen.in(bytes)));
    }
}

TEST_CASE("a figure inside its bounds moves no constant out of its own") {
    const job j = chat();
    const interval<byte_count> pool = of(observed_figure::pool, j);
    const interval<byte_count> own = j.runtime.process.workspace;
    // The pool's bounds are wider than the workspace's: they are those of activations, logits and graphs too.
    REQUIRE(pool.high - pool.low > own.high - own.low);
    for (const byte_count seen : {pool.low, pool.high}) {
        observed_profile p{j.runtime, {}};
        for (int logs = 0; logs < 8; ++logs) p = observe(p, j, alone, one_h100, {observed_figure::pool, seen, {}});
        for (const prior_weight weight : {prior_weight::one, prior_weight::none, prior_weight::while_inside}) {
            const interval<byte_count> now = learnt(p, weight).process.workspace;
            CHECK(own.low <= now.expected);
            CHECK(now.expected <= own.high);
        }
    }
    // Beyond its bounds the version is another one, and so may its constant be.
    const observed_profile other =
        observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::pool, pool.low - gib(2), {}});
    CHECK(learnt(other, prior_weight::while_inside).process.workspace.expected > own.high + gib(1));
}

TEST_CASE("what is arithmetic is not learnt") {
    const job j = chat();
    const observed_profile p = observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::weights, gib(99), {}});
    for (const constant_evidence& e : p.evidence) CHECK(e.count == 0);
    job refused_job = j;
    refused_job.batch = -1;
    const observed_profile q =
        observe({j.runtime, {}}, refused_job, alone, one_h100, {observed_figure::pool, gib(9), {}});
    for (const constant_evidence& e : q.evidence) CHECK(e.count == 0);
}

TEST_CASE("a profiled peak tells what logits take only where the job names the rows that were profiled") {
    job j = chat();
    j.runtime.step.max_num_seqs = 4096;  // so many that the logits are the peak
    j.runtime.step.larger_devices = {};
    const byte_count half = bytes(of(observed_figure::activation_peak, j).expected.in(bytes) / 2);
    const observation seen{observed_figure::activation_peak, half, {}};
    CHECK(observe({j.runtime, {}}, j, alone, one_h100, seen)[learnt_constant::logits].count == 0);
    j.options.max_num_seqs = 4096;
    const observed_profile named = observe({j.runtime, {}}, j, alone, one_h100, seen);
    REQUIRE(named[learnt_constant::logits].count == 1);
    CHECK(named[learnt_constant::logits].mean < 0.6 * j.runtime.step.logits.bytes.expected);
}

TEST_CASE("a pool beside what is known tells the graphs that were deducted, and never less than none") {
    job j = chat();
    j.runtime = runtimes::vllm;
    const byte_count pool = of(observed_figure::pool, j).expected;
    const auto counts = [&](byte_count size, bool beside_known) {
        return observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::pool, size, {}, beside_known});
    };
    const observed_profile smaller = counts(pool - gib(4), true);
    CHECK(smaller[learnt_constant::layer_graphs].count == 1);
    CHECK(smaller[learnt_constant::workspace].count == 0);
    CHECK(counts(pool - gib(4), false)[learnt_constant::workspace].count == 1);
    const observed_profile larger = counts(pool + gib(8), true);
    CHECK(larger[learnt_constant::layer_graphs].count == 1);
    CHECK(larger[learnt_constant::layer_graphs].mean == 0);
    // Where nothing else is known, so large a pool says that the step's peak is smaller.
    const observed_profile unknown = counts(pool + gib(8), false);
    CHECK(unknown[learnt_constant::workspace].count == 0);
    CHECK(unknown[learnt_constant::layer_graphs].count == 0);
    j.runtime.step.logits.rows = scored_tokens::last;
    const observed_profile rows = counts(of(observed_figure::pool, j).expected + gib(8), false);
    CHECK(rows[learnt_constant::workspace].count == 0);
}

TEST_CASE("a figure that is nothing teaches nothing") {
    const job j = chat();
    for (const observed_figure what : {observed_figure::allocated, observed_figure::reserved}) {
        const observed_profile p = observe({j.runtime, {}}, j, alone, one_h100, {what, gib(9), {}});
        for (const constant_evidence& e : p.evidence) CHECK(e.count == 0);
    }
}

TEST_CASE("a figure at the end of its bounds is shared among the constants behind it, each once") {
    const job trained{.model = models::llama_3_2_1b,
                      .task = task::finetuning,
                      .sequence = tokens(2048),
                      .micro_batch = 8,
                      .runtime = runtimes::pytorch};
    for (const job& j : {trained, chat()})
        for (const observed_figure what : {observed_figure::activation_peak, observed_figure::allocated}) {
            const auto said = predicted(what, j, alone, one_h100);
            REQUIRE(said);
            for (const byte_count seen : {said->low, said->high}) {
                const observed_profile p = observe({j.runtime, {}}, j, alone, one_h100, {what, seen, {}});
                for (const constant_evidence& e : p.evidence) CHECK(e.count <= 1);
            }
        }
}

TEST_CASE("caches of all GPUs, buffers of the fullest, and graphs of training") {
    const job j = chat();
    // 2 x 32 layers x 8 heads x 128 x 2 bytes x 8192 tokens.
    job llama_cpp = j;
    llama_cpp.runtime = runtimes::llama_cpp;
    CHECK(of(observed_figure::kv_cache, llama_cpp).expected == gib(1));
    CHECK(of(observed_figure::kv_cache, llama_cpp, layout{.pipeline = 2}).expected == gib(1));  // on all GPUs
    job trained{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(2048)};
    trained.runtime.process.cuda_graphs = gib(1);
    CHECK(of(observed_figure::cuda_graphs, trained).expected == gib(1));
    // Of two stages the larger buffer is told.
    const layout two{.pipeline = 2};
    std::vector<byte_count> stages;
    for (const std::int32_t stage : {0, 1}) {
        const memory_breakdown m = serving_memory_of_stage(llama_cpp, two, llama_cpp.runtime, stage);
        stages.push_back((m[memory_term::activations] + m[memory_term::logits]).expected);
    }
    CHECK(of(observed_figure::compute_buffer, llama_cpp, two).expected == std::max(stages[0], stages[1]));
    llama_cpp.runtime.step.copies = 1;
    CHECK(of(observed_figure::compute_buffer, llama_cpp, two) == of(observed_figure::compute_buffer, llama_cpp));
    const memory_breakdown whole = serving_memory_of_stage(llama_cpp, alone, llama_cpp.runtime, 0);
    CHECK(of(observed_figure::compute_buffer, llama_cpp, two) ==
          whole[memory_term::activations] + whole[memory_term::logits]);
}

TEST_CASE("where host and GPU share their memory, what is lacking says nothing of the process") {
    const job j = chat();
    const cluster jetson{.gpu = gpus::jetson_agx_orin_64gb};
    for (const observed_figure what :
         {observed_figure::pool, observed_figure::beside_tensors, observed_figure::device_used}) {
        const observed_profile p = observe({j.runtime, {}}, j, alone, jetson, {what, gib(9), {}});
        for (const constant_evidence& e : p.evidence) CHECK(e.count == 0);
    }
    job peaks = chat();
    peaks.runtime.step.logits.bytes = {};
    const observation peak{observed_figure::activation_peak, gib(2), {}};
    CHECK(observe({peaks.runtime, {}}, peaks, alone, jetson, peak)[learnt_constant::activations].count == 1);
}

TEST_CASE("without observations the profile is as it was, and bounds narrow with jobs that agree") {
    const interval<double> prior{100, 200, 400};
    CHECK(posterior(prior, {}) == prior);
    double width = 1e9;
    for (const int n : {1, 2, 5, 20, 100, 10000}) {
        const interval<double> now = posterior(prior, {n, 250, 0});
        CHECK(now.high - now.low < width);
        CHECK(now.low <= now.expected);
        CHECK(now.expected <= now.high);
        width = now.high - now.low;
    }
    CHECK(posterior(prior, {10000, 250, 0}).expected == doctest::Approx(250).epsilon(1e-3));
    CHECK(posterior(prior, {1, 250, 0}, prior_weight::none).expected == 250);
    CHECK(posterior(prior, {1, 250, 0}, prior_weight::while_inside).expected == 225);
    CHECK(posterior(prior, {1, 500, 0}, prior_weight::while_inside).expected == 500);
    CHECK(posterior(prior, {1, 250, 0}, prior_weight::one).expected == 225);
}

TEST_CASE("no constant is learnt below zero") {
    observed_profile p{runtimes::vllm_v1_18, {}};
    p.evidence[static_cast<std::size_t>(learnt_constant::workspace)] = {3, -1e15, 0};
    for (const prior_weight weight : {prior_weight::one, prior_weight::none, prior_weight::while_inside})
        CHECK(learnt(p, weight).process.workspace.expected == byte_count{});
    const interval<byte_count> none = learnt(p, prior_weight::none).process.workspace;
    CHECK(none.low == byte_count{});
    CHECK(none.high == byte_count{});
    CHECK(constant_evidence{3, 1, 0} != constant_evidence{3, 2, 0});
}

TEST_CASE("bounds tend to those in which 95 of 100 jobs lie") {
    // Normal figures of mean 1000 and deviation 50, from twelve uniform ones each.
    properties::generator random;
    constant_evidence seen{};
    const auto draw = [&] {
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += static_cast<double>(random.bits() >> 11) * 0x1p-53;
        return 1000 + 50 * sum;
    };
    int inside = 0, tried = 0;
    for (int i = 1; i <= 20000; ++i) {
        const double x = draw();
        if (i > 1000) {
            ++tried;
            inside += posterior({100, 200, 400}, seen).contains(x);
        }
        const double away = x - seen.mean;
        seen.mean += away / ++seen.count;
        seen.squares += away * (x - seen.mean);
    }
    CHECK(inside > 0.94 * tried);
    CHECK(inside < 0.96 * tried);
}

static_assert(posterior({1, 2, 3}, {}) == interval<double>{1, 2, 3}, "usable in constant expressions");

TEST_CASE("after observations a constant has the mean and the bounds of a normal-inverse-gamma prior") {
    // Murphy 2007, equations 86 to 101, computed by hand with Student's t of tables: 2.776 at 4 degrees, 2.306 at 8.
    // Prior 100 -+ 10, four observations of mean 120 whose squared distances to it add up to 200.
    const double b = (10 / 2.776) * (10 / 2.776) + 200.0 / 2 + 4.0 * 20 * 20 / (2 * 5);
    const double side = 2.306 * std::sqrt(b * (5 + 1) / (4 * 5));
    const interval<double> after = posterior({90, 100, 110}, {.count = 4, .mean = 120, .squares = 200});
    CHECK(after.expected == doctest::Approx(116));
    CHECK(after.low == doctest::Approx(116 - side).epsilon(0.002));
    CHECK(after.high == doctest::Approx(116 + side).epsilon(0.002));
    // Without the prior's value: k = n, and nothing is off.
    const double alone_b = (10 / 2.776) * (10 / 2.776) + 200.0 / 2;
    const double alone_side = 2.306 * std::sqrt(alone_b * (4 + 1) / (4 * 4));
    const interval<double> moved =
        posterior({90, 100, 110}, {.count = 4, .mean = 120, .squares = 200}, prior_weight::none);
    CHECK(moved.expected == doctest::Approx(120));
    CHECK(moved.low == doctest::Approx(120 - alone_side).epsilon(0.002));
    CHECK(moved.high == doctest::Approx(120 + alone_side).epsilon(0.002));
}

TEST_CASE("a figure is as expected within its bounds, and as far beyond each as it was rounded when it was printed") {
    const job j = chat();
    const interval<byte_count> pool = of(observed_figure::pool, j);
    const auto expected = [&](byte_count size, byte_count printed_to) {
        return detail::is_expected(j, alone, one_h100, {observed_figure::pool, size, printed_to});
    };
    const byte_count digit = mib(5);
    for (const byte_count inside : {pool.low, pool.expected, pool.high}) CHECK(expected(inside, {}));
    for (const byte_count outside : {pool.low - digit, pool.high + digit}) {
        CHECK_FALSE(expected(outside, {}));
        CHECK_FALSE(expected(outside, digit - bytes(1)));
        CHECK(expected(outside, digit));
    }
}

namespace {

/// Student's distribution of an even number of degrees between -t and t, in closed form (Abramowitz and Stegun 26.7.4).
double within(double t, int degrees) {
    const double angle = std::atan(t / std::sqrt(degrees));
    double sum = 1, term = 1;
    for (int k = 2; k <= degrees - 2; k += 2) sum += term *= std::cos(angle) * std::cos(angle) * (k - 1) / k;
    return std::sin(angle) * sum;
}

/// Its 97.5th percentile, by bisection.
double percentile(int degrees) {
    double low = 1.9, high = 5;
    for (int i = 0; i < 100; ++i) (within((low + high) / 2, degrees) < 0.95 ? low : high) = (low + high) / 2;
    return low;
}

}  // namespace

TEST_CASE(
    "Student's percentile is right to the second order of the degrees of freedom: the third is all that is missing") {
    CHECK(percentile(4) == doctest::Approx(2.776).epsilon(1e-3));  // of tables
    CHECK(percentile(8) == doctest::Approx(2.306).epsilon(1e-3));
    // The next term of the expansion: (3 z^7 + 19 z^5 + 17 z^3 - 15 z) / 384 over the degrees' cube
    for (const int degrees : {20, 40, 80, 160}) {
        const double missing = (percentile(degrees) - detail::student(degrees)) * std::pow(degrees, 3);
        CHECK(missing == doctest::Approx(2.556).epsilon(0.1));
    }
}

TEST_CASE(
    "a lopsided prior leans as far after an observation as one among two, and a prior without bounds not at all") {
    // 100 to 400 about 200: a third more above than below; (1 + 1/6) over (1 - 1/6) after one observation.
    const interval<double> once = posterior({100, 200, 400}, {1, 200, 0});
    CHECK((once.high - once.expected) / (once.expected - once.low) == doctest::Approx(7.0 / 5.0));
    const interval<double> thrice = posterior({100, 200, 400}, {3, 200, 0});
    CHECK((thrice.high - thrice.expected) / (thrice.expected - thrice.low) == doctest::Approx(13.0 / 11.0));
    const interval<double> known = posterior({200, 200, 200}, {1, 210, 0});
    CHECK(known.expected == doctest::Approx(205));
    CHECK(known.high - known.expected == doctest::Approx(known.expected - known.low));
    CHECK(known.high > known.expected);
    const constant_evidence none;
    CHECK(none.count == 0);
    CHECK(none.mean == 0);
    CHECK(none.squares == 0);
}

TEST_CASE("a pool inside its bounds is evidence of one constant where that explains it, else of what is left, too") {
    job j = chat();
    j.runtime = runtimes::vllm;
    const interval<byte_count> pool = of(observed_figure::pool, j);
    const auto seen = [&](byte_count size) {
        return observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::pool, size, {}});
    };
    const auto counted = [](const observed_profile& p) {
        std::int32_t all = 0;
        for (const constant_evidence& e : p.evidence) all += e.count;
        return all;
    };
    CHECK(counted(seen(pool.expected)) == 1);
    const observed_profile small = seen(pool.low);
    CHECK(small[learnt_constant::workspace].count == 1);
    CHECK(small[learnt_constant::workspace].mean ==
          static_cast<double>(j.runtime.process.workspace.high.in(bytes)));  // and the rest is that of graphs
    CHECK(small[learnt_constant::layer_graphs].count == 1);
    CHECK(small[learnt_constant::layer_graphs].mean >
          static_cast<double>(j.runtime.process.layer_graphs.expected.in(bytes)));
}

TEST_CASE(
    "a pool that leaves less than nothing beside tensors says that activations take less, where nothing tells logits") {
    job j = chat();
    j.max_batched_tokens = tokens(131072);
    const byte_count pool = of(observed_figure::pool, j).high;
    const observed_profile p =
        observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::pool, pool + mib(64), {}});
    CHECK(p[learnt_constant::workspace].count == 0);
    CHECK(p[learnt_constant::logits].count == 0);
    REQUIRE(p[learnt_constant::activations].count == 1);
    CHECK(p[learnt_constant::activations].mean < j.runtime.accuracy.activations.expected);
}

TEST_CASE("evidence is the mean of what was observed and the sum of its squared distances to that") {
    observed_profile p;
    const auto add = [&](double value) { p = detail::with_evidence(p, learnt_constant::context, value); };
    add(1);
    CHECK(p[learnt_constant::context] == constant_evidence{.count = 1, .mean = 1, .squares = 0});
    add(2);
    add(6);
    CHECK(p[learnt_constant::context].count == 3);
    CHECK(p[learnt_constant::context].mean == doctest::Approx(3));
    CHECK(p[learnt_constant::context].squares == doctest::Approx(4 + 1 + 9));
    CHECK(p[learnt_constant::workspace].count == 0);
}

TEST_CASE("what rounding leaves of a figure beside tensors is no evidence of what it does not depend on") {
    const job j = chat();
    const interval<byte_count> beside = of(observed_figure::beside_tensors, j);
    const observed_profile p =
        observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::beside_tensors, beside.high + mib(1), mib(2)});
    CHECK(p[learnt_constant::workspace].count == 1);
    CHECK(p[learnt_constant::workspace].mean == static_cast<double>(j.runtime.process.workspace.high.in(bytes)));
    for (const learnt_constant other : {learnt_constant::cuda_graphs, learnt_constant::activations})
        CHECK(p[other].count == 0);
}

TEST_CASE(
    "a step's peak tells of logits where its rows are known: named, were it one, or not those of a profiling run") {
    job j = chat();
    for (const scored_tokens rows : {scored_tokens::profiled, scored_tokens::last, scored_tokens::chunk})
        for (const std::int64_t named : {0, 1, 2, 256}) {
            j.runtime.step.logits.rows = rows;
            j.options.max_num_seqs = named;
            CHECK(detail::tells_logits(j) == (rows != scored_tokens::profiled || named > 0));
        }
}

TEST_CASE("what one constant cannot explain within its bounds is evidence of what is left of the difference, no more") {
    job j = chat();
    j.runtime = runtimes::vllm;
    const interval<byte_count> pool = of(observed_figure::pool, j);
    const interval<byte_count> own = j.runtime.process.workspace;
    // So much less than expected that the workspace's upper bound leaves 16 MiB, for which graphs have room.
    const byte_count seen = pool.expected - (own.high - own.expected) - mib(16);
    REQUIRE(seen > pool.low);
    const observed_profile p = observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::pool, seen, {}});
    REQUIRE(p[learnt_constant::workspace].count == 1);
    REQUIRE(p[learnt_constant::layer_graphs].count == 1);
    job then = j;
    for (const learnt_constant each : {learnt_constant::workspace, learnt_constant::layer_graphs}) {
        const interval<double> before = detail::constant_of(j.runtime, each);
        detail::set_constant(then.runtime, each, {before.low, p[each].mean, before.high});
    }
    CHECK(std::fabs(static_cast<double>((of(observed_figure::pool, then).expected - seen).in(bytes))) < 1e5);
}

TEST_CASE("figures that a job, layout or cluster cannot have are none, whatever the figure") {
    job wrong = chat();
    wrong.batch = 0;
    const job j = chat();
    for (std::size_t i = 0; i < names_of<observed_figure>.size(); ++i) {
        const auto what = static_cast<observed_figure>(i);
        CAPTURE(name_of(what));
        CHECK_FALSE(predicted(what, wrong, alone, one_h100));
        CHECK_FALSE(predicted(what, j, {.tensor = 3}, one_h100));
        cluster none = one_h100;
        none.gpus = 0;
        CHECK_FALSE(predicted(what, j, alone, none));
    }
}

TEST_CASE("buffers of the fullest GPU are those of a stage that there is") {
    job j = chat();
    j.runtime = runtimes::llama_cpp;
    j.runtime.step.copies = 4;
    for (const std::int32_t stages : {1, 2, 3, 4}) {
        const layout l{.pipeline = stages};
        const cluster c = standard_cluster(gpus::h100_sxm5_80gb, stages).value();
        interval<byte_count> fullest{};
        for (std::int32_t stage = 0; stage < stages; ++stage) {
            const memory_breakdown m = serving_memory_of_stage(j, l, on_device(j, c.gpu, l), stage);
            const interval<byte_count> buffer = m[memory_term::activations] + m[memory_term::logits];
            if (buffer.expected > fullest.expected) fullest = buffer;
        }
        CHECK(predicted(observed_figure::compute_buffer, j, l, c).value == fullest);
    }
}

TEST_CASE("an observation that agrees leaves bounds as a prior of four degrees of freedom has them, above zero") {
    // Half a width of 0.3, observed once in the middle: k = 2, a = 5/2, b = (0.3 / t4)^2; Student's 2.776 and 2.571.
    const interval<double> after = posterior({0.2, 0.5, 0.8}, {.count = 1, .mean = 0.5, .squares = 0});
    const double side = 2.571 * std::sqrt(0.3 / 2.776 * (0.3 / 2.776) * 3 / 5);
    CHECK(after.expected == doctest::Approx(0.5));
    CHECK(after.low == doctest::Approx(0.5 - side).epsilon(0.01));
    CHECK(after.high == doctest::Approx(0.5 + side).epsilon(0.01));
    CHECK(after.low > 0.2);
}

TEST_CASE("a part's bounds are as lopsided as they were, and less with each observation") {
    const interval<double> prior{0.9, 1.0, 1.3};
    double before = 2;
    for (const int count : {1, 2, 5, 20}) {
        const interval<double> after = posterior(prior, {.count = count, .mean = 1.0, .squares = 0});
        CHECK(after.expected == doctest::Approx(1.0));
        // Half of 0.4 is 0.2, off whose middle the expected value lies by 0.1.
        const double lopsided = 0.5 / (1 + count);
        CHECK((after.high - 1.0) / (1.0 - after.low) == doctest::Approx((1 + lopsided) / (1 - lopsided)));
        CHECK(after.high - after.low < before);
        before = after.high - after.low;
    }
}

TEST_CASE("figures of a layout are those of its memory, unless a runtime prints them of each device") {
    const cluster two = standard_cluster(gpus::h100_sxm5_80gb, 2).value();
    const layout stages{.pipeline = 2};
    const memory_breakdown m = memory_of(chat(), stages, two);
    CHECK((*predicted(observed_figure::weights, chat(), stages, two)).expected == m[memory_term::weights].expected);
    CHECK((*predicted(observed_figure::kv_cache, chat(), stages, two)).expected == m[memory_term::kv_cache].expected);
    CHECK(m[memory_term::weights].expected < memory_of(chat(), alone, two)[memory_term::weights].expected);
    const job trained{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(1024)};
    CHECK((*predicted(observed_figure::cuda_graphs, trained, alone, one_h100)).expected ==
          trained.runtime.process.cuda_graphs.expected);
}

TEST_CASE("a figure that hardly moves with a constant says nothing of it") {
    // Plain SGD at its fullest in the backward pass: 2 MiB of activations of 512 tokens beside 10 GiB of weights and
    // gradients. What is 5 % more is of something else.
    const job trained{.model = models::llama_3_2_1b,
                      .task = task::finetuning,
                      .sequence = tokens(512),
                      .optimizer = sgd,
                      .recompute = recompute::full,
                      .runtime = runtimes::pytorch};
    const byte_count allocated = of(observed_figure::allocated, trained).expected;
    const byte_count moving = memory_of(trained, alone, one_h100)[memory_term::activations].expected;
    REQUIRE((moving > mib(1) && moving < div_down(allocated, 1000)));
    const observation more{observed_figure::allocated, allocated + div_down(allocated, 20), {}};
    for (const constant_evidence& e : observe({trained.runtime, {}}, trained, alone, one_h100, more).evidence)
        CHECK(e.count == 0);
}

TEST_CASE("a pool that needs less than nothing beside tensors says that logits take less, where rows are named") {
    job j = chat();
    j.runtime.step.max_num_seqs = 4096;
    j.runtime.step.larger_devices = {};
    j.options.max_num_seqs = 4096;
    // 4,096 rows of 128,256 logits: a byte of each is half a GiB, a hundredth of the pool.
    const double rows = 4096.0 * 128256;
    const byte_count nothing_beside =
        of(observed_figure::pool, j).expected + j.runtime.process.workspace.expected;  // with no workspace at all
    const auto seen = [&](byte_count size) {
        return observe({j.runtime, {}}, j, alone, one_h100, {observed_figure::pool, size, {}});
    };
    const observed_profile p = seen(nothing_beside + gib(1));
    CHECK(p[learnt_constant::workspace].count == 0);
    CHECK(p[learnt_constant::activations].count == 0);
    REQUIRE(p[learnt_constant::logits].count == 1);
    const double over = static_cast<double>((j.runtime.process.workspace.expected + gib(1)).in(bytes));
    CHECK(p[learnt_constant::logits].mean ==
          doctest::Approx(j.runtime.step.logits.bytes.expected - over / rows).epsilon(0.001));
    // Exactly nothing beside tensors is a workspace of no bytes.
    const observed_profile none = seen(nothing_beside);
    CHECK(none[learnt_constant::workspace].count == 1);
    CHECK(none[learnt_constant::workspace].mean == 0);
    CHECK(none[learnt_constant::logits].count == 0);
}

TEST_CASE("graphs of training are those of the process, whatever a profile's graphs of a layer take") {
    job trained{.model = models::llama_3_2_1b, .task = task::finetuning, .sequence = tokens(2048)};
    trained.runtime.process.cuda_graphs = gib(1);
    trained.runtime.process.layer_graphs = mib(100);
    CHECK(of(observed_figure::cuda_graphs, trained).expected == gib(1));
}

TEST_CASE("the fullest buffer of a pipeline is the first stage's where its layers are wider than the last one's") {
    job j = chat();
    j.model = models::deepseek_v2;  // whose first layer has no experts
    j.runtime = runtimes::llama_cpp;
    const layout two{.pipeline = 2};
    const auto buffer_of = [&](std::int32_t stage) {
        const memory_breakdown m = serving_memory_of_stage(j, two, j.runtime, stage);
        return m[memory_term::activations] + m[memory_term::logits];
    };
    REQUIRE(buffer_of(0).expected > buffer_of(1).expected);
    CHECK(detail::fullest_buffer(j, two, j.runtime) == buffer_of(0));
    // An engine that copies its inputs twice has a buffer for each stage; one that does not has one for all.
    runtime twice = j.runtime;
    twice.step.copies = 2;
    const memory_breakdown first = serving_memory_of_stage(j, two, twice, 0);
    CHECK(detail::fullest_buffer(j, two, twice) == first[memory_term::activations] + first[memory_term::logits]);
    const memory_breakdown whole = serving_memory_of_stage(j, alone, twice, 0);
    CHECK(detail::fullest_buffer(j, two, twice) != whole[memory_term::activations] + whole[memory_term::logits]);
}
