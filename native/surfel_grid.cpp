#include "surfel_grid.hpp"

#include <algorithm>
#include <bit>
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

SurfelGrid::SurfelGrid(const double* points, const double* normals, const std::int32_t* neighbours, std::size_t count,
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
    // While it is built, a cell holds the squared distance of the nearest point so far above that point's index: of two such
    // numbers the smaller one is wanted, which takes no branch. Distances are not negative, so their bits compare as they do.
    constexpr auto no_one = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::array<std::uint64_t, block_cells>> nearest;
    for (std::size_t i = 0; i < count; ++i) {
        constexpr int width = 2 * reach + 1;
        std::int64_t block[3][2];      // the two blocks that the cells around the point may lie in
        int which[3][width];           // of these, for each cell
        std::size_t inside[3][width];  // and where in it
        float squared[3][width];
        for (int a = 0; a < 3; ++a) {
            const double place = (points[3 * i + a] - low_[a]) * inverse_side_;
            const auto cell = static_cast<std::int64_t>(place);
            block[a][0] = (cell - reach) >> block_bits;
            block[a][1] = (cell + reach) >> block_bits;
            for (int c = 0; c < width; ++c) {
                const std::int64_t at = cell + c - reach;
                const double off = static_cast<double>(at) + 0.5 - place;
                which[a][c] = at >> block_bits != block[a][0];
                inside[a][c] = static_cast<std::size_t>(at & (block_side - 1)) << (a * block_bits);
                squared[a][c] = static_cast<float>(off * off);
            }
        }
        std::uint64_t* cells[2][2][2];
        std::int32_t numbers[2][2][2];
        for (int z = 0; z < 2; ++z)
            for (int y = 0; y < 2; ++y)
                for (int x = 0; x < 2; ++x) {
                    std::int32_t& number = block_at_[static_cast<std::size_t>(
                        (block[2][z] * blocks_[1] + block[1][y]) * blocks_[0] + block[0][x])];
                    if (number < 0) {
                        number = static_cast<std::int32_t>(nearest.size());
                        nearest.emplace_back().fill(no_one);
                    }
                    numbers[z][y][x] = number;
                }
        for (int z = 0; z < 2; ++z)
            for (int y = 0; y < 2; ++y)
                for (int x = 0; x < 2; ++x)
                    cells[z][y][x] = nearest[static_cast<std::size_t>(numbers[z][y][x])].data();
        for (int z = 0; z < width; ++z)
            for (int y = 0; y < width; ++y) {
                std::uint64_t* const* row = cells[which[2][z]][which[1][y]];
                const std::size_t start = inside[2][z] + inside[1][y];
                const float across = squared[2][z] + squared[1][y];
                for (int x = 0; x < width; ++x) {
                    const float distance = across + squared[0][x];
                    const std::uint64_t mine = std::uint64_t{std::bit_cast<std::uint32_t>(distance)} << 32 | i;
                    std::uint64_t& cell = row[which[0][x]][start + inside[0][x]];
                    cell = distance <= farthest ? std::min(cell, mine) : cell;
                }
            }
    }
    cells_.resize(nearest.size());
    for (std::size_t b = 0; b < nearest.size(); ++b)
        std::transform(nearest[b].begin(), nearest[b].end(), cells_[b].begin(),
                       [](std::uint64_t named) { return static_cast<std::int32_t>(named); });
}

inline std::int32_t SurfelGrid::named_at(const std::array<double, 3>& place) const {
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

inline std::int32_t SurfelGrid::nearest_to(const std::array<double, 3>& place) const {
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

void SurfelGrid::nearest(const double* places, std::size_t count, double most, int threads, std::int32_t* indices) const {
    parallel_for(count, 2048, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const double* x = places + 3 * i;
            const std::int32_t index = nearest_to({x[0], x[1], x[2]});
            if (index >= 0) {
                const double* y = points_.data() + 3 * static_cast<std::size_t>(index);
                const double dx = x[0] - y[0], dy = x[1] - y[1], dz = x[2] - y[2];
                indices[i] = dx * dx + dy * dy + dz * dz <= most * most ? index : -1;
            } else {
                indices[i] = -1;
            }
        }
    });
}

