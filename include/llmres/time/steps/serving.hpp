// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/inventory/operations.hpp>
#include <llmres/inventory/placement.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/jobs/ranks.hpp>
#include <llmres/memory/serving/step.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/runtimes/launches.hpp>
#include <llmres/time/host.hpp>
#include <llmres/time/job_speed.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/steps/drafts.hpp>
#include <llmres/time/steps/passes.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/units.hpp>

/// How fast are prompts computed and tokens generated, for one sequence alone and under load?
namespace llmres::inline v0::detail {

/// What load adds. Trial values, not fitted: they were kept after looking at the 1,583 steady runs of three runtimes on
/// five GPUs that they are scored on (docs/decisions/0008).
struct load_constants {
    /// Of the time of the prompts that are computed while a sequence is generated, what its tokens wait for: all of it
    /// where prompts stand alone in their steps, little where sequences of one length start together.
    interval<double> prompts{0.5, 0.7, 1.0};
    /// Prompts of other sequences that a prompt waits for, as a part of them: few where lengths vary, half of them
    /// where all come at once.
    interval<double> queue{0.0, 0.07, 0.5};
};
inline constexpr load_constants default_load{};

/// What products with weights of 8-bit floats take longer to issue, relative to those that a compiled extension
/// launches: they are two kernels of Triton, launched from Python (transformers/integrations/finegrained_fp8.py:
/// act_quant, w8a8_block_fp8_matmul). 1.45 ms a layer of Qwen3-0.6B, beside 0.61 in bf16.
inline constexpr double triton_launches = 3.0;

constexpr operation_formats serving_formats(const job& j) {
    operation_formats formats{.compute = j.compute,
                              .kv_cache = kv_cache_of(j),
                              .weights = formats_of(j, j.compute),
                              .kv_cache_values = j.kv_cache_values,
                              .joined = j.runtime.launches.joined};
    if (j.runtime.serving_kernels.fp32_activations) {  // which are multiplied in fewer bits
        formats.compute = fp32;
        formats.compute.arithmetic = j.compute.arithmetic;
    }
    if (j.gguf) {
        const bool embedded = j.model.tied_head && !j.gguf->tied_head_stored;
        const gguf_tensor head = embedded ? gguf::embedding(j.model, *j.gguf) : gguf::output(j.model, *j.gguf);
        formats.weights.head = &gguf::types[gguf::index_of(head.type)].format;
        formats.weights.quantises_all = true;
        // Queries' type, where a file has them apart: quantisers take a wider one for attention's output in many mixes.
        for (const weight_role role : {weight_role::o_proj, weight_role::q_b_proj, weight_role::q_proj})
            if (const maybe<gguf_type> own = gguf::type_beside_stacks(j.model, *j.gguf, role))
                formats.weights.attention = &gguf::types[gguf::index_of(*own)].format;
        if (const maybe<gguf_type> own = gguf::type_beside_stacks(j.model, *j.gguf, weight_role::gate_proj))
            formats.weights.feed_forward = &gguf::types[gguf::index_of(*own)].format;
    }
    return formats;
}

/// All layers on the GPU, each pass so many times, and the head once.
constexpr priced_passes through_all_layers(const job& j, std::size_t passes, model_pricer& priced,
                                           const std::array<double, token_passes::most>& times) {
    const kind_counts counts = j.model.layers.counts(placement_on_host(j).layers.last, j.model.layers.size);
    priced_passes all = priced.head();
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        const priced_passes& layer = priced.layer(k);
        for (std::size_t p = 0; p < passes; ++p) all[p].add(layer[p], counts[k] * times[p]);
    }
    return all;
}

/// Whether a pipeline's stages compute chunks of one prompt at the same time.
constexpr bool overlaps_chunks(const job& j) {
    return j.runtime.launches.stages == stage_overlap::chunks || j.runtime.launches.stages == stage_overlap::both;
}
/// Whether they compute batches of different sequences at the same time.
constexpr bool overlaps_sequences(const job& j) {
    return j.runtime.launches.stages == stage_overlap::sequences || j.runtime.launches.stages == stage_overlap::both;
}

/// How long a prompt holds up other sequences: as long as it is on a stage, where others compute those meanwhile.
constexpr interval<duration> time_of_stage(const job& j, time_breakdown prompt) {
    if (overlaps_sequences(j)) prompt[time_term::pipeline_bubble] = prompt[time_term::pipeline_communication] = {};
    return prompt.total();
}

