// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpu.hpp>
#include <llmres/inventory/operations.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/models/layer.hpp>
#include <llmres/runtimes/launches.hpp>
#include <llmres/time/breakdown.hpp>
#include <llmres/time/kernels.hpp>
#include <llmres/values/interval.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/precision.hpp>
#include <llmres/values/units.hpp>

/// How long does a kernel or an exchange take? A kernel as long as its arithmetic or its memory traffic, whichever is
/// longer (the roofline model, doi 10.1145/1498765.1498785), each at a stated part of the peaks.
namespace llmres::inline v0 {

/// The part of the peaks that kernels reach. `low` is the slow end. The expected values are those of time/kernels.hpp;
/// the bounds hold what whole steps reached beside it (docs/accuracy.md, "Times").
struct efficiency {
    /// Matrix products in 16 bits: 2,607 points on A100, H100, B200, B300 and GB200, met within 10.7 % with a floor
    /// (AIC-GEMM). Long runs reach less where the board's power limits them (sustained_rate()).
    interval<double> arithmetic{0.48, 0.748, 0.92};
    /// Memory traffic of products and elementwise kernels (the same fit).
    interval<double> bandwidth{0.48, 0.797, 0.95};
    /// Links, relative to what time_of() says.
    interval<double> link{0.60, 1.0, 1.25};
    /// Floors of kernels and the CPU's part of launching them, relative to what time/kernels.hpp and the runtime say.
    interval<double> launch{0.7, 1.0, 1.4};
    /// The part of the gradients' exchange, and of copies to and from the host, that overlaps with computing; of those
    /// copies none at the slow end (DeepSpeed without overlap_comm).
    interval<double> overlap{1.0, 0.7, 0.4};
};
inline constexpr efficiency default_efficiency{};  ///< the efficiencies of this header

/// What a kernel that only reads reaches of the bandwidth on the datasheet, which is how the probe measures it: 3.09 of
/// 3.35 TB/s on an H100, 4.40 of 4.80 on an H200 (tests/validation/data).
inline constexpr double reads_of_bandwidth = 0.92;

/// Efficiencies relative to rates that were measured on the device itself. Other kernels reach as much less of the
/// measured bandwidth as they do of the datasheet's; of the best matrix product a job is expected to reach the part
/// that products of other shapes reached (`reach`), and its slow end is lower in the same proportion as that of `e`. A
/// rate that was not measured is the datasheet's peak at the expected efficiency of `e`, with the bounds of `e`.
constexpr efficiency efficiency_of_measured(bool arithmetic, bool bandwidth, efficiency e = default_efficiency,
                                            const interval<double>& reach = 1.0) {
    const auto of_sheet = [](const interval<double>& own) {
        return interval<double>{own.low / own.expected, 1.0, own.high / own.expected};
    };
    if (arithmetic) {
        const double low = e.arithmetic.low / e.arithmetic.expected * reach.expected;
        e.arithmetic = {low < reach.low ? low : reach.low, reach.expected, reach.high};
    } else {
        e.arithmetic = of_sheet(e.arithmetic);
    }
    if (bandwidth) {
        const double high = e.bandwidth.high / reads_of_bandwidth;
        e.bandwidth = {e.bandwidth.low / reads_of_bandwidth, e.bandwidth.expected / reads_of_bandwidth,
                       high < 1.0 ? high : 1.0};
    } else {
        e.bandwidth = of_sheet(e.bandwidth);
    }
    return e;
}

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

constexpr interval<duration> at(duration ideal, const interval<double>& reached) {
    if (ideal == duration{}) return {};  // most terms of most jobs are zero
    return {ideal / reached.high, ideal / reached.expected, ideal / reached.low};
}
constexpr interval<duration> operator*(const interval<duration>& t, double n) {
    return {t.low * n, t.expected * n, t.high * n};
}
constexpr time_breakdown operator*(const time_breakdown& t, double n) {
    time_breakdown all;
    for (std::size_t i = 0; i < t.terms.size(); ++i) all.terms[i] = t.terms[i] * n;
    return all;
}
/// The ranks of a group as nodes hold them: `stride` apart, so that a node of consecutive ranks holds some of them.
constexpr rank_group group_of(const cluster& c, std::int64_t ranks, std::int64_t stride, bool own_kernels = false) {
    const std::int64_t there = c.node_size() / (stride > 0 ? stride : 1);
    return {.ranks = ranks,
            .in_node = there < 1       ? 1
                       : there < ranks ? there
                                       : ranks,
            .own_kernels = own_kernels,
            .sharing = c.gpus_per_adapter};
}

/// The time of a pass, by what takes it.
struct priced_pass {
    duration compute{};
    duration memory{};
    duration tensor{};
    duration expert{};
    duration context{};    ///< context parallelism's exchanges
    duration attention{};  ///< the part of `compute` and `memory` that hides them
    duration floors{};     ///< kernels that are shorter than their floor
    double layers = 0;
    duration at_peak{};  ///< FLOPs at the peaks of their arithmetic
    flop_count flops{};  ///< on all tensor ranks together

