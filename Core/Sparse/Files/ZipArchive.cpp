#include "Core/Sparse/Files/ZipArchive.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/Files/Deflate.h"

#include <algorithm>
#include <bit>

#include <zlib.h>

namespace tessera {
namespace {

constexpr std::uint32_t localMark = 0x04034b50, memberMark = 0x02014b50, endMark = 0x06054b50,
                        end64Mark = 0x06064b50, locatorMark = 0x07064b50;
constexpr std::uint64_t endBytes = 22, locatorBytes = 20, entryBytes = 46, localBytes = 30,
                        longestComment = 65535;
constexpr std::uint64_t in64 = 0xffffffff; // marks a length that stands in a 64-bit field
constexpr std::uint32_t stored = 0, deflated = 8;

static_assert(std::endian::native == std::endian::little);

template <class T>
void put(std::string& text, T value)
{
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t crcOf(std::string_view bytes, std::uint32_t crc = 0)
{
  if (bytes.empty()) // crc32_z takes a null pointer as a request for its initial value
    return crc;
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}

void ZipReader::fail(const std::string& wrong, const std::string& allowed) const
{
  failAs(ExitCode::unreadableInput, path_, wrong, allowed);
}

std::uint64_t ZipReader::number(std::uint64_t at, int bytes) const
{
  if (at > block_->bytes() || block_->bytes() - at < static_cast<std::uint64_t>(bytes))
    fail("the zip file ends too early", "a whole file; it may have been cut off while it was copied");
  std::uint64_t value = 0;
  std::memcpy(&value, block_->data() + at, static_cast<std::size_t>(bytes));
  return value;
}

ZipReader::Member ZipReader::memberAt(std::uint64_t at) const
{
  Member member{.start = number(at + 42, 4),
                .compressed = number(at + 20, 4),
                .bytes = number(at + 24, 4),
                .crc = static_cast<std::uint32_t>(number(at + 16, 4)),
                .method = static_cast<std::uint32_t>(number(at + 10, 2))};
  std::uint64_t extra = at + entryBytes + number(at + 28, 2);
  const std::uint64_t extraEnd = extra + number(at + 30, 2);
  while (extra + 4 <= extraEnd) {
    std::uint64_t field = extra + 4;
    if (number(extra, 2) == 1) // holds the 64-bit value of each field that is full, in this order
      for (std::uint64_t* each : {&member.bytes, &member.compressed, &member.start})
        if (*each == in64) {
          *each = number(field, 8);
          field += 8;
        }
    extra += 4 + number(extra + 2, 2);
  }
  return member;
}

void ZipReader::readDirectory()
{
  const std::uint64_t size = block_->bytes();
  const auto wrong = [&] {
    fail("no zip file, or one that was cut off", "what numpy or scipy.sparse.save_npz wrote");
  };
  if (size < endBytes)
    wrong();
  std::uint64_t end = size - endBytes;
  while (number(end, 4) != endMark) {
    if (end == 0 || size - end > endBytes + longestComment)
      wrong();
    --end;
  }
  std::uint64_t count = number(end + 10, 2), at = number(end + 16, 4);
  if (end >= locatorBytes && number(end - locatorBytes, 4) == locatorMark) {
    const std::uint64_t end64 = number(end - locatorBytes + 8, 8);
    if (number(end64, 4) != end64Mark)
      wrong();
    count = number(end64 + 32, 8);
    at = number(end64 + 48, 8);
  }
  for (; count > 0; --count) {
    if (number(at, 4) != memberMark)
      wrong();
    const std::uint64_t nameBytes = number(at + 28, 2), extraBytes = number(at + 30, 2),
                        commentBytes = number(at + 32, 2);
    number(at + entryBytes + nameBytes + extraBytes + commentBytes, 0);
    members_[std::string(text().substr(at + entryBytes, nameBytes))] = memberAt(at);
    at += entryBytes + nameBytes + extraBytes + commentBytes;
  }
}

Array<char> ZipReader::read(const std::string& name, double most) const
{
  const Member& member = members_.at(name);
  if (static_cast<double>(member.bytes) > most)
    fail("member " + name + " has " + std::to_string(member.bytes) + " bytes",
         "at most " + std::to_string(static_cast<std::uint64_t>(most)) + " beside the other members");
  if (number(member.start, 4) != localMark)
    fail("member " + name + " is not where the directory says", "a whole zip file");
  const std::uint64_t start =
      member.start + localBytes + number(member.start + 26, 2) + number(member.start + 28, 2);
  if (start > block_->bytes() || block_->bytes() - start < member.compressed)
    fail("member " + name + " is cut off", "a whole file; it may have been cut off while it was copied");
  if (member.method != stored && member.method != deflated)
    fail("member " + name + " is packed by method " + std::to_string(member.method),
         "stored or deflated members");
  const std::string_view packed = text().substr(start, member.compressed);
  Array<char> bytes = member.method == stored ? Array<char>(block_, start, member.compressed)
                                              : inflatedRaw(packed, member.bytes, path_ + ": member " + name);
  if (crcOf({bytes.data(), bytes.size()}) != member.crc)
    fail("member " + name + " has another checksum than the file says", "a file that is not damaged");
  return bytes;
}

void ZipWriter::add(const std::string& name, std::string_view head, std::string_view data)
{
  const std::uint64_t bytes = head.size() + data.size(), start = written_;
  const std::uint32_t crc = crcOf(data, crcOf(head));
  const bool large = bytes >= in64, far = start >= in64;
  const std::uint16_t version = large || far ? 45 : 20;
  std::string fields; // part of both the local header and the directory
  for (const std::uint16_t value :
       {version, std::uint16_t(0), std::uint16_t(stored), std::uint16_t(0), std::uint16_t(0x21)})
    tessera::put(fields, value); // version, flags, method, time, date (1980-01-01)
  tessera::put(fields, crc);
  tessera::put(fields, static_cast<std::uint32_t>(large ? in64 : bytes));
  tessera::put(fields, static_cast<std::uint32_t>(large ? in64 : bytes));
  tessera::put(fields, static_cast<std::uint16_t>(name.size()));

  std::string sizes; // contents of the field for 64-bit sizes
  if (large) {
    tessera::put(sizes, bytes);
    tessera::put(sizes, bytes);
  }
  const auto extra = [](const std::string& numbers) {
    std::string text;
    if (!numbers.empty()) {
      tessera::put(text, std::uint16_t(1));
      tessera::put(text, static_cast<std::uint16_t>(numbers.size()));
    }
    return text + numbers;
  };
  std::string local;
  tessera::put(local, localMark);
  local += fields;
  tessera::put(local, static_cast<std::uint16_t>(extra(sizes).size()));
  put(local + name + extra(sizes));
  sink_(head);
  sink_(data);
  written_ += bytes;

  if (far)
    tessera::put(sizes, start);
  tessera::put(directory_, memberMark);
  tessera::put(directory_, version);
  directory_ += fields;
  tessera::put(directory_, static_cast<std::uint16_t>(extra(sizes).size()));
  directory_.append(10, '\0'); // lengths of comments, numbers of disks, attributes
  tessera::put(directory_, static_cast<std::uint32_t>(far ? in64 : start));
  directory_ += name + extra(sizes);
  ++members_;
}

void ZipWriter::finish()
{
  const std::uint64_t start = written_, bytes = directory_.size();
  put(directory_);
  std::string end;
  if (start >= in64) {
    const std::uint64_t end64 = written_;
    tessera::put(end, end64Mark);
    tessera::put(end, std::uint64_t(44));
    tessera::put(end, std::uint32_t(45 | 45 << 16));
    tessera::put(end, std::uint64_t(0)); // numbers of disks
    for (const std::uint64_t value : {members_, members_, bytes, start})
      tessera::put(end, value);
    tessera::put(end, locatorMark);
    tessera::put(end, std::uint32_t(0));
    tessera::put(end, end64);
    tessera::put(end, std::uint32_t(1));
  }
  tessera::put(end, endMark);
  tessera::put(end, std::uint32_t(0)); // numbers of disks
  tessera::put(end, static_cast<std::uint16_t>(members_));
  tessera::put(end, static_cast<std::uint16_t>(members_));
  tessera::put(end, static_cast<std::uint32_t>(bytes));
  tessera::put(end, static_cast<std::uint32_t>(std::min(start, in64)));
  tessera::put(end, std::uint16_t(0));
  put(end);
}

}
