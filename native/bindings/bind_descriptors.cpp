#include "bindings/bindings.hpp"
#include "engine/descriptor_matching.hpp"
#include "engine/descriptors.hpp"

namespace graphreg {

namespace {

using Descriptors = Input<std::uint8_t, nb::shape<-1, descriptor_size>>;

Output<std::uint8_t> compute(const Points& points, const Points& normals, double radius, int threads) {
    require(normals.shape(0) == points.shape(0), "normals: one for each point is needed");
    NewArray<std::uint8_t> result({points.shape(0), descriptor_size});
    without_gil([&] { descriptors(points.data(), normals.data(), points.shape(0), radius, threads, result.data()); });
    return result.release();
}

nb::tuple match(const Descriptors& a, const Descriptors& b, int threads) {
    require(a.shape(0) > 0 && b.shape(0) > 0, "no descriptors to match");
    NewArray<std::int32_t> best_of_a({a.shape(0)}), best_of_b({b.shape(0)});
    without_gil([&] {
        match_descriptors(a.data(), a.shape(0), b.data(), b.shape(0), threads, best_of_a.data(), best_of_b.data());
    });
    return nb::make_tuple(best_of_a.release(), best_of_b.release());
}

}  // namespace

void bind_descriptors(nb::module_& module) {
    module.def("descriptors", compute, "points"_a, "normals"_a, "radius"_a, "threads"_a);
    module.def("match_descriptors", match, "a"_a, "b"_a, "threads"_a);
}

}  // namespace graphreg
