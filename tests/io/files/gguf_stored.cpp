// SPDX-License-Identifier: MIT
#include <llmres/io/files/gguf_stored.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <llmres/answers/job_plan.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/llama_cpp.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../../fuzz/gguf_writer.hpp"

using namespace llmres;

namespace {

/// An architecture of llama.cpp with the tensors that gguf-py lists for it.
struct architecture {
    std::string name{};
    std::vector<std::string> tensors{};

    bool has(std::string_view part) const {
        return std::any_of(tensors.begin(), tensors.end(),
                           [&](const std::string& t) { return t.find(part) != std::string::npos; });
    }
};

std::vector<architecture> architectures() {
    std::ifstream file{LLMRES_SOURCE_DIR "/tests/data/gguf_architectures.txt"};
    std::vector<architecture> all;
    std::vector<std::string> of_llama;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("#")) continue;
        architecture one{.name = line.substr(0, line.find(':'))};
        std::istringstream names{line.substr(line.find(':') + 1)};
        for (std::string name; names >> name;) one.tensors.push_back(name);
        if (one.name == "llama") of_llama = one.tensors;
        all.push_back(one);
    }
    for (architecture& a : all)
        if (a.tensors.empty()) a.tensors = of_llama;
    return all;
}

bool starts(std::string_view name, std::string_view prefix) { return name.starts_with(prefix); }

/// The shape that a tensor of that name has in a model of 256 features, 4 heads and 2 KV heads of 64.
std::vector<std::uint64_t> shape_of(std::string_view name) {
    struct named {
        std::string_view name;
        std::vector<std::uint64_t> shape;
    };
    static const std::vector<named> known{{"token_embd", {256, 512}},
                                          {"output", {256, 512}},
                                          {"attn_q", {256, 256}},
                                          {"attn_k", {256, 128}},
                                          {"attn_v", {256, 128}},
                                          {"attn_qkv", {256, 512}},
                                          {"attn_output", {256, 256}},
                                          {"attn_q_a", {256, 256}},
                                          {"attn_q_b", {256, 384}},
                                          {"attn_kv_a_mqa", {256, 96}},
                                          {"attn_k_b", {64, 64, 4}},
                                          {"attn_v_b", {64, 64, 4}},
                                          {"ffn_gate", {256, 512}},
                                          {"ffn_up", {256, 512}},
                                          {"ffn_down", {512, 256}},
                                          {"ffn_gate_exps", {256, 256, 4}},
                                          {"ffn_up_exps", {256, 256, 4}},
                                          {"ffn_down_exps", {256, 256, 4}},
                                          {"ffn_gate_shexp", {256, 256}},
                                          {"ffn_up_shexp", {256, 256}},
                                          {"ffn_down_shexp", {256, 256}},
                                          {"ffn_gate_inp", {256, 4}},
                                          {"attn_sinks", {4}},
                                          {"indexer.proj", {256, 2}},
                                          {"indexer.attn_k", {256, 32}},
                                          {"indexer.attn_q_b", {256, 64}},
                                          {"ssm_conv1d", {4, 512}},
                                          {"ssm_a", {16, 512}},
                                          {"per_layer_token_embd", {512, 512}}};
    for (const named& k : known)
        if (k.name == name) return k.shape;
    return name.find("norm") != std::string_view::npos ? std::vector<std::uint64_t>{256}
                                                       : std::vector<std::uint64_t>{256, 32};
}

