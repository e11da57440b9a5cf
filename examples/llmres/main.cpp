// SPDX-License-Identifier: MIT
// llmres: does this LLM job fit on these GPUs, in which layout, how fast, and what limits it?
#include "arguments.hpp"
#include "commands.hpp"
#include "machine.hpp"
#include "shells.hpp"
#include "spelling.hpp"
#include "topics.hpp"
#include "trainer_line.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <llmres/io/files.hpp>
#include <llmres/io/job_fields.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/values/nearest.hpp>
#include <llmres/values/version.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

using namespace program;

constexpr const char* model_help =
    "a preset of `llmres models`, a config.json or its folder, a .gguf or .safetensors file";

/// The arguments of the program.
std::vector<std::string> typed_words;

/// Commands that people look for here, and what does it.
constexpr std::array<std::array<std::string_view, 2>, 8> commands_of_other_names{{
    {"serve", "plan MODEL --gpu NAME"},
    {"run", "plan MODEL --gpu NAME"},
    {"estimate", "plan MODEL --gpu NAME"},
    {"train", "plan MODEL --task pretraining or --task finetuning --gpu NAME"},
    {"pretrain", "plan MODEL --task pretraining --gpu NAME"},
    {"finetune", "plan MODEL --task finetuning --gpu NAME; with --adapter_kind lora for an adapter"},
    {"lora", "plan MODEL --task finetuning --adapter_kind lora --gpu NAME"},
    {"list", "one of models, gpus, runtimes, formats, links"},
}};

/// Refuses a word that is no command where what it asks for is a command of another name.
void refuse_other_command(const std::string& typed) {
    for (const auto& [word, instead] : commands_of_other_names)
        if (typed == word) throw refusal{llmres::refused(llmres::error_code::unknown, "command", typed, instead)};
}

/// Refuses arguments that no command or option takes, with the nearest name that exists.
void refuse_rest(const CLI::App& command) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options()) known.push_back(option->get_name());
    const std::vector<std::string> rest = command.remaining();
    for (const std::string& argument : rest) {
        if (!argument.starts_with('-')) continue;
        const std::string name = argument.substr(0, argument.find('='));
        throw refusal{llmres::refused(llmres::error_code::unknown, name, "",
                                      llmres::such_as("a flag of --help", llmres::nearest(name, known)))};
    }
    if (rest.empty()) return;
    if (typed_words.size() > 1) refuse_other_command(typed_words[1]);  // llmres plan finetune MODEL
    if (command.get_name() == "fit") accept(llmres::find_gpu(fmt::format("{}", fmt::join(rest, " ")), "gpu"));
    if (takes_gpu_behind_model(command.get_name()))
        throw refusal{llmres::refused(llmres::error_code::unknown, "argument", fmt::format("{}", fmt::join(rest, " ")),
                                      "a GPU of `llmres gpus`, or nothing more")};
    throw refusal{llmres::refused(llmres::error_code::unknown, "argument", rest.front(), "nothing more")};
}

void add_model(CLI::App& app, int& exit) {
    static model_options o;
    auto* command = app.add_subcommand("model", "The architecture, exact parameters by role, weight and KV bytes");
    command->allow_extras();
    command->add_option("MODEL", o.source, model_help)->required()->type_name("");
    command
        ->add_option("--weights", o.weights,
                     "precision of the weights, or a GGUF mix such as q4_k_m; default: as published")
        ->type_name("FORMAT");
    command->add_option("--kv_cache", o.kv_cache, "precision of the KV cache; default bf16")->type_name("FORMAT");
    command->add_flag("--importance_matrix", o.importance_matrix,
                      "the GGUF mix was made with one, which changes some tensors' types");
    command->add_flag("--tied_head_stored", o.tied_head_stored, "the GGUF file repeats a tied embedding as its output");
    command->add_flag("--json", o.json, "one JSON document on stdout");
    command->callback([command, &exit] {
        refuse_rest(*command);
        exit = run_model(o);
    });
}

