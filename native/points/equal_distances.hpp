// Which distances count as equal. On a raster or lattice many neighbours are at one distance, and rounding alone would
// tell them apart, after every rotation another way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace graphreg {

struct EqualDistances {
    // Share of a distance (chosen): far above the rounding of a distance, far below the gaps between distances that
    // differ.
    static constexpr double relative = 1e-9;

    // Bound of what a rigid transform can change a difference of two distances by, through the rounding of coordinates:
    // 8 units in the last place of the largest one for each coordinate of four points, so 4 sqrt(3) * 8 = 56 (derived).
    double rounding = 0;

    EqualDistances() = default;
    explicit EqualDistances(double largest_coordinate)
        : rounding(64 * std::numeric_limits<double>::epsilon() * largest_coordinate) {}

    EqualDistances(const double* points, std::size_t count) : EqualDistances(largest_of(points, 3 * count)) {}

    // The square of the largest distance that counts as equal to one, itself given by its square.
    double upper(double squared) const {
        const bool small = rounding * rounding <= relative * relative * squared;
        return squared + 2 * (small ? relative * squared : rounding * std::sqrt(squared));
    }

    // Whether a distance is no more than rounding.
    bool vanishes(double squared) const { return squared <= rounding * rounding; }

private:
    // Of absolute values, in eight lanes that the compiler can vectorise.
    static double largest_of(const double* values, std::size_t count) {
        double largest[8] = {};
        std::size_t i = 0;
        for (; i + 8 <= count; i += 8)
            for (std::size_t lane = 0; lane < 8; ++lane)
                largest[lane] = std::max(largest[lane], std::abs(values[i + lane]));
        for (; i < count; ++i) largest[0] = std::max(largest[0], std::abs(values[i]));
        return *std::max_element(largest, largest + 8);
    }
};

}  // namespace graphreg
