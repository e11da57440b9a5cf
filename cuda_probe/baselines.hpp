// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "cuda_api.hpp"

/// What this process takes of a device before it has allocated anything: watched through NVML, step by step.
namespace llmres::probe {

struct baselines {
    reading<byte_count> context{};      ///< by how much the used bytes grew with the context
    reading<byte_count> libraries{};    ///< and with cuBLAS's first product
    reading<byte_count> used_before{};  ///< NVML's used bytes before CUDA was touched
    reading<byte_count> used_with_context{};
    reading<byte_count> used_with_libraries{};
    reading<byte_count> cuda_free{};  ///< with context and libraries
    problem no_libraries{};           ///< why cuBLAS could not be opened
};

/// By how much a size grew; what others did meanwhile is in it.
inline reading<byte_count> growth(const reading<byte_count>& before, const reading<byte_count>& after) {
    if (!before || !after) return reading<byte_count>::unavailable(before ? after.why : before.why);
    if (*after < *before) return reading<byte_count>::unavailable("memory in use fell meanwhile: others moved");
    return *after - *before;
}

/// Opens the device's context and libraries; `b` knows what was in use before. Throws call_failed where the context
/// cannot be opened.
inline void open_watched(cuda_api& cuda, std::int32_t index, const std::function<reading<byte_count>()>& used,
                         baselines& b) {
    cuda.open_context(index);
    b.used_with_context = used();
    b.context = growth(b.used_before, b.used_with_context);
    if (b.context && *b.context == byte_count{})
        b.context = reading<byte_count>::unavailable("NVML shows no bytes for the context that was opened");
    b.no_libraries = problem_of([&] { cuda.open_libraries(); });
    b.used_with_libraries = b.no_libraries.empty() ? used() : reading<byte_count>::unavailable(b.no_libraries);
    b.libraries = growth(b.used_with_context, b.used_with_libraries);
    b.cuda_free = reading_of([&] { return cuda.memory().free; });
}

}  // namespace llmres::probe
