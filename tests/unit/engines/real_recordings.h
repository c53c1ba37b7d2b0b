#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/speech/recording.h"
#include "platform/process/spawner.h"

namespace millrace::engines::testing {

// Speech that flite makes of a text: the bytes of a WAV file, 16 bit, mono, 24 kHz.
std::string spoken(process::Spawner& spawner, const std::string& text, const std::string& voice = "slt");
// Converts `wav` with ffmpeg and these output options into a file of this extension.
std::string converted(process::Spawner& spawner, const std::string& wav, const std::string& ending,
                      const std::vector<std::string>& options = {});
// A file from one of ffmpeg's generators ("anullsrc=…"), with these output options.
std::string generated(process::Spawner& spawner, const std::string& source, const std::string& ending,
                      const std::vector<std::string>& options = {});
// A WAV file of these interleaved samples. `rate` and `channels` are only written to its header.
std::string wav_of(const std::string& samples, unsigned rate, unsigned channels);
// Samples of silence, 24 kHz mono; and the samples of a WAV file of `spoken`.
std::string silent_samples(double seconds);
std::string samples_of(const std::string& spoken_wav);

// A recording of these bytes, in an unlinked file that only its descriptor references.
base::Result<std::shared_ptr<const Recording>> recording_of(const std::string& bytes);

// "codec rate channels" of the first stream, as ffprobe reports them.
std::string probed(process::Spawner& spawner, const std::string& bytes);
// Its length in seconds after ffmpeg has decoded it.
double seconds_in(process::Spawner& spawner, const std::string& bytes);

// The share of the words of `said` that differ. Case and punctuation do not count.
double word_error_rate(const std::string& said, const std::string& heard);

}  // namespace millrace::engines::testing
