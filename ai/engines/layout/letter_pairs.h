#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::engines {

// How unlikely the letter pairs of a text are in languages with Latin letters. Text of such a language costs
// 3.4 to 4.8 bits a pair, letters in random order about 6. Accents and the case of a word do not matter.
class PairCost {
 public:
  // Adds a word by its code points.
  void add(const std::vector<std::uint32_t>& word);
  // Bits per pair; 0: there are none.
  float mean() const { return pairs_ == 0 ? 0 : sum_ / static_cast<float>(pairs_); }

 private:
  void take(int bits);

  float sum_ = 0;
  std::size_t pairs_ = 0;
};

}  // namespace millrace::engines
