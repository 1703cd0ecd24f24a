.DEFAULT_GOAL := help
.PHONY: test race lint fix explore sim fuzz demo ci help

test: ## run all tests that need nothing but Go
	go test -tags synctests ./...

race: ## run the tests of concurrent packages under the race detector
	.ci/run race

lint: ## vet and golangci-lint; VULN=1 adds govulncheck, which must reach vuln.go.dev
	.ci/run vet lint
ifdef VULN
	go build -C tools -o ../bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	bin/govulncheck -tags synctests ./...
endif

fix: ## rewrite: modernize, format, tidy
	go fix -tags synctests ./...
	go build -C tools -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	bin/golangci-lint fmt
	go mod tidy
	go -C tools mod tidy

explore: ## try every order of events in small worlds on the lane machine
	.ci/run explore

sim: ## simulate whole groups with faults in virtual time
	.ci/run sim

fuzz: ## fuzz every decoder for some seconds
	.ci/run fuzz

demo: ## show it all on this machine, with an embedded broker
	go run ./cmd/processor demo

ci: ## everything that has to hold before a change lands
	.ci/run

help: ## list the targets
	@sed -nE 's/^([a-z]+): ## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12
