#include "data/packed.h"

#include <gtest/gtest.h>
