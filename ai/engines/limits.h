#pragma once
#include <chrono>
#include <cstdint>

namespace millrace::engines {

// Bounds of one engine child; sent to it at its start.
struct EngineLimits {
  int pages_max = 1000;                         // per document
  std::int64_t image_pixels_max = 100'000'000;  // by the header of an image
  int raster_side_max = 3500;                   // pixels; a larger PDF page is rastered smaller
  std::chrono::milliseconds page_cpu{20'000};   // recognition of one page; beyond it the page fails alone
  // The same by the clock. Long, as children run in SCHED_IDLE: beside other work a good page waits for
  // minutes.
  std::chrono::milliseconds page_wall{600'000};
  std::chrono::milliseconds poppler_cpu{
      10'000};  // text or raster of one page; a text layer that needs more is a bomb

  std::chrono::milliseconds recording_max{4 * 3'600'000};  // stt.duration_max
  int channels_max = 8;                                    // of a recording
  std::chrono::milliseconds decode_cpu{60'000};            // ffmpeg's, for a whole recording
  std::chrono::milliseconds piece_wall{600'000};     // recognition of one piece, by the clock; as page_wall
  std::chrono::milliseconds sentence_cpu{10'000};    // saying one sentence
  std::chrono::milliseconds sentence_wall{60'000};   // and the same by the clock
  std::chrono::milliseconds speech_wall{1'800'000};  // a whole text, by the clock

  // Of a child that does not do what it should, kept by us alone. A request fits into the socket's buffer:
  // one that is not taken within `request_wall` is one that nobody reads.
  std::chrono::milliseconds request_wall{5'000};
  // Beyond the bounds that the child keeps by itself: then it is stuck and is killed.
  std::chrono::milliseconds child_grace{10'000};
  // Before another child is asked what one has died over, and twice as long before the third: what killed it
  // from outside, as a host without memory does, has an end by then.
  std::chrono::milliseconds crash_pause{2'000};

  // What the child itself may use for one page, decoding and preparing included. Where no library asks for
  // the time, the kernel ends it.
  std::chrono::milliseconds child_cpu() const { return 2 * page_cpu; }
  // And for one piece of a recording of this length: speech needs a sixth of it, noise more.
  std::chrono::milliseconds piece_cpu(std::chrono::milliseconds length) const {
    return std::chrono::seconds(10) + 4 * length;
  }
};

}  // namespace millrace::engines