/// Whether layer 0 or 1 of the file has the tensor: of what an architecture's layers have in turns, layer 0 has
/// recurrences and dense feed-forwards, layer 1 attention and experts.
bool is_in_layer(const architecture& a, int layer, std::string_view name) {
    const bool latent = a.has("attn_kv_a_mqa");
    if (latent && (name == "attn_k" || name == "attn_v" || name == "attn_kv_b" || name == "attn_qkv")) return false;
    if (latent && name == "attn_q" && a.has("attn_q_a")) return false;
    const bool recurs = a.has("ssm_") || a.has("time_mix_") || a.has("shortconv");
    if (starts(name, "ssm_") || starts(name, "time_mix_") || starts(name, "shortconv")) return layer == 0;
    if (recurs && starts(name, "attn_") && name != "attn_norm") return layer == 1;
    const bool expert = name.find("exp") != std::string_view::npos || name == "ffn_gate_inp";
    if (a.has("ffn_down_exps") && (starts(name, "ffn_") && name != "ffn_norm")) return expert == (layer == 1);
    return true;
}

gguf_type type_of(const std::vector<std::uint64_t>& shape, int layer) {
    if (shape.size() == 1) return gguf_type::F32;
    return shape[0] % 256 != 0 ? gguf_type::F16 : layer == 0 ? gguf_type::Q6_K : gguf_type::Q4_K;
}

/// A file of the architecture.
gguf_writer written(const architecture& a) {
    gguf_writer w;
    const bool latent = a.has("attn_kv_a_mqa");
    const bool recurs = a.has("ssm_") || a.has("time_mix_") || a.has("shortconv");
    w.text("general.architecture", a.name);
    w.integer("general.file_type", 15);
    const auto key = [&](std::string_view name) { return a.name + "." + std::string{name}; };
    struct number {
        std::string_view name;
        std::uint32_t value;
    };
    for (const number n : {number{"embedding_length", 256},
                           number{"block_count", 2},
                           number{"context_length", 4096},
                           number{"feed_forward_length", 512},
                           number{"attention.head_count", 4},
                           number{"attention.key_length", latent ? 96u : 64u},
                           number{"attention.value_length", 64},
                           number{"attention.kv_lora_rank", 64},
                           number{"attention.q_lora_rank", 256},
                           number{"rope.dimension_count", 32},
                           number{"expert_count", 4},
                           number{"expert_used_count", 2},
                           number{"expert_feed_forward_length", 256},
                           number{"expert_shared_count", 1},
                           number{"expert_shared_feed_forward_length", 256},
                           number{"leading_dense_block_count", 1},
                           number{"ssm.inner_size", 512},
                           number{"ssm.state_size", 16},
                           number{"ssm.group_count", 1},
                           number{"ssm.conv_kernel", 4},
                           number{"wkv.head_size", 64},
                           number{"shortconv.l_cache", 3}})
        if (n.name != "expert_count" || a.has("exps")) w.integer(key(n.name), n.value);
    if (recurs)
        w.integers(key("attention.head_count_kv"), {0, a.has("attn_k") ? 2 : 0});
    else
        w.integer(key("attention.head_count_kv"), 2);
    const auto add = [&](const std::string& name, int layer, std::string_view plain) {
        const std::vector<std::uint64_t> shape = shape_of(plain);
        w.tensor(name + ".weight", shape, type_of(shape, layer));
    };
    for (const std::string& name : a.tensors) {
        std::string_view rest = name;
        std::string prefix;
        for (const std::string_view stack : {"enc.", "dec."})
            if (starts(rest, stack)) prefix = rest.substr(0, 4), rest.remove_prefix(4);
        if (!starts(rest, "B.")) {
            add(name, 0, rest);
            continue;
        }
        rest.remove_prefix(2);
        for (int i = 0; i < 2; ++i)
            if (is_in_layer(a, i, rest)) add(prefix + "blk." + std::to_string(i) + "." + std::string{rest}, i, rest);
    }
    return w;
}

