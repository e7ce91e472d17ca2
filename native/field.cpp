#include "field.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallel.hpp"

namespace graphreg {

namespace {

constexpr int reach = 2;           // cells around a point that may name it
constexpr float farthest = 6.25F;  // and the squared distance to their middles
constexpr int margin = 3;          // cells around all points; one more, for rounding
constexpr double still = 1e-6;  // cells, radians
constexpr std::int64_t most_blocks = 1 << 22;

}  // namespace

Field::Field(const double* points, const double* normals, const std::int32_t* neighbours, std::size_t count,
             std::size_t k)
    : points_(points, points + 3 * count),
      normals_(normals, normals + 3 * count),
      neighbours_(neighbours, neighbours + k * count),
      k_(k) {
    std::array<double, 3> high;
    low_.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < count; ++i)
        for (int a = 0; a < 3; ++a) {
            low_[a] = std::min(low_[a], points[3 * i + a]);
            high[a] = std::max(high[a], points[3 * i + a]);
        }
    // A cloud that is long and thin and lies askew gets larger cells, so that memory stays bounded.
    double side = 1;
    for (;; side *= 2) {
        double product = 1;
        for (int a = 0; a < 3; ++a) {
            blocks_[a] = (static_cast<std::int64_t>((high[a] - low_[a]) / side) + 2 * margin) / block_side + 1;
            product *= static_cast<double>(blocks_[a]);
        }
        if (product <= static_cast<double>(most_blocks)) break;
    }
    for (double& corner : low_) corner -= margin * side;
    inverse_side_ = 1 / side;
    block_at_.assign(static_cast<std::size_t>(blocks_[0] * blocks_[1] * blocks_[2]), -1);
    std::vector<std::array<float, block_cells>> distances;
    for (std::size_t i = 0; i < count; ++i) {
        std::int64_t cell[3];
        double within[3];  // the point, from the middle of its cell
        for (int a = 0; a < 3; ++a) {
            const double place = (points[3 * i + a] - low_[a]) * inverse_side_;
            cell[a] = static_cast<std::int64_t>(place);
            within[a] = place - static_cast<double>(cell[a]) - 0.5;
        }
        for (std::int64_t z = -reach; z <= reach; ++z)
            for (std::int64_t y = -reach; y <= reach; ++y)
                for (std::int64_t x = -reach; x <= reach; ++x) {
                    const double dx = static_cast<double>(x) - within[0], dy = static_cast<double>(y) - within[1],
                                 dz = static_cast<double>(z) - within[2];
                    const auto squared = static_cast<float>(dx * dx + dy * dy + dz * dz);
                    if (squared > farthest) continue;
                    const std::int64_t cx = cell[0] + x, cy = cell[1] + y, cz = cell[2] + z;
                    auto& block = block_at_[static_cast<std::size_t>(
                        ((cz >> block_bits) * blocks_[1] + (cy >> block_bits)) * blocks_[0] + (cx >> block_bits))];
                    if (block < 0) {
                        block = static_cast<std::int32_t>(cells_.size());
                        cells_.emplace_back().fill(-1);
                        distances.emplace_back().fill(std::numeric_limits<float>::infinity());
                    }
                    const auto inside = static_cast<std::size_t>(
                        (((cz & 7) << block_bits | (cy & 7)) << block_bits) | (cx & 7));
                    float& nearest = distances[static_cast<std::size_t>(block)][inside];
                    if (squared < nearest) {
                        nearest = squared;
                        cells_[static_cast<std::size_t>(block)][inside] = static_cast<std::int32_t>(i);
                    }
                }
    }
}

inline std::int32_t Field::named_at(const std::array<double, 3>& place) const {
    std::int64_t cell[3];
    for (int a = 0; a < 3; ++a) {
        const double along = (place[a] - low_[a]) * inverse_side_;
        if (!(along >= 0) || !(along < static_cast<double>(blocks_[a] * block_side))) return -1;
        cell[a] = static_cast<std::int64_t>(along);
    }
    const std::int32_t block =
        block_at_[static_cast<std::size_t>(((cell[2] >> block_bits) * blocks_[1] + (cell[1] >> block_bits)) * blocks_[0] +
                                           (cell[0] >> block_bits))];
    if (block < 0) return -1;
    return cells_[static_cast<std::size_t>(block)][static_cast<std::size_t>(
        (((cell[2] & 7) << block_bits | (cell[1] & 7)) << block_bits) | (cell[0] & 7))];
}

