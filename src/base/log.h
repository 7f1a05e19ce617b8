// The sink for messages, as the public header declares it.
#pragma once

#include <jumok/log.h>
