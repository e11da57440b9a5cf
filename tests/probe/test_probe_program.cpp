// SPDX-License-Identifier: MIT
// The program as people run it: arguments in, JSON and exit codes out.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>
#include <algorithm>

#include <sys/wait.h>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <llmres/io/files.hpp>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ended {
    int code = -1;
    std::string out;
    json document() const { return json::parse(out, nullptr, false); }
};

/// Runs through the shell with stderr beside stdout where `both`.
ended shell(const std::string& line) {
    ended result;
    FILE* pipe = popen(line.c_str(), "r");
    if (pipe == nullptr) return result;
    std::array<char, 4096> room{};
    for (std::size_t got = 0; (got = fread(room.data(), 1, room.size(), pipe)) > 0;)
        result.out.append(room.data(), got);
    const int state = pclose(pipe);
    result.code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return result;
}

const std::string driver = "LD_LIBRARY_PATH=" LLMRES_FAKE_NVML_DIR " ";
ended none(const std::string& arguments) { return shell(LLMRES_PROBE_WITHOUT_CUDA " " + arguments + " 2>/dev/null"); }
ended none_said(const std::string& arguments) {
    return shell(LLMRES_PROBE_WITHOUT_CUDA " " + arguments + " 2>&1 >/dev/null");
}
ended simulated(const std::string& arguments, const std::string& like = "", const std::string& mood = "good") {
    return shell("LLMRES_SIMULATED=" + like + " LLMRES_FAKE_NVML=" + mood + " " + driver + LLMRES_PROBE_SIMULATED " " +
                 arguments + " 2>/dev/null");
}

const std::string devices = LLMRES_SOURCE_DIR "/tests/data/devices/";

std::string scratch_file(const char* name, const std::string& content = "") {
    const fs::path folder = fs::temp_directory_path() / ("llmres-probe-test-" + std::to_string(getpid()));
    fs::create_directories(folder);
    const fs::path file = folder / name;
    if (!content.empty()) std::ofstream{file} << content;
    return file.string();
}

/// Plans for the simulated device, as the planner itself writes them.
const std::string plans = [] {
    const auto write = [](const char* name, const std::string& job) {
        const std::string file = scratch_file(name);
        none("plan " + job + " --json=" + file + " --simulate " + devices + "synthetic-rtx-4090.json");
        return fs::path{file}.parent_path().string() + "/";
    };
    write("serving-small.json", "llama-3.2-1b --runtime vllm --batch 8 --context 4096");
    write("training-small.json", "qwen2.5-0.5b --task pretraining --runtime pytorch --batch 1 --context 512");
    return write("too-large.json", "llama-3.1-70b --runtime vllm --batch 1 --context 4096");
}();

}  // namespace

TEST_CASE("without a device every command that needs one says so and exits with 4") {
    for (const char* command : {"describe", "calibrate", "calibrate --out /dev/null"}) {
        CAPTURE(command);
        const ended it = none(command);
        CHECK(it.code == 4);
        CHECK(it.out == "{\"devices\":[]}\n");
    }
    CHECK(none("alloc " + plans + "serving-small.json").code == 4);
    CHECK(none("alloc llama-3.1-8b").code == 4);
    CHECK(none("plan llama-3.1-8b").code == 4);
    CHECK(simulated("describe", "none").code == 4);
    CHECK(simulated("describe", "none").out == "{\"devices\":[]}\n");
}

