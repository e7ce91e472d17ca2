#include <stdexcept>

#include "bindings.hpp"
#include "pair_forces.hpp"

namespace graphreg {

void bind_pair_forces(nb::module_& module) {
    using Places = Input<float, nb::shape<-1, 3>>;
    using Features = Input<float, nb::shape<-1, -1>>;
    using Masses = Input<float, nb::shape<-1>>;
    module.def(
        "pair_forces",
        [](const Places& source, const Places& target, const Features& source_features, const Features& target_features,
           const Masses& target_mass, bool gaussian, float scale, int threads) {
            const PairSystem system{source.data(),
                                    target.data(),
                                    source_features.data(),
                                    target_features.data(),
                                    target_mass.data(),
                                    source.shape(0),
                                    target.shape(0),
                                    source_features.shape(1),
                                    gaussian ? PairLaw::gaussian : PairLaw::inverse_square,
                                    scale};
            if (source_features.shape(0) != system.sources || target_features.shape(0) != system.targets ||
                target_features.shape(1) != system.features || target_mass.shape(0) != system.targets)
                throw std::invalid_argument("particles, features and masses do not belong together");
            Fresh<double> force({system.sources, 3});
            Fresh<double> weight({system.sources});
            unlocked([&] { pair_forces(system, threads, force.data(), weight.data()); });
            return nb::make_tuple(force.release(), weight.release());
        },
        nb::arg("source"), nb::arg("target"), nb::arg("source_features"), nb::arg("target_features"),
        nb::arg("target_mass"), nb::arg("gaussian"), nb::arg("scale"), nb::arg("threads"));
}

}  // namespace graphreg