    /// Adds another pass so many times.
    constexpr void add(priced_pass other, double times) {
        compute += other.compute * times;
        memory += other.memory * times;
        tensor += other.tensor * times;
        expert += other.expert * times;
        context += other.context * times;
        attention += other.attention * times;
        floors += other.floors * times;
        layers += other.layers * times;
        at_peak += other.at_peak * times;
        flops += other.flops * times;
    }
    /// How long the GPU is busy.
    constexpr duration busy() const { return compute + memory + tensor + expert + exposed_context() + floors; }
    /// What of context parallelism's exchanges attention does not hide.
    constexpr duration exposed_context() const { return beyond(context, attention); }
    /// The terms, with bounds in the proportions of the efficiencies.
    constexpr time_breakdown terms(const efficiency& e, const runtime_launches& by) const {
        const auto bounded = [](duration expected, const interval<double>& reached) {
            return interval<duration>{expected * (reached.expected / reached.high), expected,
                                      expected * (reached.expected / reached.low)};
        };
        time_breakdown t;
        t[time_term::compute] = bounded(compute, e.arithmetic);
        t[time_term::memory] = bounded(memory, e.bandwidth);
        t[time_term::tensor_communication] = bounded(tensor + exposed_context(), e.link);
        t[time_term::expert_communication] = bounded(expert, e.link);
        // The GPU waits for the CPU where kernels are issued one by one and take less than that.
        const interval<duration> busy = t.total();
        const duration floored = floors * by.floors;
        const auto waits = [&](duration kernels, duration floor, duration cpu) {
            return cpu > kernels + floor ? cpu - kernels : floor;
        };
        const interval<duration>& issue = by.layer;
        t[time_term::launch] = {waits(busy.low, floored * e.launch.low, issue.low * layers),
                                waits(busy.expected, floored, issue.expected * layers),
                                waits(busy.high, floored * e.launch.high, issue.high * layers)};
        interval<duration>& launch = t[time_term::launch];
        if (launch.low > launch.expected) launch.low = launch.expected;
        if (launch.high < launch.expected) launch.high = launch.expected;
        return t;
    }
};

/// Adds up the times of one rank's operations and exchanges, for several passes at once.
struct pricer {
    /// Seconds of a FLOP in one arithmetic.
    struct rates {
        maybe<arithmetic_kind> kind{};  ///< unknown: not computed yet
        double product = 0, attention = 0, attention_back = 0, experts = 0, peak = 0;
        double tiles = 0;  ///< FLOPs a second of products that compute whole tiles
    };
    /// What a product adds to its pass, but for launches.
    struct priced_product {
        duration compute{};
        duration memory{};
        duration at_peak{};
        flop_count flops{};
    };

    /// The passes through a layer's mixers, but for some equal matrices that are yet to be priced.
    struct priced_mixers {
        std::array<priced_pass, token_passes::most> sum;
        equal_matrices behind;
    };
    /// The mixers that were priced last.
    struct last_mixers {
        bool kept = false;  ///< where several kinds of layers are priced, each from the start
        const layer* kind = nullptr;
        slot<priced_mixers> passes;  ///< set with `kind`
    };

    /// Which products are ggml's.
    struct ggml_kernels {
        bool multiply = false;  ///< those with quantised weights, by kernels of vectors and of tiles
        bool convert = false;   ///< inputs and outputs are converted by kernels of their own
        double a_clock = 0;     ///< seconds of a clock, of all multiprocessors
    };

