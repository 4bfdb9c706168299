/* Lies in the archive beside Debian's libstdc++ and libexpat, which take these two functions from glibc 2.36.
   The archive shall run with glibc 2.34: lower-needed-versions makes both libraries take them from here. */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void arc4random_buf(void* buffer, size_t size)
{
  for (unsigned char* at = buffer; size > 0;) {
    const ssize_t count = getrandom(at, size, 0);
    if (count >= 0) {
      at += count;
      size -= (size_t)count;
    } else if (errno != EINTR)
      abort(); /* These functions cannot fail, and no other source is as good: so does glibc. */
  }
}

unsigned arc4random(void)
{
  unsigned value = 0;
  arc4random_buf(&value, sizeof value);
  return value;
}
