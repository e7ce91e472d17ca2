#include "fpfh.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace graphreg {

namespace {

struct Vector {
    double x, y, z;

    explicit Vector(const double* at) : x(at[0]), y(at[1]), z(at[2]) {}
    Vector(double x, double y, double z) : x(x), y(y), z(z) {}
};

double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

Vector cross(const Vector& a, const Vector& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

struct Angles {
    double turn = 0;   // of the second normal about the frame's middle axis, -pi to pi
    double lift = 0;   // cosine between the second normal and the frame's middle axis
    double slope = 0;  // cosine between the first normal and the offset
};

// The three angles of a pair in the frame u = n_1, v = d x u, w = u x v (Rusu et al. 2009). The first of the two is the
// one whose normal is closer to the line that joins them, so that both orders give the same.
Angles angles_between(const double* at, const double* normal, const double* other_at, const double* other_normal) {
    Vector offset(other_at[0] - at[0], other_at[1] - at[1], other_at[2] - at[2]);
    const double length = std::sqrt(dot(offset, offset));
    if (length == 0) return {};
    Vector first(normal), second(other_normal);
    double slope = dot(first, offset) / length;
    const double other_slope = dot(second, offset) / length;
    if (std::abs(slope) < std::abs(other_slope)) {
        std::swap(first, second);
        offset = {-offset.x, -offset.y, -offset.z};
        slope = -other_slope;
    }
    Vector v = cross(offset, first);
    const double size = std::sqrt(dot(v, v));
    if (size == 0) return {};
    v = {v.x / size, v.y / size, v.z / size};
    const Vector w = cross(first, v);
    return {std::atan2(dot(w, second), dot(first, second)), dot(v, second), slope};
}

std::size_t bin_of(double share) {
    const double bin = std::floor(share * angle_bins);
    return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(angle_bins - 1)));
}

std::int64_t last_of(const Surroundings& around, std::size_t i) {
    return std::min(around.offsets[i + 1], around.offsets[i] + static_cast<std::int64_t>(around.most));
}

}  // namespace

void simple_histograms(const Surroundings& around, int threads, double* histograms) {
    parallel_for(around.count, 256, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            double* mine = histograms + histogram_size * i;
            std::fill_n(mine, histogram_size, 0.0);
            std::size_t others = 0;
            for (std::int64_t k = around.offsets[i]; k < last_of(around, i); ++k)
                others += static_cast<std::size_t>(around.indices[k]) != i;
            if (!others) continue;
            const double share = 100.0 / static_cast<double>(others);
            for (std::int64_t k = around.offsets[i]; k < last_of(around, i); ++k) {
                const auto j = static_cast<std::size_t>(around.indices[k]);
                if (j == i) continue;
                const Angles angles = angles_between(around.points + 3 * i, around.normals + 3 * i,
                                                     around.points + 3 * j, around.normals + 3 * j);
                mine[bin_of((angles.turn + std::numbers::pi) / (2 * std::numbers::pi))] += share;
                mine[angle_bins + bin_of((angles.lift + 1) / 2)] += share;
                mine[2 * angle_bins + bin_of((angles.slope + 1) / 2)] += share;
            }
        }
    });
}

void mixed_histograms(const Surroundings& around, const double* simple, int threads, double* histograms) {
    parallel_for(around.count, 256, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            double mean[histogram_size] = {};
            for (std::int64_t k = around.offsets[i]; k < last_of(around, i); ++k) {
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

namespace {

typedef float Eight __attribute__((vector_size(32), aligned(32)));
constexpr std::size_t lanes = 8;
constexpr std::size_t queries_at_once = 4;

// Eight features side by side, row after row; four queries share each row that is loaded.
GRAPHREG_DISPATCHED
void seek_features(const Eight* blocks, std::size_t block_count, const float* queries, std::size_t query_count,
                   std::size_t width, std::int32_t* nearest) {
    for (std::size_t q = 0; q < query_count; q += queries_at_once) {
        const std::size_t held = std::min(queries_at_once, query_count - q);
        const float* row[queries_at_once];
        for (std::size_t n = 0; n < queries_at_once; ++n) row[n] = queries + width * (q + std::min(n, held - 1));
        float best[queries_at_once];
        std::fill_n(best, queries_at_once, std::numeric_limits<float>::infinity());
        for (std::size_t b = 0; b < block_count; ++b) {
            const Eight* block = blocks + b * width;
            Eight distance[queries_at_once] = {};
            for (std::size_t f = 0; f < width; ++f)
                for (std::size_t n = 0; n < queries_at_once; ++n) {
                    const Eight apart = block[f] - row[n][f];
                    distance[n] += apart * apart;
                }
            for (std::size_t n = 0; n < held; ++n)
                for (std::size_t lane = 0; lane < lanes; ++lane)
                    if (distance[n][lane] < best[n]) {
                        best[n] = distance[n][lane];
                        nearest[q + n] = static_cast<std::int32_t>(b * lanes + lane);
                    }
        }
    }
}

}  // namespace

void nearest_features(const float* features, std::size_t count, const float* queries, std::size_t query_count,
                      std::size_t width, int threads, std::int32_t* nearest) {
    const std::size_t block_count = (count + lanes - 1) / lanes;
    std::unique_ptr<Eight[]> blocks(new Eight[block_count * width]);
    // Empty places repeat the last feature, which is found before them.
    for (std::size_t place = 0; place < block_count * lanes; ++place)
        for (std::size_t f = 0; f < width; ++f)
            blocks[place / lanes * width + f][place % lanes] = features[width * std::min(place, count - 1) + f];
    parallel_for(query_count, 16 * queries_at_once, threads, [&](std::size_t begin, std::size_t end) {
        seek_features(blocks.get(), block_count, queries + width * begin, end - begin, width, nearest + begin);
    });
}

}  // namespace graphreg
