// SPDX-License-Identifier: MIT
// Calls one of the twins so many times; with a second argument, passes are added as well.
#include "twin.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    std::printf("%.17g\n", add_up(argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 1, argc > 2));
    return 0;
}
