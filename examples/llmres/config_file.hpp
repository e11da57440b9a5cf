// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>
#include <string_view>

/// The files of settings that trainers read: YAML and TOML, as text by the path of each value.
namespace program {

/// Settings by their paths, with dots between the keys: "fsdp_config.offload_params" is "true". A list of words is one
/// text with commas between them, a list of anything else says how many there are; what is null is left out.
using settings = std::map<std::string, std::string, std::less<>>;

/// Whether a file's name is one of YAML or TOML.
bool is_config_file(std::string_view name);

/// Reads a file: TOML by its name's end, else YAML, of which JSON is a part. Nothing of it is run. Refused: a file that
/// cannot be read, is larger than 1 MiB, has more than 20,000 values (aliases count as often as they stand there) or
/// objects in objects deeper than 32; and, where the program was built without the library that reads it, any.
settings read_config_file(const std::string& file);

}  // namespace program
