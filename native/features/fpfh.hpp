// Fast point feature histograms (Rusu et al. 2009).
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphreg {

constexpr std::size_t angle_bins = 11;
constexpr std::size_t histogram_size = 3 * angle_bins;

// Point i has the neighbours from offsets[i] to offsets[i + 1], nearest first, which may include itself.
struct RadiusNeighbours {
    const double* points;         // (count, 3)
    const double* normals;        // (count, 3)
    const std::int64_t* offsets;  // (count + 1)
    const std::int32_t* indices;  // (offsets[count])
    const double* squared;        // (offsets[count]): squared distances
    std::size_t count;
    std::size_t max_neighbours;  // of each point, only the first ones are used, up to this number
};

// SPFH: of each point, a histogram of each of three angles between normals and offset over its neighbours, in percent.
// histograms: (count, 33).
void simple_histograms(const RadiusNeighbours& around, int threads, double* histograms);

// FPFH: each point's own SPFH plus the mean of its neighbours', weighted with 1 / distance^2 and scaled to sum up to
// 100 for each angle. histograms: (count, 33).
void fast_histograms(const RadiusNeighbours& around, const double* simple, int threads, double* histograms);

}  // namespace graphreg
