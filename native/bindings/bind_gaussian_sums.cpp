#include "baselines/gaussian_sums.hpp"
#include "bindings/bindings.hpp"

namespace graphreg {

namespace {

GaussianSystem system_of(const FloatPoints& points, const FloatPoints& others, const FloatNumbers& mass, float width) {
    require(mass.shape(0) == others.shape(0), "mass: one for each of others is needed");
    return {points.data(), others.data(), mass.data(), points.shape(0), others.shape(0), width};
}

Output<double> weights(const FloatPoints& points, const FloatPoints& others, const FloatNumbers& mass, float width,
                       int threads) {
    const GaussianSystem system = system_of(points, others, mass, width);
    NewArray<double> weight({system.count});
    without_gil([&] { gaussian_sums(system, threads, weight.data(), nullptr); });
    return weight.release();
}

nb::tuple forces(const FloatPoints& points, const FloatPoints& others, const FloatNumbers& mass, float width,
                 int threads) {
    const GaussianSystem system = system_of(points, others, mass, width);
    NewArray<double> weight({system.count}), force({system.count, 3});
    without_gil([&] { gaussian_sums(system, threads, weight.data(), force.data()); });
    return nb::make_tuple(weight.release(), force.release());
}

}  // namespace

void bind_gaussian_sums(nb::module_& module) {
    module.def("gaussian_weights", weights, "points"_a, "others"_a, "mass"_a, "width"_a, "threads"_a);
    module.def("gaussian_forces", forces, "points"_a, "others"_a, "mass"_a, "width"_a, "threads"_a);
}

}  // namespace graphreg
