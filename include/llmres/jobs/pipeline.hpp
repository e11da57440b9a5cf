// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/text.hpp>
#include <string_view>

/// How does a pipeline run? The order of its passes, and how its layers are partitioned into stages.
namespace llmres::inline v0 {

/// The order in which a stage computes its micro-batches, and so how many of them it holds at once.
enum class pipeline_schedule : std::uint8_t {
    /// arXiv 2104.04473; interleaved where a stage holds several chunks of layers.
    one_forward_one_backward,
    /// arXiv 1811.06965: the forward passes of all micro-batches come before the first backward pass.
    gpipe,
    /// arXiv 2401.10241 section 2.1: gradients of weights are deferred into the bubble, and every stage has as many
    /// micro-batches in flight as the first has under 1F1B.
    zb_h1,
    /// arXiv 2401.10241 section 2.2: gradients of weights are deferred, 2 p - 1 micro-batches are in flight, and there
    /// is no bubble.
    zb_h2,
    /// arXiv 2401.10241 section 6: a stage holds two chunks in the shape of a V, so that the first stage has embedding
    /// and head; p micro-batches are in flight.
    zb_v,
};
/// The names of the schedules, in their order.
template <>
inline constexpr std::array<std::string_view, 5> names_of<pipeline_schedule>{"1f1b", "gpipe", "zb_h1", "zb_h2", "zb_v"};

/// Whether gradients of weights are deferred: computed apart from those of inputs.
constexpr bool defers_weight_gradients(pipeline_schedule s) { return s >= pipeline_schedule::zb_h1; }

/// Layers of each chunk of a pipeline, in the order of the model: chunk c is on stage c modulo `pipeline`.
struct stage_list {
    static constexpr std::size_t max_chunks = 128;  ///< chunks at most

    std::array<std::uint8_t, max_chunks> layers{};  ///< layers of each chunk
    std::uint8_t chunks = 0;                        ///< chunks in use; 0: layers are partitioned evenly
    std::uint8_t prediction = 0;                    ///< 1 + the chunk with the prediction layers; 0: the last

    friend constexpr bool operator==(const stage_list&, const stage_list&) = default;
};

/// Reads chunks separated by '|', each a number of layers or letters as in Megatron-Core's
/// pipeline-model-parallel-layout (pipeline_parallel_layer_layout.py): E embedding, t layer, m layer that predicts
/// further tokens, L loss; x*n and (...)*n repeat, commas mean nothing. "20|22|22|16", "Et*3|(tt|)*29m|L". Errors: a
/// letter that is none of these, a number or bracket without its end, more than 128 chunks, or 255 layers in one.
constexpr result<stage_list> read_stages(std::string_view letters, std::string_view field = "layout.stages");

/// The layers of each GPU where they are split by ratios, "3,1", as llama.cpp's --tensor-split does: the head counts as
/// a layer behind the last, and layer i of n lies on the first GPU whose ratio, with those before it, is more than
/// i / (n + 1) of their sum (llama-model.cpp: load_tensors). Errors: what is no list of up to 128 ratios, of which one
/// is more than 0; more than 255 layers on a GPU.
constexpr result<stage_list> split_by_ratios(std::string_view ratios, std::int32_t layers,
                                             std::string_view field = "layout.tensor_split");

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Unfolds the letters of a layout into chunks.
struct stage_reader {
    stage_list list{.chunks = 1};
    std::string_view expected{};  ///< what was expected, once something else was read

