#include <stdexcept>

#include "bindings.hpp"
#include "gaussian_sums.hpp"

namespace graphreg {

void bind_gaussian_sums(nb::module_& module) {
    using Places = Input<float, nb::shape<-1, 3>>;
    using Masses = Input<float, nb::shape<-1>>;
    auto checked = [](const Places& points, const Places& others, const Masses& mass, float width) {
        if (mass.shape(0) != others.shape(0)) throw std::invalid_argument("points and masses do not belong together");
        return MixtureSystem{points.data(), others.data(), mass.data(), points.shape(0), others.shape(0), width};
    };
    module.def(
        "gaussian_weights",
        [checked](const Places& points, const Places& others, const Masses& mass, float width, int threads) {
            const MixtureSystem system = checked(points, others, mass, width);
            Fresh<double> weight({system.count});
            unlocked([&] { gaussian_sums(system, threads, weight.data(), nullptr); });
            return weight.release();
        },
        nb::arg("points"), nb::arg("others"), nb::arg("mass"), nb::arg("width"), nb::arg("threads"));
    module.def(
        "gaussian_forces",
        [checked](const Places& points, const Places& others, const Masses& mass, float width, int threads) {
            const MixtureSystem system = checked(points, others, mass, width);
            Fresh<double> weight({system.count});
            Fresh<double> force({system.count, 3});
            unlocked([&] { gaussian_sums(system, threads, weight.data(), force.data()); });
            return nb::make_tuple(weight.release(), force.release());
        },
        nb::arg("points"), nb::arg("others"), nb::arg("mass"), nb::arg("width"), nb::arg("threads"));
}

}  // namespace graphreg
