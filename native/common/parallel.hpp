// Parallel loops over independent ranges. Which thread takes which range is left to chance; what a range computes must
// not depend on it, so that results are the same for any number of threads.
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>

namespace graphreg {

struct Interrupted : std::exception {};

// Set by the bindings: whether the user wants to stop (Ctrl-C). Only the calling thread asks.
inline bool (*interrupt_requested)() = nullptr;

// A reference to a function of a range (begin, end).
struct RangeFunction {
    void* function;
    void (*call)(void* function, std::size_t begin, std::size_t end);

    void operator()(std::size_t begin, std::size_t end) const { call(function, begin, end); }
};

// Calls work(begin, end) for consecutive ranges of [0, count) of at most `grain` items.
void run_ranges(std::size_t count, std::size_t grain, int threads, RangeFunction work);

// The same for any function; what starts and joins threads is compiled once for all of them.
template <class Work>
void parallel_for(std::size_t count, std::size_t grain, int threads, Work&& work) {
    auto call = [](void* function, std::size_t begin, std::size_t end) {
        (*static_cast<std::remove_reference_t<Work>*>(function))(begin, end);
    };
    run_ranges(count, grain, threads, {&work, call});
}

}  // namespace graphreg
