// SPDX-License-Identifier: Apache-2.0
// Loads the host library that --host names, and what --runtime names as a GPU runtime before it.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  const char* host = nullptr;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--host") == 0) host = argv[i + 1];
    if (std::strcmp(argv[i], "--runtime") == 0 && ::dlopen(argv[i + 1], RTLD_NOW) == nullptr)
      return 3;
  }
  void* const library = host == nullptr ? nullptr : ::dlopen(host, RTLD_NOW);
  auto* const play = library == nullptr
                         ? nullptr
                         : reinterpret_cast<int (*)(int, char**)>(::dlsym(library, "play"));
  if (play == nullptr) {
    std::fprintf(stderr, "no host library: %s\n", ::dlerror());
    return 2;
  }
  return play(argc, argv);
}
