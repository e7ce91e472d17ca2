#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bindings.hpp"
#include "voxels.hpp"

namespace graphreg {

void bind_voxels(nb::module_& module) {
    module.attr("VOXEL_BITS") = voxel_bits;
    module.def(
        "group_by_voxel",
        [](const Points& points, double size, int threads) {
            Fresh<std::int32_t> order({points.shape(0)});
            const Cells cells = unlocked(
                [&] { return group_by_voxel(points.data(), points.shape(0), size, threads, order.data()); });
            Fresh<std::int64_t> starts({cells.starts.size()});
            Fresh<std::uint64_t> keys({cells.keys.size()});
            std::copy(cells.starts.begin(), cells.starts.end(), starts.data());
            std::copy(cells.keys.begin(), cells.keys.end(), keys.data());
            return nb::make_tuple(order.release(), starts.release(), keys.release());
        },
        nb::arg("points"), nb::arg("size"), nb::arg("threads"));
    module.def(
        "unique_points",
        [](const Points& points) {
            Fresh<std::int32_t> all({points.shape(0)});
            const std::size_t found = unlocked([&] { return unique_points(points.data(), points.shape(0), all.data()); });
            Fresh<std::int32_t> first({found});
            std::copy_n(all.data(), found, first.data());
            return first.release();
        },
        nb::arg("points"));
    module.def(
        "remove_duplicates_and_outliers",
        [](const Points& points, const std::optional<Input<std::int64_t, nb::shape<-1>>>& rows, double far_off,
           std::size_t sample) {
            const std::size_t count = rows ? rows->shape(0) : points.shape(0);
            if (count == 0 || sample == 0) throw std::invalid_argument("points: expected at least one, and a sample of at least one");
            for (std::size_t i = 0; rows && i < count; ++i)
                if (rows->data()[i] < 0 || rows->data()[i] >= static_cast<std::int64_t>(points.shape(0)))
                    throw std::invalid_argument("rows: index out of range");
            std::vector<double> all(3 * count);
            std::vector<std::int32_t> first(count);
            const std::size_t kept = unlocked([&] {
                if (!rows) std::copy_n(points.data(), 3 * count, all.data());
                for (std::size_t i = 0; rows && i < count; ++i)
                    std::copy_n(points.data() + 3 * static_cast<std::size_t>(rows->data()[i]), 3, all.data() + 3 * i);
                return remove_duplicates_and_outliers(all.data(), count, far_off, sample, first.data());
            });
            Fresh<double> near({kept, 3});
            Fresh<std::int32_t> which({kept});
            std::copy_n(all.data(), 3 * kept, near.data());
            std::copy_n(first.data(), kept, which.data());
            return nb::make_tuple(near.release(), which.release());
        },
        nb::arg("points"), nb::arg("rows").none(), nb::arg("max_ratio"), nb::arg("sample_size"));
    module.def(
        "occupied_voxels",
        [](const Points& points, double size, int levels) {
            Fresh<std::int64_t> occupied({static_cast<std::size_t>(levels)});
            Fresh<std::int64_t> shared({static_cast<std::size_t>(levels)});
            unlocked([&] {
                occupied_voxels(points.data(), points.shape(0), size, levels, occupied.data(), shared.data());
            });
            return nb::make_tuple(occupied.release(), shared.release());
        },
        nb::arg("points"), nb::arg("size"), nb::arg("levels"));
    module.def(
        "voxel_moments",
        [](const Points& points, const std::optional<Input<double, nb::shape<-1>>>& weights,
           const Input<std::int32_t, nb::shape<-1>>& order, const Input<std::int64_t, nb::shape<-1>>& starts,
           int threads, const std::optional<Input<double, nb::shape<-1, 6>>>& own) {
            if (order.shape(0) > points.shape(0) || starts.shape(0) < 1 ||
                starts.data()[starts.shape(0) - 1] != static_cast<std::int64_t>(order.shape(0)) ||
                (weights && weights->shape(0) != points.shape(0)) || (own && own->shape(0) != points.shape(0)))
                throw std::invalid_argument("points, weights and cells do not belong together");
            const std::size_t cells = starts.shape(0) - 1;
            Fresh<double> sums({cells}), means({cells, 3}), moments({cells, 6});
            unlocked([&] {
                voxel_moments(points.data(), weights ? weights->data() : nullptr, own ? own->data() : nullptr,
                             order.data(), starts.data(), cells, threads, sums.data(), means.data(), moments.data());
            });
            return nb::make_tuple(sums.release(), means.release(), moments.release());
        },
        nb::arg("points"), nb::arg("weights").none(), nb::arg("order"), nb::arg("starts"), nb::arg("threads"),
        nb::arg("point_moments").none() = nb::none());
    module.def(
        "voxel_means",
        [](const Input<double, nb::shape<-1, -1>>& values, const Input<std::int32_t, nb::shape<-1>>& order,
           const Input<std::int64_t, nb::shape<-1>>& starts, int threads) {
            if (order.shape(0) != values.shape(0) || starts.shape(0) < 1 ||
                starts.data()[starts.shape(0) - 1] != static_cast<std::int64_t>(order.shape(0)))
                throw std::invalid_argument("values and cells do not belong together");
            const std::size_t cells = starts.shape(0) - 1, width = values.shape(1);
            Fresh<double> means({cells, width});
            unlocked([&] {
                voxel_means(values.data(), width, order.data(), starts.data(), cells, threads, means.data());
            });
            return means.release();
        },
        nb::arg("values"), nb::arg("order"), nb::arg("starts"), nb::arg("threads"));
}

}  // namespace graphreg
