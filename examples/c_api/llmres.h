/* SPDX-License-Identifier: MIT */
#ifndef LLMRES_H
#define LLMRES_H

/* llmres from C, and from every language that calls C: a command and a JSON document in, a JSON document out.
 *
 *     char* answer = NULL;
 *     int status = llmres_ask("plan", "{\"model\": \"llama-3.1-8b\", \"cluster\": {\"gpu\": \"rtx-4090\"}}", &answer);
 *     ...
 *     llmres_free(answer);
 *
 * Documents and answers are UTF-8 that ends with a zero byte. No file is opened, nothing is kept between calls, and any
 * number of threads may call at once. No exception leaves the library. A call takes at most 512 KB of its thread's
 * stack, which is what threads of macOS have; threads of musl have 128 KB unless pthread_attr_setstacksize() says
 * more. */

#if defined(_WIN32)
#define LLMRES_EXPORT __declspec(dllexport)
#else
#define LLMRES_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It grows when a function, a command or a status changes its meaning; new keys of
 * answers and new commands do not change it. */
#define LLMRES_C_API 1

/* What llmres_ask() returns. The program's exit codes have the same numbers; whether a job fits stands in the answer.
 */
enum llmres_status {
    LLMRES_ANSWERED = 0, /* the answer is that of the command */
    LLMRES_REFUSED = 2,  /* the answer is {"error": {"code", "field", "value", "expected", "text"}} */
    LLMRES_FAILED = 3    /* memory ran out, or llmres has a defect; the answer is NULL */
};

/* The LLMRES_C_API that the library was built with: compare it after loading the library at run time. */
LLMRES_EXPORT int llmres_c_api(void);

/* The version of llmres: "0.1.0". The text is static. */
LLMRES_EXPORT const char* llmres_version(void);

/* Answers a command about a document; *answer is to be given to llmres_free().
 *
 * command      document                                    answer
 * "plan"       a job document                              as `llmres plan --json` prints it
 * "search"     {"job": a job document without a layout,    as `llmres search --json` prints it
 *               "objective", "against", "top"}
 * "pictures"   a job document                              SVG by name, of its plan: {"memory": "<svg ...", ...}
 * "model"      {"model": NAME or a config.json}            as `llmres model --json` prints it
 * "gpus"       {}                                          the list in `llmres gpus --json`
 * "models"     {}                                          [{"name", "architecture", "parameters"}]
 * "runtimes"   {}                                          [{"name", "versions", "work"}]
 * "fields"     {}                                          the keys of a job document: [{"object", "name", "type",
 * "help"}]
 */
LLMRES_EXPORT int llmres_ask(const char* command, const char* document, char** answer);

/* Frees an answer; NULL is allowed. */
LLMRES_EXPORT void llmres_free(char* answer);

#ifdef __cplusplus
}
#endif

#endif
