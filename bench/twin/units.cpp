// SPDX-License-Identifier: MIT
// The library's own: training_state::add() and priced_pass::add().
#include "twin.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/memory/training_state.hpp>
#include <llmres/time/roofline.hpp>

using namespace llmres;

namespace {

training_state state_of(std::int64_t n) {
    training_state s;
    s.weights = bytes(n), s.adapter = bytes(2 * n), s.gathered = bytes(3 * n), s.largest = bytes(n % 7);
    s.dummies = bytes(n % 5), s.host = bytes(n), s.nvme = bytes(n);
    s.gradients.kept = bytes(n), s.gradients.whole = bytes(n);
    s.optimizer.states = bytes(6 * n), s.optimizer.temporaries = bytes(n), s.optimizer.largest_step = bytes(n % 3);
    s.casts.all = bytes(n), s.casts.cached = bytes(n);
    return s;
}

detail::priced_pass pass_of(std::int64_t n) {
    const duration t = approx(seconds(1)) * static_cast<double>(n);
    detail::priced_pass p;
    p.compute = t, p.memory = t, p.tensor = t, p.expert = t, p.context = t, p.attention = t, p.floors = t;
    p.at_peak = t, p.layers = 1;
    p.flops = flops(1) * static_cast<double>(n);
    return p;
}

[[gnu::noinline, gnu::flatten]] void add_state(training_state& to, const training_state& other, std::int64_t copies) {
    to.add(other, copies);
}
[[gnu::noinline, gnu::flatten]] void add_pass(detail::priced_pass& to, const detail::priced_pass& other, double times) {
    to.add(other, times);
}

}  // namespace

double add_up(std::int64_t calls, bool passes_too) {
    std::array<training_state, 4> states;
    std::array<detail::priced_pass, 4> passes;
    for (std::size_t i = 0; i < 4; ++i) {
        states[i] = state_of(calls % 11 + static_cast<std::int64_t>(i));
        passes[i] = pass_of(calls % 11 + static_cast<std::int64_t>(i));
    }
    training_state state;
    detail::priced_pass pass;
    for (std::int64_t i = 0; i < calls; ++i) {
        add_state(state, states[static_cast<std::size_t>(i % 4)], i % 3);
        if (passes_too) add_pass(pass, passes[static_cast<std::size_t>(i % 4)], 0.5);
    }
    return static_cast<double>((state.weights + state.casts.cached + state.largest).in(bytes)) +
           (pass.compute + pass.floors).in(seconds) + pass.flops.in(flops);
}
