#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# setup.sh - installs the Debian packages that are missing, and says which and why.
#
# usage: setup.sh group...        groups as in packages.txt: build, test, bench, soak, package
#
# Silent when nothing is missing. Installs as root, or through sudo; without either it prints the
# command to run and fails.
set -euo pipefail

list=$(dirname "$0")/packages.txt

if ! command -v dpkg-query >/dev/null; then
	echo "setup: not a Debian system; these packages, under whatever name, are taken for granted:"
	for group in "$@"; do
		awk -v group="$group" '$1 == group { printf "  %s", $2 } END { print "" }' "$list"
	done
	exit 0
fi

missing=()
reasons=()
while read -r group package reason; do
	[[ " $* " == *" $group "* ]] || continue
	status=$(dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null || true)
	if [[ $status != *"ok installed"* ]]; then
		missing+=("$package")
		reasons+=("$(printf '  %-24s %s' "$package" "$reason")")
	fi
done < <(grep -v '^#' "$list")

[[ ${#missing[@]} -gt 0 ]] || exit 0

echo "setup: missing Debian packages:"
printf '%s\n' "${reasons[@]}"

as_root=()
if [[ $(id -u) -ne 0 ]]; then
	if ! command -v sudo >/dev/null; then
		echo "setup: neither root nor sudo here. Ask someone who is root to run:" >&2
		echo "  apt-get update && apt-get install ${missing[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
	echo "setup: installing them with sudo apt-get"
else
	echo "setup: installing them with apt-get"
fi

by_hand() {
	echo "setup: apt-get failed (see above). To install by hand:" >&2
	echo "  ${as_root[*]:+sudo }apt-get install ${missing[*]}" >&2
	exit 1
}
# What it unpacks is of no interest; what goes wrong comes on stderr.
apt() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@" >/dev/null
}
apt update || by_hand
apt install -y --no-install-recommends "${missing[@]}" || by_hand
