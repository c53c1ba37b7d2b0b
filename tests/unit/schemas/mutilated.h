#pragma once
#include <random>
#include <string>
#include <string_view>

namespace millrace::schemas::testing {

// The text `sound` with one to three random changes: bytes replaced, inserted or removed.
inline std::string mutilated(std::string_view sound, std::minstd_rand& random) {
  constexpr std::string_view kLetters = "{}[]\",:\\ \n\t0129.-eEtfnu/x\xc3\xa9\x01";
  std::string body(sound);
  for (auto changes = random() % 3 + 1; changes > 0; --changes) {
    const std::size_t at = random() % body.size();
    const char letter = kLetters[random() % kLetters.size()];
    switch (random() % 3) {
      case 0:
        body[at] = letter;
        break;
      case 1:
        body.insert(at, 1, letter);
        break;
      default:
        body.erase(at, random() % 4 + 1);
    }
  }
  return body;
}

}  // namespace millrace::schemas::testing
