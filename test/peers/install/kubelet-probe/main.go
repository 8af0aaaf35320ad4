// Command kubelet-probe runs the probe that a kubelet runs for a pod's
// `grpc:` startup, readiness and liveness probes, with the kubelet's own code.
//
//	kubelet-probe HOST PORT SERVICE TIMEOUT
//
// It prints the result ("success", "failure", "unknown") and the kubelet's
// message. Exit status: 0 on success, 1 otherwise, 2 on bad usage.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"k8s.io/kubernetes/pkg/probe"
	"k8s.io/kubernetes/pkg/probe/grpc"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: kubelet-probe HOST PORT SERVICE TIMEOUT")
		os.Exit(2)
	}
	port, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintf(os.Stderr, "PORT %q is not a number\n", os.Args[2])
		os.Exit(2)
	}
	timeout, err := time.ParseDuration(os.Args[4])
	if err != nil {
		fmt.Fprintf(os.Stderr, "TIMEOUT %q is not a duration such as 2s\n", os.Args[4])
		os.Exit(2)
	}
	result, message, err := grpc.New().Probe(os.Args[1], os.Args[3], port, timeout)
	fmt.Println(result, message)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if result != probe.Success {
		os.Exit(1)
	}
}
