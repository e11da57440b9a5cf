// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <llmres/memory/events/caching_allocator.hpp>
#include <llmres/memory/training.hpp>
#include <llmres/runtimes/deepspeed.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

// What DeepSpeed's ZeRO 3 reserves (memory/training/deepspeed.hpp, memory/training/allocator.hpp), against the
// allocator's own rules: a Llama with Liger's kernels, whole layers recomputed, its optimizer in main memory, step by
// step as DeepSpeed 0.19's PartitionedParameterCoordinator and stage3.py allocate and free on three streams. A block
// that another stream reads is not free before the host has waited for the GPU, which it does in each attention; or, of
// several rows, never, so that it waits where a stream holds no more kernels.

namespace {

using block = llmres::detail::caching_allocator::block;

constexpr std::size_t computing = 0, gathering = 1, reducing = 2;  // streams

enum class host {
    waits,     ///< in each attention, and the GPU is done at once otherwise
    is_ahead,  ///< waits in each attention, and the GPU has not begun anything before that
    never_waits,
};

struct shape {
    std::int64_t hidden, layers, width, vocabulary, kv_width;
};

struct gathered_group {
    std::vector<std::size_t> parameters;
    block* joined = nullptr;
    std::size_t waiting = 0;
    bool split = false;
};

struct parameter {
    std::int64_t values = 0;
    block* data = nullptr;
    gathered_group* on_its_way = nullptr;
    std::int64_t fetched_for = -1;  ///< the last use for which it was fetched
    std::set<std::string> readers{};
    bool persistent() const { return values < 100'000; }  // param_persistence_threshold
    bool absent() const { return data == nullptr && on_its_way == nullptr; }
};

/// Which allocations are made and freed when; the order is that of modeling_llama.py and of autograd's backward pass.
class zero3_run {
public:
    zero3_run(const shape& s, std::int64_t tokens, host how) : is_{s}, tokens_{tokens}, host_{how} {
        embedding_ = add("embedding", s.vocabulary * s.hidden);
        for (std::int64_t l = 0; l < s.layers; ++l) add_layer(l);
        norm_ = add("norm", s.hidden);
        head_ = parameters_.size();
        parameters_.push_back({.values = s.vocabulary * s.hidden});
        modules_["top"], modules_["model"], modules_["positions"];
        std::int64_t all = 0;
        for (const parameter& p : parameters_) all += p.values;
        take(all * 2 / ranks);
        take(bucket_size * 2);
        for (parameter& p : parameters_)
            if (p.persistent()) p.data = take(p.values * 2, gathering);
    }
    void step();
    std::int64_t reserved() const { return memory_.peak_reserved; }

private:
    static constexpr std::int64_t ranks = 8, bucket_size = 500'000'000;
    static constexpr std::int64_t prefetched = 50'000'000, most_live = 1'000'000'000, reused_within = 1'000'000'000;
    struct use {
        std::size_t parameter;
        std::int64_t step;
    };
    /// What a layer keeps when it has been recomputed.
    struct kept {
        block *normed, *q, *k, *v, *attention, *statistics, *middle, *normed_again, *gate, *up, *product;
    };

    std::size_t add(const std::string& name, std::int64_t values) {
        modules_[name] = {parameters_.size()};
        parameters_.push_back({.values = values});
        return parameters_.size() - 1;
    }
    void add_layer(std::int64_t l) {
        const std::string at = std::to_string(l) + ".";
        for (const char* group : {"layer", "attention", "mlp"}) modules_[at + group];
        for (const char* norm : {"norm1", "norm2"}) add(at + norm, is_.hidden);
        for (const char* square : {"q", "o"}) add(at + square, is_.hidden * is_.hidden);
        for (const char* narrow : {"k", "v"}) add(at + narrow, is_.hidden * is_.kv_width);
        for (const char* wide : {"gate", "up", "down"}) add(at + wide, is_.hidden * is_.width);
    }

    /// A kernel of the computation makes each of its tensors.
    block* take(std::int64_t size, std::size_t stream = computing) {
        if (stream == computing) launch();
        return memory_.take(size, stream);
    }
    void launch() { wait_for(++launched_ - llmres::detail::most_launched); }
    block* stream_tensor(std::int64_t width) { return take(tokens_ * width * 2); }
    template <class... Blocks>
    void give(Blocks*... blocks) {
        (memory_.give(blocks), ...);
    }
    /// Frees a block that another stream reads (record_stream).
    void give_later(block* b) {
        if (host_ == host::waits) return memory_.give(b);
        launch();  // the allocator records an event
        late_.emplace_back(launched_, b);
    }
    /// Waits until the GPU has done what was launched by then.
    void wait_for(std::int64_t then) {
        for (; !late_.empty() && late_.front().first <= then; late_.pop_front()) memory_.give(late_.front().second);
    }
    void wait_in_attention() {
        if (host_ != host::never_waits) wait_for_gpu();
    }
    void wait_for_gpu() {
        for (const auto& [at, b] : late_) memory_.give(b);
        late_.clear();
    }

