// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <llmres/io/files/gguf_model.hpp>
#include <llmres/io/files/gguf_stored.hpp>
#include <llmres/io/gguf.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/models/gguf/mix.hpp>
#include <llmres/models/gguf/tensors.hpp>
#include <llmres/models/model.hpp>
#include <llmres/models/parameters.hpp>
#include <llmres/models/weight_formats.hpp>
#include <llmres/values/error.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the headers of files of weights say: the model of a GGUF file, and where stored weights depart from those of a
/// model. Apart from io/model_source.hpp, since reading a job needs neither.
namespace llmres::inline v0 {

/// The model that the header of a GGUF file describes, with its mix of types.
inline result<model_source> model_source_of(const gguf_file& file);

/// Bytes of one sort of weight that were predicted and are stored, without padding.
struct stored_difference {
    std::string what{};       ///< a role's name, or a tensor's where it has none
    std::int32_t layer = -1;  ///< -1: outside the layers, or the sum over them
    byte_count predicted{};   ///< bytes that were predicted
    byte_count stored{};      ///< bytes that the file stores
};

/// What a file of weights holds.
struct stored_weights {
    byte_count files{};                            ///< the files with their headers
    byte_count tensors{};                          ///< the tensors without padding
    std::map<std::string, byte_count> by_role{};   ///< bytes of each role
    std::vector<stored_difference> differences{};  ///< where the files differ from what the model predicts
};

/// Where a GGUF file departs from the prediction, layer by layer. Gate and up count as one, and so do queries, keys and
/// values: files may fuse them.
inline std::vector<stored_difference> compare_gguf(const gguf_file& file, const model& m, const gguf_mix& mix);
/// Where a checkpoint departs from the prediction, over all layers, with multi-token prediction layers and pretraining
/// heads. What files may fuse counts as one, as in GGUF files, and so do the output projections of attention and of
/// recurrences.
inline std::vector<stored_difference> compare_safetensors(const safetensors_checkpoint& checkpoint, const model& m,
                                                          const weight_formats& formats);

/// What the header of a file says that it holds, compared with the model that it is said to hold.
inline stored_weights weights_in(const gguf_file& file, const model_source& said);
inline stored_weights weights_in(const safetensors_checkpoint& checkpoint, const model_source& said);

// ---- detail ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Predicted and stored bytes of each sort of weight in each layer.
class byte_comparison {
public:
    void predict(std::int32_t layer, const std::string& what, byte_count size) { found_[{layer, what}].first += size; }
    void store(std::int32_t layer, const std::string& what, byte_count size) { found_[{layer, what}].second += size; }

    std::vector<stored_difference> differences() const {
        std::vector<stored_difference> all;
        for (const auto& [place, sizes] : found_)
            if (sizes.first != sizes.second) all.push_back({place.second, place.first, sizes.first, sizes.second});
        return all;
    }

private:
    std::map<std::pair<std::int32_t, std::string>, std::pair<byte_count, byte_count>> found_{};
};

inline std::map<std::string, byte_count> with_own_names(const std::map<std::string_view, byte_count>& by_role) {
    return {by_role.begin(), by_role.end()};
}

}  // namespace detail

inline result<model_source> model_source_of(const gguf_file& file) {
    result<model> found = describe_gguf(file);
    const error refusal = found.error();
    const bool lacks = refusal.code == error_code::missing;
    if (!found && !lacks && refusal.code != error_code::unsupported) return refusal;
    const result<gguf_mix> named = gguf_mix_of(file);
    if (!named) return lacks ? refusal : named.error();
    gguf_mix mix = *named;
    mix.stored = detail::gguf::with_fused_types(gguf_stored_types_of(file));
    const maybe<model> weighed =
        found ? detail::gguf::described_weights{file, *found, mix}.as_stored() : maybe<model>{};
    if (weighed) {
        found = *weighed;
    } else {
        gguf_mix own = *named;
        const result<model> by_tensors = detail::gguf::model_from_tensors(file, own);
        if (!by_tensors && !found) return lacks ? refusal : by_tensors.error();
        if (by_tensors) {
            found = by_tensors;
            mix = own;
        }
    }
    model_source read{.model = *found, .gguf = mix};
    read.model.weights = gguf_main_format(file);
    return read;
}

inline std::vector<stored_difference> compare_gguf(const gguf_file& file, const model& m, const gguf_mix& mix) {
    detail::byte_comparison compared;
    const auto predict = [&](std::int32_t layer, const gguf_tensor& tensor) {
        compared.predict(layer, detail::fused_name_of(tensor.role), tensor.unpadded());
    };
    for (std::int32_t i = 0; i < m.layers.size; ++i)
        for_each_gguf_tensor(m, mix, i, [&](const gguf_tensor& tensor) { predict(i, tensor); });
    for_each_gguf_input_tensor(m, mix, [&](const gguf_tensor& tensor) { predict(-1, tensor); });
    for_each_gguf_output_tensor(m, mix, [&](const gguf_tensor& tensor) { predict(-1, tensor); });
    for (const gguf_tensor_info& tensor : file.tensors) {
        const maybe<weight_role> role = gguf_role(tensor.name);
        compared.store(gguf_layer(tensor.name), role ? detail::fused_name_of(*role) : tensor.name, tensor.size);
    }
    return compared.differences();
}

inline std::vector<stored_difference> compare_safetensors(const safetensors_checkpoint& checkpoint, const model& m,
                                                          const weight_formats& formats) {
    detail::byte_comparison compared;
    const auto name_of_sort = [](weight_role role) {
        return detail::fused_name_of(role == weight_role::out_proj ? weight_role::o_proj : role);
    };
    const auto predict = [&](const weight& w, std::int64_t layers) {
        compared.predict(-1, name_of_sort(w.role), size_of(w, formats) * layers);
    };
    for_each_weight(m, predict);
    for_each_prediction_weight(m, [&](const weight& w) { predict(w, m.prediction.layers); });
    for_each_apart_weight(m, [&](const weight& w) { predict(w, 1); });
    for (const safetensors_tensor& tensor : checkpoint.tensors) {
        const maybe<weight_role> role = safetensors_role(tensor.name);
        compared.store(-1, role ? name_of_sort(*role) : "other", tensor.size());
    }
    return compared.differences();
}

inline stored_weights weights_in(const gguf_file& file, const model_source& said) {
    stored_weights found{.files = file.size, .by_role = detail::with_own_names(gguf_bytes_by_role(file))};
    for (const gguf_tensor_info& tensor : file.tensors) found.tensors += tensor.size;
    if (said.gguf) {
        gguf_mix predicted = *said.gguf;
        predicted.stored = {};
        found.differences = compare_gguf(file, said.model, predicted);
    }
    return found;
}

/// The weights of a checkpoint, held against the model.
inline stored_weights weights_in(const safetensors_checkpoint& checkpoint, const model_source& said) {
    return {.files = checkpoint.size,
            .tensors = checkpoint.tensor_bytes(),
            .by_role = detail::with_own_names(safetensors_bytes_by_role(checkpoint)),
            .differences = compare_safetensors(checkpoint, said.model, formats_of(said.model))};
}

}  // namespace llmres::inline v0
