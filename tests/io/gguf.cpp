// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <llmres/io/gguf.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../fuzz/gguf_writer.hpp"

using namespace llmres;

namespace {

result<gguf_file> read(const std::string& file) { return read_gguf(std::as_bytes(std::span{file})); }

gguf_writer small() {
    gguf_writer w;
    w.text("general.architecture", "llama");
    w.integer("general.file_type", 15);
    w.flag("tokenizer.ggml.add_bos_token", 1);
    w.real("llama.rope.freq_base", 500000.0f);
    w.integers("llama.attention.head_count_kv", {8, 8, 4});
    w.texts("tokenizer.ggml.tokens", {"a", "", "long token"});
    w.tensor("token_embd.weight", {256, 10}, gguf_type::Q6_K);
    w.tensor("blk.0.attn_q.weight", {256, 3}, gguf_type::Q4_K);
    w.tensor("blk.0.attn_norm.weight", {5});
    w.tensor("strange", {});
    return w;
}

void refuses(const std::string& file, error_code code, std::string_view field) {
    const auto found = read(file);
    CAPTURE(found.error().value.view());
    CAPTURE(found.error().expected.view());
    CHECK(found.error().code == code);
    CHECK(found.error().field == field);
}

}  // namespace

TEST_CASE("a header gives metadata, tensors and exact sizes") {
    const std::string bytes_of_file = small().bytes();
    const auto file = read(bytes_of_file);
    REQUIRE(file);
    CHECK(file->version == 3);
    CHECK(file->text_or("general.architecture", "") == "llama");
    CHECK(file->integer_or("general.file_type", 0) == 15);
    CHECK(file->integer_or("absent", -7) == -7);
    CHECK(file->find("llama.rope.freq_base")->number == 500000.0);
    CHECK(file->find("tokenizer.ggml.add_bos_token")->is == gguf_value::kind::flag);
    CHECK(file->find("llama.attention.head_count_kv")->integers == std::vector<std::int64_t>{8, 8, 4});
    CHECK(file->find("tokenizer.ggml.tokens")->elements == 3);
    REQUIRE(file->tensors.size() == 4);
    CHECK(file->tensors[0].size == bytes(2100));
    CHECK(file->tensors[1].offset == 2112);
    CHECK(file->tensors[1].size == bytes(3 * 144));
    CHECK(file->tensors[2].shape == std::array<std::uint64_t, 4>{5, 1, 1, 1});
    CHECK(file->tensors[3].size == bytes(4));
    CHECK(file->elements() == parameters(2560 + 768 + 5 + 1));
    CHECK(file->tensor_bytes() == bytes(2112 + 448 + 32 + 32));
    CHECK(file->header + file->tensor_bytes() == file->size);
    CHECK(file->size == bytes(static_cast<std::int64_t>(bytes_of_file.size())));
}

