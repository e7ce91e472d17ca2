// Fast point feature histograms, and the search for the most similar of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

constexpr std::size_t angle_bins = 11;
constexpr std::size_t histogram_size = 3 * angle_bins;

// Who is near whom: point i has the neighbours from offsets[i] to offsets[i + 1], which may include itself.
struct Surroundings {
    const double* points;          // (count, 3)
    const double* normals;         // (count, 3)
    const std::int64_t* offsets;   // (count + 1)
    const std::int32_t* indices;   // (offsets[count])
    const double* squared;         // (offsets[count]): squared distances
    std::size_t count;
    std::size_t most;              // of each point's neighbours, only so many from the first on
};

// The simplified histogram of each point: for each neighbour three angles between normals and offset, a histogram each,
// as a share of 100. histograms: (count, 33).
void simple_histograms(const Surroundings& around, int threads, double* histograms);

// Each point's own histogram and, once more, the mean of its neighbours', weighted with 1 / distance^2 and scaled to
// sum up to 100 for each angle. histograms: (count, 33).
void mixed_histograms(const Surroundings& around, const double* simple, int threads, double* histograms);

// For each row of `queries` the row of `features` that is closest, of equal ones the first. features: (count, width) with
// at least one row, queries: (query_count, width), nearest: (query_count).
void nearest_features(const float* features, std::size_t count, const float* queries, std::size_t query_count,
                      std::size_t width, int threads, std::int32_t* nearest);

}  // namespace graphreg
