#include "text/unicode.h"

#include <gtest/gtest.h>
