// SPDX-License-Identifier: MIT
#include <llmres/runtimes/serving_kernels.hpp>

#include <doctest/doctest.h>

#include <llmres/runtimes/all.hpp>

using namespace llmres;

TEST_CASE("all that runs ggml's graphs computes in fp32, in place, beside a mask") {
    for (const runtime* r :
         {&runtimes::llama_cpp, &runtimes::llama_cpp_2023, &runtimes::ollama, &runtimes::ik_llama_cpp}) {
        CHECK(r->serving_kernels.fp32_activations);
        CHECK(r->serving_kernels.written_in_place);
        CHECK(r->serving_kernels.attention_mask);
    }
    CHECK_FALSE(runtimes::vllm.serving_kernels.fp32_activations);
}

TEST_CASE("latent attention is absorbed since llama.cpp's build 5140, and expanded in parts by ik_llama.cpp") {
    CHECK_FALSE(runtimes::llama_cpp_2024.serving_kernels.latent.absorbed);
    CHECK(runtimes::llama_cpp_5426.serving_kernels.latent.absorbed);
    CHECK(runtimes::ik_llama_cpp.serving_kernels.latent.expanded == mib(256));
    CHECK_FALSE(runtimes::ik_llama_cpp.serving_kernels.latent.expands_all);
    CHECK(runtimes::ik_llama_cpp_4155.serving_kernels.latent.expands_all);
}

TEST_CASE("ExLlama dequantises a matrix before each product, the third version where more than 144 rows pass") {
    CHECK(dequantises(runtimes::exllamav2.serving_kernels, 1));
    CHECK_FALSE(dequantises(runtimes::exllamav3.serving_kernels, 144));
    CHECK(dequantises(runtimes::exllamav3.serving_kernels, 145));
    CHECK_FALSE(dequantises(runtimes::vllm.serving_kernels, 8192));
}
