#include "odometry/tracking.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/parallel.hpp"
#include "engine/damped_solver.hpp"
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

// Derivatives of the residual with respect to a rotation vector about the pivot and a translation.
std::array<double, 6> derivatives(const Correspondence& c) {
    const auto &n = c.normal, &x = c.arm;
    return {x[1] * n[2] - x[2] * n[1], x[2] * n[0] - x[0] * n[2], x[0] * n[1] - x[1] * n[0], n[0], n[1], n[2]};
}

// Of Geman and McClure's kernel, wider where the residual is uncertain.
double robust_weight(const Correspondence& c, double kernel, double noise) {
    const double scale = 1 / (1 + c.residual * c.residual / (kernel * kernel + 9 * c.variance));
    return scale * scale / (noise * noise + c.variance);
}

void add(NormalEquations& sums, const Correspondence& c, double weight) {
    const auto j = derivatives(c);
    for (std::size_t row = 0; row < 6; ++row) {
        const double wj = weight * j[row];
        for (std::size_t column = 0; column <= row; ++column) sums.a[row][column] += wj * j[column];
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

// The unknowns are rotation vector and translation, and the same for each unit of time.
constexpr std::size_t sweep_unknowns = 12;

struct SweepEquations {
    double a[sweep_unknowns][sweep_unknowns] = {};  // the lower triangle
    double b[sweep_unknowns] = {};

    void add(const Correspondence& c, double time, double weight) {
        const auto at_rest = derivatives(c);
        std::array<double, sweep_unknowns> j;
        for (std::size_t row = 0; row < 6; ++row) j[row] = at_rest[row], j[6 + row] = time * at_rest[row];
        for (std::size_t row = 0; row < sweep_unknowns; ++row) {
            const double wj = weight * j[row];
            for (std::size_t column = 0; column <= row; ++column) a[row][column] += wj * j[column];
            b[row] -= wj * c.residual;
        }
    }

    void add(const SweepEquations& other) {
        for (std::size_t row = 0; row < sweep_unknowns; ++row) {
            for (std::size_t column = 0; column <= row; ++column) a[row][column] += other.a[row][column];
            b[row] += other.b[row];
        }
    }

    // Information on a velocity of 0, where it is `velocity`, as a share of that on the pose.
    void add_inertia(const std::array<double, 6>& velocity, double share) {
        for (std::size_t block = 0; block < 6; block += 3) {
            double trace = 0;
            for (std::size_t row = block; row < block + 3; ++row) trace += a[row][row];
            for (std::size_t row = block; row < block + 3; ++row) {
                a[6 + row][6 + row] += share * trace / 3;
                b[6 + row] -= share * trace / 3 * velocity[row];
            }
        }
    }
};

// The transform followed by a translation of so many times the vector.
RigidTransform translated(RigidTransform transform, const std::array<double, 3>& vector, double times) {
    for (std::size_t axis = 0; axis < 3; ++axis) transform.t[axis] += times * vector[axis];
    return transform;
}

// The surfel that a voxel of the frame is in, or null, and whether the map has points there.
struct Association {
    const Surfel* surfel = nullptr;
    bool occupied = false;
};

// Calls use(voxel, correspondence or null, occupied, part) for every stride-th voxel of the frame, which is at
// pose_of(voxel); parts are over fixed ranges. With `again`, voxels are in the same surfels as the last time.
template <class Part, class PoseOf, class Use>
std::vector<Part> over_correspondences(const SurfelMap& map, const FrameVoxels& frame, PoseOf&& pose_of,
                                       const std::array<double, 3>& pivot, std::size_t stride,
                                       std::vector<Association>& associations, bool again, int threads, Use&& use) {
    const std::size_t count = (frame.count + stride - 1) / stride;
    std::vector<Part> parts((count + grain - 1) / grain);
    parallel_for(count, grain, threads, [&](std::size_t begin, std::size_t end) {
        Part& part = parts[begin / grain];
        for (std::size_t i = stride * begin; i < std::min(stride * end, frame.count); i += stride) {
            const RigidTransform& pose = pose_of(i);
            const auto x = pose.transformed(frame.means + 3 * i);
            auto& [surfel, occupied] = associations[i];
            if (!again) surfel = map.find(x, occupied);
            if (!surfel) {
                use(i, static_cast<const Correspondence*>(nullptr), occupied, part);
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
            use(i, &c, occupied, part);
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
    const auto pose_of = [&](std::size_t) -> const RigidTransform& { return result.pose; };
    for (int n = 0; n < settings.max_steps && !result.converged; ++n) {
        const bool fine = kernel <= settings.least_kernel;
        const auto parts = over_correspondences<NormalEquations>(
            map, frame, pose_of, pivot, fine ? 1 : coarse_stride, associations, false, threads,
            [&](std::size_t, const Correspondence* c, bool, NormalEquations& sums) {
                if (c) add(sums, *c, robust_weight(*c, kernel, settings.noise));
            });
        NormalEquations sums;
        for (const NormalEquations& part : parts) sums.add(part);
        const Step step = gauss_newton_step(sums, DegreesOfFreedom{}, translated(result.pose, pivot, -1));
        result.pose = translated(step.transform, pivot, 1);
        result.converged = fine && step.size < settings.tolerance;
        kernel = std::max(kernel * settings.shrinkage, settings.least_kernel);
    }
    // A last step within the tolerance leaves the voxels in their surfels.
    const auto parts = over_correspondences<TrackedPose>(
        map, frame, pose_of, pivot, 1, associations, result.converged, threads,
        [&](std::size_t, const Correspondence* c, bool occupied, TrackedPose& part) {
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

RigidTransform TrackedSweep::moved_by(double time) const {
    std::array<double, 6> step;
    for (std::size_t entry = 0; entry < 6; ++entry) step[entry] = time * velocity[entry];
    return translated(translated({}, pivot, -1).then(step), pivot, 1);
}

TrackedSweep track_sweep(const SurfelMap& map, const FrameVoxels& frame, const double* times,
                         const RigidTransform& start, const TrackingSettings& settings, double inertia, int threads) {
    TrackedSweep result{start, {}, start.transformed(mean_of(frame).data())};
    std::array<bool, sweep_unknowns> free;
    free.fill(true);
    double kernel = settings.kernel;
    std::vector<Association> associations(frame.count);
    bool converged = false;
    for (int n = 0; n < settings.max_steps && !converged; ++n) {
        const bool fine = kernel <= settings.least_kernel;
        const auto parts = over_correspondences<SweepEquations>(
            map, frame, [&](std::size_t i) { return result.moved_by(times[i]).after(result.pose); }, result.pivot,
            fine ? 1 : coarse_stride, associations, false, threads,
            [&](std::size_t i, const Correspondence* c, bool, SweepEquations& sums) {
                if (c) sums.add(*c, times[i], robust_weight(*c, kernel, settings.noise));
            });
        SweepEquations sums;
        for (const SweepEquations& part : parts) sums.add(part);
        sums.add_inertia(result.velocity, inertia);
        const auto x = solve_damped(sums.a, sums.b, free);
        result.pose = translated(translated(result.pose, result.pivot, -1).then({x[0], x[1], x[2], x[3], x[4], x[5]}),
                                 result.pivot, 1);
        double size = 0;
        for (std::size_t entry = 0; entry < sweep_unknowns; ++entry) size = std::max(size, std::abs(x[entry]));
        for (std::size_t entry = 0; entry < 6; ++entry) result.velocity[entry] += x[6 + entry];
        converged = fine && size < settings.tolerance;
        kernel = std::max(kernel * settings.shrinkage, settings.least_kernel);
    }
    return result;
}

}  // namespace graphreg
