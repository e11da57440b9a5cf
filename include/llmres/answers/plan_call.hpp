// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <llmres/answers/job_plan.hpp>
#include <llmres/answers/search_request.hpp>
#include <llmres/hardware/cluster.hpp>
#include <llmres/jobs/job.hpp>
#include <llmres/jobs/layout.hpp>
#include <llmres/values/error.hpp>
#include <span>
#if defined(LLMRES_COMPILE_HERE)
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <llmres/answers/layout_plan.hpp>
#include <llmres/answers/search.hpp>
#include <llmres/jobs/layouts.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#endif

/// plan(), fits() and search() as functions that are declared here and compiled once, for programs with many
/// translation units that plan. They answer the same as those of plan.hpp, but not in constant expressions.
///
/// One translation unit of the program defines them: it defines the macro LLMRES_COMPILE_HERE before it includes this
/// header. With CMake the target llmres::compiled is that translation unit.
namespace llmres::inline v0::compiled {

/// As llmres::plan(): the plan in a given layout.
result<job_plan> plan(const job& j, const layout& l, const cluster& c);
/// As llmres::plan(): the plan in the layout with the most tokens per second.
result<job_plan> plan(const job& j, const cluster& c);
/// As llmres::fits(): whether the plan exists and its verdict is `fits`.
bool fits(const job& j, const layout& l, const cluster& c);
/// As llmres::search(): the best layout.
result<found_layout> search(const job& j, const cluster& c, const search_request& r = {});
/// As llmres::search(): the best layouts in their order, as many as there is room for.
result<search_counts> search(const job& j, const cluster& c, const search_request& r, std::span<found_layout> best);

/// Who is told how far a search is: `call(of, counts)`, by one thread at a time; the search stops where it is false.
struct search_watcher {
    bool (*call)(void* of, const search_counts& so_far) = nullptr;  ///< null: nobody is told
    void* of = nullptr;                                             ///< what `call` is given
};

/// As llmres::search() with the best layouts and a front, on so many threads, the caller's own among them; 0: as many
/// as the machine has cores. `best` is the same on any number of threads, and so is a `front` that has room for all of
/// it; with search_request::skip_slower, how many layouts are skipped depends on which thread is first. Allocates for
/// each thread what it remembers and finds. Throws std::system_error where a thread cannot be started.
result<search_counts> search(const job& j, const cluster& c, const search_request& r, std::span<found_layout> best,
                             std::span<found_layout> front, objective against, std::int32_t threads,
                             search_watcher watch = {});

#if defined(LLMRES_COMPILE_HERE)
namespace detail {

/// What the threads of a search share. Its parts are numbered in the order of the walk, and each thread walks all of
/// them and plans those whose numbers it drew.
struct shared_search {
    std::atomic<std::int64_t> next_part{1};
    std::atomic<double> known{0};       ///< a score that the best are sure to reach; 0: none yet
    bool by_choice = false;             ///< parts are whole choices
    std::mutex telling{};               ///< guards what follows
    search_watcher watch{};             ///< who is told
    std::vector<search_counts> told{};  ///< by each thread
    bool stopped = false;               ///< the watcher stopped the search
};

/// One thread's side of it.
struct search_share {
    shared_search& all;
    std::size_t thread;
    std::int64_t drawn = 0;

    bool operator()(const search_counts& counts) {
        if (all.watch.call == nullptr) return true;
        const std::lock_guard<std::mutex> lock{all.telling};
        all.told[thread] = counts;
        search_counts sum;
        for (const search_counts& t : all.told) v0::detail::add_counts(sum, t);
        all.stopped = all.stopped || !all.watch.call(all.watch.of, sum);
        return !all.stopped;
    }
    bool takes_choices() const { return all.by_choice; }
    template <class Running>
    bool takes(Running& running) {
        if (!running.best.empty() && running.counts.best == running.best.size())
            offer(running.best[running.worst].score);
        running.elsewhere = all.known.load(std::memory_order_relaxed);
        if (drawn < running.part) drawn = all.next_part.fetch_add(1, std::memory_order_relaxed);
        return drawn == running.part;
    }

private:
    void offer(double score) const {
        double before = all.known.load(std::memory_order_relaxed);
        while ((before <= 0 || score < before) &&
               !all.known.compare_exchange_weak(before, score, std::memory_order_relaxed)) {
        }
    }
};

/// One thread's search, with room for what it finds.
struct search_worker {
    std::vector<found_layout> best, front;
    search_share share;
    v0::detail::running_search<search_share> running;

