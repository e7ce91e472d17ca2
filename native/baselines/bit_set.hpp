// A set of small integers, one bit each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphreg {

class BitSet {
public:
    using Word = std::uint64_t;
    static constexpr std::size_t word_bits = 64;

    explicit BitSet(std::size_t size = 0) : words_((size + word_bits - 1) / word_bits) {}

    void set(std::size_t i) { words_[i / word_bits] |= Word{1} << i % word_bits; }
    void clear(std::size_t i) { words_[i / word_bits] &= ~(Word{1} << i % word_bits); }
    bool contains(std::size_t i) const { return words_[i / word_bits] >> i % word_bits & 1; }
    std::size_t words() const { return words_.size(); }
    Word word(std::size_t w) const { return words_[w]; }

    std::size_t count() const {
        std::size_t total = 0;
        for (const Word word : words_) total += static_cast<std::size_t>(std::popcount(word));
        return total;
    }

    bool any() const {
        return std::any_of(words_.begin(), words_.end(), [](Word word) { return word != 0; });
    }

    BitSet& operator&=(const BitSet& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
        return *this;
    }

    // Calls visit(i) for all members, ascending.
    template <class Visit>
    void for_each(Visit&& visit) const {
        for (std::size_t w = 0; w < words_.size(); ++w)
            for (Word left = words_[w]; left; left &= left - 1)
                visit(w * word_bits + static_cast<std::size_t>(std::countr_zero(left)));
    }

    void remove(const BitSet& other) {
        for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= ~other.words_[w];
    }

private:
    std::vector<Word> words_;
};

}  // namespace graphreg
