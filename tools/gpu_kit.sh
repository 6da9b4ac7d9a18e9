#!/bin/sh
# SPDX-License-Identifier: MIT
# A folder with all that gpu.sh needs on a machine with a GPU, which has to have nothing but a C library: copied there, it runs.
# usage: gpu_kit.sh BUILD-FOLDER NEW-FOLDER
set -e
build=$1
kit=$2
cd "$(dirname "$0")/.."
rm -rf "$kit"
mkdir -p "$kit/bin" "$kit/lib" "$kit/drivers" "$kit/scripts"
programs=
# A build without tests makes a kit that only measures.
! ninja -C "$build" -t query tests/api/api_lock_test > "$kit/build.log" 2>&1 ||
	programs='allocation_create gpuva lock offer paging_queue resource_open sync_object threads pressure statistics loop destroyed_memory suspend
	render_soft hw_soft reset gpuva_access gpuva_random'
# Tests start a second kernel, whose adapter is the software GPU.
drivers='cuda soft'
targets='cli/dxgk bench/cuda_pairs bench/cuda_frames drivers/cuda/cuda_runner'
[ -z "$programs" ] || targets="$targets tests/cuda/cuda_dispatch_test tests/cuda/cuda_flight_test examples/kernels/example_dispatch"
for name in $drivers; do
	targets="$targets drivers/$name/$name.so"
done
for name in $programs; do
	targets="$targets tests/api/api_${name}_test"
done
ninja -C "$build" $targets > "$kit/build.log" || { tail -20 "$kit/build.log"; exit 1; }
cp "$build"/cli/dxgk "$build"/bench/cuda_pairs "$build"/bench/cuda_frames "$kit/bin"
for name in $programs; do
	cp "$build/tests/api/api_${name}_test" "$kit/bin"
done
[ -z "$programs" ] || cp "$build"/tests/cuda/cuda_dispatch_test "$build"/tests/cuda/cuda_flight_test "$build"/examples/kernels/example_dispatch "$kit/bin"
for name in $drivers; do
	cp "$build/drivers/$name/$name.so" "$kit/drivers"
done
cp "$build"/drivers/cuda/cuda_runner "$kit/drivers"
cp "$build"/src/thunk/libdxcore.so "$build"/embed/libdxgk.so.0 "$kit/lib"
ldd "$kit"/bin/* | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u |
	grep -v -e '/libc\.so' -e '/libm\.so' -e '/ld-linux' -e libdx | xargs -I{} cp -L {} "$kit/lib"
strip -g "$kit"/bin/* "$kit"/drivers/cuda_runner "$kit"/lib/libdx* 2> "$kit/build.log"
rm "$kit/build.log"
cp examples/*.dxgk "$kit/scripts"
cp tests/cuda/gpu.sh "$kit"
du -sh "$kit"
