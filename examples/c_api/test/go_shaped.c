/* SPDX-License-Identifier: MIT */
/* Calls llmres as cgo does: C.CString makes a text that Go frees, C.GoStringN copies the answer by its length, and the
 * error of a refusal becomes a value of its own. The Go that this stands for:
 *
 *     command, document := C.CString("plan"), C.CString(job)
 *     defer C.free(unsafe.Pointer(command)); defer C.free(unsafe.Pointer(document))
 *     var answer *C.char
 *     status := C.llmres_ask(command, document, &answer)
 *     defer C.llmres_free(answer)
 *     text := C.GoStringN(answer, C.int(C.strlen(answer)))
 */
#include <llmres.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct go_string {
    char* bytes;
    intptr_t length;
};

static char* c_string(struct go_string text) {
    char* copy = malloc((size_t)text.length + 1);
    if (copy == NULL) exit(1);
    memcpy(copy, text.bytes, (size_t)text.length);
    copy[text.length] = '\0';
    return copy;
}

static struct go_string go_string_n(const char* text, intptr_t length) {
    struct go_string copy = {malloc((size_t)length), length};
    if (copy.bytes == NULL) exit(1);
    memcpy(copy.bytes, text, (size_t)length);
    return copy;
}

/* func Ask(command, document string) (answer string, refused bool) */
static struct go_string ask(struct go_string command, struct go_string document, int* refused) {
    char* const in_c[] = {c_string(command), c_string(document)};
    char* answer = NULL;
    *refused = llmres_ask(in_c[0], in_c[1], &answer) != LLMRES_ANSWERED;
    const struct go_string copied = go_string_n(answer, (intptr_t)strlen(answer));
    llmres_free(answer);
    free(in_c[0]);
    free(in_c[1]);
    return copied;
}

int main(void) {
    char plan[] = {'p', 'l', 'a', 'n'}; /* as Go's texts, without a zero at the end */
    char job[] = "{\"model\": \"qwen3-8b\", \"context\": 4096, \"cluster\": {\"gpu\": \"rtx-4090\"}}?";
    int refused = 0;
    const struct go_string answer =
        ask((struct go_string){plan, sizeof plan}, (struct go_string){job, (intptr_t)strlen(job) - 1}, &refused);
    const struct go_string wrong =
        ask((struct go_string){plan, sizeof plan}, (struct go_string){job, 9}, &refused);
    const int good = answer.length > 2 && answer.bytes[0] == '{' && answer.bytes[answer.length - 1] == '}' && refused &&
                     wrong.length > 8 && memcmp(wrong.bytes, "{\"error\"", 8) == 0;
    free(answer.bytes);
    free(wrong.bytes);
    puts(good ? "Go-shaped C: answered and refused" : "failed");
    return good ? 0 : 1;
}
