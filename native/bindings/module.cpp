// The module _core. Bindings check and share arrays and release the GIL; they have no logic of their own.
#include "bindings/bindings.hpp"

#include <nanobind/nanobind.h>

#include "common/parallel.hpp"

namespace {

bool signal_pending() {
    nanobind::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

}  // namespace

NB_MODULE(_core, module) {
    graphreg::interrupt_requested = signal_pending;
    nanobind::register_exception_translator([](const std::exception_ptr& problem, void*) {
        try {
            std::rethrow_exception(problem);
        } catch (const graphreg::Interrupted&) {
            // PyErr_CheckSignals has already set KeyboardInterrupt, or what the user's handler raised.
        }
    });
    graphreg::bind_alignment(module);
    graphreg::bind_cliques(module);
    graphreg::bind_descriptors(module);
    graphreg::bind_features(module);
    graphreg::bind_gaussian_sums(module);
    graphreg::bind_hypotheses(module);
    graphreg::bind_kd_tree(module);
    graphreg::bind_local_geometry(module);
    graphreg::bind_meshes(module);
    graphreg::bind_pair_forces(module);
    graphreg::bind_parsing(module);
    graphreg::bind_scene_index(module);
    graphreg::bind_smooth_union(module);
    graphreg::bind_surfel_map(module);
    graphreg::bind_surfels(module);
    graphreg::bind_voxels(module);
}
