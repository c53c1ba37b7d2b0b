#include "platform/net/sse_reader.h"

#include <vector>

#include <gtest/gtest.h>

namespace millrace::net {
namespace {

std::vector<SseEvent> read_in_pieces(const std::string& text, std::size_t cut) {
  std::vector<SseEvent> events;
  SseReader reader([&](const SseEvent& event) { events.push_back(event); });
  EXPECT_TRUE(reader.feed(std::string_view(text).substr(0, cut)));
  EXPECT_TRUE(reader.feed(std::string_view(text).substr(cut)));
  return events;
}

TEST(SseReader, AnEventIsTheSameWhereverItsBytesAreCut) {
  const std::string text =
      "\xEF\xBB\xBF: hello\r\nid: 7\r\nevent: page\r\ndata: one\r\ndata:two\r\n\r\ndata\n\nid: 8\rdata: "
      "x\r\r";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const auto events = read_in_pieces(text, cut);
    ASSERT_EQ(3u, events.size()) << cut;
    EXPECT_EQ("7", events[0].id);
    EXPECT_EQ("page", events[0].event);
    EXPECT_EQ("one\ntwo", events[0].data);
    EXPECT_EQ("message", events[1].event);
    EXPECT_EQ("", events[1].data);
    EXPECT_EQ("8", events[2].id);
    EXPECT_EQ("x", events[2].data);
  }
}

TEST(SseReader, AnEventWithoutDataIsNotDispatchedAndItsNameIsForgotten) {
  std::vector<SseEvent> events;
  SseReader reader([&](const SseEvent& event) { events.push_back(event); });
  ASSERT_TRUE(reader.feed("event: a\n\ndata: b\n\n"));
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ("message", events[0].event);
}

TEST(SseReader, AnEventAboveTheBoundEndsTheStream) {
  SseReader reader([](const SseEvent&) { FAIL() << "no event is complete"; }, 16);
  EXPECT_FALSE(reader.feed("data: " + std::string(64, 'x')));
  EXPECT_FALSE(reader.feed("\n\n"));
}

TEST(SseReader, LinesThatAreNoFieldAreKeptAside) {
  int events = 0;
  SseReader reader([&](const SseEvent&) { ++events; });
  EXPECT_TRUE(reader.feed("data: 1\n\n: note\nretry: 5\n"));
  EXPECT_EQ(reader.stray(), "");
  EXPECT_TRUE(reader.feed("{\n  \"error\": {}\n}"));
  EXPECT_EQ(reader.stray(), "{\n  \"error\": {}\n}");
  EXPECT_EQ(events, 1);
}

TEST(SseReader, WhatIsKeptAsideIsBounded) {
  SseReader reader([](const SseEvent&) {});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(reader.feed(std::string(1000, 'x') + "\n"));
  EXPECT_LE(reader.stray().size(), kSseStrayBytesMax);
}

}  // namespace
}  // namespace millrace::net