/// The speed under load: prompts of new sequences stand between the tokens of those in flight, or before all tokens of
/// a whole batch. Precondition: the job says how many tokens a sequence makes, since these decide how often a new
/// prompt comes.
constexpr steady_speed steady_of(const job& j, const layout& l, const interval<duration>& a_token,
                                 const time_breakdown& a_prompt) {
    const interval<duration> prefill = a_prompt.total(), holds = time_of_stage(j, a_prompt);
    steady_speed s{.in_flight = sequences_in_flight(j, l)};
    const double ranks = static_cast<double>(l.all_data_ranks());
    const double others = static_cast<double>(s.in_flight) / ranks - 1.0;
    const double made = static_cast<double>(j.output.in(tokens));
    const bool whole_batches = j.runtime.cache.whole_batches;
    const double between = others > 0 && !whole_batches ? others : 0.0;
    const auto token = [&](duration one, duration prompt, double share) {
        return one + prompt * (share * between / made);
    };
    const interval<double>& waits = default_load.prompts;
    s.time_per_output_token = {token(a_token.low, holds.low, waits.low),
                               token(a_token.expected, holds.expected, waits.expected),
                               token(a_token.high, holds.high, waits.high)};
    const auto first = [&](duration request, duration one, duration own, duration other, double queue) {
        const duration half_a_step = one * (0.5 * tokens_a_step(j.options));
        return request + own + (between > 0 ? half_a_step : duration{}) + other * (queue * between);
    };
    const interval<duration>& request = j.runtime.launches.request;
    const interval<double>& queue = default_load.queue;
    s.time_to_first_token = {
        first(request.low, duration{}, prefill.low, holds.low, queue.low),
        first(request.expected, a_token.expected, prefill.expected, holds.expected, queue.expected),
        first(request.high, a_token.high, prefill.high, holds.high, queue.high)};
    const duration prompts = whole_batches ? prefill.expected / made : duration{};  // for each token of a sequence
    s.tokens_per_second =
        approx(tokens(1)) * static_cast<double>(s.in_flight) / (s.time_per_output_token.expected + prompts);
    return s;
}

/// A step's time with the exchanges between stages and what the host computes.
struct serving_passes {
    std::int64_t sequences = 1;                    ///< of one data rank
    token_pass decode{}, prompt{}, prompts{};      ///< of one batch in flight; of prompts: one of their chunks
    double prompt_chunks = 1, prompts_chunks = 1;  ///< how many of these there are
};

/// Tokens of prompts that a runtime computes in one step, of so many.
constexpr std::int64_t tokens_of_chunk(const job& j, std::int64_t all) {
    const token_count limit = step_tokens_of(j, j.runtime.step.max_batched_tokens);
    const bool cut = j.max_batched_tokens > token_count{} || chunks(j, j.runtime);
    return cut && limit > token_count{} && all > limit.in(tokens) ? limit.in(tokens) : all;
}

/// Batches into which the sequences of a data rank are split, so that each stage computes another one.
constexpr std::int64_t batches_in_flight(const job& j, const layout& l) {
    const std::int64_t sequences = sequences_per_rank(j, l);
    if (!overlaps_sequences(j) || splits_rows(j)) return 1;
    return sequences < l.pipeline ? sequences : l.pipeline;
}

/// How often the time of one chunk passes. Where a pipeline's stages compute chunks of one prompt at the same time,
/// those behind the first take the time of the longest stage each.
constexpr double repeats(const job& j, const layout& l, double chunks) {
    if (!overlaps_chunks(j)) return chunks;
    const double stages = l.deals_evenly() ? l.pipeline
                                           : static_cast<double>(j.model.layers.size) /
                                                 static_cast<double>(most_layers(l, j.model.layers.size));
    return 1.0 + (chunks - 1.0) / stages;
}

