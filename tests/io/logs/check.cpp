// SPDX-License-Identifier: MIT
// What logs say of their jobs, held against plans, and profiles learnt from them.
#include <llmres/io/logs/check.hpp>

#include <doctest/doctest.h>

#include <llmres/io/runtime_json.hpp>
#include <llmres/plan.hpp>
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

TEST_CASE("llama.cpp's names for mixes are the library's") {
    CHECK(logs::detail::mix_of("Q4_K - Medium") == "q4_k_m");
    CHECK(logs::detail::mix_of("mostly Q4_0") == "q4_0");
    CHECK(logs::detail::mix_of("F16") == "fp16");
    CHECK(logs::detail::mix_of("all F32") == "fp32");
    CHECK(logs::detail::mix_of("MXFP4 MoE") == "mxfp4_moe");
}
