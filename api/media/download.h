#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "api/call.h"
#include "api/front/exchange.h"
#include "api/media/file_stream.h"

namespace millrace::api {

// A stored file that a client may download.
struct Download {
  std::string sha256_hex;  // its ETag
  std::string mime_type;
  std::string name;  // perhaps with folders
  std::int64_t bytes = 0;
};

// The head of every response with its bytes, or 304. Browsers neither show nor run the file.
front::Reply download_reply(int status, const Download& download);

// Answers a GET: 304 or 416, or else `send` gets the range and the head of the response.
void answer_download(Call& call, const Download& download,
                     const std::function<void(ByteRange range, front::Reply head)>& send);

}  // namespace millrace::api
