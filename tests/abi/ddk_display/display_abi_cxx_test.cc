/* The same claims for C++: see display_abi_test.c. */
#include "display_abi_test.c"
