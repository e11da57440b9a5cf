// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <llmres/io/job_fields.hpp>
#include <optional>
#include <string>
#include <string_view>

/// What the words of an answer mean that are no term of memory or time: `llmres explain WORD`.
namespace program {

/// A word of answers.
struct answer_word {
    std::string_view name;  ///< several with bars between them
    std::string_view means;
};

// clang-format off
inline constexpr auto answer_words = std::to_array<answer_word>({
    {"fits", "a verdict: the upper bound of what the busiest GPU needs is at most what the job may take of it, and nothing "
             "else forbids the job (`why` says what does)"},
    {"tight", "a verdict: the job fits only if the estimates turn out below their upper bounds, or if something holds that "
              "nobody said (the main memory of the host, a layout that the engine has and nobody tried); `why` names it"},
    {"does_not_fit", "a verdict: the lower bound of what the busiest GPU needs is more than the job may take of it, or the "
                     "engine does not run the job so; `why` says which, `helps` what would mend it"},
    {"bounds|low|high|expected", "the least and the most that a size or a time is held to be, and the value between them that "
                                 "is most likely; a verdict is of the bounds, not of the expected value"},
    {"usable", "the memory of a GPU that the job may take: what the device has, less what others and the driver hold, and at "
               "most the fraction that the engine takes (`gpu_memory_utilization`, `mem_fraction_static`)"},
    {"layout", "degrees of parallelism: GPUs = data x tensor x pipeline x context_parallel; experts and ZeRO shard within "
               "these; `chosen` stands behind what nobody gave"},
    {"reserves|reserved", "memory that the engine takes of the GPU when it starts, with a pool of caches that fills what is left"},
    {"phase|prefill|loss|backward|forward|decode|load|start", "the moment at which the busiest GPU is fullest: prompts are computed (prefill), tokens are "
        "generated (decode), the logits' loss, the backward pass, the optimizer's step, the weights are loaded, the engine starts"},
    {"first_token|ttft|time_to_first_token", "seconds from the arrival of a prompt to its first generated token"},
    {"per_token|tpot|itl|time_per_token", "seconds from one generated token of a sequence to its next"},
    {"inputs_per_second|requests_per_second", "texts that a model which embeds, scores or classifies reads in a second; of a server, "
        "the requests that arrive in one"},
    {"rollout|rollouts|reinforcement|phases|critic|synchronisation", "reinforcement learning: an engine generates answers (a rollout), a critic and "
        "the policy are trained on them, and the engine receives the new weights; each phase stands beside what the others keep of the GPU"},
    {"resident|own", "of a phase of reinforcement learning: what other phases keep on the GPU meanwhile, and what it takes itself"},
    {"log_probabilities|scores_again", "forward passes over generated answers before they are trained on: the policy's, its reference's and a critic's"},
    {"goodput", "the part of a run's time in which steps are computed that count: the rest goes to checkpoints, restarts, and steps "
                "that are computed again after a failure (--mtbf, --checkpoint, --restart; Daly 2006)"},
    {"failures", "failures that are expected in the time of a run: its length over the mean time between two of them (--mtbf, or "
                 "--gpu_mtbf over the number of GPUs)"},
    {"steady|in_flight", "a server on which as many sequences as said are computed all the time: prompts of new sequences share "
                         "steps with the tokens of others"},
    {"bottleneck", "the largest term of the time of a step or a token"},
    {"mfu", "model FLOPs utilisation: FLOPs that the model needs (recomputation not counted) / (seconds x peak FLOPs of the "
            "GPUs in the arithmetic of the job); arXiv 2204.02311, appendix B"},
    {"pool|caches|admitted", "the pool of KV-cache blocks that an engine fills its share of the GPU with, and how many sequences "
                             "of the context it admits at once"},
    {"checkpoint|checkpoints", "in storage, weights (and, to go on training, master weights and optimizer states) of all ranks: the "
        "answer's line `saves`; with recompute full another thing, the inputs of layers that are kept for the backward pass"},
    {"saves|saving|gathered|sharded", "the checkpoint that a training job writes (--storage_bandwidth, --checkpoint_files): gathered, "
        "one process writes whole tensors, and holds in main memory what other ranks have of them; sharded, each writes its part"},
    {"loads|loading", "the bytes of weights that an engine reads when it starts, and the seconds that storage or the link from main "
        "memory take for them at least (--storage_bandwidth)"},
    {"assumed", "fields of the job that nobody named, with the values that were taken for them"},
    {"why|reason|reasons", "what makes the verdict, with the figures that forbid the job or that it depends on"},
    {"helps|remedies|remedy", "changes of the job with which it fits, each planned; the command runs as printed"},
    {"limits", "the largest batch and the longest context of this layout, and the fewest GPUs, that still fit by the upper bounds"},
    {"profile|measured", "the constants of a runtime that its plans use, and how many measurements they were held against"},
    {"runtime_versions", "the versions of the engine that its profile describes, where the job names none: `--runtime vllm@0.19` does"},
    {"recompute", "activation checkpointing: parts of the forward pass that are computed again in the backward pass and not kept"},
    {"memory|time|shares", "the bytes that the busiest GPU needs at its fullest, term by term; the seconds of a prompt, a token or a step"},
    {"micro_batches", "the pieces in which a pipeline or gradient accumulation computes the global batch"},
});
// clang-format on

/// The meaning of a word of answers or of a field of job documents (`master_weights`, `zero`); nothing for another.
inline std::optional<std::string> meaning_of(std::string_view word) {
    for (const answer_word& known : answer_words)
        for (std::string_view names = known.name; !names.empty();) {
            const std::size_t end = std::min(names.find('|'), names.size());
            if (names.substr(0, end) == word) return std::string{known.means};
            names.remove_prefix(std::min(end + 1, names.size()));
        }
    for (const llmres::job_field& f : llmres::job_fields)
        if (f.name == word || llmres::flag_of(f) == word) return std::string{f.help};
    return std::nullopt;
}

}  // namespace program
