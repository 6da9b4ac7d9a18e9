#ifndef OPENDXGK_DDK_EXCPT_H
#define OPENDXGK_DDK_EXCPT_H
#include "ntdef.h"
#endif
