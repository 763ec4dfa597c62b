/* The unit of time, which the library's users share. Pure: policy code includes this and never the clock. */
#ifndef HF_BASE_TIME_H
#define HF_BASE_TIME_H

#include "holdfast/time.h"

#endif
