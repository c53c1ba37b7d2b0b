#include "ai/engines/protocol/wire.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::engines {
namespace {

using base::Code;

struct Sockets {
  base::Fd near, far;
  Sockets() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    near.reset(ends[0]);
    far.reset(ends[1]);
  }
};

TEST(Wire, APageSurvivesTheWay) {
  Event event;
  event.kind = Event::Kind::kPage;
  event.outcome.index = 7;
  event.outcome.markdown = "# Title \xff broken UTF-8";
  event.outcome.images.push_back({"img-7-0.jpeg", 1, 2, 3, 4, "data:"});
  event.outcome.dimensions = PageDimensions{200, 2339, 1654};
  event.outcome.warnings = {{"unsure", "a \"word\""}, {"other_language", "\xff"}};
  event.outcome.error = base::error(Code::kPageTimeout, "late");
  auto back = decode_event(encode(event));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->outcome.index, 7);
  EXPECT_EQ(back->outcome.markdown, "# Title \ufffd broken UTF-8");
  EXPECT_EQ(back->outcome.images.at(0).y1, 4);
  EXPECT_EQ(back->outcome.dimensions->width, 1654);
  ASSERT_EQ(back->outcome.warnings.size(), 2U);
  EXPECT_EQ(back->outcome.warnings[0].code, "unsure");
  EXPECT_EQ(back->outcome.warnings[0].message, "a \"word\"");
  EXPECT_EQ(back->outcome.error->code, Code::kPageTimeout);
}

TEST(Wire, WarningsOfAHostileChildAreBounded) {
  Event event;
  event.kind = Event::Kind::kPage;
  event.outcome.warnings.assign(100, {"unsure", "text"});
  EXPECT_EQ(decode_event(encode(event))->outcome.warnings.size(), kPageWarningsMax);
  EXPECT_FALSE(decode_event(
      R"({"ev":"page","outcome":{"index":0,"markdown":"","images":[],"warnings":[["unsure",3]]}})"));
  EXPECT_FALSE(
      decode_event(R"({"ev":"page","outcome":{"index":0,"markdown":"","images":[],"warnings":["unsure"]}})"));
}

TEST(Wire, ARequestSurvivesTheWay) {
  Request request;
  request.kind = Request::Kind::kRecognise;
  request.pages = {3, 1};
  request.image_data = true;
  auto back = decode_request(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->pages, (std::vector<int>{3, 1}));
  EXPECT_TRUE(back->image_data);
}

TEST(Wire, FramesAndADescriptorCross) {
  Sockets sockets;
  auto pipe = base::make_pipe();
  ASSERT_TRUE(pipe);
  ASSERT_TRUE(send_frame(sockets.near.get(), "one"));
  ASSERT_TRUE(send_frame(sockets.near.get(), "two", pipe->write.get()));
  FrameReader reader;
  std::vector<std::string> frames;
  while (frames.size() < 2) {
    ASSERT_EQ(reader.read_some(sockets.far.get()), FrameReader::State::kOpen);
    while (auto frame = reader.next()) frames.push_back(*frame);
  }
  EXPECT_EQ(frames, (std::vector<std::string>{"one", "two"}));
  const base::Fd received = reader.take_fd();
  ASSERT_EQ(::write(received.get(), "x", 1), 1);
  char c = 0;
  EXPECT_EQ(::read(pipe->read.get(), &c, 1), 1);
}

TEST(Wire, AFrameThatIsTooLongClosesTheStream) {
  Sockets sockets;
  ASSERT_EQ(::write(sockets.near.get(), "\xff\xff\xff\x7f", 4), 4);
  FrameReader reader;
  EXPECT_EQ(reader.read_some(sockets.far.get()), FrameReader::State::kClosed);
}

TEST(Wire, WhatDoesNotParseIsAnError) {
  for (const std::string frame :
       {"", "[]", "{", "{\"ev\":7}", "{\"ev\":\"page\"}", "{\"ev\":\"page\",\"outcome\":{}}"}) {
    EXPECT_FALSE(decode_event(frame)) << frame;
  }
}

TEST(Wire, AnEventOfAnUnknownNameIsAnError) { EXPECT_FALSE(decode_event("{\"ev\":\"other\"}")); }

TEST(Wire, SendingToAClosedSocketFailsWithoutASignal) {
  Sockets sockets;
  sockets.far.reset();
  EXPECT_FALSE(send_frame(sockets.near.get(), "x"));
}

}  // namespace
}  // namespace millrace::engines
