#include <nanobind/stl/array.h>

#include <array>

#include "bindings/bindings.hpp"
#include "engine/gauss_newton.hpp"
#include "engine/hypotheses.hpp"

namespace graphreg {

namespace {

nb::tuple find(const Points& source, const Points& source_normals, const Points& target, const Points& target_normals,
               double tolerance, std::size_t max_count, const DegreesOfFreedom& dof, int threads) {
    const std::size_t count = source.shape(0);
    require(source_normals.shape(0) == count && target.shape(0) == count && target_normals.shape(0) == count,
            "source, target and their normals must be of one length");
    const OrientedCorrespondences pairs{source.data(), source_normals.data(), target.data(), target_normals.data(),
                                        count};
    const auto found = without_gil([&] { return hypotheses(pairs, tolerance, max_count, dof, threads); });
    NewArray<double> poses({found.size(), 4, 4});
    NewArray<std::int32_t> support({found.size()});
    for (std::size_t i = 0; i < found.size(); ++i) {
        found[i].pose.to_matrix(poses.data() + 16 * i);
        support.data()[i] = found[i].support;
    }
    return nb::make_tuple(poses.release(), support.release());
}

}  // namespace

void bind_hypotheses(nb::module_& module) {
    nb::class_<DegreesOfFreedom>(module, "DegreesOfFreedom")
        .def(
            "__init__",
            [](DegreesOfFreedom* self, const std::array<bool, 6>& free, const std::array<double, 3>& pivot) {
                new (self) DegreesOfFreedom{free, pivot};
            },
            "free"_a, "pivot"_a);
    module.def("hypotheses", find, "source"_a, "source_normals"_a, "target"_a, "target_normals"_a, "tolerance"_a,
               "max_count"_a, "dof"_a, "threads"_a);
}

}  // namespace graphreg
