#!/usr/bin/env bash
# Builds the Containerfile and what the Apptainer definition says, from a clean copy of
# the tree and without a network: the image golang is a static shell, beside which this
# machine's Go, its modules and what it has compiled are mounted. Needs root, buildah and
# busybox-static.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
driver=overlay
grep -qw overlay /proc/filesystems || driver=vfs # which copies every layer
storage=(--root "$dir/storage" --runroot "$dir/run" --storage-driver "$driver")
trap 'buildah "${storage[@]}" umount -a >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
version=v0.0.0-test
said="revgen $version"

mkdir -p "$dir/src" "$dir/base/bin" "$dir/base/usr/local/go" "$dir/base/proxy" "$dir/base/tmp" "$dir/base/etc" "$dir/base/root"
git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$dir/src"

# The base, and what is mounted: Go, its modules as a proxy, and its cache, by which the
# same package with the same flags is compiled once on a machine.
go mod download
mounted=(--volume "$(go env GOROOT):/usr/local/go:ro" --volume "$(go env GOMODCACHE)/cache/download:/proxy:ro" --volume "$(go env GOCACHE):/root/.cache/go-build")
cp "$(command -v busybox)" "$dir/base/bin/busybox"
for tool in sh mkdir cat cp ls; do ln -s busybox "$dir/base/bin/$tool"; done
base=$(buildah "${storage[@]}" from scratch)
buildah "${storage[@]}" copy -q "$base" "$dir/base" / >/dev/null
buildah "${storage[@]}" config --env PATH=/usr/local/go/bin:/bin --env HOME=/root --env GOPROXY=file:///proxy --env GOTOOLCHAIN=local "$base"
buildah "${storage[@]}" commit -q "$base" docker.io/library/golang:1.26 >/dev/null
buildah "${storage[@]}" rm "$base" >/dev/null

buildah "${storage[@]}" build --pull=never --isolation chroot "${mounted[@]}" -f "$dir/src/examples/containers/Containerfile" \
  --build-arg VERSION="$version" -t revgen "$dir/src" >"$dir/log" 2>&1 || { tail -n 30 "$dir/log"; exit 1; }
grep -qx "$said" "$dir/log"

# The image: two files, a static program that says its version and works.
container=$(buildah "${storage[@]}" from --pull=never revgen)
root=$(buildah "${storage[@]}" mount "$container")
files=$(cd "$root" && find . -type f | sort | tr '\n' ' ')
[ "$files" = "./usr/bin/revgen ./usr/share/doc/revgen/LICENSE " ] || { echo "in the image: $files"; exit 1; }
[ "$(chroot "$root" /usr/bin/revgen --version)" = "$said" ]
[ "$(buildah "${storage[@]}" inspect --format '{{.OCIv1.Config.Entrypoint}}' "$container")" = "[/usr/bin/revgen]" ]
mkdir "$root/data"
chroot "$root" /usr/bin/revgen train --set training.steps=10 --set evaluation.samples=500 -o /data/run -q >/dev/null
chroot "$root" /usr/bin/revgen sample /data/run -n 1000 -o /data/samples.npy -q
echo "the image of the Containerfile: $(stat -c %s "$root/usr/bin/revgen") bytes of program, $said"

# The definition's first stage as it is written, but for its base, and what the second
# one copies.
section() { sed -n "/^%$1\$/,/^[%B]/p" "$dir/src/examples/containers/revgen.def" | sed '1d;/^[%B]/d'; }
{ echo "FROM docker.io/library/golang:1.26 AS build"
  echo "COPY . /src"
  printf '%s\n' "$(section post)" | sed "s/{{ VERSION }}/$version/" >"$dir/src/post.sh"
  echo "COPY post.sh /post.sh"
  echo "RUN sh -e /post.sh"
  echo "FROM scratch"
  section 'files from build' | grep . | while read -r from to; do echo "COPY --from=build $from $to"; done
} >"$dir/Definition"
[ "$(grep -c ^COPY "$dir/Definition")" = 4 ]
buildah "${storage[@]}" build --pull=never --isolation chroot "${mounted[@]}" -f "$dir/Definition" -t defined "$dir/src" >"$dir/log" 2>&1 || { tail -n 30 "$dir/log"; exit 1; }
container=$(buildah "${storage[@]}" from --pull=never defined)
root=$(buildah "${storage[@]}" mount "$container")
[ "$(chroot "$root" $(section test))" = "$said" ]
echo "the definition: its stages, built by buildah; left out: apptainer itself, which takes its bases from a registry"
