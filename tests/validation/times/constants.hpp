// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <llmres/hardware/collectives.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/io/json/runtime/fields.hpp>
#include <llmres/runtimes/all.hpp>
#include <llmres/time/kernels.hpp>
#include <llmres/time/roofline.hpp>
#include <llmres/time/steps/serving.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Every number of times that is no datasheet's, no count of the model's and no setting of a runtime, read from the
/// values that the library computes with: a field that is added here or there does not compile, or is listed.
namespace times {

using namespace llmres;

/// The numbers of a constant: one, or the low, expected and high end of an interval, of which equal ones are one.
/// Values that several runtimes share are one.
using constant_values = std::set<std::vector<double>>;

class fitted_constants {
public:
    fitted_constants() {
        add_fields(
            "kernels", default_kernels,
            std::array{"narrow_arithmetic", "fp4_arithmetic", "product", "cast", "attention", "attention_backward",
                       "attention_traffic", "attention_floor", "experts", "experts_tokens", "experts_floor",
                       "blackwell_experts_floor", "weight_gradients", "training", "elementwise", "elementwise_floor"});
        add_fields("collectives", default_collectives,
                   std::array{"call", "hop", "own", "ring", "all_to_all", "bus", "pipelined", "fabric"});
        add_fields("packed", default_packed, std::array{"simple", "marlin", "lock"});
        add_fields("ggml", default_ggml, std::array{"vector_weights", "vector_flops", "scaled_flops"});
        add_fields("row_split", default_row_split, std::array{"part"});
        add_intervals("efficiency", default_efficiency,
                      std::array{"arithmetic", "bandwidth", "link", "launch", "overlap"});
        add("ungraphed_floors", {ungraphed_floors.low, ungraphed_floors.expected, ungraphed_floors.high});
        add_intervals("load", detail::default_load, std::array{"prompts", "queue"});
        add("launches.triton_launches", {detail::triton_launches});
        for (const char* architecture : {"Blackwell", "Hopper", "Ampere"}) {
            gpu card;
            card.architecture = architecture;
            add("kernels.picojoules_per_flop", {picojoules_per_flop(card)});
        }
        // FlashAttention 2 by architecture; version 1 relative to it.
        const attention_reach first = reach_of(attention_code::flash_1, gpus::a100_sxm4_80gb);
        add("kernels.attention_reach, version 1", {first.forward});
        add("kernels.attention_reach, version 1", {first.backward});
        for (const gpu* card : {&gpus::a100_sxm4_80gb, &gpus::h100_sxm5_80gb, &gpus::b200_sxm_180gb})
            add("kernels.attention_reach, version 2", {reach_of(attention_code::flash_2, *card).forward});
        for (const runtime* r : runtimes::all) {
            add_launches(r->launches);
            const interval<duration>& more = r->pipeline.layer_of_rank;
            add("pipeline.layer_of_rank", {more.low.in(seconds), more.expected.in(seconds), more.high.in(seconds)});
        }
    }

    const std::map<std::string, constant_values>& all() const { return values_; }
    int numbers() const {
        int sum = 0;
        for (const auto& [name, values] : values_)
            for (const std::vector<double>& one : values) sum += static_cast<int>(one.size());
        return sum;
    }

private:
    void add(const std::string& name, const std::vector<double>& numbers) {
        std::vector<double> different;
        for (const double n : numbers)
            if (different.empty() || different.back() != n) different.push_back(n);
        if (different.size() == 1 && (different[0] == 0 || different[0] == 1)) return;  // nothing is added or changed
        values_[name].insert(different);
    }
    /// The fields of a struct of numbers and times.
    template <class Part, std::size_t Count>
    void add_fields(const std::string& part, const Part& of_part, const std::array<const char*, Count>& names) {
        const auto numbers = std::bit_cast<std::array<double, Count>>(of_part);
        for (std::size_t i = 0; i < Count; ++i) add(part + "." + names[i], {numbers[i]});
    }
    template <class Part, std::size_t Count>
    void add_intervals(const std::string& part, const Part& of_part, const std::array<const char*, Count>& names) {
        const auto ends = std::bit_cast<std::array<interval<double>, Count>>(of_part);
        for (std::size_t i = 0; i < Count; ++i)
            add(part + "." + names[i], {ends[i].low, ends[i].expected, ends[i].high});
    }
    void add_launches(const runtime_launches& by) {
        detail::each_field(by, [&](const detail::profile_field& field, const auto& member) {
            using value = std::remove_cvref_t<decltype(member)>;
            // (The CPU's time of a layer is one constant, whether CUDA graphs serve elsewhere or not.)
            const std::string name = "launches." + std::string{field.name == "eager_layer" ? "layer" : field.name};
            if constexpr (std::is_same_v<value, double>)
                add(name, {member});
            else if constexpr (std::is_same_v<value, interval<double>>)
                add(name, {member.low, member.expected, member.high});
            else if constexpr (std::is_same_v<value, interval<duration>>)
                add(name, {member.low.in(seconds), member.expected.in(seconds), member.high.in(seconds)});
        });
    }

    std::map<std::string, constant_values> values_{};
};

}  // namespace times
