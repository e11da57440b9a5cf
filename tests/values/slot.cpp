// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <array>
#include <llmres/values/slot.hpp>

using llmres::detail::slot;

TEST_CASE("a slot has the value that it was set to, in a constant expression too, whatever others have") {
    constexpr int third = [] {
        std::array<slot<int>, 8> slots;
        slots[2] = slot<int>{3};
        return slots[2].value;
    }();
    CHECK(third == 3);
    static_assert(sizeof(slot<int>) == sizeof(int));
}