constexpr serving_passes serving_passes_of(const job& j, const layout& l) {
    serving_passes p{.sequences = sequences_per_rank(j, l)};
    const token_count prompt = prompt_of(j);
    const token_count reached = j.output > token_count{} ? prompt + div_up(j.output, 2) : context_of(j);
    const token_count computed = computed_prompt_of(j);
    const std::int64_t length = ceil_quotient(computed.in(tokens), l.context_parallel);
    const std::int64_t checked = j.options.draft_tokens + 1;  // tokens of a sequence that a step computes
    const std::int64_t together = ceil_quotient(p.sequences, batches_in_flight(j, l));
    p.decode = {.tokens = {together, checked, ceil_quotient(reached.in(tokens), l.context_parallel)},
                .scored = product(together, checked),
                .expert_load = j.expert_load,
                .decode = true,
                .copies_cache = j.runtime.launches.copies_cache};
    const bool eager = serving_attention_of(j) == attention_kernel::eager;
    const pair_scores scores = eager ? pair_scores::fused_softmax : pair_scores::in_registers;
    const auto chunk = [&](std::int64_t sequences, double& times) {
        const std::int64_t part = ceil_quotient(tokens_of_chunk(j, product(length, sequences)), sequences);
        if (part > 0) times = static_cast<double>(length) / static_cast<double>(part);
        return token_pass{.tokens = {sequences, part > 0 ? part : 1, prompt.in(tokens)},
                          .scored = sequences,
                          .expert_load = j.expert_load,
                          .cached = (prompt - computed).in(tokens),
                          .scores = scores,
                          .widest_fused_head = j.runtime.serving_kernels.widest_fused_head};
    };
    p.prompt = chunk(prompts_before_token(j, l), p.prompt_chunks);
    if (generates(j.model)) {
        p.prompts = chunk(p.sequences, p.prompts_chunks);
        return p;
    }
    // A step takes as many whole inputs as its tokens have room for.
    const std::int64_t room = length > 0 ? tokens_of_chunk(j, product(length, p.sequences)) / length : p.sequences;
    const std::int64_t inputs = room > 1 ? room : 1;
    p.prompts = chunk(inputs, p.prompts_chunks);
    p.prompts_chunks *= static_cast<double>(p.sequences) / static_cast<double>(inputs);
    return p;
}

/// How kernels are launched: one by one, or by CUDA graphs where the runtime has them.
enum class launch_mode : bool { eager, graphs };

/// What the CPU takes to issue a step, where kernels beside those of wide products and dense layers count too.
constexpr runtime_launches launches_of(const job& j, launch_mode mode) {
    runtime_launches by = j.runtime.launches;
    const bool eager = mode == launch_mode::eager;
    if (eager && by.eager_layer.expected > duration{}) by.layer = by.eager_layer;
    if (eager) by.floors = 1.0;  // kernels start while others end within a graph
    const precision& weights = weights_of(j);
    const format_family family = family_of(weights);
    // AutoGPTQ's ExLlama kernel of 4 bits is one kernel.
    const bool one_kernel = family == format_family::gptq_words && size_of(weights, 1024, 1024) < mib(1);
    const double launched = family == format_family::eight_bit_float ? triton_launches : 1.0;
    if (family != format_family::plain && !one_kernel) by.layer += by.narrow_product * (7.0 * launched);
    if (by.looped_expert.high <= duration{}) return by;
    const kind_counts counts = j.model.layers.counts(0, j.model.layers.size);
    for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
        const feed_forward& f = j.model.layers.kinds[k].feed_forward;
        if (f.routed())
            by.layer += by.looped_expert * (static_cast<double>(f.experts.count) * counts[k] / j.model.layers.size);
    }
    return by;
}

/// Whether the prompts of all sequences are computed together: before tokens are generated, or where none are.
constexpr bool computes_prompts_together(const job& j) { return j.output > token_count{} || !generates(j.model); }

/// The passes whose times a job asks for: with the prompts of all sequences together where they are computed so.
constexpr token_passes priced_passes_of(const job& j, const serving_passes& p) {
    token_passes asked;
    asked.push(p.decode);
    asked.push(p.prompt);
    if (computes_prompts_together(j) && p.sequences > 1) asked.push(p.prompts);
    return asked;
}

/// Adds what the host computes for one step, and the weights that prompts bring over: also to the time of all prompts
/// together.
constexpr void add_host_layers(job_speed& speed, duration& together, const job& j, const layout& l, const pricing& with,
                               const token_shape& decoded) {
    const interval<duration> copied = over_host_link(prefill_host_traffic(j, l).link, with);
    speed.step[time_term::host_transfer] +=
        time_at(decode_host_traffic(j, l, tokens(decoded.keys)).memory, host_bandwidth(with.on));
    speed.prefill[time_term::host_transfer] += copied;
    together += copied.expected;
}

