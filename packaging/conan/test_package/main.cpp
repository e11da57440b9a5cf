// SPDX-License-Identifier: MIT
#include <llmres/values/version.hpp>
#if __has_include(<llmres/plan.hpp>)
#include <llmres/plan.hpp>
#endif

int main() { return llmres::version > llmres::version_number{} ? 0 : 1; }
