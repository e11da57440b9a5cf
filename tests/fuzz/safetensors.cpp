// SPDX-License-Identifier: MIT
// A safetensors header that may hold anything: read, or refused by name.
#include <cstddef>
#include <cstdint>
#include <llmres/io/safetensors.hpp>
#include <span>

#include "require.hpp"

using namespace llmres;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file = read_safetensors(std::as_bytes(std::span{data, size}));
    if (!file) {
        require_named(file.error());
        return 0;
    }
    require(file->header + file->tensor_bytes() == file->size, "header and tensors are the file");
    byte_count sum;
    for (const auto& [role, bytes_of] : safetensors_bytes_by_role(*file)) sum += bytes_of;
    require(sum == file->tensor_bytes(), "roles add up to all tensors");
    file->elements();
    return 0;
}
