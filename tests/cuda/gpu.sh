#!/bin/bash
# SPDX-License-Identifier: MIT
# The suite cuda and the measurements on a real GPU, in the folder that tools/gpu_kit.sh made.
# usage: gpu.sh [test|bench|all]
set -o pipefail
cd "$(dirname "$0")" || exit 1
what=${1:-all}
here=$PWD
export LD_LIBRARY_PATH=$here/lib:${LD_LIBRARY_PATH:-} DXGK_DRIVER_PATH=$here/drivers
out=$here/logs # and packed in $OUT, when that is set
mkdir -p "$out"
failed=0
if [ "$what" != bench ] && [ ! -e bin/api_lock_test ]; then
	echo 'gpu.sh: this kit was made of a build without tests, and only measures: gpu.sh bench'
	exit 1
fi

profile() { # name registry
	printf '{"adapters": [{"driver": "cuda", "name": "opendxgk Soft GPU", "registry": {%s}}]}\n' "$2" > "$here/$1.json"
	export DXGK_PROFILE=$here/$1.json
}

tap() { # name program registry variables...
	local name=$1 program=$2
	profile "$name" "$3"
	shift 3
	local begun=$SECONDS
	env "$@" timeout 90 "$here/bin/$program" > "$out/$name.log" 2>&1
	local status=$?
	printf '%-34s rc %3d  ok %2d  not ok %2d  %3d s\n' "$name" $status "$(grep -c '^ok' "$out/$name.log")" \
		"$(grep -c '^not ok' "$out/$name.log")" $((SECONDS - begun))
	if [ $status -ne 0 ]; then
		failed=$((failed + 1))
		grep -v '^ok' "$out/$name.log" | grep -v 'page fault' | head -12 | cut -c1-220
	fi
}

