// Numbers from text. The bytes come from files and may be anything.
#pragma once

#include <locale.h>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

namespace graphreg {

// Between the words of a line.
inline bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

// As strtod in the C locale, whatever the locale of the process is.
inline bool parse_double_slowly(std::string_view text, double& value) {
    if (text.find_first_of("xX") != text.npos) return false;  // hexadecimal is not a number in any of these files
    const std::string terminated(text);
    char* stop = nullptr;
#if defined(_WIN32)
    static const _locale_t c_locale = _create_locale(LC_ALL, "C");
    value = _strtod_l(terminated.c_str(), &stop, c_locale);
#else
    static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
    value = strtod_l(terminated.c_str(), &stop, c_locale);
#endif
    return stop == terminated.c_str() + terminated.size() && !terminated.empty();
}

// Digits with at most one point, as in most scans. Where the digits are an integer below 2^53 and the power of ten is
// at most 22, both are exact in double precision, so that their quotient is correctly rounded (Clinger 1990).
inline bool parse_decimal_quickly(std::string_view text, double& value) {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const bool negative = !text.empty() && text.front() == '-';
    if (negative) text.remove_prefix(1);
    if (text.size() > 19 || text.empty()) return false;  // so the digits cannot overflow
    std::uint64_t digits = 0;
    std::size_t count = 0, decimals = 0;
    bool point = false;
    for (const char c : text) {
        const unsigned digit = static_cast<unsigned char>(c) - unsigned{'0'};
        if (digit <= 9) {
            digits = digits * 10 + digit;
            ++count;
            decimals += point;
        } else if (c == '.' && !point) {
            point = true;
        } else {
            return false;
        }
    }
    if (count == 0 || digits >= (std::uint64_t{1} << 53)) return false;
    value = static_cast<double>(digits) / powers[decimals];
    if (negative) value = -value;
    return true;
}

// Removes a plus sign; false where a second sign follows.
inline bool strip_plus(std::string_view& text) {
    if (text.empty() || text.front() != '+') return true;
    text.remove_prefix(1);
    return text.empty() || (text.front() != '-' && text.front() != '+');
}

// The whole of `text` is one number: digits, exponent, sign (also +), nan, inf. Too large is infinite, too small is 0.
inline bool parse_number(std::string_view text, double& value) {
    if (!strip_plus(text)) return false;
    if (text.empty() || static_cast<unsigned char>(text.front()) <= ' ') return false;
    if (parse_decimal_quickly(text, value)) return true;
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (stop != text.data() + text.size()) return false;
    if (problem != std::errc::result_out_of_range) return problem == std::errc();
#endif
    return parse_double_slowly(text, value);
}

// A 64-bit integer; also one written as 255.0 or 1e3, where a double represents it exactly.
template <class Integer>
bool parse_number(std::string_view text, Integer& value) {
    if (!strip_plus(text)) return false;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem == std::errc() && stop == text.data() + text.size()) return true;
    if (problem == std::errc::result_out_of_range) return false;
    double number = 0;
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (!parse_number(text, number) || !(std::abs(number) <= exact) || number != std::trunc(number)) return false;
    if (number < 0 && !std::numeric_limits<Integer>::is_signed) return false;
    value = static_cast<Integer>(number);
    return true;
}

}  // namespace graphreg
