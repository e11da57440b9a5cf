// SPDX-License-Identifier: MIT
#include <llmres/runtimes/serving_step.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/vllm.hpp>

using namespace llmres;

TEST_CASE("a step takes the defaults of the largest class of devices that the device belongs to") {
    serving_step s{.max_batched_tokens = tokens(2048), .max_num_seqs = 256};
    s.larger_devices = device_classes({gib(70), tokens(8192), 1024}, {gib(160), tokens(16384)});
    CHECK(step_on(s, gib(48), false).max_batched_tokens == tokens(2048));
    CHECK(step_on(s, gib(48), false).max_num_seqs == 256);
    CHECK(step_on(s, gib(80), false).max_batched_tokens == tokens(8192));
    CHECK(step_on(s, gib(192), false).max_batched_tokens == tokens(16384));
    CHECK(step_on(s, gib(192), false).max_num_seqs == 1024);  // as below that size
}

TEST_CASE("an A100 counts as a small device where the runtime leaves it out of the large ones") {
    serving_step s{.max_num_seqs = 256, .larger_devices = device_classes({gib(70), {}, 1024})};
    CHECK(step_on(s, gib(80), true).max_num_seqs == 1024);
    s.a100_is_small = true;
    CHECK(step_on(s, gib(80), true).max_num_seqs == 256);
    CHECK(step_on(s, gib(80), false).max_num_seqs == 1024);
}

TEST_CASE("naming the tokens of a step overrides what is taken on larger devices, and prompts that would be whole") {
    serving_step s = runtimes::vllm.step;
    REQUIRE(s.larger_devices[0].max_batched_tokens > token_count{});
    s.chunked_beyond = tokens(32768);
    set_batched_tokens(s, tokens(512));
    CHECK(s.max_batched_tokens == tokens(512));
    CHECK(s.chunked_beyond == tokens(512));
    for (const device_default& d : s.larger_devices) CHECK(d.max_batched_tokens == token_count{});
    CHECK(s.larger_devices[0].max_num_seqs == runtimes::vllm.step.larger_devices[0].max_num_seqs);
}

TEST_CASE("a logit takes more bytes where few rows are sorted, and others in chunks and of dense models") {
    serving_logits l{.bytes = {38.0, 38.0, 39.0}, .few_rows_bytes = 12.0};
    CHECK(bytes_of_logit(l, 128, false, false) == interval<double>{38.0, 38.0, 39.0});
    CHECK(bytes_of_logit(l, 127, false, true) == interval<double>{38.0, 50.0, 51.0});
    l.dense_bytes = {2.0, 2.3, 6.0};
    CHECK(bytes_of_logit(l, 127, false, true) == l.dense_bytes);
    CHECK(bytes_of_logit(l, 127, true, false).high == 51.0);
    l.chunked_bytes = {2.0, 2.0, 4.0};
    CHECK(bytes_of_logit(l, 127, true, true) == l.chunked_bytes);
}

TEST_CASE("devices from a size on have defaults of their own, one sequence being one; the others have the step's") {
    serving_step s;
    s.max_num_seqs = 8;
    s.max_batched_tokens = tokens(512);
    s.larger_devices[0] = {gib(70), tokens(0), 1};
    CHECK(step_on(s, gib(69), false).max_num_seqs == 8);
    CHECK(step_on(s, gib(71), false).max_num_seqs == 1);
    CHECK(step_on(s, gib(71), false).max_batched_tokens == tokens(512));
}

TEST_CASE("a class of devices begins with its size; the first without a size ends the classes, whatever it says") {
    serving_step s{.max_batched_tokens = tokens(512), .max_num_seqs = 8, .context = tokens(4096)};
    s.larger_devices = device_classes({gib(24), tokens(1024), 0, tokens(32768)}, {gib(48), {}, 16});
    CHECK(step_on(s, gib(24) - bytes(1), false).max_batched_tokens == tokens(512));
    CHECK(step_on(s, gib(24) - bytes(1), false).context == tokens(4096));
    CHECK(step_on(s, gib(24), false).max_batched_tokens == tokens(1024));
    CHECK(step_on(s, gib(24), false).context == tokens(32768));
    CHECK(step_on(s, gib(48), false).context == tokens(32768));  // as below that size
    CHECK(step_on(s, gib(48), false).max_num_seqs == 16);
    s.larger_devices = device_classes({{}, tokens(99), 99, tokens(99)}, {gib(24), tokens(1024)});
    CHECK(step_on(s, gib(80), false).max_batched_tokens == tokens(512));
    CHECK(step_on(s, gib(80), false).max_num_seqs == 8);
}

TEST_CASE("naming the tokens of a step leaves what is computed whole below it as it is, be it nothing") {
    serving_step s;
    set_batched_tokens(s, tokens(512));
    CHECK(s.chunked_beyond == token_count{});
    s.chunked_beyond = tokens(256);
    set_batched_tokens(s, tokens(512));
    CHECK(s.chunked_beyond == tokens(256));
}

TEST_CASE("a logit of one byte counts as said, in chunks, of dense models and where few rows are sorted") {
    serving_logits l{.bytes = {4.0, 4.0, 4.0}, .few_rows_bytes = 1.0};
    CHECK(bytes_of_logit(l, 1, false, false) == interval<double>{4.0, 5.0, 5.0});
    l.dense_bytes = {1.0, 1.0, 1.0};
    CHECK(bytes_of_logit(l, 1, false, true) == l.dense_bytes);
    l.chunked_bytes = {0.5, 0.5, 1.0};
    CHECK(bytes_of_logit(l, 1, true, true) == l.chunked_bytes);
}
