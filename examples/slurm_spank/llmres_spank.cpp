// SPDX-License-Identifier: MIT
// A SPANK plugin for Slurm: srun, sbatch and salloc refuse an LLM job that does not fit the GPUs it asks for, and tell
// the tasks of one that does how it was planned (README.md).
#include <llmres/answers/remedies.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/plan.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

extern "C" {
#include <slurm/spank.h>

// In C++ a constant has internal linkage unless it was declared before; Slurm looks these up by their names.
extern const char plugin_name[];
extern const char plugin_type[];
extern const unsigned int plugin_version;
extern const unsigned int spank_plugin_version;
SPANK_PLUGIN(llmres, 1)
}

namespace {

// ---- options --------------------------------------------------------------------------------------------------------

/// An option of srun and sbatch, and the key of a job document that it sets.
struct option {
    const char* name;
    const char* argument;
    const char* usage;
    const char* key;
    bool number;
};
constexpr std::array options{
    option{"llm-job", "FILE", "plan the LLM job of this document (llmres: docs/program.md)", "", false},
    option{"llm-model", "MODEL", "model: a name, a config.json, or a .gguf or .safetensors file", "/model", false},
    option{"llm-task", "TASK", "serving, pretraining or finetuning", "/task", false},
    option{"llm-runtime", "NAME", "the engine that runs it: vllm, llama.cpp, pytorch, ...", "/runtime", false},
    option{"llm-context", "TOKENS", "tokens that a sequence may reach", "/context", true},
    option{"llm-batch", "N", "sequences in flight", "/batch", true},
    option{"llm-gpu", "NAME", "the GPU of the partition, where the administrator named none", "/cluster/gpu", false},
    option{"llm-gpus", "N", "GPUs of the job, where Slurm's own options do not say so", "/cluster/gpus", true},
};

/// What was given for each option; empty if it was not given.
std::array<std::string, options.size()> given;

const std::string& given_for(std::string_view name) {
    for (std::size_t i = 0; i < options.size(); ++i)
        if (name == options[i].name) return given[i];
    std::terminate();
}

int remember(int index, const char* argument, int) {
    given[static_cast<std::size_t>(index)] = argument != nullptr ? argument : "";
    return ESPANK_SUCCESS;
}

// ---- the job document -----------------------------------------------------------------------------------------------

/// A refusal, or the document that options and file make together.
struct document {
    nlohmann::json root;
    std::string folder;
    std::string refusal;
};

bool set_option(document& made, const option& o, const std::string& value) {
    nlohmann::json& place = made.root[nlohmann::json::json_pointer{o.key}];
    if (!o.number) {
        place = value;
        return true;
    }
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (code == std::errc{} && end == value.data() + value.size()) {
        place = number;
        return true;
    }
    made.refusal = std::string{"--"} + o.name + " is " + value + "; expected a whole number";
    return false;
}

/// The file of --llm-job, and over it what other options say. `site_gpu` is the administrator's.
document job_document(const std::string& site_gpu) {
    document made{.root = nlohmann::json::object(), .folder = {}, .refusal = {}};
    if (const std::string& path = given_for("llm-job"); !path.empty()) {
        std::ifstream file{path};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        const auto read = llmres::parse_json_object(text);
        if (!file || !read) {
            made.refusal = "--llm-job: " + (file ? llmres::to_text(read.error()) : path + " cannot be read");
            return made;
        }
        made.root = read->root;
        made.folder = std::filesystem::path{path}.parent_path();
    }
    if (!made.root.contains("cluster")) made.root["cluster"] = nlohmann::json::object();
    if (!made.root["cluster"].is_object()) return made;  // read_job() refuses it by name
    for (std::size_t i = 0; i < options.size(); ++i)
        if (*options[i].key != '\0' && !given[i].empty() && !set_option(made, options[i], given[i])) return made;
    nlohmann::json& cluster = made.root["cluster"];
    if (!cluster.contains("gpu") && !cluster.contains("device") && !site_gpu.empty()) cluster["gpu"] = site_gpu;

    // cli_filter.lua has counted the GPUs in Slurm's own options.
    if (const char* counted = std::getenv("LLMRES_GPUS"); counted != nullptr && *counted != '\0') {
        const option asked{"gres, --gpus", "", "", "/cluster/gpus", true};
        const nlohmann::json stated = cluster.contains("gpus") ? cluster["gpus"] : nlohmann::json{};
        if (set_option(made, asked, counted) && !stated.is_null() && stated != cluster["gpus"])
            made.refusal = "the job is for " + stated.dump() + " GPUs; Slurm was asked for " + counted;
    }
    return made;
}

// ---- the answer -----------------------------------------------------------------------------------------------------

void refuse(const std::string& why) { slurm_error("llmres: %s", why.c_str()); }

/// Two decimals, as scripts compare them.
std::string gibibytes(llmres::byte_count size) {
    std::array<char, 32> text{};
    const auto written =
        std::to_chars(text.data(), text.data() + text.size(), size.in(llmres::gib), std::chars_format::fixed, 2);
    return {text.data(), written.ptr};
}

/// In the environment of srun and sbatch, from where batch scripts and tasks get it.
void export_plan(const llmres::job_plan& p) {
    const auto put = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
    put("LLMRES_VERDICT", std::string{llmres::name_of(p.verdict)});
    put("LLMRES_NEED_GIB", gibibytes(p.memory.total().expected));
    put("LLMRES_USABLE_GIB", gibibytes(p.usable));
    put("LLMRES_TENSOR", std::to_string(p.layout.tensor));
    put("LLMRES_PIPELINE", std::to_string(p.layout.pipeline));
    put("LLMRES_DATA", std::to_string(p.layout.data));
    put("LLMRES_ZERO", std::to_string(p.layout.zero));
}

/// "does_not_fit: needs 137 GiB, has 73.5 GiB; ...; would help: 2 GPUs (...)".
std::string why_not(const llmres::plan_request& asked, const llmres::job_plan& p) {
    std::string said{llmres::name_of(p.verdict)};
    for (std::int32_t i = 0; i < p.reason_count; ++i)
        said += (i == 0 ? ": " : "; ") +
                llmres::to_text(p.reasons[static_cast<std::size_t>(i)], p, asked.job, asked.cluster);
    const char* before = "; would help: ";
    for (const llmres::remedy& r : llmres::what_would_help(asked.job, p.layout, asked.cluster)) {
        said += before + llmres::to_text(r);
        before = ", or ";
    }
    return said;
}

/// Whether the job may be submitted.
bool admit(const std::string& site_gpu) {
    const document made = job_document(site_gpu);
    if (!made.refusal.empty()) {
        refuse(made.refusal);
        return false;
    }
    const auto asked = llmres::read_job(made.root, made.folder);
    const auto one_phase = asked ? in_one_phase(*asked) : llmres::status{llmres::done{}};
    const auto planned = !asked          ? llmres::result<llmres::job_plan>{asked.error()}
                         : !one_phase    ? llmres::result<llmres::job_plan>{one_phase.error()}
                         : asked->layout ? llmres::plan(asked->job, *asked->layout, asked->cluster)
                                         : llmres::plan(asked->job, asked->cluster);
    if (!planned) {
        refuse(llmres::to_text(planned.error()));
        return false;
    }
    if (planned->verdict == llmres::verdict::does_not_fit) {
        refuse(why_not(*asked, *planned));
        return false;
    }
    if (planned->verdict == llmres::verdict::tight) slurm_info("llmres: %s", why_not(*asked, *planned).c_str());
    export_plan(*planned);
    return true;
}

std::string site_gpu;

/// A negative value: what is positive, as ESPANK_ERROR, lets the job go on.
constexpr int not_admitted = -1;

}  // namespace

