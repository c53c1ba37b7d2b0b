#include <fstream>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/machines/exec_command.h"
#include "tests/support/temp_dir.h"

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

TEST(ExecBody, TextThatIsNotUtf8IsNamed) {
  const auto problem_of = [](ExecRequest request) {
    std::string problem;
    static_cast<void>(exec_body(request, problem));
    return problem.substr(0, problem.find(" is not UTF-8"));
  };
  EXPECT_EQ(problem_of({.command = {"caf\xe9"}}), "the name of the command");
  EXPECT_EQ(problem_of({.command = {"echo", "caf\xc3\xa9", "caf\xe9"}}), "argument 2 of the command");
  EXPECT_EQ(problem_of({.environment = {"A=1", "B=\xe9"}, .command = {"true"}}), "a value of --env");
  EXPECT_EQ(problem_of({.cwd = "/\xe9", .command = {"true"}}), "--cwd");
  EXPECT_EQ(problem_of({.environment = {"A=\xc3\xa9"}, .command = {"true"}}), "");
}

TEST(ExecBody, StdinThatIsNotUtf8GoesAsBase64) {
  const support::TempDir folder;
  const auto body_with = [&](std::string_view bytes) {
    const std::string path = folder.str() + "/input";
    std::ofstream(path, std::ios::binary) << bytes;
    std::string problem;
    return exec_body({.input = path, .command = {"cat"}}, problem);
  };
  EXPECT_EQ(body_with(std::string_view("\xff\0\x80", 3))["stdin_base64"], "/wCA");
  EXPECT_FALSE(body_with("\xff").contains("stdin"));
  const auto text = body_with(std::string_view("a\0\xc3\xa9", 4));
  EXPECT_EQ(text["stdin"], std::string("a\0\xc3\xa9", 4));
  EXPECT_FALSE(text.contains("stdin_base64"));
  EXPECT_EQ(body_with("")["stdin"], "");
}

}  // namespace
}  // namespace millrace::cli
