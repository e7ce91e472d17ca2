#include "engine/surfel_refinement.hpp"

#include <limits>
#include <vector>

#include "common/parallel.hpp"

namespace graphreg {

namespace {

constexpr double negligible_step = 1e-6;  // voxels, radians

// The normal equations of the correspondences that add(batch, i) adds for i below count. Partial sums are over fixed
// ranges, so that the result does not depend on the number of threads.
template <class Add>
NormalEquations sum_correspondences(std::size_t count, double scale, int threads, Add&& add) {
    constexpr std::size_t grain = 1024;
    std::vector<NormalEquations> parts((count + grain - 1) / grain);
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        NormalEquations& sums = parts[begin / grain];
        CorrespondenceBatch batch;
        for (std::size_t i = begin; i < end; ++i) {
            add(batch, i);
            if (batch.count == CorrespondenceBatch::capacity) sums.add(batch, scale);
        }
        sums.add(batch, scale);
    });
    NormalEquations total;
    for (const NormalEquations& part : parts) total.add(part);
    return total;
}

}  // namespace

NormalEquations surfel_equations(const SurfelGrid& target, const SurfelView& source, const RigidTransform& pose,
                                 double scale, int threads) {
    return sum_correspondences(source.count, scale, threads, [&](CorrespondenceBatch& batch, std::size_t i) {
        const auto x = pose.transformed(source.points + 3 * i);
        const std::int32_t surfel = target.nearest(x);
        if (surfel < 0) return;
        batch.add(x, pose.rotated(source.normals + 3 * i), target.point(surfel), target.normal(surfel),
                  source.weights ? source.weights[i] : 1.0);
    });
}

void refine_poses(const SurfelGrid& target, const SurfelView& source, RigidTransform* poses, std::size_t pose_count,
                  const double* scales, std::size_t scale_count, const DegreesOfFreedom& dof, int threads) {
    // Several poses are shared out to the threads; of a single one, the surfels are.
    const int outer = pose_count > 1 ? threads : 1, inner = pose_count > 1 ? 1 : threads;
    parallel_for(pose_count, 1, outer, [&](std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p)
            for (std::size_t s = 0; s < scale_count; ++s) {
                const NormalEquations sums = surfel_equations(target, source, poses[p], scales[s], inner);
                const Step step = gauss_newton_step(sums, dof, poses[p]);
                poses[p] = step.transform;
                if (step.size < negligible_step && scales[s] == scales[scale_count - 1]) break;
            }
    });
}

NormalEquations symmetric_equations(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& pose,
                                    double scale, int threads) {
    auto add_source_point = [&](CorrespondenceBatch& batch, std::size_t i) {
        const std::int32_t own = source.surfels[i];
        if (own < 0) return;
        const auto x = pose.transformed(source.points + 3 * i);
        const std::int32_t other = target.grid.nearest(x);
        if (other < 0) return;
        batch.add(x, pose.rotated(source.grid.normal(own)), target.grid.point(other), target.grid.normal(other),
                  source.weights[own]);
    };
    const RigidTransform inverse = pose.inverse();
    auto add_target_point = [&](CorrespondenceBatch& batch, std::size_t i) {
        const std::int32_t own = target.surfels[i];
        if (own < 0) return;
        const std::int32_t other = source.grid.nearest(inverse.transformed(target.points + 3 * i));
        if (other < 0) return;
        batch.add(pose.transformed(source.grid.point(other)), pose.rotated(source.grid.normal(other)),
                  target.points + 3 * i, target.grid.normal(own), target.weights[own]);
    };
    NormalEquations sums = sum_correspondences(source.count, scale, threads, add_source_point);
    sums.add(sum_correspondences(target.count, scale, threads, add_target_point));
    return sums;
}

RigidTransform refine_symmetric(const SurfelPoints& source, const SurfelPoints& target, const RigidTransform& start,
                                double scale, int max_steps, double tolerance, const DegreesOfFreedom& dof,
                                int threads) {
    Step step{start, std::numeric_limits<double>::infinity()};
    for (int n = 0; n < max_steps && step.size > tolerance; ++n)
        step =
            gauss_newton_step(symmetric_equations(source, target, step.transform, scale, threads), dof, step.transform);
    return step.transform;
}

}  // namespace graphreg