/// What the launches of a job's generated tokens take on a GPU.
constexpr runtime_launches launches_of_step(const job& j, const serving_passes& p, const gpu& card) {
    const token_count captured = j.runtime.launches.graph_context;
    runtime_launches made =
        launches_of(j, launch_mode{captured == token_count{} || tokens(p.decode.tokens.keys) <= captured});
    made.floors *= floors_of_token(made, card).expected;
    return made;
}
/// The efficiencies with the bounds of those launches.
constexpr efficiency with_floors_of_token(efficiency e, const runtime_launches& by, const gpu& card) {
    const interval<double> floors = floors_of_token(by, card);
    e.launch.low *= floors.low / floors.expected;
    e.launch.high *= floors.high / floors.expected;
    return e;
}

/// The time of a job's steps, without what stages send each other. Its terms are the busiest stage's, and
/// `pipeline_bubble` is the rest of the time that a batch takes on its way through all stages.
struct serving_work {
    time_breakdown step{};
    time_breakdown prefill{};
    duration together{};       ///< of the prompts of all sequences, where tokens are made after them
    flop_count flops{};        ///< of a step
    duration at_peak{};        ///< as priced_pass
    token_shape decode{};      ///< of one batch in flight
    std::int64_t prompt = 0;   ///< positions of one prompt that are computed at once
    std::int64_t prompts = 0;  ///< of the prompts of all sequences
};

/// Key of the work of a serving job's steps: all that it depends on. Precondition: layers are dealt evenly to stages.
struct serving_work_fold {
    exchange_split split;
    std::int32_t pipeline = 1;
    std::int64_t sequences = 0;  ///< of a rank

    constexpr std::uint64_t mix() const { return mixed(split.mix(), split.same_tokens, pipeline, sequences); }
    friend constexpr bool operator==(const serving_work_fold&, const serving_work_fold&) = default;
};

/// What is remembered of the times of a job that is served.
struct serving_times {
    remembered_products products;
    remembered_passes passes;  ///< where the work is another with other stages
    memo<serving_work_fold, serving_work> work;

    constexpr explicit serving_times(folds_are folds = folds_are::made_anew)
        : products{folds}, passes{folds}, work{folds} {}

    /// Forgets what depends on the format of the cache: attention, and no product with a weight.
    constexpr void forget_cache_format() { passes.clear(), work.clear(); }
    constexpr void clear() { products.clear(), forget_cache_format(); }
};

/// What the passes take on the stage where each of them takes longest, `chunks` times each through its layers.
constexpr priced_passes through_busiest_stage(const job& j, const layout& l, std::size_t passes, model_pricer& priced,
                                              const std::array<double, token_passes::most>& chunks) {
    priced_passes busiest = priced.head(), here = busiest;
    for (priced_pass& pass : busiest) pass = priced_pass{};
    for (std::int32_t stage = 0; stage < l.pipeline; ++stage) {
        if (stage > 1 && stage < l.pipeline - 1 && repeats_layers_before(j.model.layers, l, stage)) continue;
        const placement holds = placement_of(j, l, stage);
        here = priced.head();
        if (!holds.output)
            for (priced_pass& pass : here) pass = priced_pass{};
        for (std::size_t k = 0; k < static_cast<std::size_t>(j.model.layers.kind_count); ++k) {
            if (holds.counts[k] == 0) continue;
            const priced_passes& layer = priced.layer(k);
            for (std::size_t p = 0; p < passes; ++p) here[p].add(layer[p], holds.counts[k] * chunks[p]);
        }
        for (std::size_t p = 0; p < passes; ++p)
            if (here[p].busy() > busiest[p].busy()) busiest[p] = here[p];
    }
    return busiest;
}

