#include "bindings/bindings.hpp"
#include "paper/pair_forces.hpp"

namespace graphreg {

namespace {

nb::tuple forces_of_pairs(const FloatPoints& source, const FloatPoints& target, const FloatTable& source_features,
                          const FloatTable& target_features, const FloatNumbers& target_mass, bool gaussian,
                          float scale, int threads) {
    const ParticleSystem system{source.data(),
                                target.data(),
                                source_features.data(),
                                target_features.data(),
                                target_mass.data(),
                                source.shape(0),
                                target.shape(0),
                                source_features.shape(1),
                                gaussian ? ForceLaw::gaussian : ForceLaw::inverse_square,
                                scale};
    require(source_features.shape(0) == system.sources && target_features.shape(0) == system.targets &&
                target_features.shape(1) == system.features && target_mass.shape(0) == system.targets,
            "particles, features and masses do not belong together");
    NewArray<double> force({system.sources, 3}), weight({system.sources});
    without_gil([&] { pair_forces(system, threads, force.data(), weight.data()); });
    return nb::make_tuple(force.release(), weight.release());
}

}  // namespace

void bind_pair_forces(nb::module_& module) {
    module.def("pair_forces", forces_of_pairs, "source"_a, "target"_a, "source_features"_a, "target_features"_a,
               "target_mass"_a, "gaussian"_a, "scale"_a, "threads"_a);
}

}  // namespace graphreg
