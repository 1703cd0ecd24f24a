package exechandler

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The test binary is its own handler program: with this variable it does what each record's value tells it to.
const programVar = "EXECHANDLER_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(programVar) {
	case "":
		os.Exit(m.Run())
	case "obedient":
		obey()
	case "grandchild":
		grandchild()
	case "silent-exit":
		fmt.Fprintln(os.Stderr, "cannot start today")
		os.Exit(7)
	}
}

// obey reads requests until its input ends, and carries out "VERB ARGUMENT", the value of each.
func obey() {
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			fmt.Fprintln(os.Stderr, "bye")
			return
		}
		var r struct {
			ID    uint64 `json:"id"`
			Value string `json:"value"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			panic(err)
		}
		verb, arg, _ := strings.Cut(r.Value, " ")
		perform(line, r.ID, verb, arg)
	}
}

func perform(line string, id uint64, verb, arg string) {
	answer := func(rest string) { fmt.Printf("{\"id\":%d,%s}\n", id, rest) }
	switch verb {
	case "answer":
		answer(arg)
	case "raw":
		fmt.Println(arg)
	case "echo":
		value, _ := json.Marshal(line)
		answer(`"ok":true,"produce":[{"topic":"echo","value":` + string(value) + `}]`)
	case "pid":
		answer(fmt.Sprintf(`"skip":"%d"`, os.Getpid()))
	case "twice":
		fmt.Printf("{\"id\":%d,\"ok\":true}\n{\"id\":%d,\"ok\":true}\n", id, id)
	case "half":
		fmt.Printf(`{"id":%d,"ok":tr`, id)
		os.Exit(4)
	case "answer-and-exit":
		answer(`"ok":true`)
		os.Exit(0)
	case "long":
		fmt.Print(strings.Repeat("x", number(arg)))
		hang("long")
	case "exit":
		fmt.Fprintln(os.Stderr, "first line\nout of luck")
		os.Exit(number(arg))
	case "flood":
		for i := range number(arg) {
			fmt.Fprintln(os.Stderr, "flood", i)
		}
		answer(`"ok":true`)
	case "hang":
		hang("hangs")
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		hang("hangs")
	case "close-stdin":
		_ = os.Stdin.Close()
		hang("closed")
	case "until-eof":
		fmt.Fprintln(os.Stderr, "at work")
		_, _ = os.Stdin.Read(make([]byte, 1))
		answer(`"ok":true`)
	case "spawn":
		spawn(arg)
		os.Exit(5)
	default:
		panic("no verb " + verb)
	}
}

func hang(lastWord string) {
	fmt.Fprintln(os.Stderr, lastWord)
	select {} // the runtime of a test binary has other goroutines, so this is no deadlock
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// spawn starts a process that holds all three pipes, and returns when it has told the address that it lives.
func spawn(arg string) {
	where, addr, _ := strings.Cut(arg, " ")
	cmd := exec.CommandContext(context.Background(), os.Args[0], addr)
	cmd.Env = append(os.Environ(), programVar+"=grandchild")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if where == "outside" {
		leaveGroup(cmd)
	}
	ready, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	cmd.Args = append(cmd.Args, ready.Addr().String())
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	if _, err := ready.Accept(); err != nil {
		panic(err)
	}
}

// grandchild keeps a connection to the test open for as long as it lives, or until the test closes it.
func grandchild() {
	signal.Ignore(syscall.SIGTERM)
	dialer := new(net.Dialer)
	test, err := dialer.DialContext(context.Background(), "tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	if _, err := dialer.DialContext(context.Background(), "tcp", os.Args[2]); err != nil {
		panic(err)
	}
	_, _ = test.Read(make([]byte, 1))
}
