#include <nanobind/stl/array.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/pose_arrays.hpp"
#include "engine/gauss_newton.hpp"
#include "engine/hypotheses.hpp"
#include "engine/inliers.hpp"

namespace graphreg {

namespace {

OrientedCorrespondences correspondences(const Points& source, const Points& source_normals, const Points& target,
                                        const Points& target_normals) {
    const std::size_t count = source.shape(0);
    require(source_normals.shape(0) == count && target.shape(0) == count && target_normals.shape(0) == count,
            "source, target and their normals must be of one length");
    return {source.data(), source_normals.data(), target.data(), target_normals.data(), count};
}

nb::tuple find(const Points& source, const Points& source_normals, const Points& target, const Points& target_normals,
               double tolerance, std::size_t max_count, const DegreesOfFreedom& dof, int threads) {
    const OrientedCorrespondences pairs = correspondences(source, source_normals, target, target_normals);
    const auto found = without_gil([&] { return hypotheses(pairs, tolerance, max_count, dof, threads); });
    NewArray<double> poses({found.size(), 4, 4});
    NewArray<std::int32_t> support({found.size()});
    for (std::size_t i = 0; i < found.size(); ++i) {
        found[i].pose.to_matrix(poses.data() + 16 * i);
        support.data()[i] = found[i].support;
    }
    return nb::make_tuple(poses.release(), support.release());
}

Output<double> inliers(const Points& source, const Points& source_normals, const Points& target,
                       const Points& target_normals, const Numbers& weights, const Poses& poses,
                       const Numbers& distances, double min_cosine, int threads) {
    const OrientedCorrespondences pairs = correspondences(source, source_normals, target, target_normals);
    require(weights.shape(0) == pairs.count, "weights: one for each pair is needed");
    require(distances.shape(0) > 0 && std::is_sorted(distances.data(), distances.data() + distances.shape(0)),
            "distances must be ascending");
    const auto transforms = transforms_of(poses);
    std::vector<InlierSums> sums(transforms.size() * distances.shape(0));
    without_gil([&] {
        sum_inliers(pairs, weights.data(), transforms.data(), transforms.size(), distances.data(), distances.shape(0),
                    min_cosine, threads, sums.data());
    });
    constexpr std::size_t columns = 11;
    NewArray<double> result({transforms.size(), distances.shape(0), columns});
    for (std::size_t row = 0; row < sums.size(); ++row) {
        double* to = result.data() + columns * row;
        to[0] = sums[row].count, to[1] = sums[row].weight;
        std::copy_n(sums[row].first, 3, to + 2);
        std::copy_n(sums[row].second, 6, to + 5);
    }
    return result.release();
}

}  // namespace

void bind_hypotheses(nb::module_& module) {
    nb::class_<DegreesOfFreedom>(module, "DegreesOfFreedom")
        .def(
            "__init__",
            [](DegreesOfFreedom* self, const std::array<bool, 6>& free, const std::array<double, 3>& pivot) {
                new (self) DegreesOfFreedom{free, pivot};
            },
            "free"_a, "pivot"_a);
    module.def("hypotheses", find, "source"_a, "source_normals"_a, "target"_a, "target_normals"_a, "tolerance"_a,
               "max_count"_a, "dof"_a, "threads"_a);
    module.def("inlier_sums", inliers, "source"_a, "source_normals"_a, "target"_a, "target_normals"_a, "weights"_a,
               "poses"_a, "distances"_a, "min_cosine"_a, "threads"_a);
}

}  // namespace graphreg
