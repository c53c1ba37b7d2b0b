#pragma once
#include "schemas/audio_format.h"

namespace millrace::engines::host {

// True if a recording tells of more bytes than the file has, so that it was cut off: the RIFF size of a wav,
// the Xing or Info frame of an mp3, the boxes of an mp4, the segment of a webm. Heads of streams, whose
// writer did not know how long they would become, tell nothing; nor do the other formats. A little less is
// let pass, for writers count differently.
bool tells_of_more_bytes(int fd, schemas::AudioFormat format);

}  // namespace millrace::engines::host
