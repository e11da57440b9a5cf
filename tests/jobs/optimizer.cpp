// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/jobs/optimizer.hpp>
#include <type_traits>
#include <utility>

using namespace llmres;

static_assert(std::is_trivially_copyable_v<optimizer>);

namespace {

optimizer sgd_without_a_name() {
    optimizer o = sgd;
    o.name = {};
    return o;
}

}  // namespace

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

TEST_CASE("an optimizer of which nothing is said keeps no state, has no temporaries, and treats all tensors alike") {
    optimizer none;
    CHECK(none == sgd_without_a_name());
    CHECK(is_element_wise(none));
    for (const bool inner : {false, true}) {
        CHECK(state_bytes(none, fp32, 64, 64, inner) == byte_count{});
        CHECK(scratch_bytes(none, fp32, 64, 64, inner) == byte_count{});
    }
    CHECK(paged_bytes(none, fp32, 1000, 1000) == byte_count{});
}

TEST_CASE("only optimizers whose states are those of each value keep as many of any part of a tensor") {
    for (const optimizer& o : {sgd, sgd_momentum, adam, adamw, lion, nadam, lamb, lomo, paged_adamw}) {
        CAPTURE(o.name.view());
        CHECK(is_element_wise(o));
        CHECK(state_bytes(o, fp32, 8192, 512) == state_bytes(o, fp32, 4096, 512) * 2);
    }
    for (const optimizer& o : {muon, adafactor, adam_mini, shampoo, soap, galore, apollo, adamw_8bit, lion_8bit}) {
        CAPTURE(o.name.view());
        CHECK_FALSE(is_element_wise(o));
    }
    optimizer plain_matrices = adamw;  // of matrices it has no moments
    plain_matrices.matrix_moments = 0;
    CHECK_FALSE(is_element_wise(plain_matrices));
    CHECK(state_bytes(plain_matrices, fp32, 64, 64) == byte_count{});
    CHECK(state_bytes(plain_matrices, fp32, 1, 64) == bytes(2 * 4 * 64));
    optimizer one_value_a_block = adamw;
    one_value_a_block.block = 1;  // a byte and a scale of four for each value
    CHECK_FALSE(is_element_wise(one_value_a_block));
    CHECK(state_bytes(one_value_a_block, fp32, 64, 64) == bytes(2 * 5 * 64 * 64));
    CHECK(paged_bytes(one_value_a_block, fp32, 1000, 1000) == byte_count{});
    one_value_a_block.states = state_kind::paged;
    CHECK(paged_bytes(one_value_a_block, fp32, 1000, 1000) == bytes(2 * 1'000'000));
    optimizer one_direction = adamw;
    one_direction.rank = 1;
    CHECK_FALSE(is_element_wise(one_direction));
}

TEST_CASE("a tensor of 4,096 values is the smallest whose states bitsandbytes quantises") {
    CHECK(state_bytes(adamw_8bit, fp32, 64, 64) == (bytes(4096) + bytes(4) * 16) * 2);
    CHECK(state_bytes(adamw_8bit, fp32, 1, 4095) == bytes(2 * 4 * 4095));
}

TEST_CASE("two rows, or two columns, are a matrix, and one of either is a vector") {
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{2, 300}, {300, 2}}) {
        CAPTURE(rows);
        const std::int64_t both = 4 * (rows + columns), values = 4 * rows * columns;
        CHECK(state_bytes(adafactor, fp32, rows, columns) == bytes(both));
        CHECK(state_bytes(muon, fp32, rows, columns) == bytes(values));
        CHECK(state_bytes(adam_mini, fp32, rows, columns) == bytes(values + 4 * rows));
        CHECK(state_bytes(shampoo, fp32, rows, columns) == bytes(values + 2 * 4 * (rows * rows + columns * columns)));
        CHECK(state_bytes(galore, fp32, rows, columns) == bytes(4 * (2 * 2 * 300 + 2 * 2)));
        CHECK(scratch_bytes(shampoo, fp32, rows, columns) == bytes(4 * 4 * 300 * 300));
    }
    for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 300}, {300, 1}}) {
        CAPTURE(rows);
        CHECK(state_bytes(adafactor, fp32, rows, columns) == bytes(4 * 300));
        CHECK(state_bytes(muon, fp32, rows, columns) == bytes(2 * 4 * 300));
        CHECK(state_bytes(shampoo, fp32, rows, columns) == bytes(4 * 300));
        CHECK(state_bytes(galore, fp32, rows, columns) == bytes(2 * 4 * 300));
        for (const optimizer& o : {shampoo, soap, galore, apollo})
            CHECK(scratch_bytes(o, fp32, rows, columns) == byte_count{});
    }
}

TEST_CASE("SOAP has a basis for a side as wide as its widest, be that one value") {
    optimizer narrow = soap;
    for (const std::int64_t widest : {1, 64}) {
        narrow.widest_side = widest;
        const std::int64_t basis = widest == 64 ? 64 * 64 : 0;
        for (const bool inner : {false, true}) {
            CHECK(state_bytes(narrow, fp32, 64, 128, inner) == bytes(4 * (2 * 64 * 128 + 2 * basis)));
            CHECK(scratch_bytes(narrow, fp32, 64, 128, inner) == bytes(4 * 4 * basis));
        }
    }
    CHECK(scratch_bytes(shampoo, fp32, 64, 128, false) == byte_count{});  // embeddings have no statistics there
}

TEST_CASE("a basis of 16-bit states is found in fp32: three more squares of fp32, and two of its own format") {
    // soap.py, get_orthogonal_matrix_qr, of a square matrix of 64: the update of the statistic of the second side
    // (bf16), and for the first side the bases found so far (two in bf16), and three in fp32; the second's statistic
    // stands.
    CHECK(scratch_bytes(soap, bf16, 64, 64) == bytes(64 * 64 * (2 + 2 + 2 * 2 + 3 * 4)));
    CHECK(scratch_bytes(soap, bf16, 64, 32) == bytes(32 * 32 * 2 + 64 * 64 * (2 * 2 + 3 * 4)));
}

TEST_CASE("projections of 16-bit gradients are found in fp32") {
    const std::int64_t rows = 64, columns = 32;
    for (const optimizer& o : {galore, apollo}) {
        CAPTURE(o.name.view());
        const byte_count in_fp32 = scratch_bytes(o, fp32, rows, columns);
        const byte_count cast = o == galore ? bytes(2 * 32 * 128) : byte_count{};  // of the singular vectors
        CHECK(scratch_bytes(o, bf16, rows, columns) == in_fp32 + bytes(4 * rows * columns) + cast);
        CHECK(scratch_bytes(o, fp32, columns, rows) == in_fp32);
        CHECK(scratch_bytes(o, fp32, rows, columns, false) == byte_count{});
    }
    CHECK(scratch_bytes(apollo, fp32, 64, 32) == bytes(2 * 4 * 256 * 32));  // drawn, and scaled
    optimizer one = galore;
    one.rank = 1;
    CHECK(scratch_bytes(one, fp32, 64, 32) == bytes(4 * (64 * 32 + 32 * 32 + 64)));
}

TEST_CASE("an optimizer that widens has its states in fp32, whatever the job's format") {
    CHECK(state_bytes(adafactor_hf, bf16, 100, 50) == bytes(4 * (100 + 50)));
    CHECK(state_bytes(adafactor, bf16, 100, 50) == bytes(2 * (100 + 50)));
}
