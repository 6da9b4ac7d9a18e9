#!/bin/bash
# SPDX-License-Identifier: MIT
# slurm_merge.sh - joins what the shards of slurm_submit.sh found, in REPORT/whole.
#SBATCH --job-name=dxgk-verify-merge
#SBATCH --ntasks=1
set -euo pipefail

options=(--report "$REPORT/whole")
[[ -z ${BASELINE:-} ]] || options+=(--baseline "$BASELINE")
exec "${DXGK:-dxgk}" verify merge "${options[@]}" "$REPORT"/shard-*/
