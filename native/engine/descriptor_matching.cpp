#include "engine/descriptor_matching.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/parallel.hpp"
#include "engine/descriptor_distances.hpp"
#include "engine/descriptors.hpp"

namespace graphreg {

namespace {

inline std::int32_t index_of(Ranked match) { return static_cast<std::int32_t>(match); }

// Rows begin to end of a against columns from `first` on of b; updates the best match of each.
void match_rows(const std::uint8_t* a, std::size_t begin, std::size_t end, const std::uint8_t* b, std::size_t first,
                std::size_t count_b, Ranked* best_of_row, Ranked* best_of_column) {
    for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = first; j < count_b; ++j) {
            const int distance = l1_distance(a + i * descriptor_size, b + j * descriptor_size);
            best_of_row[i] = std::min(best_of_row[i], ranked(distance, j));
            best_of_column[j] = std::min(best_of_column[j], ranked(distance, i));
        }
}

#if defined(__x86_64__)
// As match_rows, against the columns in groups.
__attribute__((target("avx2"))) void match_groups(const std::uint8_t* a, std::size_t begin, std::size_t end,
                                                  const std::uint8_t* groups, std::size_t count, Ranked* best_of_row,
                                                  Ranked* best_of_column) {
    for (std::size_t i = begin; i < end; ++i) {
        __m256i row[chunks];
        for (std::size_t c = 0; c < chunks; ++c) {
            long long bytes;
            std::memcpy(&bytes, a + i * descriptor_size + c * chunk, chunk);
            row[c] = _mm256_set1_epi64x(bytes);
        }
        const __m256i row_index = _mm256_set1_epi64x(static_cast<long long>(i));
        __m256i best = _mm256_set1_epi64x(worst_match), columns = _mm256_setr_epi64x(0, 1, 2, 3);
        for (std::size_t g = 0; g < count; ++g) {
            const auto* group = reinterpret_cast<const __m256i*>(groups + g * group_size * descriptor_size);
            __m256i even = _mm256_setzero_si256(), odd = even;
            for (std::size_t c = 0; c < chunks; c += 2) {
                even = _mm256_add_epi64(even, _mm256_sad_epu8(row[c], _mm256_loadu_si256(group + c)));
                odd = _mm256_add_epi64(odd, _mm256_sad_epu8(row[c + 1], _mm256_loadu_si256(group + c + 1)));
            }
            const __m256i distances = _mm256_slli_epi64(_mm256_add_epi64(even, odd), 32);
            const __m256i for_row = _mm256_or_si256(distances, columns);
            best = _mm256_blendv_epi8(best, for_row, _mm256_cmpgt_epi64(best, for_row));
            auto* stored = reinterpret_cast<__m256i*>(best_of_column + g * group_size);
            const __m256i before = _mm256_loadu_si256(stored), for_column = _mm256_or_si256(distances, row_index);
            _mm256_storeu_si256(stored, _mm256_blendv_epi8(before, for_column, _mm256_cmpgt_epi64(before, for_column)));
            columns = _mm256_add_epi64(columns, _mm256_set1_epi64x(group_size));
        }
        alignas(32) Ranked lanes[group_size];
        _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), best);
        for (const Ranked lane : lanes) best_of_row[i] = std::min(best_of_row[i], lane);
    }
}
#endif

}  // namespace

void match_descriptors(const std::uint8_t* a, std::size_t count_a, const std::uint8_t* b, std::size_t count_b,
                       int threads, std::int32_t* best_of_a, std::int32_t* best_of_b) {
    const std::size_t grain = std::max<std::size_t>(64, (count_a + 15) / 16);
    std::vector<Ranked> rows(count_a, worst_match);
    std::vector<std::vector<Ranked>> columns((count_a + grain - 1) / grain);  // of each range of rows its own
#if defined(__x86_64__)
    const std::size_t groups = __builtin_cpu_supports("avx2") ? count_b / group_size : 0;
    const std::vector<std::uint8_t> grouped = interleaved(b, groups);
#endif
    parallel_for(count_a, grain, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<Ranked>& column = columns[begin / grain];
        column.assign(count_b, worst_match);
        std::size_t first = 0;
#if defined(__x86_64__)
        if (groups > 0) match_groups(a, begin, end, grouped.data(), groups, rows.data(), column.data());
        first = groups * group_size;
#endif
        match_rows(a, begin, end, b, first, count_b, rows.data(), column.data());
    });
    for (std::size_t i = 0; i < count_a; ++i) best_of_a[i] = index_of(rows[i]);
    for (std::size_t j = 0; j < count_b; ++j) {
        Ranked best = worst_match;
        for (const auto& column : columns) best = std::min(best, column[j]);
        best_of_b[j] = index_of(best);
    }
}

void match_near_descriptors(const std::uint8_t* a, std::size_t count_a, const std::uint8_t* b, std::size_t count_b,
                            const std::int64_t* offsets, const std::int32_t* near, std::int32_t* best_of_a,
                            std::int32_t* best_of_b) {
    std::vector<Ranked> columns(count_b, worst_match);
    for (std::size_t i = 0; i < count_a; ++i) {
        Ranked best = worst_match;
        for (std::int64_t n = offsets[i]; n < offsets[i + 1]; ++n) {
            const auto j = static_cast<std::size_t>(near[n]);
            const int distance = l1_distance(a + i * descriptor_size, b + j * descriptor_size);
            best = std::min(best, ranked(distance, j));
            columns[j] = std::min(columns[j], ranked(distance, i));
        }
        best_of_a[i] = best == worst_match ? -1 : index_of(best);
    }
    for (std::size_t j = 0; j < count_b; ++j) best_of_b[j] = columns[j] == worst_match ? -1 : index_of(columns[j]);
}

}  // namespace graphreg
