#pragma once
#include <chrono>
#include <cstdint>

namespace millrace::engines {

// Limits of one engine child; sent to it when it starts.
struct EngineLimits {
  int pages_max = 1000;                         // per document
  std::int64_t image_pixels_max = 100'000'000;  // of an image, as its header declares
  int raster_side_max = 3500;                   // pixels; a larger PDF page is rastered smaller
  std::chrono::milliseconds page_cpu{20'000};   // recognition of one page; a page that exceeds it fails alone
  // Wall-clock limit for one page. It is long because children run in SCHED_IDLE: on a busy host a good page
  // can wait for minutes.
  std::chrono::milliseconds page_wall{600'000};
  std::chrono::milliseconds poppler_cpu{
      10'000};  // text or raster of one page; a text layer that exceeds it is a bomb

  std::chrono::milliseconds recording_max{4 * 3'600'000};  // stt.duration_max
  int channels_max = 8;                                    // per recording
  std::chrono::milliseconds decode_cpu{60'000};            // for ffmpeg, per recording
  std::chrono::milliseconds piece_wall{
      600'000};  // wall-clock limit for recognising one piece; long like page_wall
  std::chrono::milliseconds sentence_cpu{10'000};  // synthesis of one sentence
  // The same two with a Piper voice, which is perhaps loaded first.
  std::chrono::milliseconds voice_sentence_cpu{60'000};
  std::chrono::milliseconds voice_sentence_wall{180'000};
  std::chrono::milliseconds sentence_wall{60'000};   // wall-clock limit for one sentence
  std::chrono::milliseconds speech_wall{1'800'000};  // wall-clock limit for a whole text

  // The next limits protect against a misbehaving child; the gateway enforces them. A request fits into the
  // socket buffer. If the child does not read it within `request_wall`, the child is stuck.
  std::chrono::milliseconds request_wall{5'000};
  // Added to the limits that the child enforces. A child that exceeds the sum is stuck and is killed.
  std::chrono::milliseconds child_grace{10'000};
  // Pause before a second child retries the work on which one died; doubled before the third. A cause outside
  // the document, such as a host that is short of memory, can pass in this time.
  std::chrono::milliseconds crash_pause{2'000};

  // CPU time of the child for one page, including decoding and preparation. It covers libraries that do not
  // check the time: the kernel ends the process.
  std::chrono::milliseconds child_cpu() const { return 2 * page_cpu; }
  // CPU time for one piece of a recording of this length. Speech needs an eighth of it; a piece
  // that is doubted and read three times needs up to two thirds.
  std::chrono::milliseconds piece_cpu(std::chrono::milliseconds length) const {
    return std::chrono::seconds(10) + 4 * length;
  }
};

}  // namespace millrace::engines
