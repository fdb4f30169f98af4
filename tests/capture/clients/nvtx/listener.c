// Somebody else's tool: counts pushed and popped ranges.
#include "abi.h"

static int pushed, popped;

static int push(const void *name) {
    (void)name;
    return pushed++;
}

static int pop(void) { return popped++; }

__attribute__((destructor)) static void end(void) { fprintf(stderr, "listener: %d pushed, %d popped\n", pushed, popped); }

int InitializeInjectionNvtx2(export_table_t export_table) {
    const callbacks_t *callbacks = export_table(1);
    void ***table;
    unsigned length;
    if (!callbacks->table_of_module(1, &table, &length))
        return 0;
    *table[8] = *table[9] = push;
    *table[11] = pop;
    return 1;
}
