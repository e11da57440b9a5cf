// SPDX-License-Identifier: MIT
// What logs say of their jobs, held against plans, and profiles learnt from them.
#include <llmres/io/logs/check.hpp>

#include <doctest/doctest.h>

#include <llmres/io/runtime_json.hpp>
#include <llmres/plan.hpp>
#include <map>
#include <string>
#include <vector>

using namespace llmres;

namespace {

/// A log of vLLM 0.19 on an H100, with a pool of its own.
std::string vllm_log(const std::string& pool, const std::string& weights = "14.9889", const std::string& more = "") {
    return "(APIServer pid=7) INFO [api_server.py:1] vLLM API server version 0.19.0\n"
           "(EngineCore pid=9) INFO [core.py:1] Initializing a V1 LLM engine (v0.19.0) with config: "
           "model='meta-llama/Llama-3.1-8B-Instruct', max_seq_len=8192, tensor_parallel_size=1, "
           "pipeline_parallel_size=1, quantization=None, enforce_eager=True, kv_cache_dtype=auto\n"
           "(EngineCore pid=9) INFO [gpu_model_runner.py:1] Model loading took " +
           weights +
           " GiB and 2.0 seconds\n"
           "(EngineCore pid=9) INFO [gpu_worker.py:1] Available KV cache memory: " +
           pool + " GiB\n" + more;
}

logs::logged_job job_of(const std::string& text, const nlohmann::json& said = {{"cluster", {{"gpu", "h100-sxm"}}}}) {
    logs::logged_job j;
    j.source = "some.log";
    j.log = logs::read_log(text).value();
    j.asked = read_job(logs::joined_document(logs::job_document(j.log), said)).value();
    j.layout = *j.asked.layout;
    return j;
}

double pool_of(const logs::logged_job& j) {
    return static_cast<double>(
               predicted(observed_figure::pool, j.asked.job, j.layout, j.asked.cluster).value.expected.in(bytes)) /
           1073741824.0;
}

std::string two_places(double gibibytes) {
    std::string text = std::to_string(gibibytes);
    return text.substr(0, text.find('.') + 3);
}

std::string refusal_of(const std::vector<logs::logged_job>& jobs) {
    const result<logs::calibration> read = logs::calibrate(jobs);
    if (read) return "read";
    return std::string{read.error().field.view()} + " is " + std::string{read.error().value.view()};
}

}  // namespace

TEST_CASE("a log names its job: model, version, flags and layout") {
    const nlohmann::json document = logs::job_document(logs::read_log(vllm_log("50.00")).value());
    CHECK(document["model"] == "meta-llama/Llama-3.1-8B-Instruct");
    CHECK(document["runtime"]["name"] == "vllm@0.19.0");
    CHECK(document["runtime"]["enforce_eager"] == true);
    CHECK(document["context"] == 8192);
    CHECK(document["layout"]["tensor"] == 1);
    const logs::logged_job j = job_of(vllm_log("50.00"));
    CHECK(j.asked.job.runtime == runtimes::vllm_v1_18);
    CHECK(j.asked.job.runtime.process.cuda_graphs == interval<byte_count>{});
}

TEST_CASE("a figure is inside where its bounds hold it, and named where they do not") {
    const double expected = pool_of(job_of(vllm_log("50.00")));
    const logs::logged_job good = job_of(vllm_log(two_places(expected)));
    const logs::check_result inside = logs::check(good.log, good.asked.job, good.layout, good.asked.cluster).value();
    REQUIRE(inside.figures.size() == 2);
    CHECK(inside.inside());
    CHECK(inside.figures[1].printed.line == 4);
    const logs::logged_job bad = job_of(vllm_log(two_places(expected - 8)));
    const logs::check_result outside = logs::check(bad.log, bad.asked.job, bad.layout, bad.asked.cluster).value();
    CHECK_FALSE(outside.inside());
    CHECK(outside.figures[0].inside);
    CHECK_FALSE(outside.figures[1].inside);
    CHECK(outside.figures[1].error() > 0.1);
}

