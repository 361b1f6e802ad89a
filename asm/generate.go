package asm

//go:generate go run -C _asm ./adamw -out ../adamw_amd64.s -stubs ../adamw_stub.go -pkg asm
//go:generate go run -C _asm ./bend -out ../bend_amd64.s -stubs ../bend_stub.go -pkg asm
//go:generate go run -C _asm ./double -out ../double_amd64.s -stubs ../double_stub.go -pkg asm
//go:generate go run -C _asm ./gaussian -out ../gaussian_amd64.s -stubs ../gaussian_stub.go -pkg asm
//go:generate go run -C _asm ./gemm -out ../gemm_amd64.s -stubs ../gemm_stub.go -pkg asm
//go:generate go run -C _asm ./gram -out ../gram_amd64.s -stubs ../gram_stub.go -pkg asm
//go:generate go run -C _asm ./philox -out ../philox_amd64.s -stubs ../philox_stub.go -pkg asm
//go:generate go run -C _asm ./probe -out ../probe_amd64.s -stubs ../probe_stub.go -pkg asm
//go:generate go run -C _asm ./math -out ../math_amd64.s -stubs ../math_stub.go -pkg asm
//go:generate go run -C _asm ./hamming -out ../hamming_amd64.s -stubs ../hamming_stub.go -pkg asm
//go:generate go run -C _asm ./metropolis -out ../metropolis_amd64.s -stubs ../metropolis_stub.go -pkg asm
//go:generate go run -C _asm ./spins -out ../spins_amd64.s -stubs ../spins_stub.go -pkg asm
//go:generate go run -C _asm ./piecewise -out ../piecewise_amd64.s -stubs ../piecewise_stub.go -pkg asm
//go:generate go run -C _asm ./conditional -out ../conditional_amd64.s -stubs ../conditional_stub.go -pkg asm
//go:generate go run -C _asm ./dispatch