inline std::int32_t Field::nearest_to(const std::array<double, 3>& place) const {
    std::int32_t best = named_at(place);
    if (best < 0) return best;
    auto squared = [&](std::int32_t i) {
        const double* y = points_.data() + 3 * static_cast<std::size_t>(i);
        const double dx = place[0] - y[0], dy = place[1] - y[1], dz = place[2] - y[2];
        return dx * dx + dy * dy + dz * dz;
    };
    double least = squared(best);
    const std::int32_t* around = neighbours_.data() + static_cast<std::size_t>(best) * k_;
    for (std::size_t n = 0; n < k_; ++n) {
        const double distance = squared(around[n]);
        if (distance < least) least = distance, best = around[n];
    }
    return best;
}

void Field::nearest(const double* places, std::size_t count, int threads, std::int32_t* indices) const {
    parallel_for(count, 2048, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            indices[i] = nearest_to({places[3 * i], places[3 * i + 1], places[3 * i + 2]});
    });
}

void Field::score(const Motion* motions, std::size_t how_many, const double* points, const double* normals,
                  std::size_t count, double reach, int threads, double* scores) const {
    const double inverse = 1 / (reach * reach);
    parallel_for(how_many, 1, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t m = begin; m < end; ++m) {
            const Motion motion = motions[m];
            double sum = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const auto x = motion.moved(points + 3 * i);
                const std::int32_t index = named_at(x);
                if (index < 0) continue;
                const double* y = points_.data() + 3 * static_cast<std::size_t>(index);
                const double* n = normals_.data() + 3 * static_cast<std::size_t>(index);
                const double dx = x[0] - y[0], dy = x[1] - y[1], dz = x[2] - y[2];
                const double near = 1 - (dx * dx + dy * dy + dz * dz) * inverse;
                if (!(near > 0)) continue;
                const auto turned = motion.turned(normals + 3 * i);
                sum += near * std::max(turned[0] * n[0] + turned[1] * n[1] + turned[2] * n[2], 0.0);
            }
            scores[m] = sum / static_cast<double>(count);
        }
    });
}

NormalEquations Field::equations(const Motion& motion, const Surface& source, double scale, int threads) const {
    constexpr std::size_t grain = 1024;
    std::vector<NormalEquations> parts((source.count + grain - 1) / grain);
    const double inverse_scale = 1 / (8 * scale * scale);
    parallel_for(source.count, grain, threads, [&](std::size_t begin, std::size_t end) {
        NormalEquations sums;
        for (std::size_t i = begin; i < end; ++i) {
            const auto x = motion.moved(source.points + 3 * i);
            const std::int32_t index = nearest_to(x);
            if (index < 0) continue;
            const auto j = 3 * static_cast<std::size_t>(index);
            sums.add(x, motion.turned(source.normals + 3 * i), points_.data() + j, normals_.data() + j, inverse_scale,
                     source.weights ? source.weights[i] : 1.0);
        }
        parts[begin / grain] = sums;
    });
    NormalEquations whole;
    for (const NormalEquations& part : parts) whole.add(part);
    return whole;
}

void Field::refine(Motion* motions, std::size_t how_many, const Surface& source, const double* scales,
                   std::size_t steps, const Freedom& freedom, int threads) const {
    // Where there are several motions, one is a piece of work; where there is one, its points are.
    const int outer = how_many > 1 ? threads : 1, inner = how_many > 1 ? 1 : threads;
    parallel_for(how_many, 1, outer, [&](std::size_t begin, std::size_t end) {
        for (std::size_t m = begin; m < end; ++m)
            for (std::size_t s = 0; s < steps; ++s) {
                const NormalEquations sums = equations(motions[m], source, scales[s], inner);
                double moved = 0;
                motions[m] = small_step(sums.a, sums.b, freedom, motions[m], moved);
                if (moved < still && scales[s] == scales[steps - 1]) break;
            }
    });
}

}  // namespace graphreg
