#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/machines/exec_command.h"

namespace millrace::cli {
namespace {

TEST(ExecBody, ErrorsOfFieldsNameTheirFlags) {
  EXPECT_EQ("--cwd: String should have no NUL character",
            with_flag_names("cwd: String should have no NUL character"));
  EXPECT_EQ("--timeout: too long; --env A: no text",
            with_flag_names("timeout_ms: too long; body.env.A: no text"));
  EXPECT_EQ("the command: List should have at least 1 item; --stdin: too long",
            with_flag_names("body.command: List should have at least 1 item; body.stdin: too long"));
}

TEST(ExecBody, WhatNamesNoFieldStaysAsItIs) {
  for (const char* text : {"", "the machine is gone", "environment: odd", "body.other: odd", "cwd"})
    EXPECT_EQ(text, with_flag_names(text));
}

std::string problem_with_timeout(const char* timeout) {
  ExecRequest request;
  request.timeout = timeout;
  request.command = {"true"};
  std::string problem;
  static_cast<void>(exec_body(request, problem));
  return problem;
}

TEST(ExecBody, ATimeOutIsOneThatTheGatewayTakes) {
  for (const char* good : {"1ms", "90s", "24h"}) EXPECT_EQ("", problem_with_timeout(good)) << good;
  for (const char* bad : {"soon", "0s", "25h"}) EXPECT_NE("", problem_with_timeout(bad)) << bad;
}

}  // namespace
}  // namespace millrace::cli
