// What every binding file needs: array types and the functions that add each room's kernels to the module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace graphreg {

void bind_text(nanobind::module_& module);

}  // namespace graphreg
