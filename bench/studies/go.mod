module github.com/revgen/revgen/bench/studies

go 1.26.0

require (
	github.com/revgen/revgen v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.49.0
)

require (
	github.com/expr-lang/expr v1.17.8 // indirect
	github.com/google/renameio/v2 v2.0.2 // indirect
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

replace github.com/revgen/revgen => ../..