/// Whether somebody will look at the flags of a command: it is among the arguments, or a command that lists the flags
/// of all is. (CLI11 compares each new flag with all before: of ten commands they take a tenth of a second
/// unoptimised.)
bool needs_flags(const CLI::App& command) {
    return std::ranges::any_of(typed_words, [&](const std::string& word) {
        return word == command.get_name() || word == "completion" || word == "man";
    });
}

/// Adds a flag for each field of a job document, and --json. Behind what was typed, `run` follows with the job.
template <class Run>
void add_job(CLI::App& command, plan_options& job, int& exit, Run run) {
    if (!needs_flags(command)) return;
    const auto typed = std::make_shared<std::map<std::string, std::string>>();
    std::vector<std::pair<std::string, CLI::Option*>> options;
    for (const llmres::job_field& f : llmres::job_fields) {
        constexpr std::array type_names{"N", "X", "", "NAME"};  // by field_type
        const std::string flag = llmres::flag_of(f);
        std::string help{f.help};
        if (flag == "gpu")
            help += "; auto: those of this machine, or a FILE that nvidia-smi printed (`llmres machine`)";
        CLI::Option* option = f.type == llmres::field_type::flag
                                  ? command.add_flag("--" + flag, (*typed)[flag], help)
                                  : command.add_option("--" + flag, (*typed)[flag], help);
        option->group(std::string{f.group})->type_name(type_names[static_cast<std::size_t>(f.type)]);
        options.emplace_back(flag, option);
    }
    command.allow_extras();
    command.add_option("--knob", job.knobs)->group("");  // written by own_spelling()
    command.add_flag("--json", job.json, "one JSON document on stdout");
    command.callback([&command, &job, &exit, typed, options, run] {
        refuse_rest(command);
        for (const auto& [flag, option] : options)
            if (option->count() > 0) job.fields[flag] = (*typed)[flag];
        take_machine(job);
        exit = run();
    });
}

/// Adds the job or model that a command takes first.
CLI::Option* add_source(CLI::App& command, plan_options& job) {
    return command
        .add_option("JOB", job.source,
                    std::string{"a job (JSON), a trainer's settings (YAML, TOML), or a model: "} + model_help)
        ->type_name("");
}

/// Adds the options of one group of a command's help: option(flags, value, help, type).
auto options_in(CLI::App& command, const char* group) {
    return [&command, group](const char* flags, auto& value, const char* help, const char* type) {
        return command.add_option(flags, value, help)->type_name(type)->group(group);
    };
}

void add_plan(CLI::App& app, int& exit) {
    static plan_options o;
    auto* command = app.add_subcommand("plan", "Verdict, layout, memory and time of a job, and what would help");
    command->footer(
        "A flag goes over what the job document says, under the same name: --tensor is {\"layout\": {\"tensor\"}}.\n"
        "Without any of Layout the planner chooses; without a GPU the smallest that hold the job are listed. Behind -- "
        "stands\nthe command line that starts the job: llmres plan --gpu h100 -- vllm serve MODEL. Exit codes: 0 fits "
        "(tight: with a\nwarning), 1 does not fit, 2 bad input.");
    add_source(*command, o)->required();
    add_job(*command, o, exit, [] { return run_plan(o); });
    command
        ->add_option("--svg", o.svg,
                     "write the plan as a picture: memory, phases of a step, layers over GPUs, roofline")
        ->type_name("FILE");
    command
        ->add_option("--pictures", o.pictures,
                     "which of memory, phases, layers, roofline and workload --svg draws; default: all")
        ->type_name("NAMES")
        ->delimiter(',');
}

