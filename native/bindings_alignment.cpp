#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

#include "alignment.hpp"
#include "bindings.hpp"

namespace graphreg {

namespace {

using Partners = Input<std::int32_t, nb::shape<-1>>;
using Rows = Input<std::int64_t, nb::shape<-1>>;

PointPairs pairs_of(const Points& points, const Points& target, const Partners& partner, const Rows& rows) {
    if (partner.shape(0) != points.shape(0))
        throw std::invalid_argument("points and partners do not belong together");
    return {points.data(), target.data(), partner.data(), rows.data(), rows.shape(0)};
}

}  // namespace

void bind_alignment(nb::module_& module) {
    module.def(
        "moments_of_pairs",
        [](const Points& points, const Points& target, const Partners& partner, const Rows& rows,
           const std::optional<Input<double, nb::shape<-1>>>& weights, int threads) {
            const PointPairs pairs = pairs_of(points, target, partner, rows);
            if (weights && weights->shape(0) != pairs.count)
                throw std::invalid_argument("pairs and weights do not belong together");
            Fresh<double> moments({point_moments});
            unlocked([&] { moments_of_pairs(pairs, weights ? weights->data() : nullptr, threads, moments.data()); });
            return moments.release();
        },
        nb::arg("points"), nb::arg("target"), nb::arg("partner"), nb::arg("rows"), nb::arg("weights").none(),
        nb::arg("threads"));
    module.def(
        "sum_plane_pairs",
        [](const Points& points, const Points& target, const Points& normals, const Partners& partner, const Rows& rows,
           const Input<double, nb::shape<3>>& middle, double reach, int threads) {
            if (normals.shape(0) != target.shape(0))
                throw std::invalid_argument("points and normals do not belong together");
            const double* at = middle.data();
            const Planes planes{normals.data(), {at[0], at[1], at[2]}, reach};
            const PointPairs pairs = pairs_of(points, target, partner, rows);
            Fresh<double> sums({plane_sums});
            unlocked([&] { sum_plane_pairs(pairs, planes, threads, sums.data()); });
            return sums.release();
        },
        nb::arg("points"), nb::arg("target"), nb::arg("normals"), nb::arg("partner"), nb::arg("rows"), nb::arg("centre"),
        nb::arg("length_scale"), nb::arg("threads"));
}

}  // namespace graphreg
