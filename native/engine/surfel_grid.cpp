#include "engine/surfel_grid.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "common/parallel.hpp"

namespace graphreg {

namespace {

constexpr int reach = 2;                    // along each axis, in voxels: how far from its own voxel a surfel is stored
constexpr float max_squared_range = 6.25F;  // and from the voxel's centre, squared
constexpr int margin = 3;                   // voxels around all surfels: the reach, and one for rounding
constexpr std::int64_t max_blocks = 1 << 22;

// A squared distance above the surfel's index: the smaller of two such numbers is the nearer surfel, which needs no
// branch. Distances are not negative, so that their bits are ordered as they are.
GRAPHREG_INLINE std::uint64_t rank(float squared_distance, std::size_t surfel) {
    return std::uint64_t{std::bit_cast<std::uint32_t>(squared_distance)} << 32 | surfel;
}

constexpr auto unranked = std::numeric_limits<std::uint64_t>::max();

}  // namespace

// The voxels within reach of a surfel, axis by axis. They are in at most two blocks along each axis.
struct SurfelGrid::Stencil {
    static constexpr int width = 2 * reach + 1;
    std::int64_t block[3][2];
    int which[3][width];           // of these two, for each voxel
    std::size_t offset[3][width];  // in the block
    float squared[3][width];       // distance from the surfel to the centre

    GRAPHREG_INLINE Stencil(const double* point, const std::array<double, 3>& low, double inverse_voxel_size) {
        for (int axis = 0; axis < 3; ++axis) {
            const double position = (point[axis] - low[axis]) * inverse_voxel_size;
            const auto centre = static_cast<std::int64_t>(position);
            block[axis][0] = (centre - reach) >> block_bits;
            block[axis][1] = (centre + reach) >> block_bits;
            for (int n = 0; n < width; ++n) {
                const std::int64_t voxel = centre + n - reach;
                const double distance = static_cast<double>(voxel) + 0.5 - position;
                which[axis][n] = voxel >> block_bits != block[axis][0];
                offset[axis][n] = static_cast<std::size_t>(voxel & (block_width - 1)) << (axis * block_bits);
                squared[axis][n] = static_cast<float>(distance * distance);
            }
        }
    }
};

SurfelGrid::SurfelGrid(const double* points, const double* normals, const std::int32_t* neighbours, std::size_t count,
                       std::size_t k)
    : points_(points, points + 3 * count),
      normals_(normals, normals + 3 * count),
      neighbours_(neighbours, neighbours + k * count),
      k_(k) {
    set_extent();
    std::vector<RankedBlock> ranked;
    for (std::size_t i = 0; i < count; ++i) offer(i, ranked);
    blocks_.resize(ranked.size());
    for (std::size_t b = 0; b < ranked.size(); ++b)
        std::transform(ranked[b].begin(), ranked[b].end(), blocks_[b].begin(),
                       [](std::uint64_t nearest) { return static_cast<std::int32_t>(nearest); });
}

// The bounding box in blocks. Voxels are doubled until there are not too many: a long, thin cloud across the axes would
// otherwise need memory without bound.
void SurfelGrid::set_extent() {
    std::array<double, 3> high;
    low_.fill(std::numeric_limits<double>::infinity());
    high.fill(-std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < size(); ++i)
        for (int axis = 0; axis < 3; ++axis) {
            low_[axis] = std::min(low_[axis], points_[3 * i + axis]);
            high[axis] = std::max(high[axis], points_[3 * i + axis]);
        }
    double voxel_size = 1;
    for (;; voxel_size *= 2) {
        double product = 1;
        for (int axis = 0; axis < 3; ++axis) {
            const auto voxels = static_cast<std::int64_t>((high[axis] - low_[axis]) / voxel_size) + 2 * margin;
            block_counts_[axis] = voxels / block_width + 1;
            product *= static_cast<double>(block_counts_[axis]);
        }
        if (product <= static_cast<double>(max_blocks)) break;
    }
    for (double& corner : low_) corner -= margin * voxel_size;
    inverse_voxel_size_ = 1 / voxel_size;
    block_at_.assign(static_cast<std::size_t>(block_counts_[0] * block_counts_[1] * block_counts_[2]), -1);
}

// The number of the block at a position; it is created if it does not exist.
GRAPHREG_INLINE std::int32_t SurfelGrid::existing_block(std::int64_t x, std::int64_t y, std::int64_t z,
                                                        std::vector<RankedBlock>& blocks) {
    std::int32_t& number = block_at_[static_cast<std::size_t>((z * block_counts_[1] + y) * block_counts_[0] + x)];
    if (number < 0) {
        number = static_cast<std::int32_t>(blocks.size());
        blocks.emplace_back().fill(unranked);
    }
    return number;
}

// Stores the surfel in all voxels within reach that have no nearer one yet.
GRAPHREG_INLINE void SurfelGrid::offer(std::size_t surfel, std::vector<RankedBlock>& blocks) {
    const Stencil stencil(points_.data() + 3 * surfel, low_, inverse_voxel_size_);
    std::int32_t numbers[2][2][2];
    for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 2; ++y)
            for (int x = 0; x < 2; ++x)
                numbers[z][y][x] =
                    existing_block(stencil.block[0][x], stencil.block[1][y], stencil.block[2][z], blocks);
    std::uint64_t* voxels[2][2][2];  // only now: creating blocks moves them
    for (int z = 0; z < 2; ++z)
        for (int y = 0; y < 2; ++y)
            for (int x = 0; x < 2; ++x) voxels[z][y][x] = blocks[static_cast<std::size_t>(numbers[z][y][x])].data();
    for (int z = 0; z < Stencil::width; ++z)
        for (int y = 0; y < Stencil::width; ++y) {
            std::uint64_t* const* row = voxels[stencil.which[2][z]][stencil.which[1][y]];
            const std::size_t start = stencil.offset[2][z] + stencil.offset[1][y];
            const float squared_yz = stencil.squared[2][z] + stencil.squared[1][y];
            for (int x = 0; x < Stencil::width; ++x) {
                const float squared = squared_yz + stencil.squared[0][x];
                std::uint64_t& voxel = row[stencil.which[0][x]][start + stencil.offset[0][x]];
                voxel = squared <= max_squared_range ? std::min(voxel, rank(squared, surfel)) : voxel;
            }
        }
}

