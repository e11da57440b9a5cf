// SPDX-License-Identifier: MIT
// Runs doctest's cases against changes that are switched on one at a time (tests/mutations/switched says what they
// are).
//
//     PROGRAM JOBS LONGEST EXCEPT FOLDER... < numbers of changes > their fates
//
// All cases below a FOLDER of tests/, but for those whose name has the pattern EXCEPT, run once with no change switched
// on, and then each alone, as the changes are tried: one that fails would count every change that it reaches as
// noticed, so the program names it and stops. Each change is then given to the cases that take at most LONGEST seconds
// and reach it, the quickest first, in a process of its own: a change may crash or never end.
#define DOCTEST_CONFIG_IMPLEMENT
#define m_scale(one) m_scale((one) * 0x1p-60)  // as tests/main.cpp has it
#include "switched.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct test_case {
    mutant::place places[mutant::most];
    bool passes;
    double seconds;
    char name[200];
};
constexpr int most_cases = 3000;
test_case* cases;  // written by the process that runs unchanged, read by the one that started it
int* count;

using steady = std::chrono::steady_clock;

struct recorder : doctest::IReporter {
    steady::time_point start;
    explicit recorder(const doctest::ContextOptions&) {}
    void test_case_start(const doctest::TestCaseData& data) override {
        std::memset(mutant::places, 0, sizeof mutant::places);
        std::strncpy(cases[*count].name, data.m_name, 199);
        start = steady::now();
    }
    void test_case_end(const doctest::CurrentTestCaseStats& ended) override {
        test_case& one = cases[(*count)++];
        one.passes = ended.testCaseSuccess;
        std::memcpy(one.places, mutant::places, sizeof mutant::places);
        one.seconds = std::chrono::duration<double>(steady::now() - start).count();
    }
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("recorder", 1, recorder);

std::string of_folders;
std::string except;

/// Whether a test fails. `only`: one case, counted from 1; 0 for all.
bool fails(int only) {
    doctest::Context context;
    if (only > 0) context.setOption("abort-after", 1);
    context.setOption("no-breaks", true);
    context.setOption("minimal", true);
    context.setOption("source-file", of_folders.c_str());
    if (!except.empty()) context.setOption("test-case-exclude", except.c_str());
    if (only > 0) context.setOption("first", only), context.setOption("last", only);
    return context.run() != 0;
}

/// Ends the process by SIGPROF where it computes for longer from now on, however busy the machine is.
void compute_for_at_most(double seconds) {
    const itimerval limit{{0, 0}, {static_cast<time_t>(seconds), 0}};
    setitimer(ITIMER_PROF, &limit, nullptr);
}

/// Switches a change on (-1: none) and exits with 1 where one of the cases notices.
[[noreturn]] void try_change(int change, const std::vector<int>& order) {
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1), dup2(null, 2);
    const test_case* const known = cases;
    cases = new test_case;  // what the recorder writes now is not read
    count = new int;
    mutant::active = change;
    for (const int k : order)
        if (change < 0 || known[k].places[change] == mutant::place::reached) {
            compute_for_at_most(15 + 30 * known[k].seconds);
            *count = 0;
            if (fails(k + 1)) _exit(1);
        }
    _exit(0);
}

/// Whether a case passes in a process of its own while no change is switched on.
bool passes_alone(int k) {
    const pid_t child = fork();
    if (child == 0) try_change(-1, {k});
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
}

template <class T>
T* shared(int many) {
    return static_cast<T*>(
        mmap(nullptr, sizeof(T) * many, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

}  // namespace

int main(int, char** argv) {
    const int jobs = std::atoi(argv[1]);
    const double longest = std::atof(argv[2]);
    except = argv[3];
    for (char** folder = argv + 4; *folder; ++folder)
        of_folders += std::string(of_folders.empty() ? "" : ",") + "*/tests/" + *folder + "*";
    cases = shared<test_case>(most_cases);
    count = shared<int>(1);
    if (fork() == 0) {
        dup2(open("/dev/null", O_WRONLY), 1);
        fails(0);
        _exit(0);
    }
    int status = 0;
    wait(&status);
    if (status != 0) {
        std::cerr << "the unchanged tests crash\n";
        return 1;
    }

    const int n = *count;
    std::vector<int> order;
    double all = 0;
    bool fail = false;
    for (int k = 0; k < n; ++k) {
        const bool is_asked = cases[k].seconds <= longest;
        if (!cases[k].passes || (is_asked && !passes_alone(k))) {
            std::cerr << "fails with no change switched on" << (cases[k].passes ? ", alone: " : ": ") << cases[k].name
                      << '\n';
            fail = true;
        } else if (is_asked) {
            order.push_back(k);
        } else {
            std::cerr << "not asked: " << cases[k].name << ", " << cases[k].seconds << " s\n";
        }
        all += cases[k].seconds;
    }
    if (fail) return 1;
    std::cerr << order.size() << " of " << n << " cases, all take " << all << " s\n";
    std::sort(order.begin(), order.end(), [](int a, int b) { return cases[a].seconds < cases[b].seconds; });

    std::map<pid_t, int> running;
    const auto finish_one = [&] {
        const pid_t done = wait(&status);
        const char* fate = status == 0                   ? "survives"
                           : WIFEXITED(status)           ? "killed"
                           : WTERMSIG(status) == SIGPROF ? "endless"
                                                         : "crashes";
        std::cout << running[done] << ' ' << fate << std::endl;
        running.erase(done);
    };
    for (int change; std::cin >> change;) {
        const auto is = [&](mutant::place what) {
            return std::any_of(order.begin(), order.end(), [&](int k) { return cases[k].places[change] == what; });
        };
        if (!is(mutant::place::reached)) {
            std::cout << change << (is(mutant::place::refused) ? " refused" : " unreached") << std::endl;
            continue;
        }
        if (static_cast<int>(running.size()) == jobs) finish_one();
        const pid_t child = fork();
        if (child == 0) try_change(change, order);
        running[child] = change;
    }
    while (!running.empty()) finish_one();
}