void add_search(CLI::App& app, int& exit) {
    static search_options o;
    auto* command = app.add_subcommand("search", "The best layouts of a job on all the GPUs that are given");
    command->footer(
        "What Layout gives is fixed, all else of it is searched. Exit codes: 0 a layout fits, 1 none does, 2 bad "
        "input.");
    add_source(*command, o.job)->required();
    const auto option = options_in(*command, "Search");
    option("--objective", o.objective,
           "throughput, time_to_first_token, time_per_token, fewest_gpus, cost_per_token or energy_per_token; default: "
           "throughput",
           "NAME");
    option("--against", o.against, "also list the layouts that none beats both in throughput and in this objective",
           "NAME");
    option("--svg", o.job.svg, "with --against: write those layouts as a picture", "FILE");
    option("--max_time_to_first_token", o.max_time_to_first_token, "seconds of one prompt at most", "X");
    option("--max_time_per_token", o.max_time_per_token, "seconds of one token of every sequence at most", "X");
    option("--memory_margin", o.memory_margin, "bytes of each GPU to be left free beyond every upper bound", "N");
    option("--max_batch", o.max_batch, "the batch is chosen as well, up to so many sequences", "N");
    option("--try_weights", o.weights, "formats of the weights to choose among: bf16,fp8_e4m3", "NAMES");
    option("--try_kv_cache", o.kv_cache, "formats of the KV cache to choose among", "NAMES");
    option("--vary", o.vary, "training: choose these as well: micro_batch, recompute, offload", "NAMES");
    option("--top", o.top, "layouts that are listed; default: 10", "N");
    for (const char* list : {"--try_weights", "--try_kv_cache", "--vary"}) command->get_option(list)->delimiter(',');
    command->add_flag("--one_node", o.one_node, "all GPUs of a layout are in one node")->group("Search");
    command
        ->add_flag("--pools", o.pools,
                   "of rollouts: also try an engine on 1, 2, 4, ... of the GPUs, which others train without")
        ->group("Search");
    add_job(*command, o.job, exit, [] { return run_search(o); });
}

void add_replicas(CLI::App& app, int& exit) {
    static replicas_options o;
    auto* command =
        app.add_subcommand("replicas", "How many replicas keep up with a rate of requests or so many users");
    command->footer(
        "--prompt and --output say how long a request is, --gpus how many GPUs a replica may have (default: 8).\n"
        "Sequences in flight and layouts are searched; what Layout gives is fixed. Exit codes: 0 a layout fits, 1 none "
        "does,\n2 bad input.");
    add_source(*command, o.job)->required();
    const auto option = options_in(*command, "Requests");
    option("--requests_per_second,--rate,--request_rate,--qps,--rps", o.requests_per_second,
           "requests of all users in a second", "X");
    option("--users,--concurrent_users", o.users, "users who each have one request at a time, in place of a rate", "N");
    option("--think_time", o.think_time, "seconds from an answer to its user's next request; default: 0", "X");
    option("--arrivals", o.arrivals, "random (independent of each other) or even; default: random", "NAME");
    option("--max_time_to_first_token", o.max_time_to_first_token, "seconds under load, expected, at most", "X");
    option("--max_time_per_token", o.max_time_per_token, "seconds of a sequence's token under load, at most", "X");
    option("--top", o.top, "layouts that are listed; default: 5", "N");
    add_job(*command, o.job, exit, [] { return run_replicas(o); });
}

void add_buy(CLI::App& app, int& exit) {
    static buy_options o;
    auto* command = app.add_subcommand("buy", "What to buy for a job under a budget, at your own prices");
    command->footer(
        "Each kind of GPU counts once, in the number that is best. Prices are of one GPU in any currency, from "
        "--price\n"
        "or a JSON file: {\"rtx-4090\": 1800, \"l40s\": {\"price\": 7500, \"slots\": 8}}. --scale_out joins machines.\n"
        "Exit codes: 0 done, 1 nothing that the budget pays for holds the job, 2 bad input.");
    add_source(*command, o.job)->required();
    const auto option = options_in(*command, "Purchase");
    option("--budget", o.budget,
           "what all machines with their GPUs may cost; without it and prices, the smallest GPUs that hold the job",
           "X");
    option("--price", o.prices, "prices of GPUs: rtx-4090=1800,rtx-3090=800", "GPU=X")->delimiter(',');
    option("--machine", o.machine, "price of a machine without GPUs; default: 0", "X");
    option("--slots", o.slots, "GPUs that a machine has room for; default: 4", "N");
    option("--machines", o.machines, "machines that may be bought, all alike; default: 1", "N");
    option("--power", o.power, "watts of all GPUs at their boards' limits, at most", "X");
    option("--objective", o.objective, "throughput, throughput_per_price or largest_batch; default: throughput",
           "NAME");
    option("--top", o.top, "kinds of GPU that are listed; default: 10", "N");
    add_job(*command, o.job, exit, [] { return run_buy(o); });
}