    constexpr bool read(std::string_view letters) {
        for (std::size_t i = 0; i < letters.size();) {
            if (letters[i] == ',') {
                ++i;
                continue;
            }
            if (is_digit(letters[i])) {
                const std::int32_t layers = number(letters, i);
                if (!add(layers)) return false;
                continue;
            }
            std::string_view repeated = letters.substr(i, 1);
            ++i;
            if (repeated == "(") {
                const std::size_t end = letters.find(')', i);
                if (end == std::string_view::npos || end == i) return wanted("brackets around what is repeated");
                repeated = letters.substr(i, end - i);
                i = end + 1;
                if (i >= letters.size() || letters[i] != '*') return wanted("(...)*n");
                if (!times(letters, i, [&] { return read(repeated); })) return false;
                continue;
            }
            const char letter = repeated[0];
            if (!(i < letters.size() && letters[i] == '*' ? times(
                                                                letters, i, [&] { return one(letter); })
                                                          : one(letter)))
                return false;
        }
        return true;
    }

private:
    static constexpr std::int32_t number(std::string_view letters, std::size_t& i) {
        std::int32_t value = 0;
        for (; i < letters.size() && is_digit(letters[i]); ++i)
            if (value < 100'000) value = value * 10 + (letters[i] - '0');
        return value;
    }
    constexpr bool wanted(std::string_view what) {
        expected = what;
        return false;
    }
    template <class Each>
    constexpr bool times(std::string_view letters, std::size_t& i, Each&& each) {
        ++i;  // the star
        if (i >= letters.size() || !is_digit(letters[i])) return wanted("a number after *");
        const std::int32_t n = number(letters, i);
        if (n > 4096) return wanted("at most 4096 repetitions");
        for (std::int32_t k = 0; k < n; ++k)
            if (!each()) return false;
        return true;
    }
    constexpr bool add(std::int32_t more) {
        std::uint8_t& layers = list.layers[list.chunks - 1u];
        if (layers + more > 255) return wanted("at most 255 layers in a chunk");
        layers = static_cast<std::uint8_t>(layers + more);
        return true;
    }
    constexpr bool one(char letter) {
        switch (letter) {
            case 'E':
            case 'L': return true;
            case 't': return add(1);
            case 'm': list.prediction = list.chunks; return true;
            case '|':
                if (list.chunks == stage_list::max_chunks) return wanted("at most 128 chunks");
                ++list.chunks;
                return true;
            default: return wanted("chunks separated by |, of numbers or of the letters E, t, m and L");
        }
    }
};

/// Ratios of a split, summed up: each with those before it. llama.cpp computes with floats.
struct ratio_reader {
    std::array<float, stage_list::max_chunks> sums{};
    std::size_t count = 0;

    constexpr bool read(std::string_view ratios) {
        float sum = 0;
        while (count < sums.size()) {
            const std::size_t end = ratios.find_first_of(",/");
            const maybe<float> one = number(ratios.substr(0, end));
            if (!one) return false;
            sum += *one;
            sums[count++] = sum;
            if (end == std::string_view::npos) return sum > 0;
            ratios.remove_prefix(end + 1);
        }
        return false;
    }
    constexpr std::size_t place(std::int32_t layer, std::int32_t all) const {
        const float part = static_cast<float>(layer) / static_cast<float>(all);
        std::size_t gpu = 0;
        while (gpu + 1 < count && !(part < sums[gpu] / sums[count - 1])) ++gpu;
        return gpu;
    }

private:
    /// A decimal number of at most nine digits.
    static constexpr maybe<float> number(std::string_view digits) {
        double value = 0, unit = 1;
        bool behind_point = false;
        std::size_t seen = 0;
        for (const char c : digits) {
            if (c == '.' && !behind_point) {
                behind_point = true;
                continue;
            }
            if (!is_digit(c) || ++seen > 9) return {};
            value = value * 10 + (c - '0');
            if (behind_point) unit *= 10;
        }
        return seen > 0 ? maybe<float>{static_cast<float>(value / unit)} : maybe<float>{};
    }
};

}  // namespace detail

constexpr result<stage_list> split_by_ratios(std::string_view ratios, std::int32_t layers, std::string_view field) {
    detail::ratio_reader split;
    if (!split.read(ratios))
        return refused(error_code::malformed, field, ratios, "up to 128 ratios that are not all 0, such as 3,1");
    stage_list list{.chunks = static_cast<std::uint8_t>(split.count)};
    for (std::int32_t i = 0; i < layers; ++i) {
        std::uint8_t& here = list.layers[split.place(i, layers + 1)];
        if (here == 255) return refused(error_code::out_of_range, field, ratios, "at most 255 layers on a GPU");
        ++here;
    }
    return list;
}

constexpr result<stage_list> read_stages(std::string_view letters, std::string_view field) {
    detail::stage_reader reader;
    if (reader.read(letters)) return reader.list;
    return refused(error_code::malformed, field, letters, reader.expected);
}

}  // namespace llmres::inline v0
