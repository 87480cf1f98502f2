/* One kernel: text to pieces to ids. GT_WALKS chooses stage two. */
#if GT_WALKS
#include "walk.inc.h"
#else
#include "boundary.inc.h"
#include "bits.inc.h"
#endif
#include "chunk.inc.h"
#include "scan.inc.h"
#include "encode.inc.h"
#include "span.inc.h"