    exchange_split degrees;
    const cluster& hardware;
    const gpu& sheet;  ///< whose peaks mfu refers to
    const efficiency& reach;
    const runtime_launches& launches;
    std::array<bool, token_passes::most>
        sustained{};  ///< of each pass: the GPU is busy for long, and the board's power limits products
    double a_byte = 0;
    std::array<double, 2> product_byte{};  ///< seconds of a product's byte while decoding, and in long runs
    double cache_traffic = 1;              ///< the part of the bandwidth that attention reaches
    double elementwise = default_kernels.elementwise / efficiency{}.bandwidth.expected;  ///< relative to products
    double a_weight = 0;  ///< seconds in which a product unpacks an integer weight
    double ampere = 1;    ///< what Marlin's and ggml's instructions reach
    ggml_kernels ggml{};
    duration experts_floor = default_kernels.experts_floor;
    double least_tokens = 1;  ///< that a product computes
    double parts = 1;         ///< GPUs that share the rows of each matrix
    double sms = assumed_multiprocessors;
    std::array<std::array<rates, 2>, 2> known{};  ///< of bursts and of long runs, two arithmetics each
    std::array<priced_pass, token_passes::most> sum{};
    last_mixers mixers{};

    pricer(const exchange_split&, const cluster&, const gpu&, const efficiency&, const runtime_launches&&,
           const std::array<bool, token_passes::most>&) = delete;  // it refers to them
    constexpr pricer(const exchange_split& l, const cluster& c, const gpu& of_peaks, const efficiency& e,
                     const runtime_launches& by, const std::array<bool, token_passes::most>& runs_long)
        : degrees{l}, hardware{c}, sheet{of_peaks}, reach{e}, launches{by}, sustained{runs_long} {
        a_byte = 1.0 / c.gpu.memory.bandwidth.in(bytes_per_s);
        cache_traffic = default_kernels.attention_traffic * e.bandwidth.expected / efficiency{}.bandwidth.expected;
        if (c.gpu.sm_count) sms = static_cast<double>(*c.gpu.sm_count);
        product_byte[0] = product_byte[1] = a_byte / e.bandwidth.expected;
        const double clocks = multiprocessor_clocks(c.gpu);
        ggml.multiply = by.packed == packed_code::ggml && clocks > 0 && c.gpu.rates.int8.value_or({}) > flop_rate{};
        ggml.convert = ggml.multiply || by.packed == packed_code::dequantised;
        ggml.a_clock = clocks > 0 ? 1.0 / clocks : 0.0;
        const double read = ggml.multiply ? 0.0 : by.bytes_a_clock * clocks;
        least_tokens = smallest_tile(c.gpu, by);
        if (read > 0 && 1.0 / read > product_byte[0]) product_byte[0] = 1.0 / read;
        if (marlin())
            a_weight = ggml.a_clock / default_packed.marlin;
        else if (by.packed == packed_code::simple)
            a_weight = ggml.a_clock / default_packed.simple;
        else if (ggml.multiply)
            a_weight = ggml.a_clock / default_ggml.vector_weights;
        ampere = reach_of_ampere(c.gpu);
        if (by.experts == routed_code::blackwell && has_tensor_memory(c.gpu))
            experts_floor = default_kernels.blackwell_experts_floor;
        for (std::array<rates, 2>& two : known) two[0] = two[1] = rates{};
        start_over();
    }

    constexpr void start_over() {
        for (priced_pass& pass : sum) pass = priced_pass{};
    }

