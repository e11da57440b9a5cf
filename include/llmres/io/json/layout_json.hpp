// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <llmres/io/json/writer.hpp>
#include <llmres/jobs/layout.hpp>
#include <string>

/// Layouts as JSON.
namespace llmres::inline v0 {

/// The layers of each pipeline stage or chunk, as read_stages() reads them: 20|22|22|16.
inline std::string to_text(const stage_list& stages) {
    std::string shown;
    for (std::size_t c = 0; c < stages.chunks; ++c)
        shown += (c > 0 ? "|" : "") + std::to_string(stages.layers[c]) + (stages.prediction == c + 1 ? "m" : "");
    return shown;
}

/// A layout. Keys of an uneven split of layers over stages are there only where the split is uneven.
inline json_value to_json(const layout& l) {
    json_value shown = detail::json_object({{"tensor", l.tensor},
                                            {"sequence_parallel", l.sequence_parallel},
                                            {"pipeline", l.pipeline},
                                            {"virtual_pipeline", l.virtual_pipeline},
                                            {"data", l.data},
                                            {"context_parallel", l.context_parallel},
                                            {"expert", l.expert},
                                            {"expert_tensor", l.expert_tensor_ranks()},
                                            {"zero", l.zero},
                                            {"shard_replicas", l.shard_replicas},
                                            {"micro_batch_group", l.micro_batch_group},
                                            {"schedule", name_of(l.schedule)},
                                            {"cp_comm_type", name_of(l.cp_comm_type)},
                                            {"replicas", l.replicas}});
    if (l.stages.chunks > 0) shown["stages"] = to_text(l.stages);
    if (l.first_stage_layers > 0) shown["first_stage_layers"] = l.first_stage_layers;
    if (l.last_stage_layers > 0) shown["last_stage_layers"] = l.last_stage_layers;
    if (l.embedding_as_layer) shown["embedding_as_layer"] = true;
    if (l.loss_as_layer) shown["loss_as_layer"] = true;
    return shown;
}

}  // namespace llmres::inline v0