TEST_CASE("numbers of each type are read with their sign") {
    const auto bytes_of = [](auto number) {
        return std::string(reinterpret_cast<const char*>(&number), sizeof number);
    };
    gguf_writer w;
    w.raw("u8", 0, bytes_of(std::uint8_t{200}));
    w.raw("i8", 1, bytes_of(std::int8_t{-100}));
    w.raw("u16", 2, bytes_of(std::uint16_t{40'000}));
    w.raw("i16", 3, bytes_of(std::int16_t{-20'000}));
    w.raw("u32", 4, bytes_of(std::uint32_t{3'000'000'000}));
    w.raw("i32", 5, bytes_of(std::int32_t{-2'000'000'000}));
    w.raw("u64", 10, bytes_of(std::uint64_t{1} << 62));
    w.raw("i64", 11, bytes_of(-(std::int64_t{1} << 62)));
    w.raw("f32", 6, bytes_of(-1.5f));
    w.raw("f64", 12, bytes_of(0x1p-100));
    const auto file = read(w.bytes());
    REQUIRE(file);
    CHECK(file->integer_or("u8", 0) == 200);
    CHECK(file->integer_or("i8", 0) == -100);
    CHECK(file->integer_or("u16", 0) == 40'000);
    CHECK(file->integer_or("i16", 0) == -20'000);
    CHECK(file->integer_or("u32", 0) == 3'000'000'000);
    CHECK(file->integer_or("i32", 0) == -2'000'000'000);
    CHECK(file->integer_or("u64", 0) == std::int64_t{1} << 62);
    CHECK(file->integer_or("i64", 0) == -(std::int64_t{1} << 62));
    CHECK(file->find("f32")->number == -1.5);
    CHECK(file->find("f64")->number == 0x1p-100);
}

TEST_CASE("a file cut anywhere is refused by name, or its data is") {
    const std::string whole = small().bytes();
    REQUIRE(read(whole));
    const std::size_t padding = 28;  // after the last tensor, and missed by nobody
    for (std::size_t length = 0; length < whole.size() - padding; ++length) {
        const auto found = read(whole.substr(0, length));
        CAPTURE(length);
        REQUIRE_FALSE(found);
        CHECK_FALSE(found.error().field.empty());
        CHECK_FALSE(found.error().expected.empty());
    }
}

TEST_CASE("other formats, versions and byte orders are refused by name") {
    gguf_writer w = small();
    w.magic = "GGML";
    refuses(w.bytes(), error_code::malformed, "gguf.magic");
    w.magic = "tjgg";
    refuses(w.bytes(), error_code::unsupported, "gguf.magic");
    w.magic = "FUGG";
    refuses(w.bytes(), error_code::unsupported, "gguf.magic");
    w = small();
    for (const std::uint32_t version : {0u, 1u, 4u}) {
        w.version = version;
        refuses(w.bytes(), error_code::unsupported, "gguf.version");
    }
    w.version = 3u << 24;
    refuses(w.bytes(), error_code::unsupported, "gguf.version");
    CHECK(read(w.bytes()).error().value == "a big-endian number");
    w.version = 2;
    CHECK(read(w.bytes()));
}

TEST_CASE("counts and lengths that the file cannot hold are refused before anything is allocated") {
    gguf_writer w = small();
    for (const std::uint64_t count :
         {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 20, std::uint64_t{200}}) {
        w = small();
        w.tensor_count = count;
        refuses(w.bytes(), error_code::out_of_range, "gguf.tensor_count");
        w = small();
        w.pair_count = count * 2;
        if (count < 1000) w.pair_count = 1000;
        CHECK_FALSE(read(w.bytes()));
    }
    const auto raw = [](std::uint32_t type, std::string after) {
        gguf_writer made = small();
        made.raw("key", type, after);
        return made.bytes();
    };
    std::string length;
    gguf_writer::put(length, std::uint64_t{1} << 63);
    refuses(raw(8, length), error_code::out_of_range, "key");
    std::string array;
    gguf_writer::put(array, std::uint32_t{4});
    refuses(raw(9, array + length), error_code::out_of_range, "key");
    length.clear();
    gguf_writer::put(length, std::uint64_t{1} << 20);
    refuses(raw(8, length), error_code::malformed, "key");
    refuses(raw(9, array + length), error_code::out_of_range, "key");
    refuses(raw(13, "12345678"), error_code::unknown, "key");
    std::string unknown;
    gguf_writer::put(unknown, std::uint32_t{77});
    gguf_writer::put(unknown, std::uint64_t{1});
    refuses(raw(9, unknown), error_code::unknown, "key");
    refuses(raw(7, "\x02"), error_code::malformed, "key");
}

TEST_CASE("arrays nest four deep and no deeper") {
    const auto nested = [](int depth) {
        std::string after;
        for (int i = 1; i < depth; ++i) {
            gguf_writer::put(after, std::uint32_t{9});
            gguf_writer::put(after, std::uint64_t{1});
        }
        gguf_writer::put(after, std::uint32_t{4});
        gguf_writer::put(after, std::uint64_t{1});
        gguf_writer::put(after, std::uint32_t{7});
        gguf_writer w = small();
        w.raw("deep", 9, after);
        return w.bytes();
    };
    CHECK(read(nested(4)));
    refuses(nested(5), error_code::out_of_range, "deep");
    refuses(nested(100000), error_code::out_of_range, "deep");
}

TEST_CASE("keys and tensors that come twice are refused by name") {
    gguf_writer w = small();
    w.integer("general.file_type", 2);
    refuses(w.bytes(), error_code::inconsistent, "gguf.key");
    CHECK(read(w.bytes()).error().value == "general.file_type");
    w = small();
    w.tensor("blk.0.attn_q.weight", {1});
    refuses(w.bytes(), error_code::inconsistent, "gguf.tensor");
}

TEST_CASE("a tensor must lie within the file, aligned, over no other") {
    gguf_writer w = small();
    w.tensor_at("t", {8}, 0, std::uint64_t{1} << 62);
    refuses(w.bytes(), error_code::out_of_range, "t");
    w = small();
    w.tensor_at("t", {8}, 0, ~std::uint64_t{31});
    refuses(w.bytes(), error_code::out_of_range, "t");
    w = small();
    w.tensor_at("t", {8}, 0, 4);
    refuses(w.bytes(), error_code::inconsistent, "t");
    w = small();
    w.tensor_at("t", {8}, 0, 0);
    refuses(w.bytes(), error_code::inconsistent, "gguf.data");
    w = small();
    w.tensor_at("t", {std::uint64_t{1} << 20}, 0, 0);
    refuses(w.bytes(), error_code::out_of_range, "t");
}

TEST_CASE("a tensor's shape and type must make sense") {
    const auto with = [](std::vector<std::uint64_t> shape, std::uint32_t type) {
        gguf_writer w = small();
        w.tensor_at("t", shape, type, 0);
        return w.bytes();
    };
    refuses(with({1, 1, 1, 1, 1}, 0), error_code::out_of_range, "t");
    refuses(with({std::uint64_t{1} << 63}, 0), error_code::overflow, "t");
    refuses(with({std::uint64_t{1} << 32, std::uint64_t{1} << 32}, 0), error_code::overflow, "t");
    refuses(with({std::uint64_t{1} << 61}, 0), error_code::overflow, "t");
    refuses(with({100}, 12), error_code::inconsistent, "t");
    for (const std::uint32_t type : {4u, 36u, 12345u}) refuses(with({32}, type), error_code::unknown, "t");
    gguf_writer w = small();  // an empty tensor holds nothing and is no error
    w.tensor_at("t", {0, 5}, 0, 0);
    CHECK(read(w.bytes()));
}

TEST_CASE("names that cannot be shown are shown as something") {  // found by fuzzing
    gguf_writer w;
    w.tensor_at("", {1, 1, 1, 1, 1}, 0, 0);
    refuses(w.bytes(), error_code::out_of_range, "(empty)");
    gguf_writer control;
    control.tensor_at(std::string_view{"\0\x1b[2J", 5}, {100}, 12, 0);
    refuses(control.bytes(), error_code::inconsistent, "??[2J");
}

TEST_CASE("alignment is a power of two") {
    gguf_writer w;
    w.alignment = 64;
    w.integer("general.alignment", 64);
    w.tensor("t", {3});
    w.tensor("u", {3});
    const auto file = read(w.bytes());
    REQUIRE(file);
    CHECK(file->tensors[1].offset == 64);
    CHECK(file->tensor_bytes() == bytes(128));
    for (const std::uint32_t wrong : {0u, 3u, 48u, 1u << 21, 0xffffffffu}) {
        gguf_writer x;
        x.integer("general.alignment", wrong);
        refuses(x.bytes(), error_code::out_of_range, "general.alignment");
    }
}

TEST_CASE("a header may have 2^20 tensors, and no more") {
    // Of zeros alone: tensors without a name, of which the second has the first one's.
    const auto of_zeros = [](std::uint64_t tensors) {
        gguf_writer w;
        w.tensor_count = tensors;
        return w.bytes() + std::string(32 * tensors, '\0');
    };
    refuses(of_zeros(gguf_limits::tensors), error_code::inconsistent, "gguf.tensor");
    refuses(of_zeros(gguf_limits::tensors + 1), error_code::out_of_range, "gguf.tensor_count");
}

TEST_CASE("names may have 4 KiB, and no more") {
    const std::string key(gguf_limits::name, 'k');
    gguf_writer names;
    names.integer(key, 1);
    names.tensor(key, {1});
    CHECK(read(names.bytes())->integer_or(key, 0) == 1);
    gguf_writer long_key, long_name;
    long_key.integer(key + "k", 1);
    refuses(long_key.bytes(), error_code::out_of_range, "gguf.key");
    long_name.tensor(key + "k", {1});
    refuses(long_name.bytes(), error_code::out_of_range, "gguf.tensor");
}

TEST_CASE("a header may have 65,536 keys, and no more") {
    gguf_writer pairs;
    for (std::uint64_t i = 0; i < gguf_limits::metadata; ++i) pairs.flag(std::to_string(i), 0);
    CHECK(read(pairs.bytes())->metadata.size() == gguf_limits::metadata);
    pairs.flag("one more", 0);
    refuses(pairs.bytes(), error_code::out_of_range, "gguf.metadata_count");
}

TEST_CASE("texts may have 32 MiB with their keys, one alone 16, and no more") {
    gguf_writer texts;
    texts.text("a", std::string(gguf_limits::text, 'a'));
    texts.text("b", std::string(gguf_limits::text - 3, 'b'));
    gguf_writer more = texts, most = texts;
    most.flag("c", 1);
    CHECK(read(most.bytes())->text_or("b", "").size() == gguf_limits::text - 3);
    more.flag("cc", 1);
    refuses(more.bytes(), error_code::out_of_range, "gguf.key");
    gguf_writer long_text;
    long_text.text("a", std::string(gguf_limits::text + 1, 'a'));
    refuses(long_text.bytes(), error_code::out_of_range, "a");
}

TEST_CASE("arrays may have 4 Mi elements together, of which those of short ones are kept") {
    gguf_writer array, kept, longer;
    std::string elements;
    gguf_writer::put(elements, std::uint32_t{0});
    gguf_writer::put(elements, gguf_limits::array);
    elements.resize(elements.size() + gguf_limits::array);
    array.raw("bytes", 9, elements);
    CHECK(read(array.bytes())->find("bytes")->elements == gguf_limits::array);
    array.integers("more", {1});
    refuses(array.bytes(), error_code::out_of_range, "more");
    elements.clear();
    gguf_writer::put(elements, std::uint32_t{0});
    gguf_writer::put(elements, gguf_limits::array + 1);
    elements.resize(elements.size() + gguf_limits::array + 1);
    gguf_writer behind;
    behind.integers("first", {1});
    behind.raw("second", 9, elements);
    refuses(behind.bytes(), error_code::out_of_range, "second");
    CHECK(read(behind.bytes()).error().value == std::to_string(gguf_limits::array + 1));  // by itself

    kept.integers("key", std::vector<std::int32_t>(gguf_limits::kept_array, 7));
    CHECK(read(kept.bytes())->find("key")->integers == std::vector<std::int64_t>(gguf_limits::kept_array, 7));
    longer.integers("key", std::vector<std::int32_t>(gguf_limits::kept_array + 1, 7));
    longer.integer("behind", 3);
    CHECK(read(longer.bytes())->find("key")->integers.empty());
    CHECK(read(longer.bytes())->find("key")->elements == gguf_limits::kept_array + 1);
    CHECK(read(longer.bytes())->integer_or("behind", 0) == 3);
}

TEST_CASE("the shortest keys and tensors are as many as a file says") {
    gguf_writer pair;
    pair.with_data = false;
    pair.flag("", 1);
    CHECK(read(pair.bytes())->find("")->integer == 1);
    for (const char* key : {"a", "b", "c"}) pair.flag(key, 0);
    CHECK(read(pair.bytes())->metadata.size() == 4);
    gguf_writer tensors;
    for (const char* name : {"", "a", "b", "c", "d", "e", "f", "g", "h"}) tensors.tensor(name, {0});
    CHECK(read(tensors.bytes())->tensors.size() == 9);
    gguf_writer one;
    one.tensor("t", {0});
    CHECK(read(one.bytes())->tensors[0].size == bytes(0));
}

TEST_CASE("of arrays integers and flags are kept, the outermost number of elements, and what follows is read") {
    const auto array_of = [](std::uint32_t type, std::uint64_t count, std::string_view content) {
        std::string after;
        gguf_writer::put(after, type);
        gguf_writer::put(after, count);
        return after + std::string{content};
    };
    gguf_writer w;
    w.raw("floats", 9, array_of(6, 3, std::string(12, '\1')));
    w.raw("doubles", 9, array_of(12, 2, std::string(16, '\1')));
    w.raw("flags", 9, array_of(7, 3, std::string_view{"\1\0\1", 3}));
    w.raw("none", 9, array_of(5, 0, ""));
    const std::string inner = array_of(0, 2, "ab");
    w.raw("nested", 9, array_of(9, 3, inner + inner + inner));
    w.texts("texts", {"one", "two", ""});
    w.integer("behind", 7);
    const auto file = read(w.bytes());
    REQUIRE(file);
    const auto is = [&](const char* key, std::uint64_t elements, const std::vector<std::int64_t>& integers) {
        CAPTURE(key);
        CHECK(file->find(key)->is == gguf_value::kind::array);
        CHECK(file->find(key)->elements == elements);
        CHECK(file->find(key)->integers == integers);
    };
    is("floats", 3, {});
    is("doubles", 2, {});
    is("flags", 3, {1, 0, 1});
    is("none", 0, {});
    is("nested", 3, {});
    is("texts", 3, {});
    CHECK(file->integer_or("behind", 0) == 7);
    CHECK(file->integer_or("texts", -1) == -1);
    CHECK(file->text_or("behind", "none") == "none");
    const auto error_of = [](const std::string& after) {
        gguf_writer wrong;
        wrong.raw("key", 9, after);
        return read(wrong.bytes()).error();
    };
    CHECK(error_of(array_of(7, 1, "\2")).code == error_code::malformed);
    CHECK(error_of(array_of(9, 1, array_of(13, 1, "12345678"))).code == error_code::unknown);
    CHECK(error_of(array_of(8, 1, std::string_view{"\0\0\0\0\0\0\0\1", 8})).code == error_code::malformed);
    // A text takes eight bytes at least, an array twelve.
    CHECK(error_of(array_of(8, 50, std::string(200, '\0'))).value == "50");
    CHECK(error_of(array_of(9, 20, std::string(200, '\0'))).value == "20");
}

TEST_CASE("a number of 64 bits is at most 2^63 - 1, and flags are zero or one") {
    gguf_writer w;
    w.raw("large", 10, std::string(8, '\xff'));
    w.raw("largest", 10, std::string(7, '\xff') + '\x7f');
    w.raw("least", 11, std::string(7, '\0') + '\x80');
    w.flag("no", 0);
    const auto file = read(w.bytes());
    REQUIRE(file);
    CHECK(file->integer_or("large", 0) == INT64_MAX);
    CHECK(file->integer_or("largest", 0) == INT64_MAX);
    CHECK(file->integer_or("least", 0) == INT64_MIN);
    CHECK(file->find("no")->integer == 0);
    CHECK(file->integer_or("no", 5) == 5);  // a flag is no integer
}

TEST_CASE("tensors may touch, end with the file and have four dimensions") {
    gguf_writer w;
    w.tensor("a", {8});
    w.tensor("b", {2, 2, 2, 1});
    w.tensor("c", {2, 3, 4, 5}, gguf_type::I8);
    w.tensor("d", {3});
    std::string whole = w.bytes();
    const auto file = read(whole);
    REQUIRE(file);
    CHECK(file->tensors[1].offset == 32);
    CHECK(file->tensors[2].shape == std::array<std::uint64_t, 4>{2, 3, 4, 5});
    CHECK(file->tensors[2].dimensions == 4);
    CHECK(file->tensors[2].size == bytes(120));
    whole.resize(whole.size() - 20);  // the padding of three values
    CHECK(read(whole));
    whole.pop_back();
    refuses(whole, error_code::out_of_range, "d");
    w.tensor_at("e", {8}, 0, 64 + 96);  // over the end of c
    refuses(w.bytes(), error_code::inconsistent, "gguf.data");
    CHECK(read(w.bytes()).error().value == "160");
    gguf_writer large;
    large.tensor_at("t", {INT64_MAX}, static_cast<std::uint32_t>(gguf_type::I8), 0);
    refuses(large.bytes(), error_code::out_of_range, "t");
    gguf_writer largest;
    largest.tensor_at("t", {std::uint64_t{1} << 63, 0}, static_cast<std::uint32_t>(gguf_type::I8), 0);
    refuses(largest.bytes(), error_code::overflow, "t");
}

TEST_CASE("tensors may be listed in any order, and one that holds nothing may lie anywhere") {
    gguf_writer w;
    w.tensor_at("behind", {8}, 0, 32);
    w.tensor_at("before", {8}, 0, 0);
    w.tensor_at("nothing", {0}, 0, 32);
    w.with_data = false;
    std::string whole = w.bytes();
    whole.resize((whole.size() + 31) / 32 * 32 + 64);
    CHECK(read(whole));
    gguf_writer inside;
    inside.tensor("whole", {16});
    inside.tensor_at("nothing", {0}, 0, 32);
    CHECK(read(inside.bytes()));
    gguf_writer bytes_twice;
    bytes_twice.tensor("one", {1}, gguf_type::I8);
    bytes_twice.tensor_at("same", {1}, static_cast<std::uint32_t>(gguf_type::I8), 0);
    refuses(bytes_twice.bytes(), error_code::inconsistent, "gguf.data");
}

TEST_CASE("metadata that end early are refused where no tensor follows, and as many as end with the file are read") {
    const auto cut = [](const gguf_writer& w, std::size_t missing) {
        std::string file = w.bytes();
        file.resize(file.size() - missing);
        return read(file).error();
    };
    gguf_writer number, array, texts, nested;
    for (gguf_writer* w : {&number, &array, &texts, &nested}) w->with_data = false;
    number.integer("a key long enough", 7);
    for (const std::size_t missing : {1u, 4u}) {
        CHECK(cut(number, missing).code == error_code::malformed);
        CHECK(cut(number, missing).field == "a key long enough");
    }
    array.integers("a key long enough", {});
    for (const std::size_t missing : {1u, 9u}) CHECK(cut(array, missing).code == error_code::malformed);
    texts.texts("texts", std::vector<std::string>(20));
    CHECK(read(texts.bytes())->find("texts")->elements == 20);
    CHECK(cut(texts, 1).code == error_code::out_of_range);
    texts = {};
    texts.with_data = false;
    texts.texts("texts", {"eight by", ""});
    CHECK(cut(texts, 1).code == error_code::malformed);
    std::string after;
    gguf_writer::put(after, std::uint32_t{9});
    gguf_writer::put(after, std::uint64_t{20});
    for (int i = 0; i < 20; ++i) {
        gguf_writer::put(after, std::uint32_t{4});
        gguf_writer::put(after, std::uint64_t{0});
    }
    nested.raw("nested", 9, after);
    CHECK(read(nested.bytes())->find("nested")->elements == 20);
    gguf_writer tensor;
    tensor.with_data = false;
    tensor.tensor(std::string(60, 'a'), {1});
    CHECK(cut(tensor, 60 + 4 + 8 + 4 + 8 + 6).code == error_code::out_of_range);  // no room for a tensor
    tensor.tensor("", {1});
    tensor.tensor(std::string(40, 'n'), {1});
    CHECK(cut(tensor, 40 + 4 + 8 + 4 + 8 + 6).field == "gguf.tensor");
    gguf_writer many = small();
    many.pair_count = 300;
    refuses(many.bytes(), error_code::out_of_range, "gguf.metadata_count");
}

TEST_CASE("what a value is not is zero, and what is not read is one file of no tensors") {
    gguf_writer w;
    w.text("text", "7");
    w.real("real", 7);
    w.raw("double", 12, std::string(8, '\0'));
    const auto file = read(w.bytes());
    REQUIRE(file);
    CHECK(file->find("text")->integer == 0);
    CHECK(file->find("text")->number == 0);
    CHECK(file->find("text")->elements == 0);
    for (const char* key : {"real", "double"}) {
        CHECK(file->find(key)->is == gguf_value::kind::number);
        CHECK(file->integer_or(key, 5) == 5);
    }
    CHECK(file->files == 1);
    CHECK(gguf_file{}.version == 0);
    CHECK(gguf_tensor_info{}.dimensions == 0);
    CHECK(gguf_tensor_info{}.offset == 0);
    CHECK(gguf_tensor_info{}.file == 0);
    CHECK(read(small().bytes())->tensors[0].type == gguf_type::Q6_K);
    gguf_writer rows;
    rows.tensor_at("t", {100, 7}, 12, 0);
    CHECK(read(rows.bytes()).error().value == "100");
}

TEST_CASE("a file without tensors is all header, whatever its alignment, which is an integer") {
    for (const std::uint32_t alignment : {1u, 32u, 1u << 20}) {
        gguf_writer w;
        w.with_data = false;
        w.integer("general.alignment", alignment);
        const auto file = read(w.bytes());
        REQUIRE(file);
        CHECK(file->alignment == alignment);
        CHECK(file->header == file->size);
    }
    gguf_writer words, cut;
    words.text("general.alignment", "32");
    refuses(words.bytes(), error_code::out_of_range, "general.alignment");
    cut.with_data = false;
    cut.tensor_at("t", {0}, 0, 0);
    refuses(cut.bytes(), error_code::malformed, "gguf.data");
    for (const char* magic : {"lmgg", "fmgg", "algg"}) {
        gguf_writer older;
        older.magic = magic;
        refuses(older.bytes(), error_code::unsupported, "gguf.magic");
    }
    gguf_writer second;
    second.version = 2;
    CHECK(read(second.bytes())->version == 2);
    second.version = 1u << 16;
    CHECK(read(second.bytes()).error().value == "a big-endian number");
    second.version = 0;
    CHECK(read(second.bytes()).error().value == "0");
}

TEST_CASE("an empty file, and a header with nothing in it") {
    refuses("", error_code::malformed, "gguf.magic");
    const auto nothing = read(gguf_writer{}.bytes());
    REQUIRE(nothing);
    CHECK(nothing->tensors.empty());
    gguf_writer bare;
    bare.with_data = false;
    CHECK(read(bare.bytes()));
}