void add_place(CLI::App& app, int& exit) {
    static place_options o;
    auto* command = app.add_subcommand("place", "Which free GPUs hold a job, or each job of a queue");
    command->footer(
        "Free GPUs are typed, a node between two commas (--free h100:3,l4:4; a100/3g.40gb:2 are MIG instances, "
        "h100/any\n"
        "tries each profile), or stand in a JSON file: {\"nodes\": [{\"name\": \"a\", \"count\": 4, \"gpu\": \"h100\", "
        "\"gpus\": 8,\n\"free\": 3, \"in_use\": 0}]}, where a node may have what a job document says of its cluster. "
        "Jobs are placed in\ntheir order; a file with {\"jobs\": [...]} is a queue. --gpus is the number that each job "
        "has. Exit codes: 0 all\nare placed, 1 one is not, 2 bad input.");
    command->add_option("JOB", o.jobs, std::string{"jobs or queues of jobs (JSON), or models: "} + model_help)
        ->required()
        ->type_name("");
    const auto option = options_in(*command, "Place");
    option("--free", o.free, "nodes with free GPUs: rtx-4090:2,l4", "GPU:N");
    option("--nodes", o.nodes, "nodes with free GPUs (JSON)", "FILE");
    option("--objective", o.objective,
           "least_memory (keeps large GPUs free), throughput, time_to_first_token, time_per_token, fewest_gpus or "
           "energy_per_token; default: least_memory",
           "NAME");
    add_job(*command, o.job, exit, [] { return run_place(o); });
}

void add_machine(CLI::App& app, int& exit) {
    static machine_options o;
    auto* command = app.add_subcommand("machine", "The GPUs of this machine, or of one whose nvidia-smi is pasted");
    command->footer(
        "Without FILE by NVIDIA's driver. FILE (-: standard input) is what nvidia-smi, its -L, -q or -q -x, rocm-smi\n"
        "--showproductname --showmeminfo vram --json, or system_profiler SPHardwareDataType printed. What --gpu auto "
        "and\n--gpu FILE of other commands take of it is printed as flags.");
    command->allow_extras();
    command->add_option("FILE", o.file, "what a tool printed; -: standard input; default: this machine")->type_name("");
    command->add_flag("--json", o.json, "one JSON document on stdout");
    command->callback([command, &exit] {
        refuse_rest(*command);
        exit = run_machine(o);
    });
}

void add_compare(CLI::App& app, int& exit) {
    static compare_options o;
    auto* command = app.add_subcommand("compare", "Many plans as a table: models, GPUs, engines, formats, lengths");
    command->footer(
        "Values with commas between them are planned each with each: --gpu l4,a10 --runtime vllm,sglang. So may be\n"
        "gpu and weights (`any`: all of them), gpus, runtime, kv_cache, batch, context, sequence and micro_batch.\n"
        "What fits comes first. Exit codes: 0 a plan fits, 1 none does, 2 bad input.");
    command
        ->add_option("MODEL", o.models,
                     std::string{"models with blanks or commas between them, or a job (JSON): "} + model_help)
        ->required()
        ->type_name("");
    command
        ->add_option(
            "--sort", o.sort,
            "throughput, throughput_per_gpu, time_to_first_token, time_per_token, time_per_step, memory, room "
            "(memory left), usable (the smallest GPU first), cost_per_token, energy_per_token or given; default: "
            "throughput")
        ->type_name("NAME")
        ->group("Table");
    command->add_option("--top", o.top, "rows that are listed; default: all")->type_name("N")->group("Table");
    command->add_flag("--fits", o.fits, "leave out what does not fit, if anything does")->group("Table");
    add_job(*command, o.job, exit, [] { return run_compare(o); });
}

