/*
 * seh_host.h - a stand-in for the host under the tests of ddk/excpt.h.
 */
#ifndef TESTS_ABI_DDK_NT_SEH_HOST_H
#define TESTS_ABI_DDK_NT_SEH_HOST_H

#ifdef __cplusplus
extern "C" {
#endif

void seh_host_start(void);
int seh_host_frames(void); /* frames of this thread that were entered and not let go */
int seh_claims_run(void);  /* in seh_claims.inc: the number of claims that failed */

#ifdef __cplusplus
}
#endif

#endif