TEST_CASE("a job that ran out of memory is inside where no plan of it fits, whatever sizes its log has") {
    const std::string lacking =
        "(EngineCore pid=9) ERROR [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 "
        "MiB. "
        "GPU 0 has a total capacity of 23.52 GiB of which 241.06 MiB is free. Of the allocated memory 20.42 GiB is "
        "allocated by PyTorch\n";
    const std::string start =
        "(EngineCore pid=9) INFO [core.py:1] Initializing a V1 LLM engine (v0.19.0) with config: "
        "model='Qwen/Qwen3-14B', max_seq_len=8192, tensor_parallel_size=1, pipeline_parallel_size=1, "
        "quantization=None, enforce_eager=True, kv_cache_dtype=auto\n";
    const auto checked_on = [&](const char* gpu) {
        const logs::logged_job j = job_of(start + lacking, {{"cluster", {{"gpu", gpu}}}});
        return logs::check(j.log, j.asked.job, j.layout, j.asked.cluster).value();
    };
    const logs::check_result small = checked_on("rtx-4090"), large = checked_on("h100-sxm");
    CHECK(small.ran_out == 2);
    CHECK(small.figures.empty());  // what was allocated when it ran out is no peak
    CHECK(small.planned == verdict::does_not_fit);
    CHECK(small.inside());
    CHECK(large.ran_out == 2);
    CHECK(large.planned == verdict::fits);
    CHECK_FALSE(large.inside());
    const logs::logged_job ran = job_of(vllm_log("50.00"));
    CHECK(logs::check(ran.log, ran.asked.job, ran.layout, ran.asked.cluster).value().ran_out == 0);
}

TEST_CASE("a log of another engine is refused with its name") {
    const logs::logged_job j = job_of(vllm_log("50.00"));
    job other = j.asked.job;
    other.runtime = runtimes::sglang;
    const auto answer = logs::check(j.log, other, j.layout, j.asked.cluster);
    REQUIRE_FALSE(bool{answer});
    CHECK(answer.error().value == "a log of vllm");
    CHECK(logs::check(logs::read_log("Max_MA 5.00 GB Max_CA 6 GB\n").value(), j.asked.job, j.layout, j.asked.cluster)
              .has_value());
}

TEST_CASE("a profile from logs predicts them, inherits the rest, and says where it is from") {
    const double expected = pool_of(job_of(vllm_log("50.00")));
    std::vector<logs::logged_job> jobs;
    for (const double less : {4.0, 4.02, 3.98, 4.01}) jobs.push_back(job_of(vllm_log(two_places(expected - less))));
    const logs::calibration found = logs::calibrate(jobs).value();
    CHECK(found.profile.origin.rows == 4);
    CHECK(found.profile.origin.measurements == 4);
    CHECK(found.profile.origin.gpus == std::vector<std::string>{"h100-sxm5-80gb"});
    CHECK(found.profile.origin.versions == std::vector<std::string>{"0.19.0"});
    CHECK(found.profile.origin.sources.at("process.workspace") == "4 logs");
    CHECK(found.profile.origin.sources.size() == 1);
    CHECK(found.other_half.figures == 4);
    CHECK(found.other_half.before_bytes > 3.9 * 1073741824.0);
    CHECK(found.other_half.after_bytes < 0.05 * 1073741824.0);
    // The knobs that the logs' jobs turned are not the profile's.
    CHECK(found.profile.runtime.process.cuda_graphs == runtimes::vllm_v1_18.process.cuda_graphs);
    // Through JSON, as a user would plan with it.
    const runtime_profile again = read_runtime_profile(to_json(found.profile).dump()).value();
    logs::logged_job next = jobs.front();
    next.asked.job.runtime = again.runtime;
    next.asked.job.runtime.process.cuda_graphs = {};
    CHECK(pool_of(next) == doctest::Approx(expected - 4).epsilon(0.001));
}

TEST_CASE("few logs leave wide bounds, many that agree narrow ones") {
    const double expected = pool_of(job_of(vllm_log("50.00")));
    double width = 1e18;
    for (const std::size_t count : {1u, 3u, 10u}) {
        const std::vector<logs::logged_job> jobs(count, job_of(vllm_log(two_places(expected - 1))));
        const interval<byte_count> workspace = logs::calibrate(jobs).value().profile.runtime.process.workspace;
        const double now = static_cast<double>((workspace.high - workspace.low).in(bytes));
        CHECK(now < width);
        width = now;
    }
}