void SurfelGrid::nearest(const double* queries, std::size_t count, double max_distance, int threads,
                         std::int32_t* indices) const {
    parallel_for(count, 2048, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            const std::array<double, 3> query{queries[3 * i], queries[3 * i + 1], queries[3 * i + 2]};
            const std::int32_t surfel = nearest(query);
            const bool near = surfel >= 0 && squared_distance(query, point(surfel)) <= max_distance * max_distance;
            indices[i] = near ? surfel : -1;
        }
    });
}

double SurfelGrid::score_of(const RigidTransform& pose, const SurfelView& source, double inverse_square) const {
    double sum = 0;
    for (std::size_t i = 0; i < source.count; ++i) {
        const auto x = pose.transformed(source.points + 3 * i);
        const std::int32_t surfel = lookup(x);
        if (surfel < 0) continue;
        const double near = 1 - squared_distance(x, point(surfel)) * inverse_square;
        if (!(near > 0)) continue;
        const auto m = pose.rotated(source.normals + 3 * i);
        const double* n = normal(surfel);
        sum += near * std::max(m[0] * n[0] + m[1] * n[1] + m[2] * n[2], 0.0);
    }
    return sum / static_cast<double>(source.count);
}

void SurfelGrid::score(const RigidTransform* poses, std::size_t count, const SurfelView& source, double max_distance,
                       int threads, double* scores) const {
    const double inverse_square = 1 / (max_distance * max_distance);
    parallel_for(count, 1, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) scores[p] = score_of(poses[p], source, inverse_square);
    });
}

}  // namespace graphreg
