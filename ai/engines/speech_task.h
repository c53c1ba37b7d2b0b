#pragma once
#include <string>

#include "schemas/speech.h"

namespace millrace::engines {

// What a child is to say, and how.
struct SpeechTask {
  std::string text;
  std::string voice;  // of flite: "slt", "rms", "awb", "kal16"
  schemas::SpeechEncoding encoding = schemas::SpeechEncoding::kMp3;
  double speed = 1;
};

}  // namespace millrace::engines
