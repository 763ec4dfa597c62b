/* The fault table. All of it is public: holdfast/classify.h. */
#ifndef HF_POLICY_CLASSIFY_H
#define HF_POLICY_CLASSIFY_H

#include "holdfast/classify.h"

#endif
