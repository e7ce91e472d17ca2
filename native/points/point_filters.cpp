#include "points/point_filters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace graphreg {

namespace {

std::uint64_t hash_of(const double* point) {
    std::uint64_t hash = 0;
    for (int axis = 0; axis < 3; ++axis) {
        // Adding zero makes -0 the same as 0.
        hash = (hash ^ std::bit_cast<std::uint64_t>(point[axis] + 0.0)) * 0x9e3779b97f4a7c15ULL;
        hash ^= hash >> 29;
    }
    return hash;
}

// Of an even number of values the mean of the two in the middle.
double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return values.size() % 2 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool is_finite(const double* point) {
    return std::isfinite(point[0]) && std::isfinite(point[1]) && std::isfinite(point[2]);
}

}  // namespace

std::size_t unique_points(const double* points, std::size_t count, std::int32_t* indices) {
    const std::size_t slots = std::bit_ceil(2 * count + 1);
    std::vector<std::int32_t> table(slots, -1);
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double* p = points + 3 * i;
        auto same = [&](std::int32_t other) {
            const double* q = points + 3 * static_cast<std::size_t>(other);
            return p[0] == q[0] && p[1] == q[1] && p[2] == q[2];
        };
        std::size_t slot = hash_of(p) & (slots - 1);
        while (table[slot] >= 0 && !same(table[slot])) slot = (slot + 1) & (slots - 1);
        if (table[slot] < 0) {
            table[slot] = static_cast<std::int32_t>(i);
            indices[found++] = static_cast<std::int32_t>(i);
        }
    }
    return found;
}

double middle_of(const double* points, std::size_t count, std::size_t sample_size, double* middle) {
    const std::size_t step = (count + sample_size - 1) / sample_size;
    std::vector<const double*> sample;
    for (std::size_t i = 0; i < count; i += is_finite(points + 3 * i) ? step : 1)
        if (is_finite(points + 3 * i)) sample.push_back(points + 3 * i);
    if (sample.empty()) {
        std::fill_n(middle, 3, 0.0);
        return std::sqrt(std::numeric_limits<double>::min());
    }
    std::vector<double> values(sample.size());
    auto median_of = [&](auto&& value) {
        std::transform(sample.begin(), sample.end(), values.begin(), value);
        return median(values);
    };
    for (int axis = 0; axis < 3; ++axis) middle[axis] = median_of([axis](const double* point) { return point[axis]; });
    const double squared = median_of([middle](const double* point) { return squared_distance(point, middle); });
    return std::sqrt(std::max(squared, std::numeric_limits<double>::min()));
}

std::size_t remove_duplicates_and_outliers(double* points, std::size_t count, double max_ratio, std::size_t sample_size,
                                           std::int32_t* indices) {
    count = unique_points(points, count, indices);
    for (std::size_t i = 0; i < count; ++i)
        std::copy_n(points + 3 * static_cast<std::size_t>(indices[i]), 3, points + 3 * i);
    double centre[3];
    const double limit = max_ratio * middle_of(points, count, sample_size, centre);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!(squared_distance(points + 3 * i, centre) <= limit * limit)) continue;
        std::copy_n(points + 3 * i, 3, points + 3 * kept);
        indices[kept++] = indices[i];
    }
    return kept;
}

}  // namespace graphreg
