// SPDX-License-Identifier: MIT
// Which weights the lists of a quantization_config mean: entries of every form, held against the names that modules
// have, which the entry contains (a name), or matches (a glob, a regular expression).
#include <doctest/doctest.h>

#include "reading.hpp"

#include <cstdint>
#include <llmres/io/hf/quantization/config.hpp>
#include <llmres/models/weight_formats.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

using namespace llmres;
using namespace llmres::detail;
using nlohmann::json;

namespace {

constexpr int layers = 13, recurring = 12, routed_experts = 4;

/// A dense layer, eleven with routed and shared experts, one of them with a recurrence, and one that predicts ahead.
model mixture() { return quantization_tests::blank(layers); }

/// A matrix of a layer; `layer` is `layers` for the one that predicts ahead.
struct matrix {
    int layer;
    int sort;  ///< 0: mixers, 1: dense feed-forwards and shared experts, 2: routed experts
    weight_role role;
    std::vector<std::string> names;  ///< of the modules that it is made of: several experts
};

std::vector<matrix> matrices() {
    using enum weight_role;
    const struct {
        weight_role role;
        const char* name;
    } attention[] = {{q_proj, "q_proj"}, {k_proj, "k_proj"}, {v_proj, "v_proj"}, {o_proj, "o_proj"}},
      recurrence[] = {{in_proj, "in_proj"}, {out_proj, "out_proj"}},
      feed_forward[] = {{gate_proj, "gate_proj"}, {up_proj, "up_proj"}, {down_proj, "down_proj"}};
    std::vector<matrix> all;
    for (int i = 0; i <= layers; ++i) {
        const std::string layer = i < layers ? "model.layers." + std::to_string(i) + "." : "mtp.layers.0.";
        if (i == recurring)
            for (const auto& p : recurrence) all.push_back({i, 0, p.role, {layer + "mamba." + p.name}});
        else
            for (const auto& p : attention) all.push_back({i, 0, p.role, {layer + "self_attn." + p.name}});
        for (const auto& p : feed_forward) {
            all.push_back({i, 1, p.role, {layer + (i == 0 ? "mlp." : "mlp.shared_expert.") + p.name}});
            if (i == 0) continue;
            matrix routed{i, 2, p.role, {}};
            for (int e = 0; e < routed_experts; ++e)
                routed.names.push_back(layer + "mlp.experts." + std::to_string(e) + "." + p.name);
            all.push_back(routed);
        }
    }
    return all;
}

/// Whether an entry means the module: the expression (`re:`) or glob matches its name, or its name contains the entry.
bool means(const std::string& entry, const std::string& name) {
    std::string expression;
    if (entry.starts_with("re:")) {
        expression = entry.substr(3);
    } else {
        if (entry.find('*') == std::string::npos) return name.find(entry) != std::string::npos;
        for (const char c : entry) expression += c == '*' ? ".*" : c == '.' ? "\\." : std::string(1, c);
    }
    return std::regex_match(name, std::regex{expression});
}

/// The same of a module of the model, of which the layer that predicts ahead has two names: files number it on behind
/// the last, or call it the first of its own.
bool names(const std::string& entry, const std::string& name) {
    const std::string ahead = "mtp.layers.0.";
    const bool numbered_on = name.starts_with(ahead) &&
                             means(entry, "model.layers." + std::to_string(layers) + "." + name.substr(ahead.size()));
    return numbered_on || means(entry, name);
}

/// The format of a matrix in a model that was read.
precision format_in(const model& m, const matrix& one) {
    precision found{};
    const layer l = one.layer < layers ? m.layers[one.layer] : m.prediction.block;
    for_each_weight(l, m.hidden, [&](const weight& w) {
        const bool same_sort = one.sort == 2 ? w.routed : !w.routed;
        if (w.role == one.role && same_sort && w.rows > 1) found = formats_of(m).of(w);
    });
    return found;
}

/// Holds what a list of modules that are not quantised is read as against what its entries mean by their names.
void hold(const std::vector<std::string>& entries) {
    const std::vector<matrix> all = matrices();
    std::vector<bool> left;  // in 16 bits
    for (const matrix& one : all) {
        std::size_t named = 0;
        for (const std::string& name : one.names)
            for (const std::string& entry : entries)
                if (names(entry, name)) {
                    ++named;
                    break;
                }
        REQUIRE((named == 0 || named == one.names.size()));
        left.push_back(named > 0);
    }
    // A projection that is left in some layers only, beside others of its sort that are not, has no description.
    const auto sort_is_left = [&](const matrix& one) {
        for (std::size_t k = 0; k < all.size(); ++k)
            if (all[k].layer == one.layer && all[k].sort == one.sort && !left[k]) return false;
        return true;
    };
    bool told_apart = false;
    for (std::size_t i = 0; i < all.size(); ++i)
        for (std::size_t k = 0; k < all.size(); ++k)
            told_apart = told_apart || (left[i] && !sort_is_left(all[i]) && !left[k] && all[k].role == all[i].role);
    model m = mixture();
    const json config{{"quant_method", "fp8"}, {"ignore", entries}};
    const status read = read_quantization_config(config, bf16, m);
    CAPTURE(config.dump());
    if (told_apart) {
        CHECK(read.error().field == "quantization_config.ignore");
        CHECK(read.error().code == error_code::unsupported);
        bool named = false;  // the first projection that is told apart
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto role = names_of<weight_role>[static_cast<std::size_t>(all[i].role)];
            const bool wide = left[i] && !sort_is_left(all[i]);
            named = named || (wide && read.error().value.view() == std::string{role} + " of some layers only");
        }
        CHECK(named);
        return;
    }
    REQUIRE_MESSAGE(read, read.error().value.view());
    bool any = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
        CAPTURE(all[i].names[0]);
        CHECK(format_in(m, all[i]) == (left[i] ? bf16 : fp8_tensor));
        any = any || !left[i];
    }
    CHECK(m.weights == (any ? fp8_tensor : bf16));
    CHECK_FALSE(m.mixed.attention);
    CHECK_FALSE(m.mixed.feed_forward);
    CHECK_FALSE(m.mixed.rest);
    CHECK_FALSE(m.mixed.head);
    for (std::size_t i = 0; i < all.size(); ++i)
        CHECK((m.mixed.wide_roles >> static_cast<unsigned>(all[i].role) & 1) <=
              (left[i] || sort_is_left(all[i]) ? 1 : 0));
    CHECK((m.mixed.wide_roles >> static_cast<unsigned>(weight_role::embed_tokens) & 1) == 0);
}

