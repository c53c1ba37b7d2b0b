// bench_timed: speaks the sentences on its standard input, one a line, with flite. It prints the 16-bit
// samples (16 kHz, mono) to the file of the second argument, and the times of the words, as flite synthesises
// them, as JSON.

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/engines/timed_speech.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: bench_timed VOICE FILE <SENTENCES\n";
    return 2;
  }
  std::vector<std::string> sentences;
  for (std::string line; std::getline(std::cin, line);) sentences.push_back(line);
  const auto speech = millrace::engines::host::timed_speech(sentences, argv[1]);
  std::ofstream file(argv[2], std::ios::binary);
  file.write(reinterpret_cast<const char*>(speech.samples.data()),
             static_cast<std::streamsize>(speech.samples.size() * sizeof(speech.samples[0])));
  if (speech.samples.empty() || !file.flush()) {
    std::cerr << "bench_timed: no speech in voice " << argv[1] << ", or " << argv[2]
              << " cannot be written\n";
    return 1;
  }
  auto words = nlohmann::json::array();
  for (const auto& word : speech.words) words.push_back({word.start, word.end});
  std::cout << words.dump() << '\n';
}
