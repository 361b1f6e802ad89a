module github.com/revgen/revgen

go 1.26.0

require (
	github.com/google/renameio/v2 v2.0.2
	github.com/klauspost/cpuid/v2 v2.4.2
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.49.0
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
