// SPDX-License-Identifier: MIT
#pragma once

#include <llmres/error.hpp>
#include <map>
#include <string>

/// The commands of the program, apart from how they are spelled on the command line (main.cpp).
namespace program {

/// What a script can tell apart.
enum exit_code : int { fits = 0, does_not_fit = 1, bad_input = 2, internal_error = 3 };

/// Thrown where input is refused; main() prints it.
struct refusal {
    llmres::error what;
};

/// The value, or a refusal.
template <class T>
T accept(const llmres::result<T>& r) {
    if (!r) throw refusal{r.error()};
    return *r;
}

struct model_options {
    std::string source;
    std::string weights;
    std::string kv_cache;
    bool json = false;
};
int run_model(const model_options& o);

struct plan_options {
    std::string source;  ///< a job document or a model
    std::map<std::string, std::string> fields;  ///< by flag, without its dashes; empty: not given
    std::string svg;
    bool json = false;
};
int run_plan(const plan_options& o);

struct table_options {
    std::string id;  ///< one row; empty: all
    bool json = false;
};
int run_gpus(const table_options& o);
int run_models(const table_options& o);
int run_runtimes(const table_options& o);

}  // namespace program
