// SPDX-License-Identifier: MIT
// A config.json that may hold anything: read, or refused by name; what is read can be counted and sized.
#include <cstddef>
#include <cstdint>
#include <llmres/io/files/gguf_model.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/kv_cache.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <string_view>

#include "require.hpp"

using namespace llmres;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text{reinterpret_cast<const char*>(data), size};
    const result<json_document> document = parse_json_object(text);
    if (!document) {
        // A key may be empty, and then so is the field that is named.
        require(document.error().code != error_code::none && !document.error().expected.empty(),
                "a failure says what was expected");
        return 0;
    }
    const result<model> m = read_hf_config(text);
    if (!m)
        require(m.error().code != error_code::none && !m.error().expected.empty(), "a failure says what was expected");
    const gguf_mix mix{.quantisation = gguf_quantisation::Q4_K_M};
    if (!m) return 0;
    require(static_cast<bool>(validate(*m)), "a model that is read is valid");
    const parameter_count total = count_parameters(*m);
    require(total > parameter_count{} && !is_saturated(total), "parameters are counted");
    require(count_active_parameters(*m) <= total, "active parameters are some of them");
    require(weight_bytes(*m, formats_for(bf16)) >= byte_count{}, "weights are sized");
    require(weight_bytes(*m, formats_of(*m)) >= byte_count{}, "weights are sized in their formats");
    require(gguf_tensor_bytes(*m, mix) >= byte_count{}, "GGUF tensors are sized");
    require(kv_cache_bytes(*m, bf16, tokens(4096)) >= byte_count{}, "the cache is sized");
    return 0;
}
