# SPDX-License-Identifier: MIT
# The commands a newcomer types; the rest is Meson's. `make run` and `make test` install what is
# missing on a Debian system first (tools/packages.txt says what and why).

PREFIX ?= /usr/local
DESTDIR ?=
VARIANTS ?=
TESTS ?=
MISSED ?=
ADAPTER ?=

help:
	@echo 'make run            build the programs, start the default adapter, show it (dxgk info),'
	@echo '                    the life of an allocation (examples/allocation_life.c), and a tour:'
	@echo '                    clients that want more memory than there is (dxgk tour)'
	@echo '                    (ADAPTER=cuda: on an NVIDIA GPU, not the software GPU)'
	@echo 'make test           the whole suite: plain, sanitizers, threads, checks of the tree'
	@echo '                    (VARIANTS="plain asan tsan clang" chooses some of them,'
	@echo '                    TESTS="handle/table model/*" some programs)'
	@echo 'make coverage       lines and branches of src/ that the tests pass, per folder'
	@echo '                    (MISSED=src/vidmm lists what they miss there)'
	@echo 'make bench          measure'
	@echo 'make test-gpu       the suite cuda, on an NVIDIA GPU'
	@echo 'make bench-gpu      measure that'
	@echo 'make soak           the long tests, which make test leaves out'
	@echo 'make install        install under PREFIX ($(PREFIX)), below DESTDIR if set'
	@echo 'make dist           the source as an archive, in build-dist: the same bytes whoever makes it'
	@echo 'make deb            packages for Debian, in build-deb'
	@echo 'make docs-pictures  draw the pictures of docs/seeing.md again'
	@echo 'make format         lay out the code with clang-format'
	@echo 'make abi-baseline   accept the exported ABI as it is now'
	@echo 'make clean          remove the build directories'

ifneq ($(ADAPTER),)
run: export DXGK_PROFILE := build/run.json
endif
run:
	@tools/setup.sh build
	@python3 tools/variants.py plain -Dtests=true
	@python3 tools/build.py plain programs
	@printf '{"adapters": [{"driver": "%s", "name": "GPU", "registry": {"LocalMemoryMiB": 64, "ApertureMiB": 256}}]}\n' \
		'$(or $(ADAPTER),soft)' > build/run.json
	build/cli/dxgk info
	@echo
	@echo 'DXGK_LOG=calls build/examples/allocation_life'
	@life=$$(DXGK_LOG=calls build/examples/allocation_life 2>&1) || { echo "$$life"; exit 1; }; \
	echo "$$life" | sed -e '/DxgkDdiCreateAllocation/,/^destroyed  /!{/^dxgk:/d;}' \
		-e 's/^dxgk:/    dxgk:/'
	@echo
	build/cli/dxgk tour --html build/tour.html

test:
	@tools/setup.sh build test
	@python3 tools/run_tests.py $(patsubst %,--test '%',$(TESTS)) $(VARIANTS)

soak:
	@tools/setup.sh build test soak package
	@python3 tools/run_tests.py --suite soak $(or $(VARIANTS),plain asan)

coverage:
	@tools/setup.sh build test
	@python3 tools/coverage.py $(if $(MISSED),--keep --missed '$(MISSED)')

bench:
	@tools/setup.sh build bench
	@python3 tools/variants.py release
	@python3 tools/build.py release
	@test -f bench/run.py || { echo 'no benchmarks built: there is no bench/run.py'; exit 1; }
	@python3 bench/run.py build-release

test-gpu:
	@tools/setup.sh build test
	@python3 tools/variants.py plain -Dtests=true
	@tools/gpu_kit.sh build build-gpu
	build-gpu/gpu.sh test

bench-gpu:
	@tools/setup.sh build bench
	@python3 tools/variants.py release
	@tools/gpu_kit.sh build-release build-gpu
	build-gpu/gpu.sh bench

install:
	@tools/setup.sh build
	@python3 tools/variants.py release -Dprefix='$(abspath $(PREFIX))'
	@python3 tools/build.py release programs
	DESTDIR='$(DESTDIR)' meson install -C build-release --no-rebuild --quiet
	@test -n '$(DESTDIR)' || python3 tools/after_install.py

dist:
	@python3 tools/dist.py build-dist

deb:
	@tools/setup.sh build package
	@python3 tools/deb.py build-deb

format:
	@tools/setup.sh test
	@python3 tools/check_format.py --fix

docs-pictures:
	@tools/setup.sh build test
	@python3 tools/variants.py plain -Dtests=true
	@python3 tools/build.py plain programs
	@python3 tools/docs_pictures.py build/cli/dxgk docs/pictures

abi-baseline:
	@tools/setup.sh build test
	@python3 tools/variants.py plain -Dtests=true
	@python3 tools/build.py plain programs
	@python3 tools/check_exports.py --new-baseline build/src/thunk/libdxcore.so build/embed/libdxgk.so build/umd/libdxgkumd.so.0

clean:
	rm -rf build build-gpu build-asan build-tsan build-clang build-coverage build-release build-dist build-deb

.PHONY: help run test soak coverage bench test-gpu bench-gpu install dist deb format docs-pictures abi-baseline clean