/// Roles that the compiler does not know.
weight_role role_of(int number) { return static_cast<weight_role>(number); }

const std::vector<std::string> parts{"self_attn",
                                     "self_attn.o_proj",
                                     "self_attn.q_proj",
                                     "mamba",
                                     "mamba.in_proj",
                                     "mamba.out_proj",
                                     "mlp",
                                     "mlp.experts",
                                     "mlp.shared_expert",
                                     "mlp.shared_expert.down_proj",
                                     "mlp.gate_proj",
                                     "mlp.down_proj"};

std::string escaped(const std::string& name) { return std::regex_replace(name, std::regex{"\\."}, "\\."); }

}  // namespace

TEST_CASE("a part of all layers is named by itself, as a glob, and as an expression") {
    hold({});
    for (const std::string& part : parts)
        for (const std::string& entry :
             {part, "*" + part + "*", "*." + part + "*", "model.layers.*." + part + "*", "re:.*" + escaped(part) + ".*",
              "re:.*\\." + escaped(part) + ".*", "re:model\\.layers\\..*\\." + escaped(part) + ".*"})
            hold({entry});
    for (const char* projection : {"q_proj", "o_proj", "down_proj", "gate_proj", "up_proj", "in_proj"})
        for (const std::string& entry :
             {std::string{projection}, "*" + std::string{projection}, "re:.*" + std::string{projection} + ".*"})
            hold({entry});
}

TEST_CASE("a set of roles has a bit for each") {
    for (int a = 0; a < 27; ++a)
        for (int b = 0; b < 27; ++b) {
            const std::uint64_t both = quantization::bits(role_of(a), role_of(b));
            CHECK(both == ((std::uint64_t{1} << a) | (std::uint64_t{1} << b)));
        }
}

TEST_CASE("a part of one layer is named with its number, of several in any order") {
    for (const std::string& part : {std::string{"self_attn"}, std::string{"mlp"}, std::string{"mlp.experts"},
                                    std::string{"mlp.shared_expert"}, std::string{"mamba"}})
        for (const int layer : {0, 1, 2, 9, 10, 11, 12}) {
            const std::string before = "model.layers." + std::to_string(layer) + ".";
            for (const std::string& entry :
                 {before + part, before + part + ".*", before + part + "*", "re:" + escaped(before + part) + ".*"})
                hold({entry});
        }
    for (const int layer : {0, 1, 2, 3, 12}) {
        hold({"model.layers." + std::to_string(layer) + ".*"});
        if (layer != 1) hold({"model.layers." + std::to_string(layer) + "*"});  // which begins the number 13, too
    }
    std::vector<std::string> outputs;
    for (int layer = 0; layer < layers; ++layer)
        if (layer != recurring) outputs.push_back("model.layers." + std::to_string(layer) + ".self_attn.o_proj");
    hold(outputs);
    outputs.push_back("mtp.layers.0.self_attn.o_proj");
    hold(outputs);
    std::swap(outputs.front(), outputs.back());
    hold(outputs);
    outputs.pop_back();
    hold(outputs);
    hold({"self_attn", "mlp.shared_expert"});
    hold({"mlp.shared_expert", "self_attn", "mamba", "self_attn"});
    hold({"model.layers.0.mlp", "mlp.experts"});
    hold({"mlp.experts", "model.layers.0.mlp", "self_attn.k_proj"});
    hold({"mtp.layers.0.self_attn", "mtp.layers.0.mlp.shared_expert"});
    hold({"mtp*", "self_attn"});
}