/// The time of a batch on its way through all stages, or of all batches in flight on the busiest one where that takes
/// longer: as what the busiest stage spends its time on, `batches` times, and what it waits for the others. Terms have
/// the bounds of the whole.
constexpr time_breakdown seen_by_busiest(const time_breakdown& all, const time_breakdown& busiest, double batches) {
    const auto longer = [](duration a, duration b) { return a > b ? a : b; };
    const interval<duration> pass = all.total(), own = busiest.total() * batches;
    const interval<duration> whole{longer(pass.low, own.low), longer(pass.expected, own.expected),
                                   longer(pass.high, own.high)};
    if (whole.expected <= duration{}) return all;
    const double low = whole.low / whole.expected, high = whole.high / whole.expected;
    time_breakdown seen = busiest * batches;
    seen[time_term::pipeline_bubble].expected = whole.expected - own.expected;
    for (interval<duration>& term : seen.terms) term = {term.expected * low, term.expected, term.expected * high};
    return seen;
}

constexpr serving_work serving_work_anew(const job& j, const layout& l, const pricing& with, serving_times& kept) {
    const serving_passes p = serving_passes_of(j, l);
    const operation_formats formats = serving_formats(j);
    const std::array times{1.0, repeats(j, l, p.prompt_chunks), repeats(j, l, p.prompts_chunks)};
    const token_passes passes = priced_passes_of(j, p);
    model_pricer priced{j, l, with, formats, passes, kept.passes, kept.products};
    const priced_passes all = through_all_layers(j, passes.size(), priced, times);
    const gpu& card = with.on.gpu;
    const runtime_launches launches = launches_of_step(j, p, card), of_prompts = launches_of(j, launch_mode::eager);
    serving_work work{.step = all[0].terms(with_floors_of_token(with.reach, launches, card), launches),
                      .prefill = all[1].terms(with.reach, of_prompts),
                      .flops = all[generates(j.model) ? 0 : 1].flops,
                      .at_peak = all[generates(j.model) ? 0 : 1].at_peak,
                      .decode = p.decode.tokens,
                      .prompt = p.prompt.tokens.all(),
                      .prompts = p.prompts.tokens.all()};
    if (l.pipeline > 1 && !splits_rows(j)) {
        const std::array chunks{1.0, p.prompt_chunks, 1.0};
        const priced_passes busiest = through_busiest_stage(j, l, 2, priced, chunks);
        work.step = seen_by_busiest(work.step, busiest[0].terms(with.reach, launches),
                                    static_cast<double>(batches_in_flight(j, l)));
        work.prefill = seen_by_busiest(work.prefill, busiest[1].terms(with.reach, of_prompts), 1.0);
    }
    for (interval<duration>& term : work.prefill.terms)
        term = {term.low * launches.prompts.low, term.expected * launches.prompts.expected,
                term.high * launches.prompts.high};
    if (computes_prompts_together(j))
        work.together = all[passes.size() - 1].terms(with.reach, of_prompts).expected() * launches.prompts.expected;
    work.step[time_term::launch] += launches.step;
    work.prefill[time_term::launch] += launches.step;
    return work;
}

/// The work of the steps, as another layout left it, if one did.
constexpr const serving_work& serving_work_of(const job& j, const layout& l, const pricing& with, serving_times& kept,
                                              slot<serving_work>& room) {
    const auto anew = [&] { return serving_work_anew(j, l, with, kept); };
    if (l.deals_evenly()) return kept.work.get({l, l.pipeline, sequences_per_rank(j, l)}, anew, room);
    room = slot{anew()};  // how layers are dealt is no part of the key
    return room.value;
}

/// Adds the time in which the tokens of a step are drafted, of which it keeps some.
constexpr void add_drafts(job_speed& speed, const job& j, const layout& l, const pricing& with) {
    const serving_passes p = serving_passes_of(j, l);
    const operation_formats formats = serving_formats(j);
    const time_breakdown drafted = drafting_time(j, l, with, formats, p.decode, launches_of_step(j, p, with.on.gpu));
    for (std::size_t t = 0; t < drafted.terms.size(); ++t) speed.step.terms[t] += drafted.terms[t];
    speed.step = speed.step * (1.0 / tokens_a_step(j.options));
}

/// The formats of a vision tower, which quantised checkpoints leave as it is published.
constexpr operation_formats formats_of_tower(const job& j, const operation_formats& of_decoder) {
    operation_formats formats = of_decoder;
    if (!j.model.encoders[0].quantised) formats.weights = {.matrices = &j.compute, .rest = &j.compute};
    return formats;
}

