#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "bindings.hpp"
#include "voxels.hpp"

namespace graphreg {

void bind_voxels(nb::module_& module) {
    module.attr("VOXEL_BITS") = voxel_bits;
    module.def(
        "voxel_cells",
        [](const Points& points, double size, int threads) {
            Fresh<std::int32_t> order({points.shape(0)});
            const auto starts = unlocked(
                [&] { return voxel_cells(points.data(), points.shape(0), size, threads, order.data()); });
            Fresh<std::int64_t> result({starts.size()});
            std::copy(starts.begin(), starts.end(), result.data());
            return nb::make_tuple(order.release(), result.release());
        },
        nb::arg("points"), nb::arg("size"), nb::arg("threads"));
    module.def(
        "distinct",
        [](const Points& points) {
            Fresh<std::int32_t> all({points.shape(0)});
            const std::size_t found = unlocked([&] { return distinct(points.data(), points.shape(0), all.data()); });
            Fresh<std::int32_t> first({found});
            std::copy_n(all.data(), found, first.data());
            return first.release();
        },
        nb::arg("points"));
    module.def(
        "occupied_cells",
        [](const Points& points, double size, int levels, std::size_t at_least) {
            Fresh<std::int64_t> counts({static_cast<std::size_t>(levels)});
            unlocked([&] {
                occupied_cells(points.data(), points.shape(0), size, levels, at_least, counts.data());
            });
            return counts.release();
        },
        nb::arg("points"), nb::arg("size"), nb::arg("levels"), nb::arg("at_least") = 1);
    module.def(
        "cell_moments",
        [](const Points& points, const std::optional<Input<double, nb::shape<-1>>>& weights,
           const Input<std::int32_t, nb::shape<-1>>& order, const Input<std::int64_t, nb::shape<-1>>& starts,
           int threads) {
            if (order.shape(0) != points.shape(0) || starts.shape(0) < 1 ||
                starts.data()[starts.shape(0) - 1] != static_cast<std::int64_t>(order.shape(0)) ||
                (weights && weights->shape(0) != points.shape(0)))
                throw std::invalid_argument("points, weights and cells do not belong together");
            const std::size_t cells = starts.shape(0) - 1;
            Fresh<double> sums({cells}), means({cells, 3}), moments({cells, 6});
            unlocked([&] {
                cell_moments(points.data(), weights ? weights->data() : nullptr, order.data(), starts.data(), cells,
                             threads, sums.data(), means.data(), moments.data());
            });
            return nb::make_tuple(sums.release(), means.release(), moments.release());
        },
        nb::arg("points"), nb::arg("weights").none(), nb::arg("order"), nb::arg("starts"), nb::arg("threads"));
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
