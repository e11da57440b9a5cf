// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <llmres/io/job_json.hpp>
#include <llmres/jobs/layouts.hpp>
#include <llmres/values/error.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
    std::string names{};  ///< the end of its text: names, too many for an error's own
};

/// The value, or a refusal.
template <class T>
T accept(const llmres::result<T>& r) {
    if (!r) throw refusal{r.error()};
    return *r;
}

/// A text without control characters, so that names from files cannot steer a terminal.
inline std::string plain(std::string text) {
    for (char& c : text)
        if ((static_cast<unsigned char>(c) < ' ' && c != '\n') || c == '\x7f') c = '?';
    return text;
}

/// Says something on standard error, if anybody reads it.
inline void tell(const std::string& what) { std::fputs(("llmres: " + what + "\n").c_str(), stderr); }

/// The value that the text of a flag names: of an enumeration, or the place among `names`.
template <class Value, class Names = decltype(llmres::names_of<Value>)>
Value named(const std::string& flag, const std::string& text, const Names& names = llmres::names_of<Value>) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return static_cast<Value>(i);
    throw refusal{
        llmres::refused(llmres::error_code::unknown, flag, text, fmt::format("one of {}", fmt::join(names, ", ")))};
}

/// Prints the one JSON document on stdout. (Names from a file system need not be UTF-8, but JSON must be.)
inline void print_json(const nlohmann::ordered_json& document) {
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

/// Prints an answer that docs/schema/NAME.json describes, with its name and version first. A key that is added keeps
/// the version; one that goes or changes its meaning raises it.
inline void print_answer(std::string_view name, const nlohmann::ordered_json& answer) {
    nlohmann::ordered_json document{{"schema", fmt::format("llmres/{}/1", name)}};
    document.update(answer);
    print_json(document);
}

/// Writes a picture to a file.
inline void write_picture(const std::string& file, std::string_view picture) {
    std::ofstream out{file};
    out << picture;
    if (!out.flush()) throw refusal{llmres::refused(llmres::error_code::io, "svg", file, "a file that can be written")};
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
    std::vector<std::string> knobs;             ///< the runtime's own options: "mem_fraction_static=0.8"
    std::string svg;                            ///< a file for the pictures
    std::vector<std::string> pictures;          ///< which of them; empty: all
    bool json = false;
};
int run_plan(const plan_options& o);
/// Whether --gpu names several kinds: rtx-3090:2,rtx-4090.
bool names_several_gpus(const plan_options& o);
/// The plan on GPUs that differ: which layers lie where.
int run_mixed(const plan_options& o);
/// The job document with the values of flags, which take precedence over the file's.
nlohmann::json merged(const plan_options& o);
nlohmann::json merged(nlohmann::json document, const plan_options& o);
/// The words behind `--`; for `-` the line on standard input, as one word.
std::vector<std::string> launch_words(std::vector<std::string> words);
/// Reads the command line that starts a job, whose document then takes the place of that on standard input (`llmres
/// plan
/// -- vllm serve MODEL`): words, or one word that is a whole line. `gpus` are those that are said beside it. Returns
/// what is to be said of it.
std::vector<std::string> take_launch_line(std::vector<std::string> words, std::int64_t gpus);
/// Takes a document of a command line in the same way.
void take_launched(std::vector<std::string> words, nlohmann::json document);
/// Those words; empty where none were taken.
const std::vector<std::string>& launch_line_words();
/// The table of prices in a file.
nlohmann::json read_prices(const std::string& file);
/// Says for which of several cards a short name was taken: "h100" is the SXM module, not the PCIe card.
void say_which_gpu(const std::string& typed);
void say_which_gpu(const nlohmann::json& document);
/// Whether such a document was read from a source, which otherwise names a model.
inline bool is_job(const nlohmann::json& document, const std::string& source) {
    return !document.contains("model") || document["model"] != source;
}
/// The folder from which paths in the document start; empty: from here.
std::filesystem::path folder_of(const nlohmann::json& document, const std::string& source);

struct search_options {
    plan_options job;
    std::string objective;               ///< one of llmres::names_of<llmres::objective>; empty: throughput
    std::string against;                 ///< the other objective of the front; empty: no front
    double max_time_to_first_token = 0;  ///< seconds; 0: no limit
    double max_time_per_token = 0;       ///< seconds; 0: no limit
    double memory_margin = 0;            ///< bytes of each GPU to be left free
    std::int64_t max_batch = 0;          ///< serving: the batch may be up to so many; 0: the job's own
    std::vector<std::string> weights;    ///< formats of weights to choose among
    std::vector<std::string> kv_cache;   ///< formats of the cache to choose among
    std::vector<std::string> vary;       ///< micro_batch, recompute, offload
    std::int64_t top = 10;               ///< layouts that are shown
    bool one_node = false;
    bool pools = false;  ///< an engine on GPUs of its own is tried, too, on some of those that are given
};
int run_search(const search_options& o);

/// The layouts that remain where a document fixes some degrees.
llmres::layout_space layouts_of(const nlohmann::json& document, const llmres::plan_request& request);

/// Refuses a number below zero, or none at all.
void refuse_negative(const char* flag, double value);
/// The limit that a flag sets in seconds; none where it is 0.
llmres::maybe<llmres::duration> time_limit(const char* flag, double limit);

/// The change of a job document that asks for a layout.
nlohmann::json layout_patch(const llmres::layout& l);

struct replicas_options {
    plan_options job;                           ///< what is served
    std::optional<double> requests_per_second;  ///< over all replicas
    std::int64_t users = 0;                     ///< who each have one request at a time; 0: requests come at a rate
    double think_time = 0;                      ///< seconds from an answer to its user's next request
    double max_time_to_first_token = 0;         ///< seconds; 0: no limit
    double max_time_per_token = 0;              ///< seconds; 0: no limit
    std::string arrivals;                       ///< one of llmres::names_of<llmres::arrivals>; empty: random
    std::int64_t top = 5;                       ///< layouts that are shown
};
int run_replicas(const replicas_options& o);

struct buy_options {
    plan_options job;                 ///< what is to run
    double budget = 0;                ///< in any currency, as all prices
    double machine = 0;               ///< price of a machine without GPUs
    std::vector<std::string> prices;  ///< NAME=PRICE
    std::int64_t slots = 4;           ///< GPUs that a machine has room for
    std::int64_t machines = 1;        ///< that may be bought
    double power = 0;                 ///< watts of all boards; 0: no limit
    std::string objective;            ///< one of llmres::names_of<llmres::purchase_objective>; empty: throughput
    std::int64_t top = 10;            ///< purchases that are shown
};
int run_buy(const buy_options& o);

struct place_options {
    plan_options job;               ///< what all jobs share
    std::vector<std::string> jobs;  ///< models, job documents or queues of them
    std::string free;               ///< nodes as they are typed: rtx-4090:2,l4
    std::string nodes;              ///< a file with nodes
    std::string objective;          ///< least_memory or one of llmres::names_of<llmres::objective>; empty: least_memory
};
int run_place(const place_options& o);

struct compare_options {
    plan_options job;                 ///< what all plans share; `source` is the first model or job
    std::vector<std::string> models;  ///< the models, or one job document
    std::string sort;                 ///< one of compare.cpp's orders; empty: throughput
    std::int64_t top = 0;             ///< rows that are shown; 0: all
    bool fits = false;                ///< only what fits is shown
};
int run_compare(const compare_options& o);
/// Lists the smallest GPUs that hold the job.
int list_gpus(const plan_options& o);

struct fit_options {
    plan_options job;       ///< the GPUs, the engine and lengths; without a model
    std::string use;        ///< chat, code, vision or embedding; empty: any
    std::string sort;       ///< one of fit.cpp's orders; empty: parameters
    std::int64_t top = 15;  ///< models that are shown; 0: all
    bool all = false;       ///< every model of the library, and not only those that people run today
};
int run_fit(const fit_options& o);
/// Formats in which files of a model are published for an engine, the widest first: GGUF mixes, or else those of
/// checkpoints, of which the empty one is the model's own.
std::vector<std::string_view> published_formats(const llmres::runtime& r);

struct machine_options {
    std::string file = "auto";  ///< what a tool of another machine printed; -: on standard input; auto: this machine
    bool json = false;
};
int run_machine(const machine_options& o);

struct explain_options {
    std::string term;  ///< of memory or time, or a constant of a profile; empty: all terms are listed
    plan_options job;  ///< the job whose term it is; without a source: none
};
int run_explain(const explain_options& o);

struct check_options {
    std::string log;
    plan_options job;  ///< what the log does not name
};
int run_check(const check_options& o);

struct calibrate_options {
    std::vector<std::string> logs;
    plan_options job;    ///< what no log names
    std::string output;  ///< a file for the profile
    std::string rows;    ///< a file for the logs' figures
};
int run_calibrate(const calibrate_options& o);

struct table_options {
    std::string id;  ///< the name of a row, or words of names; empty: all rows
    bool json = false;
    bool profile = false;    ///< runtimes: the constants of one, as a file for --runtime
    bool constants = false;  ///< runtimes: the meaning, unit, source and value of each constant of one
    std::string model;       ///< formats: the model whose GGUF files are meant
};
/// Prints the JSON Schema of job documents.
void print_job_schema();
/// Prints the JSON Schema of runtime profiles.
void print_profile_schema();
void print_told_schema();
int run_gpus(const table_options& o);
int run_models(const table_options& o);
int run_runtimes(const table_options& o);
int run_formats(const table_options& o);
int run_links(const table_options& o);

}  // namespace program