TEST_CASE("bad arguments exit with 2 and name what is wrong") {
    for (const char* arguments :
         {"", "fly", "describe --speed 3", "describe --timeout -1", "describe --timeout soon", "alloc",
          "calibrate --repeats 0", "alloc x --search memory", "replay", "replay x --allocator heap",
          "replay x --steps 0", "alloc x --gpus 0", "list", "measure", "plan", "campaign"}) {
        CAPTURE(arguments);
        CHECK(none(arguments).code == 2);
    }
    CHECK(none_said("describe --timeout -1").out.find("--timeout") != std::string::npos);
    const auto named = [](const std::string& arguments, const char* field) {
        CAPTURE(arguments);
        const ended it = none_said(arguments);
        CHECK(it.code == 2);
        CHECK(it.out.find(field) != std::string::npos);
    };
    named("alloc " + devices + "synthetic-rtx-4090.json", "model: missing");
    named("alloc /no/such/plan.json", "JOB: io");
    named("alloc " + scratch_file("text.json", "hello"), "plan: malformed");
    named("alloc /tmp", "model: unknown");
    named("alloc " + plans + "serving-small.json --gpus 8", "gpus: inconsistent");
    const std::string for_eight =
        scratch_file("eight.json", R"({"model":"llama-3.2-1b","runtime":"vllm","batch":8,"context":4096,)"
                                   R"("layout":{"tensor":8},"cluster":{"gpu":"rtx-4090","gpus":8}})");
    named("alloc " + for_eight + " --simulate " + devices + "synthetic-two-h100.json", "gpus: inconsistent (8)");
    CHECK(none("alloc " + for_eight + " --gpus 8 --any-gpu --simulate " + devices + "synthetic-two-h100.json").code ==
          5);
    CHECK(simulated("alloc " + for_eight).code == 2);
    CHECK(simulated("alloc " + for_eight + " --gpus 8").code == 0);
    named("alloc no-such-model", "model: unknown (no-such-model)");
    named("alloc " + plans + "serving-small.json --allocator magic",
          "--allocator: magic not in {cuda_malloc,stream_ordered,virtual_memory,pytorch_caching}");
    named("describe --simulate /no/such/file", "device file: io");
    named("describe --simulate " + devices, "device file: io");
    named("describe --simulate " + scratch_file("v9.json", R"({"schema_version":9,"devices":[{}]})"),
          "schema_version: unsupported");
    named("describe --device 1 --simulate " + devices + "synthetic-rtx-4090.json", "device: out_of_range");
    named("describe --device -1 --simulate " + devices + "synthetic-rtx-4090.json", "device: out_of_range");
    named("describe --device GPU-nobody --simulate " + devices + "synthetic-rtx-4090.json", "device: unknown");
    named("alloc no-such-model --simulate " + devices + "synthetic-rtx-4090.json", "model: ");
    named("alloc " + scratch_file("job.json", R"({"model":"llama-3.1-8b","cluster":{"gpu":"no-such-gpu"}})"),
          "cluster.gpu");
    CHECK(none("--version").code == 0);
    CHECK(none("alloc --help").code == 0);
}

