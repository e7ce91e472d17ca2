// Exhaustive search for the nearest feature vector.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

// For each row of `queries` the nearest row of `features`, of equal ones the first. features: (count, width) with at
// least one row, queries: (query_count, width), nearest: (query_count).
void nearest_features(const float* features, std::size_t count, const float* queries, std::size_t query_count,
                      std::size_t width, int threads, std::int32_t* nearest);

}  // namespace graphreg
