// The one place where C++ meets Python: arrays are checked and shared here, the GIL is released, no logic.
#include <nanobind/nanobind.h>

#include "bindings.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace {

bool python_wants_to_stop() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

}  // namespace

NB_MODULE(_core, module) {
    graphreg::interrupt_requested = python_wants_to_stop;
    nb::register_exception_translator([](const std::exception_ptr& problem, void*) {
        try {
            std::rethrow_exception(problem);
        } catch (const graphreg::Interrupted&) {
            // PyErr_CheckSignals has already set KeyboardInterrupt, or what the user's handler raised.
        }
    });
    graphreg::bind_alignment(module);
    graphreg::bind_cliques(module);
    graphreg::bind_fpfh(module);
    graphreg::bind_gaussian_sums(module);
    graphreg::bind_kd_tree(module);
    graphreg::bind_pair_forces(module);
    graphreg::bind_parsing(module);
    graphreg::bind_engine(module);
    graphreg::bind_local_geometry(module);
    graphreg::bind_voxels(module);
}
