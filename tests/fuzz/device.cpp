// SPDX-License-Identifier: MIT
// A device file that may hold anything: read, or refused by name; what is read is written and read again as it was, and
// becomes a cluster, or is refused. The same text as a listing of a machine's GPUs: read, or refused by name.
#include <cstddef>
#include <cstdint>
#include <llmres/hardware/live_cluster.hpp>
#include <llmres/io/device_json.hpp>
#include <llmres/io/json/cluster/machine.hpp>
#include <string>
#include <string_view>

#include "require.hpp"

using namespace llmres;

namespace {

void read_listing(std::string_view text) {
    const result<machine> listed = read_machine(text);
    if (!listed) return require_named(listed.error());
    require(!listed->gpus.empty(), "what is read has a GPU");
    const result<machine_cards> cards = cards_of(*listed);
    if (!cards) return require_named(cards.error());
    require(cards->in_use >= byte_count{}, "no less than nothing is in use");
    require(!cards->gpu_memory || *cards->gpu_memory >= byte_count{}, "a GPU has no less than no memory");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    read_listing({reinterpret_cast<const char*>(data), size});
    const result<device_file> file = parse_device_file({reinterpret_cast<const char*>(data), size});
    if (!file) {
        // A key may be empty, and then so is the field that is named.
        require(file.error().code != error_code::none && !file.error().expected.empty(),
                "a failure says what was expected");
        return 0;
    }
    const auto written = [](const device_file& f) {
        return to_json(f).dump(-1, ' ', false, nlohmann::json::error_handler_t::strict);
    };
    const std::string text = written(*file);
    const result<device_file> again = parse_device_file(text);
    require(static_cast<bool>(again), "what was written is read");
    require(written(*again) == text, "what was written is read as it was");
    for (const device& live : file->devices)
        for (const std::int32_t gpus : {1, 8}) {
            const result<cluster> machine = cluster_of(live, gpus);
            if (!machine)
                require_named(machine.error());
            else
                require(static_cast<bool>(validate(*machine)), "a machine that was measured is a valid cluster");
        }
    return 0;
}
