// SPDX-License-Identifier: MIT
#include <llmres/io/files/byte_source.hpp>
#include <llmres/io/files/open.hpp>

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

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

TEST_CASE("bytes are read in pieces of at most 64 KiB, and each piece once") {
    const std::string all = content();
    std::vector<std::size_t> pieces;
    byte_source source{all.size(), [&](std::uint64_t position, std::span<std::byte> to) {
                           const std::size_t length = std::min(to.size(), all.size() - position);
                           std::memcpy(to.data(), all.data() + position, length);
                           pieces.push_back(to.size());
                           return length;
                       }};
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 130; ++i) {
        for (std::size_t k = 0; k < 128; ++k) REQUIRE(source.read_little_endian<8>(number));
        CHECK(static_cast<char>(number >> 56) == all[(i + 1) * 1024 - 1]);
    }
    CHECK(pieces == std::vector<std::size_t>(3, 64 << 10));
    CHECK_FALSE(source.read_little_endian<1>(number));
}

TEST_CASE("what a file no longer holds is not read, though it was there when it was opened") {
    byte_source source{
        100, [](std::uint64_t position, std::span<std::byte> to) { return position == 0 ? to.size() / 2 : 0; }};
    std::string text;
    CHECK(source.read_text(50, text));
    CHECK_FALSE(source.read_text(50, text));
    CHECK(byte_source{}.size() == 0);
    CHECK_FALSE(byte_source{}.read(text.data(), 1));
}

TEST_CASE("all that is left may be skipped") {
    byte_source source{std::as_bytes(std::span{"abc", 3})};
    CHECK(source.skip(3));
    CHECK(source.skip(0));
    CHECK(source.remaining() == 0);
}

TEST_CASE("a text is read up to the largest that is allowed; what cannot be opened is refused, and read no further") {
    const file here{"12345"};
    CHECK(*read_text("config", here.path, 5, "five") == "12345");
    CHECK(read_text("config", here.path, 4, "four").error().code == error_code::io);
    CHECK(read_text("config", here.path, 4, "four").error().expected == "four");
    CHECK(read_object("config", here.folder.path() / "absent", 5, "five").error().code == error_code::io);
    CHECK(read_object("config", here.path, 5, "five").error().code == error_code::malformed);
    rlimit files{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
    const rlimit none{0, files.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    const auto bytes_of = open_bytes("gguf", here.path);
    const auto text_of = read_text("config", here.path, 5, "five");
    REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
    CHECK(bytes_of.error().code == error_code::io);
    CHECK(text_of.error().code == error_code::io);
}

TEST_CASE("a pipe, which would wait for its writer, is refused and not opened") {
    const run_program::scratch folder;
    const std::filesystem::path pipe = folder.path() / "pipe";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    alarm(30);  // ends the tests where it is opened
    CHECK_FALSE(open_bytes("gguf", pipe));
    CHECK_FALSE(read_text("config", pipe, 5, "five"));
    alarm(0);
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
    CHECK(printable("a name") == "a name");
    CHECK(printable("") == "(empty)");
    CHECK(printable(std::string(500, 'x')).size() == 100);
    CHECK(printable("größe") == "größe");
}
