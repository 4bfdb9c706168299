#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

/// Values on their way between a program and tessera-decode, which are parts of one build. The same calls in
/// the same order put them in and take them out. A structure S has a function `pass(Message&, S&)`.
class Message {
public:
  /// A message to be filled.
  Message() = default;
  /// A message that came.
  explicit Message(std::string bytes) : bytes_(std::move(bytes)), isRead_(true) {}

  struct Damaged {}; // thrown where a message that came holds less than it says

  const std::string& bytes() const { return bytes_; }

  template <class... Values>
  Message& operator()(Values&... values)
  {
    (one(values), ...);
    return *this;
  }
  /// Puts in values that are const, and gives the message on.
  template <class... Values>
  Message put(Values... values)
  {
    (*this)(values...);
    return std::move(*this);
  }
  template <class Value>
  Value take()
  {
    Value value{};
    one(value);
    return value;
  }

private:
  template <class Value>
  void one(Value& value)
  {
    if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>)
      raw(&value, sizeof value);
    else
      pass(*this, value);
  }
  void one(std::string& text)
  {
    resize(text);
    raw(text.data(), text.size());
  }
  template <class Value>
  void one(std::vector<Value>& values)
  {
    resize(values);
    if constexpr (std::is_arithmetic_v<Value>)
      raw(values.data(), values.size() * sizeof(Value));
    else
      for (Value& value : values)
        one(value);
  }
  template <class Values>
  void resize(Values& values)
  {
    std::size_t count = values.size();
    raw(&count, sizeof count);
    if (isRead_ && count > bytes_.size()) // each value takes at least a byte
      throw Damaged();
    values.resize(count);
  }
  void raw(void* value, std::size_t count)
  {
    if (!isRead_) {
      bytes_.append(static_cast<const char*>(value), count);
    } else if (count > bytes_.size() - at_) {
      throw Damaged();
    } else {
      std::memcpy(value, bytes_.data() + at_, count);
      at_ += count;
    }
  }

  std::string bytes_;
  std::size_t at_ = 0; // of the next value
  bool isRead_ = false;
};

}
