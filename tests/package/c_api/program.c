// SPDX-License-Identifier: Apache-2.0
// What a C program records through libfabscope-c.so; check.py looks at the files.
#include <fabscope/c.h>
#include <pthread.h>
#include <stddef.h>

static void* other_thread(void* unused) {
  (void)unused;
  fabscope_pop(0, 0);  // nothing is open here: ignored
  fabscope_push("thread");
  fabscope_pop(5, 5);
  return NULL;
}

int main(void) {
  pthread_t thread;
  for (int round = 0; round < 10; ++round) {
    fabscope_step(round);
    fabscope_push("outer");
    fabscope_push("inner");
    fabscope_pop(100, round);
    fabscope_pop(0, -round);
  }
  if (pthread_create(&thread, NULL, other_thread, NULL) != 0) return 1;
  if (pthread_join(thread, NULL) != 0) return 1;
  fabscope_push(NULL);  // ignored, as the pop that belongs to it
  fabscope_pop(0, 0);
  fabscope_push("");
  fabscope_pop(0, 0);
  fabscope_pop(0, 0);  // ignored
  for (int depth = 0; depth < 70; ++depth) fabscope_push("deep");
  for (int depth = 0; depth < 70; ++depth) fabscope_pop(0, 0);
  fabscope_flush();
  return fabscope_ignored() == 4 + 6 ? 0 : 2;
}