TEST_CASE("an alternative of projections means each of them") {
    for (const char* choices : {"q|k|v|o", "q|k", "o"}) hold({"re:.*self_attn\\.(" + std::string{choices} + ")_proj"});
    hold({"re:.*self_attn\\.(?:q|k|v)_proj"});
    hold({"re:.*(self_attn|mamba).*"});
    hold({"re:.*mlp\\.experts\\..*\\.(gate|up|down)_proj"});
    hold({"re:.*(gate|up)_proj"});
}

TEST_CASE("alternatives stand in one pair of brackets, in a name of 256 letters at most") {
    const auto read_with = [](const std::string& entry, model& m) {
        m = mixture();
        return read_quantization_config({{"quant_method", "fp8"}, {"ignore", {entry}}}, bf16, m);
    };
    model bare, whole;
    for (const char* entry :
         {"mlp.experts.*(gate|up|down)_proj", "experts.*(gate|up|down)_proj", "self_attn.(q|k)_proj"}) {
        REQUIRE(read_with(entry, bare));
        REQUIRE(read_with("re:.*" + std::string{entry}, whole));
        for (const matrix& one : matrices()) CHECK(format_in(bare, one) == format_in(whole, one));
        CHECK(bare.mixed.wide_roles == whole.mixed.wide_roles);
    }
    for (const char* entry :
         {"re:.*((q|k))_proj", "re:.*((q|k)_proj", "re:.*(q|(k))_proj", "re:.*)q(_proj", "re:.*(q_proj"})
        CHECK(read_with(entry, bare).error().value == entry);
    const std::string ending = "self_attn.(q|k)_proj", longest = std::string(256 - ending.size(), 'x') + ending;
    CHECK(read_with(longest, bare));
    CHECK_FALSE(read_with("x" + longest, bare));
}

TEST_CASE("layers behind the last are those that predict ahead, however many they are") {
    for (const int number : {layers, layers + 1, layers + 2}) {
        model m = mixture();
        m.prediction.layers = 3;
        const std::string name = "model.layers." + std::to_string(number) + ".self_attn";
        REQUIRE(read_quantization_config({{"quant_method", "fp8"}, {"ignore", {name}}}, bf16, m));
        CHECK(m.prediction.block.quantised == quantised_part::feed_forward);
        for (int i = 0; i < layers; ++i) CHECK(m.layers[i].quantised == quantised_part::matrices);
    }
}

TEST_CASE("delta attention is called as the attention beside it, where its decay is of low rank") {
    for (const std::int64_t rank : {0, 1, 16}) {
        layer delta;
        delta.recurrent = {.kind = recurrent_kind::delta_net,
                           .heads = 4,
                           .head_dim = 16,
                           .key_heads = 4,
                           .state = 16,
                           .rank = rank,
                           .kernel = 4};
        delta.attention = no_attention;
        delta.feed_forward.width = 128;
        model m{.vocabulary = 100, .hidden = 64};
        m.layers.append(2, delta);
        REQUIRE(read_quantization_config({{"quant_method", "fp8"}, {"ignore", {"self_attn"}}}, bf16, m));
        CHECK(m.layers[0].quantised == (rank > 0 ? quantised_part::dense : quantised_part::matrices));
    }
}

TEST_CASE("a head that is the embedding has no format of its own") {
    for (const bool tied : {false, true}) {
        model m = mixture();
        m.tied_head = tied;
        REQUIRE(read_quantization_config({{"quant_method", "gptq"}, {"bits", 4}, {"lm_head", true}}, bf16, m));
        CHECK(static_cast<bool>(m.mixed.head) == !tied);
    }
}

