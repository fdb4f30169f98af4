// D5: a library that stands before dlsym, as HAMi's does, and counts the driver's functions that are looked up through it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count;

void *dlsym(void *library, const char *name) {
    static void *(*real)(void *, const char *);
    if (!real)
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    if (strncmp(name, "cu", 2) == 0)
        ++count;
    return real(library, name);
}

__attribute__((destructor)) static void say(void) {
    const char *path = getenv("SECOND_OUT");
    // The recorder's own process has this library, too, and looks nothing up.
    FILE *file = path && count ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%d\n", count);
        fclose(file);
    }
}
