#include "bindings/bindings.hpp"
#include "datasets/smooth_union.hpp"

namespace graphreg {

namespace {

using Parts = Input<double, nb::shape<-1, numbers_of_a_part>>;

Output<double> distances(const Points& points, const LongIndices& order, const Parts& parts, double blend, double reach,
                         std::size_t block) {
    require(order.shape(0) == points.shape(0), "order: one index for each point is needed");
    require(parts.shape(0) > 0 && block > 0, "parts, block: expected at least one");
    const SmoothUnion shape{parts.data(), parts.shape(0), blend, reach};
    NewArray<double> distance({points.shape(0)});
    without_gil([&] { smooth_union(shape, points.data(), order.data(), points.shape(0), block, distance.data()); });
    return distance.release();
}

}  // namespace

void bind_smooth_union(nb::module_& module) {
    module.def("smooth_union", distances, "points"_a, "order"_a, "parts"_a, "blend"_a, "reach"_a, "block"_a);
}

}  // namespace graphreg
