/* Preloaded into a program, it lets one call of the system library fail: FAULT_CALL names it, FAULT_AT is the number of the call
   from 1 on, FAULT_ERRNO the error (default EIO). Calls are counted from the start of main in the process and in those that it forks.
   FAULT_COUNT names a file into which the number of calls is written at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

static atomic_long calls;
static long failing;
static int failure, isOn;
static char name[32];

__attribute__((constructor(65535))) static void begin(void)
{
  const char* const call = getenv("FAULT_CALL");
  const char* const at = getenv("FAULT_AT");
  const char* const error = getenv("FAULT_ERRNO");
  if (call)
    strncpy(name, call, sizeof name - 1);
  failing = at ? atol(at) : 0;
  failure = error ? atoi(error) : EIO;
}

static int (*realMain)(int, char**, char**);

static int countedMain(int count, char** words, char** environment)
{
  isOn = name[0] != '\0';
  const int code = realMain(count, words, environment);
  isOn = 0;
  return code;
}

int __libc_start_main(int (*program)(int, char**, char**), int count, char** words, void (*first)(void), void (*last)(void),
                      void (*atExit)(void), void* stack)
{
  int (*const real)(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void), void*) =
      dlsym(RTLD_NEXT, "__libc_start_main");
  realMain = program;
  return real(countedMain, count, words, first, last, atExit, stack);
}

__attribute__((destructor)) static void end(void)
{
  const char* const path = getenv("FAULT_COUNT");
  isOn = 0;
  FILE* const file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
  }
}

static int fails(const char* call)
{
  if (!isOn || strcmp(call, name) != 0 || atomic_fetch_add(&calls, 1) + 1 != failing)
    return 0;
  errno = failure;
  return 1;
}

static void* next(const char* call)
{
  return dlsym(RTLD_NEXT, call);
}

void* malloc(size_t bytes)
{
  if (!fails("malloc"))
    return __libc_malloc(bytes);
  errno = ENOMEM;
  return NULL;
}

void* calloc(size_t count, size_t bytes)
{
  if (!fails("malloc"))
    return __libc_calloc(count, bytes);
  errno = ENOMEM;
  return NULL;
}

void* realloc(void* old, size_t bytes)
{
  if (!fails("malloc"))
    return __libc_realloc(old, bytes);
  errno = ENOMEM;
  return NULL;
}

void* aligned_alloc(size_t alignment, size_t bytes)
{
  if (!fails("malloc"))
    return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return NULL;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument)
{
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!real)
    real = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))next("pthread_create");
  return fails("pthread_create") ? EAGAIN : real(thread, attributes, work, argument);
}

#define FAULT(type, call, parameters, arguments)                                                             \
  type call parameters                                                                                       \
  {                                                                                                          \
    static type (*real) parameters;                                                                          \
    if (!real)                                                                                               \
      real = (type(*) parameters)next(#call);                                                                \
    return fails(#call) ? (type)-1 : real arguments;                                                         \
  }

FAULT(ssize_t, read, (int file, void* bytes, size_t count), (file, bytes, count))
FAULT(ssize_t, pread, (int file, void* bytes, size_t count, off_t at), (file, bytes, count, at))
FAULT(ssize_t, write, (int file, const void* bytes, size_t count), (file, bytes, count))
FAULT(int, rename, (const char* from, const char* to), (from, to))
FAULT(int, fsync, (int file), (file))
FAULT(int, mkdir, (const char* path, mode_t mode), (path, mode))

int open(const char* path, int flags, ...)
{
  static int (*real)(const char*, int, ...);
  va_list arguments;
  va_start(arguments, flags);
  const int mode = va_arg(arguments, int);
  va_end(arguments);
  if (!real)
    real = (int (*)(const char*, int, ...))next("open");
  return fails("open") ? -1 : real(path, flags, mode);
}
