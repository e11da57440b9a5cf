// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// What a scheduler sends to an extender, read without building it: nodes are large, and an answer needs of each its
/// name, one label and its text.
namespace kubernetes {

/// Limits of every question.
inline constexpr std::size_t most_levels = 64;  ///< of objects and lists within each other
inline constexpr std::size_t most_values = 2'000'000;
inline constexpr std::size_t most_nodes = 65'536;
/// Of one pod, and of any text or number within a question: etcd stores no larger object (its --max-request-bytes).
inline constexpr std::size_t longest_object = 3 * (std::size_t{1} << 19);

/// A node that the scheduler asks about.
struct node {
    std::string name{};
    std::string gpu{};        ///< the label that names its GPU; empty if it has none
    std::string refusal{};    ///< what is wrong with the node, if anything is
    std::string_view text{};  ///< the whole node, as it was sent; empty where names alone were
};

/// ExtenderArgs (k8s.io/kube-scheduler/extender/v1). Its views are of the text that it was read from.
struct arguments {
    std::string_view pod{};
    std::vector<node> nodes{};
    bool names_alone = false;  ///< NodeNames were sent, as to an extender with `nodeCacheCapable`
};

/// Reads ExtenderArgs. Throws std::invalid_argument with the field, or with the limit that the text is beyond.
arguments read_arguments(std::string_view text, const char* gpu_label);

}  // namespace kubernetes
