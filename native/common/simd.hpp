// Vectors of four doubles and of eight floats, on any processor, by the vector extensions of GCC and Clang.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "common/dispatch.hpp"

namespace graphreg {

// The alignment is explicit: the default depends on the instruction set for which a function is compiled.
typedef double Four __attribute__((vector_size(32), aligned(32)));
typedef std::int64_t FourIntegers __attribute__((vector_size(32), aligned(32)));
typedef float Eight __attribute__((vector_size(32), aligned(32)));
typedef std::int32_t EightIntegers __attribute__((vector_size(32), aligned(32)));

constexpr std::size_t four_lanes = 4, eight_lanes = 8;

GRAPHREG_INLINE Four broadcast(double value) { return Four{} + value; }

GRAPHREG_INLINE Eight broadcast(float value) { return Eight{} + value; }

GRAPHREG_INLINE Four maximum(Four a, Four b) { return a > b ? a : b; }

GRAPHREG_INLINE Four minimum(Four a, Four b) { return a < b ? a : b; }

GRAPHREG_INLINE Four square_root(Four a) {
    return Four{std::sqrt(a[0]), std::sqrt(a[1]), std::sqrt(a[2]), std::sqrt(a[3])};
}

GRAPHREG_INLINE Eight square_root(Eight a) {
    Eight result;
    for (std::size_t lane = 0; lane < eight_lanes; ++lane) result[lane] = std::sqrt(a[lane]);
    return result;
}

// A column of four rows of a table.
GRAPHREG_INLINE Four gather(const double* table, std::size_t width, std::size_t column,
                            const std::size_t (&rows)[four_lanes]) {
    const double* at = table + column;
    return Four{at[rows[0] * width], at[rows[1] * width], at[rows[2] * width], at[rows[3] * width]};
}

// Horner's scheme; coefficients of ascending powers.
template <std::size_t Count>
GRAPHREG_INLINE Four polynomial(const double (&coefficients)[Count], Four x) {
    Four sum = broadcast(coefficients[Count - 1]);
    for (std::size_t n = Count - 1; n-- > 0;) sum = sum * x + coefficients[n];
    return sum;
}

// In double precision, lane by lane.
GRAPHREG_INLINE double sum_lanes(const Eight& values) {
    double total = 0;
    for (std::size_t lane = 0; lane < eight_lanes; ++lane) total += static_cast<double>(values[lane]);
    return total;
}

// In pairs: (0 + 1) + (2 + 3).
GRAPHREG_INLINE double sum_lanes(const Four& values) { return (values[0] + values[1]) + (values[2] + values[3]); }

// An owned array of vectors, all zero. (A template such as std::vector would drop their alignment.)
class EightArray {
public:
    explicit EightArray(std::size_t size) : size_(size), data_(new Eight[size]()) {}
    EightArray(const EightArray&) = delete;
    EightArray& operator=(const EightArray&) = delete;
    ~EightArray() { delete[] data_; }

    std::size_t size() const { return size_; }
    Eight* data() { return data_; }
    const Eight* data() const { return data_; }
    Eight& operator[](std::size_t i) { return data_[i]; }

private:
    std::size_t size_;
    Eight* data_;
};

}  // namespace graphreg
