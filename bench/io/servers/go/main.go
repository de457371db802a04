// SPDX-License-Identifier: Apache-2.0

// The echo server of `mltp-bench io` on Go's net: a goroutine for each connection.
package main

import (
	"fmt"
	"net"
	"os"
)

func serve(connection net.Conn) {
	defer connection.Close()
	data := make([]byte, 4096)
	for {
		count, err := connection.Read(data)
		if err != nil {
			return
		}
		if _, err = connection.Write(data[:count]); err != nil {
			return
		}
	}
}

func main() {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo server: cannot listen:", err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		connection, err := listener.Accept()
		if err != nil {
			os.Exit(1)
		}
		go serve(connection)
	}
}
