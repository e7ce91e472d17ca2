#include <cmath>
#include <limits>
#include <stdexcept>

#include "bindings.hpp"
#include "kd_tree.hpp"

namespace graphreg {

namespace {

void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

template <class T, class... Shape>
using InOut = nb::ndarray<T, nb::device::cpu, nb::c_contig, Shape...>;

}  // namespace

void bind_kd_tree(nb::module_& module) {
    nb::class_<KdTree>(module, "Tree")
        .def(
            "__init__",
            [](KdTree* self, const Points& points, int threads) {
                require(points.shape(0) > 0, "a tree needs points");
                require(points.shape(0) < std::numeric_limits<std::int32_t>::max(), "a tree holds at most 2^31 points");
                unlocked([&] { new (self) KdTree(points.data(), points.shape(0), threads); });
            },
            nb::arg("points"), nb::arg("threads"))
        .def("__len__", &KdTree::size)
        .def(
            "graph",
            [](const KdTree& tree, int k, int threads) {
                require(k > 0 && static_cast<std::size_t>(k) < tree.size(), "k out of range");
                Fresh<std::int32_t> indices({tree.size(), static_cast<std::size_t>(k)});
                unlocked([&] { tree.graph(k, threads, indices.data(), nullptr); });
                return indices.release();
            },
            nb::arg("k"), nb::arg("threads"))
        .def(
            "nearest",
            [](const KdTree& tree, const Points& queries, int k, int threads) {
                require(k > 0 && static_cast<std::size_t>(k) <= tree.size(), "k out of range");
                Fresh<std::int32_t> indices({queries.shape(0), static_cast<std::size_t>(k)});
                Fresh<double> squared({queries.shape(0), static_cast<std::size_t>(k)});
                unlocked([&] {
                    tree.nearest(queries.data(), queries.shape(0), k, threads, indices.data(), squared.data());
                });
                return nb::make_tuple(indices.release(), squared.release());
            },
            nb::arg("queries"), nb::arg("k"), nb::arg("threads"))
        .def(
            "update_nearest",
            [](const KdTree& tree, const Points& queries, InOut<double, nb::shape<-1, 3>> searched_at,
               InOut<double, nb::shape<-1>> second, InOut<std::int32_t, nb::shape<-1, 2>> nearest, int threads) {
                const std::size_t count = queries.shape(0);
                require(searched_at.shape(0) == count && second.shape(0) == count && nearest.shape(0) == count,
                        "queries and what is remembered of them do not belong together");
                Fresh<double> squared({count});
                unlocked([&] {
                    tree.update_nearest(queries.data(), count, threads, {searched_at.data(), second.data(), nearest.data()},
                                squared.data());
                });
                return squared.release();
            },
            nb::arg("queries"), nb::arg("searched_at"), nb::arg("second_distance"), nb::arg("nearest"), nb::arg("threads"))
        .def(
            "within",
            [](const KdTree& tree, const Points& queries, double radius, int threads) {
                require(radius >= 0 && std::isfinite(radius), "radius out of range");
                const std::size_t count = queries.shape(0);
                Fresh<std::int64_t> offsets({count + 1});
                unlocked([&] {
                    offsets.data()[0] = 0;
                    tree.count_within(queries.data(), count, radius, threads, offsets.data() + 1);
                    for (std::size_t i = 0; i < count; ++i) offsets.data()[i + 1] += offsets.data()[i];
                });
                const auto total = static_cast<std::size_t>(offsets.data()[count]);
                Fresh<std::int32_t> indices({total});
                Fresh<double> squared({total});
                unlocked([&] {
                    tree.within(queries.data(), count, radius, threads, offsets.data(), indices.data(), squared.data());
                });
                return nb::make_tuple(offsets.release(), indices.release(), squared.release());
            },
            nb::arg("queries"), nb::arg("radius"), nb::arg("threads"))
        .def("order", [](const KdTree& tree) {
            Fresh<std::int32_t> indices({tree.size()});
            tree.order(indices.data());
            return indices.release();
        });
}

}  // namespace graphreg
