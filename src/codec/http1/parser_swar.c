/* The head parser in portable C. */
#include "codec/http1/parser.h"