/// A file of an architecture that no formula describes: two layers of attention, of 256 features, 4 heads and 2 KV
/// heads of 64; `skipped` is no tensor of layer 0.
gguf_writer unknown_architecture(std::string_view skipped = "") {
    gguf_writer w;
    w.text("general.architecture", "new");
    w.integer("general.file_type", 15);
    w.integer("new.embedding_length", 256);
    w.integer("new.attention.head_count", 4);
    w.integer("new.attention.key_length", 64);
    w.tensor("token_embd.weight", {256, 512});
    for (int i = 0; i < 2; ++i)
        for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"})
            if (i > 0 || name != skipped)
                w.tensor("blk." + std::to_string(i) + "." + name + ".weight", shape_of(name), gguf_type::F16);
    return w;
}

result<gguf_file> read(const gguf_writer& w) {
    const std::string file = w.bytes();
    return read_gguf(std::as_bytes(std::span{file}));
}

/// A file of an unknown architecture whose first layer has a tensor of a recurrence.
gguf_writer recurring_with(const char* tensor) {
    gguf_writer w = unknown_architecture("attn_k");
    w.integer("new.attention.head_count_kv", 2);
    w.tensor(std::string{"blk.0."} + tensor + ".weight", {256, 32});
    return w;
}

}  // namespace

TEST_CASE("of llama.cpp's list of architectures all that hold layers of tokens are read, to the byte") {
    int described = 0, by_tensors = 0;
    std::string not_read;
    int refused = 0;
    for (const architecture& a : architectures()) {
        CAPTURE(a.name);
        const auto file = read(written(a));
        REQUIRE(file);
        const auto found = model_source_of(*file);
        if (!found) {
            not_read += a.name + " (" + std::string{found.error().field.view()} + ") ";
            ++refused;
            continue;
        }
        CHECK(found->model.layers.size == 2);
        if (!found->model.from_tensors) {
            ++described;
            continue;
        }
        ++by_tensors;
        CHECK(gguf_tensor_bytes(found->model, *found->gguf) == file->tensor_bytes());
        CHECK(found->model.architecture == a.name);
        const bool caches = kv_cache_bytes(found->model, fp16, tokens(100)) > byte_count{};
        CHECK((caches || recurrent_state_bytes(found->model) > byte_count{}));
    }
    MESSAGE("architectures of llama.cpp: " << described << " described, " << by_tensors
                                           << " planned from their tensors, " << refused << " refused");
    CHECK(described + by_tensors + refused == 136);
    CHECK(not_read == "clip (general.architecture) wavtokenizer-dec (blk.0) ");
}

TEST_CASE("a file of an architecture without a formula is planned, and the plan says so within wide bounds") {
    const auto all = architectures();
    const auto rnd = std::find_if(all.begin(), all.end(), [](const architecture& a) { return a.name == "rnd1"; });
    const auto source = model_source_of(*read(written(*rnd)));
    REQUIRE(source);
    job j{.model = source->model, .gguf = source->gguf, .runtime = runtimes::llama_cpp};
    j.context = tokens(2048);
    const cluster c = standard_cluster(gpus::h100_sxm5_80gb, 1).value();
    const job_plan made = plan(j, {}, c).value();
    bool says = false;
    for (std::int32_t i = 0; i < made.reason_count; ++i)
        says = says || made.reasons[static_cast<std::size_t>(i)].code == reason_code::from_tensors;
    CHECK(says);
    const interval<byte_count>& wide = made.memory[memory_term::activations];
    j.model.from_tensors = false;
    const interval<byte_count> known = plan(j, {}, c)->memory[memory_term::activations];
    CHECK(wide.expected == known.expected);
    CHECK(wide.low < known.low);
    CHECK(wide.high.in(bytes) >= 3 * known.high.in(bytes));
}

