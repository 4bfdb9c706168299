#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

namespace tessera {

/// One end of a stream of numbers and texts between two processes of the same program.
class Channel {
public:
  explicit Channel(int socket) : socket_(socket) {}
  ~Channel() { close(socket_); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  struct Ended {}; // the other process has gone

  /// The bytes are sent by flush(), and before anything is received.
  void putBytes(const void* bytes, std::size_t count)
  {
    if (count < smallBytes) {
      waiting_.append(static_cast<const char*>(bytes), count);
      return;
    }
    flush();
    sendAll(static_cast<const char*>(bytes), count);
  }
  void flush()
  {
    sendAll(waiting_.data(), waiting_.size());
    waiting_.clear();
  }
  void getBytes(void* bytes, std::size_t count)
  {
    flush();
    for (char* next = static_cast<char*>(bytes); count > 0;) {
      if (at_ == received_.size())
        receive();
      const std::size_t part = std::min(count, received_.size() - at_);
      std::memcpy(next, received_.data() + at_, part);
      next += part;
      at_ += part;
      count -= part;
    }
  }

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void put(T value) { putBytes(&value, sizeof value); }
  void put(const std::string& text)
  {
    put(text.size());
    putBytes(text.data(), text.size());
  }
  template <class T>
  void put(const std::vector<T>& values)
  {
    put(values.size());
    for (const T& value : values)
      put(value);
  }

  template <class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void get(T& value)
  {
    getBytes(&value, sizeof value);
  }
  void get(std::string& text)
  {
    text.resize(count());
    getBytes(text.data(), text.size());
  }
  template <class T>
  void get(std::vector<T>& values)
  {
    values.resize(count());
    for (T& value : values)
      get(value);
  }

private:
  static constexpr std::size_t smallBytes = 1 << 16, receivedAtOnce = 1 << 18;

  void sendAll(const char* next, std::size_t count)
  {
    while (count > 0) {
      const ssize_t sent = send(socket_, next, std::min(count, std::size_t(1) << 30), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR)
        continue;
      if (sent <= 0)
        throw Ended();
      next += sent;
      count -= static_cast<std::size_t>(sent);
    }
  }
  void receive()
  {
    received_.resize(receivedAtOnce);
    ssize_t got = 0;
    while ((got = recv(socket_, received_.data(), received_.size(), 0)) < 0 && errno == EINTR)
      ;
    received_.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    at_ = 0;
    if (got <= 0)
      throw Ended();
  }
  std::size_t count()
  {
    std::size_t count = 0;
    get(count);
    return count;
  }

  int socket_;
  std::string waiting_;
  std::vector<char> received_;
  std::size_t at_ = 0; // of the next byte in received_
};

}
