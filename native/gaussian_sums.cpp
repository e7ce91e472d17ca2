#include "gaussian_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "dispatch.hpp"
#include "parallel.hpp"
#include "fast_gauss_transform.hpp"

namespace graphreg {

namespace {

typedef float Eight __attribute__((vector_size(32), aligned(32)));
typedef std::int32_t EightIntegers __attribute__((vector_size(32), aligned(32)));
constexpr std::size_t lanes = 8;
constexpr std::size_t blocks_a_group = 4;
constexpr std::size_t points_a_tile = 8;
// exp(-20) = 2e-9 is nothing beside the rounding of the sums.
constexpr float deepest = 20.0f;

// 2^x for -126 <= x <= 0, to single precision: a power of two times the polynomial that is closest to 2^t for
// -1/2 <= t <= 1/2.
GRAPHREG_INLINE Eight power_of_two(Eight x) {
    // Adding this rounds to a whole number, which is then in the last bits.
    constexpr float rounding = 12582912.0f;
    const Eight rounded = x + rounding;
    const Eight t = x - (rounded - rounding);
    Eight power = Eight{} + 1.32764608e-3f;
    for (const float c : {9.67554096e-3f, 5.55071346e-2f, 2.40221202e-1f, 6.93146944e-1f, 1.00000012f})
        power = power * t + c;
    return (Eight)((EightIntegers)power + ((EightIntegers)rounded << 23));
}

struct Box {
    float low[3], high[3];
};

// The others, eight side by side: x, y, z, mass. Empty places repeat the last point, without mass.
class Others {
public:
    struct Block {
        Eight x, y, z, mass;
    };

    explicit Others(const MixtureSystem& system)
        : groups_((system.other_count + lanes * blocks_a_group - 1) / (lanes * blocks_a_group)),
          blocks_(new Block[groups_ * blocks_a_group]), boxes_(groups_) {
        const std::size_t places = groups_ * blocks_a_group * lanes;
        for (std::size_t place = 0; place < places; ++place) {
            const std::size_t j = std::min(place, system.other_count - 1), lane = place % lanes;
            const float* at = system.others + 3 * j;
            Block& block = blocks_[place / lanes];
            block.x[lane] = at[0];
            block.y[lane] = at[1];
            block.z[lane] = at[2];
            block.mass[lane] = place < system.other_count ? system.mass[j] : 0.0f;
            Box& box = boxes_[place / (lanes * blocks_a_group)];
            for (int a = 0; a < 3; ++a) {
                const bool first = place % (lanes * blocks_a_group) == 0;
                box.low[a] = first ? at[a] : std::min(box.low[a], at[a]);
                box.high[a] = first ? at[a] : std::max(box.high[a], at[a]);
            }
        }
    }

    std::size_t groups() const { return groups_; }
    const Box& box(std::size_t group) const { return boxes_[group]; }
    const Block* blocks(std::size_t group) const { return blocks_.get() + group * blocks_a_group; }

private:
    std::size_t groups_;
    std::unique_ptr<Block[]> blocks_;
    std::vector<Box> boxes_;
};

GRAPHREG_INLINE double sum(const Eight& values) {
    double total = 0;
    for (std::size_t lane = 0; lane < lanes; ++lane) total += static_cast<double>(values[lane]);
    return total;
}

// For points from begin to end, in tiles that share the list of groups within reach. Sums are kept in single precision
// for some thousand pairs only, then added up in double.
template <bool with_force>
GRAPHREG_INLINE void sums_for(const MixtureSystem& system, const Others& others, std::size_t begin, std::size_t end,
                              double* weight, double* force) {
    constexpr std::size_t groups_in_single = 32;
    const float slope = -1.44269504f / (2 * system.width * system.width);
    const float reach = 2 * deepest * system.width * system.width;
    std::vector<std::size_t> near;
    for (std::size_t tile = begin; tile < end; tile += points_a_tile) {
        const std::size_t last = std::min(end, tile + points_a_tile);
        Box box;
        for (int a = 0; a < 3; ++a) {
            box.low[a] = std::numeric_limits<float>::infinity();
            box.high[a] = -box.low[a];
            for (std::size_t i = tile; i < last; ++i) {
                box.low[a] = std::min(box.low[a], system.points[3 * i + a]);
                box.high[a] = std::max(box.high[a], system.points[3 * i + a]);
            }
        }
        near.clear();
        for (std::size_t group = 0; group < others.groups(); ++group) {
            const Box& other = others.box(group);
            float gap = 0;
            for (int a = 0; a < 3; ++a) {
                const float side = std::max(std::max(other.low[a] - box.high[a], box.low[a] - other.high[a]), 0.0f);
                gap += side * side;
            }
            if (gap <= reach) near.push_back(group);
        }
        for (std::size_t i = tile; i < last; ++i) {
            const float *here = system.points + 3 * i, x = here[0], y = here[1], z = here[2];
            double total = 0, fx = 0, fy = 0, fz = 0;
            for (std::size_t first = 0; first < near.size(); first += groups_in_single) {
                const std::size_t beyond = std::min(near.size(), first + groups_in_single);
                Eight part{}, px{}, py{}, pz{};
                for (std::size_t n = first; n < beyond; ++n) {
                    const Others::Block* block = others.blocks(near[n]);
                    for (const Others::Block* stop = block + blocks_a_group; block != stop; ++block) {
                        const Eight dx = block->x - x, dy = block->y - y, dz = block->z - z;
                        const Eight exponent = (dx * dx + dy * dy + dz * dz) * slope;
                        const Eight w = block->mass * power_of_two(exponent < -126.0f ? Eight{} - 126.0f : exponent);
                        part += w;
                        if constexpr (with_force) {
                            px += w * dx;
                            py += w * dy;
                            pz += w * dz;
                        }
                    }
                }
                total += sum(part);
                if constexpr (with_force) {
                    fx += sum(px);
                    fy += sum(py);
                    fz += sum(pz);
                }
            }
            weight[i] = total;
            if constexpr (with_force) {
                force[3 * i] = fx;
                force[3 * i + 1] = fy;
                force[3 * i + 2] = fz;
            }
        }
    }
}

GRAPHREG_DISPATCHED
void weights_for(const MixtureSystem& system, const Others& others, std::size_t begin, std::size_t end, double* weight,
                 double* force) {
    sums_for<false>(system, others, begin, end, weight, force);
}

GRAPHREG_DISPATCHED
void forces_for(const MixtureSystem& system, const Others& others, std::size_t begin, std::size_t end, double* weight,
                double* force) {
    sums_for<true>(system, others, begin, end, weight, force);
}

}  // namespace

void gaussian_sums(const MixtureSystem& system, int threads, double* weight, double* force) {
    if (!system.other_count) {
        std::fill_n(weight, system.count, 0.0);
        if (force) std::fill_n(force, 3 * system.count, 0.0);
        return;
    }
    if (wide_gaussian_sums(system, threads, weight, force)) return;
    const Others others(system);
    auto* const work = force ? forces_for : weights_for;
    parallel_for(system.count, 8 * points_a_tile, threads, [&](std::size_t begin, std::size_t end) {
        work(system, others, begin, end, weight, force);
    });
}

}  // namespace graphreg
