// SPDX-License-Identifier: MIT
#include <llmres/inventory/layers/operations.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <llmres/models/all.hpp>
#include <llmres/models/parameters.hpp>
#include <vector>

using namespace llmres;
using namespace llmres::detail;

namespace {

std::vector<layer_operation> operations_of(const layer& l, std::int64_t hidden, const norm_modeling& norms = {}) {
    std::vector<layer_operation> all;
    for_each_layer_operation(l, hidden, modeling{.norms = norms}, [&](const layer_operation& o) { all.push_back(o); });
    return all;
}

/// Matrices that no product of the list multiplies by: tables of recurrences, and the indexer of sparse attention,
/// which is trained by itself.
bool is_product(const weight& w) {
    using enum weight_role;
    return (w.rows > 1 || w.role == shared_gate) && w.columns > 1 && w.role != conv && w.role != state &&
           w.role != weight_role::indexer && w.role != norm;
}

}  // namespace

TEST_CASE("the products of a layer are its matrices, in every model: roles, rows and columns") {
    struct shape {
        weight_role role;
        std::int64_t rows, columns;
        bool operator==(const shape&) const = default;
    };
    for (const model* m : models::all)
        for (std::int32_t k = 0; k < m->layers.kind_count; ++k) {
            const layer& l = m->layers.kinds[static_cast<std::size_t>(k)];
            const bool described =
                l.recurrent.kind == recurrent_kind::none || l.recurrent.kind == recurrent_kind::mamba2;
            const bool other_keys =
                l.attention.kv != kv_source::own || l.cross_width > 0 || l.attention.gate == output_gate::features;
            if (!described || other_keys) continue;
            CAPTURE(m->name.view());
            std::vector<shape> weights, products;
            for_each_weight(l, m->hidden, [&](const weight& w) {
                if (is_product(w)) weights.push_back({w.role, w.rows, w.columns});
            });
            for (const layer_operation& o : operations_of(l, m->hidden))
                for (std::size_t i = 0; i < o.products(); ++i)
                    products.push_back({o.weights[i], o.writes[i].width, o.reads[0].width});
            CHECK(weights.size() == products.size());
            for (const shape& w : weights) {
                CAPTURE(int(w.role));
                CHECK(std::count(products.begin(), products.end(), w) == std::count(weights.begin(), weights.end(), w));
            }
        }
}

TEST_CASE("an operation reads what another has written, or what the layer begins with") {
    for (const model* m : models::all)
        for (std::int32_t k = 0; k < m->layers.kind_count; ++k) {
            std::vector<operand_name> written{operand_name::stream, operand_name::encoded};
            for (const layer_operation& o : operations_of(m->layers.kinds[static_cast<std::size_t>(k)], m->hidden)) {
                CAPTURE(m->name.view());
                for (const operand& read : o.reads) {
                    const bool known = read.width == 0 || read.name == operand_name::value ||
                                       std::count(written.begin(), written.end(), read.name) > 0;
                    CHECK(known);
                }
                for (const operand& made : o.writes) written.push_back(made.name);
            }
        }
}

TEST_CASE("norms stand before each half, after the sums, or once for both halves") {
    const layer& l = models::llama_3_1_8b.layers.kinds[0];
    const auto codes = [&](const norm_modeling& norms) {
        std::vector<operation_code> found;
        for (const layer_operation& o : operations_of(l, 4096, norms))
            if (o.code == operation_code::norm || o.code == operation_code::residual_sum) found.push_back(o.code);
        return found;
    };
    using enum operation_code;
    CHECK(codes({}) == std::vector{norm, residual_sum, norm, residual_sum});
    CHECK(codes({.after_sum = true}) == std::vector{residual_sum, norm, residual_sum, norm});
    CHECK(codes({.one_input = true}) == std::vector{norm, norm, residual_sum, residual_sum});
}
