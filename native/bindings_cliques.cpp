#include <algorithm>
#include <stdexcept>

#include "bindings.hpp"
#include "cliques.hpp"

namespace graphreg {

void bind_cliques(nb::module_& module) {
    module.def(
        "largest_consistent_set",
        [](const Points& source, const Points& target, double tolerance, std::size_t branch_limit, int threads) {
            if (source.shape(0) != target.shape(0)) throw std::invalid_argument("matches are pairs of points");
            const Clique found = unlocked([&] {
                return largest_consistent_set(source.data(), target.data(), source.shape(0), tolerance, branch_limit,
                                              threads);
            });
            Fresh<std::int32_t> members({found.members.size()});
            std::copy(found.members.begin(), found.members.end(), members.data());
            return nb::make_tuple(members.release(), found.proven);
        },
        nb::arg("source"), nb::arg("target"), nb::arg("tolerance"), nb::arg("branch_limit"), nb::arg("threads"));
}

}  // namespace graphreg
