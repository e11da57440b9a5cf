/* SPDX-License-Identifier: MIT */
/* A C program that asks llmres: a plan, each kind of refusal, and the same plan from eight threads at once. */
#include <llmres.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const job =
    "{\"model\": \"llama-3.1-8b\", \"context\": 8192, \"runtime\": \"vllm\", \"cluster\": {\"gpu\": "
    "\"h100-sxm5-80gb\"}}";
static int failures = 0;

static void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "failed: %s\n", what);
    ++failures;
}

/* Whether a question has this status and an answer that mentions a text. */
static void expect(const char* command, const char* document, int status, const char* mentioned) {
    char* answer = NULL;
    const int got = llmres_ask(command, document, &answer);
    if (got != status || answer == NULL || strstr(answer, mentioned) == NULL) {
        fprintf(stderr, "failed: %s %s: status %d, %s\n", command, document, got, answer == NULL ? "NULL" : answer);
        ++failures;
    }
    llmres_free(answer);
}

/* Questions that take the most of a stack: plans that look for what would help, searches, pictures. */
static const char* const deep_questions[][2] = {
    {"plan", "{\"model\": \"llama-3.1-8b\", \"context\": 8192, \"cluster\": {\"gpu\": \"h100-sxm5-80gb\"}}"},
    {"plan", "{\"model\": \"llama-3.1-70b\", \"runtime\": \"vllm\", \"cluster\": {\"gpu\": \"h100-sxm5-80gb\"}}"},
    {"plan",
     "{\"model\": \"llama-3.1-70b\", \"runtime\": \"llama.cpp\", \"weights\": \"q4_k_m\", \"cluster\": {\"gpu\": "
     "\"rtx-4090\"}}"},
    {"plan",
     "{\"model\": \"llama-3.1-70b\", \"task\": \"pretraining\", \"runtime\": \"megatron\", \"cluster\": {\"gpu\": "
     "\"h100-sxm5-80gb\", \"gpus\": 8}}"},
    {"plan",
     "{\"model\": \"llama-3.1-8b\", \"task\": \"finetuning\", \"runtime\": \"huggingface\", \"cluster\": {\"gpu\": "
     "\"rtx-4090\", \"gpus\": 2}}"},
    {"search",
     "{\"job\": {\"model\": \"llama-3.1-70b\", \"task\": \"pretraining\", \"runtime\": \"megatron\", \"cluster\": "
     "{\"gpu\": "
     "\"h100-sxm5-80gb\", \"gpus\": 32}}, \"top\": 2}"},
    {"pictures", "{\"model\": \"llama-3.1-70b\", \"cluster\": {\"gpu\": \"h100-sxm5-80gb\", \"gpus\": 4}}"},
    {"plan",
     "{\"model\": \"qwen2.5-7b\", \"task\": \"ppo\", \"runtime\": \"openrlhf\", \"rollout\": {\"reward\": "
     "\"qwen2.5-7b\"}, "
     "\"cluster\": {\"gpu\": \"h100-sxm5-80gb\", \"gpus\": 8}}"},
    {"pictures",
     "{\"model\": \"qwen2.5-7b\", \"task\": \"grpo\", \"cluster\": {\"gpu\": \"h100-sxm5-80gb\", \"gpus\": 8}}"},
    {"model", "{\"model\": \"deepseek-v3\"}"},
    {"gpus", "{}"},
    {"models", "{}"},
    {"runtimes", "{}"},
    {"fields", "{}"},
};

static void* ask_deep_questions(void* nothing) {
    for (size_t i = 0; i < sizeof deep_questions / sizeof *deep_questions; ++i)
        expect(deep_questions[i][0], deep_questions[i][1], LLMRES_ANSWERED, "");
    return nothing;
}

