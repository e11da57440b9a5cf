// SPDX-License-Identifier: MIT
// The same with bare numbers, whose sums and products saturate as the library's do.
#include "twin.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace {

using number = std::int64_t;

number end_on_side_of(number sign) {
    return sign < 0 ? std::numeric_limits<number>::min() : std::numeric_limits<number>::max();
}
number sum(number a, number b) {
    number r = 0;
    if (__builtin_add_overflow(a, b, &r)) [[unlikely]]
        return end_on_side_of(a);
    return r;
}
number product(number a, number b) {
    number r = 0;
    if (__builtin_mul_overflow(a, b, &r)) [[unlikely]]
        return end_on_side_of(a ^ b);
    return r;
}

struct gradient_numbers {
    number kept = 0, whole = 0, feed_forward = 0, down = 0;
};
struct optimizer_numbers {
    number states = 0, temporaries = 0, largest_step = 0, first_step = 0, last_step = 0, first_projection = 0;
};
struct cast_numbers {
    number all = 0, feed_forward = 0, down = 0, cached = 0;
};
struct state_numbers {
    number weights = 0, adapter = 0, gathered = 0, largest = 0, dummies = 0, host = 0, nvme = 0;
    gradient_numbers gradients{};
    optimizer_numbers optimizer{};
    cast_numbers casts{};
    number other = 0, down = 0;

    state_numbers& add(const state_numbers& other_one, number copies) {
        weights = sum(weights, product(other_one.weights, copies));
        adapter = sum(adapter, product(other_one.adapter, copies));
        gathered = sum(gathered, product(other_one.gathered, copies));
        host = sum(host, product(other_one.host, copies));
        nvme = sum(nvme, product(other_one.nvme, copies));
        gradients.kept = sum(gradients.kept, product(other_one.gradients.kept, copies));
        gradients.whole = sum(gradients.whole, product(other_one.gradients.whole, copies));
        optimizer.states = sum(optimizer.states, product(other_one.optimizer.states, copies));
        optimizer.temporaries = sum(optimizer.temporaries, product(other_one.optimizer.temporaries, copies));
        casts.all = sum(casts.all, product(other_one.casts.all, copies));
        casts.cached = sum(casts.cached, product(other_one.casts.cached, copies));
        if (other_one.dummies > dummies) dummies = other_one.dummies;
        if (other_one.largest > largest) largest = other_one.largest;
        if (other_one.optimizer.largest_step > optimizer.largest_step)
            optimizer.largest_step = other_one.optimizer.largest_step;
        return *this;
    }
};
struct pass_numbers {
    double compute = 0, memory = 0, tensor = 0, expert = 0, context = 0, attention = 0, floors = 0, at_peak = 0;
    double layers = 0, flops = 0;

    void add(pass_numbers other, double times) {
        compute += other.compute * times;
        memory += other.memory * times;
        tensor += other.tensor * times;
        expert += other.expert * times;
        context += other.context * times;
        attention += other.attention * times;
        floors += other.floors * times;
        at_peak += other.at_peak * times;
        layers += other.layers * times;
        flops += other.flops * times;
    }
};

state_numbers state_of(number n) {
    state_numbers s;
    s.weights = n, s.adapter = 2 * n, s.gathered = 3 * n, s.largest = n % 7, s.dummies = n % 5, s.host = n, s.nvme = n;
    s.gradients.kept = n, s.gradients.whole = n;
    s.optimizer.states = 6 * n, s.optimizer.temporaries = n, s.optimizer.largest_step = n % 3;
    s.casts.all = n, s.casts.cached = n;
    return s;
}

pass_numbers pass_of(number n) {
    const auto t = static_cast<double>(n);
    return {t, t, t, t, t, t, t, t, 1, t};
}

[[gnu::noinline, gnu::flatten]] void add_state(state_numbers& to, const state_numbers& other, number copies) {
    to.add(other, copies);
}
[[gnu::noinline, gnu::flatten]] void add_pass(pass_numbers& to, const pass_numbers& other, double times) {
    to.add(other, times);
}

}  // namespace

double add_up(std::int64_t calls, bool passes_too) {
    std::array<state_numbers, 4> states;
    std::array<pass_numbers, 4> passes;
    for (std::size_t i = 0; i < 4; ++i) {
        states[i] = state_of(calls % 11 + static_cast<number>(i));
        passes[i] = pass_of(calls % 11 + static_cast<number>(i));
    }
    state_numbers state;
    pass_numbers pass;
    for (number i = 0; i < calls; ++i) {
        add_state(state, states[static_cast<std::size_t>(i % 4)], i % 3);
        if (passes_too) add_pass(pass, passes[static_cast<std::size_t>(i % 4)], 0.5);
    }
    return static_cast<double>(sum(sum(state.weights, state.casts.cached), state.largest)) +
           (pass.compute + pass.floors) + pass.flops;
}
