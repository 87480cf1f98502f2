/* The per-ISA vocabulary (see isa_swar.h) of the kernel `automaton`: that of any CPU. */
#define gt_classify_automaton gt_classify_swar
#define gt_deposit_automaton gt_deposit_swar
#define gt_flatten_automaton gt_flatten_swar
#define gt_push_zero_automaton gt_push_zero_swar
#define gt_wide_cuts_automaton gt_wide_cuts_swar
