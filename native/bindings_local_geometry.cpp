#include <stdexcept>

#include "bindings.hpp"
#include "local_geometry.hpp"

namespace graphreg {

namespace {

using Indices = Input<std::int32_t, nb::shape<-1, -1>>;
using Order = Input<std::int32_t, nb::shape<-1>>;
using Numbers = Input<double, nb::shape<-1>>;
using Table = Input<double, nb::shape<-1, -1>>;

Neighbourhoods checked(const Points& points, const Indices& neighbours, const Order& order) {
    const std::size_t count = points.shape(0), k = neighbours.shape(1);
    if (neighbours.shape(0) != count || order.shape(0) != count || k == 0)
        throw std::invalid_argument("points, neighbours and order do not belong together");
    return {points.data(), neighbours.data(), order.data(), count, k};
}

void belongs(std::size_t rows, const Neighbourhoods& graph) {
    if (rows != graph.count) throw std::invalid_argument("one row for each point is needed");
}

}  // namespace

void bind_local_geometry(nb::module_& module) {
    module.def(
        "edge_weights",
        [](const Points& points, const Indices& neighbours, const Order& order, int threads) {
            const Neighbourhoods graph = checked(points, neighbours, order);
            Fresh<double> weights({graph.count, graph.k});
            unlocked([&] { edge_weights(graph, threads, weights.data()); });
            return weights.release();
        },
        nb::arg("points"), nb::arg("neighbours"), nb::arg("order"), nb::arg("threads"));
    module.def(
        "response",
        [](const Points& points, const Indices& neighbours, const Order& order, int threads) {
            const Neighbourhoods graph = checked(points, neighbours, order);
            Fresh<double> intensity({graph.count});
            unlocked([&] { response(graph, threads, intensity.data()); });
            return intensity.release();
        },
        nb::arg("points"), nb::arg("neighbours"), nb::arg("order"), nb::arg("threads"));
    module.def(
        "fit_planes",
        [](const Points& points, const Indices& neighbours, const Order& order, int threads) {
            const Neighbourhoods graph = checked(points, neighbours, order);
            Fresh<double> normals({graph.count, 3});
            Fresh<double> curvature({graph.count});
            unlocked([&] { fit_planes(graph, threads, normals.data(), curvature.data()); });
            return nb::make_tuple(normals.release(), curvature.release());
        },
        nb::arg("points"), nb::arg("neighbours"), nb::arg("order"), nb::arg("threads"));
    module.def(
        "fit_pooled_planes",
        [](const Points& means, const Indices& neighbours, const Order& order, const Numbers& weights,
           const Input<double, nb::shape<-1, 6>>& moments, int threads) {
            const Neighbourhoods graph = checked(means, neighbours, order);
            belongs(weights.shape(0), graph);
            belongs(moments.shape(0), graph);
            Fresh<double> normals({graph.count, 3}), laid({graph.count, 3});
            Fresh<double> spread({graph.count});
            unlocked([&] {
                fit_pooled_planes(graph, weights.data(), moments.data(), threads, normals.data(), spread.data(),
                                  laid.data());
            });
            return nb::make_tuple(normals.release(), spread.release(), laid.release());
        },
        nb::arg("means"), nb::arg("neighbours"), nb::arg("order"), nb::arg("weights"), nb::arg("moments"),
        nb::arg("threads"));
    module.def(
        "variation",
        [](const Points& points, const Indices& neighbours, const Order& order, const Points& normals,
           const Numbers& curvature, int threads) {
            const Neighbourhoods graph = checked(points, neighbours, order);
            belongs(normals.shape(0), graph);
            belongs(curvature.shape(0), graph);
            Fresh<double> result({graph.count, 2});
            unlocked([&] { variation(graph, normals.data(), curvature.data(), threads, result.data()); });
            return result.release();
        },
        nb::arg("points"), nb::arg("neighbours"), nb::arg("order"), nb::arg("normals"), nb::arg("curvature"),
        nb::arg("threads"));
    module.def(
        "shift",
        [](const Points& points, const Indices& neighbours, const Order& order, const Table& weights,
           const Table& signal, int threads) {
            const Neighbourhoods graph = checked(points, neighbours, order);
            belongs(weights.shape(0), graph);
            belongs(signal.shape(0), graph);
            if (weights.shape(1) != graph.k) throw std::invalid_argument("one weight for each neighbour is needed");
            Fresh<double> result({graph.count, signal.shape(1)});
            unlocked([&] { shift(graph, weights.data(), signal.data(), signal.shape(1), threads, result.data()); });
            return result.release();
        },
        nb::arg("points"), nb::arg("neighbours"), nb::arg("order"), nb::arg("weights"), nb::arg("signal"),
        nb::arg("threads"));
}

}  // namespace graphreg
