// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "agreement.hpp"

using llmres::probe::agreement_of;

TEST_CASE("agreement is told of the worst term, of context and workspace, and of the largest that was held") {
    using json = nlohmann::ordered_json;
    const auto term = [](const char* name, json requested, double predicted, double measured) {
        return json{{"term", name},
                    {"predicted_bytes", static_cast<std::int64_t>(predicted)},
                    {"requested_bytes", requested},
                    {"measured_bytes", static_cast<std::int64_t>(measured)},
                    {"error_percent", 100 * (predicted / measured - 1)}};
    };
    json report{
        {"verdict", "fits"},
        {"terms", json::array({term("weights", 1000, 1000, 1005), term("kv_cache", 1000, 1000, 1008),
                               term("runtime", nullptr, 500 << 20, 450 << 20), term("fragmentation", nullptr, 1, 2)})}};
    const json good = agreement_of(report);
    CHECK(good["term"] == "kv_cache");
    CHECK(good["term_error_percent"].get<double>() == doctest::Approx(-0.79365));
    CHECK(good["context_apart_bytes"] == 50 << 20);
    CHECK(good["agrees"] == true);
    report["terms"].push_back(term("workspace", nullptr, 100 << 20, 30 << 20));  // 70 MiB apart
    CHECK(agreement_of(report)["workspace_apart_bytes"] == 70 << 20);
    CHECK(agreement_of(report)["agrees"] == false);
    report["terms"].back() = term("logits", 1000, 1000, 1020);
    CHECK(agreement_of(report)["term"] == "logits");
    CHECK(agreement_of(report)["agrees"] == false);
    report["verdict"] = "inconclusive";
    CHECK(agreement_of(report).is_null());
    const json searched{{"verdict", "fits"}, {"search", {{"largest", 200}, {"predicted_in_guard", 201}}}};
    CHECK(agreement_of(searched)["largest_error_percent"].get<double>() == doctest::Approx(0.5));
    CHECK(agreement_of(searched)["agrees"] == true);
    CHECK(agreement_of({{"search", {{"largest", 0}, {"predicted_in_guard", 0}}}}).is_null());
}