TEST_CASE("a recorded device is described, and skipped where the device itself is needed") {
    for (const auto& entry : fs::directory_iterator{devices}) {
        if (entry.path().extension() != ".json") continue;
        const std::string simulate = " --simulate " + entry.path().string();
        CAPTURE(simulate);
        const ended described = none("describe" + simulate);
        CHECK(described.code == 0);
        const auto again = llmres::parse_device_file(described.out);
        const auto recorded = llmres::read_device_file(entry.path().string());
        REQUIRE(again.has_value());
        CHECK(again->devices == recorded->devices);
        CHECK(none("calibrate" + simulate).code == 0);
        CHECK(none("alloc " + plans + "serving-small.json --any-gpu" + simulate).code == 5);
        CHECK(none("plan llama-3.2-1b --context 2048 --fill 50" + simulate).code == 0);
    }
    const ended recorded =
        none("alloc " + plans + "too-large.json --json --simulate " + devices + "synthetic-rtx-4090.json");
    CHECK(recorded.code == 5);
    CHECK(recorded.document()["verdict"] == "skipped");
    CHECK(recorded.document()["runs"].empty());
    const ended preset = none("alloc llama-3.1-8b --runtime pytorch --batch 4 --context 2048 --json --simulate " +
                              devices + "synthetic-h100-sxm5-80gb.json");
    CHECK(preset.code == 5);
    CHECK(preset.document()["plan"]["buffers_bytes"].get<std::int64_t>() > 15'000'000'000);
    const std::string out = scratch_file("calibrated.json");
    CHECK(none("calibrate --out " + out + " --simulate " + devices + "synthetic-rtx-4090.json").code == 0);
    CHECK(llmres::read_device_file(out).has_value());
    // A plan says nothing of another GPU than the one that it was made for.
    const std::string h100 = " --simulate " + devices + "synthetic-h100-sxm5-80gb.json";
    const ended other = none_said("alloc " + plans + "serving-small.json" + h100);
    CHECK(other.code == 2);
    CHECK(other.out.find("cluster.gpu: inconsistent (rtx-4090") != std::string::npos);
    CHECK(simulated("alloc " + plans + "serving-small.json", "large").code == 2);
}

TEST_CASE("CUDA's device and NVML's are one, joined by UUID") {
    const ended it = simulated("describe");
    CHECK(it.code == 0);
    const json live = it.document()["devices"][0];
    CHECK(live["identity"]["index_cuda"] == 0);
    CHECK(live["identity"]["index_nvml"] == 0);
    CHECK(live["memory"]["nvml_total_bytes"] == 25769803776);
    CHECK(live["memory"]["cuda_free_bytes"] == 25769803776 - (300 << 20));
    CHECK(live["measured"]["unavailable"]["read_bandwidth"] == "not read");
    CHECK(simulated("describe --no-context").document()["devices"][0]["memory"]["cuda_free_bytes"].is_null());
    CHECK(simulated("describe", "two").document()["devices"][1]["peers"][0]["topology"] == "multiple_switches");
    CHECK(simulated("describe --device 1", "two").document()["devices"].size() == 1);
}

TEST_CASE("a driver that denies is described with reasons, exit 0") {
    for (const char* mood : {"no_permission", "unsupported", "errors", "nonsense", "init_fails", "lost"}) {
        CAPTURE(mood);
        const ended it = simulated("describe", "", mood);
        CHECK(it.code == 0);
        const json memory = it.document()["devices"][0]["memory"];
        CHECK(memory["nvml_total_bytes"].is_null());
        CHECK(memory["unavailable"]["nvml_total_bytes"].get<std::string>().starts_with("NVML: "));
        CHECK(memory["cuda_total_bytes"] == 25769803776);
        // Every field that NVML alone tells gives NVML's reason.
        const json power = it.document()["devices"][0]["power"];
        for (const char* key : {"draw_watts", "limit_watts", "temperature_celsius"}) {
            CAPTURE(key);
            CHECK(power[key].is_null());
            CHECK(power["unavailable"][key].get<std::string>().starts_with("NVML: "));
        }
    }
}

TEST_CASE("a driver that does not go with CUDA is a fault, and not the absence of a device") {
    for (const std::string command : {"describe", "calibrate", "plan llama-3.1-8b", "calibrate --out /dev/null"}) {
        CAPTURE(command);
        CHECK(simulated(command, "old_driver").code == 1);
    }
}

TEST_CASE("the verdicts' exit codes: 0 fits, 3 does not, 6 others moved, 1 a fault") {
    const auto alloc = [](const std::string& arguments, const std::string& like = "") {
        return simulated("alloc " + plans + arguments + " --json", like);
    };
    const ended fits = alloc("serving-small.json");
    CHECK(fits.code == 0);
    const json report = fits.document();
    CHECK(report["plan"]["usable_bytes"] ==
          json::parse(std::ifstream{plans + "serving-small.json"})["memory"]["usable"]);
    CHECK(report["verdict"] == "fits");
    CHECK(report["runs"].size() == 3);
    CHECK(report["runs"][2]["order"] == "shuffled");
    CHECK(report["runs"][0]["buffers"].size() > 100);
    const auto weights = std::find_if(report["agreement"]["lines"].begin(), report["agreement"]["lines"].end(),
                                      [](const json& line) { return line["what"] == "weights"; });
    REQUIRE(weights != report["agreement"]["lines"].end());
    CHECK(std::abs((*weights)["error_percent"].get<double>()) < 1);
    CHECK(report["agreement"]["agrees"] == true);
    CHECK(report["baselines"]["context_bytes"].is_null());  // the fake driver does not grow: unknown, not none
    CHECK(report["guard"]["reason"] == "other processes use this device");
    CHECK(alloc("training-small.json").document()["allocator"]["name"] == "pytorch_caching");
    CHECK(alloc("training-small.json --allocator virtual_memory").document()["allocator"]["source"] == "flag");

    const ended too_large = alloc("too-large.json");
    CHECK(too_large.code == 3);
    CHECK(too_large.document()["runs"][0]["failed"]["buffer"].get<int>() > 0);
    CHECK(too_large.document()["agreement"]["lines"][0]["measured"] == "does_not_fit");
    for (const char* neighbour : {"moving", "leaving", "passing"}) {
        CAPTURE(neighbour);
        CHECK(alloc("serving-small.json", neighbour).code == 6);
    }
    // Buffers that take more than the plan says.
    const ended coarse = alloc("serving-small.json --allocator cuda_malloc", "coarse");
    CHECK(coarse.document()["agreement"]["agrees"] == false);
    CHECK(alloc("serving-small.json", "faulty").code == 1);
    CHECK(alloc("serving-small.json", "broken").code == 1);
    const ended busy = alloc("serving-small.json", "busy");  // another's: not tried
    CHECK(busy.code == 5);
    CHECK(busy.document()["reason"] == "cudaSetDevice: cudaErrorDevicesUnavailable");
    CHECK(alloc("serving-small.json --guard-mib 22000").code == 5);
    const ended no_cublas = alloc("serving-small.json", "no_cublas");
    CHECK(no_cublas.code == 0);
    CHECK(no_cublas.document()["baselines"]["unavailable"]["libraries_bytes"] == "libcublas.so.13 could not be loaded");
}

TEST_CASE("a search finds the largest batch; of a preset by planning each try anew") {
    const ended it = simulated("alloc " + plans + "serving-small.json --search batch --json");
    CHECK(it.code == 0);
    const json found = it.document()["search"];
    CHECK(found["largest"].get<double>() >= 0.98 * found["predicted_in_guard"].get<double>());
    CHECK(found["largest"].get<int>() >= found["predicted_by_plan"].get<int>());
    CHECK(found["at_plan"]["fits"] == true);
    CHECK(found["beyond_plan"] == found["largest"].get<int>() - found["predicted_by_plan"].get<int>());
    CHECK(found["largest"].get<int>() <= found["possible"].get<int>());  // within the planner's own bounds

    const ended preset = simulated("alloc llama-3.2-1b --runtime pytorch --context 2048 --search batch --json");
    CHECK(preset.code == 0);
    const json again = preset.document()["search"];
    CHECK(again["largest"].get<int>() > 8);
    CHECK(again["largest"].get<double>() >= 0.99 * again["predicted_in_guard"].get<double>());

    const std::string described = scratch_file(
        "described.json", R"({"model":{"from":"smollm2-135m","layers":3},"runtime":"pytorch","context":4096,)"
                          R"("cluster":{"gpu":"rtx-4090","gpus":1}})");
    const ended by_document = simulated("alloc " + described + " --search batch --json");
    CHECK(by_document.code == 0);
    CHECK(by_document.document()["search"]["largest"].get<int>() > 8);
}

TEST_CASE("calibrate fills the device file that the planner reads") {
    const std::string out = scratch_file("live.json");
    CHECK(simulated("calibrate --out " + out).code == 0);
    const auto file = llmres::read_device_file(out);
    REQUIRE(file.has_value());
    const auto& m = file->devices[0].measured;
    CHECK(m.read_bandwidth.known);
    CHECK(m.context.why == "NVML shows no bytes for the context that was opened");  // the fake driver does not grow
    CHECK(m.read_bandwidth->repeats == 20);
    CHECK(m.products.size() == 20);
    CHECK(m.products[0].sustained.known);
    CHECK(m.products[0].rate->during.sm_clock->in(llmres::mhz) == 345);  // the fake driver's
    CHECK(m.products[0].verified.value_or(false));
    CHECK(simulated("calibrate", "two").document()["devices"][0]["measured"]["all_reduces"].size() == 1);
    const json third = simulated("calibrate").document()["devices"][0]["measured"]["products"][2];
    CHECK(third["precision"] == "bf16");
    CHECK(third["rows"] == 8192);
    CHECK(third["columns"] == 1024);
    CHECK(third["inner"] == 8192);
    CHECK(simulated("calibrate", "busy").code == 5);
    for (const char* like : {"broken", "wrong"}) {
        const ended faulty = simulated("calibrate", like);
        CHECK(faulty.code == 1);
        CHECK(faulty.document()["devices"].size() == 1);  // what is missing, with its reason
    }
    CHECK(simulated("calibrate", "no_cublas").code == 5);
    CHECK(simulated("calibrate --out " + scratch_file("never.json"), "wrong").code == 1);
    CHECK(simulated("calibrate --out " + scratch_file("never.json"), "broken").code == 1);
    CHECK_FALSE(fs::exists(scratch_file("never.json")));
}

TEST_CASE("a timeout ends the test, frees and exits with 5") {
    CHECK(simulated("alloc " + plans + "serving-small.json --timeout 1", "slow").code == 5);
}

TEST_CASE("a driver that never returns is left by the clock") {
    CHECK(simulated("describe --timeout 0.3", "stuck").code == 1);
}

TEST_CASE("a device that others may share keeps a guard band") {
    const auto guard = [](const std::string& environment, const std::string& mood, const std::string& arguments = "") {
        const ended it =
            shell(environment + " LLMRES_FAKE_NVML=" + mood + " " + driver + LLMRES_PROBE_SIMULATED " alloc " + plans +
                  "serving-small.json --json " + arguments + " 2>/dev/null");
        CHECK(it.code == 0);
        return it.document()["guard"];
    };
    CHECK(guard("", "good")["reason"] == "other processes use this device");
    CHECK(guard("", "good")["bytes"] == 268435456);
    CHECK(guard("LLMRES_FAKE_NVML_ALONE=1 LLMRES_FAKE_NVML_GROWS=1", "good")["reason"] ==
          "memory was in use that no visible process holds");
    CHECK(guard("LLMRES_FAKE_NVML_ALONE=1 LLMRES_FAKE_NVML_GROWS=1", "good")["bytes"] == 268435456);
    CHECK(guard("LLMRES_FAKE_NVML_ALONE=1 LLMRES_FAKE_NVML_GROWS=5", "good")["reason"] ==
          "no other process uses this device");
    CHECK(guard("LLMRES_FAKE_NVML_ALONE=1 LLMRES_FAKE_NVML_GROWS=5", "good")["bytes"] ==
          0);  // 200 MiB are no context where ours takes 500
    CHECK(guard("", "no_permission")["reason"] ==
          "whether others use this device is not known: NVML: Insufficient Permissions");
    CHECK(guard("", "no_permission")["bytes"] == 268435456);
    CHECK(guard("", "good", "--guard-mib 0")["bytes"] == 0);
}

TEST_CASE("Ctrl-C ends the test, frees and exits with 5") {
    const std::string report = scratch_file("interrupted.json");
    const pid_t child = fork();
    if (child == 0) {
        setenv("LLMRES_SIMULATED", "slow", 1);
        setenv("LD_LIBRARY_PATH", LLMRES_FAKE_NVML_DIR, 1);
        const std::string json_to = "--json=" + report;
        execl(LLMRES_PROBE_SIMULATED, "llmres-probe", "alloc", (plans + "serving-small.json").c_str(), json_to.c_str(),
              nullptr);
        _exit(99);
    }
    usleep(1'500'000);
    kill(child, SIGINT);
    int state = 0;
    waitpid(child, &state, 0);
    CHECK(WIFEXITED(state));
    CHECK(WEXITSTATUS(state) == 5);
    const json said = json::parse(std::ifstream{report}, nullptr, false);
    CHECK(said["reason"] == "interrupted");
    CHECK(said["runs"][0]["free_after_release_bytes"] == said["runs"][0]["free_before_bytes"]);
}

TEST_CASE("every key of the probe's JSON is explained") {
    std::ifstream page{LLMRES_SOURCE_DIR "/docs/probe.md"};
    const std::string docs{std::istreambuf_iterator<char>{page}, {}};
    int keys = 0;
    const std::function<void(const json&)> explained = [&](const json& value) {
        if (!value.is_structured()) return;
        for (const auto& [key, inner] : value.items()) {
            explained(inner);
            if (value.is_array()) continue;
            CAPTURE(key);
            CHECK(docs.find("`" + key + "`") != std::string::npos);
            ++keys;
        }
    };
    const std::string job = scratch_file(
        "explained.json", R"({"model":{"from":"smollm2-135m","layers":1},"task":"finetuning","sequence":128,)"
                          R"("micro_batch":1,"runtime":"pytorch","layout":{}})");
    for (const ended& one :
         {simulated("describe", "two"), simulated("calibrate --json", "two"),
          simulated("alloc " + plans + "serving-small.json --json"),
          simulated("alloc " + plans + "too-large.json --any-gpu --gpus 1 --json"),
          simulated("alloc " + plans + "serving-small.json --json", "passing"),
          simulated("alloc " + plans + "serving-small.json --search batch --json"),
          simulated("replay " + job + " --json --steps 1"),
          none("alloc " + plans + "serving-small.json --json --simulate " + devices + "synthetic-rtx-4090.json")}) {
        REQUIRE(one.document().is_object());
        explained(one.document());
    }
    CHECK(keys > 1000);
}

TEST_CASE("every option of every command is explained") {
    std::ifstream page{LLMRES_SOURCE_DIR "/docs/probe.md"};
    const std::string docs{std::istreambuf_iterator<char>{page}, {}};
    std::set<std::string> options;
    for (const char* command : {"describe", "alloc", "calibrate", "plan", "replay"}) {
        const std::string help = none(std::string{command} + " --help").out;
        CHECK(help.find("Exit codes: 0 done or fits") != std::string::npos);
        const std::regex option{"\\n +(?:-\\w,)?(--[a-z-]+)"};
        for (std::sregex_iterator at{help.begin(), help.end(), option}, end; at != end; ++at) options.insert((*at)[1]);
        CHECK(docs.find(std::string{"| `"} + command) != std::string::npos);
    }
    CHECK(options.size() > 20);
    for (const std::string& option : options) {
        CAPTURE(option);
        const bool in_docs =
            docs.find("`" + option) != std::string::npos || docs.find(" " + option + " ") != std::string::npos;
        CHECK((option == "--help" || in_docs));
    }
}

TEST_CASE("one command does it all on a GPU, and what fails ends no other step") {
    const std::string script = LLMRES_SOURCE_DIR "/cuda_probe/run_on_gpu.sh ";
    const auto run = [&](const char* like, const std::string& arguments) {
        return shell(std::string{"LLMRES_SIMULATED="} + like +
                     " LLMRES_FAKE_NVML=good LLMRES_PROBE=" LLMRES_PROBE_SIMULATED " " + driver + script + arguments +
                     " 2>/dev/null");
    };
    const auto steps_of = [](const std::string& folder) {
        std::map<std::string, int> codes;
        const json said = json::parse(std::ifstream{folder + "/steps.json"}, nullptr, false);
        for (const json& step : said["steps"]) codes[step["step"]] = step["exit_code"];
        return codes;
    };
    const std::string all = scratch_file("script");
    CHECK(run("large", all + " --quick --only alloc,calibrate").code == 0);
    auto codes = steps_of(all);
    for (const char* step : {"describe", "calibrate", "alloc-serving-vllm-llama-3.1-8b",
                             "alloc-pretraining-pytorch-qwen2.5-1.5b", "alloc-virtual_memory"}) {
        CAPTURE(step);
        REQUIRE(codes.count(step) == 1);
        CHECK(codes[step] == 0);
    }
    CHECK(codes["alloc-too-large"] == 3);
    for (const char* file : {"devices.json", "measured.json", "calibrated-device.json", "agreement.md",
                             "alloc-too-large.json", "plans/allocators.json"}) {
        CAPTURE(file);
        CHECK(fs::exists(all + "/" + file));
    }
    const std::string twenty = scratch_file("script-twenty");
    CHECK(run("large", twenty + " --only alloc").code == 0);
    for (const std::string task : {"serving", "pretraining"}) {
        CAPTURE(task);
        const auto steps = steps_of(twenty);
        CHECK(std::count_if(steps.begin(), steps.end(), [&](const auto& step) {
                  return step.first.starts_with("alloc-" + task) && step.second == 0;
              }) == 20);
    }
    const std::string few = scratch_file("script-few");
    CHECK(run("small", few + " --only alloc").code != 0);
    CHECK(steps_of(few)["alloc-pretraining-pytorch"] == 5);  // no five have a plan there

    const std::string faulty = scratch_file("script-faulty");
    CHECK(run("wrong", faulty + " --quick --only calibrate,interrupt").code == 1);
    CHECK(steps_of(faulty).size() == 3);
    CHECK(run("none", scratch_file("script-none")).code == 4);
    CHECK(run("", scratch_file("script-usage") + " --only fly").code == 2);
    CHECK(run("", "").code == 2);
    fs::remove_all(fs::temp_directory_path() / ("llmres-probe-test-" + std::to_string(getpid())));
}

TEST_CASE("a training step is replayed through each allocator, and its figures are written") {
    const std::string job = scratch_file(
        "replayed.json", R"({"model":{"from":"smollm2-135m","layers":3},"task":"finetuning","sequence":512,)"
                         R"("micro_batch":4,"runtime":"pytorch","layout":{}})");
    const std::string out = scratch_file("replay-out.json");
    CHECK(simulated("replay " + job + " --json=" + out).code == 0);
    const json said = json::parse(std::ifstream{out}, nullptr, false);
    REQUIRE(said.is_object());
    CHECK(said["steps"] == 3);
    CHECK(said["gpu"] == "rtx-4090");
    REQUIRE(said["replays"].size() == 5);
    for (const json& one : said["replays"]) {
        CAPTURE(one.dump());
        CHECK(one["outcome"] == "done");
        CHECK(one["requested"] == said["replays"][0]["requested"]);
        CHECK(one["allocated"] >= one["requested"]);
        CHECK(one["reserved"] >= one["allocated"]);
        CHECK(one["fragmentation"] >= 0.0);
    }
    const double allocated = said["replays"][3]["allocated"], planned = said["planned"]["allocated"];
    CHECK(allocated / planned == doctest::Approx(1.0).epsilon(0.1));
    CHECK(simulated("replay " + job + " --steps 1 --allocator virtual_memory").code == 0);
}

TEST_CASE("a replay without room, without training, without a device or on a recorded one exits as documented") {
    const std::string preset = "qwen2.5-0.5b --task pretraining --runtime pytorch --batch 64 --context 4096";
    CHECK(simulated("replay " + preset).code == 3);
    CHECK(simulated("replay qwen2.5-0.5b --runtime vllm").code == 2);
    CHECK(simulated("replay no-such-model --task pretraining").code == 2);
    CHECK(simulated("replay /no/such/job.json").code == 2);
    CHECK(simulated("replay " + preset, "none").code == 4);
    CHECK(simulated("replay " + preset, "busy").code == 5);
    CHECK(simulated("replay " + preset, "broken").code == 1);
    CHECK(none("replay " + preset).code == 4);
    CHECK(none("replay " + preset + " --simulate " + devices + "synthetic-rtx-4090.json").code == 5);
}
