// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/memory/breakdown.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/text.hpp>
#include <llmres/values/units.hpp>
#include <utility>

/// Does this job fit on these GPUs, in which layout, how fast, and what limits it?
///
///     const auto answer = llmres::plan(job, layout, cluster);      // result<job_plan>: the plan, or what is wrong
///     if (answer && answer->verdict == llmres::verdict::fits) ...
///     static_assert(llmres::fits(job, layout, cluster));           // the same, before the program runs
namespace llmres::inline v0 {

/// Shows both sizes and the largest term in the compiler's message when an assertion on it fails.
template <std::int64_t NeededMiB, std::int64_t AvailableMiB, memory_term LargestTerm>
struct memory_in_mib {
    static constexpr bool fits = NeededMiB <= AvailableMiB;  ///< whether that much is available
};

/// A text of exactly so many letters and a zero, which compilers show as one.
template <std::size_t Size>
struct shown_text {
    char letters[Size]{};  ///< the letters, and a zero
};

/// Shows in the compiler's message which field is wrong, what it held, and what was expected of it.
template <shown_text Field, shown_text Value, shown_text... Expected>
struct refused_input {
    static constexpr bool accepted = false;  ///< there is no plan
};

/// Asserts at compile time that a plan fits. The compiler's message names needed and available MiB and the largest
/// term; where there is no plan, the field that is wrong and what was expected. Takes a plan or the result of plan().
///     static constexpr auto answer = llmres::plan(job, layout, cluster);
///     static_assert(llmres::must_fit<answer>());
template <const auto& Answer>
constexpr bool must_fit();

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The plan that was made; null where there is none. (GCC 12 fails on a plan inside a result as a template's argument,
/// where the result is a member of a class template.)
constexpr const job_plan* plan_in(const job_plan& made) { return &made; }
constexpr const job_plan* plan_in(const result<job_plan>& answer) { return answer ? &*answer : nullptr; }

/// `Size` letters of a text from `First` on.
template <std::size_t First, std::size_t Size, std::size_t Capacity>
constexpr shown_text<Size + 1> shown_part(const text<Capacity>& whole) {
    shown_text<Size + 1> part;
    for (std::size_t i = 0; i < Size; ++i) part.letters[i] = whole.view()[First + i];
    return part;
}

/// Letters of one line of what was expected: Clang shows no more than 36 of a text.
inline constexpr std::size_t shown_line = 35;

/// The error of a plan as a refused_input, what was expected in lines.
template <const auto& Answer,
          class Lines = std::make_index_sequence<(Answer.error().expected.view().size() + shown_line - 1) / shown_line>>
struct shown_error;
template <const auto& Answer, std::size_t... Line>
struct shown_error<Answer, std::index_sequence<Line...>> {
    static constexpr error wrong = Answer.error();
    static constexpr std::size_t letters(std::size_t line) {
        const std::size_t left = wrong.expected.view().size() - line * shown_line;
        return left < shown_line ? left : shown_line;
    }
    using type = refused_input<shown_part<0, wrong.field.view().size()>(wrong.field),
                               shown_part<0, wrong.value.view().size()>(wrong.value),
                               shown_part<Line * shown_line, letters(Line)>(wrong.expected)...>;
};

}  // namespace detail

template <const auto& Answer>
constexpr bool must_fit() {
    constexpr const job_plan* made = detail::plan_in(Answer);
    if constexpr (made == nullptr) {
        static_assert(detail::shown_error<Answer>::type::accepted, "there is no such plan");
        return false;
    } else {
        constexpr auto in_mib = [](byte_count size) { return div_up(size, mib(1).in(bytes)).in(bytes); };
        static_assert(
            memory_in_mib<in_mib(made->memory.total().high), in_mib(made->usable), made->memory.largest()>::fits,
            "the job does not fit");
        return made->verdict == verdict::fits;
    }
}

}  // namespace llmres::inline v0
