// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/optimizer.hpp>
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
    CHECK(state_bytes(galore, fp32, 4096, 1024) == bytes(4 * (2 * 128 * 4096 + 128 * 1024)));
}
TEST_CASE("Shampoo and SOAP keep a statistic and its root for each side") {
    CHECK(state_bytes(soap, fp32, 64, 32) == bytes(4 * (2 * 64 * 32 + 2 * (64 * 64 + 32 * 32))));
}
TEST_CASE("an unknown optimizer is refused with the nearest names") {
    const auto found = find_optimizer("adamm");
    REQUIRE(!found);
    CHECK(found.error().code == error_code::unknown);
    CHECK(found.error().field == "optimizer");
    for (const optimizer& o : optimizers) CHECK(find_optimizer(o.name.view()));
}
