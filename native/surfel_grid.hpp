// A field around a thinned-out cloud: for every place near it, in constant time, a point of the cloud that is close.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rigid_transforms.hpp"
#include "normal_equations.hpp"

namespace graphreg {

struct SurfelView {
    const double *points, *normals;  // (count, 3)
    const double* weights;           // (count), or null where all are 1
    std::size_t count;
};

struct SurfelPoints;

// Lengths are in cells: one cell holds about one point. Each cell of a grid names the point that is nearest to its
// middle. The grid is kept in blocks of 8x8x8 cells, of which only those near points exist.
class SurfelGrid {
public:
    // points, normals: (count, 3), unit normals or zero; neighbours (count, k): of each point among the points. The field
    // keeps its own copy.
    SurfelGrid(const double* points, const double* normals, const std::int32_t* neighbours, std::size_t count, std::size_t k);

    // For each place (count, 3) the nearest point, or -1 where none is nearer than `most`, or than about two cells. The point that the
    // cell names and its neighbours are compared: almost always the nearest of all.
    void nearest(const double* places, std::size_t count, double most, int threads, std::int32_t* indices) const;

    // The mean over points (count, 3), step_size by each transform, of how well they lie on the field: 1 - d^2 / reach^2 within
    // reach, times how well normals agree. Takes the point that the cell names. scores (transforms).
    void score(const RigidTransform* transforms, std::size_t how_many, const double* points, const double* normals,
               std::size_t count, double reach, int threads, double* scores) const;

    // The equations for a small step that lays the source, step_size, on the field; pairs farther apart than a few scales
    // count little or nothing.
    NormalEquations equations(const RigidTransform& transform, const SurfelView& source, double scale, int threads) const;

    // Such steps, one for each scale, for every transform. Ends early where a step no longer moves anything.
    void refine(RigidTransform* transforms, std::size_t how_many, const SurfelView& source, const double* scales, std::size_t steps,
                const DegreesOfFreedom& dof, int threads) const;

    std::size_t size() const { return points_.size() / 3; }

private:
    static constexpr int block_bits = 3, block_side = 1 << block_bits, block_cells = block_side * block_side * block_side;
    using Block = std::array<std::int32_t, block_cells>;

    friend NormalEquations symmetric_equations(const SurfelPoints&, const SurfelPoints&, const RigidTransform&, double, int);

    inline std::int32_t named_at(const std::array<double, 3>& place) const;
    inline std::int32_t nearest_to(const std::array<double, 3>& place) const;

    std::vector<double> points_, normals_;
    std::vector<std::int32_t> neighbours_;
    std::size_t k_;
    std::array<double, 3> low_;
    double inverse_side_;
    std::array<std::int64_t, 3> blocks_;  // along each axis
    std::vector<std::int32_t> block_at_;  // which block, or -1
    std::vector<Block> cells_;
};

// A cloud that is to be settled: its field, its points (count, 3), of each the piece that it lies on (or -1: it takes no part),
// and what points on each piece count.
struct SurfelPoints {
    const SurfelGrid& field;
    const double* points;
    const std::int32_t* own;
    const double* weights;
    std::size_t count;
};

// The equations of a step that lays two clouds on each other by all of their points: those of each on the pieces of the other.
NormalEquations symmetric_equations(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& transform, double scale,
                                   int threads);

// At most so many such steps, until none moves anything by more than `enough` (cells, radians).
RigidTransform refine_symmetric(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& start, double scale, int most_steps,
              double enough, const DegreesOfFreedom& dof, int threads);

}  // namespace graphreg
