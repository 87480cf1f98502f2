/* Every kernel: that of each instruction set, and the walk. Needs tables.h, and gt_thread with what it holds. */
#include "boundary.h"
#define GT_ISA(x) x##_swar
#include "isa_swar.h"
#include "walk.h"
#define GT_WALKS !GT_BITSTREAM
#include "kernel.inc.h"
#undef GT_ISA

#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt")
#define GT_ISA(x) x##_avx2
#include "isa_avx2.h"
#include "kernel.inc.h"
#undef GT_ISA
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,gfni")
#define GT_ISA(x) x##_avx512
#include "isa_avx512.h"
#include "kernel.inc.h"
#undef GT_ISA
#pragma GCC pop_options
#endif

#if defined(__aarch64__)
#define GT_ISA(x) x##_neon
#include "isa_neon.h"
#include "kernel.inc.h"
#undef GT_ISA
#endif

#define GT_ISA(x) x##_automaton
#include "isa_automaton.h"
#undef GT_WALKS
#define GT_WALKS 1
#include "kernel.inc.h"
#undef GT_WALKS
#undef GT_ISA

#include "kernels.h"
