#!/bin/bash
# SPDX-License-Identifier: MIT
# slurm_submit.sh - a campaign as an array job, and a job that merges when all of it is over.
#
# DRIVER and REPORT, a folder that all nodes see, have to be set; SHARDS (100), AT_A_TIME (8), SEEDS (0..99999), MINUTES,
# EXERCISER, PROFILE, BASELINE, DXGK may be. Prints the number of the job that merges.
set -euo pipefail

: "${DRIVER:?the driver, as a whole path}" "${REPORT:?a folder that all nodes see}"
here=$(dirname "$(realpath "$0")")
shards=${SHARDS:-100}
mkdir -p "$REPORT"

array=$(sbatch --parsable --export=ALL --array="0-$((shards - 1))%${AT_A_TIME:-8}" \
	--output="$REPORT/shard-%a.log" "$here/slurm_shard.sh")
sbatch --parsable --export=ALL --dependency="afterany:$array" --output="$REPORT/merge.log" \
	"$here/slurm_merge.sh"