nvidia-smi --query-gpu=name,driver_version,memory.free --format=csv,noheader
if [ "$what" != bench ]; then
	profile info ''
	time timeout 120 bin/dxgk info || failed=$((failed + 1))
	time timeout 120 bin/dxgk info > /dev/null
	unset DXGK_PROFILE
	for script in scripts/*.dxgk; do
		# It looks at memory that may only be where the CPU does not see it.
		[ "$(basename "$script")" != offer.dxgk ] || continue
		timeout 60 bin/dxgk run --driver cuda "$script" > "$out/script.log" 2>&1
		status=$?
		printf '%-34s rc %3d\n' "$(basename "$script")" $status
		[ $status -eq 0 ] || { failed=$((failed + 1)); tail -5 "$out/script.log" | cut -c1-220; }
	done
	plain='"LocalMemoryMiB": 256, "ApertureMiB": 1024'
	small='"LocalMemoryMiB": 8, "ApertureMiB": 16'
	hidden=TEST_HIDDEN_LOCAL=1
	for name in allocation_create gpuva lock offer paging_queue resource_open sync_object threads; do
		tap $name api_${name}_test "$plain"
	done
	tap pressure api_pressure_test "$small"
	tap pressure_physical api_pressure_test "$small, \"AddressModel\": \"physical\"" TEST_MODEL=physical
	tap statistics api_statistics_test "$small"
	tap loop api_loop_test "$small" $hidden
	tap destroyed_memory api_destroyed_memory_test "$small" $hidden
	tap suspend api_suspend_test "$small" $hidden
	tap render_physical api_render_soft_test "$small, \"AddressModel\": \"physical\"" TEST_MODEL=physical $hidden
	tap hw_queues api_hw_soft_test '"LocalMemoryMiB": 64, "ApertureMiB": 128, "HwQueues": 1'
	tap reset api_reset_test '"LocalMemoryMiB": 16, "ApertureMiB": 32, "TdrLimitCount": 100000, "LoseMemoryOnReset": 1' $hidden
	tap flight cuda_flight_test '"LocalMemoryMiB": 16, "ApertureMiB": 32, "TdrDelay": 1, "TdrLimitCount": 100000' $hidden
	# The slab in large pages, and kernels of clients on them.
	hardware='"HardwareAddresses": 1'
	tap pressure_large api_pressure_test "$small, $hardware"
	tap dispatch cuda_dispatch_test "\"LocalMemoryMiB\": 16, \"ApertureMiB\": 32, $hardware, \"TdrDelay\": 1, \"TdrLimitCount\": 100000" $hidden
	export DXGK_PHYSICAL_MIB=8192
	profile example "\"LocalMemoryMiB\": 1024, \"ApertureMiB\": 1024, $hardware"
	time timeout 60 bin/example_dispatch 2>&1 | tee "$out/example.log" || failed=$((failed + 1))
	# Three times the segment is wanted, and every byte compared.
	profile tour '"LocalMemoryMiB": 512, "ApertureMiB": 1024'
	time timeout 100 bin/dxgk tour > "$out/tour.log" 2>&1 || failed=$((failed + 1))
	tail -25 "$out/tour.log"
	unset DXGK_PHYSICAL_MIB
	for shape in 2:32:none 4:48:none 5:57:none 2:32:single 3:39:dual; do
		IFS=: read -r levels bits pages <<< "$shape"
		registry="\"LocalMemoryMiB\": 16, \"ApertureMiB\": 64, \"PageTableLevels\": $levels, \"VirtualAddressBits\": $bits, \"Pages64KiB\": \"$pages\""
		[ $pages = dual ] || tap gpuva_access_$levels$pages api_gpuva_access_test "$registry" $hidden TEST_PAGES_64K=$pages
		tap gpuva_random_$levels$pages api_gpuva_random_test "$registry" $hidden TEST_PAGES_64K=$pages
	done
fi
if [ "$what" != test ]; then
	measure() { # seconds program argument
		timeout "$1" "bin/$2" "$3" 2>&1 | tee -a "$out/bench.txt" || { echo "$2 $3: failed" | tee -a "$out/bench.txt"; failed=$((failed + 1)); }
	}
	: > "$out/bench.txt"
	export DXGK_PHYSICAL_MIB=8192
	profile bench '"LocalMemoryMiB": 24576, "ApertureMiB": 2048'
	for name in pairs packets transfers paging paging-both paging-64k growth; do
		measure 40 cuda_pairs $name
	done
	echo 'the same with the slab in large pages (HardwareAddresses):' | tee -a "$out/bench.txt"
	profile bench_large '"LocalMemoryMiB": 24576, "ApertureMiB": 2048, "HardwareAddresses": 1'
	for name in pairs transfers paging; do
		measure 40 cuda_pairs $name
	done
	echo 'frames that want more than a segment of 16 GiB:' | tee -a "$out/bench.txt"
	export DXGK_PHYSICAL_MIB=36864
	profile frames '"LocalMemoryMiB": 16384, "ApertureMiB": 2048'
	measure 70 cuda_frames 1.25
	measure 70 cuda_frames 1.5
	# What the kernel does meanwhile, for who wants to know where the time goes (dxgk view).
	traced() { # profile program argument
		DXGK_PROFILE=$here/$1.json DXGK_TRACE=$out/$2-$3.trace timeout 40 "bin/$2" "$3" > /dev/null 2>&1
	}
	DXGK_PHYSICAL_MIB=8192 traced bench cuda_pairs paging
	DXGK_PHYSICAL_MIB=8192 traced bench cuda_pairs paging-both
	DXGK_PHYSICAL_MIB=8192 traced bench cuda_pairs paging-64k
	DXGK_PHYSICAL_MIB=8192 traced bench cuda_pairs packets
	traced frames cuda_frames 1.25
fi
[ -z "${OUT:-}" ] || tar czf "$OUT/logs.tgz" -C "$here" logs
echo "failed: $failed"
[ $failed -eq 0 ]