TEST_CASE("logs whose arithmetic does not add up are refused with the line") {
    CHECK(refusal_of({job_of(vllm_log("50.00", "15.9"))}) == "log some.log, line 3 is 15.90 GiB");
    const std::string twice = "(EngineCore pid=9) INFO [gpu_worker.py:1] Available KV cache memory: 9.00 GiB\n";
    CHECK(refusal_of({job_of(vllm_log("50.00", "14.9889", twice))}) == "log some.log, line 4 is 50.00 GiB");
    CHECK(refusal_of({}) == "log is absent");
}

TEST_CASE("a budget is the sum of its parts, with what CUDA graphs were expected to take") {
    // The line of vLLM 0.10 to 0.26 that sums its memory up: 0.9 of 79.19 GiB are 71.27.
    const std::string summary =
        "(EngineCore pid=9) INFO [gpu_worker.py:1] Free memory on device (78.58/79.19 GiB) on startup. Desired GPU "
        "memory utilization is (0.9, 71.27 GiB). Actual usage is 14.99 GiB for weight, 1.16 GiB for peak activation, "
        "0.42 GiB for non-torch memory, and 0.31 GiB for CUDAGraph memory.\n";
    CHECK(refusal_of({job_of(vllm_log("54.70", "14.9889", summary))}) == "read");
    CHECK(refusal_of({job_of(vllm_log("50.00", "14.9889", summary))}) == "log some.log, line 4 is 66.57 GiB in all");
    CHECK(refusal_of({job_of(vllm_log("60.00", "14.9889", summary))}) == "log some.log, line 4 is 76.57 GiB in all");
    const std::string graphs = "(EngineCore pid=9) INFO Estimated CUDA graph memory: 4.70 GiB total\n";
    CHECK(refusal_of({job_of(vllm_log("50.00", "14.9889", summary + graphs))}) == "read");
    CHECK(refusal_of({job_of(vllm_log("49.00", "14.9889", summary + graphs))}) ==
          "log some.log, line 4 is 65.57 GiB in all");
}

TEST_CASE("a log that lacks a part of its budget says nothing of the sum") {
    const std::vector<std::string> parts{"total_gpu_memory (79.19GiB)",
                                         "gpu_memory_utilization (0.90)",
                                         "model weights take 14.99GiB",
                                         "non_torch_memory takes 0.42GiB",
                                         "PyTorch activation peak memory takes 1.16GiB",
                                         "reserved for KV Cache is 50.00GiB"};
    const std::string begins = vllm_log("");
    const auto refusal_without = [&](std::size_t lacking) {
        std::string text = begins.substr(0, begins.find("(EngineCore pid=9) INFO [gpu_model_runner"));
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (i != lacking) text += "INFO " + parts[i] + "\n";
        return refusal_of({job_of(text)});
    };
    CHECK(refusal_without(parts.size()) == "log some.log, line 8 is 66.57 GiB in all");
    for (std::size_t i = 0; i < parts.size(); ++i) {
        CAPTURE(parts[i]);
        CHECK(refusal_without(i).find("in all") == std::string::npos);
    }
}

