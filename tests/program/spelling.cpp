// SPDX-License-Identifier: MIT
// Every option, word and unit of other tools: what it stands for is read, and what is wrong behind it is refused by the
// name of the field. In one process, for the tables of examples/llmres/aliases.hpp and units.cpp row by row.
#include <doctest/doctest.h>

#include "../run_program.hpp"
#include "spelling_sources.hpp"

#include <llmres/io/job_json.hpp>
#include <string>
#include <string_view>
#include <vector>

using nlohmann::json;

namespace {

constexpr std::string_view nonsense = "xyzzy-9";

std::string typed_name(std::string_view alias) { return (alias.starts_with('-') ? "" : "--") + std::string{alias}; }

/// What a command line asks for, or why not.
struct asked {
    llmres::error refusal{};
    json document{};
    std::vector<std::string> notes{};

    bool names(std::string_view field) const { return refusal.field.view().find(field) != std::string_view::npos; }
};

/// Reads what is typed behind `llmres plan` up to the job.
asked read(const std::vector<std::string>& typed) {
    asked made;
    try {
        program::plan_options o;
        o.source = "llama-3.1-8b";
        for (const std::string& own : program::own_spelling(typed, {}, made.notes)) {
            const std::size_t equals = own.find('=');
            if (own.starts_with("--knob="))
                o.knobs.push_back(own.substr(7));
            else if (own.starts_with("--") && equals != std::string::npos)
                o.fields[own.substr(2, equals - 2)] = own.substr(equals + 1);
            else
                o.source = own;
        }
        o.fields.try_emplace("gpu", "h100-sxm5-80gb");
        made.document = program::merged(o);
        made.refusal = llmres::read_job(made.document).error();
    } catch (const program::refusal& r) {
        made.refusal = r.what;
    }
    return made;
}

std::vector<std::string> after(std::string_view task, std::vector<std::string> typed) {
    typed.insert(typed.begin(), {"--task", std::string{task}});
    return typed;
}

/// The key of a flag, as errors name it.
std::string key_of(std::string_view flag) {
    for (const llmres::job_field& f : llmres::job_fields)
        if (llmres::flag_of(f) == flag) return std::string{f.name};
    return std::string{flag};
}

/// A task that has the flag.
std::string_view task_with(std::string_view flag) {
    for (const llmres::job_field& f : llmres::job_fields)
        if (llmres::flag_of(f) == flag)
            return f.group == "Training" || f.group == "Adapter" || f.group == "Offload" || f.group == "Run" ||
                           f.object == "checkpoint"
                       ? "finetuning"
                       : "serving";
    return "serving";
}

/// A runtime that has the knob, or the flag of a knob; empty: of no runtime.
std::string runtime_with(std::string_view name) {
    for (const llmres::job_field& f : llmres::job_fields)
        if (f.object == "runtime" && f.name == name && name != "runtime") {
            const std::string_view having = llmres::runtimes_with(name);
            return having.empty() ? "vllm" : std::string{having.substr(0, having.find(','))};
        }
    for (const llmres::runtime* each : llmres::runtimes::all)
        if (llmres::find_knob(each->identity.knobs, name) != nullptr || each->cache.fraction_name == name)
            return std::string{each->identity.name.view()};
    return {};
}

/// What must be said beside a flag for it to be read.
std::vector<std::string> beside(std::string_view flag) {
    std::vector<std::string> needed;
    if (const std::string runtime = runtime_with(key_of(flag)); !runtime.empty()) needed = {"--runtime", runtime};
    if (flag.starts_with("adapter_") && flag != "adapter_kind") needed = {"--adapter_kind", "lora"};
    if (flag == "adapter_targets") needed.insert(needed.end(), {"--adapter_rank", "8"});
    if (flag == "lengths_longest") needed = {"--lengths_mean", "5"};
    return needed;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

/// What names a runtime; nothing for none.
std::vector<std::string> naming(std::string_view runtime) {
    return runtime.empty() ? std::vector<std::string>{} : std::vector{std::string{"--runtime"}, std::string{runtime}};
}

/// Whether the document has a value under a flag's key.
bool sets(const json& document, std::string_view flag) {
    const std::string key = key_of(flag);
    if (document.contains(key)) return true;
    for (const auto& [name, part] : document.items())
        if (part.is_object() && sets(part, flag)) return true;
    return false;
}

/// Checks what a list of flags, with values or without, does with a value that is typed behind it.
void check_meaning(std::string_view task, const std::string& written, std::string_view means,
                   std::string_view of_runtime = {}) {
    CAPTURE(written);
    CAPTURE(std::string{means});
    if (means.empty()) {
        const asked made = read(after(task, {written, "3"}));
        CHECK(made.notes.size() == 1);
        CHECK(made.notes.front().find("no bearing") != std::string::npos);
        return;
    }
    bool needs_value = false;
    for (const std::string_view word : program::words_of(means)) {
        if (const std::size_t equals = word.find('='); equals != std::string_view::npos) {
            const std::string_view flag = word.substr(0, equals);
            // A switch needs no value; it is of a runtime or an adapter that may be absent, and so may be refused.
            const asked made = read(after(task, {written + (means.find(' ') != means.npos ? "=8" : "")}));
            CHECK(sets(made.document, flag));
            continue;
        }
        needs_value = needs_value || word == "*" || program::is_flag(word);
        if (word == "*") {
            CHECK(read(after(task, {written, std::string{nonsense}})).names("model"));
            continue;
        }
        if (word == "n_batch") continue;  // sizes up to 512 are ubatch_size's, whose row is another
        if (const program::word_option* known = program::find_word_option(word)) {
            const asked made = read(after(task, {written, std::string{nonsense}}));
            CHECK(made.names(word));
            CHECK(made.refusal.expected.view() == known->words);
            continue;
        }
        const std::string key = program::is_flag(word) ? key_of(word) : std::string{word};
        const asked made = read(naming(of_runtime) + after(task, {written, std::string{nonsense}}) + beside(word));
        CAPTURE(std::string{made.refusal.field.view()});
        CHECK(made.names(key));
        CHECK_FALSE(made.refusal.expected.empty());
    }
    if (!needs_value) return;  // a knob alone is switched on
    if (!of_runtime.empty()) {
        const asked others = read(after(task, {written, "8"}) + naming("vllm"));
        CHECK(others.names(program::normal(written.substr(2))));
        CHECK(others.refusal.expected.view().find(of_runtime) != std::string_view::npos);
    }
    const asked bare = read(naming(of_runtime) + after(task, {written}));
    CAPTURE(std::string{bare.refusal.field.view()});
    CHECK(bare.refusal.field == written);
    CHECK(bare.refusal.expected == "a value behind it");
}

}  // namespace

TEST_CASE("every option of other tools is refused by the field it stands for when its value is wrong") {
    for (const program::option_alias& alias : program::option_aliases) {
        const std::string_view first = alias.means.substr(0, alias.means.find_first_of(" ="));
        check_meaning(task_with(first), typed_name(alias.typed), alias.means, alias.of_runtime);
        if (!alias.in_training.empty()) check_meaning("finetuning", typed_name(alias.typed), alias.in_training);
    }
}

TEST_CASE("every word of other tools is read as what it stands for, or is refused with what it could mean") {
    for (const program::word_alias& alias : program::word_aliases) {
        const std::string flag = typed_name(alias.option.empty() ? alias.flag : alias.option);
        CAPTURE(flag);
        CAPTURE(std::string{alias.typed});
        std::vector<std::string> typed{flag, std::string{alias.typed}};
        if (alias.flag != "task") typed = after(task_with(alias.flag), typed);
        const asked made = read(typed);
        if (alias.means.starts_with('?')) {
            CHECK(made.refusal.field == alias.flag);
            CHECK(made.refusal.value == alias.typed);
            CHECK(made.refusal.expected == alias.means.substr(1));
        } else {
            for (const std::string_view meant : program::words_of(alias.means))
                CHECK(sets(made.document, meant.substr(0, meant.find('='))));
            CHECK_FALSE(made.names(key_of(alias.flag)));
        }
        typed.back() = std::string{alias.typed} + "-" + std::string{nonsense};
        CHECK(read(typed + beside(alias.flag)).names(key_of(alias.flag)));
    }
}

TEST_CASE("every unit multiplies, a unit of two meanings is refused with both, and any other by the field") {
    const auto number_of = [](std::string_view flag, const std::string& typed) {
        return program::value_in_own_unit(flag, typed);
    };
    int flags = 0;
    for (const llmres::job_field& f : llmres::job_fields) {
        if (f.type != llmres::field_type::integer && f.type != llmres::field_type::real) continue;
        const std::string flag = llmres::flag_of(f);
        CAPTURE(flag);
        const auto check_units = [&](const auto& units) {
            ++flags;
            for (const program::unit& u : units) {
                const std::string typed = "2" + std::string{u.suffix};
                CAPTURE(typed);
                if (u.instead.empty()) {
                    CHECK(number_of(flag, typed).template get<double>() == doctest::Approx(2 * u.factor));
                    continue;
                }
                const asked made = read({"--" + flag, typed});
                CHECK(made.refusal.field == flag);
                CHECK(made.refusal.value == typed);
                CHECK(made.refusal.expected == u.instead);
            }
        };
        if (program::factor_of(flag, "", "kib") != 0)
            flag == "in_use" ? check_units(program::size_units) : check_units(program::capacity_units);
        else if (program::factor_of(flag, "", "tflops") != 0)
            check_units(program::rate_units);
        else if (program::factor_of(flag, "", "gbit/s") != 0)
            check_units(program::storage_units);
        else if (program::factor_of(flag, "", "%") != 0)
            check_units(program::part_units);
        else if (program::factor_of(flag, "", "t") != 0)
            check_units(program::count_units);
        else if (program::factor_of(flag, "", "min") != 0)
            check_units(program::time_units);
        else if (program::factor_of(flag, "", "y") != 0)
            check_units(program::life_units);
        else if (program::factor_of(flag, "", "kw") != 0)
            check_units(program::power_units);
        else if (program::factor_of(flag, "", "g/kwh") != 0)
            check_units(program::carbon_units);
        else if (program::factor_of(flag, "", "/h") != 0)
            check_units(program::hour_price_units);
        else if (program::factor_of(flag, "", "/kwh") != 0)
            check_units(program::energy_price_units);
        else if (flag == "gpu_price")
            check_units(program::price_units);
        else if (program::factor_of(flag, "", "k") != 0)
            check_units(program::token_units);
        for (const std::string typed : {"2parsecs", "2 k k", "k", "4kB/s", "2e", "0x10", "--"})
            CHECK(number_of(flag, typed) == typed);  // stays text, which the reader refuses by the field
        const asked made = read(after(task_with(flag), {"--" + flag, "2parsecs"}) + beside(flag));
        CAPTURE(std::string{made.refusal.field.view()});
        CHECK(made.names(f.name));
    }
    CHECK(flags >= 15);
}

TEST_CASE("a price is in the currency of its sign or its letters, before its number or behind it") {
    struct priced {
        const char *typed, *price, *currency;
    };
    for (const priced& p :
         {priced{"2.5", "2.5", ""}, priced{"$2.50/h", "2.50/h", "USD"}, priced{"2.50$", "2.50", "USD"},
          priced{"$ 2.5", "2.5", "USD"}, priced{"2EUR/h", "2/h", "EUR"}, priced{"EUR 2/h", "2/h", "EUR"},
          priced{"2 eur", "2 ", "EUR"}, priced{"\u20ac0.12/kWh", "0.12/kWh", "EUR"}, priced{"0.12/kWh", "0.12/kWh", ""},
          priced{"30k", "30k", ""}, priced{"GBP30k", "30k", "GBP"}}) {
        CAPTURE(p.typed);
        const program::priced_text read = program::without_currency("gpu_hour", p.typed);
        CHECK(read.price == p.price);
        CHECK(read.currency == p.currency);
    }
    CHECK(read({"--gpu_hour", "2EUR/h"}).document["cost"] == json{{"gpu_hour", 2}, {"currency", "EUR"}});
    CHECK(read({"--gpu_hour", "2", "--electricity", "$0.1/kWh"}).document["cost"]["electricity"] == 0.1);
    for (const char* wrong : {"2XYZ/h", "XYZ 2", "\u00a52"})
        CHECK(read({"--gpu_hour", wrong}).refusal.field == "gpu_hour");
}

TEST_CASE(
    "accumulated micro-batches make the global batch of one GPU, and are refused where ranks are many or unknown") {
    const std::vector<std::string> steps{"--gradient-accumulation-steps", "8"};
    const json tuned = read(after("finetuning", {"--per_device_train_batch_size", "2"}) + steps).document;
    CHECK(tuned["global_batch"] == 16);
    CHECK(tuned["micro_batch"] == 2);
    CHECK(read(after("finetuning", steps)).document["global_batch"] == 8);
    CHECK(read(after("finetuning", {"--global_batch", "4"}) + steps).document["global_batch"] == 4);
    for (const auto& several :
         {std::vector<std::string>{"--gpus", "2"}, {"--gpu", "2xrtx-4090"}, {"--mbs", "99999999"}})
        CHECK(read(after("finetuning", several) + steps).names("gradient_accumulation_steps"));
}

TEST_CASE("a recipe that gives each tensor a type of its own is refused with what may be typed instead") {
    for (const char* recipe : {"UD-Q4_K_XL", "q2_k_xl", "ud-iq1_s"}) {
        const asked made = read({"--weights", recipe});
        CHECK(made.refusal.field == "weights");
        CHECK(made.refusal.expected.view().find(".gguf") != std::string_view::npos);
        CHECK(made.refusal.expected.view().find("q4_k_m") != std::string_view::npos);
    }
}

TEST_CASE("the size of an image is a field by whatever name, and so is how many a prompt has") {
    for (const char* name : {"--image", "--image-size", "--image-resolution"}) {
        const asked made = read({name, "1280x720", "--images", "2"});
        CHECK(made.document["image"] == "1280x720");
        CHECK(made.document["images"] == 2);
    }
}

TEST_CASE("a context of zero is llama.cpp's word for the model's own, and refused under the program's own name") {
    for (const char* option : {"-c", "--ctx-size"}) {
        const asked made = read({option, "0"});
        CHECK_FALSE(made.document.contains("context"));
        CHECK(made.refusal.code == llmres::error_code::none);
        CHECK(read({option, "4096"}).document["context"] == 4096);
    }
    for (const char* option : {"--context", "--max-model-len", "--prompt"}) {
        const asked made = read({option, "0"});
        CHECK(made.refusal.value == "0");
        CHECK(made.refusal.expected.view().find("from 1 to 1099511627776; default: ") != std::string_view::npos);
    }
    CHECK(read({"--task", "finetuning", "--sequence", "0"}).names("sequence"));
}

TEST_CASE("a kind of GPU behind --gpus is one") {
    const asked kind = read({"--gpus", "16xh100-sxm5-80gb"});
    CHECK(kind.document["cluster"]["gpus"] == 16);
    CHECK(kind.document["cluster"]["gpu"] == "h100-sxm5-80gb");
    CHECK(read({"--gpus", "4"}).document["cluster"]["gpus"] == 4);
}

TEST_CASE("switches of other tools take yes, no, or a word of their own behind them") {
    const auto training = [](std::vector<std::string> typed) {
        typed.insert(typed.begin(), {"--task", "finetuning"});
        const asked made = read(typed);
        CHECK(made.refusal.code == llmres::error_code::none);
        return made.document;
    };
    CHECK(training({"--gradient_checkpointing", "true"})["recompute"] == "full");
    CHECK(training({"--gradient_checkpointing=True"})["recompute"] == "full");
    // A runtime may recompute, or offload, where nobody says that it shall not.
    for (const char* no : {"false", "False", "0"})
        CHECK(training({"--gradient_checkpointing", no})["recompute"] == "none");
    CHECK(training({"--gradient_checkpointing=false", "--recompute", "selective"})["recompute"] == "selective");
    CHECK(training({"--activation_offloading", "false"})["offload"]["activations"] == "none");
    CHECK(training({"--finetuning_type", "full"})["adapter"]["kind"] == "none");
    CHECK(training({"--tuner_type", "lora"})["adapter"]["kind"] == "lora");
    CHECK(read({"--task", "full"}).document["adapter"]["kind"] == "none");
    CHECK(read({"--stage", "sft"}).document["task"] == "finetuning");
    CHECK(training({"--pure_bf16"})["weights"] == "bf16");
    const auto stack = read({"--runtime", "trl", "--max_seq_length", "2048"}).document;
    CHECK(stack["task"] == "finetuning");
    CHECK(stack["sequence"] == 2048);
    CHECK(read({"--runtime", "trl", "--finetuning_type", "lora", "--cutoff_len", "2048"}).document["sequence"] == 2048);
    CHECK(read({"--runtime", "trl", "--task", "serving"}).document["task"] == "serving");
    const auto unsloth = training({"--use_gradient_checkpointing", "unsloth"});
    CHECK(unsloth["recompute"] == "full");
    CHECK(unsloth["offload"]["activations"] == "host");
    CHECK(training({"--use_dora", "true", "--lora_r", "32"})["adapter"]["kind"] == "dora");
    CHECK(training({"--bf16", "true"})["compute"] == "bf16");
    CHECK(training({"--fsdp"})["layout"]["zero"] == 3);
    CHECK(training({"--fsdp", "full_shard auto_wrap"})["layout"]["zero"] == 3);
    CHECK(training({"--fsdp", "shard_grad_op"})["layout"]["zero"] == 2);
    CHECK(training({"--sample_packing", "true"})["varied_lengths"] == false);
    CHECK(training({"--activation_checkpoint.mode", "selective"})["recompute"] == "selective");
    CHECK(training({"--optim", "bitsandbytes.optim.PagedAdamW8bit"})["optimizer"] == "paged_adamw_8bit");
    CHECK(training({"--optim", "paged_lion_8bit"})["optimizer"] == "paged_lion_8bit");
    const auto recipe = read({"--recipe", "lora_finetune_distributed"}).document;
    CHECK(recipe["runtime"] == "torchtune");
    CHECK(recipe["layout"]["zero"] == 3);
    CHECK(recipe["adapter"]["kind"] == "lora");
    CHECK(read({"--fsdp", "sometimes"}).names("fsdp"));
    CHECK(read({"--lora", "--modules_to_save", "lm_head"}).names("modules_to_save"));
    CHECK(training({"--lora", "--load_in_4bit", "--bnb_4bit_use_double_quant", "true"})["weights"] == "nf4_double");
    CHECK(training({"--lora", "--quantization_bit", "8"})["weights"] == "bnb_int8");
    CHECK(training({"--use_rslora", "true", "--lora_r", "16"})["adapter"]["kind"] == "rslora");
    CHECK(read({"--dtype", "fp32"}).document["weights"] == "fp32");  // what an engine loads as it computes
    CHECK_FALSE(read({"--compute", "fp32"}).document.contains("weights"));
    const auto liger = training({"--use_liger_kernel", "true", "--runtime", "huggingface"})["runtime"];
    CHECK(liger["loss"] == "fused_linear");
    CHECK(liger["fused_norms"] == true);
    const auto eager = training({"--use_liger_kernel", "false", "--runtime", "huggingface"})["runtime"];
    CHECK(eager["fused_norms"] == false);
    CHECK_FALSE(eager.contains("loss"));
    CHECK(training({"--lora_dropout=0"})["adapter"]["kind"] == "lora");
    const auto offloaded = training({"--fsdp_cpu_offload", "True", "--zero", "3"})["offload"];
    CHECK(offloaded["parameters"] == "host");
    CHECK(offloaded["optimizer"] == "host");
    const asked plain = read({"--task", "finetuning", "--num_train_epochs", "3", "--weight_decay", "0.1"});
    CHECK(plain.refusal.code == llmres::error_code::none);
}

TEST_CASE("--optim names the optimizers of transformers' Trainer, --optimizer those of the library") {
    const auto chosen = [](const char* option, const char* word) {
        return read({"--task", "finetuning", option, word}).document["optimizer"];
    };
    CHECK(chosen("--optim", "adafactor") == "adafactor_hf");
    CHECK(chosen("--optim", "Adafactor") == "adafactor_hf");
    CHECK(chosen("--optim", "torch.optim.Adafactor") == "adafactor");
    CHECK(chosen("--optimizer", "adafactor") == "adafactor");
}

TEST_CASE("--deepspeed takes a configuration of DeepSpeed's, and gives way to what is said") {
    const run_program::scratch folder;
    const auto with = [&](const json& config, std::vector<std::string> typed = {}) {
        typed.insert(typed.begin(), {"--task", "finetuning", "--deepspeed", folder.file("ds.json", config.dump())});
        return read(typed);
    };
    const json zero3 = json::parse(R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu",
        "pin_memory": true}, "offload_param": {"device": "nvme"}, "reduce_bucket_size": 2e8, "sub_group_size": 1e9,
        "overlap_comm": true}, "train_micro_batch_size_per_gpu": 4, "train_batch_size": "auto",
        "optimizer": {"type": "AdamW"}, "fp16": {"enabled": false}, "bf16": {"enabled": true}})");
    const json read_as = with(zero3, {"--micro_batch", "2"}).document;
    CHECK(read_as["runtime"]["name"] == "deepspeed");
    CHECK(read_as["runtime"]["reduce_bucket_size"] == 200'000'000);
    CHECK(read_as["runtime"]["sub_group_size"] == 1'000'000'000);
    CHECK(read_as["runtime"]["overlap_comm"] == true);
    CHECK(read_as["layout"]["zero"] == 3);
    CHECK(read_as["offload"]["optimizer"] == "host");
    CHECK(read_as["offload"]["parameters"] == "nvme");
    CHECK(read_as["micro_batch"] == 2);
    CHECK_FALSE(read_as.contains("global_batch"));
    CHECK(read_as["optimizer"] == "adamw");
    CHECK(read_as["compute"] == "bf16");
    const json some = json::parse(R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "none"},
        "reduce_bucket_size": "auto"}, "fp16": {"enabled": true}, "bf16": {"enabled": "auto"}})");
    const json automatic = with(some).document;
    CHECK(automatic["compute"] == "fp16");
    CHECK_FALSE(automatic.contains("offload"));
    CHECK_FALSE(automatic["runtime"].contains("reduce_bucket_size"));
    CHECK(with({{"zero_optimization", {{"stage", "three"}}}}).names("zero_optimization/stage"));
    CHECK(with({{"zero_optimization", {{"overlap_comm", 1}}}}).names("zero_optimization/overlap_comm"));
    CHECK(with({{"zero_optimization", {{"offload_param", {{"device", "disk"}}}}}}).names("offload_param/device"));
    CHECK(with({{"train_batch_size", 0.5}}).names("train_batch_size"));
    CHECK(with({{"optimizer", {{"type", 7}}}}).names("optimizer/type"));
    CHECK(read({"--task", "finetuning", "--deepspeed", "no-such-file.json"}).refusal.code != llmres::error_code::none);
    CHECK(with(zero3, {"--runtime", "torchtune"}).names("runtime"));
    CHECK(with(zero3, {"--runtime", "deepspeed"}).refusal.code == llmres::error_code::none);
    for (const std::string driver : {"llama-factory", "trl", "huggingface"})
        CHECK(with(zero3, {"--runtime", driver}).document["runtime"]["name"] == driver + "+deepspeed");
}

TEST_CASE("an adapter is trained, unless a task says otherwise") {
    // What sets more than the adapter makes one, too.
    for (const char* option : {"--lora-r", "--lora_rank", "--lora_dropout", "--qlora"}) {
        CAPTURE(option);
        std::vector<std::string> typed{option};
        if (std::string_view{option} != "--qlora")
            typed.emplace_back(std::string_view{option} == "--lora_dropout" ? "0" : "16");
        typed.insert(typed.end(), {"--seq-len", "4096", "--micro-batch-size", "4"});
        const asked made = read(typed);
        CHECK(made.refusal.code == llmres::error_code::none);
        CHECK(made.document["sequence"] == 4096);
    }
    const asked trained = read({"--lora", "--batch-size", "4", "--seq-len", "4096"});
    CHECK(trained.document["task"] == "finetuning");
    CHECK(trained.document["micro_batch"] == 4);
    CHECK(read({"--adapter_kind", "lora"}).document["task"] == "finetuning");
    CHECK(trained.refusal.code == llmres::error_code::none);
    CHECK(read({"--lora", "--task", "pretraining"}).document["task"] == "pretraining");
}