void SurfelGrid::score(const RigidTransform* transforms, std::size_t how_many, const double* points, const double* normals,
                  std::size_t count, double reach, int threads, double* scores) const {
    const double inverse = 1 / (reach * reach);
    parallel_for(how_many, 1, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t m = begin; m < end; ++m) {
            const RigidTransform transform = transforms[m];
            double sum = 0;
            for (std::size_t i = 0; i < count; ++i) {
                const auto x = transform.transformed(points + 3 * i);
                const std::int32_t index = named_at(x);
                if (index < 0) continue;
                const double* y = points_.data() + 3 * static_cast<std::size_t>(index);
                const double* n = normals_.data() + 3 * static_cast<std::size_t>(index);
                const double dx = x[0] - y[0], dy = x[1] - y[1], dz = x[2] - y[2];
                const double near = 1 - (dx * dx + dy * dy + dz * dz) * inverse;
                if (!(near > 0)) continue;
                const auto rotated = transform.rotated(normals + 3 * i);
                sum += near * std::max(rotated[0] * n[0] + rotated[1] * n[1] + rotated[2] * n[2], 0.0);
            }
            scores[m] = sum / static_cast<double>(count);
        }
    });
}

namespace {

// The sums over what `pair(pairs, i)` adds for all i, in parts that do not depend on the number of threads.
template <class Pair>
NormalEquations summed(std::size_t count, double scale, int threads, Pair&& pair) {
    constexpr std::size_t grain = 1024;
    std::vector<NormalEquations> parts((count + grain - 1) / grain);
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        NormalEquations& sums = parts[begin / grain];
        Pairs pairs;
        for (std::size_t i = begin; i < end; ++i) {
            pair(pairs, i);
            if (pairs.count == Pairs::most) sums.take(pairs, scale);
        }
        sums.take(pairs, scale);
    });
    NormalEquations whole;
    for (const NormalEquations& part : parts) whole.add(part);
    return whole;
}

}  // namespace

NormalEquations SurfelGrid::equations(const RigidTransform& transform, const SurfelView& source, double scale, int threads) const {
    return summed(source.count, scale, threads, [&](Pairs& pairs, std::size_t i) {
        const auto x = transform.transformed(source.points + 3 * i);
        const std::int32_t index = nearest_to(x);
        if (index < 0) return;
        const auto j = 3 * static_cast<std::size_t>(index);
        pairs.add(x, transform.rotated(source.normals + 3 * i), points_.data() + j, normals_.data() + j,
                  source.weights ? source.weights[i] : 1.0);
    });
}

void SurfelGrid::refine(RigidTransform* transforms, std::size_t how_many, const SurfelView& source, const double* scales,
                   std::size_t steps, const DegreesOfFreedom& dof, int threads) const {
    // Where there are several transforms, one is a piece of work; where there is one, its points are.
    const int outer = how_many > 1 ? threads : 1, inner = how_many > 1 ? 1 : threads;
    parallel_for(how_many, 1, outer, [&](std::size_t begin, std::size_t end) {
        for (std::size_t m = begin; m < end; ++m)
            for (std::size_t s = 0; s < steps; ++s) {
                const NormalEquations sums = equations(transforms[m], source, scales[s], inner);
                double step_size = 0;
                transforms[m] = small_step(sums.a, sums.b, dof, transforms[m], step_size);
                if (step_size < still && scales[s] == scales[steps - 1]) break;
            }
    });
}

NormalEquations symmetric_equations(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& transform, double scale,
                                   int threads) {
    const SurfelGrid &here = source.field, &there = target.field;
    NormalEquations sums = summed(source.count, scale, threads, [&](Pairs& pairs, std::size_t i) {
        if (source.own[i] < 0) return;
        const auto x = transform.transformed(source.points + 3 * i);
        const std::int32_t index = there.nearest_to(x);
        if (index < 0) return;
        const auto own = static_cast<std::size_t>(source.own[i]), other = static_cast<std::size_t>(index);
        pairs.add(x, transform.rotated(here.normals_.data() + 3 * own), there.points_.data() + 3 * other,
                  there.normals_.data() + 3 * other, source.weights[own]);
    });
    const RigidTransform back = transform.inverse();
    sums.add(summed(target.count, scale, threads, [&](Pairs& pairs, std::size_t i) {
        if (target.own[i] < 0) return;
        const std::int32_t index = here.nearest_to(back.transformed(target.points + 3 * i));
        if (index < 0) return;
        const auto own = static_cast<std::size_t>(target.own[i]), other = static_cast<std::size_t>(index);
        pairs.add(transform.transformed(here.points_.data() + 3 * other), transform.rotated(here.normals_.data() + 3 * other),
                  target.points + 3 * i, there.normals_.data() + 3 * own, target.weights[own]);
    }));
    return sums;
}

RigidTransform refine_symmetric(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& start, double scale, int most_steps,
              double enough, const DegreesOfFreedom& dof, int threads) {
    RigidTransform transform = start;
    double step_size = std::numeric_limits<double>::infinity();
    for (int step = 0; step < most_steps && step_size > enough; ++step) {
        const NormalEquations sums = symmetric_equations(source, target, transform, scale, threads);
        transform = small_step(sums.a, sums.b, dof, transform, step_size);
    }
    return transform;
}

}  // namespace graphreg