TEST_CASE("what is beside tensors is learnt from its line, and the pool then says what else is deducted") {
    const std::string parts =
        "(EngineCore pid=9) INFO non_torch_memory takes 2.50GiB; activation peak memory takes 1.50GiB;\n";
    const std::vector<logs::logged_job> jobs(9, job_of(vllm_log("50.00", "14.9889", parts)));
    const logs::calibration found = logs::calibrate(jobs).value();
    CHECK(found.profile.origin.sources.at("process.workspace") == "9 logs");
    // From 0.21 on a pool that is smaller than its parts leave is what CUDA graphs were expected to take.
    std::string captures = vllm_log("40.00", "14.9889", parts);
    captures.replace(captures.find("enforce_eager=True"), 18, "enforce_eager=False");
    for (const char* version : {"version 0.19.0", "v0.19.0"})
        captures.replace(captures.find(version), std::string{version}.size(),
                         std::string{version}.substr(0, std::string{version}.find('0')) + "0.22.0");
    const auto learnt_of = logs::calibrate(std::vector{job_of(captures)});
    REQUIRE(learnt_of);
    const auto& sources = learnt_of->profile.origin.sources;
    CHECK(sources.count("process.cuda_graphs") + sources.count("process.layer_graphs") == 1);
    CHECK(sources.count("process.workspace") == 1);
    logs::logged_job next = jobs.front();
    next.asked.job.runtime = found.profile.runtime;
    const auto beside = predicted(observed_figure::beside_tensors, next.asked.job, next.layout, next.asked.cluster);
    REQUIRE(beside);
    CHECK(static_cast<double>(beside->expected.in(bytes)) == doctest::Approx(2.5 * 1073741824.0).epsilon(0.01));
}

TEST_CASE("a pool that is smaller by what a printed peak is larger teaches nothing else") {
    const logs::logged_job plain = job_of(vllm_log("50.00"));
    const double pool = pool_of(plain);
    const auto peak = predicted(observed_figure::activation_peak, plain.asked.job, plain.layout, plain.asked.cluster);
    REQUIRE(peak);
    const double expected = static_cast<double>(peak->expected.in(bytes)) / 1073741824.0;
    const auto workspace_of = [&](double more) {
        const std::string parts = "(EngineCore pid=9) INFO PyTorch activation peak memory takes " +
                                  two_places(expected + more + 0.005) + "GiB\n";
        const std::vector<logs::logged_job> jobs(9, job_of(vllm_log(two_places(pool - more), "14.9889", parts)));
        const interval<byte_count> learnt = logs::calibrate(jobs).value().profile.runtime.process.workspace;
        return static_cast<double>(learnt.expected.in(bytes)) / 1073741824.0;
    };
    const double as_planned = workspace_of(0);
    CHECK(workspace_of(1) == doctest::Approx(as_planned).epsilon(0.05));
    CHECK(workspace_of(2) == doctest::Approx(as_planned).epsilon(0.05));
    // Of a pool alone it is the workspace that lacks a GiB.
    const std::vector<logs::logged_job> alone(9, job_of(vllm_log(two_places(pool - 1))));
    const interval<byte_count> learnt = logs::calibrate(alone).value().profile.runtime.process.workspace;
    CHECK(static_cast<double>(learnt.expected.in(bytes)) / 1073741824.0 > as_planned + 0.8);
}

TEST_CASE("weights and caches that are not what arithmetic says are refused") {
    CHECK(refusal_of({job_of(vllm_log("50.00", "13.9"))}) == "log some.log, line 3 is 13.90 GiB");
    const auto llama_cpp = [](const std::string& cache) {
        return job_of(
            "build: 5000 (abc)\nllama_model_loader: loaded meta data with 29 key-value pairs\n"
            "print_info: file type   = Q8_0\n"
            "load_tensors: offloaded 33/33 layers to GPU\n"
            "load_tensors:        CUDA0 model buffer size =  7605.33 MiB\n"
            "load_tensors:   CPU_Mapped model buffer size =   532.31 MiB\n"
            "llama_context: n_ctx         = 8192\n"
            "llama_kv_cache:      CUDA0 KV buffer size =  " +
                cache +
                " MiB\n"
                "llama_context:      CUDA0 compute buffer size =   560.00 MiB\n",
            {{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "h100-sxm"}}}});
    };
    // 2 x 32 layers x 8 heads x 128 x 2 bytes x 8192 tokens.
    CHECK(refusal_of({llama_cpp("1024.00")}) == "read");
    CHECK(refusal_of({llama_cpp("512.00")}) == "log some.log, line 8 is 0.50 GiB");
    CHECK(logs::calibrate(std::vector{llama_cpp("1024.00")}).value().profile.origin.sources ==
          std::map<std::string, std::string>{{"accuracy.activations", "1 log"}});
}