// ---- what Slurm calls -----------------------------------------------------------------------------------------------

/// Arguments of plugstack.conf: gpu=NAME.
extern "C" int slurm_spank_init(spank_t spank, int count, char** arguments) {
    for (int i = 0; i < count; ++i)
        if (const std::string_view argument{arguments[i]}; argument.starts_with("gpu=")) site_gpu = argument.substr(4);
    for (std::size_t i = 0; i < options.size(); ++i) {
        const option& o = options[i];
        spank_option registered{const_cast<char*>(o.name),  const_cast<char*>(o.argument),
                                const_cast<char*>(o.usage), 1,
                                static_cast<int>(i),        remember};
        if (spank_option_register(spank, &registered) != ESPANK_SUCCESS) return not_admitted;
    }
    return ESPANK_SUCCESS;
}

/// In srun, sbatch and salloc, once all options are known. No exception may leave it.
extern "C" int slurm_spank_init_post_opt(spank_t spank, int, char**) {
    const bool submits = spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_ALLOCATOR;
    if (!submits || spank_remote(spank) == 1) return ESPANK_SUCCESS;
    if (given_for("llm-job").empty() && given_for("llm-model").empty()) return ESPANK_SUCCESS;
    try {
        return admit(site_gpu) ? ESPANK_SUCCESS : not_admitted;
    } catch (const std::exception& e) {
        refuse(e.what());
        return not_admitted;
    }
}
