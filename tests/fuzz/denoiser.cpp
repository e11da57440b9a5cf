// SPDX-License-Identifier: MIT
// A denoising network's config.json that may hold anything: read, or refused by name; what is read can be counted,
// sized and timed.
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/cluster.hpp>
#include <llmres/hardware/gpus/nvidia.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/models/diffusion.hpp>
#include <llmres/time/images.hpp>
#include <string_view>
#include <variant>

#include "require.hpp"

using namespace llmres;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const result<denoiser> network = read_hf_denoiser({reinterpret_cast<const char*>(data), size});
    if (!network) {
        require(network.error().code != error_code::none && !network.error().expected.empty(),
                "a failure says what was expected");
        return 0;
    }
    std::visit(
        [](const auto& read) {
            require(static_cast<bool>(validate(read)), "a network that is read is valid");
            const parameter_count total = count_parameters(read);
            require(total > parameter_count{} && !is_saturated(total), "parameters are counted");
            const byte_count stored = weight_bytes(read, {});
            require(stored > byte_count{} && !is_saturated(stored), "weights are sized");
        },
        *network);
    if (const auto* u = std::get_if<unet>(&*network)) {
        const result<time_breakdown> t = image_time(*u, {}, cluster{.gpu = gpus::rtx_4090});
        require(t && t->expected() > duration{}, "an image takes a time");
    }
    return 0;
}
