#include "baselines/gaussian_sums.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "baselines/fast_gauss_transform.hpp"
#include "common/parallel.hpp"
#include "common/simd.hpp"

namespace graphreg {

namespace {

constexpr std::size_t blocks_per_group = 4, points_per_group = eight_lanes * blocks_per_group;
constexpr std::size_t points_per_tile = 8;
// Partial sums over this number of groups, a thousand others, are in single precision; their total is in double.
constexpr std::size_t groups_per_partial_sum = 32;
// exp(-20) = 2e-9 is negligible beside the rounding of the sums.
constexpr float max_exponent = 20.0f;

// 2^x for -126 <= x <= 0, to single precision: a power of two times the polynomial closest to 2^t for -1/2 <= t <= 1/2.
GRAPHREG_INLINE Eight power_of_two(Eight x) {
    // Adding this rounds to an integer, which is then in the last bits.
    constexpr float rounding = 12582912.0f;
    const Eight rounded = x + rounding;
    const Eight t = x - (rounded - rounding);
    Eight power = broadcast(1.32764608e-3f);
    for (const float c : {9.67554096e-3f, 5.55071346e-2f, 2.40221202e-1f, 6.93146944e-1f, 1.00000012f})
        power = power * t + c;
    return (Eight)((EightIntegers)power + ((EightIntegers)rounded << 23));
}

struct FloatBox {
    float low[3], high[3];
};

GRAPHREG_INLINE float squared_gap(const FloatBox& a, const FloatBox& b) {
    float sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
        const float gap = std::max(std::max(a.low[axis] - b.high[axis], b.low[axis] - a.high[axis]), 0.0f);
        sum += gap * gap;
    }
    return sum;
}

// The others, eight side by side, in groups with bounding boxes. Unused lanes repeat the last point, without mass.
class Others {
public:
    struct Block {
        Eight x, y, z, mass;
    };

    explicit Others(const GaussianSystem& system)
        : groups_((system.other_count + points_per_group - 1) / points_per_group),
          blocks_(new Block[groups_ * blocks_per_group]),
          boxes_(groups_) {
        for (std::size_t n = 0; n < groups_ * points_per_group; ++n) {
            const std::size_t j = std::min(n, system.other_count - 1), lane = n % eight_lanes;
            const float* at = system.others + 3 * j;
            Block& block = blocks_[n / eight_lanes];
            block.x[lane] = at[0];
            block.y[lane] = at[1];
            block.z[lane] = at[2];
            block.mass[lane] = n < system.other_count ? system.mass[j] : 0.0f;
            FloatBox& box = boxes_[n / points_per_group];
            const bool first = n % points_per_group == 0;
            for (int axis = 0; axis < 3; ++axis) {
                box.low[axis] = first ? at[axis] : std::min(box.low[axis], at[axis]);
                box.high[axis] = first ? at[axis] : std::max(box.high[axis], at[axis]);
            }
        }
    }

    std::size_t groups() const { return groups_; }
    const FloatBox& box(std::size_t group) const { return boxes_[group]; }
    const Block* blocks(std::size_t group) const { return blocks_.get() + group * blocks_per_group; }

private:
    std::size_t groups_;
    std::unique_ptr<Block[]> blocks_;
    std::vector<FloatBox> boxes_;
};

GRAPHREG_INLINE FloatBox box_of(const float* points, std::size_t begin, std::size_t end) {
    FloatBox box;
    for (int axis = 0; axis < 3; ++axis) {
        box.low[axis] = std::numeric_limits<float>::infinity();
        box.high[axis] = -box.low[axis];
        for (std::size_t i = begin; i < end; ++i) {
            box.low[axis] = std::min(box.low[axis], points[3 * i + axis]);
            box.high[axis] = std::max(box.high[axis], points[3 * i + axis]);
        }
    }
    return box;
}

// The sums at point i over some groups of the others.
template <bool with_force>
GRAPHREG_INLINE void sum_at(const GaussianSystem& system, const Others& others, const std::vector<std::size_t>& groups,
                            std::size_t i, double* weight, double* force) {
    const float slope = -1.44269504f / (2 * system.width * system.width);
    const float *here = system.points + 3 * i, x = here[0], y = here[1], z = here[2];
    double total = 0, fx = 0, fy = 0, fz = 0;
    for (std::size_t first = 0; first < groups.size(); first += groups_per_partial_sum) {
        const std::size_t last = std::min(groups.size(), first + groups_per_partial_sum);
        Eight part{}, px{}, py{}, pz{};
        for (std::size_t n = first; n < last; ++n) {
            const Others::Block* block = others.blocks(groups[n]);
            for (const Others::Block* stop = block + blocks_per_group; block != stop; ++block) {
                const Eight dx = block->x - x, dy = block->y - y, dz = block->z - z;
                const Eight exponent = (dx * dx + dy * dy + dz * dz) * slope;
                const Eight w = block->mass * power_of_two(exponent < -126.0f ? broadcast(-126.0f) : exponent);
                part += w;
                if constexpr (with_force) {
                    px += w * dx;
                    py += w * dy;
                    pz += w * dz;
                }
            }
        }
        total += sum_lanes(part);
        if constexpr (with_force) {
            fx += sum_lanes(px);
            fy += sum_lanes(py);
            fz += sum_lanes(pz);
        }
    }
    weight[i] = total;
    if constexpr (with_force) {
        force[3 * i] = fx;
        force[3 * i + 1] = fy;
        force[3 * i + 2] = fz;
    }
}

// Points from begin to end, in tiles that share the list of groups within reach.
template <bool with_force>
GRAPHREG_INLINE void sum_range(const GaussianSystem& system, const Others& others, std::size_t begin, std::size_t end,
                               double* weight, double* force) {
    const float squared_reach = 2 * max_exponent * system.width * system.width;
    std::vector<std::size_t> near;
    for (std::size_t tile = begin; tile < end; tile += points_per_tile) {
        const std::size_t last = std::min(end, tile + points_per_tile);
        const FloatBox box = box_of(system.points, tile, last);
        near.clear();
        for (std::size_t group = 0; group < others.groups(); ++group)
            if (squared_gap(others.box(group), box) <= squared_reach) near.push_back(group);
        for (std::size_t i = tile; i < last; ++i) sum_at<with_force>(system, others, near, i, weight, force);
    }
}

GRAPHREG_DISPATCHED
void sum_weights(const GaussianSystem& system, const Others& others, std::size_t begin, std::size_t end, double* weight,
                 double* force) {
    sum_range<false>(system, others, begin, end, weight, force);
}

GRAPHREG_DISPATCHED
void sum_forces(const GaussianSystem& system, const Others& others, std::size_t begin, std::size_t end, double* weight,
                double* force) {
    sum_range<true>(system, others, begin, end, weight, force);
}

}  // namespace

void gaussian_sums(const GaussianSystem& system, int threads, double* weight, double* force) {
    if (!system.other_count) {
        std::fill_n(weight, system.count, 0.0);
        if (force) std::fill_n(force, 3 * system.count, 0.0);
        return;
    }
    if (fast_gauss_transform(system, threads, weight, force)) return;
    const Others others(system);
    auto* const work = force ? sum_forces : sum_weights;
    parallel_for(system.count, 8 * points_per_tile, threads,
                 [&](std::size_t begin, std::size_t end) { work(system, others, begin, end, weight, force); });
}

}  // namespace graphreg
