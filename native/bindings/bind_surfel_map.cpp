#include <algorithm>

#include "bindings/bindings.hpp"
#include "bindings/pose_arrays.hpp"
#include "odometry/deskewing.hpp"
#include "odometry/surfel_map.hpp"
#include "odometry/tracking.hpp"

namespace graphreg {

namespace {

using Moments = Input<double, nb::shape<-1, 6>>;

FrameVoxels voxels_of(const Numbers& counts, const Points& means, const Moments& moments) {
    const std::size_t count = counts.shape(0);
    require(means.shape(0) == count && moments.shape(0) == count, "counts, means and moments must be of one length");
    return {counts.data(), means.data(), moments.data(), count};
}

nb::tuple voxels_of_frame(const Points& points, const std::optional<Numbers>& times, double size) {
    require(size > 0, "a voxel needs a positive size");
    require(!times || times->shape(0) == points.shape(0), "there must be a time for each point");
    VoxelAccumulator voxels(size);
    without_gil([&] { voxels.add(points.data(), data_or_null(times), points.shape(0)); });
    const std::size_t count = voxels.voxel_count();
    NewArray<double> counts({count}), means({count, 3}), moments({count, 6}), mean_times({count});
    voxels.write(counts.data(), means.data(), moments.data(), mean_times.data());
    return nb::make_tuple(counts.release(), means.release(), moments.release(), mean_times.release());
}

void init_map(SurfelMap* self, double voxel, int levels, double max_thickness) {
    require(voxel > 0 && levels > 0 && levels < 16, "a surfel map needs a positive voxel size and 1 to 15 levels");
    new (self) SurfelMap(voxel, levels, max_thickness);
}

void insert(SurfelMap& self, const Numbers& counts, const Points& means, const Moments& moments, const Pose& pose,
            int threads) {
    const FrameVoxels frame = voxels_of(counts, means, moments);
    without_gil([&] { self.insert(frame, RigidTransform::from_matrix(pose.data()), threads); });
}

void forget(SurfelMap& self, const Input<double, nb::shape<3>>& centre, double radius) {
    self.forget(centre.data(), radius);
}

nb::tuple find_surfels(const SurfelMap& self, const Points& queries) {
    const std::size_t count = queries.shape(0);
    NewArray<std::int8_t> kinds({count});
    NewArray<double> points({count, 3}), normals({count, 3});
    for (std::size_t i = 0; i < count; ++i) {
        const double* query = queries.data() + 3 * i;
        bool occupied;
        const Surfel* surfel = self.find({query[0], query[1], query[2]}, occupied);
        kinds.data()[i] = static_cast<std::int8_t>(surfel ? 2 : occupied);
        for (std::size_t axis = 0; axis < 3; ++axis) {
            points.data()[3 * i + axis] = surfel ? surfel->point[axis] : 0;
            normals.data()[3 * i + axis] = surfel ? surfel->normal[axis] : 0;
        }
    }
    return nb::make_tuple(kinds.release(), points.release(), normals.release());
}

Output<double> transform_points(const Points& points, const Indices& pose_of, const Poses& poses, int threads) {
    const std::size_t count = points.shape(0);
    require(pose_of.shape(0) == count, "there must be an index for each point");
    const auto transforms = transforms_of(poses);
    NewArray<double> result({count, 3});
    without_gil(
        [&] { transform_each(points.data(), pose_of.data(), count, transforms.data(), threads, result.data()); });
    return result.release();
}

nb::tuple track_frame(const SurfelMap& self, const Numbers& counts, const Points& means, const Moments& moments,
                      const Pose& start, double kernel, double least_kernel, double shrinkage, double noise,
                      int max_steps, double tolerance, int threads) {
    const FrameVoxels frame = voxels_of(counts, means, moments);
    require(frame.count > 0, "a frame needs at least one voxel");
    const TrackedPose found = without_gil([&] {
        return track(self, frame, RigidTransform::from_matrix(start.data()),
                     {kernel, least_kernel, shrinkage, noise, max_steps, tolerance}, threads);
    });
    NewArray<double> pose({4, 4}), information({6, 6}), outlier_information({6, 6});
    found.pose.to_matrix(pose.data());
    for (int row = 0; row < 6; ++row)
        for (int column = 0; column < 6; ++column) {
            const int low = std::min(row, column), high = std::max(row, column);
            information.data()[6 * row + column] = found.information.a[high][low];
            outlier_information.data()[6 * row + column] = found.outlier_information.a[high][low];
        }
    return nb::make_tuple(pose.release(), information.release(), outlier_information.release(), found.overlapping,
                          found.matched, found.inliers, found.converged);
}

nb::tuple track_moving_frame(const SurfelMap& self, const Numbers& counts, const Points& means, const Moments& moments,
                             const Numbers& times, const Pose& start, double kernel, double least_kernel,
                             double shrinkage, double noise, int max_steps, double tolerance, double inertia,
                             int threads) {
    const FrameVoxels frame = voxels_of(counts, means, moments);
    require(frame.count > 0 && times.shape(0) == frame.count, "a frame needs voxels, and a time for each of them");
    const TrackedSweep found = without_gil([&] {
        return track_sweep(self, frame, times.data(), RigidTransform::from_matrix(start.data()),
                           {kernel, least_kernel, shrinkage, noise, max_steps, tolerance}, inertia, threads);
    });
    NewArray<double> pose({4, 4}), first({4, 4}), last({4, 4});
    found.pose.to_matrix(pose.data());
    found.moved_by(-0.5).to_matrix(first.data());
    found.moved_by(0.5).to_matrix(last.data());
    return nb::make_tuple(pose.release(), first.release(), last.release());
}

}  // namespace

void bind_surfel_map(nb::module_& module) {
    module.def("transform_each", &transform_points, "points"_a, "pose_of"_a, "poses"_a, "threads"_a);
    module.def("frame_voxels", &voxels_of_frame, "points"_a, "times"_a.none(), "size"_a);
    nb::class_<SurfelMap>(module, "SurfelMap")
        .def("__init__", &init_map, "voxel"_a, "levels"_a, "max_thickness"_a)
        .def("__len__", &SurfelMap::root_count)
        .def("insert", &insert, "counts"_a, "means"_a, "moments"_a, "pose"_a, "threads"_a)
        .def("forget", &forget, "centre"_a, "radius"_a)
        .def("find", &find_surfels, "points"_a)
        .def("track", &track_frame, "counts"_a, "means"_a, "moments"_a, "start"_a, "kernel"_a, "least_kernel"_a,
             "shrinkage"_a, "noise"_a, "max_steps"_a, "tolerance"_a, "threads"_a)
        .def("track_sweep", &track_moving_frame, "counts"_a, "means"_a, "moments"_a, "times"_a, "start"_a, "kernel"_a,
             "least_kernel"_a, "shrinkage"_a, "noise"_a, "max_steps"_a, "tolerance"_a, "inertia"_a, "threads"_a);
}

}  // namespace graphreg
