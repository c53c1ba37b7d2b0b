#pragma once
#include <cstddef>

#include <simdjson.h>

// For this room's sources that read what clients send.
namespace millrace::schemas {

// Small bodies share a parser per thread; a large one takes its own and gives its memory back.
inline constexpr std::size_t kSharedParserMax = 32u << 10;

// The calling thread's, for one document at a time of at most kSharedParserMax bytes.
simdjson::ondemand::parser& shared_parser();

}  // namespace millrace::schemas
