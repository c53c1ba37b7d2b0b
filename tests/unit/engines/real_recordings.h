#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ai/engines/speech/recording.h"
#include "platform/process/spawner.h"

namespace millrace::engines::testing {

// What flite says of a text: the bytes of a WAV file, 16 bit, mono, 24 kHz.
std::string spoken(process::Spawner& spawner, const std::string& text, const std::string& voice = "slt");
// `wav` put through ffmpeg with these options for its output, into a file of this ending.
std::string converted(process::Spawner& spawner, const std::string& wav, const std::string& ending,
                      const std::vector<std::string>& options = {});
// A file as ffmpeg's own generators make it ("anullsrc=…"), with these options for its output.
std::string generated(process::Spawner& spawner, const std::string& source, const std::string& ending,
                      const std::vector<std::string>& options = {});
// A WAV file of these samples, interleaved, with whatever head.
std::string wav_of(const std::string& samples, unsigned rate, unsigned channels);
// So many seconds without a sound, as samples of 24 kHz mono, and the samples of a WAV file of `spoken`.
std::string silent_samples(double seconds);
std::string samples_of(const std::string& spoken_wav);

// A recording of these bytes (an unlinked file that only its descriptor names).
base::Result<std::shared_ptr<const Recording>> recording_of(const std::string& bytes);

// "codec rate channels" of the first stream, as ffprobe tells them.
std::string probed(process::Spawner& spawner, const std::string& bytes);
// Seconds of sound in it, decoded by ffmpeg.
double seconds_in(process::Spawner& spawner, const std::string& bytes);

// Words that differ, in parts of those of `said`; case and punctuation do not count.
double word_error_rate(const std::string& said, const std::string& heard);

}  // namespace millrace::engines::testing
