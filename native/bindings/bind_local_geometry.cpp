#include "bindings/bindings.hpp"
#include "features/graph_signals.hpp"
#include "features/plane_fitting.hpp"

namespace graphreg {

namespace {

NeighbourGraph graph_of(const Points& points, const IndexTable& neighbours, const Indices& order) {
    const std::size_t count = points.shape(0), k = neighbours.shape(1);
    require(neighbours.shape(0) == count && order.shape(0) == count && k > 0,
            "points, neighbours and order do not belong together");
    return {points.data(), neighbours.data(), order.data(), count, k, EqualDistances(points.data(), count)};
}

void require_rows(std::size_t rows, const NeighbourGraph& graph) {
    require(rows == graph.count, "one row for each point is needed");
}

Output<double> weights_of_edges(const Points& points, const IndexTable& neighbours, const Indices& order, int threads) {
    const NeighbourGraph graph = graph_of(points, neighbours, order);
    NewArray<double> weights({graph.count, graph.k});
    without_gil([&] { edge_weights(graph, threads, weights.data()); });
    return weights.release();
}

Output<double> response_of_points(const Points& points, const IndexTable& neighbours, const Indices& order,
                                  int threads) {
    const NeighbourGraph graph = graph_of(points, neighbours, order);
    NewArray<double> intensity({graph.count});
    without_gil([&] { response(graph, threads, intensity.data()); });
    return intensity.release();
}

nb::tuple planes(const Points& points, const IndexTable& neighbours, const Indices& order, int threads,
                 const std::optional<Input<std::int32_t, nb::shape<-1, 2>>>& ties) {
    const NeighbourGraph graph = graph_of(points, neighbours, order);
    NewArray<double> normals({graph.count, 3}), curvature({graph.count});
    without_gil([&] {
        const Ties of_points(data_or_null(ties), ties ? ties->shape(0) : 0, graph.count);
        fit_planes(graph, of_points, threads, normals.data(), curvature.data());
    });
    return nb::make_tuple(normals.release(), curvature.release());
}

nb::tuple pooled_planes(const Points& means, const IndexTable& neighbours, const Indices& order, const Numbers& weights,
                        const Input<double, nb::shape<-1, 6>>& moments, int threads) {
    const NeighbourGraph graph = graph_of(means, neighbours, order);
    require_rows(weights.shape(0), graph);
    require_rows(moments.shape(0), graph);
    NewArray<double> normals({graph.count, 3}), roughness({graph.count}), projected({graph.count, 3});
    without_gil([&] {
        fit_pooled_planes(graph, weights.data(), moments.data(), threads, normals.data(), roughness.data(),
                          projected.data());
    });
    return nb::make_tuple(normals.release(), roughness.release(), projected.release());
}

Output<double> variation_of_normals(const Points& points, const IndexTable& neighbours, const Indices& order,
                                    const Points& normals, const Numbers& curvature, int threads) {
    const NeighbourGraph graph = graph_of(points, neighbours, order);
    require_rows(normals.shape(0), graph);
    require_rows(curvature.shape(0), graph);
    NewArray<double> result({graph.count, 2});
    without_gil([&] { variation(graph, normals.data(), curvature.data(), threads, result.data()); });
    return result.release();
}

Output<double> shifted(const Points& points, const IndexTable& neighbours, const Indices& order,
                       const NumberTable& weights, const NumberTable& signal, int threads) {
    const NeighbourGraph graph = graph_of(points, neighbours, order);
    require_rows(weights.shape(0), graph);
    require_rows(signal.shape(0), graph);
    require(weights.shape(1) == graph.k, "one weight for each neighbour is needed");
    NewArray<double> result({graph.count, signal.shape(1)});
    without_gil([&] { shift(graph, weights.data(), signal.data(), signal.shape(1), threads, result.data()); });
    return result.release();
}

}  // namespace

void bind_local_geometry(nb::module_& module) {
    module.def("edge_weights", weights_of_edges, "points"_a, "neighbours"_a, "order"_a, "threads"_a);
    module.def("response", response_of_points, "points"_a, "neighbours"_a, "order"_a, "threads"_a);
    module.def("fit_planes", planes, "points"_a, "neighbours"_a, "order"_a, "threads"_a, "ties"_a = nb::none());
    module.def("fit_pooled_planes", pooled_planes, "means"_a, "neighbours"_a, "order"_a, "weights"_a, "moments"_a,
               "threads"_a);
    module.def("variation", variation_of_normals, "points"_a, "neighbours"_a, "order"_a, "normals"_a, "curvature"_a,
               "threads"_a);
    module.def("shift", shifted, "points"_a, "neighbours"_a, "order"_a, "weights"_a, "signal"_a, "threads"_a);
}

}  // namespace graphreg
