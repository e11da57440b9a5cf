// SPDX-License-Identifier: MIT
// The headers compile where a program has included <windows.h> without NOMINMAX, or <sys/sysmacros.h>, before them.
// Only compiled. The standard library's and Boost's headers come first, as they do not promise the same.
#include <algorithm>
#include <array>
#include <bit>
#include <boost/units/base_dimension.hpp>
#include <boost/units/base_unit.hpp>
#include <boost/units/make_system.hpp>
#include <boost/units/physical_dimensions/information.hpp>
#include <boost/units/physical_dimensions/length.hpp>
#include <boost/units/physical_dimensions/mass.hpp>
#include <boost/units/physical_dimensions/time.hpp>
#include <boost/units/quantity.hpp>
#include <boost/units/systems/information/bit.hpp>
#include <boost/units/systems/information/byte.hpp>
#include <boost/units/systems/si/energy.hpp>
#include <boost/units/systems/si/power.hpp>
#include <boost/units/systems/si/time.hpp>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>
#if __has_include(<fmt/format.h>)
#include <fmt/format.h>
#endif

// Macros of <windows.h> and the headers that it includes, as they are defined there.
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small char
#define hyper long long
#define interface struct
#define cdecl
#define pascal
#define CONST const
#define VOID void
#define IN
#define OUT
#define OPTIONAL
#define STRICT 1
#define TRUE 1
#define FALSE 0
#define ERROR 0
#define NO_ERROR 0L
#define INFINITE 0xFFFFFFFF
#define IGNORE 0
#define RELATIVE 2
#define ABSOLUTE 1
#define TRANSPARENT 1
#define OPAQUE 2
#define DIFFERENCE 11
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define DELETE (0x00010000L)

// Function-like macros `major`, `minor` and `makedev`.
#if __has_include(<sys/sysmacros.h>)
#include <sys/sysmacros.h>
#endif

#include <llmres/llmres.hpp>

#include <llmres/io/device_json.hpp>
#include <llmres/io/files.hpp>
#include <llmres/io/files/gguf_model.hpp>
#include <llmres/io/files/stored_weights.hpp>
#include <llmres/io/hf_config.hpp>
#include <llmres/io/job_json.hpp>
#include <llmres/io/model_source.hpp>
#include <llmres/io/plan_json.hpp>
#include <llmres/io/safetensors.hpp>
#include <llmres/io/sentences.hpp>
#include <llmres/io/svg/plan.hpp>
#include <llmres/io/svg/tradeoff.hpp>
#include <llmres/values/boost_units.hpp>

// Templates and macros' names are looked at where they are used.
static_assert(llmres::version.major == 0 || llmres::version.major > 0);
static_assert(llmres::gib(1) + (llmres::byte_count::max)() == (llmres::byte_count::max)());