    // ---- partitioned_param_coordinator.py
    void gather(const std::vector<std::size_t>& which);
    void wait_for(parameter& p);
    void fetch(const std::string& module);
    void prefetch();
    void release(const std::string& module);
    void release(parameter& p) {
        if (p.data == nullptr || p.persistent() || !p.readers.empty()) return;
        give_later(std::exchange(p.data, nullptr));
        live_ -= p.values;
    }
    void reset();

    // ---- stage3.py
    void add_gradient(std::size_t which, block* gradient);
    void reduce();
    void gradient_of(const std::string& module) {
        const std::size_t p = modules_[module][0];
        add_gradient(p, take(parameters_[p].values * 2));
    }

    /// Fetches a module's weights, makes its output, and releases them.
    block* output_of(const std::string& module, std::int64_t width) {
        fetch(module);
        block* made = stream_tensor(width);
        release(module);
        return made;
    }
    kept forward(std::int64_t layer, bool keeps);
    block* checkpointed(std::int64_t layer);
    block* backward(std::int64_t layer, block* input, block* gradient);
    block* attention_backward(const std::string& at, kept& k);
    void loss(block*& input_gradient, block*& head_gradient);

    shape is_;
    std::int64_t tokens_;
    host host_;
    llmres::detail::caching_allocator memory_{};
    std::int64_t launched_ = 0;
    std::deque<std::int64_t> reduced_{};                  ///< what had been launched when a bucket was reduced
    std::deque<std::pair<std::int64_t, block*>> late_{};  ///< when it was freed
    std::vector<parameter> parameters_{};
    std::map<std::string, std::vector<std::size_t>> modules_{};
    std::size_t embedding_ = 0, norm_ = 0, head_ = 0;
    std::deque<gathered_group> groups_{};
    std::vector<std::string> trace_{};
    std::deque<use> queue_{};
    bool traced_ = false;
    std::int64_t at_ = 0;
    std::int64_t live_ = 0;
    std::vector<std::pair<std::size_t, block*>> bucket_{};
    std::int64_t in_bucket_ = 0;
};

void zero3_run::gather(const std::vector<std::size_t>& which) {
    gathered_group group;
    std::int64_t values = 0;
    for (const std::size_t p : which)
        if (parameters_[p].absent()) group.parameters.push_back(p), values += parameters_[p].values;
    if (group.parameters.empty()) return;
    live_ += values;
    group.joined = take(values * 2, gathering);
    group.waiting = group.parameters.size();
    groups_.push_back(group);
    for (const std::size_t p : group.parameters) parameters_[p].on_its_way = &groups_.back();
}

/// The parameters of a group that was gathered together are joined from their parts, each in a block of its own; the
/// group's stays until all have been waited for (AllGatherCoalescedHandle).
void zero3_run::wait_for(parameter& p) {
    gathered_group& group = *std::exchange(p.on_its_way, nullptr);
    if (!std::exchange(group.split, true)) {
        const bool alone = group.parameters.size() == 1;
        for (const std::size_t q : group.parameters)
            parameters_[q].data = alone ? group.joined : take(parameters_[q].values * 2, gathering);
        if (alone) group.joined = nullptr;
    }
    if (--group.waiting == 0 && group.joined != nullptr) give(group.joined);
}

void zero3_run::fetch(const std::string& module) {
    if (!traced_) trace_.push_back(module);
    const std::vector<std::size_t>& own = modules_[module];
    gather(own);
    for (const std::size_t p : own) {
        parameters_[p].readers.insert(module);
        if (parameters_[p].on_its_way != nullptr) wait_for(parameters_[p]);
    }
    if (traced_) {
        std::size_t not_fetched = 0;
        for (const std::size_t p : own) not_fetched += parameters_[p].fetched_for < at_;
        for (; not_fetched > 0; --not_fetched) {
            parameters_[queue_.front().parameter].fetched_for = queue_.front().step;
            queue_.pop_front();
        }
        prefetch();
    }
    ++at_;
}

void zero3_run::prefetch() {
    const std::int64_t most = std::min(most_live - live_, prefetched);
    std::vector<std::size_t> next;
    for (std::int64_t values = 0; !queue_.empty() && values < most; queue_.pop_front()) {
        const use& u = queue_.front();
        parameter& p = parameters_[u.parameter];
        p.fetched_for = std::max(p.fetched_for, u.step);
        if (!p.absent() || std::find(next.begin(), next.end(), u.parameter) != next.end()) continue;
        next.push_back(u.parameter);
        values += p.values;
    }
    gather(next);
}

void zero3_run::release(const std::string& module) {
    std::set<std::size_t> released{modules_[module].begin(), modules_[module].end()};
    if (traced_) {
        std::erase_if(released, [&](std::size_t p) { return parameters_[p].fetched_for > at_; });
        std::int64_t passed = 0;
        for (auto m = static_cast<std::size_t>(at_); m < trace_.size() && passed < reused_within; ++m)
            for (const std::size_t p : modules_[trace_[m]]) released.erase(p), passed += parameters_[p].values;
    }
    for (const std::size_t p : modules_[module]) {
        parameters_[p].readers.erase(module);
        if (released.contains(p)) release(parameters_[p]);
    }
}

void zero3_run::reset() {
    traced_ = !trace_.empty();
    for (parameter& p : parameters_) {
        if (p.on_its_way != nullptr) wait_for(p);
        p.readers.clear();
        release(p);
        p.fetched_for = -1;
    }
    wait_for_gpu();
    groups_.clear();
    queue_.clear();
    for (std::size_t m = 0; traced_ && m < trace_.size(); ++m)
        for (const std::size_t p : modules_[trace_[m]]) queue_.push_back({p, static_cast<std::int64_t>(m)});
    at_ = live_ = 0;
}

void zero3_run::add_gradient(std::size_t which, block* gradient) {
    const std::int64_t values = parameters_[which].values;
    if (in_bucket_ + values > bucket_size && in_bucket_ > 0) reduce();
    if (in_bucket_ + values <= bucket_size) give_later(std::exchange(gradient, nullptr));
    bucket_.emplace_back(which, gradient);
    in_bucket_ += values;
}

void zero3_run::reduce() {
    if (static_cast<std::int64_t>(reduced_.size()) >= llmres::detail::reductions_under_way) {
        wait_for(reduced_.front());
        reduced_.pop_front();
    }
    reduced_.push_back(launched_);
    block* joined = bucket_.size() > 1 ? take(in_bucket_ * 2, reducing) : nullptr;
    for (const auto& [which, gradient] : bucket_) {
        const std::int64_t part = parameters_[which].values / ranks;
        block* back = take(part * 2, reducing);
        give(take(part * 8, reducing));  // its norm in fp64
        give(take(part * 4, reducing));  // and itself in fp32
        give(back);
        if (gradient != nullptr) give_later(gradient);
    }
    if (joined != nullptr) give(joined);
    bucket_.clear();
    in_bucket_ = 0;
}

zero3_run::kept zero3_run::forward(std::int64_t layer, bool keeps) {
    const std::string at = std::to_string(layer) + ".";
    kept t{};
    fetch(at + "layer");
    t.normed = output_of(at + "norm1", is_.hidden);
    fetch(at + "attention");
    t.q = output_of(at + "q", is_.hidden);
    t.k = output_of(at + "k", is_.kv_width);
    t.v = output_of(at + "v", is_.kv_width);
    wait_in_attention();
    t.attention = stream_tensor(is_.hidden);
    t.statistics = take(tokens_ * is_.hidden / 128 * 4);
    block* projected = output_of(at + "o", is_.hidden);
    if (!keeps) give(t.q, t.k, t.v, t.attention, t.statistics);
    release(at + "attention");
    if (!keeps) give(t.normed);
    t.middle = stream_tensor(is_.hidden);
    give(projected);
    t.normed_again = output_of(at + "norm2", is_.hidden);
    fetch(at + "mlp");
    t.gate = output_of(at + "gate", is_.width);
    t.up = output_of(at + "up", is_.width);
    t.product = stream_tensor(is_.width);
    if (!keeps) give(t.gate, t.up);
    fetch(at + "down");  // recomputation ends here: nothing that comes later is saved
    return t;
}

/// A layer whose input alone is kept: its output.
block* zero3_run::checkpointed(std::int64_t layer) {
    const std::string at = std::to_string(layer) + ".";
    const kept t = forward(layer, false);
    block* down = stream_tensor(is_.hidden);
    release(at + "down");
    give(t.product);
    release(at + "mlp");
    give(t.normed_again);
    block* out = stream_tensor(is_.hidden);
    give(down, t.middle);
    release(at + "layer");
    return out;
}

block* zero3_run::attention_backward(const std::string& at, kept& k) {
    const auto product = [&](const std::string& name, block* gradient) {
        fetch(at + name);
        gradient_of(at + name);
        block* made = stream_tensor(is_.hidden);
        if (gradient != nullptr) give(gradient);
        release(at + name);
        return made;
    };
    fetch(at + "attention");
    block* output = product("o", nullptr);
    block *dq = stream_tensor(is_.hidden), *dk = stream_tensor(is_.kv_width), *dv = stream_tensor(is_.kv_width);
    block *sum_q = stream_tensor(is_.hidden * 2), *sum_k = stream_tensor(is_.kv_width * 2);  // in fp32
    block* sum_v = stream_tensor(is_.kv_width * 2);
    give(sum_q, sum_k, sum_v, output, k.attention, k.statistics, k.q, k.k, k.v);
    block *by_v = product("v", dv), *by_k = product("k", dk);
    block* both = stream_tensor(is_.hidden);
    give(by_v, by_k);
    block* by_q = product("q", dq);
    block* all = stream_tensor(is_.hidden);
    give(both, by_q, k.normed);
    release(at + "attention");
    fetch(at + "norm1");
    release(at + "norm1");
    return all;
}

/// The gradient of a layer's input.
block* zero3_run::backward(std::int64_t layer, block* input, block* gradient) {
    const std::string at = std::to_string(layer) + ".";
    for (const char* module : {"layer", "mlp", "down"}) fetch(at + module);
    kept k = forward(layer, true);
    block* weight = take(is_.width * is_.hidden * 2);
    block* product = stream_tensor(is_.width);
    give(k.product);
    add_gradient(modules_[at + "down"][0], weight);
    release(at + "down");
    give(product);  // the gradients of gate and up are written over them
    const auto half = [&](const std::string& name, block* saved) {
        fetch(at + name);
        block* own = take(is_.width * is_.hidden * 2);
        block* made = stream_tensor(is_.hidden);
        give(saved);
        add_gradient(modules_[at + name][0], own);
        release(at + name);
        return made;
    };
    block *by_up = half("up", k.up), *by_gate = half("gate", k.gate);
    block* both = stream_tensor(is_.hidden);
    give(by_up, by_gate, k.normed_again);
    release(at + "mlp");
    fetch(at + "norm2");
    give(k.middle);
    release(at + "norm2");
    block* middle = stream_tensor(is_.hidden);
    give(both, gradient);
    block* attention = attention_backward(at, k);
    block* out = stream_tensor(is_.hidden);
    give(attention, middle);
    release(at + "layer");
    give(input);
    return out;
}

/// Liger's fused loss (fused_linear_cross_entropy.py). In the first step it finds the head's weight ungathered, and
/// gathers it where it stands.
void zero3_run::loss(block*& input_gradient, block*& head_gradient) {
    wait_for_gpu();  // total_n_non_ignore is an item()
    const std::int64_t table = is_.vocabulary * is_.hidden;
    if (!traced_) {
        modules_["top"] = {head_};
        parameters_[head_].data = take(table * 2);
        parameters_[head_].readers.insert("top");
        live_ += table;
    }
    const std::int64_t parts = (is_.vocabulary + is_.hidden - 1) / is_.hidden;
    std::int64_t rows = 1;
    while (rows < (tokens_ + parts - 1) / parts) rows *= 2;
    input_gradient = stream_tensor(is_.hidden);
    head_gradient = take(table * 2);
    block* last = nullptr;
    for (std::int64_t row = 0; row < tokens_; row += rows) {
        block* logits = take(rows * is_.vocabulary * 2);
        if (last != nullptr) give(last);
        last = logits;
        give(take(rows * is_.hidden * 2));
        block *product = take(table * 2), *widened = take(table * 4);
        give(product, widened);
    }
    give(last);
    release("top");
}

void zero3_run::step() {
    reset();
    fetch("top");
    fetch("model");
    block* x = output_of("embedding", is_.hidden);
    fetch("positions");
    std::vector<block*> inputs;
    for (std::int64_t l = 0; l < is_.layers; ++l) {
        inputs.push_back(x);
        x = checkpointed(l);
    }
    block* normed = output_of("norm", is_.hidden);
    release("model");
    block *gradient = nullptr, *head = nullptr;
    loss(gradient, head);
    fetch("top");
    wait_for_gpu();  // the loss asks whether its own gradient is one (torch.equal)
    add_gradient(head_, head);
    release("top");
    fetch("model");
    fetch("norm");
    give(normed);
    gradient_of("norm");
    release("norm");
    release("model");
    give(x);
    for (std::int64_t l = is_.layers; l-- > 0;) gradient = backward(l, inputs[static_cast<std::size_t>(l)], gradient);
    fetch("embedding");
    gradient_of("embedding");
    release("embedding");
    give(gradient);
    reduce();
    wait_for_gpu();
}

using namespace llmres;

/// The same as a job.
job planned(const shape& s, std::int64_t length, std::int64_t rows = 1) {
    layer l{};
    l.attention = {.heads = static_cast<std::int32_t>(s.hidden / 128),
                   .kv_heads = static_cast<std::int32_t>(s.kv_width / 128),
                   .head_dim = 128};
    l.feed_forward = {.kind = feed_forward_kind::gated, .width = s.width};
    model llama{.name = "llama", .vocabulary = s.vocabulary, .hidden = s.hidden};
    llama.layers.append(static_cast<std::int32_t>(s.layers), l);
    job j{.model = llama, .task = task::finetuning, .weights = bf16, .compute = bf16};
    j.sequence = tokens(length / rows);
    j.micro_batch = rows;
    j.global_batch = 8 * rows;
    j.attention = attention_kernel::flash;
    j.recompute = recompute::full;
    j.master_weights = j.optimizer_states = fp32;
    j.offload.optimizer = offload_place::host;
    j.runtime = runtimes::deepspeed;
    j.runtime.kernels.norm = norm_code::fused;
    j.runtime.kernels.gate = gate_code::in_place;
    j.runtime.kernels.loss.code = loss_code::fused_linear;
    j.runtime.sharding.deepspeed.bucket_size_known = true;
    return j;
}

double gib_reserved(const shape& s, std::int64_t length, host how) {
    zero3_run run{s, length, how};
    for (int i = 0; i < 3; ++i) run.step();
    return bytes(run.reserved()).in(gib);
}

}  // namespace

TEST_CASE("DeepSpeed's ZeRO 3 reserves what the allocator's rules with its streams do, within its bounds") {
    int runs = 0;
    double error = 0;
    for (const shape& s :
         {shape{4096, 32, 14336, 128256, 1024}, shape{4096, 32, 11008, 32000, 4096},
          shape{2048, 24, 5504, 151936, 2048}, shape{5120, 40, 13824, 32000, 5120}, shape{3072, 28, 8192, 128256, 1024},
          shape{3584, 28, 18944, 152064, 512}, shape{2304, 40, 9216, 49152, 768}, shape{2560, 36, 9728, 151936, 1024}})
        for (const std::int64_t length : {4096, 16384, 65536}) {
            const interval<byte_count> plan = training_memory(planned(s, length), {.data = 8, .zero = 3}).reserved;
            const double most = gib_reserved(s, length, host::is_ahead), least = gib_reserved(s, length, host::waits);
            INFO(s.hidden, " ", s.width, " ", s.vocabulary, ", ", length, " tokens: ", least, " to ", most, " GiB");
            CAPTURE(plan.low.in(gib));
            CAPTURE(plan.expected.in(gib));
            CAPTURE(plan.high.in(gib));
            CHECK(plan.low.in(gib) <= std::min(least, most));
            CHECK(plan.high.in(gib) >= std::max(least, most));
            CHECK(plan.expected.in(gib) == doctest::Approx(most).epsilon(0.16));
            error += std::fabs(plan.expected.in(gib) / most - 1);
            ++runs;
        }
    CHECK(error / runs < 0.065);
}

TEST_CASE("DeepSpeed's ZeRO 3 reserves at most what a host that never waits lets it, within its bounds") {
    for (const shape& s : {shape{8192, 80, 28672, 32000, 1024}, shape{8192, 120, 28672, 128256, 1024},
                           shape{4096, 32, 14336, 128256, 1024}, shape{2304, 40, 9216, 49152, 768}})
        for (const std::int64_t length : {4096, 16384}) {
            const interval<byte_count> plan = training_memory(planned(s, length, 2), {.data = 8, .zero = 3}).reserved;
            const double most = gib_reserved(s, length, host::never_waits);
            INFO(s.hidden, " ", s.layers, ", ", length, " tokens: ", most, " GiB");
            CAPTURE(plan.low.in(gib));
            CAPTURE(plan.expected.in(gib));
            CAPTURE(plan.high.in(gib));
            CHECK(plan.low.in(gib) <= most);
            CHECK(plan.high.in(gib) >= most);
            CHECK(plan.high.in(gib) <= most * 1.25);
        }
}