void add_fit(CLI::App& app, int& exit) {
    static fit_options o;
    auto* command = app.add_subcommand("fit", "Which models a card runs, each in the widest format that fits");
    command->footer(
        "Models that people run today, under llama.cpp unless --runtime names another engine. What is only tight is "
        "left\nout. Exit codes: 0 a model fits, 1 none does, 2 bad input.");
    command->add_option("--use", o.use, "chat, code, vision or embedding; default: all that generate")
        ->type_name("NAME")
        ->group("Models");
    command->add_flag("--all", o.all, "every model of `llmres models` besides")->group("Models");
    command->add_option("--sort", o.sort, "parameters (the largest first), throughput or memory; default: parameters")
        ->type_name("NAME")
        ->group("Models");
    command->add_option("--top", o.top, "models that are listed; 0: all; default: 15")->type_name("N")->group("Models");
    add_job(*command, o.job, exit, [] { return run_fit(o); });
}

void add_explain(CLI::App& app, int& exit) {
    static explain_options o;
    auto* command = app.add_subcommand(
        "explain", "What a term of memory or time counts, or a constant of a runtime means, and its value in a job");
    command->footer(
        "Without a job: its formula and source alone. Without a term: all of them. Exit codes: 0 done, 2 bad input.");
    command
        ->add_option(
            "TERM", o.term,
            "a term of a plan: kv_cache, activations, compute, ...; or a constant of a runtime: cuda_graphs, ...")
        ->type_name("");
    add_source(*command, o.job);
    add_job(*command, o.job, exit, [] { return run_explain(o); });
}

void add_check(CLI::App& app, int& exit) {
    static check_options o;
    auto* command = app.add_subcommand("check", "What an engine printed, beside what is planned");
    command->footer(
        "What the log names (model, version, flags, GPU) need not be said again; what is said goes over it.\n"
        "Exit codes: 0 every figure lies inside its bounds, 1 one does not, 2 bad input.");
    command->add_option("LOG", o.log, "what the engine printed, from its start")->required()->type_name("");
    add_source(*command, o.job);
    add_job(*command, o.job, exit, [] { return run_check(o); });
}

void add_calibrate(CLI::App& app, int& exit) {
    static calibrate_options o;
    auto* command = app.add_subcommand("calibrate", "A runtime profile from what an engine printed");
    command->footer(
        "A log's own job may stand beside it: run.log.json for run.log. Constants that the logs do not determine are\n"
        "inherited from the profile that --runtime names, or the log's version. Exit codes: 0 done, 2 bad input.");
    command->add_option("LOG", o.logs, "what the engine printed, from its start: one log or more")
        ->required()
        ->type_name("");
    command->add_option("-o,--profile", o.output, "the file that the profile is written to, for --runtime")
        ->type_name("FILE");
    command->add_option("--job", o.job.source, "a job (JSON) with what no log names")->type_name("FILE");
    command
        ->add_option("--rows", o.rows,
                     "a file for the logs' jobs and figures, a line each, as tests/validation/data has")
        ->type_name("ROWS.jsonl");
    add_job(*command, o.job, exit, [] { return run_calibrate(o); });
}

