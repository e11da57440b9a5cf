// SPDX-License-Identifier: MIT
#include <llmres/io/files/byte_source.hpp>
#include <llmres/io/files/open.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "scratch.hpp"

using namespace llmres;
using namespace llmres::detail;

namespace {

/// Two windows and a bit, no two neighbours alike.
std::string content() {
    std::string made;
    for (int i = 0; i < (130 << 10); ++i) made += static_cast<char>(i * 7 + i / 256);
    return made;
}

struct file {
    run_program::scratch folder;
    std::filesystem::path path;
    explicit file(const std::string& bytes_of_it) : path{folder.file("bytes", bytes_of_it)} {}
};

}  // namespace

TEST_CASE("a file gives the bytes that memory gives, across the windows it is read in") {
    const std::string all = content();
    const file here{all};
    result<byte_source> opened = open_bytes("test", here.path);
    REQUIRE(opened);
    byte_source from_file = *std::move(opened);
    byte_source from_memory{std::as_bytes(std::span{all})};
    CHECK(from_file.size() == all.size());
    for (byte_source* source : {&from_file, &from_memory}) {
        std::string read;
        REQUIRE(source->skip((64 << 10) - 3));
        REQUIRE(source->read_text(8, read));  // from one window into the next
        CHECK(read == all.substr((64 << 10) - 3, 8));
        REQUIRE(source->read_text(source->remaining(), read));
        CHECK(read == all.substr((64 << 10) + 5));
        CHECK(source->position() == all.size());
    }
}

TEST_CASE("more than there is is not read, and the place stays where it was") {
    const std::string all = "abcdef";
    byte_source source{std::as_bytes(std::span{all})};
    std::string text = "before";
    std::uint64_t number = 7;
    REQUIRE(source.skip(4));
    CHECK_FALSE(source.skip(3));
    CHECK_FALSE(source.read_text(3, text));
    CHECK_FALSE(source.read_text(~std::uint64_t{0}, text));  // nothing is allocated for it
    CHECK_FALSE(source.read_little_endian<4>(number));
    CHECK(text == "before");
    CHECK(number == 7);
    CHECK(source.position() == 4);
    REQUIRE(source.read_little_endian<2>(number));
    CHECK(number == 'e' + 256 * 'f');
    CHECK(source.remaining() == 0);
    CHECK(source.read_text(0, text));
}

TEST_CASE("what is no regular file is refused, with its path") {
    const auto folder = open_bytes("gguf", std::filesystem::temp_directory_path());
    REQUIRE_FALSE(folder);
    CHECK(folder.error().code == error_code::io);
    CHECK(folder.error().field == "gguf");
    CHECK_FALSE(open_bytes("gguf", "no/such/file"));
}

TEST_CASE("names from strangers are shown without control characters, and never as nothing") {
    CHECK(printable("a\nb\x1b[0m\x7f") == "a?b?[0m?");
    CHECK(printable("") == "(empty)");
    CHECK(printable(std::string(500, 'x')).size() == 100);
    CHECK(printable("größe") == "größe");
}
