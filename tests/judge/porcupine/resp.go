package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const timeout = 5 * time.Second

// respClient speaks RESP2 over one connection, which it opens again after an error.
type respClient struct {
	address    string
	connection net.Conn
	reader     *bufio.Reader
}

func (c *respClient) do(in input) (output, error) {
	key := fmt.Sprint(os.Getenv("JUDGE_PREFIX"), "register", in.key)
	var reply string
	var err error
	switch in.kind {
	case get:
		reply, err = c.call("GET", key)
	case setnx:
		reply, err = c.call("SETNX", key, in.value)
		return output{done: reply == "1"}, err
	case getset:
		reply, err = c.call("GETSET", key, in.value)
	default:
		if reply, err = c.call("SET", key, in.value); err == nil && reply != "OK" {
			err = errors.New("SET: " + reply)
		}
		return output{}, err
	}
	return output{value: reply}, err
}

// call returns the text of a reply, "" for nil.
func (c *respClient) call(arguments ...string) (string, error) {
	reply, err := c.exchange(arguments)
	if err != nil && c.connection != nil {
		c.connection.Close()
		c.connection = nil
	}
	return reply, err
}

func (c *respClient) exchange(arguments []string) (reply string, err error) {
	if c.connection == nil {
		if c.connection, err = net.DialTimeout("tcp", c.address, timeout); err != nil {
			c.connection = nil
			return "", err
		}
		c.reader = bufio.NewReader(c.connection)
	}
	c.connection.SetDeadline(time.Now().Add(timeout))
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(arguments))
	for _, argument := range arguments {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(argument), argument)
	}
	if _, err = io.WriteString(c.connection, request.String()); err != nil {
		return "", err
	}
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	switch line[0] {
	case '+', ':':
		return line[1:], nil
	case '$':
		size, err := strconv.Atoi(line[1:])
		if err != nil || size < 0 {
			return "", err
		}
		value := make([]byte, size+2)
		_, err = io.ReadFull(c.reader, value)
		return string(value[:size]), err
	default:
		return "", errors.New(line)
	}
}
