// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace program {

/// Prints what `llmres help TOPIC` says; false where there is no such topic.
bool print_topic(const std::string& name);

/// The names of the topics, with commas between them.
std::string topic_names();

}  // namespace program
