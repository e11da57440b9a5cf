// SPDX-License-Identifier: MIT
// The compiler counts every preset, and refuses one whose total is not the published one.
#include <llmres/models/all.hpp>
#include <llmres/models/parameters.hpp>

namespace {

template <const llmres::model& Model>
constexpr bool counted = !Model.published || llmres::count_parameters(Model) == *Model.published;

template <const auto& Table, std::size_t... Index>
constexpr bool all_counted(std::index_sequence<Index...>) {
    return (counted<*Table[Index]> && ...);
}

}  // namespace

static_assert(all_counted<llmres::models::all>(std::make_index_sequence<llmres::models::all.size()>{}));