TEST_CASE("experts that are named one by one are left when all of a layer are, in any order") {
    const auto named = [](int layer, int expert) {
        return "model.layers." + std::to_string(layer) + ".mlp.experts." + std::to_string(expert);
    };
    for (const std::vector<int>& of : {std::vector<int>{1}, {2, 5}, {12}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}) {
        std::vector<std::string> forwards, backwards;
        for (int expert = 0; expert < routed_experts; ++expert)
            for (const int layer : of) {
                forwards.push_back(named(layer, expert));
                backwards.insert(backwards.begin(), named(layer, expert));
            }
        hold(forwards);
        hold(backwards);
        for (std::size_t without = 0; without < forwards.size(); without += 3) {
            std::vector<std::string> fewer = forwards;
            fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(without));
            model m = mixture();
            const status read = read_quantization_config({{"quant_method", "fp8"}, {"ignore", fewer}}, bf16, m);
            CHECK(read.error().value == "some of a layer's experts");
        }
    }
    // An expert of no layer's own number is one of all layers.
    std::vector<std::string> everywhere;
    everywhere.reserve(routed_experts);
    for (int expert = 0; expert < routed_experts; ++expert)
        everywhere.push_back("mlp.experts." + std::to_string(expert));
    hold(everywhere);
    hold({"mlp.experts", everywhere[0], everywhere[1], everywhere[2], everywhere[3]});
    everywhere.pop_back();
    model m = mixture();
    CHECK(read_quantization_config({{"quant_method", "fp8"}, {"ignore", everywhere}}, bf16, m).error().value ==
          "some of a layer's experts");
    // They are counted in the last layer.
    model last = mixture();
    const layer dense = last.layers[0], routed = last.layers[1];
    last.layers = {};
    last.layers.append(2, dense);
    last.layers.append(1, routed);
    last.prediction = {};
    everywhere.push_back("mlp.experts.3");
    REQUIRE(read_quantization_config({{"quant_method", "fp8"}, {"ignore", everywhere}}, bf16, last));
    CHECK(last.layers[2].quantised == (quantised_part::dense | quantised_part::mixers));
    // A layer without experts has none that could be left out.
    hold({named(0, 0)});
}

TEST_CASE("attention, dense feed-forwards and experts have each the format that their modules are listed with") {
    const precision formats[] = {bf16, fp8_tensor_static, nvfp4_static};
    const char* algorithms[] = {"", "FP8", "NVFP4"};
    const std::vector<matrix> all = matrices();
    for (int combination = 0; combination < 27; ++combination) {
        const int of_sort[] = {combination % 3, combination / 3 % 3, combination / 9};
        if (combination == 0) continue;
        json listed = json::object();
        for (const matrix& one : all)
            for (const std::string& name : one.names)
                if (of_sort[one.sort] > 0) listed[name] = {{"quant_algo", algorithms[of_sort[one.sort]]}};
        model m = mixture();
        const json config{
            {"quant_method", "modelopt"}, {"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", listed}};
        const status read = read_quantization_config(config, bf16, m);
        CAPTURE(combination);
        REQUIRE_MESSAGE(read, read.error().value.view());
        for (const matrix& one : all) CHECK(format_in(m, one) == formats[of_sort[one.sort]]);
        // `weights` is the format of experts, or of what is quantised without them.
        const int most = of_sort[2] > 0 ? of_sort[2] : of_sort[1] > 0 ? of_sort[1] : of_sort[0];
        CHECK(m.weights == formats[most]);
        CHECK(static_cast<bool>(m.mixed.attention) == (of_sort[0] > 0 && of_sort[0] != most));
        CHECK(static_cast<bool>(m.mixed.feed_forward) == (of_sort[1] > 0 && of_sort[1] != most));
        CHECK_FALSE(m.mixed.head);
        CHECK(m.mixed.wide_roles == 0);
        // The same with one layer's attention in the other format.
        if (of_sort[0] == 0) continue;
        listed["model.layers.3.self_attn.q_proj"] = {{"quant_algo", algorithms[3 - of_sort[0]]}};
        json other = config;
        other["quantized_layers"] = listed;
        m = mixture();
        CHECK(read_quantization_config(other, bf16, m).error().value == "two formats for one sort of weight");
    }
}

TEST_CASE("of formats that are listed for one module the last counts, also where it was listed before") {
    const json listed{{"1.self_attn", {{"quant_algo", "FP8"}}},
                      {"2.self_attn", {{"quant_algo", "NVFP4"}}},
                      {"3.self_attn", {{"quant_algo", "FP8"}}}};
    model m = mixture();
    REQUIRE(read_quantization_config(
        {{"quant_method", "modelopt"}, {"quant_algo", "MIXED_PRECISION"}, {"quantized_layers", listed}}, bf16, m));
    CHECK(m.weights == fp8_tensor_static);
}

TEST_CASE("what a checkpoint does not quantise is in its stored format, which is named where that has not 16 bits") {
    for (const precision& stored : {bf16, fp16, fp32, fp64}) {
        model m = mixture();
        REQUIRE(read_quantization_config({{"quant_method", "fp8"}, {"ignore", {"self_attn"}}}, stored, m));
        CHECK(static_cast<bool>(m.mixed.rest) == (stored == fp32 || stored == fp64));
    }
}
