// SPDX-License-Identifier: MIT
// The library of user functions, called as HTCondor calls it.
#include <doctest/doctest.h>

#include <classad/classad_distribution.h>

#include <list>
#include <string>
#include <string_view>

using namespace classad;

extern "C" ClassAdFunctionMapping* Init();

namespace {

Value value_of(const char* text) {
    Value made;
    made.SetStringValue(text);
    return made;
}
Value value_of(int number) {
    Value made;
    made.SetIntegerValue(number);
    return made;
}
Value value_of(Value value) { return value; }

template <class... Arguments>
Value call(std::string_view name, Arguments... arguments) {
    std::list<ExprTree> trees;
    (trees.emplace_back(value_of(arguments)), ...);
    ArgumentList list;
    for (ExprTree& tree : trees) list.push_back(&tree);
    using function = bool (*)(const char*, const ArgumentList&, EvalState&, Value&);
    Value result;
    for (const ClassAdFunctionMapping* f = Init(); f->function != nullptr; ++f)
        if (f->functionName == name) {
            EvalState state;
            REQUIRE(reinterpret_cast<function>(f->function)(f->functionName.c_str(), list, state, result));
        }
    return result;
}

bool is(const Value& value, bool expected) {
    bool held = !expected;
    return value.IsBooleanValue(held) && held == expected;
}

}  // namespace

TEST_CASE("a model fits a slot, or does not") {
    CHECK(is(call("llmres_fits", "llama-3.1-8b", "vllm", "h100-sxm5-80gb", 1, 8192, 8), true));
    CHECK(is(call("llmres_fits", "llama-3.1-70b", "vllm", "h100-sxm5-80gb", 1, 8192, 8), false));
    CHECK(is(call("llmres_fits", "llama-3.1-70b", "vllm", "h100-sxm5-80gb", 4, 8192, 8), true));
}

TEST_CASE("bytes are those of the busiest GPU, and a requirement compares them with its memory") {
    long long size = 0;
    REQUIRE(call("llmres_bytes", "llama-3.1-8b", "vllm", "rtx-4090", 1, 4096, 1).IsIntegerValue(size));
    CHECK(size > 16'000'000'000);  // the weights alone
    CHECK(size < 24LL << 30);
}

TEST_CASE("what a slot does not say is undefined, what is wrong is an error") {
    Value unknown;
    unknown.SetUndefinedValue();
    CHECK(call("llmres_fits", "llama-3.1-8b", "vllm", unknown, 1, 8192, 8).IsUndefinedValue());
    CHECK(call("llmres_fits", "llama-9-8b", "vllm", "h100-sxm5-80gb", 1, 8192, 8).IsErrorValue());
    CHECK(call("llmres_fits", "llama-3.1-8b", "vllm", "h100-sxm5-80gb", 0, 8192, 8).IsErrorValue());
    CHECK(call("llmres_fits", "llama-3.1-8b", "vllm", "h100-sxm5-80gb", 1, -1, 8).IsErrorValue());
    CHECK(call("llmres_fits", "llama-3.1-8b", "vllm", 80, 1, 8192, 8).IsErrorValue());
    CHECK(call("llmres_fits", "llama-3.1-8b").IsErrorValue());
}