TEST_CASE(
    "what arithmetic says of a cache may be off by a hundredth where a profile is learnt, by a thousandth in a check") {
    const auto with_cache = [](const std::string& cache) {
        return job_of(
            "build: 5000 (abc)\nllama_model_loader: loaded meta data with 29 key-value pairs\n"
            "print_info: file type   = Q8_0\nload_tensors: offloaded 33/33 layers to GPU\n"
            "load_tensors:        CUDA0 model buffer size =  7605.33 MiB\nllama_context: n_ctx         = 8192\n"
            "llama_kv_cache:      CUDA0 KV buffer size =  " +
                cache + " MiB\nllama_context:      CUDA0 compute buffer size =   560.00 MiB\n",
            {{"model", "llama-3.1-8b"}, {"cluster", {{"gpu", "h100-sxm"}}}});
    };
    // Of 1,024 MiB, as the case above has them: 1 % is 10.24, and the last digit is rounded by 0.005.
    for (const char* read : {"1034.24", "1034.20", "1013.76", "1013.80"})
        CHECK(refusal_of({with_cache(read)}) == "read");
    for (const char* refused : {"1034.30", "1013.70"}) CHECK(refusal_of({with_cache(refused)}) != "read");
    const auto inside = [&](const std::string& cache) {
        const logs::logged_job j = with_cache(cache);
        const logs::check_result checked = logs::check(j.log, j.asked.job, j.layout, j.asked.cluster).value();
        for (const logs::checked_figure& f : checked.figures)
            if (f.printed.seen.what == observed_figure::kv_cache) return f.inside;
        return false;
    };
    for (const char* near : {"1024.00", "1025.00", "1023.00"}) CHECK(inside(near));
    for (const char* far : {"1025.20", "1022.80", "1500.00"}) CHECK_FALSE(inside(far));
}

TEST_CASE("a budget that is off by more than a tenth of a GiB is refused") {
    const std::string summary =
        "(EngineCore pid=9) INFO [gpu_worker.py:1] Free memory on device (78.58/79.19 GiB) on startup. Desired GPU "
        "memory utilization is (0.9, 71.27 GiB). Actual usage is 14.99 GiB for weight, 1.16 GiB for peak activation, "
        "0.42 GiB for non-torch memory, and 0.31 GiB for CUDAGraph memory.\n";
    for (const char* near : {"54.75", "54.65"})
        CHECK(refusal_of({job_of(vllm_log(near, "14.9889", summary))}) == "read");
    for (const char* far : {"54.85", "54.55"})
        CHECK(refusal_of({job_of(vllm_log(far, "14.9889", summary))}).ends_with("GiB in all"));
}

TEST_CASE("each half of the logs is predicted by what the other half taught, in bytes and in parts") {
    const double gibibyte = 1073741824.0;
    const double expected = pool_of(job_of(vllm_log("50.00")));
    const auto halves_of = [&](const std::vector<double>& pools) {
        std::vector<logs::logged_job> jobs;
        for (const double pool : pools) jobs.push_back(job_of(vllm_log(two_places(pool))));
        return logs::calibrate(jobs).value().other_half;
    };
    // A log that is 4 GiB below is predicted by one that is 3 below, and the other way round: both are 1 GiB off.
    const auto apart = halves_of({expected - 4, expected - 3});
    CHECK(apart.figures == 2);
    CHECK(apart.before_bytes == doctest::Approx(3.5 * gibibyte).epsilon(0.01));
    CHECK(apart.after_bytes == doctest::Approx(gibibyte).epsilon(0.05));
    CHECK(apart.before_part == doctest::Approx((4 / (expected - 4) + 3 / (expected - 3)) / 2).epsilon(0.01));
    CHECK(apart.after_part == doctest::Approx((1 / (expected - 4) + 1 / (expected - 3)) / 2).epsilon(0.05));
    // The third log is of the first one's half.
    const auto three = halves_of({expected - 4, expected - 2, expected - 4});
    CHECK(three.figures == 3);
    CHECK(three.after_bytes == doctest::Approx(2 * gibibyte).epsilon(0.05));
    // The second is predicted by both of the other half, which are 4 and 2 below: by 3.
    const auto uneven = halves_of({expected - 4, expected - 2, expected - 2});
    CHECK(uneven.after_bytes == doctest::Approx((2.0 + 1.0 + 0.0) / 3 * gibibyte).epsilon(0.05));
    for (const auto& none : {halves_of({expected - 4}), logs::calibration::halves{}}) {
        CHECK(none.figures == 0);
        for (const double part : {none.before_bytes, none.after_bytes, none.before_part, none.after_part})
            CHECK(part == 0);
    }
    const auto empty = halves_of({0, 0});
    CHECK(empty.figures == 0);
    CHECK(empty.before_bytes == 0);
}

