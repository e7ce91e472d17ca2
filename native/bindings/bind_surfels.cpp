#include <algorithm>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/pose_arrays.hpp"
#include "engine/orientation.hpp"
#include "engine/surfel_grid.hpp"
#include "engine/surfel_refinement.hpp"

namespace graphreg {

namespace {

SurfelView view_of(const Points& points, const Points& normals, const std::optional<Numbers>& weights) {
    const std::size_t count = points.shape(0);
    require(normals.shape(0) == count && (!weights || weights->shape(0) == count),
            "points, normals and weights must be of one length");
    return {points.data(), normals.data(), data_or_null(weights), count};
}

// a (6, 6), b (6), the sum of weights, the weighted sum of squared residuals.
nb::tuple to_tuple(const NormalEquations& sums) {
    NewArray<double> a({6, 6}), b({6});
    for (int row = 0; row < 6; ++row) {
        for (int column = 0; column < 6; ++column)
            a.data()[6 * row + column] = sums.a[std::max(row, column)][std::min(row, column)];
        b.data()[row] = sums.b[row];
    }
    return nb::make_tuple(a.release(), b.release(), sums.weight, sums.squared_residual);
}

void init_grid(SurfelGrid* self, const Points& points, const Points& normals, const IndexTable& neighbours) {
    const std::size_t count = points.shape(0);
    require(normals.shape(0) == count && neighbours.shape(0) == count,
            "points, normals and neighbours must be of one length");
    require(count > 0, "a surfel grid needs at least one surfel");
    without_gil(
        [&] { new (self) SurfelGrid(points.data(), normals.data(), neighbours.data(), count, neighbours.shape(1)); });
}

Output<std::int32_t> nearest_surfels(const SurfelGrid& self, const Points& queries, double max_distance, int threads) {
    NewArray<std::int32_t> indices({queries.shape(0)});
    without_gil([&] { self.nearest(queries.data(), queries.shape(0), max_distance, threads, indices.data()); });
    return indices.release();
}

Output<double> score(const SurfelGrid& self, const Poses& poses, const Points& points, const Points& normals,
                     double max_distance, int threads) {
    const SurfelView source = view_of(points, normals, std::nullopt);
    const auto transforms = transforms_of(poses);
    NewArray<double> scores({transforms.size()});
    without_gil(
        [&] { self.score(transforms.data(), transforms.size(), source, max_distance, threads, scores.data()); });
    return scores.release();
}

Output<double> refine(const SurfelGrid& self, const Poses& poses, const Points& points, const Points& normals,
                      const std::optional<Numbers>& weights, const Numbers& scales, const DegreesOfFreedom& dof,
                      int threads) {
    const SurfelView source = view_of(points, normals, weights);
    auto transforms = transforms_of(poses);
    without_gil([&] {
        refine_poses(self, source, transforms.data(), transforms.size(), scales.data(), scales.shape(0), dof, threads);
    });
    NewArray<double> result({transforms.size(), 4, 4});
    for (std::size_t i = 0; i < transforms.size(); ++i) transforms[i].to_matrix(result.data() + 16 * i);
    return result.release();
}

nb::tuple equations(const SurfelGrid& self, const Pose& pose, const Points& points, const Points& normals,
                    const std::optional<Numbers>& weights, double scale, int threads) {
    const SurfelView source = view_of(points, normals, weights);
    return to_tuple(without_gil(
        [&] { return surfel_equations(self, source, RigidTransform::from_matrix(pose.data()), scale, threads); }));
}

// Python's SurfelPoints: keeps the arrays and the grid alive.
struct OwnedSurfelPoints {
    nb::object grid;
    Points points;
    Indices surfels;
    Numbers weights;

    SurfelPoints get() const {
        return {nb::cast<const SurfelGrid&>(grid), points.data(), surfels.data(), weights.data(), points.shape(0)};
    }
};

void init_points(OwnedSurfelPoints* self, nb::object grid, const Points& points, const Indices& surfels,
                 const Numbers& weights) {
    const std::size_t count = nb::cast<const SurfelGrid&>(grid).size();
    require(surfels.shape(0) == points.shape(0), "surfels: one for each point is needed");
    require(weights.shape(0) == count, "weights: one for each surfel is needed");
    for (std::size_t i = 0; i < surfels.shape(0); ++i)
        require(surfels.data()[i] < static_cast<std::int64_t>(count), "surfels: index out of range");
    new (self) OwnedSurfelPoints{std::move(grid), points, surfels, weights};
}

nb::tuple equations_of_both(const OwnedSurfelPoints& source, const OwnedSurfelPoints& target, const Pose& pose,
                            double scale, int threads) {
    const SurfelPoints x = source.get(), y = target.get();
    return to_tuple(without_gil(
        [&] { return symmetric_equations(x, y, RigidTransform::from_matrix(pose.data()), scale, threads); }));
}

Output<double> refine_both(const OwnedSurfelPoints& source, const OwnedSurfelPoints& target, const Pose& start,
                           double scale, int max_steps, double tolerance, const DegreesOfFreedom& dof, int threads) {
    const SurfelPoints x = source.get(), y = target.get();
    const RigidTransform pose = without_gil([&] {
        return refine_symmetric(x, y, RigidTransform::from_matrix(start.data()), scale, max_steps, tolerance, dof,
                                threads);
    });
    NewArray<double> result({4, 4});
    pose.to_matrix(result.data());
    return result.release();
}

Output<double> viewpoint_of(const Points& points, const Points& normals, const IndexTable& neighbours, int threads) {
    const std::size_t count = points.shape(0);
    require(count > 0 && normals.shape(0) == count && neighbours.shape(0) == count,
            "points, normals and neighbours must be of one length");
    const auto viewpoint = without_gil([&] {
        return infer_viewpoint(points.data(), normals.data(), neighbours.data(), count, neighbours.shape(1), threads);
    });
    NewArray<double> result({3});
    std::copy(viewpoint.begin(), viewpoint.end(), result.data());
    return result.release();
}

}  // namespace

void bind_surfels(nb::module_& module) {
    nb::class_<SurfelGrid>(module, "SurfelGrid")
        .def("__init__", init_grid, "points"_a, "normals"_a, "neighbours"_a)
        .def("nearest", nearest_surfels, "queries"_a, "max_distance"_a, "threads"_a)
        .def("score", score, "poses"_a, "points"_a, "normals"_a, "max_distance"_a, "threads"_a)
        .def("refine", refine, "poses"_a, "points"_a, "normals"_a, "weights"_a.none(), "scales"_a, "dof"_a, "threads"_a)
        .def("equations", equations, "pose"_a, "points"_a, "normals"_a, "weights"_a.none(), "scale"_a, "threads"_a);
    nb::class_<OwnedSurfelPoints>(module, "SurfelPoints")
        .def("__init__", init_points, "grid"_a, "points"_a, "surfels"_a, "weights"_a);
    module.def("infer_viewpoint", viewpoint_of, "points"_a, "normals"_a, "neighbours"_a, "threads"_a);
    module.def("symmetric_equations", equations_of_both, "source"_a, "target"_a, "pose"_a, "scale"_a, "threads"_a);
    module.def("refine_symmetric", refine_both, "source"_a, "target"_a, "start"_a, "scale"_a, "max_steps"_a,
               "tolerance"_a, "dof"_a, "threads"_a);
}

}  // namespace graphreg
