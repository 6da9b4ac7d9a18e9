#!/bin/bash
# SPDX-License-Identifier: MIT
# parallel.sh - a campaign by GNU parallel. What was interrupted goes on when it is called again (--resume).
#
# DRIVER and REPORT have to be set; SHARDS (50), AT_A_TIME (processors), SEEDS (0..9999), EXERCISER, DXGK may be.
set -uo pipefail

: "${DRIVER:?the driver}" "${REPORT:?a folder}"
dxgk=${DXGK:-dxgk}
shards=${SHARDS:-50}
seeds=${SEEDS:-0..9999}
mkdir -p "$REPORT"

shard() {
	"$dxgk" verify --shard "$1/$shards" --seeds "$seeds" --jobs 1 ${EXERCISER:+--exerciser "$EXERCISER"} \
		--report "$REPORT/shard-$1" "$DRIVER" > "$REPORT/shard-$1.log" 2>&1
}
export -f shard
export dxgk shards seeds DRIVER REPORT EXERCISER SHELL=$BASH

# It returns how many shards found something; merge says what.
seq 0 $((shards - 1)) | parallel --will-cite --joblog "$REPORT/log" --resume -j "${AT_A_TIME:-100%}" shard
exec "$dxgk" verify merge --report "$REPORT/whole" "$REPORT"/shard-*/
