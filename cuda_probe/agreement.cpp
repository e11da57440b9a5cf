// SPDX-License-Identifier: MIT
#include "agreement.hpp"

#include <cmath>
#include <cstdint>

namespace llmres::probe {

namespace {

constexpr double most_percent = 1;
constexpr std::int64_t most_bytes = std::int64_t{64} << 20;

}  // namespace

nlohmann::ordered_json agreement_of(const nlohmann::ordered_json& report) {
    nlohmann::ordered_json out = nullptr;
    bool agrees = true;
    const auto terms = report.find("terms");
    if (terms != report.end() && report.value("verdict", "") == "fits") {
        for (const auto& line : *terms) {
            if (line["measured_bytes"].is_null() || line["term"] == "fragmentation") continue;  // counted in the others
            if (!line["requested_bytes"].is_null()) {
                const double error = line["error_percent"];
                agrees = agrees && std::abs(error) <= most_percent;
                if (out.is_object() && out.contains("term") &&
                    std::abs(out["term_error_percent"].get<double>()) >= std::abs(error))
                    continue;
                out["term"] = line["term"];
                out["term_error_percent"] = error;
            } else {
                const std::int64_t apart =
                    line["predicted_bytes"].get<std::int64_t>() - line["measured_bytes"].get<std::int64_t>();
                agrees = agrees && std::abs(apart) <= most_bytes;
                out[line["term"] == "runtime" ? "context_apart_bytes"
                                              : line["term"].get<std::string>() + "_apart_bytes"] = apart;
            }
        }
    }
    if (const auto search = report.find("search"); search != report.end() && search->value("largest", 0.0) > 0) {
        const double error =
            100 * ((*search)["predicted_in_guard"].get<double>() / (*search)["largest"].get<double>() - 1);
        agrees = agrees && std::abs(error) <= most_percent;
        out["largest_error_percent"] = error;
    }
    if (!out.is_null()) out["agrees"] = agrees;
    return out;
}

}  // namespace llmres::probe
