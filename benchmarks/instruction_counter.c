/* Callgrind's requests as functions: what they enclose is counted, and written to a file of its own. */
#include <valgrind/callgrind.h>

int instruction_counter_ready(void) { return (int)RUNNING_ON_VALGRIND; }
void instruction_counter_start(void) { CALLGRIND_START_INSTRUMENTATION; }
void instruction_counter_zero(void) { CALLGRIND_ZERO_STATS; }
void instruction_counter_dump(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