TEST_CASE("figures that nothing predicts are left out, and a log of them alone is refused") {
    // CUDA graphs, where the job captures none.
    const std::string graphs = "(EngineCore pid=9) INFO Graph capturing finished in 4 secs, took 0.31 GiB\n";
    const logs::logged_job j = job_of(vllm_log(two_places(pool_of(job_of(vllm_log("50.00")))), "14.9889", graphs));
    const logs::check_result answer = logs::check(j.log, j.asked.job, j.layout, j.asked.cluster).value();
    CHECK(answer.figures.size() == 2);
    CHECK(answer.inside());
    const auto refused = logs::check(j.log, j.asked.job, layout{.tensor = 3}, j.asked.cluster);
    REQUIRE_FALSE(bool{refused});
    CHECK(refused.error().value == "no size of anything that is planned");
    logs::logged_job other = j;
    other.layout.tensor = 3;
    CHECK(refusal_of({other}) == "log is nothing that a constant follows from");
    // Beside a log that teaches something it changes nothing.
    const logs::calibration both = logs::calibrate(std::vector{job_of(vllm_log("50.00")), other}).value();
    CHECK(both.profile.origin.sources.at("process.workspace") == "1 log");
    CHECK(both.other_half.figures == 1);
}

TEST_CASE("a pool beyond its bounds lies outside, and an empty one has no error in parts") {
    const double expected = pool_of(job_of(vllm_log("50.00")));
    const logs::logged_job large = job_of(vllm_log(two_places(expected + 8)));
    const logs::check_result above = logs::check(large.log, large.asked.job, large.layout, large.asked.cluster).value();
    CHECK_FALSE(above.figures[1].inside);
    CHECK(above.figures[1].error() < -0.1);
    const logs::logged_job empty = job_of(vllm_log("0.00"));
    const logs::check_result none = logs::check(empty.log, empty.asked.job, empty.layout, empty.asked.cluster).value();
    CHECK_FALSE(none.figures[1].inside);
    CHECK(none.figures[1].error() == 0);
    CHECK(logs::calibrate(std::vector{empty, empty}).value().other_half.figures == 0);
}

TEST_CASE("logs of two profiles are refused, and a log without a version is of the profile's") {
    const nlohmann::json said = {{"model", "llama-3.1-8b"},
                                 {"task", "serving"},
                                 {"context", 8192},
                                 {"runtime", {{"name", "vllm@0.9.2"}}},
                                 {"cluster", {{"gpu", "h100-sxm"}}}};
    const logs::logged_job older = job_of("INFO Available KV cache memory: 50.00 GiB\n", said);
    const result<logs::calibration> mixed = logs::calibrate(std::vector{job_of(vllm_log("50.00")), older});
    REQUIRE_FALSE(bool{mixed});
    CHECK(mixed.error().field == "log some.log");
    CHECK(mixed.error().value == older.asked.profile.runtime.identity.versions.view());
    const logs::calibration alone = logs::calibrate(std::vector{older}).value();
    CHECK(alone.profile.origin.versions.empty());
    CHECK(alone.profile.runtime.identity.versions ==
          std::string{older.asked.profile.runtime.identity.versions.view()} + ", from 1 log");
}

TEST_CASE("llama.cpp's names for mixes are the library's") {
    CHECK(logs::detail::mix_of("Q4_K - Medium") == "q4_k_m");
    CHECK(logs::detail::mix_of("mostly Q4_0") == "q4_0");
    CHECK(logs::detail::mix_of("F16") == "fp16");
    CHECK(logs::detail::mix_of("all F32") == "fp32");
    CHECK(logs::detail::mix_of("MXFP4 MoE") == "mxfp4_moe");
}
