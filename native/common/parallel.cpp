#include "common/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

namespace graphreg {

void run_ranges(std::size_t count, std::size_t grain, int threads, RangeFunction work) {
    using Clock = std::chrono::steady_clock;
    const std::size_t ranges = (count + grain - 1) / grain;
    const std::size_t wanted = threads > 0 ? static_cast<std::size_t>(threads) : 1;
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::exception_ptr failure;
    std::atomic<bool> failed{false};

    auto run = [&](bool caller) {
        auto asked = Clock::now();
        try {
            for (std::size_t i; !stop && (i = next.fetch_add(1)) < ranges;) {
                work(i * grain, std::min(count, (i + 1) * grain));
                if (caller && interrupt_requested && Clock::now() - asked > std::chrono::milliseconds(100)) {
                    asked = Clock::now();
                    if (interrupt_requested()) throw Interrupted();
                }
            }
        } catch (...) {
            stop = true;
            if (!failed.exchange(true)) failure = std::current_exception();
        }
    };

    std::vector<std::thread> workers;
    const std::size_t extra = std::min(wanted, ranges) > 1 ? std::min(wanted, ranges) - 1 : 0;
    workers.reserve(extra);
    for (std::size_t i = 0; i < extra; ++i) {
        try {
            workers.emplace_back(run, false);
        } catch (const std::system_error&) {
            break;  // no more threads available: fewer do the same work
        }
    }
    run(true);
    for (auto& worker : workers) worker.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace graphreg