TEST_CASE("a header that contradicts itself, or lacks what a cache follows from, is refused by the key") {
    const auto error_of = [](const gguf_writer& w) { return model_source_of(*read(w)).error(); };
    gguf_writer w;
    w.text("general.architecture", "new");
    w.integer("general.file_type", 15);
    w.tensor("token_embd.weight", {256, 512});
    w.tensor("blk.0.attn_k.weight", {256, 128});
    CHECK(error_of(w).field == "new.embedding_length");
    w.integer("new.embedding_length", 256);
    w.integer("new.attention.head_count_kv", 2);
    CHECK(error_of(w).field == "new.attention.head_count");
    w.integer("new.attention.head_count", 5);
    CHECK(error_of(w).field == "attention.kv_heads");
    gguf_writer state;
    state.text("general.architecture", "new");
    state.integer("general.file_type", 15);
    state.integer("new.embedding_length", 256);
    state.tensor("token_embd.weight", {256, 512});
    state.tensor("blk.0.ssm_in.weight", {256, 128});
    CHECK(error_of(state).field == "new.ssm.inner_size");
}

TEST_CASE("windows are those of the layers that the file names, and their heads may be narrower") {
    const auto layers_of = [](const gguf_writer& w) {
        const auto found = model_source_of(*read(w));
        REQUIRE(found);
        return std::vector<attention>{found->model.layers[0].attention, found->model.layers[1].attention};
    };
    gguf_writer w = unknown_architecture();
    w.integer("new.attention.head_count_kv", 2);
    w.integer("new.attention.sliding_window", 128);
    w.integer("new.attention.key_length_swa", 32);
    w.integer("new.attention.value_length_swa", 16);
    gguf_writer every = w, some = w, shorter = w, number = w;
    CHECK(layers_of(every)[0].window == token_count{});  // nothing says which layers have it
    some.integers("new.attention.sliding_window_pattern", {1, 0});
    CHECK(layers_of(some)[0].window == tokens(128));
    CHECK(layers_of(some)[0].head_dim == 32);
    CHECK(layers_of(some)[0].value_dim == 16);
    CHECK(layers_of(some)[1].window == token_count{});
    CHECK(layers_of(some)[1].head_dim == 64);
    shorter.integers("new.attention.sliding_window_pattern", {0});
    CHECK(layers_of(shorter)[1].window == token_count{});
    number.integer("new.attention.sliding_window_pattern", 2);  // a period, whose meaning differs by architecture
    CHECK(layers_of(number)[0].window == token_count{});
}

TEST_CASE("layers without keys, or behind those that keep a cache, use the cache of another layer") {
    const auto layers_of = [](const gguf_writer& w) {
        const auto found = model_source_of(*read(w));
        REQUIRE(found);
        return std::vector<attention>{found->model.layers[0].attention, found->model.layers[1].attention};
    };
    gguf_writer w = unknown_architecture("attn_k");
    w.integer("new.attention.head_count_kv", 2);
    CHECK(layers_of(w)[0].kv == kv_source::shared);
    CHECK(layers_of(w)[1].kv == attention{}.kv);
    gguf_writer last = unknown_architecture();
    last.integer("new.attention.head_count_kv", 2);
    last.integer("new.attention.shared_kv_layers", 1);
    CHECK(layers_of(last)[0].kv == attention{}.kv);
    CHECK(layers_of(last)[1].kv == kv_source::shared_unused);
    gguf_writer without_values = unknown_architecture("attn_v");
    without_values.integer("new.attention.head_count_kv", 2);
    CHECK(layers_of(without_values)[0].keys == key_projection::also_values);
    gguf_writer none = unknown_architecture();  // Kimi Linear's recurrent layers have keys, and no KV heads
    none.integers("new.attention.head_count_kv", {0, 2});
    CHECK(layers_of(none)[0].kind == attention_kind::none);
    CHECK(layers_of(none)[1].kv_heads == 2);
    gguf_writer all = unknown_architecture();
    all.integers("new.attention.head_count_kv", {2});  // of the layers that have a number; else as many as queries
    CHECK(layers_of(all)[1].kv_heads == 4);
}

