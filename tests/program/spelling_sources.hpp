// SPDX-License-Identifier: MIT
#pragma once

// The program's own sources from a command line to a job document, whose tables tests walk.
#include "../../examples/llmres/deepspeed_config.cpp"
#include "../../examples/llmres/document.cpp"
#include "../../examples/llmres/spelling.cpp"
#include "../../examples/llmres/units.cpp"