/// The time in which the vision tower computes the images of so many prompts. A patch sees all others of its image, or
/// of its window.
constexpr interval<duration> tower_time(const job& j, const layout& l, const pricing& with, std::int64_t prompts) {
    const encoder& tower = j.model.encoders[0];
    const std::int64_t images = product(prompts, j.images.count), patches = j.images.patches.in(tokens);
    if (tower.layers == 0 || images == 0 || patches == 0) return {};
    const std::int64_t window = tower.window_patches.in(tokens);
    const std::int64_t seen = window > 0 && window < patches ? window : patches;
    token_passes passes;
    passes.push({.tokens = {images, patches, patches}, .cached = patches});
    passes.push({.tokens = {product(images, ceil_quotient(patches, seen)), seen, seen}, .cached = seen});
    const operation_formats of_decoder = serving_formats(j);
    pricer price = model_pricer::pricer_of(j, l, with, passes);
    price_layer(price, tower.block, tower.hidden, formats_of_tower(j, of_decoder), passes);
    priced_pass all;
    all.add(price.sum[0], tower.layers - tower.windowed_layers);
    all.add(price.sum[1], tower.windowed_layers);
    return all.terms(with.reach, launches_of(j, launch_mode::eager)).total();
}

/// Adds the images of a prompt to its time, and those of all prompts to the time of these together.
constexpr void add_images(job_speed& speed, duration& together, const job& j, const layout& l, const pricing& with) {
    speed.prefill[time_term::compute] += tower_time(j, l, with, prompts_before_token(j, l));
    together += tower_time(j, l, with, sequences_per_rank(j, l)).expected;
}

/// The speed of a job whose steps take so long on the stages.
constexpr job_speed serving_speed(const job& j, const layout& l, const pricing& with, serving_times& times) {
    slot<serving_work> room;
    const serving_work& work = serving_work_of(j, l, with, times, room);
    job_speed speed{.step = work.step, .prefill = work.prefill};
    duration together = work.together;
    if (l.pipeline > 1) {
        const auto sending = [&](std::int64_t positions) {
            return send_time(size_of(j.compute, positions, j.model.hidden), l, with) * (l.pipeline - 1);
        };
        speed.step[time_term::pipeline_communication] += sending(work.decode.all());
        speed.prefill[time_term::pipeline_communication] += sending(work.prompt);
        together += sending(work.prompts).expected;
    }
    if (j.runtime.step.logits.to_host) {
        const byte_count scores = size_of(fp32, work.decode.all(), j.model.vocabulary);
        speed.step[time_term::host_transfer] += time_at(scores, scores_to_host);
    }
    if (j.images.count > 0) add_images(speed, together, j, l, with);
    if (computes_on_host(j)) add_host_layers(speed, together, j, l, with, work.decode);
    if (j.options.draft_tokens > 0) add_drafts(speed, j, l, with);
    if (j.output > token_count{}) speed.steady = steady_of(j, l, speed.step.total(), speed.prefill);

    const std::int64_t sequences = sequences_held(j, l);
    if (!generates(j.model)) {  // each rank computes its inputs together, and that is all
        const auto inputs = static_cast<double>(sequences);
        const auto counted = static_cast<double>(prompts_before_token(j, l));  // inputs that `work` has the FLOPs of
        speed.step = {};
        speed.tokens_per_second = approx(computed_prompt_of(j)) * inputs / together;
        speed.flops = work.flops * (inputs / counted);
        speed.mfu = work.at_peak * (inputs / counted / static_cast<double>(l.all_data_ranks())) / together /
                    static_cast<double>(l.pipeline);
        return speed;
    }
    // Prompts are computed together; then every step makes one token of each sequence.
    const auto made = static_cast<double>(j.output > token_count{} ? j.output.in(tokens) : 1);
    const duration step = speed.step.expected();
    const duration round = j.output > token_count{} ? together + step * made : step;
    speed.tokens_per_second = approx(tokens(1)) * (static_cast<double>(sequences) * made) / round;
    // Ranks without a sequence compute nothing.
    const double used = static_cast<double>(sequences) / static_cast<double>(work.decode.sequences);
    const auto checked = static_cast<double>(work.decode.length);  // tokens of which a step keeps some
    const double ranks = static_cast<double>(l.all_data_ranks());
    speed.flops = work.flops * (used / checked);
    speed.mfu = work.at_peak / step * (used / ranks / checked) / static_cast<double>(l.pipeline);
    return speed;
}

}  // namespace llmres::inline v0::detail