TEST_CASE("norms over heads are known by their width") {
    const auto norm_of = [](std::uint64_t queries, std::uint64_t keys) {
        gguf_writer w = unknown_architecture();
        w.integer("new.attention.head_count_kv", 2);
        if (queries > 0) w.tensor("blk.0.attn_q_norm.weight", {queries});
        if (keys > 0) w.tensor("blk.0.attn_k_norm.weight", {keys});
        const auto file = read(w);
        const auto found = model_source_of(*file);
        REQUIRE(found);
        CHECK(gguf_tensor_bytes(found->model, *found->gguf) == file->tensor_bytes());
        return found->model.layers[0].attention.qk_norm;
    };
    CHECK(norm_of(64, 64) == query_key_norm::shared);
    for (const auto norm : {norm_of(0, 0), norm_of(256, 128), norm_of(64, 128), norm_of(64, 0)})
        CHECK(norm == query_key_norm::none);
}

TEST_CASE("recurrences have the state that llama.cpp computes from their metadata") {
    const auto recurrence_of = [](const gguf_writer& w) {
        return model_source_of(*read(w))->model.layers[0].recurrent;
    };
    gguf_writer kda = recurring_with("ssm_conv1d_q");
    kda.integer("new.kda.head_dim", 32);
    kda.integer("new.ssm.conv_kernel", 4);
    CHECK(recurrence_of(kda).heads == 4);
    CHECK(recurrence_of(kda).head_dim == 32);
    CHECK(recurrence_of(kda).state == 32);
    CHECK(recurrence_of(kda).kernel == 4);
    gguf_writer rwkv = recurring_with("time_mix_key");
    CHECK(model_source_of(*read(rwkv)).error().field == "new.wkv.head_size");
    rwkv.integer("new.wkv.head_size", 64);
    CHECK(recurrence_of(rwkv).heads == 4);
    CHECK(recurrence_of(rwkv).state == 64);
}

TEST_CASE("states of selective scans and short convolutions are as large as llama.cpp's") {
    const auto recurrence_of = [](const gguf_writer& w) {
        const auto found = model_source_of(*read(w));
        REQUIRE(found);
        CHECK(found->model.layers[1].recurrent.kind == recurrent_kind::none);
        return found->model.layers[0].recurrent;
    };
    gguf_writer scan = recurring_with("ssm_in");
    scan.integer("new.ssm.inner_size", 512);
    scan.integer("new.ssm.state_size", 16);
    scan.integer("new.ssm.group_count", 2);
    scan.integer("new.ssm.conv_kernel", 4);
    CHECK(state_shape_of(recurrence_of(scan)).state == 512 * 16);                      // n_embd_s
    CHECK(state_shape_of(recurrence_of(scan)).convolution == 3 * (512 + 2 * 2 * 16));  // n_embd_r
    gguf_writer convolution = recurring_with("shortconv.conv");
    convolution.integer("new.shortconv.l_cache", 3);
    CHECK(state_shape_of(recurrence_of(convolution)).state == 0);
    CHECK(state_shape_of(recurrence_of(convolution)).convolution == 2 * 256);
    CHECK(recurrence_of(convolution).head_dim == 1);
    gguf_writer narrow = recurring_with("time_mix_key");
    narrow.integer("new.wkv.head_size", 1);
    CHECK(recurrence_of(narrow).heads == 256);
}

