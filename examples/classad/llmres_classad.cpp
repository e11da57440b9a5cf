// SPDX-License-Identifier: MIT
// User functions for HTCondor's ClassAds (CLASSAD_USER_LIBS): what a model takes of a GPU, and whether it fits
// (README.md).
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/hardware/standard_cluster.hpp>
#include <llmres/models/all.hpp>
#include <llmres/plan.hpp>
#include <llmres/runtimes/all.hpp>

#include <classad/classad_distribution.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

namespace {

using classad::ArgumentList;
using classad::EvalState;
using classad::Value;

/// What both functions take: (Model, Runtime, Gpu, Gpus, Context, Batch).
struct question {
    std::string model, runtime, gpu;
    long long gpus = 0, context = 0, batch = 0;
};

enum class argument_state { known, undefined, wrong };

/// Undefined where an argument is: a slot that does not say which GPU it has neither matches nor fails.
argument_state read(const ArgumentList& arguments, EvalState& state, question& asked) {
    if (arguments.size() != 6) return argument_state::wrong;
    std::array<Value, 6> values;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!arguments[i]->Evaluate(state, values[i])) return argument_state::wrong;
        if (values[i].IsUndefinedValue()) return argument_state::undefined;
    }
    const bool read = values[0].IsStringValue(asked.model) && values[1].IsStringValue(asked.runtime) &&
                      values[2].IsStringValue(asked.gpu) && values[3].IsIntegerValue(asked.gpus) &&
                      values[4].IsIntegerValue(asked.context) && values[5].IsIntegerValue(asked.batch);
    const bool counted = asked.gpus > 0 && asked.gpus <= 1'000'000 && asked.context > 0;
    return read && counted ? argument_state::known : argument_state::wrong;
}

/// The plan in the layout that the planner chooses, or the reason why there is none.
llmres::result<llmres::job_plan> answer(const question& asked) {
    const auto model = llmres::find_model(asked.model);
    if (!model) return model.error();
    const auto runtime = llmres::find_runtime(asked.runtime);
    if (!runtime) return runtime.error();
    const auto card = llmres::find_gpu(asked.gpu);
    if (!card) return card.error();
    const auto cluster = llmres::standard_cluster(*card, static_cast<std::int32_t>(asked.gpus));
    if (!cluster) return cluster.error();
    return llmres::plan(
        {.model = *model, .batch = asked.batch, .context = llmres::tokens(asked.context), .runtime = *runtime},
        *cluster);
}

/// Evaluates the arguments and lets `say` put the plan into the result. Wrong arguments, unknown names and jobs that
/// cannot be planned are ERROR, as ClassAd's own functions have it. No exception may leave it.
template <class Say>
bool evaluate(const ArgumentList& arguments, EvalState& state, Value& result, Say&& say) {
    result.SetErrorValue();
    try {
        question asked;
        switch (read(arguments, state, asked)) {
            case argument_state::undefined: result.SetUndefinedValue(); break;
            case argument_state::wrong: break;
            case argument_state::known:
                if (const auto planned = answer(asked)) say(*planned);
        }
    } catch (const std::exception&) {
        result.SetErrorValue();
    }
    return true;
}

/// llmres_bytes(...): bytes of the busiest GPU, at the upper bound.
bool bytes_needed(const char*, const ArgumentList& arguments, EvalState& state, Value& result) {
    return evaluate(arguments, state, result, [&](const llmres::job_plan& p) {
        result.SetIntegerValue(p.memory.total().high.in(llmres::bytes));
    });
}

/// llmres_fits(...): whether the verdict is `fits`.
bool fits(const char*, const ArgumentList& arguments, EvalState& state, Value& result) {
    return evaluate(arguments, state, result,
                    [&](const llmres::job_plan& p) { result.SetBooleanValue(p.verdict == llmres::verdict::fits); });
}

}  // namespace

/// HTCondor looks this up by its name.
extern "C" classad::ClassAdFunctionMapping* Init() {
    static std::array functions{
        classad::ClassAdFunctionMapping{"llmres_bytes", reinterpret_cast<void*>(bytes_needed), 0},
        classad::ClassAdFunctionMapping{"llmres_fits", reinterpret_cast<void*>(fits), 0},
        classad::ClassAdFunctionMapping{"", nullptr, 0},
    };
    return functions.data();
}
