// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <llmres/models/model.hpp>
#include <llmres/values/maybe.hpp>
#include <llmres/values/units.hpp>
#include <map>
#include <string>
#include <string_view>

/// The roles of the tensors that GGUF and safetensors files store.
namespace llmres::inline v0::detail {

/// A role, and the parts of names that tensors of it have.
struct named_role {
    weight_role role;
    std::array<std::string_view, 10> names;
};
template <std::size_t N>
constexpr maybe<weight_role> role_in(const std::array<named_role, N>& table, std::string_view name) {
    for (const named_role& entry : table)
        for (const std::string_view known : entry.names)
            if (known == name && !known.empty()) return entry.role;
    return {};
}

/// The name of a role as comparisons count it: roles whose tensors files may fuse have one name together.
inline std::string fused_name_of(weight_role role) {
    switch (role) {
        case weight_role::q_proj:
        case weight_role::k_proj:
        case weight_role::v_proj: return "q_proj, k_proj and v_proj";
        case weight_role::gate_proj:
        case weight_role::up_proj: return "gate_proj and up_proj";
        default: return std::string{name_of(role)};
    }
}

/// Bytes by role; tensors whose role is not known are summed under "other".
template <class Tensors, class RoleOf, class Size>
std::map<std::string_view, byte_count> bytes_by_role(const Tensors& tensors, RoleOf role_of, Size size) {
    std::map<std::string_view, byte_count> total;
    for (const auto& tensor : tensors) {
        const maybe<weight_role> role = role_of(tensor.name);
        total[role ? name_of(role.value) : std::string_view{"other"}] += std::invoke(size, tensor);
    }
    return total;
}

}  // namespace llmres::inline v0::detail
