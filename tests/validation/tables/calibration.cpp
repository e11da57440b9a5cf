// SPDX-License-Identifier: MIT
// Prints the section of docs/accuracy.md on profiles that are learnt from logs: vLLM's pools of the published rows,
// learnt from the pool that a log prints and, where it prints them, the peak of activations and what is beside tensors.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <llmres/answers/observe.hpp>
#include <llmres/io/logs/check.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../../properties.hpp"
#include "../serving/rows.hpp"

namespace {

using namespace llmres;

/// A row of vLLM under some profile.
struct pool_row {
    plan_request asked;
    byte_count printed;
    maybe<byte_count> peak{};    ///< of activations, where it is printed as well
    maybe<byte_count> beside{};  ///< what is beside tensors, likewise
};
using rows = std::vector<pool_row>;

/// The rows that print a pool, by version; `under`: with that profile in place of the version's own.
std::map<std::string, rows> rows_of_vllm(const std::string& under = "") {
    std::map<std::string, rows> all;
    std::ifstream lines{LLMRES_SOURCE_DIR "/tests/validation/data/serving_jobs.jsonl"};
    for (std::string line; std::getline(lines, line);) {
        const nlohmann::json row = nlohmann::json::parse(line);
        nlohmann::json document = row.at("document");
        const std::string name = document.at("runtime").at("name");
        if (!name.starts_with("vllm@") || !row.at("measured").contains("pool")) continue;
        if (!under.empty()) document["runtime"]["name"] = under;
        const auto size = [&](const char* figure) {
            return bytes(static_cast<std::int64_t>(row.at("measured").at(figure).get<double>()));
        };
        pool_row r{serving::read_document(row.at("id"), document), size("pool")};
        if (row.at("measured").contains("activation")) r.peak = size("activation");
        if (row.at("measured").contains("beside")) r.beside = size("beside");
        all[name].push_back(r);
    }
    return all;
}

/// What `llmres calibrate` learns from the row's log: from what it prints beside the pool, and from the pool what else
/// is lacking.
observed_profile learn(observed_profile known, const pool_row& r) {
    if (known.prior.identity.name.empty()) known.prior = r.asked.profile.runtime;
    logs::logged_job j;
    j.asked = r.asked, j.layout = *r.asked.layout;
    j.log.engine = "vllm";
    const auto print = [&](logs::quantity what, byte_count size) {
        logs::figure f;
        f.what = what, f.value = static_cast<double>(size.in(bytes)), f.line = 1;
        j.log.figures.push_back(f);
    };
    print(logs::quantity::pool, r.printed);
    if (r.peak) print(logs::quantity::activation_peak, *r.peak);
    if (r.beside) print(logs::quantity::beside_tensors, *r.beside);
    for (const logs::line_observation& o : logs::detail::learnt_from(j))
        known = observe(known, j.asked.job, j.layout, j.asked.cluster, o.seen);
    return known;
}

/// Mean difference to what was printed in GiB, and rows.
struct score {
    double sum = 0;
    int count = 0;
    void add(const pool_row& r, const observed_profile* known) {
        job j = r.asked.job;
        if (known != nullptr) j.runtime = with_learnt(j.runtime, *known, prior_weight::while_inside);
        const auto said = predicted(observed_figure::pool, j, *r.asked.layout, r.asked.cluster);
        if (!said) return;
        sum += std::fabs(static_cast<double>((said->expected - r.printed).in(bytes))) / 1073741824.0;
        ++count;
    }
    double mean() const { return count > 0 ? sum / count : 0; }
};

/// Both halves of 100 shuffled orders, each predicted from the other.
void print_halves(const std::string& version, const rows& all) {
    properties::generator random;
    score before, after;
    std::vector<std::size_t> order(all.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (int shuffle = 0; shuffle < 100; ++shuffle) {
        for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.bits() % (i + 1)]);
        observed_profile known;
        for (std::size_t i = 0; i < order.size() / 2; ++i) known = learn(known, all[order[i]]);
        for (std::size_t i = order.size() / 2; i < order.size(); ++i) {
            before.add(all[order[i]], nullptr);
            after.add(all[order[i]], &known);
        }
    }
    std::printf("| %s | %zu | %.3f | %.3f |\n", version.c_str(), all.size(), before.mean(), after.mean());
}

/// Each log of a version in turn, with the profile of the versions before it.
void print_next(const std::string& older, const std::string& version) {
    const rows all = rows_of_vllm(older).at(version);
    score before, after;
    int better = 0;
    for (std::size_t one = 0; one < all.size(); ++one) {
        const observed_profile known = learn({}, all[one]);
        score without, with;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (i != one) without.add(all[i], nullptr), with.add(all[i], &known);
        better += with.mean() < without.mean();
        before.sum += without.sum, before.count += without.count;
        after.sum += with.sum, after.count += with.count;
    }
    std::printf("| %s | %s | %zu | %.3f | %.3f | %d of %zu |\n", older.c_str(), version.c_str(), all.size(),
                before.mean(), after.mean(), better, all.size());
}

}  // namespace

int main(int, char**) {
    std::puts("| version | logs | profile of the version, GiB off | learnt from half of the logs, GiB off |");
    std::puts("|---|---:|---:|---:|");
    for (const auto& [version, all] : rows_of_vllm())
        if (all.size() >= 5) print_halves(version, all);
    std::puts("");
    std::puts(
        "| profile | logs of | logs | GiB off | with one log, GiB off | nearer, by the log that is learnt from |");
    std::puts("|---|---|---:|---:|---:|---:|");
    print_next("vllm@0.6.3", "vllm@0.6.4");
    print_next("vllm@0.6.4", "vllm@0.6.5");
    print_next("vllm@0.7 V0", "vllm@0.9 V0");
    print_next("vllm@0.8.5", "vllm@0.11.0");
    print_next("vllm@0.11.1", "vllm@0.19.0");
    print_next("vllm@0.17", "vllm@0.19.0");
    print_next("vllm@0.20", "vllm@0.19.0");
    return 0;
}
