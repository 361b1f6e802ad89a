# Every target is a step of .ci/run, which is what continuous integration runs,
# or a tool at a pinned version.
GO ?= go

.PHONY: build test vet format lint generate paths purego race arm64 verify ci bench cover picture results golangci vulnerabilities benchstat clean

build:
	$(GO) build -o revgen ./cmd/revgen

test vet format lint generate paths purego race arm64 verify vulnerabilities:
	.ci/run $@

ci:
	.ci/run

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# The README's picture, by the README's first command.
picture: build
	./revgen train -o runs/picture
	cp runs/picture/figures/distributions.svg docs/ising.svg

# docs/results.md and its figures, which takes two hours or more on two
# cores; what was interrupted continues. The program is built so that results
# name its revision.
results:
	$(GO) build -buildvcs=true -o revgen ./cmd/revgen
	./revgen reproduce --preset paper -o runs/results
	./revgen reproduce --preset best --seeds 5 -o runs/results
	./revgen reproduce --study all --seeds 5 -o runs/results
	cp runs/results/results.md docs/results.md
	mkdir -p docs/figures
	cp runs/results/figures/*.svg docs/figures/

cover:
	$(GO) test -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out | tail -n 1

golangci:
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run

# make benchstat OLD=old.txt NEW=new.txt
benchstat:
	$(GO) run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da $(OLD) $(NEW)

clean:
	rm -f revgen coverage.out
