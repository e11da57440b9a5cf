// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <limits>
#include <llmres/hardware/gpus/all.hpp>
#include <llmres/io/device_json.hpp>
#include <set>
#include <string>
#include <string_view>

using namespace llmres;

namespace {

device sample() {
    device live;
    live.identity.uuid = text<63>{"GPU-00000000-0000-0000-0000-000000000001"};
    live.identity.index_cuda = 0;
    live.identity.mig_profile = reading<text<31>>::unavailable("not a MIG instance");
    live.memory.cuda_total = gib(80);
    live.memory.ecc_enabled = true;
    live.nvlinks_active = 1;
    device_peer peer;
    peer.topology = reading<text<31>>::unavailable("NVML: not supported");
    live.peers.push(peer);
    live.measured.read_bandwidth = measured<byte_rate>{gb_per_s(3000), gb_per_s(2990), gb_per_s(3010), 20};
    device_product product;
    product.precision = "bf16";
    product.rows = product.columns = product.inner = 8192;
    product.rate = measured<flop_rate>{tflops(700), tflops(690), tflops(710), 10};
    product.sustained = measured<flop_rate>{tflops(600), tflops(590), tflops(610), 10};
    product.sustained.value.during = {mhz(1410), watts(700), text<95>{"sw_power_cap"}};
    product.verified = true;
    live.measured.products.push(product);
    return live;
}

error refusal_of(const std::string& written) {
    const auto read = parse_device_file(written);
    REQUIRE_FALSE(read.has_value());
    return read.error();
}

std::string with_device(const std::string& device) { return R"({"schema_version":1,"devices":[)" + device + "]}"; }

}  // namespace

TEST_CASE("a device survives the way into JSON and back") {
    const device_file file{"0.1.0", "2025-01-31T12:00:00Z", {sample(), device{}}};
    const auto again = parse_device_file(to_json(file).dump());
    REQUIRE(again.has_value());
    REQUIRE(again->devices.size() == 2);
    CHECK(again->devices[0] == sample());
    CHECK(again->devices[1] == device{});
    CHECK(again->captured_at == "2025-01-31T12:00:00Z");
}

TEST_CASE("no device is an empty list and nothing else") {
    CHECK(to_json(device_file{}).dump() == R"({"devices":[]})");
    CHECK(parse_device_file(R"({"devices":[]})")->devices.empty());
}

TEST_CASE("what could not be read is null, with the reason beside it") {
    const auto written = to_json(sample());
    CHECK(written["identity"]["mig_profile"].is_null());
    CHECK(written["identity"]["unavailable"]["mig_profile"] == "not a MIG instance");
    CHECK(written["memory"]["cuda_total_bytes"] == 85899345920);
    CHECK(written["peers"][0]["unavailable"]["topology"] == "NVML: not supported");
    CHECK(written["measured"]["read_bandwidth"]["median_bytes_per_s"] == 3e12);
    CHECK_FALSE(written["measured"]["products"][0].contains("unavailable"));
}

TEST_CASE("a bad device file is refused by the name of the field") {
    CHECK(refusal_of("").code == error_code::malformed);
    CHECK(refusal_of("[]").field == "device file");
    CHECK(refusal_of("{}").field == "devices");
    CHECK(refusal_of(R"({"devices":3})").field == "devices");
    CHECK(refusal_of(R"({"devices":[{}]})").field == "schema_version");
    CHECK(refusal_of(R"({"schema_version":2,"devices":[{}]})").code == error_code::unsupported);
    CHECK(refusal_of(R"({"schema_version":"1","devices":[{}]})").field == "schema_version");
    CHECK(refusal_of(with_device("7")).field == "devices[0]");
    CHECK(refusal_of(with_device(R"({"memory":7})")).field == "devices[0].memory");
    CHECK(refusal_of(with_device(R"({"memory":{"cuda_total_bytes":"80 GiB"}})")).field ==
          "devices[0].memory.cuda_total_bytes");
    CHECK(refusal_of(with_device(R"({"memory":{"cuda_total_bytes":-1}})")).code == error_code::out_of_range);
    CHECK(refusal_of(with_device(R"({"memory":{"cuda_total_bytes":1.5}})")).code == error_code::malformed);
    CHECK(refusal_of(with_device(R"({"memory":{"cuda_total_bytes":18446744073709551615}})")).code ==
          error_code::out_of_range);
    CHECK(refusal_of(with_device(R"({"compute":{"sm_count":99999999999}})")).code == error_code::out_of_range);
    CHECK(refusal_of(with_device(R"({"measured":{"read_bandwidth":{"median_bytes_per_s":1}}})")).code ==
          error_code::missing);
    CHECK(
        refusal_of(
            with_device(
                R"({"measured":{"read_bandwidth":{"median_bytes_per_s":1,"low_bytes_per_s":2,"high_bytes_per_s":3,"repeats":1}}})"))
            .code == error_code::inconsistent);
}

