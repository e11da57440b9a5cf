// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <llmres/models/deepseek.hpp>
#include <llmres/models/weight_formats.hpp>

using namespace llmres;

namespace {

constexpr model routed = [] {
    layer dense{.attention = {.heads = 8, .kv_heads = 2, .head_dim = 64}, .feed_forward = {.width = 1536}};
    layer sparse = dense;
    sparse.feed_forward.experts = {.count = 16, .per_token = 2, .width = 256, .shared_width = 512};
    model m{.vocabulary = 1000, .hidden = 512, .layers = {1, dense}};
    m.layers.then(3, sparse);
    return m;
}();

constexpr byte_count bytes_of(const weight_formats& formats) { return weight_bytes(routed, formats); }

}  // namespace

TEST_CASE("a plain format holds everything, a quantised one the matrices in the layers") {
    CHECK(bytes_of(formats_for(fp16)) == bytes(2 * count_parameters(routed).in(parameters)));
    CHECK(bytes_of(formats_for(fp32)) == bytes(4 * count_parameters(routed).in(parameters)));
    CHECK(formats_for(fp16).rest == fp16);
    for (const precision& low : {fp8_e4m3, int4, nf4, q4_k, mxfp4, gptq(4, 128), ternary, exl2(4250)}) {
        CAPTURE(low.name.view());
        CHECK(formats_for(low).matrices == low);
        CHECK(formats_for(low).rest == bf16);
        CHECK(formats_for(low, fp16).rest == fp16);
        CHECK(bytes_of(formats_for(low)) < bytes_of(formats_for(bf16)));
    }
}

TEST_CASE("exceptions by place: attention, the feed-forwards every token passes, the head") {
    const weight_formats base = formats_for(fp8_e4m3);
    weight_formats attention = base;
    attention.attention = bf16;
    const std::int64_t attention_weights = 4 * (512 * 512 * 2 + 512 * 128 * 2);
    CHECK(bytes_of(attention) - bytes_of(base) == bytes(attention_weights));

    weight_formats feed_forward = base;
    feed_forward.feed_forward = bf16;
    CHECK(bytes_of(feed_forward) - bytes_of(base) == bytes(3 * 512 * 1536 + 3 * 3 * 512 * 512));

    weight_formats head = base;
    head.head = fp8_e4m3;
    CHECK(bytes_of(base) - bytes_of(head) == bytes(1000 * 512));

    weight_formats experts = formats_for(mxfp4);
    experts.attention = experts.feed_forward = bf16;
    const std::int64_t expert_weights = 3 * 16 * 3 * 512 * 256;
    CHECK(bytes_of(formats_for(bf16)) - bytes_of(experts) ==
          bytes(2 * expert_weights - expert_weights / 2 - expert_weights / 32));
}

TEST_CASE("roles that are excepted stay in the format of the rest") {
    weight_formats formats = formats_for(fp8_e4m3);
    formats.wide_roles = std::uint64_t{1} << static_cast<unsigned>(weight_role::o_proj);
    CHECK(formats.of({.role = weight_role::o_proj, .quantised = true}) == bf16);
    CHECK(formats.of({.role = weight_role::q_proj, .quantised = true}) == fp8_e4m3);
    CHECK(bytes_of(formats) - bytes_of(formats_for(fp8_e4m3)) == bytes(4 * 512 * 512));
}

TEST_CASE("norms, biases, routers and the embedding are never quantised") {
    const weight_formats formats = formats_for(nf4);
    for (const weight_role role :
         {weight_role::norm, weight_role::bias, weight_role::router, weight_role::embed_tokens, weight_role::lm_head})
        CHECK(formats.of({.role = role}) == bf16);
}

TEST_CASE("DeepSeek-V3's published FP8 file, its prediction layer included: elements and scales") {
    // F8_E4M3 680,571,043,840; F32 scales 41,540,496; the rest BF16 3,918,786,560 and 59 x 256 biases of the router.
    parameter_count low;
    parameter_count wide;
    byte_count scales;
    const auto count = [&](const weight& w, std::int64_t layers) {
        (w.quantised ? low : wide) += w.count() * layers;
        if (w.quantised)
            scales += (size_of(fp8_block, w.rows, w.columns) - bytes(w.rows * w.columns)) * (w.copies * layers);
    };
    const model& m = models::deepseek_v3;
    for_each_weight(m, count);
    for_each_prediction_weight(m, [&](const weight& w) { count(w, m.prediction.layers); });
    CHECK(low == parameters(680'571'043'840));
    CHECK(scales == bytes(4 * 41'540'496));
    CHECK(wide == parameters(3'918'786'560 + 59 * 256));
}

TEST_CASE("formats are values that stand in constant expressions and template arguments") {
    static_assert(bytes_of(formats_for(bf16)) == bytes(2 * count_parameters(routed).in(parameters)));
    constexpr auto in_argument = []<weight_formats Formats>() { return Formats.matrices.name == "nf4"; };
    static_assert(in_argument.operator()<formats_for(nf4)>());
}

TEST_CASE("what published totals count beside the model is a count of its own") {
    // DeepSeek-V3's repository: 41,540,496 scales, the prediction layer's among them.
    const weight_formats formats = formats_of(models::deepseek_v3);
    CHECK(count_scales(models::deepseek_v3, formats) == parameters(41'540'496));
    CHECK(count_scales(models::deepseek_v3, formats_for(bf16)) == parameters(0));
    CHECK(count_scales(models::deepseek_v3, formats_for(nf4)) == parameters(0));  // packed: no elements of their own
    CHECK(stored_bytes(models::deepseek_v3, formats_for(bf16)) ==
          bytes(2 * count_stored_parameters(models::deepseek_v3).in(parameters)));
    CHECK(stored_bytes(routed, formats) == weight_bytes(routed, formats));
}

TEST_CASE("a view names the same formats as the values that it refers to") {
    weight_formats formats = formats_for(fp8_e4m3);
    formats.head = fp16;
    formats.attention = fp16;
    const weight_format_view view = formats.view();
    CHECK(view.matrices == &formats.matrices);
    CHECK(view.feed_forward == nullptr);
    for_each_weight(models::deepseek_v3, [&](const weight& w, std::int64_t) { CHECK(&view.of(w) == &formats.of(w)); });
    CHECK(weight_bytes(models::deepseek_v3, formats) > weight_bytes(models::deepseek_v3, formats_for(fp8_e4m3)));
}
