#pragma once
#include <memory>
#include <string>

#include "ai/engines/speaker.h"
#include "ai/inference/local_speech.h"
#include "app/engine_children.h"
#include "app/settings.h"
#include "platform/base/metrics.h"

namespace millrace::app {

// The local voices of a process with the API: jailed engine children, of which one is warm from the start.
// Where there can be none the API goes on without them, and says why. Goes after the runs that it speaks for.
class SpeechEngineRoom {
 public:
  // Blocks for the trial of the jail.
  SpeechEngineRoom(const Settings& settings, base::Metrics& metrics);
  SpeechEngineRoom(const SpeechEngineRoom&) = delete;
  SpeechEngineRoom& operator=(const SpeechEngineRoom&) = delete;

  // Not to be called any more once this is gone.
  inference::LocalSpeech local();

 private:
  std::unique_ptr<EngineChildren> children_;
  std::unique_ptr<engines::Speaker> speaker_;
  std::string off_;
};

}  // namespace millrace::app