void add_table(CLI::App& app, int& exit, const std::string& name, const std::string& help, const std::string& id_help,
               int (*run)(const table_options&)) {
    static table_options o;  // one command runs at a time
    auto* command = app.add_subcommand(name, help);
    command->allow_extras();
    static std::vector<std::string> words;
    command->add_option("ID", words, id_help)->type_name("");
    command->add_flag("--json", o.json, "one JSON document on stdout");
    if (run == run_runtimes) {
        command->add_flag("--profile", o.profile, "every constant of it as JSON: a file that --runtime reads");
        command->add_flag("--constants", o.constants, "the meaning, unit, source and value of every constant of it");
    }
    if (run == run_formats)
        command->add_option("--model", o.model, "the model whose GGUF files are meant; default: llama-3.1-8b")
            ->type_name("MODEL");
    command->callback([command, run, &exit] {
        refuse_rest(*command);
        o.id = fmt::format("{}", fmt::join(words, " "));
        exit = run(o);
    });
}

/// Commands that print what shells and manuals know of the program.
void add_generated(CLI::App& app) {
    static std::string shell;
    auto* completion = app.add_subcommand("completion", "A script that completes commands and options in a shell");
    completion->add_option("SHELL", shell, "bash, zsh or fish")->required()->type_name("");
    completion->callback([&app] { fmt::print("{}", completion_for(app, shell)); });
    static std::string kind;
    auto* schema = app.add_subcommand("schema", "The JSON Schema of job documents: llmres schema > job.json");
    schema->add_option("KIND", kind, "job, profile, or answers: what these tell of a job; default: job")
        ->type_name("")
        ->check(CLI::IsMember({"job", "profile", "answers"}));
    schema->callback([] {
        kind == "profile" ? print_profile_schema() : kind == "answers" ? print_told_schema() : print_job_schema();
    });
    app.add_subcommand("man", "The manual page: llmres man > llmres.1")->callback([&app] {
        fmt::print("{}", manual_of(app));
    });
}

/// Opens those of the standard streams that are closed, so that no file that is read later takes their place. What is
/// then read from them or printed fails as it should; what is said on the third goes nowhere.
void open_standard_streams() {
    constexpr std::array modes{O_WRONLY, O_RDONLY, O_WRONLY};
    for (int stream = 0; stream < 3; ++stream)
        if (fcntl(stream, F_GETFD) == -1 && errno == EBADF)
            if (open("/dev/null", modes[static_cast<std::size_t>(stream)]) != stream) std::_Exit(internal_error);
}

/// Whether all that was printed was written; a full disk shows only here.
bool is_written() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.flush().good(); }

/// Says what is wrong with the input: a sentence on standard error and, where --json is asked for, a document on
/// standard output.
int refuse(const llmres::error& what, const std::string& sentence) {
    const auto end = std::find(typed_words.begin(), typed_words.end(), "--");  // behind it stands another command
    if (std::find(typed_words.begin(), end, "--json") != end)
        print_answer("error", {{"code", name_of(what.code)},
                               {"field", plain(std::string{what.field.view()})},
                               {"value", plain(std::string{what.value.view()})},
                               {"expected", plain(std::string{what.expected.view()})},
                               {"message", plain(sentence)}});
    if (!is_written()) throw std::system_error{errno, std::generic_category()};
    tell(plain(sentence));
    return bad_input;
}

int parse(CLI::App& app, std::vector<std::string> arguments) {
    try {
        std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the last to the first
        app.parse(std::move(arguments));
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
        const std::vector<CLI::App*> of = app.get_subcommands();
        // "Could not convert: --budget = 9k"
        const std::string_view what{e.what()};
        const std::size_t option = what.find(": --"), value = what.find(" = ");
        if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConversionError) && option < value &&
            value != std::string_view::npos)
            throw refusal{llmres::refused(llmres::error_code::malformed, what.substr(option + 2, value - option - 2),
                                          what.substr(value + 3), "a number in digits alone, such as 9000 or 0.5")};
        return refuse(
            llmres::refused(llmres::error_code::malformed, "arguments", "", e.what()),
            std::string{e.what()} + "; see llmres" + (of.empty() ? "" : " " + of.front()->get_name()) + " --help");
    }
    if (!app.get_subcommands().empty()) return fits;
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    const std::vector<std::string> rest = app.remaining();
    const std::string typed = rest.empty() ? "absent" : rest.front();
    refuse_other_command(typed);
    throw refusal{llmres::refused(llmres::error_code::unknown, "command", typed,
                                  fmt::format("one of {} (see --help)", fmt::join(commands, ", ")))};
}