/* On a thread of 512 KB, as macOS makes them. What is beyond it ends the program. (Sanitizers' frames are larger.) */
static void ask_on_a_small_stack(void) {
#if !LLMRES_HAS_SANITIZERS
    pthread_attr_t small;
    pthread_t thread;
    require(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 512 * 1024) == 0, "a stack of 512 KB");
    require(pthread_create(&thread, &small, ask_deep_questions, NULL) == 0, "a thread with it");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&small);
#else
    (void)ask_deep_questions;
#endif
}

static void* plan_often(void* expected) {
    for (int i = 0; i < 20; ++i) {
        char* answer = NULL;
        const int status = llmres_ask("plan", job, &answer);
        if (status != LLMRES_ANSWERED || strcmp(answer, (const char*)expected) != 0) return expected;
        llmres_free(answer);
    }
    return NULL;
}

int main(void) {
    require(llmres_c_api() == LLMRES_C_API, "the header is that of the library");
    require(strchr(llmres_version(), '.') != NULL, "the library tells its version");

    ask_on_a_small_stack();
    expect("plan", job, LLMRES_ANSWERED, "\"verdict\":\"fits\"");
    expect("search",
           "{\"job\": {\"model\": \"llama-3.1-70b\", \"cluster\": {\"gpu\": \"h100\", \"gpus\": 8}}, \"top\": 2}",
           LLMRES_ANSWERED, "\"best\":[{");
    expect("pictures", job, LLMRES_ANSWERED, "<svg ");
    expect("model", "{\"model\": \"qwen3-8b\"}", LLMRES_ANSWERED, "\"parameters\"");
    expect("gpus", "{}", LLMRES_ANSWERED, "rtx-4090");
    expect("models", "{}", LLMRES_ANSWERED, "llama-3.1-8b");
    expect("runtimes", "{}", LLMRES_ANSWERED, "llama.cpp");
    expect("fields", "{}", LLMRES_ANSWERED, "micro_batch");

    expect("guess", "{}", LLMRES_REFUSED, "\"field\":\"command\"");
    expect("plan", "{\"model\": \"llama-3.1-8b\",, }", LLMRES_REFUSED, "\"code\":\"malformed\"");
    expect("plan", "{\"model\": \"llama-3.1-8c\", \"cluster\": {\"gpu\": \"h100\"}}", LLMRES_REFUSED, "llama-3.1-8b");
    expect("plan", "{\"model\": \"./config.json\", \"cluster\": {\"gpu\": \"h100\"}}", LLMRES_REFUSED,
           "no file is opened");
    expect("plan", "{\"model\": \"\xff\"}", LLMRES_REFUSED, "\"code\":\"malformed\"");
    expect("plan", "", LLMRES_REFUSED, "JSON");
    expect("plan", NULL, LLMRES_REFUSED, "\"field\":\"document\"");
    expect(NULL, "{}", LLMRES_REFUSED, "\"field\":\"command\"");
    expect("gpus", "{\"gpu\": 1}", LLMRES_REFUSED, "an empty object");
    expect("search", "{\"job\": {}, \"tops\": 1}", LLMRES_REFUSED, "one of job, objective, against, top");
    expect("search", "{\"job\": {\"model\": \"qwen3-8b\", \"cluster\": {\"gpu\": \"h100\"}}, \"top\": -1}",
           LLMRES_REFUSED, "1 to 1000");
    require(llmres_ask("plan", job, NULL) == LLMRES_REFUSED, "an answer has to go somewhere");
    llmres_free(NULL);

    char* expected = NULL;
    if (llmres_ask("plan", job, &expected) != LLMRES_ANSWERED) return 1;
    pthread_t threads[8];
    for (int i = 0; i < 8; ++i)
        if (pthread_create(&threads[i], NULL, plan_often, expected) != 0) return 1;
    for (int i = 0; i < 8; ++i) {
        void* other = NULL;
        pthread_join(threads[i], &other);
        require(other == NULL, "threads get the same answer");
    }
    llmres_free(expected);
    if (failures == 0) puts("C: all questions answered");
    return failures;
}
