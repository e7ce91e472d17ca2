#include <algorithm>
#include <limits>

#include "bindings/bindings.hpp"
#include "points/point_filters.hpp"
#include "points/point_sampling.hpp"
#include "points/voxels.hpp"

namespace graphreg {

namespace {

// The number of voxels in a grouping of points, after a check that it is one.
std::size_t voxel_count(const Indices& order, const LongIndices& starts) {
    require(starts.shape(0) >= 1 && starts.data()[starts.shape(0) - 1] == static_cast<std::int64_t>(order.shape(0)),
            "order and starts do not belong together");
    return starts.shape(0) - 1;
}

nb::tuple group(const Points& points, double size, int threads) {
    NewArray<std::int32_t> order({points.shape(0)});
    const Voxels voxels =
        without_gil([&] { return group_by_voxel(points.data(), points.shape(0), size, threads, order.data()); });
    NewArray<std::int64_t> starts({voxels.starts.size()});
    NewArray<std::uint64_t> keys({voxels.keys.size()});
    std::copy(voxels.starts.begin(), voxels.starts.end(), starts.data());
    std::copy(voxels.keys.begin(), voxels.keys.end(), keys.data());
    return nb::make_tuple(order.release(), starts.release(), keys.release());
}

nb::tuple count_occupied(const Points& points, double size, int levels) {
    NewArray<std::int64_t> occupied({static_cast<std::size_t>(levels)}), shared({static_cast<std::size_t>(levels)});
    without_gil([&] { occupied_voxels(points.data(), points.shape(0), size, levels, occupied.data(), shared.data()); });
    return nb::make_tuple(occupied.release(), shared.release());
}

Output<double> means_of(const Input<double, nb::shape<-1, -1>>& values, const Indices& order, const LongIndices& starts,
                        int threads) {
    const std::size_t voxels = voxel_count(order, starts), width = values.shape(1);
    require(order.shape(0) == values.shape(0), "order: one for each row of values is needed");
    NewArray<double> means({voxels, width});
    without_gil([&] { voxel_means(values.data(), width, order.data(), starts.data(), voxels, threads, means.data()); });
    return means.release();
}

nb::tuple moments_of(const Points& points, const std::optional<Numbers>& weights, const Indices& order,
                     const LongIndices& starts, int threads,
                     const std::optional<Input<double, nb::shape<-1, 6>>>& point_moments) {
    const std::size_t voxels = voxel_count(order, starts), count = points.shape(0);
    require(order.shape(0) <= count && (!weights || weights->shape(0) == count) &&
                (!point_moments || point_moments->shape(0) == count),
            "points, weights and moments do not belong together");
    NewArray<double> sums({voxels}), means({voxels, 3}), moments({voxels, 6});
    without_gil([&] {
        voxel_moments(points.data(), data_or_null(weights), data_or_null(point_moments), order.data(), starts.data(),
                      voxels, threads, sums.data(), means.data(), moments.data());
    });
    return nb::make_tuple(sums.release(), means.release(), moments.release());
}

Output<std::int32_t> unique(const Points& points) {
    std::vector<std::int32_t> indices(points.shape(0));
    const std::size_t found =
        without_gil([&] { return unique_points(points.data(), points.shape(0), indices.data()); });
    NewArray<std::int32_t> result({found});
    std::copy_n(indices.data(), found, result.data());
    return result.release();
}

nb::tuple filter(const Points& points, double max_ratio, std::size_t sample_size) {
    const std::size_t count = points.shape(0);
    require(count > 0 && sample_size > 0, "points: at least one is needed, and a sample of at least one");
    std::vector<double> all(points.data(), points.data() + 3 * count);
    std::vector<std::int32_t> indices(count);
    const std::size_t kept = without_gil(
        [&] { return remove_duplicates_and_outliers(all.data(), count, max_ratio, sample_size, indices.data()); });
    NewArray<double> kept_points({kept, 3});
    NewArray<std::int32_t> kept_indices({kept});
    std::copy_n(all.data(), 3 * kept, kept_points.data());
    std::copy_n(indices.data(), kept, kept_indices.data());
    return nb::make_tuple(kept_points.release(), kept_indices.release());
}

nb::tuple moments_near_median(const Points& points, double max_ratio, std::size_t sample_size) {
    require(points.shape(0) > 0 && sample_size > 0, "points: at least one is needed, and a sample of at least one");
    const NearMoments found =
        without_gil([&] { return near_moments(points.data(), points.shape(0), max_ratio, sample_size); });
    NewArray<double> middle({3}), sums({found.sums.size()});
    std::copy(found.middle.begin(), found.middle.end(), middle.data());
    std::copy(found.sums.begin(), found.sums.end(), sums.data());
    return nb::make_tuple(middle.release(), found.radius, sums.release());
}

Output<std::int32_t> sample(const Points& points, const Input<double, nb::shape<3>>& centre, double limit,
                            const Input<double, nb::shape<3, 3>>& axes, std::size_t size, std::uint64_t seed) {
    require(points.shape(0) <= std::numeric_limits<std::int32_t>::max(), "points: too many");
    const std::vector<std::int32_t> rows = without_gil(
        [&] { return sample_by_cell(points.data(), points.shape(0), centre.data(), limit, axes.data(), size, seed); });
    NewArray<std::int32_t> result({rows.size()});
    std::copy(rows.begin(), rows.end(), result.data());
    return result.release();
}

}  // namespace

void bind_voxels(nb::module_& module) {
    module.attr("VOXEL_BITS") = voxel_bits;
    module.def("group_by_voxel", group, "points"_a, "size"_a, "threads"_a);
    module.def("occupied_voxels", count_occupied, "points"_a, "size"_a, "levels"_a);
    module.def("voxel_means", means_of, "values"_a, "order"_a, "starts"_a, "threads"_a);
    module.def("voxel_moments", moments_of, "points"_a, "weights"_a.none(), "order"_a, "starts"_a, "threads"_a,
               "point_moments"_a.none() = nb::none());
    module.def("near_moments", moments_near_median, "points"_a, "max_ratio"_a, "sample_size"_a);
    module.def("sample_by_cell", sample, "points"_a, "centre"_a, "limit"_a, "axes"_a, "size"_a, "seed"_a);
    module.def("unique_points", unique, "points"_a);
    module.def("remove_duplicates_and_outliers", filter, "points"_a, "max_ratio"_a, "sample_size"_a);
}

}  // namespace graphreg
