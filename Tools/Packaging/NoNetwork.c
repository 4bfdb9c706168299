/* Stands in the archive for libcurl.so.4, which Debian's HDF5 is linked with for files on the network.
   Tessera opens none, and libcurl would bring 30 more libraries along. Where HDF5 asks for the network after
   all, it is told that there is none. */
#include <stddef.h>

enum { failedInit = 2 }; /* CURLE_FAILED_INIT */

int curl_global_init(long flags)
{
  (void)flags;
  return failedInit;
}

void curl_global_cleanup(void) {}

void* curl_easy_init(void)
{
  return NULL;
}

void curl_easy_cleanup(void* handle)
{
  (void)handle;
}

int curl_easy_perform(void* handle)
{
  (void)handle;
  return failedInit;
}

int curl_easy_setopt(void* handle, int option, ...)
{
  (void)handle;
  (void)option;
  return failedInit;
}

void* curl_slist_append(void* list, const char* text)
{
  (void)list;
  (void)text;
  return NULL;
}

void curl_slist_free_all(void* list)
{
  (void)list;
}
