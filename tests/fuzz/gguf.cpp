// SPDX-License-Identifier: MIT
// A GGUF header that may hold anything: read, or refused by name; no length in it is trusted.
#include <cstddef>
#include <cstdint>
#include <llmres/io/files/gguf_model.hpp>
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/gguf.hpp>
#include <llmres/io/model_source.hpp>
#include <span>

#include "require.hpp"

using namespace llmres;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto file = read_gguf(std::as_bytes(std::span{data, size}));
    if (!file) {
        require_named(file.error());
        return 0;
    }
    require(file->header <= file->size, "the header is part of the file");
    byte_count sum;
    for (const auto& [role, bytes_of] : gguf_bytes_by_role(*file)) sum += bytes_of;
    byte_count listed;
    for (const gguf_tensor_info& tensor : file->tensors) listed += tensor.size;
    require(sum == listed, "roles add up to all tensors");
    require(listed <= file->size - file->header, "tensors lie within the file");
    const auto mix = gguf_mix_of(*file);
    if (!mix) require_named(mix.error());
    const auto m = describe_gguf(*file);
    if (!m) require_named(m.error());
    if (m && mix) compare_gguf(*file, *m, *mix);
    return 0;
}
