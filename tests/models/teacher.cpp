// SPDX-License-Identifier: MIT
#include <llmres/models/teacher.hpp>

#include <doctest/doctest.h>
#include <llmres/models/deepseek.hpp>
#include <llmres/models/qwen.hpp>
#include <type_traits>

using namespace llmres;

TEST_CASE("a teacher is a value, a small part of a model") {
    static_assert(std::is_trivially_copyable_v<teacher>);
    static_assert(sizeof(teacher) * 10 < sizeof(model));
    static_assert(!teacher{}.known());
    static_assert(teacher_of(models::qwen2_5_7b).known());
}

TEST_CASE("a teacher's weights are those of the model, as published or in another format") {
    const model& m = models::qwen2_5_7b;
    CHECK(teacher_of(m).held == weight_bytes(m, formats_of(m)));
    CHECK(teacher_of(m, fp32).held == weight_bytes(m, formats_of(m)) * 2);
    CHECK(teacher_of(m, fp32).weights == fp32);
    CHECK(teacher_of(m).vocabulary == m.vocabulary);
}

TEST_CASE("the layers of a teacher count as those that it has most of") {
    const model& m = models::deepseek_v3;  // three dense layers before 58 with experts
    const model taught = model_of(teacher_of(m));
    CHECK(taught.layers.size == m.layers.size);
    CHECK(taught.layers.kind_count == 1);
    CHECK(taught.layers[0] == m.layers[m.layers.size - 1]);
    CHECK(taught.architecture == m.architecture);
}
