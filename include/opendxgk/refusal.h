/* SPDX-License-Identifier: MIT */
/*
 * refusal.h - why a call was refused.
 *
 * Every call that does not succeed leaves a record: which call, which argument, which rule, in one
 * sentence. docs/rules.md lists the rules with the public page each rests on.
 *
 *	struct dxgk_refusal why = { .size_bytes = sizeof(why) };
 *	if (D3DKMTCreateDevice(&args) < 0 && DxgkLastRefusal(&why))
 *		fprintf(stderr, "%s: %s (%s)\n", why.call, why.reason, why.rule);
 */
#ifndef OPENDXGK_REFUSAL_H
#define OPENDXGK_REFUSAL_H

#ifdef __cplusplus
extern "C" {
#endif

struct dxgk_refusal {
	unsigned int size_bytes;     /* in: sizeof(struct dxgk_refusal); the record may grow */
	int status;                  /* NTSTATUS that the call returned */
	unsigned long long sequence; /* counts the refusals of this process, from 1 */
	long long index;             /* which element, when the argument is a list; else -1 */
	char call[64];               /* "D3DKMTDestroyAllocation2" */
	char argument[64];           /* "phAllocationList"; empty when it is not about one */
	char rule[32];               /* "API-HANDLE-KIND" */
	char reason[256];            /* one sentence, starting with the argument */
};

/*
 * The last refusal of a call made by this thread, however long ago; a call that succeeds leaves none of
 * its own. Returns 0 and changes nothing when there was none or size_bytes is too small for the first
 * version of the record; 1 otherwise.
 */
int DxgkLastRefusal(struct dxgk_refusal *refusal);

#ifdef __cplusplus
}
#endif

#endif
