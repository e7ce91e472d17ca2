#include <algorithm>

#include "baselines/cliques.hpp"
#include "bindings/bindings.hpp"

namespace graphreg {

namespace {

nb::tuple consistent_set(const Points& source, const Points& target, double tolerance, std::size_t branch_limit,
                         int threads) {
    require(source.shape(0) == target.shape(0), "source and target must be of one length");
    const Clique found = without_gil([&] {
        return largest_consistent_set(source.data(), target.data(), source.shape(0), tolerance, branch_limit, threads);
    });
    NewArray<std::int32_t> members({found.members.size()});
    std::copy(found.members.begin(), found.members.end(), members.data());
    return nb::make_tuple(members.release(), found.proven);
}

}  // namespace

void bind_cliques(nb::module_& module) {
    module.def("largest_consistent_set", consistent_set, "source"_a, "target"_a, "tolerance"_a, "branch_limit"_a,
               "threads"_a);
}

}  // namespace graphreg