TEST_CASE("latent attention has the widths of its keys and tensors, and an indexer where one chooses tokens") {
    const auto attention_of = [](std::initializer_list<const char*> further) {
        gguf_writer w = unknown_architecture("attn_k");
        w.integer("new.attention.head_count_kv", 1);
        w.integer("new.attention.kv_lora_rank", 64);
        w.integer("new.attention.key_length_mla", 96);
        w.integer("new.attention.value_length_mla", 48);
        w.integer("new.attention.indexer.top_k", 16);
        w.tensor("blk.0.attn_kv_a_mqa.weight", {256, 80});
        w.tensor("blk.0.attn_q_a.weight", {256, 128});
        for (const std::string name : further)
            w.tensor("blk.0." + name + ".weight", {256, name == "indexer.proj" ? 1u : 32u});
        const auto found = model_source_of(*read(w));
        REQUIRE(found);
        return found->model.layers[0].attention;
    };
    const attention a = attention_of({"indexer.proj", "indexer.attn_k"});
    CHECK(a.kind == attention_kind::latent);
    CHECK(a.rope_dim == 16);
    CHECK(a.q_rank == 128);
    CHECK(a.head_dim == 80);
    CHECK(a.value_dim == 48);
    CHECK(a.indexer.heads == 1);
    CHECK(a.indexer.head_dim == 32);
    CHECK(a.indexer.selected == tokens(16));
    CHECK(attention_of({"indexer.attn_k"}).indexer == indexer{});
    CHECK(attention_of({}).indexer == indexer{});
}

TEST_CASE("a file has as many layers as it has tensors of, a name, and numbers up to 2^40 or in lists of one") {
    gguf_writer w;
    w.text("general.architecture", "new");
    w.integer("general.file_type", 15);
    w.integers("new.embedding_length", {256});
    w.integers("new.attention.head_count", {4, 4, 4});
    w.integers("new.attention.key_length", {32});
    w.raw("new.context_length", 10, std::string_view{"\0\0\0\0\0\1\0\0", 8});  // 2^40 in 64 bits
    w.tensor("token_embd.weight", {256, 512});
    for (const int i : {0, 1, 2}) w.tensor("blk." + std::to_string(i) + ".attn_k.weight", {256, 256});
    gguf_writer named = w;
    const auto found = model_source_of(*read(w));
    REQUIRE(found);
    CHECK(found->model.layers.size == 3);
    CHECK(found->model.layers[2].attention.head_dim == 32);
    CHECK(found->model.max_context == tokens(std::int64_t{1} << 40));
    CHECK(found->model.name == "new");
    named.text("general.name", "Something new");
    CHECK(model_source_of(*read(named))->model.name == "Something new");
}

TEST_CASE("layers of more kinds than a model may have are refused as that, and of more types than patterns are read") {
    gguf_writer w = unknown_architecture();
    w.integer("new.attention.head_count_kv", 2);
    w.integer("new.expert_used_count", 1);
    gguf_writer typed = w;
    for (int i = 2; i < 18; ++i) {
        const std::string layer = "blk." + std::to_string(i) + ".";
        const auto experts = static_cast<std::uint64_t>(i);
        w.tensor(layer + "ffn_gate_inp.weight", {256, experts});
        w.tensor(layer + "ffn_up_exps.weight", {256, 256, experts});
        w.tensor(layer + "ffn_down_exps.weight", {256, 256, experts});
        typed.tensor(layer + "attn_q.weight", shape_of("attn_q"), i < 10 ? gguf_type::Q4_K : gguf_type::Q6_K);
        typed.tensor(layer + "attn_k.weight", shape_of("attn_k"), i % 2 == 0 ? gguf_type::Q8_0 : gguf_type::F16);
        const std::array downs{gguf_type::Q4_0, gguf_type::Q4_1, gguf_type::Q5_0, gguf_type::Q5_1};
        typed.tensor(layer + "ffn_down.weight", shape_of("ffn_down"), downs[static_cast<std::size_t>(i / 2 % 4)]);
    }
    const error kinds = model_source_of(*read(w)).error();
    CHECK(kinds.code == error_code::unsupported);
    CHECK(kinds.field == "layers");
    CHECK(kinds.value == "18");
    const auto file = read(typed);
    const auto found = model_source_of(*file);
    REQUIRE(found);
    CHECK(found->gguf->stored.count == gguf_stored_types::most_patterns);
    CHECK(found->model.layers.size == 18);
}