TEST_CASE("a reading of another type than its own is refused by its path") {
    const auto field_of = [](const std::string& device) {
        return std::string{refusal_of(with_device(device)).field.view()};
    };
    CHECK(field_of(R"({"memory":{"ecc_enabled":"yes"}})") == "devices[0].memory.ecc_enabled");
    CHECK(field_of(R"({"identity":{"name":7}})") == "devices[0].identity.name");
    CHECK(field_of(R"({"power":{"draw_watts":"300 W"}})") == "devices[0].power.draw_watts");
    CHECK(field_of(R"({"power":{"draw_watts":-1}})") == "devices[0].power.draw_watts");
    CHECK(field_of(R"({"compute":{"sm_count":"many"}})") == "devices[0].compute.sm_count");
    CHECK(field_of(R"({"compute":{"sm_count":-99999999999}})") == "devices[0].compute.sm_count");
    CHECK(field_of(R"({"measured":{"read_bandwidth":7}})") == "devices[0].measured.read_bandwidth");
    CHECK(field_of(R"({"measured":{"read_bandwidth":{"median_bytes_per_s":3,"low_bytes_per_s":1,"high_bytes_per_s":2,
                                                     "repeats":1}}})") == "devices[0].measured.read_bandwidth");
    CHECK(field_of(R"({"peers":{}})") == "devices[0].peers");
    CHECK(field_of(R"({"peers":[7,8]})") == "devices[0].peers[0]");  // the first that is wrong
}

TEST_CASE("a reading that is null says why, or that nobody said") {
    const auto why_of = [](const std::string& reasons) {
        const auto file = parse_device_file(with_device(R"({"memory":{"cuda_total_bytes":null)" + reasons + "}}"));
        REQUIRE(file);
        CHECK_FALSE(file->devices[0].memory.cuda_total);
        CHECK(file->devices[0].memory.cuda_free.why == "not in the file");
        return std::string{file->devices[0].memory.cuda_total.why.view()};
    };
    CHECK(why_of(R"(,"unavailable":{"cuda_total_bytes":"NVML: no permission"})") == "NVML: no permission");
    for (const char* silent :
         {"", R"(,"unavailable":7)", R"(,"unavailable":{})", R"(,"unavailable":{"cuda_total_bytes":7})"})
        CHECK(why_of(silent) == "no reason given");
}

TEST_CASE("a key given twice and nesting without an end are refused") {
    CHECK(refusal_of(R"({"schema_version":1,"schema_version":1,"devices":[{}]})").code == error_code::inconsistent);
    CHECK(refusal_of(std::string(100, '[') + std::string(100, ']')).expected == "at most 64 levels");
}

TEST_CASE("a list that is too long is refused, a key of a newer probe is not") {
    std::string peers;
    for (int i = 0; i < 40; ++i) peers += std::string(i == 0 ? "" : ",") + R"({"uuid":""})";
    CHECK(refusal_of(with_device(R"({"peers":[)" + peers + "]}")).field == "devices[0].peers");
    CHECK(parse_device_file(with_device(R"({"colour":"green","memory":{"smell_bytes":3}})")).has_value());
}