    search_worker(const cluster& c, const search_request& r, std::size_t most_best, std::size_t most_front,
                  objective against, shared_search& all, std::size_t thread)
        : best(most_best),
          front(most_front),
          share{all, thread},
          running{.c = c,
                  .r = r,
                  .best = v0::detail::room_of(best),
                  .front = v0::detail::room_of(front),
                  .against = against,
                  .watch = share,
                  .bounded = r.skip_slower} {}
};

/// Threads, which are waited for also where one cannot be started.
struct joined_threads {
    std::vector<std::thread> running{};
    ~joined_threads() {
        for (std::thread& t : running) t.join();
    }
};

/// How many ways there are to set the fields of a job that a search chooses.
inline std::int64_t choices_of(const search_request& r, const job& j) {
    std::int64_t count = 0;
    job tried = j;
    v0::detail::for_each_choice(r.space, j, tried, [&] { return ++count, false; });
    return count;
}

/// Searches a space that was checked, on several threads.
inline search_counts search_on_threads(const job& j, const cluster& c, const search_request& r,
                                       const layout_space& space, std::span<found_layout> best,
                                       std::span<found_layout> front, objective against, std::size_t threads,
                                       search_watcher watch) {
    shared_search all{.by_choice = choices_of(r, j) >= static_cast<std::int64_t>(16 * threads),
                      .watch = watch,
                      .told = std::vector<search_counts>(threads)};
    std::vector<std::unique_ptr<search_worker>> workers;
    for (std::size_t t = 0; t < threads; ++t)
        workers.push_back(std::make_unique<search_worker>(c, r, best.size(), front.size(), against, all, t));
    {
        joined_threads others;
        for (std::size_t t = 1; t < threads; ++t)
            others.running.emplace_back([&, t] { v0::detail::walk(workers[t]->running, space, j, c); });
        v0::detail::walk(workers[0]->running, space, j, c);
    }
    workers[0]->running.order_best();
    for (std::size_t t = 1; t < threads; ++t) workers[0]->running.add(workers[t]->running);
    std::copy_n(workers[0]->best.begin(), best.size(), best.begin());
    std::copy_n(workers[0]->front.begin(), front.size(), front.begin());
    return workers[0]->running.counts;
}

}  // namespace detail

result<job_plan> plan(const job& j, const layout& l, const cluster& c) { return v0::plan(j, l, c); }
result<job_plan> plan(const job& j, const cluster& c) { return v0::plan(j, c); }
bool fits(const job& j, const layout& l, const cluster& c) { return v0::fits(j, l, c); }
result<found_layout> search(const job& j, const cluster& c, const search_request& r) { return v0::search(j, c, r); }
result<search_counts> search(const job& j, const cluster& c, const search_request& r, std::span<found_layout> best) {
    return v0::search(j, c, r, best);
}
result<search_counts> search(const job& j, const cluster& c, const search_request& r, std::span<found_layout> best,
                             std::span<found_layout> front, objective against, std::int32_t threads,
                             search_watcher watch) {
    if (const status s = in_range("threads", threads, 0, 1024); !s) return s.error();
    if (const status s = v0::detail::validate_objective(against, j, c, r.prices); !s) return s.error();
    const result<layout_space> space = v0::detail::layouts_of(r, j, c);
    if (!space) return space.error();
    const auto own = static_cast<std::int32_t>(std::thread::hardware_concurrency());
    const auto count = static_cast<std::size_t>(threads > 0 ? threads : own);
    return detail::search_on_threads(j, c, r, *space, best, front, against, std::max<std::size_t>(count, 1), watch);
}
#endif

}  // namespace llmres::inline v0::compiled