TEST_CASE("parts that one tensor stands for have its type, and parts of their own keep theirs") {
    using role = weight_role;
    constexpr auto type = [](gguf_type t) { return static_cast<std::uint8_t>(static_cast<unsigned>(t) + 1); };
    constexpr std::uint8_t own = type(gguf_type::F32), fused = type(gguf_type::Q4_K);
    struct row {
        role from;
        std::vector<role> parts;
    };
    for (const bool stacked : {false, true})
        for (const row& r : {row{role::v_proj, {role::q_proj, role::k_proj, role::attn_gate, role::in_proj}},
                             row{role::k_proj, {role::v_proj, role::in_proj}}, row{role::q_proj, {role::attn_gate}},
                             row{role::up_proj, {role::gate_proj}}, row{role::gate_proj, {role::up_proj}}}) {
            CAPTURE(name_of(r.from));
            gguf_stored_types stored;
            stored.count = gguf_stored_types::most_patterns;
            const auto at = [&](std::size_t pattern, role of) -> std::uint8_t& {
                return stored.patterns[pattern][gguf_stored_types::place(of, stacked)];
            };
            for (const std::size_t pattern : {0U, 15U}) at(pattern, r.from) = fused;
            at(1, r.from) = fused;
            for (const role part : r.parts) at(1, part) = own;
            stored = detail::gguf::with_fused_types(stored);
            for (const role part : r.parts) {
                CAPTURE(name_of(part));
                CHECK(at(0, part) == fused);
                CHECK(at(15, part) == fused);
                CHECK(at(1, part) == own);
                CHECK(at(2, part) == 0);
            }
            CHECK(at(0, role::o_proj) == 0);
        }
}

TEST_CASE("a number that no model has is refused by its key, and another type is none") {
    const auto error_of = [](const gguf_writer& w) { return model_source_of(*read(w)).error(); };
    gguf_writer negative = unknown_architecture();
    negative.integers("new.attention.head_count_kv", {-2, 2});
    CHECK(error_of(negative).field == "new.attention.head_count_kv");
    CHECK(error_of(negative).value == "-2");
    gguf_writer large = unknown_architecture();
    large.raw("new.attention.head_count_kv", 10, std::string_view{"\0\0\0\0\0\0\0\1", 8});  // 2^56 in 64 bits
    CHECK(error_of(large).field == "new.attention.head_count_kv");
    gguf_writer words = unknown_architecture();
    words.text("new.attention.head_count_kv", "two");
    CHECK(model_source_of(*read(words))->model.layers[0].attention.kv_heads == 4);
    gguf_writer no_words;
    no_words.text("general.architecture", "new");
    no_words.integer("general.file_type", 15);
    no_words.integer("new.embedding_length", 256);
    no_words.tensor("blk.0.attn_k.weight", {256, 128});
    CHECK(error_of(no_words).field == "token_embd.weight");
}

TEST_CASE("layers beyond those that a model may have count as what stands behind the layers") {
    gguf_writer w = unknown_architecture();
    w.integer("new.attention.head_count_kv", 2);
    w.tensor("blk.256.attn_k.weight", {256, 128});
    w.tensor("blk.9999.attn_k.weight", {256, 128});
    const auto file = read(w);
    const auto found = model_source_of(*file);
    REQUIRE(found);
    CHECK(found->model.layers.size == 2);
    CHECK(gguf_tensor_bytes(found->model, *found->gguf) == file->tensor_bytes());
}

TEST_CASE("experts whose way down has another width than the model are no experts") {
    gguf_writer w = unknown_architecture("ffn_down");
    w.integer("new.attention.head_count_kv", 2);
    w.tensor("blk.0.ffn_down_exps.weight", {256, 128, 4});
    const auto file = read(w);
    const auto found = model_source_of(*file);
    REQUIRE(found);
    CHECK(found->model.layers[0].feed_forward.experts.count == 0);
    CHECK(gguf_tensor_bytes(found->model, *found->gguf) == file->tensor_bytes());
}
