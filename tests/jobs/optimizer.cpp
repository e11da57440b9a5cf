// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/jobs/optimizer.hpp>
#include <type_traits>

using namespace llmres;

static_assert(std::is_trivially_copyable_v<optimizer>);

TEST_CASE("Adam keeps two moments as large as the tensor, SGD nothing") {
    CHECK(state_bytes(adamw, fp32, 4096, 4096) == mib(128));
    CHECK(state_bytes(sgd, fp32, 4096, 4096) == bytes(0));
}
TEST_CASE("8-bit Adam keeps a byte a value and a scale a block, and small tensors whole") {
    CHECK(state_bytes(adamw_8bit, fp32, 1024, 1024) == (mib(1) + bytes(4) * 4096) * 2);
    CHECK(state_bytes(adamw_8bit, fp32, 1, 1024) == bytes(8192));
}
TEST_CASE("bitsandbytes pages the states of tensors of 100,000 values and more, but not their scales") {
    CHECK(paged_bytes(paged_adamw, fp32, 1000, 100) == bytes(2 * 4 * 100'000));
    CHECK(paged_bytes(paged_adamw, fp32, 999, 100) == bytes(0));
    CHECK(paged_bytes(paged_adamw_8bit, fp32, 4096, 4096) == mib(32));
    CHECK(paged_bytes(adamw_8bit, fp32, 4096, 4096) == bytes(0));
}
TEST_CASE("Adafactor keeps a row and a column of a matrix") {
    CHECK(state_bytes(adafactor, fp32, 4096, 1024) == bytes(4 * (4096 + 1024)));
    CHECK(state_bytes(adafactor, fp32, 1, 1024) == bytes(4096));
}
TEST_CASE("Muon keeps one moment of the layers' matrices, and Adam's two of all else") {
    CHECK(state_bytes(muon, fp32, 64, 64, true) == bytes(64 * 64 * 4));
    CHECK(state_bytes(muon, fp32, 64, 64, false) == bytes(64 * 64 * 8));
    CHECK(state_bytes(muon, fp32, 1, 64, true) == bytes(64 * 8));
}
TEST_CASE("GaLore keeps the moments of a projection, and the projection") {
    CHECK(state_bytes(galore, bf16, 4096, 1024) == bytes(2 * (2 * 128 * 4096 + 128 * 1024)));
    // Of fp32 gradients the projection is a view of the whole decomposition.
    CHECK(state_bytes(galore, fp32, 4096, 1024) == bytes(4 * (2 * 128 * 4096 + 1024 * 1024)));
    CHECK(state_bytes(galore, bf16, 4096, 64) == bytes(2 * (2 * 64 * 4096 + 64 * 64)));
    CHECK(state_bytes(galore, bf16, 4096, 1024, false) == state_bytes(adamw, bf16, 4096, 1024));
}
TEST_CASE("APOLLO draws its projection, of its rank also where a side is shorter") {
    CHECK(state_bytes(apollo, fp32, 4096, 1024) == bytes(4 * (2 * 256 * 4096 + 256 * 1024)));
    CHECK(state_bytes(apollo, bf16, 128, 896) == bytes(2 * (2 * 256 * 896 + 256 * 128)));
}
TEST_CASE("Shampoo and SOAP keep a statistic and its root for each side") {
    CHECK(state_bytes(soap, fp32, 64, 32) == bytes(4 * (2 * 64 * 32 + 2 * (64 * 64 + 32 * 32))));
    CHECK(state_bytes(shampoo, fp32, 64, 32) == bytes(4 * (64 * 32 + 2 * (64 * 64 + 32 * 32))));
}
TEST_CASE("SOAP has no basis for sides beyond its widest, and takes embeddings too; Shampoo does not") {
    CHECK(state_bytes(soap, fp32, 32000, 64, false) == bytes(4 * (2 * 32000 * 64 + 2 * 64 * 64)));
    CHECK(state_bytes(shampoo, fp32, 32000, 64, false) == bytes(4 * 32000 * 64));
    CHECK(state_bytes(soap, fp32, 1, 64) == bytes(4 * 2 * 64));
}
TEST_CASE("a decomposition's vectors stand beside the matrix while it is stepped") {
    CHECK(scratch_bytes(galore, fp32, 64, 32) == bytes(4 * (64 * 32 + 32 * 32 + 64 * 128)));
    CHECK(scratch_bytes(shampoo, bf16, 64, 32) == bytes(4 * 4 * 64 * 64));
    CHECK(scratch_bytes(soap, fp32, 20000, 32) == bytes(4 * (1 + 4) * 32 * 32));
    CHECK(scratch_bytes(soap, fp32, 1, 32) == byte_count{});
    CHECK(scratch_bytes(adamw, fp32, 64, 32) == byte_count{});
}

TEST_CASE("Adam-mini keeps a moment of the tensor, and another of its rows, or of a vector's values") {
    CHECK(state_bytes(adam_mini, fp32, 100, 50) == bytes(4 * 100 * 50 + 4 * 100));
    CHECK(state_bytes(adam_mini, fp32, 1, 50) == bytes(4 * 50 + 4 * 50));
}
TEST_CASE("optimizers without decompositions have nothing beside a matrix while it is stepped") {
    for (const optimizer& o : {adamw, lion, muon, adafactor, adamw_8bit})
        CHECK(scratch_bytes(o, fp32, 100, 50) == byte_count{});
}

TEST_CASE("factored moments and projections are as small as two rows, and as one direction") {
    CHECK(state_bytes(adafactor, fp32, 2, 10) == bytes(4 * (2 + 10)));
    optimizer one = galore;
    one.rank = 1;
    CHECK(state_bytes(one, fp32, 10, 20) < state_bytes(adam, fp32, 10, 20));
}
