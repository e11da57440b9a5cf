// SPDX-License-Identifier: MIT
// A libnccl.so.2 for tests, on fake_cudart.cpp, whose device memory is the host's: it sums what the members of a group
// gave, when the group ends.
#include <type_traits>
#include <vector>

#include "fake_calls.hpp"
#include "nccl.hpp"

using namespace llmres::probe;

namespace {

constexpr int internal_error = 3;

struct part {
    const float* send;
    float* receive;
    std::size_t floats;
};
std::vector<part> group;

}  // namespace

extern "C" {

int ncclCommInitAll(void** members, int count, const int*) {
    if (fakes::fails("ncclCommInitAll")) return internal_error;
    for (int i = 0; i < count; ++i) fakes::make(members + i);
    return 0;
}
int ncclCommDestroy(void* member) { return fakes::fails("ncclCommDestroy") ? internal_error : fakes::end(member); }
int ncclGroupStart() {
    group.clear();
    return fakes::fails("ncclGroupStart") ? internal_error : 0;
}
int ncclAllReduce(const void* send, void* receive, std::size_t floats, int, int, void*, void*) {
    if (fakes::fails("ncclAllReduce")) return internal_error;
    group.push_back({static_cast<const float*>(send), static_cast<float*>(receive), floats});
    return 0;
}
int ncclGroupEnd() {
    if (fakes::fails("ncclGroupEnd")) return internal_error;
    for (std::size_t i = 0; !group.empty() && i < group.front().floats; ++i) {
        float sum = 0;
        for (const part& p : group) sum += p.send[i];
        for (const part& p : group) p.receive[i] = sum;
    }
    return 0;
}

}  // extern "C"

static_assert(std::is_same_v<decltype(nccl_abi::functions::init_all)::pointer, decltype(&ncclCommInitAll)>);
static_assert(std::is_same_v<decltype(nccl_abi::functions::all_reduce)::pointer, decltype(&ncclAllReduce)>);