    constexpr void operator()(const operation& o, std::size_t pass) {
        if (o.kind == operation_kind::elementwise)
            sum[pass].memory += seconds(moved_by(o) * a_byte / (reach.bandwidth.expected * elementwise));
        else
            o.kind == operation_kind::attention ? add_attention(o, pass) : add_product(o, pass);
    }
    /// A product of one pass, and those with matrices that are equal to its own.
    constexpr void products(const operation& o, const equal_matrices& equal, std::size_t pass) {
        add_equal(sum[pass], product_of(o, sustained[pass]), o, equal);
    }
    /// A product of the first pass, and of the second one gradients that multiply and move as much.
    constexpr void both(const operation& o, const equal_matrices& equal) {
        const priced_product one = product_of(o, sustained[0]);
        add_equal(sum[0], one, o, equal);
        add_equal(sum[1], sustained[1] == sustained[0] ? one : product_of(o, sustained[1]), o, equal);
    }
    /// A product of the second pass.
    constexpr void gradients(const operation& o, const equal_matrices& equal) {
        add_equal(sum[1], product_of(o, sustained[1]), o, equal);
    }
    /// Takes the passes through the mixers of the kind before, if these are the same.
    constexpr bool take_mixers(const layer& kind, equal_matrices& behind) {
        if (!mixers.kind || !same_mixer_weights(*mixers.kind, kind)) return false;
        sum = mixers.passes.value.sum;
        behind = mixers.passes.value.behind;
        return true;
    }
    constexpr void keep_mixers(const layer& kind, const equal_matrices& behind) {
        if (!mixers.kept) return;
        mixers.kind = &kind;
        mixers.passes = slot<priced_mixers>{{sum, behind}};
    }
    constexpr void operator()(const exchange& x, std::size_t pass) {
        switch (x.among) {
            case exchange::group::tensor: sum[pass].tensor += time_among(x, degrees.tensor, 1); return;
            case exchange::group::expert:
                sum[pass].expert += time_among(x, degrees.expert, degrees.expert_tensor);
                return;
            case exchange::group::context: sum[pass].context += time_among(x, degrees.context_parallel, degrees.tensor);
        }
    }

private:
    constexpr duration time_among(const exchange& x, std::int64_t ranks, std::int64_t stride) const {
        return time_of(x.kind, x.message, group_of(hardware, ranks, stride, launches.own_all_reduce), hardware.scale_up,
                       hardware.scale_out);
    }
    /// The longer of both is what the time is spent on.
    static constexpr void add(priced_pass& to, double computing, double moving) {
        (computing > moving ? to.compute : to.memory) += seconds(overlapped(computing, moving));
    }
    static constexpr double moved_by(const operation& o) { return static_cast<double>((o.read + o.written).in(bytes)); }
    constexpr void add_attention(const operation& o, std::size_t pass) {
        priced_pass& to = sum[pass];
        const rates& at = rates_for(o.arithmetic, sustained[pass]);
        const double work = o.flops.in(flops);
        to.flops += o.flops * (degrees.tensor * o.counted);
        to.at_peak += seconds(work * at.peak * o.counted);
        const double busy = o.blocks < sms ? o.blocks / sms : 1.0;
        const double before = (to.compute + to.memory).in(seconds);
        to.floors += default_kernels.attention_floor;
        const bool back = o.pass != product_pass::forward;
        // What one block reads is a share of the bandwidth: few blocks leave memory idle as well.
        add(to, work * (back ? at.attention_back : at.attention) / busy, moved_by(o) * a_byte / (cache_traffic * busy));
        to.attention += to.compute + to.memory - seconds(before);
    }
    /// A product with a weight, or of routed experts.
    constexpr void add_product(const operation& o, std::size_t pass) {
        add_priced(sum[pass], product_of(o, sustained[pass]), o, o.joined);
    }
    /// Adds a product, and as much for each matrix that is equal to its own.
    constexpr void add_equal(priced_pass& to, const priced_product one, const operation& o,
                             const equal_matrices& equal) const {
        bool joined = o.joined;
        for (std::size_t i = 0;; joined = equal.joined(equal.roles[i++])) {
            add_priced(to, one, o, joined);
            if (i == equal.count) return;
        }
    }
    constexpr void add_priced(priced_pass& to, const priced_product one, const operation& o, bool joined) const {
        to.compute += one.compute;
        to.memory += one.memory;
        to.at_peak += one.at_peak;
        to.flops += one.flops;
        add_floors(to, o, joined);
    }
    constexpr priced_product product_of(const operation& o, bool runs_long) {
        return ggml.convert ? computed_by_ggml(o, runs_long) : computed(o, runs_long);
    }
    constexpr priced_product computed(const operation& o, bool runs_long) {
        const rates& at = rates_for(o.arithmetic, runs_long);
        const double work = o.flops.in(flops);
        const double streamed = moved_by(o) * product_byte[runs_long ? 1 : 0];
        const double slower = o.pass == product_pass::weight_gradients ? 1.0 / default_kernels.weight_gradients : 1.0;
        priced_product made{.at_peak = seconds(work * at.peak * o.counted),
                            .flops = o.flops * (degrees.tensor * o.counted)};
        double computing = 0, moving = streamed / parts, tile = 0;
        if (o.kind == operation_kind::experts && launches.experts != routed_code::gathered) {
            // Each expert's product has few tokens: its tiles are filled in part.
            const double each = static_cast<double>(o.tokens) / o.groups;
            const double filled = each / (each + default_kernels.experts_tokens);
            computing = work * at.experts * slower / filled / parts;
        } else if (o.packed && marlin()) {
            if (o.tokens <= 0) return made;
            computing = computed_by_marlin(o, work * at.product / parts);
        } else {
            computing = work * at.product * slower / parts;
            if (!runs_long) moving = unpacked(o, streamed) / parts;
            tile = whole_tile(o, at);
        }
        const double both = overlapped(computing, moving);
        if (tile > both)
            made.compute = seconds(tile);
        else
            (computing > moving ? made.compute : made.memory) = seconds(both);
        return made;
    }
    /// What launching a product takes, and copies of its inputs and outputs.
    constexpr void add_floors(priced_pass& to, const operation& o, bool joined) const {
        if (o.kind == operation_kind::experts) {
            to.floors += experts_floor;
            // Three products of an expert are two kernels: gate and up are one.
            if (launches.experts == routed_code::each && o.packed)
                to.floors += default_kernels.elementwise_floor * (o.each * 2.0 / 3.0);
            if (parts > 1) add_copies(to, o.tokens, o.rows, o.columns);
            return;
        }
        if (o.packed && marlin()) return add_marlin_floors(to, o, joined);
        if (!joined) to.floors += default_kernels.product;
        if (parts > 1) add_copies(to, o.tokens, o.rows, o.columns);
        if (joined || !is_narrow(o.arithmetic)) return;
        const bool within = launches.joins_casts && o.arithmetic == arithmetic_kind::fp8;
        if (!within) to.floors += default_kernels.cast;
    }
    /// A product of ggml, with the conversions of its inputs and outputs.
    constexpr priced_product computed_by_ggml(const operation& o, bool runs_long) {
        priced_product made = ggml.multiply && o.packed ? quantised_by_ggml(o, runs_long) : computed(o, runs_long);
        made.memory += converted_by_ggml(o);
        return made;
    }
    constexpr duration converted_by_ggml(const operation& o) const {
        const auto n = static_cast<double>(o.tokens);
        const ggml_shape& own = default_ggml_shape;
        if (n <= (ggml.multiply ? own.vector_tokens : own.dequantised_tokens) * o.chosen) return {};
        const auto rows = static_cast<double>(o.rows), columns = static_cast<double>(o.columns);
        double moved = n * (o.packed && ggml.multiply ? own.quantised * columns : own.converted * (columns + rows));
        if (o.packed && !ggml.multiply) moved += own.dequantised * rows * columns * o.groups;
        return seconds(moved * a_byte / (reach.bandwidth.expected * elementwise) / parts);
    }
    /// A product with a quantised weight. Those of few tokens read and unpack a weight once and multiply it by each
    /// token; the others do so for each tile of tokens.
    constexpr priced_product quantised_by_ggml(const operation& o, bool runs_long) {
        const ggml_shape& own = default_ggml_shape;
        const double work = o.flops.in(flops);
        priced_product made{.at_peak = seconds(work * rates_for(o.arithmetic, runs_long).peak * o.counted),
                            .flops = o.flops * (degrees.tensor * o.counted)};
        const auto n = static_cast<double>(o.tokens);
        if (n <= 0) return made;
        const double weights = work / (2 * n) * o.groups;  // of all that are multiplied
        if (n <= own.vector_tokens * o.chosen) {
            const double streamed = moved_by(o) * product_byte[0], unpacking = weights * a_weight;
            made.memory = seconds((streamed > unpacking ? streamed : unpacking) / parts);
            const double again = o.groups < n ? 1 - o.groups / n : 0.0;  // of what was unpacked for another token
            made.compute = seconds(work * again * ggml.a_clock / default_ggml.vector_flops / parts);
            return made;
        }
        // A tile is as wide as if all tokens chose the same expert (mmq.cu: ncols_opt), and multiplied whole.
        const double all = n / o.chosen, wide = all < own.tile ? all : own.tile, each = n / o.groups / wide;
        const auto whole = static_cast<double>(static_cast<std::int64_t>(each));
        const double tiles = whole < each ? whole + 1 : whole;
        constexpr bool limited = false;  // tiles do not reach what the board's power allows
        const double a_flop =
            rates_for(arithmetic_kind::int8, limited).product / ampere + ggml.a_clock / default_ggml.scaled_flops;
        made.compute = seconds(weights * tiles * (own.shared_passes * a_weight + 2 * wide * a_flop) / parts);
        return made;
    }
    constexpr bool marlin() const { return launches.packed == packed_code::marlin; }
    /// A product by Marlin: whole blocks of 16 tokens at what its instructions reach, and its weights unpacked for
    /// every 64 of them.
    constexpr double computed_by_marlin(const operation& o, double computing) const {
        const marlin_block& block = default_marlin_block;
        const auto n = static_cast<double>(o.tokens), rows = static_cast<double>(o.rows);
        const double filled = n < block.rows ? block.rows / n : 1.0;
        const double repeated = n > block.again ? n / block.again : 1.0;
        return computing * filled / ampere + rows * static_cast<double>(o.columns) * a_weight * repeated;
    }
    constexpr void add_marlin_floors(priced_pass& to, const operation& o, bool joined) const {
        if (joined || o.tokens <= 0 || o.rows <= 0) return;
        const double shared = sms * default_marlin_block.tile / static_cast<double>(o.rows);
        const double most = static_cast<double>(o.columns) / default_marlin_block.tile;
        to.floors += default_kernels.product + default_packed.lock * (shared < most ? shared : most);
    }
    /// Inputs of a product that go to the other GPUs which share its rows, and outputs that come back, in fp32.
    constexpr void add_copies(priced_pass& to, std::int64_t tokens, std::int64_t rows, std::int64_t columns) const {
        to.floors += default_row_split.part * (parts + 1);
        const link& between = hardware.scale_up;
        const double share =
            between.topology == link_topology::bus ? default_collectives.bus : default_collectives.ring;
        const double rate = between.raw.in(bytes_per_s)*share;
        const double features = static_cast<double>(columns) + static_cast<double>(rows) / parts;
        if (rate > 0) to.tensor += seconds(4.0 * static_cast<double>(tokens) * (parts - 1) * features / rate);
    }
    static constexpr bool is_narrow(arithmetic_kind kind) {
        return kind == arithmetic_kind::fp8 || kind == arithmetic_kind::fp6 || kind == arithmetic_kind::fp4 ||
               kind == arithmetic_kind::int8;
    }
    /// What a product of few tokens takes for a whole tile of them, whose arithmetic nothing else holds up.
    constexpr double whole_tile(const operation& o, const rates& at) const {
        const auto n = static_cast<double>(o.tokens);
        if (n <= 0 || n >= least_tokens || o.packed) return 0;
        return at.tiles > 0 ? o.flops.in(flops) * (least_tokens / n) / at.tiles : 0.0;
    }
    /// What a product's traffic takes, or unpacking its weight where that takes longer.
    constexpr double unpacked(const operation& o, double streamed) const {
        const double unpacking = static_cast<double>(o.rows) * static_cast<double>(o.columns) * a_weight;
        return unpacking > streamed && o.packed ? unpacking : streamed;
    }
    constexpr const rates& rates_for(arithmetic_kind kind, bool runs_long) {
        std::array<rates, 2>& two = known[runs_long ? 1 : 0];
        if (two[0].kind.known && two[0].kind.value == kind) return two[0];
        if (!(two[1].kind.known && two[1].kind.value == kind)) take_rates(two, kind, runs_long);
        return two[0].kind.value == kind ? two[0] : two[1];
    }
    /// Computes the rates of a third arithmetic in the place of the second.
    constexpr void take_rates(std::array<rates, 2>& two, arithmetic_kind kind, bool runs_long) const {
        two[two[0].kind.known ? 1 : 0] = rates_of(kind, runs_long);
    }
    constexpr rates rates_of(arithmetic_kind kind, bool runs_long) const {
        const double peak = matrix_rate(hardware.gpu, kind).in(flops_per_s);
        const double of_sheet = matrix_rate(sheet, kind).in(flops_per_s);
        if (peak <= 0) return {.kind = {kind}};  // validate() refuses a GPU of no known rate
        const bool four = kind == arithmetic_kind::fp4 || kind == arithmetic_kind::fp6;
        const bool eight = kind == arithmetic_kind::fp8 || kind == arithmetic_kind::int8;
        const bool measured = sheet.measured.rate(kind).known;
        // Parts of the peak, relative to that of 16-bit products, which a caller or a measured GPU may set.
        const double wide = efficiency{}.arithmetic.expected;
        const double best = peak * reach.arithmetic.expected / wide;
        double product = best * (measured || !(four || eight) ? wide
                                 : four                       ? default_kernels.fp4_arithmetic
                                                              : default_kernels.narrow_arithmetic);
        // ggml has cuBLAS sum products of 16 bits in 16 bits (ggml-cuda.cu: CUBLAS_COMPUTE_16F).
        const flop_rate narrow_sums = hardware.gpu.rates.fp16_accumulate16.value_or({});
        if (ggml.convert && !four && !eight && !measured && narrow_sums > flop_rate{})
            product *= narrow_sums / matrix_rate(hardware.gpu, kind);
        const attention_reach fused = reach_of(launches.attention, hardware.gpu);
        double experts = best * default_kernels.experts;
        double attention = best * default_kernels.attention * fused.forward;
        double attention_back = best * default_kernels.attention_backward * fused.backward;
        if (runs_long && measured) {
            for (double* rate : {&product, &experts, &attention, &attention_back}) *rate *= sheet.measured.sustained;
        } else if (runs_long) {
            const double limit = sustained_rate(hardware.gpu,
                                                four    ? 0.5
                                                : eight ? 1.0
                                                        : 2.0,
                                                hardware.power_limit)
                                     .in(flops_per_s);
            for (double* rate : {&product, &experts, &attention, &attention_back})
                if (limit > 0 && limit < *rate) *rate = limit;
        }
        return {{kind},
                1.0 / product,
                1.0 / attention,
                1.0 / attention_back,
                1.0 / experts,
                of_sheet > 0 ? 1.0 / of_sheet : 0.0,
                peak * reach.arithmetic.expected};
    }
};

/// Adds what a layer computes beside its products with weights, and its exchanges, to each pass.
constexpr void price_between_projections(pricer& price, const layer& kind, std::int64_t hidden,
                                         const operation_formats& formats, const token_passes& passes) {
    visit_between_projections(kind, hidden, formats, passes, price.degrees, price);
    for (std::size_t p = 0; p < passes.size(); ++p) {
        for_each_exchange(kind, hidden, formats.compute, passes[p].tokens, price.degrees, [&](const exchange& x) {
            price(x, p);
            // Keys and values pass on the way back, and their gradients with them.
            if (passes[p].backward && x.among == exchange::group::context) price(x, p);
            // Sequence parallelism keeps a part of each input and gathers it for the gradients of
            // weights, unless the runtime keeps what it gathered.
            if (passes[p].backward && x.among == exchange::group::tensor && price.degrees.sequence_parallel &&
                !passes[p].keeps_gathered)
                price(exchange{collective_kind::all_gather, x.among, x.message}, p);
        });
        price.sum[p].floors += default_kernels.elementwise_floor * price.launches.small_kernels;
        price.sum[p].layers = 1;
    }
}

/// Adds a layer's operations and exchanges to each pass.
constexpr void price_layer(pricer& price, const layer& kind, std::int64_t hidden, const operation_formats& formats,
                           const token_passes& passes) {
    visit_projections(kind, hidden, formats, passes, price.degrees, price);
    price_between_projections(price, kind, hidden, formats, passes);
}

}  // namespace detail

}  // namespace llmres::inline v0