TEST_CASE("a GPU's sheet is in bytes, operations a second and watts") {
    const auto sheet = to_json(gpus::h100_sxm5_80gb);
    CHECK(sheet["id"] == "h100-sxm5-80gb");
    CHECK(sheet["memory_marketing"] == 80'000'000'000);
    CHECK(sheet["memory_fitted"].is_number_integer());
    CHECK(sheet["memory_bandwidth"].get<double>() > 3e12);
    CHECK(sheet["bf16"].get<double>() > 9e14);
    CHECK(sheet["bf16"].get<double>() < 1e15);
    CHECK(sheet["board_power"] == 700.0);
}

TEST_CASE("what is not published is null, not zero") {
    CHECK(to_json(gpu{})["fp8"].is_null());
    CHECK(to_json(gpu{})["sm_count"].is_null());
}

TEST_CASE("every GPU has the same keys, and its own id") {
    const auto keys = [](const gpu& card) {
        std::set<std::string> found;
        const auto sheet = to_json(card);
        for (const auto& [key, value] : sheet.items()) found.insert(key);
        return found;
    };
    std::set<std::string> ids;
    for (const gpu* card : gpus::all) {
        CAPTURE(std::string{card->id.view()});
        CHECK(keys(*card) == keys(gpu{}));
        CHECK(ids.insert(std::string{card->id.view()}).second);
    }
}

TEST_CASE("numbers of a device at their bounds, and one beyond") {
    struct row {
        const char* device;
        bool is_read;
    };
    const row rows[] = {
        {R"({"identity":{"index_cuda":2147483647}})", true},
        {R"({"identity":{"index_cuda":2147483648}})", false},
        {R"({"identity":{"index_cuda":-2147483647}})", true},
        {R"({"identity":{"index_cuda":-2147483648}})", false},
        {R"({"identity":{"index_cuda":18446744073709551615}})", false},
        {R"({"memory":{"cuda_total_bytes":0}})", true},
        {R"({"memory":{"cuda_total_bytes":9007199254740992}})", true},
        {R"({"memory":{"cuda_total_bytes":9007199254740993}})", false},
        {R"({"memory":{"cuda_total_bytes":9223372036854775808}})", false},
        {R"({"power":{"draw_watts":0}})", true},
        {R"({"power":{"draw_watts":0.5}})", true},
        {R"({"power":{"draw_watts":-0.5}})", false},
        {R"({"power":{"draw_watts":1e999}})", false},
        {R"({"measured":{"context_bytes":5}})", true},
        {R"({"measured":{"read_bandwidth":{"median_bytes_per_s":2,"low_bytes_per_s":2,"high_bytes_per_s":2,
             "repeats":1}}})",
         true},
        {R"({"measured":{"read_bandwidth":{"median_bytes_per_s":2,"low_bytes_per_s":3,"high_bytes_per_s":4,
             "repeats":1}}})",
         false},
        {R"({"measured":{"read_bandwidth":{"median_bytes_per_s":5,"low_bytes_per_s":3,"high_bytes_per_s":4,
             "repeats":1}}})",
         false},
    };
    for (const row& r : rows) {
        CAPTURE(r.device);
        CHECK(parse_device_file(with_device(r.device)).has_value() == r.is_read);
    }
    nlohmann::json endless = nlohmann::json::parse(with_device(R"({"power":{"draw_watts":5}})"));
    endless["devices"][0]["power"]["draw_watts"] = std::numeric_limits<double>::infinity();
    CHECK(device_file_from_json(endless).error().field == "devices[0].power.draw_watts");
    CHECK(parse_device_file(R"({"schema_version":1,"devices":[]})"));
    CHECK(parse_device_file(R"({"devices":[]})"));
    CHECK_FALSE(parse_device_file(R"({"schema_version":9223372036854775808,"devices":[{}]})"));
    CHECK(refusal_of(R"({"schema_version":18446744073709551615,"devices":[{}]})").expected == "an integer below 2^63");
}

TEST_CASE("an error has the first field that is wrong, and its value in ASCII") {
    const error first = refusal_of(with_device(
        R"({"identity":{"uuid":7,"name":[1]},"memory":{"cuda_total_bytes":-1},"compute":{"sm_count":"x"}})"));
    CHECK(first.field == "devices[0].identity.uuid");
    CHECK(first.value == "7");
    CHECK(first.expected == "a string");
    CHECK(refusal_of(with_device(R"({"measured":{"read_bandwidth":{"median_bytes_per_s":1}}})")).field ==
          "devices[0].measured.read_bandwidth.low_bytes_per_s");  // and not the last that is missing
    CHECK(refusal_of(with_device(R"({"memory":{"ecc_enabled":"\u00e4"}})")).value == "\"\\u00e4\"");
    CHECK(refusal_of(with_device(R"({"memory":{"ecc_enabled":{"a":[1,2]}}})")).value == "{\"a\":[1,2]}");
    CHECK(refusal_of(R"({"schema_version":1,"devices":[{"memory":7},{"memory":8}]})").field == "devices[0].memory");
    CHECK(refusal_of(with_device(R"({"peers":[{"uuid":3},{"uuid":4}]})")).field == "devices[0].peers[0].uuid");
    CHECK(refusal_of(with_device(R"({"memory":{"cuda_total_bytes":18446744073709551615}})")).expected ==
          "an integer below 2^63");
    CHECK(refusal_of(with_device(R"({"memory":{"cuda_total_bytes":9007199254740993}})")).expected ==
          "a size of at most 2^53");
}

TEST_CASE("of several mistakes of a device file the first is told, and a number beyond all sizes as what it is") {
    const error first = refusal_of(with_device(R"({"measured": {"read_bandwidth": {"repeats": "many"}}})"));
    CHECK(first.field.view().find("read_bandwidth.median") != std::string_view::npos);  // which is not there
    const error large = refusal_of(with_device(R"({"memory": {"cuda_total_bytes": 9223372036854775807}})"));
    CHECK(large.expected == text<191>{"a size of at most 2^53"});
    const error larger = refusal_of(with_device(R"({"memory": {"cuda_total_bytes": 9223372036854775808}})"));
    CHECK(larger.expected == text<191>{"an integer below 2^63"});
}
