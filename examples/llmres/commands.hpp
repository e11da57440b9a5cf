// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <llmres/values/error.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

/// The commands of the program; main.cpp reads their arguments.
namespace program {

/// The exit codes of the program.
enum exit_code : int {  // NOLINT(performance-enum-size): what main() returns
    fits = 0,
    does_not_fit = 1,
    bad_input = 2,
    internal_error = 3
};

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

/// Prints the one JSON document on stdout. (Names from a file system need not be UTF-8, but JSON must be.)
inline void print_json(const nlohmann::ordered_json& document) {
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

struct model_options {
    std::string source;
    std::string weights;
    std::string kv_cache;
    bool importance_matrix = false;
    bool tied_head_stored = false;
    bool json = false;
};
int run_model(const model_options& o);

struct plan_options {
    std::string source;                         ///< a job document or a model
    std::map<std::string, std::string> fields;  ///< values of flags, by the flags' names without dashes
    std::string svg;
    bool json = false;
};
int run_plan(const plan_options& o);

struct table_options {
    std::string id;  ///< the name of a row; for models, words of their names; empty: all rows
    bool json = false;
};
int run_gpus(const table_options& o);
int run_models(const table_options& o);
int run_runtimes(const table_options& o);

}  // namespace program
