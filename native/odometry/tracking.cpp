#include "odometry/tracking.hpp"

#include <algorithm>
#include <vector>

#include "common/parallel.hpp"
#include "engine/gauss_newton.hpp"
#include "odometry/symmetric_matrix.hpp"

namespace graphreg {

namespace {

constexpr std::size_t grain = 2048;
// While the kernel shrinks, every n-th voxel is enough.
constexpr std::size_t coarse_stride = 3;
// Residuals up to this many standard deviations belong to inliers (chosen).
constexpr double inlier_deviations = 3;

struct Correspondence {
    std::array<double, 3> normal, arm;  // of the surfel; from the pivot to the point
    double residual, variance;
};

void add(NormalEquations& sums, const Correspondence& c, double weight) {
    const auto &n = c.normal, &x = c.arm;
    const double j[6] = {
        x[1] * n[2] - x[2] * n[1], x[2] * n[0] - x[0] * n[2], x[0] * n[1] - x[1] * n[0], n[0], n[1], n[2]};
    for (int row = 0; row < 6; ++row) {
        const double wj = weight * j[row];
        for (int column = 0; column <= row; ++column) sums.a[row][column] += wj * j[column];
        sums.b[row] -= wj * c.residual;
    }
    sums.weight += weight;
    sums.squared_residual += weight * c.residual * c.residual;
}

std::array<double, 3> mean_of(const FrameVoxels& frame) {
    std::array<double, 3> mean = {};
    for (std::size_t i = 0; i < frame.count; ++i)
        for (std::size_t axis = 0; axis < 3; ++axis) mean[axis] += frame.means[3 * i + axis];
    for (double& entry : mean) entry /= static_cast<double>(frame.count);
    return mean;
}

// The surfel that a voxel of the frame is in, or null, and whether the map has points there.
struct Association {
    const Surfel* surfel = nullptr;
    bool occupied = false;
};

// Calls use(correspondence or null, occupied, part) for every stride-th voxel of the frame; parts are over fixed
// ranges. With `again`, voxels are in the same surfels as the last time.
template <class Part, class Use>
std::vector<Part> over_correspondences(const SurfelMap& map, const FrameVoxels& frame, const RigidTransform& pose,
                                       const std::array<double, 3>& pivot, std::size_t stride,
                                       std::vector<Association>& associations, bool again, int threads, Use&& use) {
    const std::size_t count = (frame.count + stride - 1) / stride;
    std::vector<Part> parts((count + grain - 1) / grain);
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        Part& part = parts[begin / grain];
        for (std::size_t i = stride * begin; i < std::min(stride * end, frame.count); i += stride) {
            const auto x = pose.transformed(frame.means + 3 * i);
            auto& [surfel, occupied] = associations[i];
            if (!again) surfel = map.find(x, occupied);
            if (!surfel) {
                use(static_cast<const Correspondence*>(nullptr), occupied, part);
                continue;
            }
            const auto& n = surfel->normal;
            Correspondence c{n, {}, 0, 0};
            double squared = 0;
            for (std::size_t axis = 0; axis < 3; ++axis) {
                const double offset = x[axis] - surfel->point[axis];
                c.residual += n[axis] * offset;
                squared += offset * offset;
                c.arm[axis] = x[axis] - pivot[axis];
            }
            const double* r = pose.r;  // the normal in the frame
            const std::array<double, 3> own = {r[0] * n[0] + r[3] * n[1] + r[6] * n[2],
                                               r[1] * n[0] + r[4] * n[1] + r[7] * n[2],
                                               r[2] * n[0] + r[5] * n[1] + r[8] * n[2]};
            const double across = (squared - c.residual * c.residual) / surfel->extent;
            const double spread =
                (quadratic_form(frame.moments + 6 * i, own) + surfel->thickness) / (frame.counts[i] + 1);
            c.variance = spread + surfel->thickness / surfel->points * (1 + across);
            use(&c, occupied, part);
        }
    });
    return parts;
}

}  // namespace

TrackedPose track(const SurfelMap& map, const FrameVoxels& frame, const RigidTransform& start,
                  const TrackingSettings& settings, int threads) {
    const auto pivot = start.transformed(mean_of(frame).data());
    TrackedPose result;
    result.pose = start;
    double kernel = settings.kernel;
    std::vector<Association> associations(frame.count);
    for (int n = 0; n < settings.max_steps && !result.converged; ++n) {
        const double squared_kernel = kernel * kernel, squared_noise = settings.noise * settings.noise;
        const bool fine = kernel <= settings.least_kernel;
        const auto parts = over_correspondences<NormalEquations>(
            map, frame, result.pose, pivot, fine ? 1 : coarse_stride, associations, false, threads,
            [&](const Correspondence* c, bool, NormalEquations& sums) {
                if (!c) return;
                const double scale = 1 / (1 + c->residual * c->residual / (squared_kernel + 9 * c->variance));
                add(sums, *c, scale * scale / (squared_noise + c->variance));
            });
        NormalEquations sums;
        for (const NormalEquations& part : parts) sums.add(part);
        RigidTransform relative = result.pose;
        for (int axis = 0; axis < 3; ++axis) relative.t[axis] -= pivot[static_cast<std::size_t>(axis)];
        const Step step = gauss_newton_step(sums, DegreesOfFreedom{}, relative);
        result.pose = step.transform;
        for (int axis = 0; axis < 3; ++axis) result.pose.t[axis] += pivot[static_cast<std::size_t>(axis)];
        result.converged = fine && step.size < settings.tolerance;
        kernel = std::max(kernel * settings.shrinkage, settings.least_kernel);
    }
    // A last step within the tolerance leaves the voxels in their surfels.
    const auto parts = over_correspondences<TrackedPose>(
        map, frame, result.pose, pivot, 1, associations, result.converged, threads,
        [&](const Correspondence* c, bool occupied, TrackedPose& part) {
            part.overlapping += occupied;
            if (!c) return;
            ++part.matched;
            const double limit = inlier_deviations * inlier_deviations * c->variance;
            const bool inlier = c->residual * c->residual <= settings.least_kernel * settings.least_kernel + limit;
            part.inliers += inlier;
            add(inlier ? part.information : part.outlier_information, *c, 1.0);
        });
    for (const TrackedPose& part : parts) {
        result.information.add(part.information);
        result.outlier_information.add(part.outlier_information);
        result.overlapping += part.overlapping, result.matched += part.matched, result.inliers += part.inliers;
    }
    return result;
}

}  // namespace graphreg
