#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/result.h"

// Header fields with parameters (RFC 9110 §5.6.6), as forms have them. Pure.
namespace millrace::front {

// `type; name="value"; …` taken apart from the front.
class HeaderValue {
 public:
  explicit HeaderValue(std::string_view text);

  std::string_view first() const { return first_; }  // what stands before the first parameter
  struct Parameter {
    std::string name;   // in lower case
    std::string value;  // without its quotes; \" \\ and %22 stand for what they mean
  };
  // The next parameter; nullopt: there is none. kBadRequest: what is there is malformed.
  base::Result<std::optional<Parameter>> next();

 private:
  base::Result<std::string> value();
  base::Result<std::string> quoted();

  std::string_view first_, rest_;
};

// The value of a parameter such as filename* (RFC 8187), UTF-8 only; nullopt: it is none.
std::optional<std::string> extended_value(std::string_view text);

std::string lower_case(std::string_view text);
std::string_view without_blanks(std::string_view text);  // around it: spaces and tabs

}  // namespace millrace::front
