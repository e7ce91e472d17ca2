#include "features/fpfh.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/parallel.hpp"

namespace graphreg {

namespace {

struct Vector {
    double x, y, z;
};

double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

Vector cross(const Vector& a, const Vector& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// In the Darboux frame u = n_1, v = d x u, w = u x v of a pair.
struct Angles {
    double theta = 0;  // angle of the second normal about v, -pi to pi
    double alpha = 0;  // cosine between the second normal and v
    double phi = 0;    // cosine between the first normal and the offset d
};

// The first point of the pair is the one whose normal is closer to the line between them, so that both orders give the
// same.
Angles angles_between(const double* point, const double* normal, const double* other, const double* other_normal) {
    Vector offset{other[0] - point[0], other[1] - point[1], other[2] - point[2]};
    const double length = std::sqrt(dot(offset, offset));
    if (length == 0) return {};
    Vector first{normal[0], normal[1], normal[2]}, second{other_normal[0], other_normal[1], other_normal[2]};
    double phi = dot(first, offset) / length;
    const double other_phi = dot(second, offset) / length;
    if (std::abs(phi) < std::abs(other_phi)) {
        std::swap(first, second);
        offset = {-offset.x, -offset.y, -offset.z};
        phi = -other_phi;
    }
    Vector v = cross(offset, first);
    const double size = std::sqrt(dot(v, v));
    if (size == 0) return {};
    v = {v.x / size, v.y / size, v.z / size};
    const Vector w = cross(first, v);
    return {std::atan2(dot(w, second), dot(first, second)), dot(v, second), phi};
}

std::size_t bin_of(double share) {
    const double bin = std::floor(share * angle_bins);
    return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(angle_bins - 1)));
}

std::int64_t end_of(const RadiusNeighbours& around, std::size_t i) {
    return std::min(around.offsets[i + 1], around.offsets[i] + static_cast<std::int64_t>(around.max_neighbours));
}

}  // namespace

void simple_histograms(const RadiusNeighbours& around, int threads, double* histograms) {
    parallel_for(around.count, 256, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            double* histogram = histograms + histogram_size * i;
            std::fill_n(histogram, histogram_size, 0.0);
            std::size_t others = 0;
            for (std::int64_t k = around.offsets[i]; k < end_of(around, i); ++k)
                others += static_cast<std::size_t>(around.indices[k]) != i;
            if (!others) continue;
            const double share = 100.0 / static_cast<double>(others);
            for (std::int64_t k = around.offsets[i]; k < end_of(around, i); ++k) {
                const auto j = static_cast<std::size_t>(around.indices[k]);
                if (j == i) continue;
                const Angles angles = angles_between(around.points + 3 * i, around.normals + 3 * i,
                                                     around.points + 3 * j, around.normals + 3 * j);
                histogram[bin_of((angles.theta + std::numbers::pi) / (2 * std::numbers::pi))] += share;
                histogram[angle_bins + bin_of((angles.alpha + 1) / 2)] += share;
                histogram[2 * angle_bins + bin_of((angles.phi + 1) / 2)] += share;
            }
        }
    });
}

void fast_histograms(const RadiusNeighbours& around, const double* simple, int threads, double* histograms) {
    parallel_for(around.count, 256, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            double mean[histogram_size] = {};
            for (std::int64_t k = around.offsets[i]; k < end_of(around, i); ++k) {
                if (around.squared[k] == 0) continue;
                const double* other = simple + histogram_size * static_cast<std::size_t>(around.indices[k]);
                const double weight = 1 / around.squared[k];
                for (std::size_t b = 0; b < histogram_size; ++b) mean[b] += weight * other[b];
            }
            for (std::size_t angle = 0; angle < 3; ++angle) {
                double sum = 0;
                for (std::size_t b = 0; b < angle_bins; ++b) sum += mean[angle * angle_bins + b];
                const double scale = sum > 0 ? 100 / sum : 0;
                for (std::size_t b = 0; b < angle_bins; ++b) {
                    const std::size_t bin = angle * angle_bins + b;
                    histograms[histogram_size * i + bin] = simple[histogram_size * i + bin] + scale * mean[bin];
                }
            }
        }
    });
}

}  // namespace graphreg