/// Whether the words begin with a model, or a trainer's file, in place of a command: `llmres qwen3-8b 3060`.
bool begin_with_model(const CLI::App& app, const std::vector<std::string>& words) {
    if (words.empty() || words.front().starts_with('-')) return false;
    for (const CLI::App* command : app.get_subcommands({}))
        if (command->get_name() == words.front()) return false;
    return is_config_file(words.front()) || llmres::find_model_source(words.front()).has_value();
}

/// Answers what was typed behind the program's name. Returns: the exit code.
int answer(const std::vector<std::string>& words) {
    int exit = fits;
    typed_words = words;
    CLI::App app{"Does this LLM job fit on these GPUs, in which layout, how fast, and what limits it?", "llmres"};
    app.require_subcommand(0, 1);
    app.allow_extras();
    app.footer("llmres COMMAND --help says what each takes; llmres help TOPIC has examples:\n" + topic_names() + ".");
    const auto [major, minor, patch] = llmres::version;
    app.set_version_flag("-V,--version", fmt::format("{}.{}.{}", major, minor, patch));
    add_model(app, exit);
    add_plan(app, exit);
    add_search(app, exit);
    add_replicas(app, exit);
    add_buy(app, exit);
    add_place(app, exit);
    add_compare(app, exit);
    add_fit(app, exit);
    add_machine(app, exit);
    add_explain(app, exit);
    add_check(app, exit);
    add_calibrate(app, exit);
    add_table(app, exit, "gpus", "The GPUs, with memory, bandwidth and dense bf16 rate", "one of them", run_gpus);
    add_table(app, exit, "models", "The models that come with the library", "one of them, or words of their names",
              run_models);
    add_table(app, exit, "runtimes", "The engines, and the versions their constants were taken from", "one of them",
              run_runtimes);
    add_table(app, exit, "formats",
              "The number formats and GGUF mixes, with bits a weight and the engines that load them",
              "words of their names", run_formats);
    add_table(app, exit, "links", "The interconnects, with bandwidth, latency and source", "words of their names",
              run_links);
    add_generated(app);
    // "models --gpu 3060" asks which of them the card runs.
    if (words.size() > 2 && words[0] == "models" && words[1] == "--gpu") {
        std::vector<std::string> asked = words;
        asked.front() = "fit";
        return answer(asked);
    }
    if (begin_with_model(app, words)) {
        std::vector<std::string> planned = words;
        planned.insert(planned.begin(), "plan");
        return answer(planned);
    }
    std::vector<std::string> notes;
    const bool is_topic = words.size() == 2 && words.front() == "help" && print_topic(words.back());
    if (is_topic && !is_written()) throw std::system_error{errno, std::generic_category()};
    if (is_topic) return fits;
    if (const int failed = parse(app, arguments_of(app, words, notes)); failed != fits) return failed;
    if (!is_written()) throw std::system_error{errno, std::generic_category()};
    for (const std::string& note : notes) tell(plain(note));
    return exit;
}

/// Answers what was typed, or says why it cannot.
int answer_or_refuse(const std::vector<std::string>& words) {
    try {
        return answer(words);
    } catch (const refusal& r) {
        return refuse(r.what, llmres::to_text(r.what) + r.names);
    }
}

}  // namespace

int main(int argc, char** argv) {
    open_standard_streams();
    try {
        return answer_or_refuse({argv + 1, argv + argc});
    } catch (const std::system_error& e) {  // {fmt} throws it, too
        tell("the answer cannot be written: " + plain(e.code().message()));
        return internal_error;
    } catch (const std::exception& e) {
        tell("internal error: " + plain(e.what()));
        return internal_error;
    }
}
