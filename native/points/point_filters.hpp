// Filters of raw points: duplicates, and points far from all others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

inline double squared_distance(const double* a, const double* b) {
    const double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

// The indices of the points (count, 3) that do not repeat an earlier one, ascending; returns their number.
std::size_t unique_points(const double* points, std::size_t count, std::int32_t* indices);

// The median of each coordinate (3) of a regular sample of at most `sample_size` points; returns the median distance
// from it, at least the smallest that can be squared.
double middle_of(const double* points, std::size_t count, std::size_t sample_size, double* middle);

// Removes, in place, duplicates and the points farther from the median than `max_ratio` times the median distance from
// it. The medians are those of a regular sample of at most `sample_size` points. Returns the number of points that
// remain; indices: which ones they were.
std::size_t remove_duplicates_and_outliers(double* points, std::size_t count, double max_ratio, std::size_t sample_size,
                                           std::int32_t* indices);

}  // namespace graphreg
