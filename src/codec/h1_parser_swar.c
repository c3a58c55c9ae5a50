/* The head parser in portable C. */
#include "codec/h1_parser.h"
