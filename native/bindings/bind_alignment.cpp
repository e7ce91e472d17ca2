#include "baselines/alignment.hpp"
#include "bindings/bindings.hpp"

namespace graphreg {

namespace {

Correspondences correspondences(const Points& points, const Points& target, const Indices& partner,
                                const LongIndices& rows) {
    require(partner.shape(0) == points.shape(0), "partner: one for each point is needed");
    return {points.data(), target.data(), partner.data(), rows.data(), rows.shape(0)};
}

Output<double> moments(const Points& points, const Points& target, const Indices& partner, const LongIndices& rows,
                       const std::optional<Numbers>& weights, int threads) {
    const Correspondences pairs = correspondences(points, target, partner, rows);
    require(!weights || weights->shape(0) == pairs.count, "weights: one for each of rows is needed");
    NewArray<double> result({point_moments});
    without_gil([&] { moments_of_pairs(pairs, data_or_null(weights), threads, result.data()); });
    return result.release();
}

Output<double> plane_equations(const Points& points, const Points& target, const Points& normals,
                               const Indices& partner, const LongIndices& rows, const std::optional<Numbers>& weights,
                               const Input<double, nb::shape<3>>& centre, double length_scale, int threads) {
    require(normals.shape(0) == target.shape(0), "normals: one for each target point is needed");
    const double* c = centre.data();
    const TargetPlanes planes{normals.data(), {c[0], c[1], c[2]}, length_scale};
    const Correspondences pairs = correspondences(points, target, partner, rows);
    require(!weights || weights->shape(0) == pairs.count, "weights: one for each of rows is needed");
    NewArray<double> sums({plane_sums});
    without_gil([&] { sum_plane_pairs(pairs, planes, data_or_null(weights), threads, sums.data()); });
    return sums.release();
}

}  // namespace

void bind_alignment(nb::module_& module) {
    module.def("moments_of_pairs", moments, "points"_a, "target"_a, "partner"_a, "rows"_a, "weights"_a.none(),
               "threads"_a);
    module.def("sum_plane_pairs", plane_equations, "points"_a, "target"_a, "normals"_a, "partner"_a, "rows"_a,
               "weights"_a.none(), "centre"_a, "length_scale"_a, "threads"_a);
}

}  // namespace graphreg
