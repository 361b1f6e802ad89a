# Every target is a step of .ci/run, which is what continuous integration runs,
# or a tool at a pinned version.
GO ?= go

PREFIX ?= /usr/local

comma := ,

# Where the package for Python goes: the folder below PREFIX where this one looks.
PYTHON ?= python3
PYTHONDIR ?= $(shell $(PYTHON) -c 'import site, sys; below = "$(PREFIX)/lib/"; print(next((d for d in site.getsitepackages() if d.startswith(below)), "%spython%d.%d/site-packages" % (below, *sys.version_info[:2])))' 2>/dev/null)

.PHONY: dist wheel install library embed build test long pages kills mutate vet format lint generate paths purego race arm64 verify ci bench cover picture results studies golangci vulnerabilities benchstat always clean

build:
	$(GO) build -o revgen ./cmd/revgen

test long pages kills vet format lint generate paths purego race arm64 verify embed vulnerabilities:
	.ci/run $@

ci:
	.ci/run

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# The C ABI, docs/embedding.md, as bin/librevgen.so and bin/librevgen.a.
library:
	CGO_ENABLED=1 $(GO) build -buildmode=c-shared -ldflags '-extldflags=-Wl,-z,nodelete,-soname,librevgen.so.1' -o bin/librevgen.so ./cmd/librevgen
	CGO_ENABLED=1 $(GO) build -buildmode=c-archive -o bin/librevgen.a ./cmd/librevgen

# The program, the library and what belongs to them under PREFIX, or under DESTDIR/PREFIX
# for packages. A linker looks in /usr by itself; elsewhere revgen.pc names the folder.
install: build library
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 revgen $(DESTDIR)$(PREFIX)/bin/revgen
	install -m 755 bin/librevgen.so $(DESTDIR)$(PREFIX)/lib/librevgen.so.1
	ln -sf librevgen.so.1 $(DESTDIR)$(PREFIX)/lib/librevgen.so
	install -m 644 bin/librevgen.a $(DESTDIR)$(PREFIX)/lib/librevgen.a
	install -m 644 cmd/librevgen/revgen.h examples/cpp/revgen.hpp examples/fortran/revgen.f90 $(DESTDIR)$(PREFIX)/include/
	sed 's|@PREFIX@|$(PREFIX)|; s|@RPATH@|$(if $(filter /usr,$(PREFIX)),,-Wl$(comma)-rpath$(comma)$${libdir} )|; s|@VERSION@|$(patsubst v%,%,$(or $(VERSION),$(shell $(GO) version -m revgen | awk '$$1 == "mod" { sub(/^v/, "", $$3); print ($$3 ~ /^[0-9]/ ? $$3 : "0.0.0") }')))|' cmd/librevgen/revgen.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/revgen.pc
	$(GO) run ./cmd/internal/dist -library bin/librevgen.so -prefix "$(PREFIX)" -root "$(DESTDIR)" -python "$(PYTHONDIR)" $(if $(VERSION),-version v$(patsubst v%,%,$(VERSION)))
	@[ -z "$(PYTHONDIR)" ] && echo "left out: the package for Python, without $(PYTHON)" || echo "for Python: $(PYTHONDIR)/revgen"

# A release in dist/, docs/cli.md: make dist, in a clone without changes, or
# make dist VERSION=v1.2.3 where there is no repository.
dist:
	$(GO) run ./cmd/internal/dist -o dist $(if $(VERSION),-version $(VERSION))

# The package for Python alone, for this machine's platform.
wheel:
	$(GO) run ./cmd/internal/dist -wheel -o dist $(if $(VERSION),-version $(VERSION))

# The README's picture, by the README's first command.
picture: build
	./revgen train -o runs/picture
	cp runs/picture/figures/distributions.svg docs/ising.svg

# docs/results.md and its figures; what was interrupted continues, and the file says
# what each setting took. The program is built so that results name its revision.
results:
	$(GO) build -buildvcs=true -o revgen ./cmd/revgen
	./revgen reproduce --preset best,quick --seed 11 --seeds 5 -o runs/results
	./revgen reproduce --seed 101 --seeds 5 -o runs/results
	cp runs/results/results.md docs/results.md
	rm -rf docs/figures
	mkdir docs/figures
	grep -o 'figures/[^)]*' docs/results.md | while read -r f; do cp "runs/results/$$f" docs/figures/; done

# The tables behind docs/studies.md, as runs/studies/studies.md, which takes hours; each
# command is a part of it, and each continues where it was interrupted.
studies: bin/studies
	bin/studies -seed 11 -seeds 3 all
	bin/studies -seed 401 neighbours
	bin/studies -seed 11 -seeds 5 field
	bin/studies -seed 11 -seeds 5 protocol

# A program of a module of its own; it is built so that results name its revision.
bin/studies: always
	$(GO) build -C bench/studies -buildvcs=true -o ../../bin/studies .

always:

cover:
	$(GO) test -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out | tail -n 1

# Which changes of the lines changed since REV, the commit before the last if not given, no test
# of their package notices: below the folder IN, everywhere if not given, after all tests there.
mutate:
	cd $(or $(IN),.) && GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.relative GIT_CONFIG_VALUE_0=true $(GO) run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash --diff $(or $(REV),HEAD~)

golangci:
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run

# make benchstat OLD=old.txt NEW=new.txt
benchstat:
	$(GO) run golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da $(OLD) $(NEW)

clean:
	rm -f revgen coverage.out
	rm -rf bin dist
