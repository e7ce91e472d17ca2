#include <limits>

#include "bindings/bindings.hpp"
#include "features/fpfh.hpp"
#include "features/nearest_features.hpp"

namespace graphreg {

namespace {

Output<double> histograms(const Points& points, const Points& normals, const LongIndices& offsets,
                          const Indices& indices, const Numbers& squared, std::size_t max_neighbours, int threads) {
    const std::size_t count = points.shape(0);
    require(normals.shape(0) == count && offsets.shape(0) == count + 1 && squared.shape(0) == indices.shape(0),
            "points, normals and neighbours do not belong together");
    const RadiusNeighbours around{points.data(),  normals.data(), offsets.data(), indices.data(),
                                  squared.data(), count,          max_neighbours};
    NewArray<double> simple({count, histogram_size}), fast({count, histogram_size});
    without_gil([&] {
        simple_histograms(around, threads, simple.data());
        fast_histograms(around, simple.data(), threads, fast.data());
    });
    return fast.release();
}

Output<std::int32_t> nearest(const FloatTable& features, const FloatTable& queries, int threads) {
    const std::size_t count = features.shape(0), width = features.shape(1);
    require(queries.shape(1) == width, "features and queries are of different width");
    require(count > 0 && count <= std::numeric_limits<std::int32_t>::max(), "from 1 to 2^31 features are possible");
    NewArray<std::int32_t> found({queries.shape(0)});
    without_gil([&] {
        nearest_features(features.data(), count, queries.data(), queries.shape(0), width, threads, found.data());
    });
    return found.release();
}

}  // namespace

void bind_features(nb::module_& module) {
    module.def("feature_histograms", histograms, "points"_a, "normals"_a, "offsets"_a, "indices"_a, "squared"_a,
               "max_neighbours"_a, "threads"_a);
    module.def("nearest_features", nearest, "features"_a, "queries"_a, "threads"_a);
}

}  // namespace graphreg
