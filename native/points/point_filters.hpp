// Filters of raw points: duplicates, and points far from all others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

// The indices of the points (count, 3) that do not repeat an earlier one, ascending; returns their number.
std::size_t unique_points(const double* points, std::size_t count, std::int32_t* indices);

// Removes, in place, duplicates and the points farther from the median than `max_ratio` times the median distance from
// it. The medians are those of a regular sample of at most `sample_size` points. Returns the number of points that
// remain; indices: which ones they were.
std::size_t remove_duplicates_and_outliers(double* points, std::size_t count, double max_ratio, std::size_t sample_size,
                                           std::int32_t* indices);

}  // namespace graphreg
