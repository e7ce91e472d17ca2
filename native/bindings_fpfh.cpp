#include <limits>
#include <stdexcept>

#include "bindings.hpp"
#include "fpfh.hpp"

namespace graphreg {

void bind_fpfh(nb::module_& module) {
    module.def(
        "feature_histograms",
        [](const Points& points, const Points& normals, const Input<std::int64_t, nb::shape<-1>>& offsets,
           const Input<std::int32_t, nb::shape<-1>>& indices, const Input<double, nb::shape<-1>>& squared,
           std::size_t most, int threads) {
            const std::size_t count = points.shape(0);
            if (normals.shape(0) != count || offsets.shape(0) != count + 1 || squared.shape(0) != indices.shape(0))
                throw std::invalid_argument("points, normals and neighbours do not belong together");
            const Surroundings around{points.data(),  normals.data(), offsets.data(), indices.data(),
                                      squared.data(), count,          most};
            Fresh<double> simple({count, histogram_size}), mixed({count, histogram_size});
            unlocked([&] {
                simple_histograms(around, threads, simple.data());
                mixed_histograms(around, simple.data(), threads, mixed.data());
            });
            return mixed.release();
        },
        nb::arg("points"), nb::arg("normals"), nb::arg("offsets"), nb::arg("indices"), nb::arg("squared"),
        nb::arg("max_neighbours"), nb::arg("threads"));
    using Features = Input<float, nb::shape<-1, -1>>;
    module.def(
        "nearest_features",
        [](const Features& features, const Features& queries, int threads) {
            const std::size_t count = features.shape(0), width = features.shape(1);
            if (queries.shape(1) != width) throw std::invalid_argument("features and queries are of different width");
            if (count == 0 || count > std::numeric_limits<std::int32_t>::max())
                throw std::invalid_argument("from 1 to 2^31 features can be searched");
            Fresh<std::int32_t> nearest({queries.shape(0)});
            unlocked([&] {
                nearest_features(features.data(), count, queries.data(), queries.shape(0), width, threads,
                                 nearest.data());
            });
            return nearest.release();
        },
        nb::arg("features"), nb::arg("queries"), nb::arg("threads"));
}

}  // namespace graphreg
