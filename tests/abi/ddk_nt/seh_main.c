/* Runs the claims of seh_claims.inc on seh_host.c and reports as TAP. */
#include <stdio.h>

#include "seh_host.h"

int main(void)
{
	seh_host_start();
	int failed = seh_claims_run();

	printf("1..1\n%s 1 - ddk/excpt.h keeps its promises\n", failed ? "not ok" : "ok");
	return failed != 0;
}
