// SPDX-License-Identifier: MIT
#include <llmres/values/version.hpp>

#include <doctest/doctest.h>

TEST_CASE("versions are ordered by major, then minor, then patch") {
    using llmres::version_number;
    static_assert(version_number{0, 1, 0} < version_number{0, 1, 1});
    static_assert(version_number{0, 1, 9} < version_number{0, 2, 0});
    static_assert(version_number{0, 9, 9} < version_number{1, 0, 0});
    CHECK(llmres::version >= version_number{0, 1, 0});
}
