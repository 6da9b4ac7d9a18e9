#!/bin/bash
# SPDX-License-Identifier: MIT
# slurm_shard.sh - one shard of a campaign: a task of the array that slurm_submit.sh submits.
#SBATCH --job-name=dxgk-verify
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --requeue
set -euo pipefail

options=(--shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --seeds "${SEEDS:-0..99999}"
	--jobs "${SLURM_CPUS_PER_TASK:-1}" --report "$REPORT/shard-$SLURM_ARRAY_TASK_ID")
[[ -z ${EXERCISER:-} ]] || options+=(--exerciser "$EXERCISER")
[[ -z ${PROFILE:-} ]] || options+=(--profile "$PROFILE")
[[ -z ${BASELINE:-} ]] || options+=(--baseline "$BASELINE")
[[ -z ${MINUTES:-} ]] || options+=(--minutes "$MINUTES")

# A task that is started over (--requeue) goes on where it was.
exec "${DXGK:-dxgk}" verify "${options[@]}" "$DRIVER"
