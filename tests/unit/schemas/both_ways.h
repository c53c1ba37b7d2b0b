#pragma once
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "schemas/chat/chat_quick.h"
#include "schemas/chat/chat_request.h"

namespace millrace::schemas::testing {

inline void expect_same(const ChatRequest& tree, const ChatRequest& quick, const std::string& body) {
  EXPECT_EQ(tree.body, body_of(quick.quick)) << body;
  EXPECT_EQ(tree.models, quick.models) << body;
  EXPECT_EQ(tree.stream, quick.stream) << body;
  EXPECT_EQ(tree.include_usage, quick.include_usage) << body;
  EXPECT_EQ(tree.has_stream_options, quick.has_stream_options) << body;
  EXPECT_EQ(tree.include_obfuscation, quick.include_obfuscation) << body;
  EXPECT_EQ(tree.dropped, quick.dropped) << body;
  EXPECT_EQ(tree.unknown, quick.unknown) << body;
  ChatRequest formed = quick;
  form_body(formed);
  EXPECT_TRUE(formed.quick.empty());
  EXPECT_EQ(chat_spec(tree), chat_spec(formed)) << body;
}

// Calls parse_chat_request. If quick_chat_request, which builds no tree, accepts the body too, both results
// must be the same.
inline tl::expected<ChatRequest, Refusal> parse_both_ways(std::string body) {
  const std::string sent = body;
  std::string for_quick = body;
  const auto quick = quick_chat_request(for_quick);
  auto tree = parse_chat_request(body);
  EXPECT_TRUE(quick || for_quick == sent) << sent;
  EXPECT_TRUE(!quick || tree) << sent;
  if (quick && tree) expect_same(*tree, *quick, sent);
  return tree;
}

}  // namespace millrace::schemas::testing
