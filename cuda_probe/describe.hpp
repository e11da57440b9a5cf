// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "cuda_api.hpp"
#include "nvml.hpp"

/// Devices as CUDA and NVML see them together.
namespace llmres::probe {

/// The NVML handle of a device that CUDA described: by UUID, as a whole card or as an instance (whose UUID then
/// replaces the guess in the descriptor), else by PCI address.
reading<nvml::handle> join(const nvml& driver, device& live);

/// The devices that CUDA lets this process use, so many as it said, as they are before any context is opened.
std::vector<device> describe_all(cuda_api& cuda, const nvml& driver, std::int32_t count);

/// Opens that device, to read free memory as a process has it.
void read_free(cuda_api& cuda, std::int32_t index, device& live);

/// Devices that NVML sees and CUDA does not, such as those hidden by CUDA_VISIBLE_DEVICES.
std::vector<device> describe_hidden(const nvml& driver, const std::vector<device>& seen);

/// Which device `asked` names: a CUDA index or a UUID; the first if nothing was asked. Refuses by name.
result<std::size_t> select(const std::vector<device>& devices, const std::string& asked);

}  // namespace llmres::probe
