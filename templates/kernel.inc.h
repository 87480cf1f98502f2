/* One kernel: text to pieces, and (not in a splitter) pieces to ids. GT_WALKS chooses stage two. */
#if GT_WALKS
#include "walk.inc.h"
#else
#include "bits.inc.h"
#endif
#include "chunk.inc.h"
#include "scan.inc.h"
#include "cuts.inc.h"
#ifndef GT_SPLITTER
#include "encode.inc.h"
#include "span.inc.h"
#endif
