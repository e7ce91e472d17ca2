#include <cmath>
#include <limits>

#include "bindings/bindings.hpp"
#include "points/kd_tree.hpp"

namespace graphreg {

namespace {

template <class T, class... Shape>
using InOut = nb::ndarray<T, nb::device::cpu, nb::c_contig, Shape...>;

void init(KdTree* self, const Points& points, int threads) {
    require(points.shape(0) > 0, "a tree needs points");
    require(points.shape(0) < std::numeric_limits<std::int32_t>::max(), "a tree has at most 2^31 points");
    without_gil([&] { new (self) KdTree(points.data(), points.shape(0), threads); });
}

Output<std::int32_t> graph(const KdTree& tree, int k, int threads) {
    require(k > 0 && static_cast<std::size_t>(k) < tree.size(), "k out of range");
    NewArray<std::int32_t> indices({tree.size(), static_cast<std::size_t>(k)});
    without_gil([&] { tree.graph(k, threads, indices.data()); });
    return indices.release();
}

nb::tuple graph_with_ties(const KdTree& tree, int k, int threads) {
    require(k > 0 && static_cast<std::size_t>(k) < tree.size(), "k out of range");
    NewArray<std::int32_t> indices({tree.size(), static_cast<std::size_t>(k)});
    std::vector<std::array<std::int32_t, 2>> pairs;
    without_gil([&] { tree.graph(k, threads, indices.data(), pairs); });
    NewArray<std::int32_t> ties({pairs.size(), 2});
    for (std::size_t i = 0; i < pairs.size(); ++i) std::copy_n(pairs[i].data(), 2, ties.data() + 2 * i);
    return nb::make_tuple(indices.release(), ties.release());
}

nb::tuple nearest_points(const KdTree& tree, const Points& queries, int k, int threads) {
    require(k > 0 && static_cast<std::size_t>(k) <= tree.size(), "k out of range");
    const std::size_t count = queries.shape(0);
    NewArray<std::int32_t> indices({count, static_cast<std::size_t>(k)});
    NewArray<double> squared({count, static_cast<std::size_t>(k)});
    without_gil([&] { tree.nearest(queries.data(), count, k, threads, indices.data(), squared.data()); });
    return nb::make_tuple(indices.release(), squared.release());
}

Output<double> update_nearest(const KdTree& tree, const Points& queries, InOut<double, nb::shape<-1, 3>> searched_at,
                              InOut<double, nb::shape<-1>> second_distance,
                              InOut<std::int32_t, nb::shape<-1, 2>> nearest, int threads) {
    const std::size_t count = queries.shape(0);
    require(searched_at.shape(0) == count && second_distance.shape(0) == count && nearest.shape(0) == count,
            "queries and the state of their search must be of one length");
    const KdTree::SearchState state{searched_at.data(), second_distance.data(), nearest.data()};
    NewArray<double> squared({count});
    without_gil([&] { tree.update_nearest(queries.data(), count, threads, state, squared.data()); });
    return squared.release();
}

nb::tuple within(const KdTree& tree, const Points& queries, double radius, int threads) {
    require(radius >= 0 && std::isfinite(radius), "radius out of range");
    const std::size_t count = queries.shape(0);
    NewArray<std::int64_t> offsets({count + 1});
    without_gil([&] {
        offsets.data()[0] = 0;
        tree.count_within(queries.data(), count, radius, threads, offsets.data() + 1);
        for (std::size_t i = 0; i < count; ++i) offsets.data()[i + 1] += offsets.data()[i];
    });
    const auto total = static_cast<std::size_t>(offsets.data()[count]);
    NewArray<std::int32_t> indices({total});
    NewArray<double> squared({total});
    without_gil(
        [&] { tree.within(queries.data(), count, radius, threads, offsets.data(), indices.data(), squared.data()); });
    return nb::make_tuple(offsets.release(), indices.release(), squared.release());
}

Output<std::int32_t> order(const KdTree& tree) {
    NewArray<std::int32_t> indices({tree.size()});
    tree.order(indices.data());
    return indices.release();
}

}  // namespace

void bind_kd_tree(nb::module_& module) {
    nb::class_<KdTree>(module, "Tree")
        .def("__init__", init, "points"_a, "threads"_a)
        .def("__len__", &KdTree::size)
        .def("graph", graph, "k"_a, "threads"_a)
        .def("graph_with_ties", graph_with_ties, "k"_a, "threads"_a)
        .def("nearest", nearest_points, "queries"_a, "k"_a, "threads"_a)
        .def("update_nearest", update_nearest, "queries"_a, "searched_at"_a, "second_distance"_a, "nearest"_a,
             "threads"_a)
        .def("within", within, "queries"_a, "radius"_a, "threads"_a)
        .def("order", order);
}

}  // namespace graphreg
